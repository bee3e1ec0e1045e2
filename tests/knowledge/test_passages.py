"""Texts cut into passages, and which of them answers a question."""

from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from weft.knowledge.passages import cut_passages, facts_of
from weft.knowledge.retrieval import fuse, query_of
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


def test_a_passage_knows_the_headings_it_is_under():
    text = "Before.\n# Tower\n## Lamp\nLit.\n### Oil\nRape seed.\n## Stairs ##\nSteep.\n# Harbour\n"
    assert [(each.headings, each.start, each.end) for each in cut_passages(text)] == [
        ((), 1, 1),
        (("Tower", "Lamp"), 2, 4),
        (("Tower", "Lamp", "Oil"), 5, 6),
        (("Tower", "Stairs"), 7, 8),
        (("Harbour",), 9, 9),
    ]


@covers("vault-index.note-facts")
def test_front_matter_tags_and_links_are_read():
    facts = facts_of(
        "---\ntitle: 'The lamp'\naliases: [Light, Beacon]\ntags:\n  - sea/light\n  - '#night'\nnested:\n  a: 1\n---\n"
        'See [[Tower#Lamp|there]], [[Oil]] and [the log](log/1.md "Log"), not `[[code]]` or [web](https://a.b).\n'
        "```\n#no [[Nowhere]]\n```\n#rain"
    )
    assert facts.front["title"] == ("The lamp",)
    assert facts.names == ("The lamp", "Light", "Beacon")
    assert facts.tags == {"sea/light", "night", "rain"}
    assert facts.links == ("Tower", "Oil", "log/1.md")


@covers("retrieval.words-of-a-question")
def test_a_question_is_looked_for_by_its_words_and_without_spaces_by_pairs():
    def words(question):
        query = query_of(question)
        return None if query is None else [" ".join(atom.words) + "*" * atom.prefix for atom in query.atoms]

    assert words("Where is the Café's lamp, the lamp?") == ["wher*", "is", "the", "cafe", "s", "lamp"]
    assert words("灯在哪里？") == ["灯 在", "在 哪", "哪 里"]
    assert words("iPhone的电") == ["ipho*", "的 电"]
    assert words("茶") == ["茶"]
    assert words("Buildings in 12345") == ["buildi*", "in", "12345"]
    assert words("?!") is None


@covers("retrieval.fused-by-rank")
def test_what_two_rankings_agree_on_comes_first():
    assert list(fuse(["a", "b", "c"], ["d", "b"])) == ["b", "a", "d", "c"]
    assert list(fuse(["a", "b"])) == ["a", "b"]
    assert fuse() == {}
