"""Stepping back and forth, and what was done: undo, redo, history."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.call import Call
from weft.cli.command import command, flag
from weft.cli.drawing import first_words
from weft.cli.output import Column
from weft.cli.trees import TreeName
from weft.cli.wording import ago, where
from weft.tree.history import HistoryEntry, HistoryStep
from weft.tree.json_names import iso

if TYPE_CHECKING:
    from weft.grove.tree import TreeHandle

__all__ = ["add_to"]

_PANEL = "History"
_COLUMNS = (
    Column("", number=True),
    Column("what"),
    Column("about", gives=True),
    Column("who"),
    Column("when"),
    Column(""),
)

Steps = Annotated[int, typer.Option("--steps", "-n", min=1, max=1_000, help="How many, all or none.")]
InGrove = Annotated[bool, flag("--in-grove", help="In the grove itself: documents, agents, planting trees.")]


def undo(call: Call, tree: TreeName = None, *, steps: Steps = 1, of_grove: InGrove = False) -> None:
    """Take back the last thing you did in a tree.

    Only your own, step by step, and not where others have built on it. Prints what was taken back.
    """
    handle = _tree(call, tree, of_grove=of_grove)
    _tell(call, handle, call.grove.undo(steps) if handle is None else handle.undo(steps))


def redo(call: Call, tree: TreeName = None, *, steps: Steps = 1, of_grove: InGrove = False) -> None:
    """Do again what you have just undone.

    Prints what was done again.
    """
    handle = _tree(call, tree, of_grove=of_grove)
    _tell(call, handle, call.grove.redo(steps) if handle is None else handle.redo(steps))


def history(
    call: Call,
    tree: TreeName = None,
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="The last N.")] = 20,
    agent: Annotated[str | None, typer.Option("--by", metavar="AGENT", help="Only this agent's.")] = None,
    hidden: Annotated[bool, flag("--hidden", help="The nodes that undo has hidden, instead.")] = False,
    of_grove: InGrove = False,
) -> None:
    """What was done, by whom and when, the latest last; undone operations are marked."""
    handle = _tree(call, tree, of_grove=of_grove)
    if hidden and handle is not None:
        _tell_hidden(call, handle)
        return
    events = call.grove.history(limit, agent=agent) if handle is None else handle.history(limit, agent=agent)
    if call.out.as_json:
        call.out.json(events)
        return
    if not events:
        call.out.talk("nothing was done here")
        return
    rows = [[str(each.ordinal), each.kind, _about(each), each.agent_name] for each in events]
    marks = ["undone" if each.undone else "" for each in events]
    call.out.table(
        _COLUMNS,
        (
            [*row, ago(each.created_at, call.now), mark]
            for row, each, mark in zip(rows, events, marks, strict=True)
        ),
        ([*row, iso(each.created_at), mark] for row, each, mark in zip(rows, events, marks, strict=True)),
    )


def _tree(call: Call, reference: str | None, *, of_grove: bool) -> "TreeHandle | None":
    if of_grove:
        return None
    return call.tree if reference is None else call.grove.tree(reference)


def _tell(call: Call, tree: "TreeHandle | None", steps: Sequence[HistoryStep]) -> None:
    """One line for each step: what it was for a script, what was done for a person."""
    here = "in the grove" if tree is None else where(tree.title)
    plain: list[str] = []
    told: list[str] = []
    for step in steps:
        names = [] if tree is None else _local_ids(call, tree, step)
        plain.append(" ".join([step.kind, *names]))
        done = "undid" if step.direction == "undo" else "redid"
        told.append(" ".join([done, step.kind, *(f"[{name}]" for name in names), here]))
    if steps[0].direction == "undo":
        told.append(f"weft redo{'' if tree else ' --in-grove'} does it again")
    call.out.answer(steps, "\n".join(plain), "\n".join(told))


def _local_ids(call: Call, tree: "TreeHandle", step: HistoryStep) -> list[str]:
    return [call.grove.read.node(tree.id, node, hidden=True).local_id for node in step.nodes]


def _tell_hidden(call: Call, tree: "TreeHandle") -> None:
    nodes = [node.value for node in tree.hidden]
    if call.out.as_json:
        call.out.json(nodes)
        return
    if not nodes:
        call.out.talk(f"undo has hidden nothing {where(tree.title)}")
        return
    rows = [[node.local_id, first_words(node)] for node in nodes]
    call.out.table((Column(""), Column("text", gives=True)), rows, rows)


def _about(event: HistoryEntry) -> str:
    """What an event says of itself that a person may want to see."""
    payload = event.payload
    if event.kind in {"undo", "redo"}:
        return f"{payload['kind']} (event {payload.get('undoes') or payload.get('redoes')})"
    fields = payload.get("fields")
    told = ", ".join(str(name) for name in fields) if isinstance(fields, list) else ""
    return " ".join([f"[{name}]" for name in event.nodes] + [told]).strip()


def add_to(app: typer.Typer) -> None:
    for function in (undo, redo, history):
        command(app, function.__name__, function, panel=_PANEL)
