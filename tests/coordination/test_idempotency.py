"""Idempotency keys: the work is done once, and everybody who asks gets the same answer."""

import subprocess
import sys
import threading
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select
from tests.covers import covers

import weft
from weft.errors import (
    ConflictError,
    InvalidInputError,
    LimitExceededError,
    ModelError,
    NotFoundError,
)
from weft.redaction import redact
from weft.runtime.coordination.idempotency import Idempotency, KeyedState
from weft.runtime.operations.permissions import Actor
from weft.store import schema
from weft.store.leases import claim

SECOND = 1_000_000
HOUR = 3_600


@dataclass
class HandClock:
    now: int = 1_800_000_000_000_000

    def __call__(self) -> int:
        return self.now

    def pass_by(self, seconds):
        self.now += round(seconds * SECOND)


class Work:
    """Counts how often it was done."""

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)
        self.done = 0
        self._lock = threading.Lock()

    def __call__(self):
        with self._lock:
            self.done += 1
            outcome = self.outcomes[min(self.done, len(self.outcomes)) - 1]
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture
def calls(address, clock):
    with weft.open(address, clock=clock) as grove:
        yield grove.idempotency


def rows(calls):
    with calls.executor.store.read() as session:
        return session.execute(select(schema.idempotency)).all()


@covers("generate.idempotent")
def test_the_second_call_gets_the_firsts_answer(calls):
    work = Work({"nodes": ["a", "b"], "n": 2})
    first = calls.once("generate", "k1", {"n": 2}, work)
    again = calls.once("generate", "k1", {"n": 2}, work)
    assert work.done == 1
    assert (first.result, first.is_repeated) == ({"nodes": ["a", "b"], "n": 2}, False)
    assert (again.result, again.is_repeated) == (first.result, True)
    assert again.state is KeyedState.DONE


def test_without_a_key_it_is_simply_done(calls):
    work = Work(None)
    for _ in range(2):
        assert calls.once("generate", None, {}, work).is_repeated is False
    assert work.done == 2
    assert rows(calls) == []


@covers("generate.idempotency-other-body")
def test_the_same_key_with_another_body_is_a_conflict(calls):
    work = Work("x")
    calls.once("generate", "k", {"n": 1, "temperature": 0.5}, work)
    calls.once("generate", "k", {"temperature": 0.5, "n": 1}, work)
    with pytest.raises(ConflictError, match="used for another request"):
        calls.once("generate", "k", {"n": 2, "temperature": 0.5}, work)
    assert work.done == 1


@covers("generate.idempotency-scope")
def test_a_key_is_a_users_and_an_operations_own(calls):
    work = Work("x")
    theirs = replace(calls, actor=Actor(calls.actor.agent, user=7))
    through = replace(calls, actor=Actor(calls.actor.agent, caller=Actor(calls.actor.agent, user=7)))
    assert not calls.once("generate", "k", {}, work).is_repeated
    assert not calls.once("import", "k", {}, work).is_repeated
    assert not theirs.once("generate", "k", {}, work).is_repeated
    assert through.once("generate", "k", {}, work).is_repeated
    assert work.done == 3


@covers("generate.idempotency-scope")
def test_a_key_is_kept_for_a_day(calls, clock):
    work = Work("x")
    calls.once("generate", "k", {}, work)
    clock.pass_by(24 * HOUR - 1)
    assert calls.once("generate", "k", {}, work).is_repeated
    clock.pass_by(1)
    assert not calls.once("generate", "k", {"another": "body"}, work).is_repeated
    assert work.done == 2


def test_what_is_older_is_swept_away(address, clock):
    with weft.open(address, clock=clock) as grove:
        for number in range(5):
            grove.idempotency.once("generate", str(number), {}, Work("x"))
    clock.pass_by(25 * HOUR)
    with weft.open(address, clock=clock) as grove:
        grove.idempotency.once("generate", "new", {}, Work("x"))
        assert [row.key for row in rows(grove.idempotency)] == ["new"]


@pytest.mark.outer
@covers("idempotency.claimed-before-the-call", "proof.same-key-fifty-times")
def test_fifty_identical_calls_at_once_do_the_work_once(address):
    with weft.open(address) as grove:
        ready = threading.Barrier(50)
        counted, outcomes = [], []

        def work():
            counted.append(1)
            return {"nodes": ["a"]}

        def call():
            ready.wait()
            outcomes.append(grove.idempotency.once("generate", "k", {"n": 1}, work))

        threads = [threading.Thread(target=call) for _ in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(counted) == 1
    assert len(outcomes) == 50
    assert {str(outcome.result) for outcome in outcomes} == {"{'nodes': ['a']}"}
    assert sum(not outcome.is_repeated for outcome in outcomes) == 1


@covers("idempotency.claimed-before-the-call")
def test_whoever_comes_meanwhile_waits_for_the_first(calls):
    begun, go_on = threading.Event(), threading.Event()
    answers = []

    def slow():
        begun.set()
        assert go_on.wait(30)
        return "first"

    first = threading.Thread(target=lambda: answers.append(calls.once("generate", "k", {}, slow)))
    first.start()
    assert begun.wait(30)
    impatient = replace(calls, patience=0.02)
    with pytest.raises(ConflictError, match="still running"):
        impatient.once("generate", "k", {}, Work("second"))
    with pytest.raises(ConflictError, match="another request"):
        calls.once("generate", "k", {"other": 1}, Work("second"))
    second = threading.Thread(target=lambda: answers.append(calls.once("generate", "k", {}, Work("second"))))
    second.start()
    go_on.set()
    first.join()
    second.join()
    assert [answer.result for answer in answers] == ["first", "first"]


@covers("generate.idempotency-dead-claim")
def test_a_claim_whose_process_died_is_interrupted_and_says_so(calls, clock):
    work = Work("x")
    wanted = calls._wanted("generate", "k", {})
    calls.executor.store.write(lambda transaction: claim(transaction, wanted, clock()))
    with pytest.raises(ConflictError, match="still running"):
        replace(calls, patience=0.0).once("generate", "k", {}, work)
    clock.pass_by(calls.hold)
    for _ in range(2):
        outcome = calls.once("generate", "k", {}, work)
        assert (outcome.state, outcome.result, outcome.is_repeated) == (KeyedState.INTERRUPTED, None, True)
    assert work.done == 0
    with pytest.raises(ConflictError, match="another request"):
        calls.once("generate", "k", {"n": 2}, work)
    assert not calls.once("generate", "a new key", {}, work).is_repeated


def test_who_was_only_slow_is_believed_in_the_end(calls, clock):
    """Taken for dead while its machine slept; its answer is still the answer."""

    def slow():
        clock.pass_by(calls.hold + 1)
        assert calls.once("generate", "k", {}, Work("twice")).state is KeyedState.INTERRUPTED
        return "after all"

    assert calls.once("generate", "k", {}, slow).result == "after all"
    assert calls.once("generate", "k", {}, Work("twice")).result == "after all"


def test_a_heartbeat_keeps_a_long_call_alive(calls, clock):
    quick = replace(calls, hold=0.03)

    def held_until():
        return rows(calls)[0].held_until

    def long():
        for _ in range(3):
            clock.pass_by(0.02)
            while held_until() < clock() + 0.03 * SECOND:
                threading.Event().wait(0.005)
        with pytest.raises(ConflictError, match="still running"):
            replace(quick, patience=0.0).once("generate", "k", {}, Work("twice"))
        return "done"

    assert quick.once("generate", "k", {}, long).result == "done"


@covers("idempotency.failures")
@pytest.mark.parametrize("error", [InvalidInputError("no", hint="so"), LimitExceededError("too much")])
def test_an_error_that_follows_from_what_was_asked_is_the_answer(calls, error):
    work = Work(error, "fine")
    for _ in range(3):
        with pytest.raises(type(error)) as caught:
            calls.once("generate", "k", {}, work)
        assert (caught.value.message, caught.value.hint) == (error.message, error.hint)
    assert work.done == 1


@covers("idempotency.failures")
@pytest.mark.parametrize(
    "error", [ModelError("overloaded"), NotFoundError("not yet"), RuntimeError("bug"), KeyboardInterrupt()]
)
def test_an_error_that_may_pass_lets_the_next_call_try(calls, error):
    work = Work(error, "fine")
    with pytest.raises(type(error)):
        calls.once("generate", "k", {}, work)
    again = calls.once("generate", "k", {}, work)
    assert (again.result, again.is_repeated, work.done) == ("fine", False, 2)
    assert calls.once("generate", "k", {}, work).is_repeated


def test_those_who_waited_get_the_firsts_error_and_do_not_all_try(address):
    with weft.open(address) as grove:
        waiting = threading.Semaphore(0)
        raised = []

        class Watched(Idempotency):
            __slots__ = ()

            def _wait(self, current, wanted, work):
                waiting.release()
                return super()._wait(current, wanted, work)

        calls = Watched(grove.caller.executor, grove.caller.actor)
        begun = threading.Event()
        done = []

        def work():
            done.append(1)
            begun.set()
            for _ in range(9):
                assert waiting.acquire(timeout=30)
            raise ModelError("overloaded")

        def call():
            try:
                calls.once("generate", "k", {}, work)
            except ModelError as error:
                raised.append(error.message)

        threads = [threading.Thread(target=call) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (len(done), raised) == (1, ["overloaded"] * 10)


def test_no_secret_is_kept_with_an_error(calls):
    with pytest.raises(InvalidInputError):
        calls.once("generate", "k", {}, Work(InvalidInputError("bad key sk-ant-canary0123456789abcdef")))
    assert "canary" not in rows(calls)[0].result


@pytest.mark.parametrize("key", ["", "  ", "x" * 256])
def test_what_is_no_key_is_refused(calls, key):
    with pytest.raises((InvalidInputError, LimitExceededError)):
        calls.once("generate", key, {}, Work("x"))
    assert rows(calls) == []


CALL = """
import os, sys, weft
def work():
    os.write(1, b"worked\\n")
    sys.stdin.readline()
    return {"by": os.getpid()}
with weft.open(sys.argv[1]) as grove:
    outcome = grove.idempotency.once("generate", "k", {"n": 1}, work)
    os.write(1, f"{outcome.result['by']}\\n".encode())
"""


@covers("idempotency.claimed-before-the-call", "proof.same-key-fifty-times")
@pytest.mark.long
def test_several_processes_do_the_work_once(fresh_loom, address):
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", CALL, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for process in processes:
        # All at once: whichever does the work, the others wait for it.
        process.stdin.close()
        process.stdin = None
    said = [process.communicate()[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    assert sorted(len(lines) for lines in said) == [1, 1, 1, 2]
    assert len({lines[-1] for lines in said}) == 1
    worker = next(process.pid for process, lines in zip(processes, said, strict=True) if "worked" in lines)
    assert said[0][-1] == str(worker)


@covers("generate.idempotency-dead-claim")
@pytest.mark.long
def test_a_killed_process_leaves_an_interrupted_call(address, clock):
    process = subprocess.Popen(
        [sys.executable, "-c", CALL, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "worked\n"
    process.kill()
    process.communicate()
    with weft.open(address) as grove:
        held = rows(grove.idempotency)[0].held_until
    later = HandClock(held + 1)
    with weft.open(address, clock=later) as grove:
        outcome = grove.idempotency.once("generate", "k", {"n": 1}, Work("again"))
    assert outcome.state is KeyedState.INTERRUPTED


@given(st.text(max_size=300))
def test_redacting_never_fails_and_never_grows_past_the_limit(text):
    assert len(redact(text, limit=100)) <= 100


@pytest.mark.parametrize(
    "text",
    [
        "sk-ant-api03-canarycanarycanary",
        "Authorization: Basic canarycanary=",
        "https://me:canary@example.org/x",
        "password=canary",
        '{"access_token": "canary"}',
        "AIzacanarycanarycanarycanary",
    ],
)
def test_secrets_are_taken_out(text):
    assert "canary" not in redact(f"it said {text} and more")
    assert redact("12 of 30 tokens are left") == "12 of 30 tokens are left"
