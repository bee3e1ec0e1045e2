"""The part of a text that is shown for a hit."""

from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from weft.tree.query import parse_query
from weft.tree.snippet import Snippet, cut_snippet
from weft.tree.word_splits import split_words

TEXT = (
    "Once there was a loom.\n\n" + "It stood in the dark. " * 40 + "Then came the silk,\nand the loom wove."
)


def marked(snippet: Snippet) -> list[str]:
    return [snippet.text[start:end] for start, end in snippet.highlights]


@covers("search.ranked-with-snippets")
def test_a_snippet_shows_where_most_of_it_is():
    snippet = cut_snippet(TEXT, parse_query("loom silk"))
    assert snippet.text == "…It stood in the dark. Then came the silk, and the loom wove."
    assert marked(snippet) == ["silk", "loom"]
    assert [text for text, is_marked in snippet.pieces() if is_marked] == ["silk", "loom"]
    assert "".join(text for text, _ in snippet.pieces()) == snippet.text


def test_a_phrase_is_one_highlight_and_a_beginning_marks_the_whole_word():
    assert marked(cut_snippet("the raw silk threads", parse_query('"raw silk" thr*'))) == [
        "raw silk",
        "threads",
    ]
    assert marked(cut_snippet("我在北京大学", parse_query("京大"))) == ["京大"]
    assert marked(cut_snippet("CAFÉ und Straße", parse_query("cafe strasse"))) == ["CAFÉ", "Straße"]


def test_without_a_match_the_beginning_is_shown():
    assert cut_snippet("  Once\n there  was", parse_query("x")) == Snippet("Once there was")
    assert cut_snippet("", parse_query("x")) == Snippet("")
    assert cut_snippet("word " * 100, parse_query("x")).text.endswith(" word…")


@given(
    st.lists(st.sampled_from(["loom", "Silk", "x", "\n", " ", "北京", "é", "…", "wa", "🎉"]), max_size=120),
    st.sampled_from(["loom", "silk or x", "北京 wa*", '"loom silk"', "e", "京 🎉"]),
)
def test_highlights_are_in_order_inside_the_text_and_what_was_looked_for(parts, asked):
    query = parse_query(asked)
    snippet = cut_snippet("".join(parts), query)
    last = 0
    for start, end in snippet.highlights:
        assert last <= start < end <= len(snippet.text)
        assert split_words(snippet.text[start:end])
        last = end
    assert "\n" not in snippet.text
    assert bool(query.places("".join(parts))) == bool(snippet.highlights)
