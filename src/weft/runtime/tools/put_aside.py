"""Large results are put aside on arrival: the model gets a preview, with a handle and how to read on."""

from dataclasses import replace

import orjson
from sqlalchemy import select

from weft.context.items.blocks import ToolOutput
from weft.context.settings import resolve_layer_settings
from weft.context.tokens import DEFAULT
from weft.errors import PermissionDeniedError
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.settings import load_settings
from weft.runtime.operations.tool_results import KeepResult, KeptResult
from weft.store import schema
from weft.tree.content import ToolCall
from weft.tree.node import Node

_CHARACTERS = 2
"""Characters of a preview for each token of the threshold: about half of what would still be shown whole."""
_NEXT_LINES = 100
"""How many lines the hint offers at once."""


def threshold(caller: Caller, tree: str) -> int | None:
    """Tokens above which a result is put aside in this tree; None: never."""
    trees = schema.trees
    with caller.store.read() as session:
        own = session.execute(select(trees.c.preferences).where(trees.c.ulid == tree)).scalar_one()
        return resolve_layer_settings(load_settings(session), orjson.loads(own)).put_aside_above


def put_aside(
    caller: Caller, node: Node, call: ToolCall, output: ToolOutput, *, above: int, loom_aware: bool
) -> ToolOutput:
    """The output as it is, or, if it is larger than `above` tokens, its beginning and the handle of the whole."""
    if DEFAULT.of_text(output.content) <= above:
        return output
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    operation = KeepResult(
        tree=node.tree_id, node=node.id, tool=call.name, arguments=arguments, text=output.content
    )
    kept = None
    try:
        kept = caller.perform(operation)
    except PermissionDeniedError:
        # An agent that may not write here still gets the beginning.
        kept = None
    shown = _beginning(output.content, _CHARACTERS * above)
    lines = shown.count("\n") + 1
    return replace(
        output,
        content=f"{shown}\n\n{_notice(output.content, lines, kept, loom_aware=loom_aware)}",
        attributes={
            **output.attributes,
            **({} if kept is None else {"result": str(kept.number)}),
            "size": str(len(output.content)),
            "lines": f"1-{lines} of {output.content.count(chr(10)) + 1}",
        },
    )


def _beginning(text: str, room: int) -> str:
    """Whole lines, if at least one fits."""
    if len(text) <= room:
        return text
    cut = text.rfind("\n", 0, room + 1)
    return text[:room] if cut <= 0 else text[:cut]


def _notice(text: str, lines: int, kept: KeptResult | None, *, loom_aware: bool) -> str:
    total = text.count("\n") + 1
    size = f"{len(text):,} characters, {total:,} {'line' if total == 1 else 'lines'}"
    if kept is None:
        return f"(Shortened: {size} in all. The rest was not kept.)"
    start = min(lines + 1, total)
    end = min(start + _NEXT_LINES - 1, total)
    way = (
        f"→ view result:{kept.number} lines:{start}-{end}"
        if loom_aware
        else f"readResult with result {kept.number} and start {start}"
    )
    return f"(Shortened: {size} in all, kept as result:{kept.number}. To read on: {way})"
