"""`kill -9` at every step of an agent's turn: it is closed or resumed, and nothing with effects runs twice."""

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests import postgres
from tests.covers import covers
from tests.generation.stage import count
from tests.runners.killed import bell
from tests.runners.stage import staged
from tests.soundness import check_sound

from weft.errors import NotFoundError
from weft.runtime.runners.options import AskOptions
from weft.runtime.runners.service import Runners
from weft.store import schema
from weft.tree.content import ToolCall, ToolResult, blocks_of
from weft.tree.node import Status

SCRIPT = Path(__file__).with_name("killed.py")
ROOT = SCRIPT.parent.parent.parent


def is_whole(address: str) -> bool:
    """Whether a process dies at every write: on PostgreSQL, which takes longer, a sample is enough for once."""
    return "://" not in address or bool(os.environ.get("WEFT_PROVE"))


class Killed(NamedTuple):
    """What a process left that died."""

    place: Path
    address: str


@pytest.fixture
def die(request, address, tmp_path, empty_tables):
    """Run a runner in processes that die, one after another; the last one comes to its end.

    One that dies at a certain point is the only one.
    """

    def run(runner: str, when: str) -> Iterator[Killed]:
        with subprocess.Popen(
            [sys.executable, str(SCRIPT), runner, when],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as killer:
            for number in range(1, 200, 1 if is_whole(address) else 4):
                place = tmp_path / str(number)
                place.mkdir()
                own = address
                if "://" not in address:
                    own = shutil.copy(empty_tables, str(place / "grove.db"))
                elif number > 1:
                    assert postgres.empty_database(address, request.getfixturevalue("postgres_server"))
                killer.stdin.write(f"{number} {place} {own}\n")
                killer.stdin.flush()
                code = int(killer.stdout.readline())
                assert code in {0, -signal.SIGKILL}
                yield Killed(place, own)
                if code == 0 or when not in {"before", "after"}:
                    break
            killer.stdin.close()

    return run


def effects(place: Path) -> list[str]:
    file = place / "effects"
    return file.read_text().split() if file.exists() else []


def check_pairs(path) -> None:
    """Every complete call has one result, right below it; what was cut off has none and is not sent."""
    for node, below in zip(path, [*path[1:], None], strict=True):
        calls = [each.id for each in blocks_of(node.content) if isinstance(each, ToolCall)]
        if calls and node.status is Status.COMPLETE:
            results = [each.call_id for each in blocks_of(below.content) if isinstance(each, ToolResult)]
            assert results == calls


def recovered(killed: Killed, script) -> tuple[list[str], str]:
    """What the next process finds and does: the run is closed, and goes on where it can."""
    place = killed.place
    with staged(killed.address, place, script, plants=False) as stage:
        for table in (schema.runs, schema.calls, schema.pieces, schema.leases):
            assert count(stage.grove, table) == 0
        tree = stage.grove.tree("Harbour")
        assert list(stage.grove.approvals) == []
        check_pairs(list(tree.cursor.path))
        check_sound(stage.grove)
        rung = effects(place)
        assert max(Counter(rung).values(), default=0) <= 1
        run = Runners(stage.grove.caller, bell(place / "more"))
        try:
            run.start(tree.id, AskOptions(resume=True)).wait()
        except NotFoundError:
            return rung, "over"
        check_pairs(list(tree.cursor.path))
        check_sound(stage.grove)
        return rung, tree.cursor.text


@covers("runner.agent-killed", "runner.agent-resumed", "runner.no-effect-twice")
@pytest.mark.long
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_agent_killed_at_any_write_is_closed_and_resumed_and_no_effect_happens_twice(address, die, when):
    seen: list[int] = []
    for killed in die("agent", when):
        rung, ended = recovered(killed, lambda *_: "Go on.")
        assert rung == ["first", "second", "third"][: len(rung)]
        assert ended in {"Go on.", "over"}
        seen.append(len(rung))
    if is_whole(address):
        assert len(seen) > 8
        assert set(seen) == {0, 1, 2, 3}
    assert seen[0] == 0
    assert seen[-1] == 3


@covers("runner.no-effect-twice")
@pytest.mark.long
@pytest.mark.parametrize("when", ["first", "second", "third"])
def test_a_call_in_which_the_process_died_is_not_run_again_and_the_model_is_told(die, when):
    (killed,) = die("agent", when)
    told = []

    def say(request, _):
        told.append([str(each.content) for each in request.messages[-1].blocks])
        return "I see."

    rung, ended = recovered(killed, say)
    assert rung[-1] == when
    assert ended == "I see."
    assert any("it may have had its effect" in each for each in told[0])
    assert effects(killed.place) == rung
    assert not (killed.place / "more").exists()


@covers("approval.killed")
def test_a_call_that_waits_for_a_person_when_its_process_dies_is_closed_as_not_run(die):
    (killed,) = die("agent", "asked")
    told = []

    def say(request, _):
        told.append([str(each.content) for each in request.messages[-1].blocks])
        return "I see."

    rung, ended = recovered(killed, say)
    assert (rung, ended) == ([], "I see.")
    assert told == [["not run: the run was interrupted before it"] * 2]


@covers("runner.agent-killed")
@pytest.mark.long
def test_a_planner_that_dies_leaves_no_node_of_its_own(die):
    for place, address in die("tools", "after"):
        with staged(address, place, [], plants=False) as stage:
            tree = stage.grove.tree("Harbour")
            texts = [node.text for node in tree.cursor.path][1:]
            assert texts in ([], ["Ring, please."], ["Ring, please.", "It rang."])
            assert count(stage.grove, schema.runs) == count(stage.grove, schema.calls) == 0
            check_sound(stage.grove)
