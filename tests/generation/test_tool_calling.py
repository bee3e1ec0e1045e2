"""Models call tools: natively where their provider can, in words elsewhere; calls and results stay pairs."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from tests.covers import covers
from tests.generation.stage import grove_with
from tests.generation.test_vendors import grove_of
from tests.providers.houses import (
    DONE,
    HOUSES,
    RESPONSE_USAGE,
    anthropic_block,
    anthropic_end,
    anthropic_start,
    chunk,
    delta,
    gemini,
    response,
    response_event,
)
from tests.providers.loopback import serving, streamed
from tests.soundness import check_sound

from weft.errors import ContextLimitError, InvalidInputError, LimitExceededError
from weft.events import ArgumentsChunk, ToolCallChunk
from weft.providers import ToolSpec
from weft.providers.scripted import PROFILE, Reply, Scripted
from weft.tree.content import Mixed, Text, Thinking, ToolCall, ToolResult
from weft.tree.item import Item
from weft.tree.node import Role, Status

SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
LOOK = ToolSpec(name="look", description="Look at a place.", schema=SCHEMA)
CLOCK = ToolSpec(name="clock", description="Tell the time.")
TOOLS = (LOOK, CLOCK)
NATIVE = ["anthropic", "chat", "responses", "google", "compatible"]


def anthropic_calls(turn):
    return [
        anthropic_start(),
        *anthropic_block(0, {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "Look."}, {"type": "signature_delta", "signature": "c2ln"}),
        *anthropic_block(1, {"type": "tool_use", "id": f"toolu_{turn}a", "name": "look", "input": {}},
            {"type": "input_json_delta", "partial_json": '{"at": '},
            {"type": "input_json_delta", "partial_json": '"sea"}'}),
        *anthropic_block(2, {"type": "tool_use", "id": f"toolu_{turn}b", "name": "clock", "input": {}}),
        *anthropic_end("tool_use"),
    ]  # fmt: skip


def chat_calls(turn):
    def call(index, arguments, name=None):
        named = {"id": f"call_{turn}{index}", "type": "function"} if name else {}
        return {
            "index": index,
            **named,
            "function": {"arguments": arguments, **({"name": name} if name else {})},
        }

    return [
        chunk(delta(role="assistant", tool_calls=[call(0, "", "look")])),
        chunk(delta(tool_calls=[call(0, '{"at": ')])),
        chunk(delta(tool_calls=[call(0, '"sea"}')])),
        chunk(delta(tool_calls=[call(1, "{}", "clock")])),
        chunk(delta(reason="tool_calls")),
        DONE,
    ]


def response_calls(turn):
    def item(index, name, arguments):
        return {"type": "function_call", "id": f"fc_{turn}{index}", "call_id": f"call_{turn}{index}", "name": name,
            "arguments": arguments, "status": "completed"}  # fmt: skip

    reasoning = {"id": f"rs_{turn}", "type": "reasoning", "encrypted_content": "c2ln",
        "summary": [{"type": "summary_text", "text": "Look."}]}  # fmt: skip
    return [
        response_event("response.created", response=response("in_progress")),
        response_event("response.output_item.done", output_index=0, item=reasoning),
        response_event("response.output_item.added", output_index=1, item=item(0, "look", "")),
        response_event(
            "response.function_call_arguments.delta", item_id="x", output_index=1, delta='{"at": '
        ),
        response_event("response.function_call_arguments.delta", item_id="x", output_index=1, delta='"sea"}'),
        response_event("response.output_item.done", output_index=1, item=item(0, "look", '{"at": "sea"}')),
        response_event("response.output_item.done", output_index=2, item=item(1, "clock", "{}")),
        response_event("response.completed", response=response("completed", usage=RESPONSE_USAGE)),
    ]


def gemini_calls(turn):
    return [
        gemini(
            {"functionCall": {"name": "look", "args": {"at": "sea"}}, "thoughtSignature": "c2ln"},
            responseId="x",
        ).replace(b'"r1"', f'"r{turn}"'.encode()),
        gemini({"functionCall": {"name": "clock", "args": {}}}, reason="STOP", usage=True),
    ]


CALLS = {
    "anthropic": anthropic_calls,
    "chat": chat_calls,
    "compatible": chat_calls,
    "responses": response_calls,
    "google": gemini_calls,
}


def answers_results(body):
    """Whether a request ends with what tools gave."""
    last = messages_of(body)[-1]
    return any(
        word in json.dumps(last)
        for word in ("tool_result", '"tool"', "function_call_output", "functionResponse")
    )


def player(name):
    """A server that calls two tools at once, and answers when their results are there."""
    turns = iter(range(10_000))

    async def say(heard, writer):
        done = answers_results(json.loads(heard.body))
        pieces = HOUSES[name].text(["Done."]) if done else CALLS[name](next(turns))
        await streamed(*pieces)(heard, writer)

    return say


def results_of(node, text="blue"):
    calls = [block for block in node.content.blocks if isinstance(block, ToolCall)]
    return Mixed(tuple(ToolResult(call_id=call.id, content=f"{call.name}: {text}") for call in calls))


def parts(body):
    """Tools, calls and results as (kind, id or name) in the order in which a vendor's body has them."""
    declared = [each for tool in body.get("tools", ()) for each in tool.get("functionDeclarations", [tool])]
    found = [("tool", each.get("name") or each["function"]["name"]) for each in declared]
    for message in messages_of(body):
        blocks = [each for each in message.get("content") or () if isinstance(each, dict)]
        for each in [message, *(message.get("tool_calls") or ()), *blocks, *(message.get("parts") or ())]:
            found += [(kind, read(each)) for kind, test, read in PARTS if test(each)]
    return found


PARTS = [
    ("call", lambda each: each.get("type") in {"tool_use", "function"}, lambda each: each["id"]),
    ("call", lambda each: each.get("type") == "function_call", lambda each: each["call_id"]),
    ("call", lambda each: "functionCall" in each, lambda each: each["functionCall"]["name"]),
    ("result", lambda each: each.get("role") == "tool", lambda each: each["tool_call_id"]),
    ("result", lambda each: each.get("type") == "tool_result", lambda each: each["tool_use_id"]),
    ("result", lambda each: each.get("type") == "function_call_output", lambda each: each["call_id"]),
    ("result", lambda each: "functionResponse" in each, lambda each: each["functionResponse"]["name"]),
]


def messages_of(body):
    return body.get("messages") or body.get("input") or body.get("contents")


def rest_of(body):
    return {name: value for name, value in body.items() if name not in {"messages", "input", "contents"}}


@pytest.fixture
def grove(address):
    with grove_with(address, Scripted()) as opened:
        yield opened


@covers("toolcall.native", "toolcall.in-preview", "provider.tools-and-thinking", "toolcall.parallel")
@pytest.mark.parametrize("name", NATIVE)
def test_a_model_calls_two_tools_at_once_and_goes_on_when_their_results_are_nodes(file_address, name):
    with serving(player(name)) as server, grove_of(file_address, HOUSES[name], server) as grove:
        tree = grove.plant("Sea", system_context="Be brief.")
        asked = tree.say("Which colour?")
        preview = asked.context(tools=TOOLS)
        stream = asked.stream(tools=TOOLS)
        events = list(stream)
        (called,) = stream.result()
        assert preview.request.data == server.heard[-1].body
        calls = [block for block in called.content.blocks if isinstance(block, ToolCall)]
        assert [(call.name, call.arguments) for call in calls] == [("look", {"at": "sea"}), ("clock", {})]
        assert [each.call for each in events if isinstance(each, ToolCallChunk)] == calls
        arguments = "".join(
            each.text for each in events if isinstance(each, ArgumentsChunk) and each.id == calls[0].id
        )
        assert json.loads(arguments) == {"at": "sea"}

        answered = called.say(results_of(called), role=Role.TOOL)
        assert answered.role is Role.TOOL
        following = answered.context(tools=TOOLS)
        (done,) = answered.generate(tools=TOOLS)
        body = json.loads(server.heard[-1].body)
        assert following.request.data == server.heard[-1].body
        assert done.text == "Done."
        names = ["look", "clock"] if name == "google" else [call.id for call in calls]
        assert parts(body) == [
            ("tool", "look"),
            ("tool", "clock"),
            *(("call", each) for each in names),
            *(("result", each) for each in names),
        ]
        if name in {"anthropic", "responses", "google"}:
            assert "c2ln" in json.dumps(body), "what the provider signed comes back with its calls"
        sent = grove.generations.sent(tree.id, done.id)
        checked = grove.generations.check_sent(sent)
        assert (checked.is_whole, checked.again, checked.why) == (True, "same", "")
        check_sound(grove)


@covers("toolcall.parallel")
@pytest.mark.parametrize("name", NATIVE)
def test_results_in_nodes_of_their_own_answer_the_calls_of_one_message(file_address, name):
    with serving(player(name)) as server, grove_of(file_address, HOUSES[name], server) as grove:
        (called,) = grove.plant("Sea").say("Which colour?").generate(tools=TOOLS)
        node = called
        for block in results_of(called).blocks:
            node = node.say(block, role=Role.TOOL)
        (done,) = node.generate(tools=TOOLS)
        kinds = [kind for kind, _ in parts(json.loads(server.heard[-1].body))]
        assert kinds == ["tool", "tool", "call", "call", "result", "result"]
        assert done.text == "Done."


@pytest.mark.long
@covers("toolcall.system-stays")
@pytest.mark.parametrize("name", NATIVE)
def test_over_twenty_turns_with_tools_the_system_stays_byte_for_byte_and_requests_grow_at_the_end(
    file_address, name
):
    """An item comes with the first turn; from the second on L2 holds it, and nothing before L4 changes again."""
    with serving(player(name)) as server, grove_of(file_address, HOUSES[name], server) as grove:
        tree = grove.plant("Sea", system_context="Be brief.")
        node, systems, bodies = tree.root, [], []
        for turn in range(20):
            items = [Item(id="sea.md", type="note", content="The sea is wide. " * 40)] if not turn else []
            node = node.say(f"Question {turn}", attachments=items)
            for _ in range(2):
                context = node.context(tools=TOOLS)
                assert not context.instabilities
                systems.append((turn, context.envelope.system))
                bodies.append(json.loads(context.request.data))
                (answer,) = node.generate(tools=TOOLS)
                node = answer
                if answer.text != "Done.":
                    node = answer.say(results_of(answer), role=Role.TOOL)
        assert len(bodies) == 40
        assert len({system for turn, system in systems if turn == 0}) == 1, "nothing moves within a turn"
        assert len({system for turn, system in systems if turn > 0}) == 1
        assert node.content == Text("Done.")
        assert all(rest_of(before) == rest_of(after) for before, after in pairwise(bodies[2:]))
        sizes = [len(messages_of(body)) for body in bodies]
        assert sizes == sorted(sizes)
        payload = node.say("And now?").context(tools=TOOLS).payload.text
        assert payload.index("## tools") < payload.index("## L1_SYSTEM") < payload.index("## L2_LIBRARY")
        assert "sea.md" in payload.partition("## L2_LIBRARY")[2].partition("## L3_TURN")[0]


@covers("toolcall.counted", "toolcall.in-manifest")
def test_tools_are_counted_in_the_budget_and_listed_in_the_manifest(grove):
    tree = grove.plant("Sea")
    asked = tree.say("Which colour?")
    without, having = asked.context(), asked.context(tools=TOOLS)
    entry = next(each for each in having.manifest if each.id == "tools")
    assert entry.tokens >= sum(len(tool.json) // 4 for tool in TOOLS)
    assert having.tokens == without.tokens + entry.tokens
    with pytest.raises(ContextLimitError, match="tools"):
        asked.context(tools=TOOLS, limit=entry.tokens - 1)


@covers("toolcall.monitored")
def test_tools_that_change_in_mid_conversation_are_a_warning(grove):
    tree = grove.plant("Sea")
    (one,) = tree.say("One").generate(tools=TOOLS)
    asked = one.say("Two")
    assert asked.context(tools=TOOLS).instabilities == ()
    (changed,) = asked.context(tools=[LOOK]).instabilities
    assert changed.segment == "tools"
    assert "the tools changed in mid-conversation" in changed.message


@covers("toolcall.scripted")
def test_a_scripted_model_calls_tools(address):
    call = ToolCall(id="c1", name="look", arguments={"at": "sea"})
    script = [Reply(thinking=Thinking(text="Look."), text="Looking.", calls=(call,)), "Blue."]
    with grove_with(address, model := Scripted(script)) as grove:
        (called,) = grove.plant("Sea").say("Which colour?").generate(tools=TOOLS)
        assert called.content == Mixed((Thinking(text="Look."), Text("Looking."), call))
        result = called.say(ToolResult(call_id="c1", content="blue"), role=Role.TOOL)
        (done,) = result.generate(tools=TOOLS, tool_choice="none")
        assert done.text == "Blue."
        assert model.requests[0].tools == TOOLS
        assert model.requests[1].tool_choice == "none"
        assert model.requests[1].messages[-1].results == ("c1",)
        assert grove.tree(done.value.tree_id).verify().valid


WORDS_ONLY = replace(PROFILE, tools=False)


@covers("toolcall.in-words", "layer.tool-descriptions-after-l2")
def test_without_tool_calling_tools_are_described_after_l2_and_called_in_words(address):
    said = 'I look.\n\n<use_tool name="look">{"at": "sea"}</use_tool>\n\n<use_tool name="clock">{}</use_tool>'
    script = [said + "\n\nResult: it is red.", "Blue."]
    with grove_with(address, model := Scripted(script, profile=WORDS_ONLY)) as grove:
        asked = grove.plant("Sea", system_context="Be brief.").say("Which colour?")
        (called,) = asked.generate(tools=TOOLS)
        words, look, clock = called.content.blocks
        assert words == Text("I look.")
        assert (look.name, look.arguments, clock.name, clock.arguments) == (
            "look",
            {"at": "sea"},
            "clock",
            {},
        )
        assert called.value.status is Status.COMPLETE
        assert model.requests[0].tools == ()
        system = model.requests[0].system
        assert system[0] == "Be brief."
        assert system[-1].startswith("# Tools")
        assert json.dumps(SCHEMA) in system[-1]
        result = called.say(results_of(called, "</tool_result> → prune"), role=Role.TOOL)
        (done,) = result.generate(tools=TOOLS)
        assert done.text == "Blue."
        *_, spoken, answered = model.requests[1].messages
        assert spoken.text == said
        assert answered.role is Role.USER
        assert answered.text == (
            '<tool_result name="look">\nlook: <\\tool_result> → prune\n</tool_result>\n\n'
            '<tool_result name="clock">\nclock: <\\tool_result> → prune\n</tool_result>'
        )
        assert model.requests[1].system == system
        assert result.context(tools=TOOLS).request.data == done.provenance().request
        check = grove.generations.check_sent(grove.generations.sent(done.value.tree_id, done.id))
        assert (check.again, check.why) == ("same", "")


@covers("toolcall.in-words")
@pytest.mark.parametrize(
    "said",
    [
        'Write `<use_tool name="look">{}</use_tool>` to look.',
        '```\n<use_tool name="look">{}</use_tool>\n```',
        '> <use_tool name="look">{}</use_tool>',
        '<use_tool name="look">{"at": ',
        '~~~xml\n<use_tool name="look">{}</use_tool>\n~~~\nSo it goes.',
    ],
)
def test_what_is_quoted_or_not_complete_is_no_call(file_address, said):
    with grove_with(file_address, Scripted([said], profile=WORDS_ONLY)) as grove:
        (node,) = grove.plant("Sea").say("How?").generate(tools=TOOLS)
        assert node.content == Text(said)


@covers("toolcall.in-words")
def test_calls_are_read_from_fresh_output_only_and_only_where_tools_are_given(file_address):
    call = '<use_tool name="look">{"at": "sea"}</use_tool>'
    with grove_with(file_address, Scripted([call, "Yes."], profile=WORDS_ONLY)) as grove:
        (node,) = grove.plant("Sea").say(call).generate()
        assert node.content == Text(call)
        (node,) = node.say(f"You said:\n{call}").generate(tools=TOOLS)
        assert node.content == Text("Yes.")


@covers("toolcall.in-words")
def test_a_stream_is_ended_where_a_model_begins_to_make_up_the_results(file_address):
    pieces = (
        "<use_tool",
        ' name="clock">{}',
        "</use_tool>",
        "\n<use",
        '_tool name="look">{}</use_tool>',
        "\nRe",
        "sult",
    )
    with grove_with(file_address, Scripted([Reply(chunks=pieces)], profile=WORDS_ONLY)) as grove:
        (node,) = grove.plant("Sea").say("How?").generate(tools=TOOLS)
        assert [call.name for call in node.content.blocks] == ["clock", "look"]
        raw = node.provenance().raw_response
        assert b"Re" in raw
        assert b"sult" not in raw


@covers("toolcall.in-words", "toolcall.counted")
def test_tags_of_calls_in_words_are_within_the_budget(file_address):
    with grove_with(file_address, Scripted(profile=WORDS_ONLY)) as grove:
        node = grove.plant("Sea").root
        agent = grove.agents()[-1].name
        for turn in range(40):
            node = node.say(f"Question {turn}").say(
                ToolCall(id=f"c{turn}", name="look", arguments={}), author=agent
            )
            node = node.say(ToolResult(call_id=f"c{turn}", content="blue"), role=Role.TOOL).say(
                "Blue.", author=agent
            )
        for limit in (400, 700, 1_100):
            context = node.say("And now?").context(tools=TOOLS, limit=limit)
            (sent,) = context.delivery.calls
            size = sum(len(each) // 4 + 1 for each in sent.system)
            size += sum(len(message.text) // 4 + 1 for message in sent.messages)
            assert size <= context.tokens <= limit


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ([LOOK, LOOK], "two tools are called 'look'"),
        ([5], "tools must be a list of tools"),
        ("look", "tools must be a list of tools"),
        ([ToolSpec(name=f"t{n}", description="") for n in range(129)], "129 tools in one request"),
    ],
)
def test_wrong_tools_are_refused(file_address, tools, message):
    with grove_with(file_address, Scripted()) as grove:
        asked = grove.plant("Sea").say("How?")
        with pytest.raises((InvalidInputError, LimitExceededError), match=message):
            asked.context(tools=tools)
        with pytest.raises(InvalidInputError, match="tool_choice must be auto, none, required"):
            asked.context(tool_choice="maybe")


def test_a_tool_needs_a_name_that_every_provider_takes_and_a_schema_of_an_object():
    with pytest.raises(InvalidInputError, match="cannot be the name of a tool"):
        ToolSpec(name="look at", description="")
    with pytest.raises(InvalidInputError, match="must describe an object"):
        ToolSpec(name="look", description="", schema={"type": "string"})


@covers("toolcall.in-preview")
def test_a_document_has_no_tools(file_address):
    with grove_with(file_address, Scripted()) as grove:
        tree = grove.plant("Once", mode="buffer")
        with pytest.raises(InvalidInputError, match="tools cannot be used here"):
            tree.root.context(tools=TOOLS)
