"""Tools of a turn: tools, tools run; and `--tool` of other commands."""

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.call import Call
from weft.cli.command import command, group
from weft.cli.completing import complete_nodes
from weft.cli.output import Column
from weft.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.context.layers.blocks import ToolOutput
    from weft.grove.node import NodeHandle
    from weft.grove.tree import TreeHandle
    from weft.knowledge.tools.registry import AnyTool
    from weft.runtime.contexts.turn_tools import Offered, ToolCall
    from weft.tree.content import JsonValue

__all__ = ["ToolCalls", "add_to", "tool_outputs"]

_PANEL = "References"

ToolCalls = Annotated[
    list[str] | None,
    typer.Option(
        "--tool",
        metavar="'NAME WORDS'",
        help="Look something up for this turn first: 'localSearch the lamp'; may be repeated.",
    ),
]


def ls(call: Call) -> None:
    """What can be looked up for a turn: what tools give stands before its question. Alone: list them.

    In a pipe: name, arguments and what it is for, with tabs between.
    """
    found = list(call.grove.tools)
    if call.out.as_json:
        call.out.json(
            [
                {
                    "name": each.name,
                    "description": None if each.tool is None else each.tool.description,
                    "parameters": None if each.tool is None else each.tool.schema,
                    "off": each.off,
                }
                for each in found
            ]
        )
        return
    call.out.table(
        (Column("tool"), Column("takes"), Column("", gives=True)),
        ((each.name, ", ".join(_takes(each.tool)), _told(each)) for each in found),
        ((each.name, ",".join(_takes(each.tool)), _told(each)) for each in found),
    )


def run(
    call: Call,
    name: Annotated[str, typer.Argument(metavar="NAME", help="weft tools lists them.")],
    given: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WORDS]", help="Its first argument; others as NAME=VALUE."),
    ] = None,
    *,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="NODE",
            help="The turn it is for: what stands on the way to it is not found again.",
            autocompletion=complete_nodes,
        ),
    ] = None,
) -> None:
    """Run a tool, and print what a model would be given of it.

    Nothing is sent: weft gen --tool and weft context --tool put it before a question.
    """
    place = None if at is None else call.node(at)
    output = call.grove.tools.run_all([_call(call, name, given or [])], at=place)[0]
    if call.out.as_json:
        call.out.json(output)
    else:
        call.out.exact(output.render() + "\n")


def tool_outputs(
    call: Call, wanted: "Sequence[str] | None", tree: "TreeHandle", node: "NodeHandle | None"
) -> "Sequence[ToolOutput]":
    """What the tools give that were asked for with `--tool`, for a turn at this place."""
    if not wanted:
        return ()
    calls: list[ToolCall] = []
    for each in wanted:
        words = _words(each)
        if not words:
            raise InvalidInputError(f"{each!r} names no tool", hint="--tool 'localSearch the lamp'")
        calls.append(_call(call, words[0], words[1:]))
    return call.grove.tools.run_all(calls, at=tree.cursor if node is None else node)


def _words(text: str) -> list[str]:
    """As a shell cuts it; at its spaces, where a quote is an apostrophe: `localSearch what's new`."""
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _call(call: Call, name: str, given: "Sequence[str]") -> "ToolCall":
    """A tool with its arguments: words are its first one, others are told by name."""
    from weft.runtime.contexts.turn_tools import ToolCall  # noqa: PLC0415 - the runtime loads when it is used

    tool = call.grove.tools.registry.tool(name)
    names = [each.rstrip("?") for each in _takes(tool)]
    arguments: dict[str, JsonValue] = {}
    words: list[str] = []
    for each in given:
        key, equals, value = each.partition("=")
        if equals and key in names:
            arguments[key] = _value(tool, key, value)
        else:
            words.append(each)
    if words:
        arguments.setdefault(names[0] if names else "words", " ".join(words))
    return ToolCall(name, arguments)


def _value(tool: "AnyTool", name: str, text: str) -> "JsonValue":
    """What an argument's value means: a text where it takes one, a list also with commas, else JSON."""
    from weft.cli.contexts import read_setting  # noqa: PLC0415 - it stands on this module

    kinds = _kinds(tool, name)
    value = read_setting(f"{name}={text}")[1]
    if "string" in kinds:
        return value if isinstance(value, str) else text
    if "array" in kinds and isinstance(value, str):
        return [each.strip() for each in value.split(",") if each.strip()]
    return value


def _kinds(tool: "AnyTool", name: str) -> set[str]:
    """The JSON types that an argument may have."""
    about: Any = tool.schema["properties"]
    ways = about[name].get("anyOf", [about[name]])
    return {str(way["type"]) for way in ways if "type" in way}


def _takes(tool: "AnyTool | None") -> list[str]:
    if tool is None:
        return []
    fields = tool.arguments.model_fields.items()
    return [f"{each.alias or name}{'' if each.is_required() else '?'}" for name, each in fields]


def _told(each: "Offered") -> str:
    return f"off: {each.off}" if each.tool is None or each.off is not None else each.tool.description


def add_to(app: typer.Typer) -> None:
    family = group(app, "tools", ls, panel=_PANEL)
    command(family, "ls", ls)
    command(family, "run", run)
