"""`weft tools`, and `--tool`."""

import json

import pytest
from tests.cli.desk import Desk
from tests.covers import covers


@pytest.fixture
def keeper(marie: Desk, tmp_path) -> Desk:
    (tmp_path / "Notes").mkdir()
    (tmp_path / "Notes" / "tower.md").write_text("The lamp is in the tower.")
    marie.ok("vault", "add", str(tmp_path / "Notes"))
    marie.ok("say", "Where is the lamp?")
    return marie


@covers("toolcall.registry", "toolcall.web-search-off")
def test_tools_are_listed_with_what_they_take(keeper):
    told = keeper.ok("tools")
    assert [line.split("\t")[0] for line in told.splitlines()] == [
        *("getFileTree", "getTimeInfo", "localSearch", "readNote", "readResult", "readUrl", "webSearch")
    ]
    assert "localSearch\tquery,timeRange?,where?,limit?\tallow\t" in told
    assert "webSearch\tquery,timeRange?,limit?\tallow\toff: no provider is configured" in told
    listed = json.loads(keeper.ok("tools", "--json"))
    assert listed[2]["parameters"]["required"] == ["query"]


@covers("toolcall.local-search", "toolcall.read-note")
def test_a_tool_is_run_with_words_and_named_arguments(keeper):
    found = keeper.ok("tools", "run", "localSearch", "the", "lamp", 'where=["vaults"]', "limit=1")
    assert found.startswith("<localSearch>\nAnswer the question")
    assert "[1] tower.md" in found
    assert "Where is the lamp?" in keeper.ok("tools", "run", "localSearch", "lamp")
    assert json.loads(keeper.ok("tools", "run", "readNote", "tower", "--json"))["attributes"] == {
        "path": "tower.md"
    }
    wrong = keeper.fail("INVALID_INPUT", "tools", "run", "readNote", "tower", "start=0")
    assert "readNote: start" in wrong
    assert "there is no tool 'look'" in keeper.fail("NOT_FOUND", "tools", "run", "look")


@covers("toolcall.arguments-checked")
def test_a_year_is_a_text_and_a_list_may_have_commas(keeper):
    run = ("tools", "run", "localSearch", "lamp")
    assert keeper.ok(*run, "timeRange=2019").startswith('<localSearch timeRange="2019">\nNothing was found')
    assert keeper.ok(*run, 'timeRange="last year"').startswith('<localSearch timeRange="last year">')
    assert "[1] tower.md" in keeper.ok(*run, "where=vaults, documents")
    assert "where" in keeper.fail("INVALID_INPUT", *run, "where=moon")
    assert keeper.ok("tools", "run", "readNote", "path=tower").startswith('<readNote path="tower.md">')


@covers("toolcall.under-additional-context")
def test_what_a_tool_gives_is_shown_where_it_would_be_sent(keeper):
    shown = keeper.ok("context", "--raw", "--tool", "localSearch 'the lamp'", "--tool", "getTimeInfo")
    said = json.loads(shown)["messages"][-1]["content"]
    text = said if isinstance(said, str) else said[0]["text"]
    assert text.startswith("# Additional context:\n\n<localSearch>")
    assert "Where is the lamp?\n</content>" not in text
    assert text.endswith("Where is the lamp?")
    spoken = keeper.ok("context", "--raw", "--tool", "localSearch what's the lamp timeRange=2019")
    assert '<localSearch timeRange=\\"2019\\">' in spoken
    assert "names no tool" in keeper.fail("INVALID_INPUT", "context", "--tool", "")
