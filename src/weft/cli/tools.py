"""Tools of a turn: tools, tools run; and `--tool` of other commands."""

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.call import Call
from weft.cli.command import command, group
from weft.cli.completing import complete_nodes
from weft.cli.output import Column
from weft.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.context.layers.blocks import ToolOutput
    from weft.knowledge.tools.registry import AnyTool
    from weft.runtime.handles import NodeHandle, TreeHandle
    from weft.runtime.tools import ToolCall
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
                    "name": each.tool.name,
                    "description": each.tool.description,
                    "parameters": each.tool.schema,
                    "off": each.off,
                }
                for each in found
            ]
        )
        return
    call.out.table(
        (Column("tool"), Column("takes"), Column("", gives=True)),
        ((each.tool.name, ", ".join(_takes(each.tool)), _told(each.tool, each.off)) for each in found),
        ((each.tool.name, ",".join(_takes(each.tool)), _told(each.tool, each.off)) for each in found),
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
        try:
            name, *given = shlex.split(each)
        except ValueError:
            raise InvalidInputError(f"{each!r} names no tool", hint="--tool 'localSearch the lamp'") from None
        calls.append(_call(call, name, given))
    return call.grove.tools.run_all(calls, at=tree.cursor if node is None else node)


def _call(call: Call, name: str, given: "Sequence[str]") -> "ToolCall":
    """A tool with its arguments: words are its first one, others are told by name."""
    from weft.cli.contexts import read_setting  # noqa: PLC0415 - it stands on this module
    from weft.runtime.tools import ToolCall  # noqa: PLC0415 - the runtime loads when it is used

    tool = call.grove.tools.registry.tool(name)
    names = [each.rstrip("?") for each in _takes(tool)]
    arguments: dict[str, JsonValue] = {}
    words: list[str] = []
    for each in given:
        key = each.partition("=")[0]
        if "=" in each and key in names:
            arguments |= [read_setting(each)]
        else:
            words.append(each)
    if words:
        arguments.setdefault(names[0] if names else "words", " ".join(words))
    return ToolCall(name, arguments)


def _takes(tool: "AnyTool") -> list[str]:
    fields = tool.arguments.model_fields.items()
    return [f"{each.alias or name}{'' if each.is_required() else '?'}" for name, each in fields]


def _told(tool: "AnyTool", off: str | None) -> str:
    return tool.description if off is None else f"off: {off}"


def add_to(app: typer.Typer) -> None:
    family = group(app, "tools", ls, panel=_PANEL)
    command(family, "ls", ls)
    command(family, "run", run)
