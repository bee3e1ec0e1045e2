"""`weft context`, `weft diff` and `weft prefer` at a terminal, in a pipe, and when asked nonsense."""

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.desk import Desk
from tests.covers import covers

import weft


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A conversation, made once and copied."""
    path = tmp_path_factory.mktemp("talk") / "grove.db"
    with weft.open(path, clock=Desk("").clock) as grove:
        grove.add_agent("Muse", model_ref="local:small", system_prompt="Be brief.")
        tree = grove.plant("Marie")
        for number in range(12):
            tree.say(f"question {number} " * 6)
            tree.say(f"answer {number} " * 6, author="Muse")
    return path


@pytest.fixture
def talk(desk: Desk, spoken: Path) -> Desk:
    shutil.copy(spoken, desk.address)
    desk.clock.pass_by(seconds=60)
    return desk


@covers("cli.context-picture")
def test_the_window_is_a_bar_and_below_it_is_what_became_of_everything(talk: Desk) -> None:
    wanted = ("context", "--limit", "200", "--step", "0", "--agent", "Muse")
    shown = talk(*wanted, width=100, env={"NO_COLOR": "1"}).out
    heading, bar, legend, *rest = shown.splitlines()
    assert heading.startswith('"Marie"  1')
    assert heading.endswith("of 200 tokens")
    # Without colour, the blocks tell the parts apart; the legend has the same ones.
    assert set(bar) == {"█", "▒", "▚", "░"}
    assert legend.startswith("█\u00a0system\u00a03")
    assert set(bar) <= set(legend)
    told = "\n".join(rest)
    assert "system context is never cut" in told
    assert "part of the beginning" in told
    assert "over the budget" in told
    assert "stands for what was left out" in told
    coloured = talk("context", "--limit", "200", width=60, env={"TERM": "xterm"}).out
    assert coloured.count("\x1b[34m▒") == 2  # in the bar and in the legend


@covers("cli.context-picture")
def test_reasons_are_wrapped_and_never_cut_off(talk: Desk) -> None:
    wide = talk("context", "--limit", "200", "--step", "0", "--agent", "Muse", width=300).out
    narrow = talk("context", "--limit", "200", "--step", "0", "--agent", "Muse", width=70).out
    assert "…" not in narrow.replace("] … [", "")
    assert max(map(len, narrow.splitlines())) <= 70
    reasons = [line.split("  ")[-1].strip() for line in wide.splitlines()[4:]]
    for reason in reasons:
        assert set(reason.split()) <= set(narrow.split()), reason


def test_a_pipe_gets_lines_with_tabs_and_json_gets_all_of_it(talk: Desk) -> None:
    lines = talk.ok("context", "--limit", "180").splitlines()[2:]
    assert {line.split("\t")[0] for line in lines} == {"kept", "merged", "added", "cut", "excluded"}
    found = talk.json("context", "--limit", "180")
    assert found["tokens"] == found["manifest"]["tokens"] <= 180
    assert found["messages"][0]["role"] == "user"
    entries = talk.ok("context", "--limit", "180", "--entries").splitlines()
    assert len(entries) == len(found["manifest"]["entries"])
    assert talk.json("context")["truncated"] is False


@covers("preview.same-options", "preview.no-body-has-a-reason")
def test_the_raw_request_is_what_a_model_would_get(talk: Desk) -> None:
    raw = json.loads(talk.ok("context", "--raw", "--limit", "200", "-o", "temperature=0.25", "-o", "seed=7"))
    # The body itself: the embedded model goes on with its own last words.
    assert (raw["messages"][-1]["role"], raw["temperature"], raw["seed"]) == ("assistant", 0.25, 7)
    assert talk.json("context")["requests"][0]["body"]["messages"]
    assert "unknown option 'colour'" in talk("context", "-o", "colour=red").err
    talk.ok("new", "Story", "--mode", "buffer", "--text", "Once upon")
    assert json.loads(talk("context", "Story", "--raw").out)["prompt"] == "Once upon"
    assert json.loads(talk("context", "Story", "--raw", "--text", " a").out)["prompt"] == "Once upon a"
    # There is no such model here: what it would be asked is shown, and why there is no request.
    missing = talk("context", "Story", "--raw", "--agent", "Muse")
    assert (missing.out, "no request: there is no local model" in missing.err) == ("Once upon", True)


@covers("manifest.diffable")
def test_a_context_is_compared_with_another_node_strategy_or_setting(talk: Desk) -> None:
    by_strategy = talk.ok("context", "--limit", "200", "--diff", "rollingWindow")
    assert "kept → cut" in by_strategy
    by_setting = talk.ok("context", "--limit", "200", "--diff", "truncationStrategy=rollingWindow")
    assert by_setting == by_strategy
    earlier = talk.json("read")["nodes"][-5]["localId"]
    changes = talk.json("context", "--diff", earlier)["changes"]
    assert {change["after"] for change in changes} >= {None}
    given = talk.ok("context", "--limit", "200", "--strategy", "truncateMiddle", "--diff", "rollingWindow")
    assert given == by_strategy
    same = talk("context", "--limit", "200", "--diff", "truncateMiddle")
    assert (same.out, same.err) == ("", "no differences in what both include\n")
    both = talk("context", "--diff", "rollingWindow", "--raw")
    assert (both.code != 0, both.out) == (True, "")
    assert "--raw and --diff exclude each other" in both.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--limit", "-1"), "at least 0"),
        (("--step", "3"), "between 0 and 1"),
        (("--strategy", "middle"), "truncateMiddle, rollingWindow, stopAtLimit"),
        (("--set", "truncationStep"), "is not NAME=VALUE"),
        (("--set", "colour=red"), "there is no preference 'colour'"),
        (("--limit", "3", "--agent", "Muse"), "CONTEXT_LIMIT"),
        (("--window", "500"), "no room beside 1,024"),
        (("--limit", "200", "--strategy", "stopAtLimit"), "over (largest: "),
        (("--agent", "Nobody"), "NOT_FOUND"),
        (("zzzz",), "NOT_FOUND"),
    ],
)
def test_nonsense_is_refused_with_a_way_out(talk: Desk, arguments: tuple[str, ...], told: str) -> None:
    found = talk("context", *arguments)
    assert found.code != 0
    assert found.out == ""
    assert told in found.err


def test_two_nodes_are_shown_word_by_word(talk: Desk) -> None:
    root = talk.json("read")["nodes"][0]["localId"]
    one = talk.ok("say", "The warp is wool.", "--under", root)
    other = talk.ok("say", "The weft is wool.", "--under", root)
    found = talk("diff", one, other)
    assert found.out == "The [-warp-]{+weft+} is wool.\n"
    assert found.err == f"[{one}] and [{other}] part after [{root}]: 1 and 1 further\n"
    assert talk.json("diff", one, other)["words"][1] == ["removed", "warp"]
    assert "warp" in talk("diff", one, other, width=80, env={"NO_COLOR": "1"}).out
    assert talk("diff", one, "zzzz").code != 0


@covers("fit.preferences-overridable", "tree.preferences-override-grove")
def test_preferences_are_set_for_the_grove_or_for_a_tree(talk: Desk) -> None:
    shown = talk.ok("prefer", "truncationStrategy=rollingWindow", "minimumRecentNodes=2")
    assert "truncationStrategy\trollingWindow\tgrove" in shown
    shown = talk.ok("prefer", "minimumRecentNodes=1", "--tree", "Marie")
    assert "minimumRecentNodes\t1\ttree" in shown
    assert talk.json("context", "--limit", "200")["manifest"]["settings"]["minimumRecentNodes"] == 1
    talk.ok("prefer", "minimumRecentNodes=", "--tree", "Marie")
    assert talk.json("prefer", "--tree", "Marie")["minimumRecentNodes"] == 2
    talk.ok("prefer", 'truncationMarker=""', "--tree", "Marie")
    assert talk.json("prefer", "--tree", "Marie")["truncationMarker"] == ""
    assert talk.json("context", "--step", "auto")["manifest"]["settings"]["truncationStep"] == 0.25
    talk.ok("undo", "--in-grove")
    assert talk.json("prefer")["truncationStrategy"] == "truncateMiddle"
    assert "there is no preference" in talk("prefer", "colour=red").err


@covers("cli.context-picture")
def test_documents_are_shown_by_their_titles_not_by_their_ids(talk: Desk) -> None:
    talk.ok("doc", "new", "Harbour notes", "Fog and salt.")
    talk.ok("say", "Look", "--attach", "doc:Harbour notes")
    for options in ((), ("--layers",)):
        shown = talk("context", *options, width=120).out
        assert 'doc "Harbour notes"' in shown
        assert "doc:0" not in shown
    assert "doc:0" in talk.ok("context")
