"""Fitted requests: repaired, masked, cut and laid out for the cache; unchanged where nothing is to be done."""

import json

import pytest
from tests.covers import covers

from weft.context.manifest import Manifest
from weft.errors import ContextLimitError
from weft.providers.anthropic import anthropic_profile
from weft.providers.openai import openai_profile
from weft.runtime.proxy.fitting import fit_request, plain_manifest, prompt_limit
from weft.runtime.proxy.wires import Wire

CLAUDE, GPT = anthropic_profile("claude-x"), openai_profile("gpt-4o")


def fit(wire, body, *, limit=10_000, profile=None):
    data = json.dumps(body).encode()
    fitted = fit_request(
        wire, body, data, profile or (CLAUDE if wire is Wire.MESSAGES else GPT), limit=limit, cache_key="k"
    )
    return fitted, json.loads(fitted.body), data


def text(words, **more):
    return {"type": "text", "text": words, **more}


@covers("proxy.fit-repairs")
def test_a_request_that_needs_nothing_is_sent_as_it_came():
    marked = {"messages": [{"role": "user", "content": [text("hi", cache_control={"type": "ephemeral"})]}]}
    fitted, _, data = fit(Wire.MESSAGES, marked)
    assert (fitted.body, fitted.changes) == (data, ())
    keyed = {"messages": [{"role": "user", "content": "hi"}], "prompt_cache_key": "mine"}
    fitted, _, data = fit(Wire.CHAT, keyed)
    assert (fitted.body, fitted.changes) == (data, ())
    assert Manifest.from_stored(json.loads(plain_manifest(data))).tokens == 0


def test_what_the_provider_keeps_is_marked_where_the_client_does_not():
    body = {
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": [text("1")]},
            {"role": "user", "content": "two"},
        ],
    }
    fitted, sent, _ = fit(Wire.MESSAGES, body)
    assert fitted.changes == ("cache marks",)
    assert sent["system"][-1]["cache_control"] == {"type": "ephemeral"}
    marked = [at for at, each in enumerate(sent["messages"]) if "cache_control" in str(each)]
    assert marked == [0, 2]
    fitted, sent, _ = fit(Wire.CHAT, {"messages": [{"role": "user", "content": "hi"}]})
    assert (fitted.changes, sent["prompt_cache_key"]) == (("cache key",), "k")


@covers("proxy.fit-repairs")
def test_results_without_their_call_are_taken_out():
    body = {
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "tool", "tool_call_id": "lost", "content": "x"},
            {"role": "user", "content": "on"},
        ],
        "prompt_cache_key": "mine",
    }
    fitted, sent, _ = fit(Wire.CHAT, body)
    assert fitted.changes == ("repaired 1",)
    assert [each["role"] for each in sent["messages"]] == ["user", "user"]


def test_long_results_are_masked_before_anything_is_cut():
    messages = [{"role": "user", "content": "go"}]
    for number in range(60):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append(
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"{number} " + "word " * 1_500}
        )
    messages.append({"role": "user", "content": "and now?"})
    fitted, sent, _ = fit(Wire.CHAT, {"messages": messages}, limit=60_000)
    assert any(change.startswith("masked") for change in fitted.changes)
    assert "[result of read" in json.dumps(sent["messages"])
    calls = {call["id"] for each in sent["messages"] for call in each.get("tool_calls") or ()}
    results = {each["tool_call_id"] for each in sent["messages"] if each["role"] == "tool"}
    assert calls == results
    assert sent["messages"][-1]["content"] == "and now?"
    assert json.loads(fitted.manifest)["settings"]["proxy"] == ", ".join(fitted.changes)


@covers("proxy.fit-repairs")
def test_items_keep_their_reasoning_and_their_form():
    items = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}]
    for number in range(30):
        items += [
            {"type": "reasoning", "id": f"rs_{number}", "encrypted_content": f"e{number}", "summary": []},
            {"type": "function_call", "call_id": f"c{number}", "name": "shell", "arguments": "{}"},
            {"type": "function_call_output", "call_id": f"c{number}", "output": f"{number} " + "word " * 300},
        ]
    items.append({"type": "message", "role": "user", "content": "and now?"})
    fitted, sent, _ = fit(Wire.RESPONSES, {"input": items, "prompt_cache_key": "k"}, limit=6_000)
    assert any(change.startswith("cut") for change in fitted.changes)
    kept = sent["input"]
    assert kept[-1] == items[-1]
    for at, each in enumerate(kept):
        if each["type"] == "reasoning":
            assert kept[at + 1]["type"] == "function_call"
            assert kept[at + 1]["call_id"] == "c" + each["id"].removeprefix("rs_")
    calls = {each["call_id"] for each in kept if each["type"] == "function_call"}
    assert calls == {each["call_id"] for each in kept if each["type"] == "function_call_output"}


def test_what_may_not_be_cut_is_refused_in_words_that_clients_know():
    with pytest.raises(ContextLimitError):
        fit(
            Wire.MESSAGES,
            {"system": "x " * 9_000, "messages": [{"role": "user", "content": "hi"}]},
            limit=2_000,
        )


def test_room_for_the_answer_is_kept_free():
    assert prompt_limit(CLAUDE, {"max_tokens": 1_000}, None) == 199_000
    assert prompt_limit(CLAUDE, {"max_tokens": 190_000}, None) == 150_000
    assert prompt_limit(CLAUDE, {}, 5_000) == 5_000
