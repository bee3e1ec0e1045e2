"""`weft search` at a terminal, in a pipe, and when it is asked nonsense."""

import json

from tests.cli.desk import Desk
from tests.covers import covers


@covers("search.what", "search.ranked-with-snippets")
def test_each_hit_is_a_heading_and_a_line_with_what_was_found_in_bold(marie: Desk) -> None:
    said = marie.ok("say", "The warp and the weft of a loom")
    marie.ok("bookmark", said, "here")
    marie.ok("doc", "new", "Notes", "Of warp and cotton")
    marie.ok("tag", said, "warp")
    shown = marie("search", "warp", width=80, env={}).out
    assert "\x1b[1mwarp\x1b[0m" in shown
    plain = marie("search", "warp", width=80, env={"NO_COLOR": "1"}).out
    assert f'[{said}] "Marie" · human · ★ here · just now\nThe warp and the weft of a loom\n' in plain
    assert f'tag on [{said}] "Marie" · ★ here · just now\nwarp\n' in plain
    assert 'document "Notes" · human · just now\nOf warp and cotton\n' in plain
    assert marie.ok("search", "warp", "cotton").endswith("\tdocument\tNotes\tOf warp and cotton")
    assert marie.ok("read", marie.ok("search", "weft").split("\t")[0]) == "The warp and the weft of a loom"


def test_a_search_is_json_with_offsets(marie: Desk) -> None:
    marie.ok("say", "A loom")
    found = marie.json("search", "loom")
    assert found["hits"][0]["snippet"] == {"text": "A loom", "highlights": [[2, 6]]}
    assert (found["more"], found["complete"], found["query"]) == (False, True, "loom")
    assert marie.json("search", "--reindex") == {"reindexed": True}
    assert len(json.loads(marie.ok("search", "--reindex", "loom", "--json"))["hits"]) == 1


@covers("search.narrowed", "search.paged", "search.hidden-unless-asked")
def test_options_narrow_a_search(marie: Desk) -> None:
    for number in range(3):
        marie.ok("say", f"loom {number}")
    gone = marie.ok("say", "loom gone")
    marie.ok("prune", gone)
    marie.ok("new", "Other", "--text", "loom elsewhere")
    marie.ok("agents", "add", "Muse", "--model", "local:small")
    marie.ok("say", "her loom", "--author", "Muse", "--tree", "Other")

    def found(*options: str) -> int:
        return len(marie.json("search", "loom", *options)["hits"])

    assert found() == 5
    assert found("--tree", "Marie") == 3
    assert found("--all") == 6
    assert found("--author", "Muse") == found("--model", "small") == 1
    assert found("--bookmarked") == found("--kind", "tag", "--kind", "tree") == 0
    assert found("--after", "2000-01-01") == 5
    assert found("--before", "2000-01-01") == 0
    page = marie("search", "loom", "--limit", "2")
    assert page.out.count("\n") == 2
    assert page.err == "more results: --offset 2\n"
    assert found("--limit", "2", "--offset", "4") == 1


@covers("search.any-input")
def test_what_cannot_be_searched_for_is_told(marie: Desk) -> None:
    assert (
        marie.fail("INVALID_INPUT", "search")
        == "✗ INVALID_INPUT: the query is missing\n  hint: weft search QUERY\n"
    )
    assert "no word to look for" in marie.fail("INVALID_INPUT", "search", '"')
    assert "is not a date" in marie.fail("INVALID_INPUT", "search", "x", "--after", "soon")
    marie.fail("LIMIT_EXCEEDED", "search", "x" * 100_000)
    marie.fail("INVALID_INPUT", "search", "x", "--kind", "agent")
    answer = marie("search", "unheard")
    assert (answer.out, answer.code) == ("", 0)
    assert answer.err == "no results for 'unheard'\n"
