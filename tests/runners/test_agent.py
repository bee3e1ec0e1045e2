"""The agent runner: a loop of calls and results, within limits, with stop, approval and stable prefix."""

import threading
from dataclasses import replace

import pytest
from tests.covers import covers
from tests.runners.stage import staged
from tests.runners.workshop import calling, workshop

from weft.providers.scripted import PROFILE
from weft.runtime.collaboration.run_events import Ending
from weft.runtime.runners.options import AskOptions
from weft.runtime.runners.service import Runners
from weft.testing import Gate, Reply
from weft.tree.content import ToolResult, blocks_of
from weft.tree.node import Role


def results_of(node):
    return [block for block in blocks_of(node.content) if isinstance(block, ToolResult)]


def run(stage, registry, text="Go on.", *, approver=None, **options):
    """A turn of the agent with tools of the test's own; its last event, and all of them."""
    started = Runners(stage.grove.caller, registry).start(
        stage.tree.id, AskOptions(text, runner="agent", **options), approver
    )
    events = []
    while (event := started.channel.get()) is not None:
        events.append(event)
    return events[-1], events


@covers("runner.agent", "runner.agent-citations")
def test_results_accumulate_as_pairs_of_nodes_until_the_answer(address, tmp_path):
    script = [
        Reply(text="I look.", calls=(calling("readNote", path="Harbour/Lamp.md"),)),
        Reply(calls=(calling("getTimeInfo", "2"), calling("localSearch", "3", query="fog horn"))),
        "Whale oil [1].",
    ]
    with staged(address, tmp_path, script) as stage:
        stage.mount()
        answer = stage.tree.ask("What does the lamp burn?", runner="agent", attachments=["Ideas.md"])
        path = list(stage.tree.path)[1:]
        assert [node.role for node in path] == [
            Role.USER,
            Role.ASSISTANT,
            Role.TOOL,
            Role.ASSISTANT,
            Role.TOOL,
            Role.ASSISTANT,
        ]
        assert [each.call_id for node in (path[2], path[4]) for each in results_of(node)] == ["1", "2", "3"]
        assert (answer.text, answer.turns, answer.ending) == ("Whale oil [1].", 3, Ending.DONE)
        assert [each.call.name for each in answer.tools] == ["readNote", "getTimeInfo", "localSearch"]
        first, second, third = stage.sent
        assert first.tools == second.tools == third.tools
        assert [each.name for each in first.tools] == sorted(each.name for each in first.tools)
        assert first.system == second.system == third.system
        assert third.messages[: len(second.messages)] == second.messages
        assert third.messages[-1].results == ("2", "3")
        assert str(results_of(path[4])[1].content).endswith("Question: What does the lamp burn?")
        assert stage.tree.cursor == answer.node
        assert [each.source for each in answer.node.citations] == ["Harbour/Lamp.md"]


@covers("runner.agent-text-protocol")
def test_a_model_without_tool_calling_has_descriptions_after_the_library_and_calls_in_words(
    file_address, tmp_path
):
    plain = replace(PROFILE, tools=False)

    def say(request, _):
        if len(stage.sent) == 1:
            return 'I look.\n\n<use_tool name="readNote">{"path": "Ideas.md"}</use_tool>'
        return "Marie keeps it."

    with staged(file_address, tmp_path, say, plain) as stage:
        stage.mount()
        answer = stage.tree.ask("Who keeps the ledger?", runner="agent")
        first, second = stage.sent
        assert answer.text == "Marie keeps it."
        assert first.tools == ()
        assert first.system[0] == "You keep the harbour's log."
        assert "readNote" in first.system[-1]
        assert first.system == second.system


@covers("runner.agent-limits")
@pytest.mark.parametrize(
    ("limits", "note"),
    [
        ({"turns": 2}, "ended after 2 turns"),
        ({"tokens": 5}, "ended after"),
        ({"seconds": 0.001}, "ended after 0.001 seconds"),
    ],
)
def test_a_limit_ends_the_loop_with_a_note_and_whole_pairs(file_address, tmp_path, limits, note):
    with (
        workshop() as shop,
        staged(file_address, tmp_path, lambda *_: Reply(calls=(calling("look"),))) as stage,
    ):
        finished, _ = run(stage, shop.registry, **limits)
        assert finished.ending is Ending.LIMIT
        assert finished.note.startswith(note)
        last = stage.tree.cursor
        assert last.role is Role.TOOL or last.text == "Go on."


@covers("runner.agent-limits")
def test_money_ends_it_before_a_call_that_could_cost_more(file_address, tmp_path):
    from decimal import Decimal

    from weft.providers.base import ModelPrices

    paid = replace(PROFILE, local=False, prices=ModelPrices(input=Decimal(1000), output=Decimal(1000)))
    with staged(file_address, tmp_path, ["Dear."], paid) as stage:
        finished, _ = run(stage, None, dollars="0.000001")
        assert finished.ending is Ending.LIMIT
        assert stage.sent == []


@covers("runner.agent-stop")
def test_a_stop_does_not_wait_for_a_tool_that_hangs_and_leaves_whole_pairs(file_address, tmp_path):
    with (
        workshop() as shop,
        staged(file_address, tmp_path, [Reply(calls=(calling("hang"), calling("look", "2")))]) as stage,
    ):
        started = Runners(stage.grove.caller, shop.registry).start(
            stage.tree.id, AskOptions("Go on.", runner="agent")
        )
        shop.hanging.wait(30)
        started.stop()
        started.wait(30)
        assert [(each.call_id, each.is_error) for each in results_of(stage.tree.cursor)] == [
            ("1", True),
            ("2", True),
        ]
        assert "may have had its effect" in str(results_of(stage.tree.cursor)[0].content)
        assert shop.done == []


@covers("runner.agent-stop")
def test_a_stop_while_the_model_speaks_keeps_what_came(file_address, tmp_path):
    gate = Gate(2)
    with staged(file_address, tmp_path, ["One two three four"], gate=gate) as stage:
        stream = stage.tree.ask_stream("Count.", runner="agent")
        seen = threading.Event()

        def read():
            for event in stream:
                if "two" in getattr(event, "text", ""):
                    seen.set()

        thread = threading.Thread(target=read)
        thread.start()
        gate.wait()
        seen.wait(30)
        stream.stop()
        thread.join(30)
        assert stream.result().node.text == "One two"
        assert stream.result().ending is Ending.STOPPED


@covers("runner.agent-approval")
def test_tools_with_effects_ask_a_person_and_are_refused_where_none_is_present(file_address, tmp_path):
    def say(request, _):
        return "Done." if request.messages[-1].results else Reply(calls=(calling("ring", "9"),))

    with workshop() as shop, staged(file_address, tmp_path, say) as stage:
        run(stage, shop.registry)
        assert shop.done == []
        asked = []
        run(stage, shop.registry, approver=lambda request: bool(asked.append(request)) or True)
        assert shop.done == ["ring"]
        assert [(each.call.name, each.agent) for each in asked] == [("ring", "Teller")]
        run(stage, shop.registry, approver=lambda _: False)
        assert shop.done == ["ring"]
        stage.grove.tools.set_policy("ring", "allow")
        run(stage, shop.registry)
        assert shop.done == ["ring", "ring"]


@covers("runner.agent-bad-calls")
def test_unknown_tools_and_wrong_arguments_are_results_and_the_loop_goes_on(file_address, tmp_path):
    script = [
        Reply(calls=(calling("nothing"), calling("readNote", "2", paths=[]), calling("boom", "3"))),
        "So be it.",
    ]
    with workshop() as shop, staged(file_address, tmp_path, script) as stage:
        finished, _ = run(stage, shop.registry)
        assert finished.reply.text == "So be it."
        results = results_of(list(stage.tree.path)[-2])
        assert [each.is_error for each in results] == [True, True, True]


@covers("runner.only-tools-named")
def test_only_the_tools_that_are_named_are_offered_and_run(file_address, tmp_path):
    script = [Reply(calls=(calling("getTimeInfo"),)), "Late."]
    with staged(file_address, tmp_path, script) as stage:
        stage.mount()
        answer = stage.tree.ask("What time is it?", runner="agent", tool_names=["readNote"])
        assert [each.name for each in stage.sent[0].tools] == ["readNote"]
        assert [each.status for each in answer.tools] == ["error"]


@pytest.mark.outer
@covers("layers.stable-with-tools")
def test_the_system_message_is_the_same_bytes_over_twenty_turns_of_tools(file_address, tmp_path):
    def say(request, _):
        if request.messages[-1].results:
            return "Seen."
        return Reply(calls=(calling("localSearch", f"c{len(stage.sent)}", query="fog horn"),))

    with staged(file_address, tmp_path, say) as stage:
        stage.mount()
        for number in range(20):
            attached = ["Ideas.md"] if number == 0 else []
            stage.tree.ask(f"Question {number}?", runner="agent", attachments=attached)
        systems = [request.system for request in stage.sent[2:]]
        assert len(stage.sent) == 40
        assert len(set(systems)) == 1
        assert all(request.tools == stage.sent[0].tools for request in stage.sent)
        envelope = stage.tree.cursor.path[-4].sent()
        assert envelope.system == "\n\n".join(systems[0])


@covers("runner.agent")
def test_the_preview_of_an_agent_is_what_it_is_sent(file_address, tmp_path):
    with staged(file_address, tmp_path, ["Aye."]) as stage:
        stage.mount()
        node = stage.tree.say("Ready?")
        preview = node.context(runner="agent")
        stage.tree.ask(runner="agent")
        assert preview.delivery.request.tools == stage.sent[0].tools
        assert preview.messages == stage.sent[0].messages
        assert tuple(preview.envelope.llm_system) == stage.sent[0].system


@covers("toolcall.monitored")
@pytest.mark.parametrize("tools", [True, False])
def test_another_runner_explains_that_tools_are_there_or_not(file_address, tmp_path, tools):
    with staged(file_address, tmp_path, lambda *_: "Aye.", replace(PROFILE, tools=tools)) as stage:
        stage.mount()
        for runner in ("chat", "agent", "chat", "agent"):
            stage.tree.ask(f"Ready for {runner}?", runner=runner)
        asked = [node for node in stage.tree.path if node.text.startswith("Ready")]
        assert [node.sent().warnings for node in asked] == [()] * 4
