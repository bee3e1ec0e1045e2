"""What contexts give to the vendors' own clients, as a server on this machine receives it."""

import asyncio
import base64
import json
import re
from itertools import pairwise
from pathlib import Path

import anthropic
import openai
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.context.conversations import conversations, pairs_are_whole
from tests.context.stories import PICTURE, Story
from tests.covers import covers
from tests.providers.loopback import Loopback, plain

from weft.context import fit_messages
from weft.context.conversation import (
    Conversation,
    ConversationTurn,
    PromptContextRequest,
    assemble_turn,
)
from weft.context.engine import assemble
from weft.context.system import SystemParts
from weft.errors import ContextLimitError, InvalidInputError
from weft.tree.content import Mixed, Text, Thinking, ToolCall, ToolResult
from weft.tree.tree import Mode

PAGE = Path(__file__).parents[2] / "docs" / "context.md"
EXAMPLES = re.findall(
    r"^```python\n(import (openai|anthropic)\n.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL
)
CHAT = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Deep."}}],
}
MESSAGE = {
    "id": "1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "Deep."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at":1}'}}
OPENAI = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Look."},
    {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "c2"}]},
    {"role": "tool", "tool_call_id": "c1", "content": "one"},
    {"role": "tool", "tool_call_id": "c2", "content": "two"},
    {"role": "assistant", "content": "Seen."},
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
]
ANTHROPIC = {
    "system": "Be brief.",
    "messages": [
        {"role": "user", "content": "Look."},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}},
                {"type": "tool_use", "id": "c2", "name": "look", "input": {"at": 1}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "one"},
                {"type": "tool_result", "tool_use_id": "c2", "content": "two"},
            ],
        },
        {"role": "assistant", "content": "Seen."},
        {
            "role": "user",
            "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
            ],
        },
    ],
}


def received(act, answer):
    """The body of the one request that a function sends to a server on this machine."""

    async def run():
        async with Loopback([plain(200, json.dumps(answer).encode())]) as server:
            await asyncio.to_thread(act, server.url)
            (heard,) = server.heard
            return json.loads(heard.body)

    return asyncio.run(run())


def sent_by_openai(messages):
    def act(url):
        client = openai.OpenAI(base_url=url, api_key="k", max_retries=0)
        assert (
            client.chat.completions.create(model="m", messages=messages).choices[0].message.content == "Deep."
        )

    return received(act, CHAT)["messages"]


def sent_by_anthropic(fields):
    def act(url):
        client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
        assert client.messages.create(model="m", max_tokens=9, **fields).content[0].text == "Deep."

    body = received(act, MESSAGE)
    return {name: body[name] for name in ("system", "messages") if name in body}


@covers("sdk.ready-to-send")
@pytest.mark.parametrize(("code", "vendor"), EXAMPLES, ids=[vendor for _, vendor in EXAMPLES])
def test_the_examples_of_the_page_send_what_was_fitted(code, vendor, monkeypatch):
    def act(url):
        monkeypatch.setenv(f"{vendor.upper()}_BASE_URL", url)
        monkeypatch.setenv(f"{vendor.upper()}_API_KEY", "k")
        names = {}
        exec(compile(code, str(PAGE), "exec"), names)
        assert names["history"][-1] == {"role": "assistant", "content": "Deep."}

    body = received(act, CHAT if vendor == "openai" else MESSAGE)
    asked = {"role": "user", "content": "How deep is it?"}
    if vendor == "openai":
        assert body["messages"] == [{"role": "system", "content": "You are the ferryman."}, asked]
    else:
        assert (body["system"], body["messages"]) == ("You are the ferryman.", [asked])


def test_the_page_has_an_example_of_each():
    assert sorted(vendor for _, vendor in EXAMPLES) == ["anthropic", "openai"]


@covers("sdk.ready-to-send")
def test_a_list_in_either_form_is_sent_in_both():
    one = fit_messages(OPENAI, 8_000)
    other = fit_messages(ANTHROPIC["messages"], 8_000, system=ANTHROPIC["system"])
    assert sent_by_openai(one.to_openai()) == OPENAI
    assert sent_by_anthropic(one.to_anthropic()) == ANTHROPIC
    assert sent_by_anthropic(other.to_anthropic()) == ANTHROPIC
    assert sent_by_openai(other.to_openai()) == OPENAI


@covers("sdk.ready-to-send", "mask.opaque-untouched")
def test_a_tree_s_context_is_sent_by_both_clients_with_its_pictures_and_signatures():
    signed = {"type": "thinking", "thinking": "Hm.", "signature": "abc"}
    story = Story().say(Mixed((Text("Look."), PICTURE)))
    story.answer(Mixed((Thinking(text="Hm.", opaque=signed), ToolCall(id="c1", name="look", arguments={}))))
    story.say(ToolResult(call_id="c1", content={"deep": 3}, is_error=True), "tool").answer("Three.").say(
        "And here?"
    )
    context = assemble(story.request(9_000, system=SystemParts(agent="Be brief.")), story.contents)
    with pytest.raises(InvalidInputError, match="media"):
        context.to_openai()
    data = base64.b64encode(b"png").decode()
    chat = sent_by_openai(context.to_openai(lambda _: b"png"))
    assert [message["role"] for message in chat] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert chat[1]["content"][1] == {
        "type": "image_url",
        "image_url": {"url": f"data:image/png;base64,{data}"},
    }
    assert chat[3] == {"role": "tool", "tool_call_id": "c1", "content": '{"deep": 3}'}
    fields = sent_by_anthropic(context.to_anthropic(lambda _: b"png"))
    assert fields["system"] == "Be brief."
    assert fields["messages"][1]["content"][0] == signed
    assert fields["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": '{"deep": 3}', "is_error": True}
    ]
    document = assemble(story.request(9_000, mode=Mode.BUFFER), story.contents)
    assert sent_by_anthropic(document.to_anthropic()) == {
        "messages": [{"role": "user", "content": document.document}]
    }


@covers("sdk.ready-to-send")
def test_an_envelope_is_sent_by_both_clients():
    conversation = Conversation(
        turns=(ConversationTurn(id="m1", text="How deep?", answer="Three."),),
        system=SystemParts(agent="Be brief."),
    )
    envelope = assemble_turn(conversation, PromptContextRequest(user_text="And here?"))
    turns = [
        {"role": "user", "content": "How deep?"},
        {"role": "assistant", "content": "Three."},
        {"role": "user", "content": "And here?"},
    ]
    assert sent_by_openai(envelope.to_openai()) == [{"role": "system", "content": "Be brief."}, *turns]
    assert sent_by_anthropic(envelope.to_anthropic()) == {"system": "Be brief.", "messages": turns}


@covers("sdk.ready-to-send")
@given(conversations(), st.integers(200, 3_000), st.sampled_from([None, 1]))
def test_what_is_fitted_keeps_its_pairs_in_both_forms(messages, limit, newest):
    try:
        context = fit_messages(messages, limit, mask_tool_results=newest)
    except ContextLimitError:
        assume(False)
    assert pairs_are_whole(context.to_openai())
    fields = context.to_anthropic()
    assert pairs_are_whole(fields["messages"])
    assert {message["role"] for message in fields["messages"]} <= {"user", "assistant"}
    sides = [message["role"] for message in fields["messages"]]
    assert all(one != other for one, other in pairwise(sides))


@covers("engine.tools-are-counted")
def test_the_schemas_of_tools_count_as_the_json_that_is_sent():
    messages = [{"role": "user", "content": "x" * 400}, {"role": "assistant", "content": "y" * 400}]
    tools = [{"type": "function", "function": {"name": "look", "description": "é" * 90, "parameters": {}}}]
    cost = -(-len(json.dumps(tools, ensure_ascii=False, separators=(",", ":"))) // 4)
    plain_, counted = fit_messages(messages, 1_000), fit_messages(messages, 1_000, tools=tools)
    assert counted.tokens == plain_.tokens + cost == counted.manifest.tokens
    assert next(iter(counted.manifest)).id == "tools"
    assert counted.tools is tools
    assert counted.extend(messages).tokens == plain_.extend(messages).tokens + cost
    assert fit_messages(messages, 1_000, tools=[]).tokens == plain_.tokens
    with pytest.raises(ContextLimitError, match="the tools"):
        fit_messages(messages, cost - 1, tools=tools)
    for wrong in ({"name": "look"}, ["look"], "look", None, 3):
        with pytest.raises(InvalidInputError, match="tools must be a list of dictionaries"):
            fit_messages(messages, 1_000, tools=wrong)
