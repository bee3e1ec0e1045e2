"""events and jobs on the command line."""

import json
import os
import select
import signal
import subprocess
import sys

import pytest
from tests.cli.desk import Desk
from tests.covers import covers

import weft
from weft.runtime.coordination.jobs import JobKind, JobRunner
from weft.store.jobs import enqueue


def test_events_are_told_line_by_line_with_a_cursor_each(marie: Desk) -> None:
    marie.ok("say", "Why?")
    lines = [json.loads(line) for line in marie.ok("events", "--json").splitlines()]
    assert [line["kind"] for line in lines] == ["found", "plant", "plant", "append"]
    assert set(lines[0]) == {
        *("cursor", "number", "treeId", "ordinal", "kind", "agentId", "payload", "createdAt", "hash")
    }
    for offset, line in enumerate(lines[:-1]):
        rest = marie.ok("events", "--json", "--after", line["cursor"]).splitlines()
        assert [json.loads(each) for each in rest] == lines[offset + 1 :]
    answer = marie("events", "--json", "--after", lines[-1]["cursor"])
    assert (answer.out, answer.err, answer.code) == ("", "no later events\n", 0)
    plain = marie("events", "--limit", "2")
    assert [line.split("\t")[3] for line in plain.out.splitlines()] == ["found", "plant"]
    assert plain.err == f"to continue: --after {lines[1]['cursor']}\n"
    only = marie.ok("events", "--tree", "Marie").splitlines()
    assert [line.split("\t")[3] for line in only] == ["plant", "append"]
    assert "append" in marie("events", width=80).out
    assert '"Marie"' in marie("events", width=80).out


def test_a_wrong_cursor_is_refused(marie: Desk) -> None:
    assert "is not an event cursor" in marie.fail("INVALID_INPUT", "events", "--after", "nonsense")


def test_following_goes_on_until_enough_was_seen(marie: Desk) -> None:
    told = marie.ok("events", "--follow", "--json", "--limit", "3").splitlines()
    assert [json.loads(line)["kind"] for line in told] == ["found", "plant", "plant"]


@covers("event.resume")
@pytest.mark.long
def test_following_from_another_process_until_it_is_interrupted(marie: Desk) -> None:
    command = [sys.executable, "-m", "weft.cli", "events", "--follow", "--json", "--after", "now"]
    environment = {**os.environ, "WEFT_GROVE": marie.address}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as follower:
        # Whether it listens already is its affair: what came before it is not told.
        with weft.open(marie.address) as grove:
            tree = grove.tree("Marie")
            heard = None
            while heard is None:
                tree.say("again")
                heard = next(iter(follower.stdout), None) if has_line(follower) else None
        assert json.loads(heard)["kind"] == "append"
        follower.send_signal(signal.SIGINT)
        follower.stdout.read()
        assert follower.wait(30) == 130


def has_line(process: subprocess.Popen) -> bool:
    return bool(select.select([process.stdout], [], [], 0.1)[0])


def test_jobs_are_listed_tried_again_and_cancelled(marie: Desk) -> None:
    assert marie("jobs").err == "no jobs\n"

    def fail(_: object) -> None:
        raise RuntimeError("no use")

    with weft.open(marie.address, clock=marie.clock) as grove:
        for target in (1, 2):
            grove.caller.executor.store.write(
                lambda transaction, target=target: enqueue(transaction, "summary", now=0, target=target)
            )
        JobRunner(grove.caller.executor, {"summary": JobKind(run=fail, max_attempts=1)}).run_pending(1)
    rows = [line.split("\t") for line in marie.ok("jobs", "ls").splitlines()]
    assert [(row[1], row[2], row[4], row[6]) for row in rows] == [
        ("summary", "failed", "1", "RuntimeError: no use"),
        ("summary", "waiting", "0", ""),
    ]
    assert "no use" in marie("jobs", width=80).out
    assert marie.json("jobs", "retry", rows[0][0])["status"] == "retrying"
    assert marie.ok("jobs", "cancel", rows[1][0]) == rows[1][0]
    assert [job["status"] for job in marie.json("jobs")] == ["retrying"]
    marie.fail("NOT_FOUND", "jobs", "cancel", "999")
    marie.fail("NOT_FOUND", "jobs", "retry", "999")
