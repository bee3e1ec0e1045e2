"""Texts cut into passages, and which of them answers a question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from weft.knowledge.passages import asked_words, cut_passages, may_answer, rank, stem
from weft.tree.word_splits import split_words

NOTE = "# Tower\n\nNinety-four steps.\n\n```\n# no heading\n```\n\n## Lamp\nIt lights itself.\r\n\r\n"


def test_a_text_is_cut_at_its_headings_and_knows_its_lines():
    assert [(each.text, each.start, each.end) for each in cut_passages(NOTE)] == [
        ("# Tower\n\nNinety-four steps.\n\n```\n# no heading\n```", 1, 7),
        ("## Lamp\nIt lights itself.", 9, 10),
    ]
    assert list(cut_passages("  \n\n")) == []


def test_a_long_section_is_cut_at_its_lines():
    text = "\n".join(f"line {number} " + "x" * 90 for number in range(100))
    passages = list(cut_passages(text))
    assert all(len(each.text) <= 1_600 for each in passages)
    assert "\n".join(each.text for each in passages) == text


def test_a_line_that_never_ends_is_cut_too():
    passages = list(cut_passages("# a\n" + "word " * 1_000 + "\nend"))
    assert max(len(each.text) for each in passages) <= 1_500
    assert [(each.start, each.end) for each in passages] == [(1, 1), (2, 2), (2, 2), (2, 2), (2, 3)]


lines = st.lists(st.sampled_from(["# a", "text", "", "```", "  ", "é wide", "x" * 800]), max_size=30)


@given(lines)
def test_every_word_is_in_exactly_one_passage_at_the_lines_it_says(written):
    text = "\n".join(written)
    passages = list(cut_passages(text))
    assert [word for each in passages for word in split_words(each.text)] == split_words(text)
    for each in passages:
        assert "\n".join(written[each.start - 1 : each.end]) == each.text


@covers("toolcall.local-search")
def test_a_question_is_looked_for_by_what_it_is_about():
    assert asked_words("What do you know about the Café lamps?") == ["know", "caf", "lamp"]
    assert asked_words("Was weißt du über die Lampen für Anna?") == ["weisst", "uber", "lamp", "anna"]
    assert asked_words("who are you") == ["who", "are", "you"]
    assert asked_words("?!") == []
    assert may_answer("A LAMP.", ["lamp"])
    assert not may_answer("stairs", ["lamp"])


@pytest.mark.parametrize(
    "forms",
    [
        *(["lamp", "lamps", "lampe", "lampen"], ["house", "houses"], ["city", "cities"], ["run", "running"]),
        *(["play", "plays", "played", "playing"], ["process", "processes"], ["灯"], ["x86"], ["öl"]),
    ],
)
def test_forms_of_a_word_have_one_stem(forms):
    assert len({stem(each) for each in forms}) == 1


@covers("toolcall.local-search")
def test_what_is_rare_counts_more_and_a_title_counts_for_its_text():
    texts = [
        ("one", "the lamp, the lamp, the lamp and nothing else"),
        ("two", "the lamp and the heron"),
        ("three", "the lamp again"),
        ("heron", "a bird"),
    ]
    best = rank(texts, ["lamp", "heron"], among=50, limit=10)
    assert [each.source for each in best] == [1, 3, 0, 2]
    assert best == rank(texts, ["lamp", "heron"], among=50, limit=10)
    assert rank(texts, ["sea"], among=50, limit=10) == []
    assert len(rank(texts, ["lamp"], among=50, limit=2)) == 2


@covers("toolcall.local-search")
def test_a_text_that_has_none_of_the_words_is_told_without_cutting_it():
    assert not may_answer("Der Kühlschrank brummt. " * 1_000, asked_words("Lampe"))
    assert may_answer("Die LÄMPCHEN glühen", asked_words("lämpchen"))
    assert may_answer("Ａ ｌａｍｐ", asked_words("lamps"))
