"""`kill -9` while a model speaks: what came is there, as interrupted, and never as finished."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.covers import covers
from tests.generation.killed import CHUNKS
from tests.generation.stage import attempts, count, grove_with
from tests.soundness import check_file, check_sound

from weft.errors import ConflictError
from weft.ids import system_clock
from weft.store import schema
from weft.store.rows import OUTCOMES
from weft.testing import Gate, Scripted
from weft.tree.attempt import AttemptOutcome
from weft.tree.node import Status

SCRIPT = Path(__file__).with_name("killed.py")
ROOT = SCRIPT.parent.parent.parent
EVERY_CHUNK = range(1, 201) if os.environ.get("WEFT_PROVE") else (1, 73, 200)


def kill_after(
    address: str, node: str, chunks: int, *, durable: bool = True, key: str = "", before=lambda: None
) -> None:
    speaker = subprocess.Popen(
        [sys.executable, str(SCRIPT), address, node, str(chunks), "durable" if durable else "shown"]
        + [key] * bool(key),
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        assert speaker.stdout.readline() == b"ready\n"
        before()
    finally:
        os.kill(speaker.pid, signal.SIGKILL)
        speaker.stdout.close()
        assert speaker.wait() == -signal.SIGKILL


@covers("proof.killed-at-every-chunk", "generate.crash-closed-at-start", "generate.interrupted-kept")
@pytest.mark.long
def test_a_process_killed_at_any_chunk_leaves_what_came_as_interrupted(address):
    with grove_with(address, Scripted()) as grove:
        tree = grove.plant("Marie")
        nodes = [tree.root.say(f"Count to {chunks}.").id for chunks in EVERY_CHUNK]
    for node, chunks in zip(nodes, EVERY_CHUNK, strict=True):
        kill_after(address, node, chunks)
        with grove_with(address, Scripted()) as grove:
            (kept,) = grove.node(node).children
            assert (kept.text, kept.value.status) == ("".join(CHUNKS[:chunks]), Status.INTERRUPTED)
            assert kept.provenance().raw_response.endswith(f'"text":"{CHUNKS[chunks - 1]}"}}\n'.encode())
            assert b"Count to" in kept.provenance().request
            assert {OUTCOMES[row.outcome] for row in attempts(grove)} == {AttemptOutcome.INTERRUPTED}
            assert count(grove, schema.calls) == count(grove, schema.leases) == 0
            check_sound(grove)
        if not address.startswith("postgresql"):
            check_file(address)


@covers("proof.killed-at-every-chunk")
def test_what_was_only_shown_is_never_more_than_a_beginning_and_never_finished(address):
    with grove_with(address, Scripted()) as grove:
        node = grove.plant("Marie").say("Count.").id
    kill_after(address, node, 150, durable=False)
    with grove_with(address, Scripted()) as grove:
        for kept in grove.node(node).children:
            assert kept.value.status is Status.INTERRUPTED
            assert "".join(CHUNKS).startswith(kept.text)
        assert [OUTCOMES[row.outcome] for row in attempts(grove)] == [AttemptOutcome.INTERRUPTED]
        check_sound(grove)


@covers("generate.idempotency-dead-claim")
def test_the_same_key_after_a_kill_gives_what_was_kept_and_asks_nobody(address):
    with grove_with(address, Scripted()) as grove:
        node = grove.plant("Marie").say("Count.").id
    kill_after(address, node, 3, key="counted")
    # Half a minute later nobody has said that the first call is alive.
    later = lambda: system_clock() + 31_000_000  # noqa: E731
    model = Scripted()
    with grove_with(address, model, clock=later) as grove:
        (kept,) = grove.node(node).generate(idempotency_key="counted")
        assert (kept.text, kept.value.status) == ("0 1 2 ", Status.INTERRUPTED)
        assert model.requests == []
        check_sound(grove)


def test_a_call_that_another_living_process_hears_is_left_alone(address):
    gate = Gate()
    with grove_with(address, Scripted(["Still here."], gate=gate)) as grove:
        node = grove.plant("Marie").say("Are you there?")
        with node.stream() as stream:
            gate.wait(1)
            with grove_with(address, Scripted()) as other:
                assert other.node(node.id).children == []
                with pytest.raises(ConflictError, match="is being extended"):
                    other.node(node.id).generate()
            gate.open()
            assert stream.result()[0].text == "Still here."
        check_sound(grove)
