"""Characters by width, and the default estimate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from weft.tree.measure import measure


@covers("tokens.ascii-ceil-quarter")
@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_costs_a_quarter_token_a_character_rounded_up(text):
    assert measure(text).tokens == -(-len(text) // 4)


@covers("tokens.wide-one-each")
@pytest.mark.parametrize(
    ("text", "tokens"), [("日本語", 3), ("한국", 2), ("かな", 2), ("🙂", 1), ("né à", 1), ("", 0)]
)
def test_dense_scripts_cost_a_token_a_character(text, tokens):
    assert measure(text).tokens == tokens


@given(st.text())
def test_every_character_is_narrow_or_wide(text):
    found = measure(text)
    assert found.narrow + found.wide == len(text)
