"""Citations in an answer: which brackets are some, and what they name."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from weft.tree.citation import CITATION_LIMIT, CitedSource, find_citations

SOURCES = (CitedSource(1, "tower.md", "Tower"), CitedSource(2, "doc:x"))


def numbers(text, sources=SOURCES):
    return [each.number for each in find_citations(text, sources)]


@covers("citation.parsed")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is lit [1].", [1]),
        ("It is lit[1][2], and more [^2].", [1, 2, 2]),
        ("Both [1, 2] say so, and [^1,^2].", [1, 2, 1, 2]),
        ("In code `a[1]` and ``b`[1]`` none, after it [2].", [2]),
        ("```\na[1]\n```\nThen [1].\n~~~~\n[2]\n```\n~~~~\n[2]", [1, 2]),
        ("An open `tick [1].", [1]),
        ("Sources:\n[^1]: tower.md\n[1]: http://a", []),
        (r"Escaped \[1] and [2024], [x], [ 1], [], [1.5], [-1], [1", []),
        ("A link [1](http://evil.example) cites too.", [1]),
        ("```\nnever closed [1]", []),
    ],
)
def test_numbers_in_brackets_are_citations_outside_of_code(text, expected):
    assert numbers(text) == expected


@covers("citation.unknown-marked")
def test_a_citation_names_its_source_and_its_place_and_an_unknown_number_none():
    text = "Lit [1], dark [7]."
    known, unknown = find_citations(text, SOURCES)
    assert (known.source, known.title, text[known.start : known.end]) == ("tower.md", "Tower", "[1]")
    assert known.is_known
    assert (unknown.number, unknown.source, text[unknown.start : unknown.end]) == (7, None, "[7]")
    assert not unknown.is_known


@covers("citation.parsed")
def test_without_a_catalog_there_are_no_citations():
    assert find_citations("See a[1].", ()) == ()


@covers("citation.parsed")
def test_a_megabyte_of_brackets_and_ticks_is_read_in_linear_time():
    for text in (
        "[1" * 500_000,
        "`" * 1_000_000,
        "".join("`" * n + " " for n in range(1_400)),
        "[1]" * 300_000,
    ):
        begun = time.perf_counter()
        assert len(find_citations(text, SOURCES)) <= CITATION_LIMIT
        assert time.perf_counter() - begun < 2


@covers("citation.parsed")
@given(st.text(alphabet="[]^12,`~ \n\\:a"))
def test_every_citation_is_where_it_says(text):
    for each in find_citations(text, SOURCES):
        assert text[each.start] == "["
        assert text[each.end - 1] == "]"
        assert str(each.number) in text[each.start : each.end]
