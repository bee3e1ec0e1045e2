"""`kill -9` in the middle of a run: what was said is there, and no command is run twice."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.collaboration.stage import MUSE, words, workshop
from tests.covers import covers
from tests.generation.stage import attempts, count
from tests.soundness import check_file, check_sound

from weft.errors import NotFoundError
from weft.store import schema
from weft.store.rows import OUTCOMES
from weft.tree.attempt import AttemptOutcome
from weft.tree.node import Status

SCRIPT = Path(__file__).with_name("killed.py")
ROOT = SCRIPT.parent.parent.parent


def kill_at(address: str, node: str, where: str) -> None:
    speaker = subprocess.Popen(
        [sys.executable, str(SCRIPT), address, node, where],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        assert speaker.stdout.readline() == b"ready\n"
    finally:
        os.kill(speaker.pid, signal.SIGKILL)
        speaker.stdout.close()
        assert speaker.wait() == -signal.SIGKILL


@covers("collaborate.crash-closed", "collaborate.no-command-twice", "collaborate.resumed")
@pytest.mark.long
@pytest.mark.parametrize(
    ("where", "said", "told"),
    [
        ("speaking", "Let me.\n\nAnd so", "(in turn 2)"),
        ("batch", "Let me.", '(1 of the last 3 commands done, "continue from'),
    ],
)
def test_a_run_whose_process_is_killed_is_closed_and_none_of_its_commands_is_run_again(
    address, where, said, told
):
    with workshop(address, []) as (grove, tree, _):
        node = tree.say("Here.")
    kill_at(address, node.local_id, where)
    with workshop(address, ["Where was I?"]) as (grove, tree, model):
        node = tree.node(node.id)
        (kept,) = node.children
        assert (kept.text, kept.value.status) == (said, Status.INTERRUPTED)
        assert kept.provenance().raw_response
        assert [note.text for note in node.annotations] == ["one"]
        for table in (schema.runs, schema.calls, schema.pieces, schema.leases):
            assert count(grove, table) == 0
        outcomes = [OUTCOMES[row.outcome] for row in attempts(grove)]
        assert outcomes == [AttemptOutcome.COMPLETE, AttemptOutcome.INTERRUPTED]
        check_sound(grove)
        found = grove.agent(MUSE).resume(tree=tree).result()
        assert found.text == "Where was I?"
        asked = found.reply.path.nodes[-2]
        assert asked.text.startswith("Go on where you were broken off: ")
        assert told.strip("()") in asked.text
        assert found.reply.path.nodes[-3].id == kept.id
        with pytest.raises(NotFoundError, match="nothing to go on with"):
            grove.agent(MUSE).resume(tree=tree)
        assert [note.text for note in node.annotations] == ["one"]
        assert f"was broken off at {node.local_id} {told}" in words(model.requests[0])
        assert grove.agent(MUSE).name == MUSE
    if not address.startswith("postgresql"):
        check_file(address)
