"""Whatever is said: a command or a typed error, in one go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.commands.phrases import outcome
from tests.covers import covers

from weft.commands import actions as v
from weft.commands.catalog import CATALOG, verbs
from weft.commands.formatter import write_command
from weft.commands.lexer import tokens_of
from weft.commands.parse import parse
from weft.errors import InvalidSyntaxError, WeftError

WORDS = st.lists(
    st.one_of(
        st.sampled_from([word for verb in verbs() for word in verb]),
        st.sampled_from(
            [
                "a7x2",
                "[b3k9]",
                "r001-a7x2",
                '"text"',
                'doc:"d"',
                "n:3",
                "in:grove",
                "to",
                "from",
                "the",
                "not",
            ]
        ),
        st.sampled_from(
            ['"', "“", "\\", "context:a7x2,", "tree:", "at:", ":", "=", "?", "'", "0", "9" * 30, "→"]
        ),
        st.text(max_size=8),
    ),
    max_size=12,
).map(" ".join)


@covers("command.linear-parsing")
@given(WORDS)
def test_whatever_is_said_is_a_command_or_a_typed_error(text):
    found = outcome(text)
    if isinstance(found, WeftError):
        assert found.code in {"INVALID_SYNTAX", "CROSS_TREE"}
        assert found.hint
    else:
        assert found.name in CATALOG
        assert parse(write_command(found)) == found or found.name in {"think", "write"}


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text):
    outcome(text)


@covers("command.linear-parsing")
def test_a_line_of_any_length_has_a_bounded_number_of_words():
    with pytest.raises(InvalidSyntaxError, match="at most 200 words"):
        tokens_of("word " * 100_000)
    with pytest.raises(InvalidSyntaxError):
        parse("view " + "a" * 1_000_000)
    assert parse('annotate a7x2 "' + "x" * 100_000 + '"').action == v.AnnotateCommand("a7x2", "x" * 100_000)


@given(st.text(min_size=1).filter(lambda text: text.strip()), st.text(), st.integers(1, 99))
def test_any_text_survives_being_written_and_read(label, text, number):
    for made in (
        v.Command("stash", v.StashCommand(label, v.Literal(text))),
        v.Command("respond", v.RespondCommand("a7x2", text, ("b3k9",))),
        v.Command("search", v.SearchCommand(label)),
        v.Command("continue", v.ContinueCommand("a7x2", number, stop=(label,), agent=label), tree=label),
        v.Command("pin", v.PinCommand(v.DocumentTarget(label, label))),
    ):
        assert parse(write_command(made)) == made


def test_a_word_said_twice_is_not_passed_over():
    with pytest.raises(InvalidSyntaxError):
        parse("switch next next")
    assert parse("switch next").name == "switch"


@covers("command.linear-parsing")
def test_a_long_list_of_ids_is_read_in_one_go():
    action = parse("merge " + "a7x2," * 150 + ' "x"').action
    assert len(action.nodes) == 150
