"""Every call beside its results, whatever the list was."""

import pytest
from hypothesis import given
from tests.context.recipes.filters.chats import chats
from tests.covers import covers

from weft.context.recipes import apply_filters, run_filters
from weft.errors import LimitExceededError


def call(*names, **fields):
    calls = [{"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}} for name in names]
    return {"role": "assistant", "content": None, "tool_calls": calls, **fields}


def result(name, content="r"):
    return {"role": "tool", "tool_call_id": name, "content": content}


def missing(name):
    return {"role": "tool", "tool_call_id": name, "content": "Tool call failed to respond"}


def backfilled(messages, **options):
    return apply_filters(messages, [{"name": "toolCallBackfill", "options": options}])


USER = {"role": "user", "content": "u"}


def follows_the_providers(messages):
    """OpenAI: after an assistant with calls come tool messages for all of them, and for nothing else,
    before anybody else speaks. Anthropic: the next turn answers every call. No tool message elsewhere.
    """
    index = 0
    while index < len(messages):
        message, index = messages[index], index + 1
        if message["role"] == "tool":
            return False
        wanted = (
            {each["id"] for each in message.get("tool_calls") or ()}
            if message["role"] == "assistant"
            else set()
        )
        answered = set()
        while index < len(messages) and messages[index]["role"] == "tool" and wanted:
            answered.add(messages[index]["tool_call_id"])
            index += 1
        if answered != wanted:
            return False
    return True


@covers("filter.backfill-order", "filter.backfill-missing", "filter.backfill-orphans")
@given(chats())
def test_whatever_the_list_the_order_is_what_providers_ask_for(messages):
    found = backfilled(messages)
    assert follows_the_providers(found)
    assert [each for each in found if each["role"] in {"user", "assistant"}] == [
        each for each in messages if each["role"] in {"user", "assistant"}
    ]
    called = [each["id"] for message in messages for each in message.get("tool_calls", ())]
    if len(called) == len(set(called)):
        assert backfilled(found) == found


@covers("filter.backfill-order")
def test_results_come_in_the_order_of_the_calls_and_several_of_one_in_their_own():
    messages = [result("b", 1), call("a", "b"), USER, result("b", 2), result("a", 3), USER, result("b", 4)]
    found = backfilled(messages)
    assert found == [
        call("a", "b"),
        result("a", 3),
        result("b", 1),
        result("b", 2),
        result("b", 4),
        USER,
        USER,
    ]


@covers("filter.backfill-order")
def test_an_id_that_is_called_twice_gets_its_results_after_each_call():
    found = run_filters([call("a", "a"), result("a"), call("a")], ["toolCallBackfill"])
    assert found.messages == [call("a", "a"), result("a"), result("a"), call("a"), result("a")]
    assert [mark.reason for mark in found.steps[0].marks] == [
        "answers messages[0] as well",
        "answers messages[2] as well",
    ]


@covers("filter.backfill-bounded")
def test_one_id_in_thousands_of_calls_and_results_is_refused_before_memory_is_filled():
    messages = [each for _ in range(1_000) for each in (call("a"), result("a"))]
    with pytest.raises(LimitExceededError, match="would make 1,001,000 messages of 2,000"):
        backfilled(messages)


@covers("filter.backfill-missing")
def test_a_missing_result_is_made_up_with_the_role_and_words_asked_for():
    assert backfilled([call("a"), USER]) == [call("a"), missing("a"), USER]
    made = {"role": "function", "tool_call_id": "a", "content": "gone"}
    assert backfilled([call("a")], role="function", missingContent="gone") == [call("a"), made]


@covers("filter.backfill-orphans")
def test_a_result_that_nobody_called_for_changes_its_role_and_loses_its_id():
    messages = [{**result("x"), "docId": "d", "name": "f"}]
    assert backfilled(messages) == [{"role": "system", "content": "r", "docId": "d", "name": "f"}]
    kept = backfilled([result("x")], orphanRole="user", stripOrphanToolId=False)
    assert kept == [{"role": "user", "tool_call_id": "x", "content": "r"}]


@covers("filter.backfill-orphans")
@pytest.mark.parametrize("role", ["user", "system", "TOOL", "function"])
def test_only_assistants_call_and_only_tools_answer(role):
    messages = [{**call("a"), "role": role}, {**result("a"), "role": role}]
    assert backfilled(messages) == messages


@covers("filter.backfill-odd-ids")
@pytest.mark.parametrize("odd", [1, 1.0, True, None, 0, ["a"], {"a": 1}])
def test_what_is_no_text_is_no_id_and_such_calls_and_results_stay_as_they_are(odd):
    messages = [call(odd), USER, result(odd), {"role": "tool", "content": "no id"}]
    assert backfilled(messages) == messages
    assert backfilled([call("1"), result(1)]) == [call("1"), missing("1"), result(1)]
    assert backfilled([call(1), result("1")]) == [call(1), {"role": "system", "content": "r"}]


@covers("filter.backfill-odd-ids")
def test_an_empty_text_is_an_id():
    found = backfilled([call(""), USER, result(""), {"role": "assistant", "tool_calls": [None, "c", {}, 5]}])
    assert found[:3] == [call(""), result(""), USER]


@covers("filter.backfill-odd-ids")
def test_words_and_roles_are_taken_as_they_are_given():
    assert backfilled([call("a")], missingContent=None, role=None)[1] == {
        "role": None,
        "tool_call_id": "a",
        "content": None,
    }
    assert backfilled([result("x")], orphanRole=None) == [{"role": None, "content": "r"}]


@pytest.mark.parametrize("calls", [None, "a", {}, {"id": "a"}, 5, []])
def test_calls_that_are_no_list_are_none(calls):
    messages = [{"role": "assistant", "content": "x", "tool_calls": calls}, result("a")]
    assert backfilled(messages) == [messages[0], {"role": "system", "content": "r"}]


def test_a_move_is_told_as_a_move():
    found = run_filters([call("a"), USER, result("a")], ["toolCallBackfill"])
    (mark,) = found.steps[0].marks
    assert (mark.outcome, mark.position, mark.reason) == (
        "kept",
        2,
        "moved to messages[0], which called for it",
    )
    assert not run_filters([call("a"), result("a")], ["toolCallBackfill"]).steps[0].marks
