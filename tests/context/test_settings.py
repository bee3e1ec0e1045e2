"""Preferences at three levels, and the budget that follows."""

import pytest
from tests.covers import covers

from weft.context.fit import Strategy
from weft.context.settings import (
    BUFFER_MARKER,
    DIALOGUE_MARKER,
    Preferences,
    input_budget,
    read_preferences,
    resolve_preferences,
)
from weft.errors import ContextLimitError, InvalidInputError
from weft.tree.tree import Mode


@covers("fit.default-strategy", "fit.default-recent-nodes", "fit.default-token-buffer")
def test_the_defaults_are_the_seeds():
    found = resolve_preferences()
    assert found.truncation_strategy is Strategy.TRUNCATE_MIDDLE
    assert (found.minimum_recent_nodes, found.token_buffer) == (4, 1024)


@covers("fit.preferences-overridable")
def test_the_tree_overrides_the_grove_and_the_call_overrides_the_tree():
    grove = {"truncationStrategy": "rollingWindow", "tokenBuffer": 10, "minimumRecentNodes": 1}
    tree = {"tokenBuffer": 20, "minimumRecentNodes": 2, "theme": "dark"}
    found = resolve_preferences(grove, tree, {"minimum_recent_nodes": 3})
    assert found == Preferences(
        truncation_strategy=Strategy.ROLLING_WINDOW, token_buffer=20, minimum_recent_nodes=3
    )


@covers("fit.default-step")
def test_the_step_is_a_quarter_where_a_cache_helps_and_nothing_elsewhere():
    assert Preferences().step(prefix_cache=True) == 0.25
    assert Preferences().step(prefix_cache=False) == 0
    assert resolve_preferences({"truncationStep": 0.1}).step(prefix_cache=False) == 0.1
    assert resolve_preferences({"truncationStep": 0}, {"truncationStep": "auto"}).truncation_step is None


@covers("fit.marker-configurable")
def test_the_marker_is_a_sentence_a_sign_or_nothing():
    assert Preferences().marker(Mode.DIALOGUE) == DIALOGUE_MARKER
    assert Preferences().marker(Mode.BUFFER) == BUFFER_MARKER == "\n[…]\n"
    assert Preferences(truncation_marker="").marker(Mode.BUFFER) == ""
    rolling = Preferences(truncation_strategy=Strategy.ROLLING_WINDOW)
    assert rolling.marker(Mode.DIALOGUE) == ""
    assert resolve_preferences({"truncationMarker": "(cut)"}).marker(Mode.DIALOGUE) == "(cut)"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"truncationStrategy": "cut"}, r"preferences.truncationStrategy is 'cut'"),
        ({"minimumRecentNodes": -1}, r"minimumRecentNodes must be a whole number of at least 0, got -1"),
        ({"tokenBuffer": True}, r"tokenBuffer must be a whole number"),
        ({"truncationStep": 2}, r"truncationStep must be between 0 and 1, or auto, got 2"),
        ({"truncationStep": "often"}, r"truncationStep must be between"),
        ({"truncationMarker": 3}, r"truncationMarker must be a string"),
        ({"nameAuthors": "yes"}, r"nameAuthors must be true or false"),
        ({"instructions": "first"}, r"instructions is 'first'"),
        ({"mergeShare": -0.5}, r"mergeShare must be between 0 and 1"),
        ({"estimator": None}, r"estimator must be a string"),
    ],
)
def test_a_setting_without_meaning_is_refused_by_its_path(values, words):
    with pytest.raises(InvalidInputError, match=words):
        read_preferences(values)


@covers("fit.input-budget", "fit.limit-given")
def test_the_budget_is_the_window_less_the_larger_reserve_or_a_given_limit():
    assert input_budget(Preferences(), window=8_000) == 6_976
    assert input_budget(Preferences(), window=8_000, max_tokens=2_000) == 6_000
    assert input_budget(Preferences(), window=8_000, max_tokens=2_000, limit=7_500) == 7_500
    with pytest.raises(ContextLimitError, match="a window of 1,000 tokens has no room beside 1,024"):
        input_budget(Preferences(), window=1_000)
    with pytest.raises(InvalidInputError, match="neither a limit"):
        input_budget(Preferences(), window=None)
    with pytest.raises(InvalidInputError, match="at least 0, got -1"):
        input_budget(Preferences(), window=9, limit=-1)
