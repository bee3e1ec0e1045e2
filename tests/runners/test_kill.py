"""`kill -9` at every step of an agent's turn: it is closed or resumed, and nothing with effects runs twice."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
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


def die(template: Path, folder: Path, runner: str, when: str, *address: str) -> list[Path]:
    """The folders of all groves whose process died; the last one came to its end, unless it dies within a tool."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(template), str(folder), runner, when, *address],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    last, code = done.stdout.split()
    assert code == "0", done.stderr
    return [folder / str(number) for number in range(1, int(last) + 1)]


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


def recovered(place: Path, script, address: str | None = None) -> tuple[list[str], str]:
    """What the next process finds and does: the run is closed, and goes on where it can."""
    with staged(address or str(place / "grove.db"), place, script, plants=False) as stage:
        for table in (schema.runs, schema.calls, schema.pieces, schema.leases):
            assert count(stage.grove, table) == 0
        tree = stage.grove.tree("Harbour")
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
def test_an_agent_killed_at_any_write_is_closed_and_resumed_and_no_effect_happens_twice(
    empty_tables, tmp_path, when
):
    places = die(empty_tables, tmp_path / "runs", "agent", when)
    assert len(places) > 8
    seen = set()
    for place in places:
        rung, ended = recovered(place, lambda *_: "Go on.")
        assert rung == ["first", "second", "third"][: len(rung)]
        assert ended in {"Go on.", "over"}
        seen.add(len(rung))
    assert seen == {0, 1, 2, 3}


@covers("runner.no-effect-twice")
@pytest.mark.long
@pytest.mark.parametrize("when", ["first", "second", "third"])
def test_a_call_in_which_the_process_died_is_not_run_again_and_the_model_is_told(
    address, empty_tables, tmp_path, when
):
    (place,) = die(empty_tables, tmp_path / "runs", "agent", when, address)
    told = []

    def say(request, _):
        told.append([str(each.content) for each in request.messages[-1].blocks])
        return "I see."

    rung, ended = recovered(place, say, address)
    assert rung[-1] == when
    assert ended == "I see."
    assert any("it may have had its effect" in each for each in told[0])
    assert effects(place) == rung
    assert not (place / "more").exists()


@covers("runner.agent-killed")
@pytest.mark.long
def test_a_planner_that_dies_leaves_no_node_of_its_own(empty_tables, tmp_path):
    for place in die(empty_tables, tmp_path / "runs", "tools", "after"):
        with staged(str(place / "grove.db"), place, [], plants=False) as stage:
            tree = stage.grove.tree("Harbour")
            texts = [node.text for node in tree.cursor.path][1:]
            assert texts in ([], ["Ring, please."], ["Ring, please.", "It rang."])
            assert count(stage.grove, schema.runs) == count(stage.grove, schema.calls) == 0
            check_sound(stage.grove)
