"""Streamed text wraps at words, however it is cut into pieces."""

from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from weft.cli.word_wrap import WordWrap


def shown(pieces: list[str], width: int) -> str:
    wrap = WordWrap(width)
    return "".join(map(wrap.add, [*pieces, "\n"]))


@covers("cli.streamed-text-wraps")
def test_a_word_that_does_not_fit_goes_to_the_next_line_whole() -> None:
    assert shown(["The qui", "ck brown f", "ox jumps"], 10) == "The quick\nbrown fox\njumps\n"
    assert shown(["a  b\n\n  c"], 10) == "a  b\n\n  c\n"
    assert shown(["雪が降る 雪が降る"], 9) == "雪が降る\n雪が降る\n"
    assert shown(["0123456789ab c"], 5) == "01234\n56789\nab c\n"


@covers("cli.streamed-text-wraps")
@given(text=st.text(alphabet="ab cd\n雪", max_size=60), cut=st.integers(1, 7), width=st.integers(2, 20))
def test_no_word_is_lost_or_split_and_no_line_is_too_long(text: str, cut: int, width: int) -> None:
    pieces = [text[at : at + cut] for at in range(0, len(text), cut)]
    wrapped = shown(pieces, width)
    assert wrapped == shown([text], width)
    assert "".join(wrapped.split()) == "".join(text.split())
    if all(2 * len(word) <= width for word in text.split()):
        assert wrapped.split() == text.split()
        for line in wrapped.split("\n"):
            assert sum(2 if sign == "雪" else 1 for sign in line) <= width
