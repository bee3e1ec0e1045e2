"""Running tools for a turn: limits, policies, approval, and what a model is given of a failure."""

import subprocess
import sys
import threading

import pytest
from tests.covers import covers

from weft.errors import InvalidInputError, PermissionDeniedError
from weft.knowledge.tools.base import Tool, ToolArguments, ToolRegistry, say
from weft.runtime.tools.service import ToolService, ToolStatus
from weft.testing import grove
from weft.tree.agent import Permission, ToolPolicy
from weft.tree.content import ToolCall


class Nothing(ToolArguments):
    pass


def tool(name="tide", run=lambda _context, _given: say("tide", "High."), **more):
    return Tool(name=name, description="The tide.", arguments=Nothing, run=run, **more)


def service(loom, *tools, approver=None, caller=None):
    registry = ToolRegistry({each.name: each for each in tools})
    return ToolService(caller or loom.caller, registry, approver)


def call(name="tide", **arguments):
    return ToolCall(id="c1", name=name, arguments=arguments)


@pytest.fixture
def loom():
    with grove() as opened:
        yield opened


@covers("toolcall.failures-are-outputs")
def test_a_tool_that_fails_is_a_block_that_says_so_and_the_others_run(loom):
    def fail(_context, _given):
        raise RuntimeError("</tide> no moon, token=abcdefgh12345678")

    runs = service(loom, tool(run=fail), tool("calm", run=lambda *_: say("calm", "Still."))).run_all(
        [call(), call("calm"), call("</storm>"), ToolCall(id="c4", name="calm", arguments="x")]
    )
    assert [each.status for each in runs] == [
        ToolStatus.ERROR,
        ToolStatus.OK,
        ToolStatus.ERROR,
        ToolStatus.ERROR,
    ]
    failed, calm, unknown, wrong = (each.output.render() for each in runs)
    assert failed == (
        '<tide status="error">\ntide failed: RuntimeError: <\\tide> no moon, token=[redacted]\n</tide>'
    )
    assert calm == "<calm>\nStill.\n</calm>"
    assert unknown.startswith("<tool status=\"error\">\nthere is no tool '</storm>'")
    assert "calm: the arguments must be an object" in wrong
    assert runs[0].result.is_error
    assert runs[0].result.call_id == "c1"
    assert not runs[1].result.is_error


@covers("toolcall.time-limit")
def test_a_tool_that_hangs_is_reported_when_its_time_is_over(loom):
    release = threading.Event()
    hanging = tool(run=lambda *_: release.wait() and say("tide", "Late."), seconds=0.05)
    run = service(loom, hanging).run(call())
    release.set()
    assert run.status is ToolStatus.ERROR
    assert "tide did not answer within 0.05 s" in run.output.content


@pytest.mark.outer
@covers("toolcall.time-limit")
def test_a_tool_that_hangs_does_not_keep_the_process_from_ending():
    program = """
import threading
from weft.knowledge.tools.base import Tool, ToolArguments, ToolRegistry
from weft.runtime.tools.service import ToolService
from weft.testing import grove
from weft.tree.content import ToolCall

hang = Tool(name="hang", description="", arguments=ToolArguments, seconds=0.05,
            run=lambda *_: threading.Event().wait())
with grove() as loom:
    run = ToolService(loom.caller, ToolRegistry({"hang": hang})).run(ToolCall(id="1", name="hang", arguments={}))
print(run.status)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "error\n"


@covers("toolcall.size-limit")
def test_a_tool_that_returns_ten_megabytes_is_refused_with_both_sizes(loom):
    run = service(loom, tool(run=lambda *_: say("tide", "", "x" * 10_000_000))).run(call())
    assert run.status is ToolStatus.ERROR
    assert "tide returned 10,000,000 characters; the most is 2,000,000\nask it for less" in run.output.content
    assert len(run.output.render()) < 300


@covers("toolcall.effects-ask")
def test_a_tool_with_effects_runs_only_if_a_person_agrees(loom):
    ran, asked = [], []
    writing = tool(run=lambda *_: ran.append(1) or say("tide", "Done."), effects=True)
    denied = service(loom, writing).run(call())
    assert denied.status is ToolStatus.DENIED
    assert denied.output.render().startswith('<tide status="denied">\ntide needs the approval of a person')
    refused = service(loom, writing, approver=lambda request: asked.append(request) or False).run(call())
    assert refused.status is ToolStatus.DENIED
    assert "a person refused tide" in refused.output.content
    assert (asked[0].call, asked[0].description) == (call(), "The tide.")
    assert ran == []
    assert service(loom, writing, approver=lambda _: True).run(call()).status is ToolStatus.OK
    assert ran == [1]


@covers("toolcall.effects-ask", "toolcall.policies")
def test_the_strictest_policy_of_the_calling_chain_holds(loom):
    writing = tool(effects=True)

    def of(agent):
        return service(loom, writing, caller=loom.caller.calling(agent.id))

    may = loom.add_agent(
        "May",
        model_ref="scripted:echo",
        custom={"toolPolicies": {"tide": "allow"}},
        permissions=["loom_aware"],
    )
    assert of(may).run(call()).status is ToolStatus.OK
    loom.tools.set_policy("tide", ToolPolicy.ASK)
    assert of(may).run(call()).status is ToolStatus.DENIED
    loom.tools.set_policy("tide", "deny")
    assert [each.off for each in of(may).offered()] == ["its policy is deny"]
    assert of(may).schemas() == []
    loom.tools.set_policy("tide", None)
    assert [(each.name, each.schema["properties"]) for each in of(may).schemas()] == [("tide", {})]
    with pytest.raises(InvalidInputError, match="tide is 'maybe'"):
        loom.tools.set_policy("tide", "maybe")
    with pytest.raises(InvalidInputError, match="toolPolicies.tide is 'maybe'"):
        loom.add_agent("Bad", model_ref="scripted:echo", custom={"toolPolicies": {"tide": "maybe"}})


@covers("toolcall.permission")
def test_every_agent_of_the_chain_needs_the_permission_of_a_tool(loom):
    reading = tool(permission=Permission.DOC_READ)
    plain = loom.add_agent("Plain", model_ref="scripted:echo")
    run = service(loom, reading, caller=loom.caller.calling(plain.id)).run(call())
    assert run.status is ToolStatus.DENIED
    assert isinstance(run.error, PermissionDeniedError)
    assert "doc_read not enabled" in run.output.content
    assert service(loom, reading).run(call()).status is ToolStatus.OK


SCHEMA = {
    "type": "object",
    "properties": {"place": {"type": "object", "properties": {"depth": {"type": "integer"}}}},
    "required": ["place"],
    "additionalProperties": False,
}


@covers("toolcall.arguments-checked")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"place": {"depth": "deep"}}, "tide: place.depth: 'deep' is not of type 'integer'"),
        ({}, "tide: 'place' is a required property"),
        ({"place": {}, "when": 1}, "tide: Additional properties are not allowed"),
    ],
)
def test_arguments_are_checked_against_a_schema_with_the_path_of_the_field(loom, arguments, message):
    taken = Tool(name="tide", description="", arguments=SCHEMA, run=lambda _, given: say("tide", str(given)))
    here = service(loom, taken)
    with pytest.raises(InvalidInputError, match="^" + message.replace("(", r"\(")):
        here.check(ToolCall(id="1", name="tide", arguments=arguments))
    assert here.run(call(place={"depth": 3})).output.content == "{'place': {'depth': 3}}"


@covers("toolcall.arguments-checked")
@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$ref": "#"},
        {"type": 3},
    ],
)
def test_a_schema_that_cannot_be_used_is_an_error_and_nothing_is_fetched_for_it(loom, schema):
    taken = Tool(name="tide", description="", arguments=schema, run=lambda *_: say("tide", ""))
    run = service(loom, taken).run(call(place=1))
    assert "its argument schema cannot be used" in run.output.content


@covers("toolcall.arguments-checked")
def test_patterns_of_a_schema_are_not_run(loom):
    slow = {"properties": {"place": {"pattern": "^(a+)+$"}}, "patternProperties": {"^(a+)+$": False}}
    slow["additionalProperties"] = False
    taken = Tool(name="tide", description="", arguments=slow, run=lambda *_: say("tide", "High."))
    assert service(loom, taken).run(call(place="a" * 64 + "!")).status is ToolStatus.OK
