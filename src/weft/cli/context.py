"""Show the context of a request, and its preferences: context, prefer."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.arguments import SettingValues, agent_option, complete_nodes, flag, node_argument, node_option
from weft.cli.command import command
from weft.cli.context_display import LayerView, draw_manifest, print_entries, show_changes, show_layers
from weft.cli.formatting import quoted
from weft.cli.knowledge import ToolCalls, tool_outputs
from weft.cli.output import Column
from weft.cli.session import HERE, CliSession
from weft.cli.text_input import read_setting
from weft.errors import InvalidInputError, StorageError
from weft.tree.json_names import camel, to_wire

if TYPE_CHECKING:
    from weft.context.layers.envelope import Envelope
    from weft.context.result import AssembledContext
    from weft.grove.node import NodeHandle
    from weft.grove.tree import TreeHandle
    from weft.runtime.contexts.assembler import ContextWishes
    from weft.tree.content import JsonValue


def context(
    session: CliSession,
    reference: Annotated[
        str | None,
        node_argument("The place: a7x2, TREE/a7x2, a ULID, or a tree. Default: the current node."),
    ] = None,
    *,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="TOKENS", help="The budget; default: no limit.")
    ] = None,
    window: Annotated[
        int | None,
        typer.Option("--window", metavar="TOKENS", help="The model's window, from which the budget follows."),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option("--max-tokens", metavar="TOKENS", help="The part of the window kept for the response."),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option("--strategy", metavar="NAME", help="truncateMiddle, rollingWindow or stopAtLimit."),
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(
            "--step", metavar="SHARE", help="How far the cut moves at once; 0 cuts exactly; or auto."
        ),
    ] = None,
    agent: Annotated[str | None, agent_option("--agent", help="The agent that would answer.")] = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="TEXT", help="Add this as the next turn, unsaved.")
    ] = None,
    settings: SettingValues = None,
    annotations: Annotated[bool, flag("--annotations", "-a", help="Include the path's annotations.")] = False,
    raw: Annotated[bool, flag("--raw", help="Print the request itself.")] = False,
    entries: Annotated[bool, flag("--entries", help="List every candidate.")] = False,
    layers: Annotated[bool, flag("--layers", help="Show the request layer by layer.")] = False,
    payload: Annotated[bool, flag("--payload", help="Print the texts of the layers.")] = False,
    sent: Annotated[bool, flag("--sent", help="Show what was sent from this turn, as recorded.")] = False,
    tool: ToolCalls = None,
    other: Annotated[
        str | None,
        typer.Option(
            "--diff",
            metavar="OTHER",
            help="Compare with another node, strategy or setting (NAME=VALUE).",
            autocompletion=complete_nodes,
        ),
    ] = None,
    of: Annotated[
        str | None, node_option("--of", help="Show what the model that wrote this node saw.")
    ] = None,
    verify: Annotated[
        bool, flag("--verify", help="With --of: rebuild the request and compare it with what was sent.")
    ] = False,
) -> None:
    """Show what a model would see at a node, and why it would not see the rest.

    With --of: what a model did see, from the record of its request.
    """
    if of is not None or verify:
        _show_sent(session, of or reference or HERE, verify=verify, raw=raw, entries=entries)
        return
    _refuse_diff_with(other, raw=raw, payload=payload)
    tree, node = session.place(reference)
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
        "tool_outputs": tool_outputs(session, tool, tree, node),
    }
    if layers and other is not None:
        show_changes(session, here.envelope(**wishes), _other(session, here, wishes, other, layers=True))
        return
    if layers or payload or sent:
        view = LayerView.of(raw=raw, entries=entries, payload=payload)
        show_layers(session, tree, node, wishes, sent=sent, view=view)
        return
    assembled = here.context(**wishes)
    if other is not None:
        show_changes(session, assembled, _other(session, here, wishes, other))
    elif session.out.as_json:
        session.out.json(assembled.to_wire())
    elif raw:
        _print_raw(session, assembled)
    elif entries:
        print_entries(session, assembled.manifest)
    else:
        place = quoted(tree.title) if node is None else f"[{node.local_id}]"
        draw_manifest(session, place, assembled.manifest)


def _refuse_diff_with(other: str | None, *, raw: bool, payload: bool) -> None:
    if other is not None and (raw or payload):
        raise InvalidInputError(f"{'--raw' if raw else '--payload'} and --diff exclude each other")


def _show_sent(session: CliSession, reference: str, *, verify: bool, raw: bool, entries: bool) -> None:
    """What a model did see."""
    node = session.node(reference)
    generations = session.grove.generations
    sent = generations.sent(node.value.tree_id, node.id)
    check = generations.check_sent(sent) if verify else None
    if session.out.as_json:
        session.out.json(
            {
                "node": sent.node.id,
                "sha256": sent.sha256,
                "manifest": sent.manifest.to_wire(),
                "generation": sent.generation,
                "checked": check,
            }
        )
    elif raw:
        session.out.exact(sent.body.decode("utf-8", "replace"))
    elif entries:
        print_entries(session, sent.manifest)
    elif check is None:
        draw_manifest(session, f"[{node.local_id}]", sent.manifest)
    if check is None:
        return
    if not session.out.as_json and not raw:
        equal = "equals what was sent, byte for byte" if check.is_whole else "DIFFERS from what was sent"
        session.out.text(f"{len(sent.body):,} bytes, sha256 {check.rebuilt[:16]}…: the request {equal}")
        messages = {
            "same": "assembled again today, it is the same",
            "differs": f"assembled again today, it differs: {check.why}",
            "unknown": f"it cannot be assembled again: {check.why}",
        }
        session.out.text(messages[check.again.value])
    if not check.is_whole:
        raise StorageError(
            f"the request of [{node.local_id}] is damaged", hint="weft verify shows where; restore a backup"
        )


def _other(
    session: CliSession,
    here: "NodeHandle | TreeHandle",
    wishes: "ContextWishes",
    other: str,
    *,
    layers: bool = False,
) -> "AssembledContext | Envelope":
    from weft.context.fit import Strategy  # noqa: PLC0415 - loads with the engine

    if other in set(Strategy):
        other = f"truncationStrategy={other}"
    if "=" in other:
        name, value = read_setting(other)
        wishes = {**wishes, "preferences": {**wishes.get("preferences", {}), name: value}}
    else:
        here = session.node(other)
    return here.envelope(**wishes) if layers else here.context(**wishes)


def _print_raw(session: CliSession, assembled: "AssembledContext") -> None:
    if assembled.document is None:
        session.out.json({"system": assembled.system, "messages": assembled.to_wire()["messages"]})
    elif assembled.system:
        session.out.json({"system": assembled.system, "document": assembled.document})
    else:
        session.out.exact(assembled.document)


def prefer(
    session: CliSession,
    settings: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME=VALUE",
            help="What to set; NAME= removes the setting, NAME='\"\"' sets an empty text.",
        ),
    ] = None,
) -> None:
    """Show or set the preferences for contexts: of the grove, or with --tree of one tree."""
    from weft.context.settings import (  # noqa: PLC0415 - most commands set none
        resolve_layer_settings,
        resolve_preferences,
    )

    changes: dict[str, Any] = {
        name: None if each.endswith("=") else value
        for each in settings or ()
        for name, value in [read_setting(each)]
    }
    tree = None if session.options.tree is None else session.tree
    if changes and tree is not None:
        tree = tree.prefer(**changes)
    elif changes:
        session.grove.prefer(**changes)
    levels: list[Mapping[str, JsonValue]] = [session.grove.preferences]
    if tree is not None:
        levels.append(tree.value.preferences)
    wire = {
        camel(each.name): to_wire(getattr(resolved, each.name))
        for resolved in (resolve_preferences(*levels), resolve_layer_settings(*levels))
        for each in fields(resolved)
    }
    if session.out.as_json:
        session.out.json(wire)
        return
    session.out.table(
        list(wire.items()),
        Column("preference", lambda row: row[0]),
        Column("value", lambda row: _shown(*row), shrinks=True),
        Column("set by", lambda row: _set_by(row[0], levels)),
    )


def _shown(name: str, value: object) -> str:
    if value is None:
        return "auto" if name.startswith("truncation") else "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _set_by(name: str, levels: "Sequence[Mapping[str, JsonValue]]") -> str:
    owners = [owner for owner, level in zip(("grove", "tree"), levels, strict=False) if name in level]
    return owners[-1] if owners else ""


def add_to(app: typer.Typer) -> None:
    command(app, "context", context, panel="Context")
    command(app, "prefer", prefer, panel="Context")
