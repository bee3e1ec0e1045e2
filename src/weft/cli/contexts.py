"""What a model would see, and how two places differ."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from weft.cli.call import HERE, Call
from weft.cli.command import command, flag
from weft.cli.completing import complete_agents, complete_nodes
from weft.cli.layers import View, show_layers
from weft.cli.output import Column, Piece
from weft.cli.tools import ToolCalls, tool_outputs
from weft.cli.wording import quoted
from weft.errors import InvalidInputError, StorageError

if TYPE_CHECKING:
    from weft.context.layers.envelope import Envelope
    from weft.context.manifest import Manifest
    from weft.context.manifest_diff import Changes
    from weft.context.manifest_view import Segment
    from weft.context.result import AssembledContext
    from weft.grove.node import NodeHandle
    from weft.grove.tree import TreeHandle
    from weft.runtime.contexts.assembler import ContextWishes
    from weft.tree.content import JsonValue

__all__ = ["add_to", "draw_manifest", "print_entries"]

_BLOCKS = {"system": "magenta", "sources": "cyan", "nodes": "blue", "input": "yellow", "added": "green"}
_FILLED, _EMPTY = "█", "░"
_SHORTEST = 20


def context(
    call: Call,
    reference: Annotated[
        str | None,
        typer.Argument(
            metavar="NODE",
            help="The place: a7x2, TREE/a7x2, a ULID, or a tree. Else where you stand.",
            autocompletion=complete_nodes,
        ),
    ] = None,
    *,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="TOKENS", help="The budget; else everything is kept.")
    ] = None,
    window: Annotated[
        int | None,
        typer.Option("--window", metavar="TOKENS", help="The model's window: the budget is what it leaves."),
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", metavar="TOKENS", help="What the response may take of it.")
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option("--strategy", metavar="NAME", help="truncateMiddle, rollingWindow or stopAtLimit."),
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(
            "--step", metavar="SHARE", help="How far the cut moves at a time; 0 cuts exactly, or auto."
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option("--agent", metavar="AGENT", help="Who would answer.", autocompletion=complete_agents),
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="TEXT", help="As if this were said next.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any preference, for this call; may be repeated."),
    ] = None,
    annotations: Annotated[bool, flag("--annotations", "-a", help="With the notes on the path.")] = False,
    raw: Annotated[bool, flag("--raw", help="The request itself.")] = False,
    entries: Annotated[bool, flag("--entries", help="Every candidate on a line of its own.")] = False,
    layers: Annotated[
        bool, flag("--layers", help="The request in layers, with what turns attached.")
    ] = False,
    payload: Annotated[bool, flag("--payload", help="The layers' texts themselves.")] = False,
    sent: Annotated[bool, flag("--sent", help="What was sent from this turn, as it was kept.")] = False,
    tool: ToolCalls = None,
    other: Annotated[
        str | None,
        typer.Option(
            "--diff",
            metavar="OTHER",
            help="What would be otherwise: at another node, with another strategy, or with NAME=VALUE.",
            autocompletion=complete_nodes,
        ),
    ] = None,
    of: Annotated[
        str | None,
        typer.Option(
            "--of",
            metavar="NODE",
            help="What the model saw that wrote this node.",
            autocompletion=complete_nodes,
        ),
    ] = None,
    verify: Annotated[
        bool, flag("--verify", help="With --of: rebuild the request and compare it with what was sent.")
    ] = False,
) -> None:
    """Show exactly what a model would see at a node, and why not the rest.

    With --of: what it did see, from what was kept when it was asked.
    """
    if of is not None or verify:
        sent_context(call, of or reference or HERE, verify=verify, raw=raw, entries=entries)
        return
    _check_alone(other, raw=raw, payload=payload)
    tree, node = call.place(reference)
    here = tree if node is None else node
    preferences = dict(read_setting(each) for each in settings or ())
    if strategy is not None:
        preferences["truncationStrategy"] = strategy
    if step is not None:
        preferences |= [read_setting(f"truncationStep={step}")]
    wishes: ContextWishes = {
        "limit": limit,
        "window": window,
        "max_tokens": max_tokens,
        "agent": agent,
        "text": text,
        "annotations": annotations,
        "preferences": preferences,
        "tool_outputs": tool_outputs(call, tool, tree, node),
    }
    if layers and other is not None:
        _compare(call, here.envelope(**wishes), _other(call, here, wishes, other, layers=True))
        return
    if layers or payload or sent:
        show_layers(
            call, tree, node, wishes, sent=sent, view=View.of(raw=raw, entries=entries, payload=payload)
        )
        return
    found = here.context(**wishes)
    if other is not None:
        _compare(call, found, _other(call, here, wishes, other))
    elif call.out.as_json:
        call.out.json(found.to_wire())
    elif raw:
        _print_raw(call, found)
    elif entries:
        print_entries(call, found.manifest)
    else:
        draw_manifest(call, quoted(tree.title) if node is None else f"[{node.local_id}]", found.manifest)


def sent_context(call: Call, reference: str, *, verify: bool, raw: bool, entries: bool) -> None:
    """What a model did see."""
    node = call.node(reference)
    generations = call.grove.generations
    sent = generations.sent(node.value.tree_id, node.id)
    checked = generations.check_sent(sent) if verify else None
    if call.out.as_json:
        call.out.json(
            {
                "node": sent.node.id,
                "sha256": sent.sha256,
                "manifest": sent.manifest.to_wire(),
                "generation": sent.generation,
                "checked": checked,
            }
        )
    elif raw:
        call.out.exact(sent.body.decode("utf-8", "replace"))
    elif entries:
        print_entries(call, sent.manifest)
    elif checked is None:
        draw_manifest(call, f"[{node.local_id}]", sent.manifest)
    if checked is None:
        return
    whole = "is what was sent, byte for byte" if checked.is_whole else "IS NOT what was sent"
    if not call.out.as_json and not raw:
        call.out.text(f"{len(sent.body):,} bytes, sha256 {checked.rebuilt[:16]}…: the request {whole}")
        words = {
            "same": "assembled again today, it is the same",
            "differs": f"assembled again today, it would differ: {checked.why}",
            "unknown": f"it cannot be assembled again: {checked.why}",
        }
        call.out.text(words[checked.again.value])
    if not checked.is_whole:
        raise StorageError(
            f"the request of [{node.local_id}] is damaged", hint="weft verify says where; restore a backup"
        )


def read_setting(text: str) -> "tuple[str, JsonValue]":
    """NAME=VALUE; a value that is JSON is read as such."""
    import json  # noqa: PLC0415 - one option needs it

    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InvalidInputError(f"{text!r} is not NAME=VALUE", hint="for example minimumRecentNodes=2")
    try:
        return name.strip(), cast("JsonValue", json.loads(value))
    except ValueError:
        return name.strip(), value


def _check_alone(other: str | None, *, raw: bool, payload: bool) -> None:
    """What prints one context as it is cannot compare it with another."""
    if other is not None and (raw or payload):
        asked = "--raw" if raw else "--payload"
        raise InvalidInputError(
            f"{asked} prints one context, and --diff compares two", hint="leave one of them out"
        )


def _other(
    call: Call,
    here: "NodeHandle | TreeHandle",
    wishes: "ContextWishes",
    other: str,
    *,
    layers: bool = False,
) -> "AssembledContext | Envelope":
    from weft.context.strategy import Strategy  # noqa: PLC0415 - the engine is loaded by who asks it

    if other in set(Strategy):
        other = f"truncationStrategy={other}"
    if "=" in other:
        name, value = read_setting(other)
        wishes = {**wishes, "preferences": {**wishes.get("preferences", {}), name: value}}
    else:
        here = call.node(other)
    return here.envelope(**wishes) if layers else here.context(**wishes)


def _compare(call: Call, one: "AssembledContext | Envelope", two: "AssembledContext | Envelope") -> None:
    from weft.context.manifest_view import told_changes  # noqa: PLC0415

    changes: Changes = one.manifest.diff(two.manifest)
    if call.out.as_json:
        call.out.json({"tokens": [one.tokens, two.tokens], "changes": list(changes)})
        return
    if changes:
        columns = [Column("what", gives=True), Column("how many"), Column("becomes")]
        lines = told_changes(changes)
        call.out.table(columns, lines, lines)
    call.out.talk(
        f"{one.tokens:,} tokens, then {two.tokens:,}" if changes else "they see the same of what they share"
    )


def _print_raw(call: Call, found: "AssembledContext") -> None:
    if found.document is not None and not found.system:
        call.out.exact(found.document)
        return
    wire = found.to_wire()
    if found.document is not None:
        call.out.json({"system": found.system, "document": found.document})
        return
    call.out.json({"system": found.system, "messages": wire["messages"]})


def print_entries(call: Call, manifest: "Manifest") -> None:
    columns = [
        Column("outcome"),
        Column("what"),
        Column("id"),
        Column("tokens", number=True),
        Column("of", number=True),
        Column("why", gives=True),
    ]
    rows = [
        (
            each.outcome.value,
            each.kind.value if each.count == 1 else f"{each.count:,} {each.kind.value}s",
            each.id if each.last is None or each.last == each.id else f"{each.id} … {each.last}",
            str(each.tokens),
            str(each.size),
            each.reason,
        )
        for each in manifest
    ]
    if rows:
        call.out.table(columns, rows, rows)


def draw_manifest(call: Call, place: str, manifest: "Manifest") -> None:
    """The window as a bar, then what became of everything, and why."""
    from weft.context.manifest import NO_LIMIT  # noqa: PLC0415 - the engine is loaded by who asks it
    from weft.context.manifest_view import lines_of, segments_of  # noqa: PLC0415

    budget = manifest.facts.budget
    limit = f" of {budget:,}" if budget < NO_LIMIT else ""
    call.out.line([Piece(place, "bold"), Piece(f"  {manifest.tokens:,}{limit} tokens")])
    segments = segments_of(manifest)
    if call.out.terminal:
        call.out.line(_bar(segments, max(_SHORTEST, call.out.width - 2)))
    legend = " · ".join(f"{each.name} {each.tokens:,}" for each in _summed(segments))
    call.out.line([Piece(legend, "dim")])
    columns = [
        Column("outcome"),
        Column("", number=True),
        Column("what"),
        Column("tokens", number=True),
        Column("which"),
        Column("why", gives=True),
    ]
    rows = [
        (
            line.outcome.value,
            f"{line.count:,}",
            line.what,
            f"{line.tokens:,}" if line.tokens == line.size else f"{line.tokens:,} of {line.size:,}",
            line.names,
            line.reason,
        )
        for line in lines_of(manifest)
    ]
    if rows:
        call.out.table(columns, rows, rows)


def _summed(segments: "Sequence[Segment]") -> "list[Segment]":
    """Each name once, in the order in which it first comes."""
    from weft.context.manifest_view import Segment  # noqa: PLC0415

    totals: dict[str, int] = {}
    for each in segments:
        totals[each.name] = totals.get(each.name, 0) + each.tokens
    return [Segment(name, tokens) for name, tokens in totals.items()]


def _bar(segments: "Sequence[Segment]", width: int) -> list[Piece]:
    """Every segment with as many blocks as it has of the window; none is invisible."""
    whole = max(1, sum(each.tokens for each in segments))
    pieces: list[Piece] = []
    done = shown = 0
    for each in segments:
        done += each.tokens
        blocks = max(1, round(done * width / whole) - shown)
        shown += blocks
        free = each.name == "free"
        pieces.append(
            Piece((_EMPTY if free else _FILLED) * blocks, "dim" if free else _BLOCKS.get(each.name, ""))
        )
    return pieces


def diff(
    call: Call,
    one: Annotated[str, typer.Argument(metavar="A", help="A node.", autocompletion=complete_nodes)],
    other: Annotated[str, typer.Argument(metavar="B", help="Another.", autocompletion=complete_nodes)],
    *,
    paths: Annotated[
        bool, flag("--paths", help="All that follows where they part, not the two nodes alone.")
    ] = False,
) -> None:
    """Show where two nodes' paths part, and what their texts do not share."""
    first, second = call.node(one), call.node(other)
    found = first.diff(second, paths=paths)
    if call.out.as_json:
        call.out.json(found)
        return
    call.out.talk(
        f"[{found.one}] and [{found.other}] part after [{found.common}]: "
        f"{found.one_beyond:,} and {found.other_beyond:,} further"
    )
    if call.out.terminal:
        styles = {"same": "", "removed": "red strike", "added": "green"}
        call.out.pieces(Piece(each.text, styles[each.turn]) for each in found.words)
    else:
        call.out.text(str(found))


def prefer(
    call: Call,
    settings: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME=VALUE",
            help="What to set; NAME= alone takes it back, NAME='\"\"' sets the empty text.",
        ),
    ] = None,
) -> None:
    """Show or set what the grove prefers for contexts, or (with --tree) what one tree does."""
    from dataclasses import fields  # noqa: PLC0415

    from weft.context.layers.settings import resolve_layer_settings  # noqa: PLC0415 - the engine
    from weft.context.settings import resolve_preferences  # noqa: PLC0415
    from weft.tree.json_names import camel, to_wire  # noqa: PLC0415

    changes: dict[str, Any] = {
        name: None if each.endswith("=") else value
        for each in settings or ()
        for name, value in [read_setting(each)]
    }
    tree = None if call.choices.tree is None else call.tree
    if changes and tree is not None:
        tree = tree.prefer(**changes)
    elif changes:
        call.grove.prefer(**changes)
    levels: list[Mapping[str, JsonValue]] = [call.grove.preferences]
    if tree is not None:
        levels.append(tree.value.preferences)
    wire: dict[str, Any] = {
        camel(each.name): to_wire(getattr(resolved, each.name))
        for resolved in (resolve_preferences(*levels), resolve_layer_settings(*levels))
        for each in fields(resolved)
    }
    if call.out.as_json:
        call.out.json(wire)
        return
    rows = [(name, _told(name, value), _set_by(name, levels)) for name, value in wire.items()]
    call.out.table([Column("preference"), Column("value", gives=True), Column("set by")], rows, rows)


def _told(name: str, value: object) -> str:
    if value is None:
        return "auto" if name.startswith("truncation") else "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _set_by(name: str, levels: "Sequence[Mapping[str, JsonValue]]") -> str:
    found = [who for who, level in zip(("grove", "tree"), levels, strict=False) if name in level]
    return found[-1] if found else ""


def add_to(app: typer.Typer) -> None:
    command(app, "context", context, panel="Context")
    command(app, "diff", diff, panel="Context")
    command(app, "prefer", prefer, panel="Context")
