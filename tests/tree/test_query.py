"""Reading what people type into a search box."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from weft.errors import InvalidInputError, LimitExceededError, WeftError
from weft.tree.query import Atom, Query, parse_query


def atoms(*phrases: str) -> tuple[Atom, ...]:
    return tuple(Atom(tuple(phrase.rstrip("*").split()), prefix=phrase.endswith("*")) for phrase in phrases)


def asked(*clauses: str | tuple[str, ...], without: tuple[str, ...] = ()) -> Query:
    return Query(
        tuple(atoms(*((clause,) if isinstance(clause, str) else clause)) for clause in clauses),
        atoms(*without),
    )


@covers("search.query-language")
@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("loom warp", asked("loom", "warp")),
        ('"warp and weft"', asked("warp and weft")),
        ("heddl*", asked("heddl*")),
        ('"the hedd"*', asked("the hedd*")),
        ("loom -cotton", asked("loom", without=("cotton",))),
        ('-"raw cotton" loom', asked("loom", without=("raw cotton",))),
        ("wool or silk loom", asked(("wool", "silk"), "loom")),
        ("a OR b or c", asked(("a", "b", "c"))),
        ("a | b", asked(("a", "b"))),
        ("weft.open", asked("weft open")),
        ("don't", asked("don t")),
        ("--tree", asked("tree")),
        ("re-do", asked("re do")),
        ("or", asked("or")),
        ("this or", asked("this", "or")),
        ('"this" "or" that', asked("this", "or", "that")),
        ('"unclosed phrase', asked("unclosed phrase")),
        ("NEAR(a b) AND title:x", asked("near a", "b", "and", "title x")),
        ("'); DROP TABLE nodes;--", asked("drop", "table", "nodes")),
        ("a & b <-> !c", asked("a", "b", "c")),
        ("北京", asked("北 京")),
        ("loom 🎉 ...", asked("loom", "🎉")),
    ],
)
def test_a_query_is_read_as_a_person_means_it(text, query):
    assert parse_query(text) == query


@covers("search.any-input")
@pytest.mark.parametrize(
    ("text", "error", "told"),
    [
        ("", InvalidInputError, "an empty query has no word"),
        ('"', InvalidInputError, "has no word to look for"),
        ("***", InvalidInputError, "has no word to look for"),
        ("-cotton", InvalidInputError, "has only words to leave out"),
        ("a or -b", InvalidInputError, "-b cannot be one of two choices"),
        ("a\x00b", InvalidInputError, "NUL character"),
        ("a\ud800", InvalidInputError, "lone surrogate"),
        ("x" * 1_000_000, LimitExceededError, "1,000,000 characters"),
        ("a " * 1_000, LimitExceededError, "at most 200 words"),
    ],
)
def test_what_cannot_be_searched_for_is_refused_in_words(text, error, told):
    if text == "a " * 1_000:
        text = " ".join(f"a{number}" for number in range(300))
    with pytest.raises(error, match=told):
        parse_query(text)


@covers("search.any-input")
@given(st.text(max_size=80) | st.text(st.sampled_from("ab \"'*-|()or:&!<>\\京🎉"), max_size=40))
def test_anything_is_read_or_refused(text):
    with contextlib.suppress(WeftError):
        query = parse_query(text)
        assert query.clauses
        assert all(atom.words and all(atom.words) for atom in (*query.atoms, *query.without))


def test_a_query_tells_what_it_matches():
    query = parse_query('"warp and weft" heddl* wool or silk -cotton')
    assert query.matches("The Warp and Weft of heddles, wool")
    assert query.matches("warp AND weft", "heddle silk")
    assert not query.matches("warp, weft and heddles of wool")
    assert not query.matches("warp and weft, heddles")
    assert not query.matches("warp and weft of heddles, silk, cotton")
    assert not query.matches("the warp and", "weft heddles silk")
