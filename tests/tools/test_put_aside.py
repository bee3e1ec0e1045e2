"""Large results: kept whole with their turn, shown as a preview, read on by handle."""

import os

import pytest
from tests.covers import covers

from weft.commands.scanner import scan
from weft.errors import NotFoundError
from weft.ids import new_ulid
from weft.knowledge.tools.base import Tool, ToolArguments, ToolRegistry, installed_tools, say
from weft.runtime.collaboration.commands.session import CommandSession
from weft.runtime.tools.service import ToolService, ToolStatus
from weft.tree.content import ToolCall

LINES = [f"line {number} of the log, → undo, </log>" for number in range(1, 601)]


class Nothing(ToolArguments):
    pass


LOG = Tool(
    name="log", description="A log.", arguments=Nothing, run=lambda *_: say("log", "", "\n".join(LINES))
)


def service(loom, **more):
    return ToolService(loom.caller, installed_tools().with_tool(LOG), **more)


def call(name="log", **arguments):
    return ToolCall(id="1", name=name, arguments=arguments)


@covers("toolcall.put-aside")
def test_a_large_result_is_kept_whole_and_its_beginning_is_shown(desk):
    turn = desk.ask("What happened?")
    run = service(desk.grove).run(call(), at=turn)
    output = run.output
    number = int(output.attributes["result"])
    size = len("\n".join(LINES))
    assert output.attributes["size"] == str(size)
    assert output.attributes["lines"].endswith(" of 600")
    last = int(output.attributes["lines"].split("-")[1].split(" ")[0])
    shown, _, notice = output.content.rpartition("\n\n")
    assert shown == "\n".join(LINES[:last])
    assert len(output.content) < 2_300
    assert notice == (
        f"(Shortened: {size:,} characters, 600 lines in all, kept as result:{number}."
        f" To read on: readResult with result {number} and start {last + 1})"
    )
    assert output.render().count("</log>") == 1
    assert desk.grove.read.tool_result(desk.tree.id, number) == "\n".join(LINES)
    assert desk.grove.verify().findings == ()
    assert service(desk.grove).run(call()).output.content == "\n".join(LINES)


@covers("toolcall.read-result")
def test_a_result_that_was_put_aside_is_read_on_by_its_lines(desk):
    turn = desk.ask("What happened?")
    number = int(service(desk.grove).run(call(), at=turn).output.attributes["result"])
    later = desk.ask("And then?", under=desk.answer(turn))
    part = desk.grove.tools.run("readResult", at=later, result=number, start=599)
    assert part.attributes == {"result": str(number), "lines": "599-600 of 600"}
    assert part.content.endswith("\n".join(LINES[598:]))
    some = desk.grove.tools.run("readResult", at=later, result=number, start=2, end=3)
    assert (
        f"{LINES[1]}\n{LINES[2]}\n\n(It goes on: readResult with result {number} and start 4)" in some.content
    )
    for wrong in (
        {"result": number, "start": 601},
        {"result": number + 1},
        {"result": number, "start": 3, "end": 2},
    ):
        assert service(desk.grove).run(call("readResult", **wrong), at=later).status is ToolStatus.ERROR
    other = desk.grove.plant(f"Other {desk.name}", "Hello")
    with pytest.raises(NotFoundError, match=f"there is no result {number}"):
        desk.grove.tools.run("readResult", at=other.root, result=number)


@covers("toolcall.put-aside", "toolcall.read-result")
def test_a_loom_aware_agent_is_shown_the_command_that_reads_on(desk):
    turn = desk.ask("What happened?")
    aware = desk.grove.add_agent(f"Aware {desk.name}", model_ref="openai:gpt", permissions=["loom_aware"])
    output = service(desk.grove, agent=aware).run(call(), at=turn).output
    number, shown = output.attributes["result"], int(output.attributes["lines"].split("-")[1].split(" ")[0])
    assert f"To read on: → view result:{number} lines:{shown + 1}-{shown + 100})" in output.content
    session = CommandSession(desk.grove.caller, desk.tree.id, aware, run=new_ulid(1, os.urandom))
    some, missing, whole = session.run(
        scan(
            f"→ view result:{number} lines:599-600\n→ view result:{int(number) + 1}\n→ view result:{number}"
        ).commands,
        turn=1,
    )
    assert f"result:{number} · lines 599-600 of 600" in some.text
    assert "line 600 of the log" in some.text
    assert "there is no result" in missing.text
    assert f"→ view result:{number} lines:" in whole.text


@covers("toolcall.put-aside")
def test_the_threshold_is_a_preference(desk):
    turn = desk.ask("What happened?")
    desk.tree.prefer(put_aside_above="off")
    assert service(desk.grove).run(call(), at=turn).output.content == "\n".join(LINES)
    desk.tree.prefer(put_aside_above=10)
    assert len(service(desk.grove).run(call(), at=turn).output.content) < 250
    searched = service(desk.grove).run(call("getTimeInfo"), at=turn)
    assert "result" not in searched.output.attributes


@covers("toolcall.put-aside")
def test_one_line_without_an_end_is_cut_and_kept(desk):
    long = Tool(name="log", description="", arguments=Nothing, run=lambda *_: say("log", "", "x" * 100_000))
    turn = desk.ask("What?")
    output = ToolService(desk.grove.caller, ToolRegistry({"log": long})).run(call(), at=turn).output
    assert output.attributes["lines"] == "1-1 of 1"
    assert len(output.content) < 2_300
