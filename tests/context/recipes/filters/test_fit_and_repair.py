"""Fitting where a recipe places it, and the repair that always ends it."""

import copy
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.context.conversations import SYSTEM, conversations, pairs_are_whole, tokens_of
from tests.context.recipes.filters.chats import chats
from tests.covers import covers

from weft.context.manifest_entries import Outcome
from weft.context.recipes import apply_filters, run_filters
from weft.errors import ContextLimitError, InvalidInputError


def fitted(messages, limit, **options):
    try:
        return run_filters(messages, [{"name": "fit", "options": {"limit": limit, **options}}])
    except (ContextLimitError, InvalidInputError):
        return None


def repaired(messages, **options) -> list:
    return apply_filters(messages, [{"name": "repair", "options": options}])


def takes_turns(messages):
    """Nobody speaks twice in a row; a user begins, and an assistant does not end."""
    sides = [message["role"] for message in messages if message["role"] not in SYSTEM]
    if not sides:
        return True
    apart = all(one != other or one == "tool" for one, other in pairwise(sides))
    return apart and sides[0] == "user" and sides[-1] != "assistant"


@covers("filter.fit", "filter.repair-last")
@given(conversations(), st.integers(0, 3_000), st.sampled_from(["truncateMiddle", "rollingWindow"]))
def test_what_was_fitted_is_repaired_within_the_limit(messages, limit, strategy):
    before = copy.deepcopy(messages)
    found = fitted(messages, limit, truncationStrategy=strategy)
    assume(found is not None)
    assert messages == before
    assert tokens_of(found.messages) <= limit
    assert pairs_are_whole(found.messages)
    assert takes_turns(found.messages)
    assert [step.name for step in found.steps] == ["fit", "repair"]
    for step in found.steps:
        gone = sum(1 for mark in step.marks if mark.outcome is Outcome.CUT)
        assert gone <= step.given


def test_of_two_results_for_one_call_the_newest_counts():
    call = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }
    results = [{"role": "tool", "tool_call_id": "c1", "content": text} for text in ("old", "new")]
    asked = {"role": "user", "content": "Look."}
    assert repaired([asked, call, *results]) == [asked, call, results[1]]


@covers("filter.repair-last")
@given(chats())
def test_repair_makes_any_list_acceptable(messages):
    found = repaired(messages)
    assert takes_turns(found)
    calls: list = []
    for message in found:
        if message["role"] == "tool":
            assert message["tool_call_id"] in calls
            calls.remove(message["tool_call_id"])
        else:
            assert not calls
            calls = list({call["id"]: None for call in message.get("tool_calls", ())})
    assert not calls
    assert repaired(found) == found


@covers("filter.repair-last")
def test_repair_runs_after_every_other_filter_and_only_once_more():
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    fit = {"name": "fit", "options": {"limit": 100}}
    names = [step.name for step in run_filters(messages, [fit, "sizeLimiter"]).steps]
    assert names == ["fit", "sizeLimiter", "repair"]
    ended = run_filters(messages, [fit, {"name": "repair", "options": {"prefill": True}}])
    assert [step.name for step in ended.steps] == ["fit", "repair"]
    assert ended.messages == messages
    assert run_filters(messages, ["sizeLimiter"]).messages == messages


def test_halves_are_taken_out_and_results_brought_to_their_calls():
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    other = {**call, "id": "b"}
    asked = {"role": "assistant", "content": None, "tool_calls": [call, other]}
    user, answer = {"role": "user", "content": "u"}, {"role": "tool", "tool_call_id": "a", "content": "r"}
    stray = {"role": "tool", "tool_call_id": "z", "content": "s"}
    found = run_filters([user, asked, stray, user, answer], ["repair"])
    assert found.messages == [user, {**asked, "tool_calls": [call]}, answer, user]
    assert [(mark.outcome, mark.position) for mark in found.steps[0].marks] == [
        (Outcome.SHORTENED, 1),
        (Outcome.KEPT, 4),
        (Outcome.EXCLUDED, 2),
    ]


def test_anthropics_blocks_are_paired_too():
    use = {
        "role": "assistant",
        "content": [{"type": "text", "text": "t"}, {"type": "tool_use", "id": "a", "input": {}}],
    }
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "r"}]}
    user = {"role": "user", "content": "u"}
    assert repaired([user, use, result]) == [user, use, result]
    text = {"role": "assistant", "content": [{"type": "text", "text": "t"}]}
    assert repaired([user, use]) == [user, text, {"role": "user", "content": "Continue."}]
    assert repaired([user, result]) == [user]


def test_what_one_side_says_in_a_row_is_joined_and_a_system_message_goes_before():
    system = {"role": "system", "content": "s"}
    messages = [
        {"role": "user", "content": "a", "docId": "1"},
        system,
        {"role": "user", "content": "b", "docId": "2"},
        {"role": "user", "content": [{"type": "text", "text": "c"}]},
    ]
    blocks = [{"type": "text", "text": letter} for letter in "abc"]
    assert repaired(messages) == [system, {"role": "user", "content": blocks, "docId": "2"}]
    assert repaired(messages[:3]) == [system, {"role": "user", "content": "a\n\nb", "docId": "2"}]


@covers("filter.repair-last")
def test_a_system_message_in_the_midst_of_a_turn_does_not_part_a_call_from_its_result():
    user, system = {"role": "user", "content": "u"}, {"role": "developer", "content": "Be brief."}
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {}}]}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "r"}
    words = {"type": "text", "text": "w"}
    messages = [
        user,
        use,
        {"role": "user", "content": [result]},
        system,
        {"role": "user", "content": [words]},
    ]
    found = repaired(messages)
    assert found == [user, system, use, {"role": "user", "content": [result, words]}]
    assert repaired(found) == found


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "options.limit"),
        ({"limit": -1}, "options.limit"),
        ({"limit": 4}, "limit must be at least"),
        ({"limit": 100, "minimumRecentNodes": "4"}, "options.minimumRecentNodes"),
        ({"limit": 100, "truncationStep": "auto"}, "options.truncationStep"),
        ({"limit": 100, "truncationStrategy": "shred"}, "there is no strategy"),
        ({"limit": 100, "truncationMarker": 5}, "options.truncationMarker"),
        ({"limit": 100, "estimator": 5}, "options.estimator"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, said):
    with pytest.raises(InvalidInputError, match=said):
        apply_filters([{"role": "user", "content": "a"}], [{"name": "fit", "options": options}])


@pytest.mark.parametrize("message", [None, "text", {}, {"role": 5}])
def test_what_is_no_message_cannot_be_fitted_or_repaired(message):
    for name in ("repair", {"name": "fit", "options": {"limit": 100}}):
        with pytest.raises(InvalidInputError, match=r"messages\[0\] must be an object with a role"):
            apply_filters([message], [name])
