"""A text as words: folded, cut, and always traceable to where it stands."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.covers import covers

from weft.tree.word_splits import placed_words, split_words

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60) | st.text(
    st.sampled_from("aÁé ß.'-_1北京がｶﾞ한글ไทยहिन्🎉\u0301\u200b\u00ad\u1112\u1161\u11ab"), max_size=40
)


@covers("search.folded")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, WORLD", ["hello", "world"]),
        ("naïve Ångström", ["naive", "angstrom"]),
        ("Straße ŒUVRE Øre", ["strasse", "oeuvre", "ore"]),
        ("ﬁn Ａ①", ["fin", "a1"]),
        ("don't foo_bar v1.2", ["don", "t", "foo", "bar", "v1", "2"]),
        ("co\u00adoperate", ["cooperate"]),
        ("שָׁלוֹם مُحَمَّد", ["שלום", "محمد"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("Ελλάδα Ёлка", ["ελλαδα", "елка"]),
        ("", []),
        (" .,;!? \x00", []),
    ],
)
def test_words_are_cut_and_folded(text, words):
    assert split_words(text) == [unicodedata.normalize("NFKD", word) for word in words]


@covers("search.substrings")
def test_scripts_without_spaces_are_cut_into_characters():
    assert split_words("我在北京ABC大学") == ["我", "在", "北", "京", "abc", "大", "学"]
    assert len(split_words("ガソリン")) == 4
    assert split_words("ガ") == split_words("ｶﾞ") != split_words("カ")
    assert split_words("한글") == split_words(unicodedata.normalize("NFD", "한글"))
    assert len(split_words("한글")) == 2
    assert len(split_words("ไทย")) == 3
    assert split_words("party🎉🎂!") == ["party", "🎉", "🎂"]


def test_endless_words_are_cut_into_pieces():
    assert split_words("x" * 150) == ["x" * 64, "x" * 64, "x" * 22]


@given(TEXTS)
@example("e\u0301te\u0301")
def test_a_placed_word_is_the_word_that_stands_there(text):
    placed = list(placed_words(text))
    assert [place.word for place in placed] == split_words(text)
    last = 0
    for place in placed:
        assert 0 <= place.start < place.end <= len(text)
        # One character may be folded to two words.
        assert place.start >= last - 1
        last = place.end


@given(TEXTS)
def test_how_letters_are_composed_makes_no_difference(text):
    composed = unicodedata.normalize("NFC", text)
    assert split_words(unicodedata.normalize("NFD", composed)) == split_words(composed)


@given(TEXTS, TEXTS)
def test_a_space_parts_words(one, other):
    assert split_words(one + " " + other) == split_words(one) + split_words(other)


@given(TEXTS)
def test_words_fit_into_every_database(text):
    for word in split_words(text):
        assert 0 < len(word) <= 64 or ord(word[0]) >= 0x1100
        assert not set(word) & set(" '\"\\*():\x00")
