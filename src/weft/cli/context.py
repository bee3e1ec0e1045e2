"""The context of a request: context, prefer, stats."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Annotated, Any

from weft.argument_checks import options_from_texts, refuse_unknown
from weft.cli.arguments import SettingValues, argument, flag, option
from weft.cli.context_display import (
    draw_manifest,
    draw_stats,
    print_entries,
    show_changes,
    show_layers,
)
from weft.cli.knowledge import ToolCalls, tool_outputs
from weft.cli.output import Column, progress_bar, quoted
from weft.cli.session import HERE, CliSession
from weft.cli.text_input import name_and_text, read_setting
from weft.errors import InvalidInputError, StorageError
from weft.runtime.contexts.options import ContextOptions
from weft.runtime.runners.options import PreviewOptions
from weft.tree.json import camel
from weft.tree.json_names import to_wire

if TYPE_CHECKING:
    from weft.context.result import Context
    from weft.tree.json import JsonValue


def context(
    session: CliSession,
    reference: Annotated[
        str | None,
        argument("NODE", "The place: a7x2, TREE/a7x2, a ULID, or a tree. Default: the current node."),
    ] = None,
    *,
    limit: Annotated[int | None, option("--limit TOKENS", ContextOptions)] = None,
    window: Annotated[int | None, option("--window TOKENS", ContextOptions)] = None,
    max_tokens: Annotated[int | None, option("--max-tokens TOKENS", ContextOptions)] = None,
    strategy: Annotated[str | None, option("--strategy NAME", ContextOptions)] = None,
    step: Annotated[
        str | None, option("--step SHARE", "How far the cut moves at once; 0 cuts exactly; or auto.")
    ] = None,
    agent: Annotated[str | None, option("--agent AGENT", "The agent that would answer.")] = None,
    text: Annotated[str | None, option("--text TEXT", ContextOptions)] = None,
    settings: SettingValues = None,
    further: Annotated[
        list[str] | None,
        option(
            "--option -o NAME=VALUE",
            "Any other option of the request: asOf, temperature, n, addendum, … Repeatable.",
        ),
    ] = None,
    annotations: Annotated[bool, flag("--annotations -a", "Include the path's annotations.")] = False,
    raw: Annotated[bool, flag("--raw", "Print the request itself.")] = False,
    entries: Annotated[bool, flag("--entries", "List every candidate.")] = False,
    layers: Annotated[bool, flag("--layers", "Show the request layer by layer.")] = False,
    payload: Annotated[bool, flag("--payload", "Print the texts of the layers.")] = False,
    sent: Annotated[bool, flag("--sent", "Show what was sent from this turn, as recorded.")] = False,
    tool: ToolCalls = None,
    runner: Annotated[str | None, option("--runner NAME", PreviewOptions)] = None,
    vault: Annotated[list[str] | None, option("--vault NAME", PreviewOptions, name="vaults")] = None,
    other: Annotated[
        str | None, option("--diff OTHER", "Compare with another node, strategy or setting (NAME=VALUE).")
    ] = None,
    of: Annotated[str | None, option("--of NODE", "Show what the model that wrote this node saw.")] = None,
    verify: Annotated[
        bool, flag("--verify", "With --of: rebuild the request and compare it with what was sent.")
    ] = False,
) -> None:
    """Show what a model would see at a node, and why it would not see the rest.

    With --of: what a model did see, from the record of its request.
    """
    if of is not None or verify:
        _show_sent(session, of or reference or HERE, verify=verify, raw=raw, entries=entries)
        return
    if other is not None and (raw or payload):
        raise InvalidInputError(f"{'--raw' if raw else '--payload'} and --diff exclude each other")
    from weft.grove.node import preview_of  # noqa: PLC0415 - loads with the grove

    tree, node = session.place(reference)
    here = (tree.id, None if node is None else node.id)
    place = quoted(tree.title) if node is None else f"[{node.local_id}]"
    preferences = dict(read_setting(each) for each in settings or ())
    if strategy is not None:
        preferences["truncationStrategy"] = strategy
    if step is not None:
        preferences |= [read_setting(f"truncationStep={step}")]
    pairs = [name_and_text(each) for each in further or ()]
    refuse_unknown(dict(pairs), [camel(name) for name in PreviewOptions.specs()], "option")
    given: dict[str, Any] = {
        "limit": limit,
        "window": window,
        "max_tokens": max_tokens,
        "agent": agent,
        "text": text,
        "annotations": annotations or None,
        "preferences": preferences or None,
        "tool_outputs": tool_outputs(session, tool, tree, node) or None,
        "runner": runner,
        "vaults": vault or None,
    }
    options = replace(
        options_from_texts(PreviewOptions, pairs),
        **{name: value for name, value in given.items() if value is not None},
    )
    if other is not None:
        _show_difference(session, here, options, other, layers=layers)
        return
    if layers or payload or sent:
        end = node or tree.cursor
        prepared = None if sent else preview_of(session.grove, tree.id, end.id, options)
        show_layers(session, place, prepared or end.sent(), raw=raw, entries=entries, payload=payload)
        return
    assembled = preview_of(session.grove, *here, options)
    if session.out.as_json:
        session.out.json(assembled.to_wire())
    elif raw:
        _print_raw(session, assembled)
    elif entries:
        print_entries(session, assembled.manifest)
    else:
        draw_manifest(session, place, assembled.manifest)


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
                "cacheRequest": None if sent.cache is None else sent.cache.decode("utf-8", "replace"),
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
        if sent.cache is not None:
            session.out.text(f"it goes on from a cache, which a request of {len(sent.cache):,} bytes created")
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


def _show_difference(
    session: CliSession, here: tuple[str, str | None], options: PreviewOptions, other: str, *, layers: bool
) -> None:
    """Compare with another node, or with another strategy or setting here."""
    from weft.context.fit import Strategy  # noqa: PLC0415 - loads with the engine
    from weft.grove.node import preview_of  # noqa: PLC0415 - loads with the grove

    there, changed = here, options
    if other in set(Strategy):
        other = f"truncationStrategy={other}"
    if "=" in other:
        name, value = read_setting(other)
        changed = replace(options, preferences={**(options.preferences or {}), name: value})
    else:
        node = session.node(other)
        there = (node.tree_id, node.id)
    one, two = (
        preview_of(session.grove, *place, each) for place, each in ((here, options), (there, changed))
    )
    show_changes(session, *((one.laid_out, two.laid_out) if layers else (one, two)))


def _print_raw(session: CliSession, assembled: "Context") -> None:
    """The bodies of the requests; where there is none, what it would be made of."""
    requests = assembled.requests
    if not assembled.request.why:
        session.out.json(requests[0] if len(requests) == 1 else [each.to_wire() for each in requests])
        return
    session.out.message(f"no request: {assembled.request.why}")
    if assembled.document is None:
        session.out.json({"system": assembled.system, "messages": assembled.to_wire()["messages"]})
    elif assembled.system or assembled.messages:
        messages = assembled.to_wire()["messages"]
        session.out.json({"system": assembled.system, "messages": messages, "document": assembled.document})
    else:
        session.out.exact(assembled.document)


def prefer(
    session: CliSession,
    settings: Annotated[
        list[str] | None,
        argument("NAME=VALUE", "What to set; NAME= removes the setting, NAME='\"\"' sets an empty text."),
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
        return "auto" if name.startswith("truncation") else "off" if name.startswith("mask") else "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _set_by(name: str, levels: "Sequence[Mapping[str, JsonValue]]") -> str:
    owners = [owner for owner, level in zip(("grove", "tree"), levels, strict=False) if name in level]
    return owners[-1] if owners else ""


def stats(
    session: CliSession,
    reference: Annotated[
        str | None, argument("NODE", "A tree, or the end of one of its branches. Default: the current node.")
    ] = None,
    *,
    agent: Annotated[str | None, option("--agent AGENT", "The agent whose cache counts.")] = None,
    limit: Annotated[int | None, option("--limit TOKENS", "The budget to try settings with.")] = None,
    window: Annotated[int | None, option("--window TOKENS", "The model's window instead.")] = None,
    turns: Annotated[int, option("--turns N", "Try other settings on the last N turns.", min=0)] = 30,
) -> None:
    """Show what a tree's requests consisted of, and how much of them was cached.

    For the tree and each branch: tokens by layer, the expected share of cached tokens and the share
    that providers reported; and the turns at which L1 or L2 changed without a recorded reason. Then the
    cost of the same turns with other settings, in tokens at the full price (a cache read costs 0.1, a
    cache write 1.25).
    """
    from weft.runtime.contexts.options import ContextOptions  # noqa: PLC0415 - loads with the engine
    from weft.runtime.contexts.statistics import tree_stats  # noqa: PLC0415 - loads with the engine

    tree, node = session.place(reference)
    with progress_bar("trying other settings") as progress:
        statistics = tree_stats(
            session.grove.layers,
            tree.id,
            ContextOptions(agent=agent, limit=limit, window=window),
            node=None if node is None else node.id,
            turns=turns,
            progress=progress,
        )
    if session.out.as_json:
        session.out.json(statistics)
        return
    draw_stats(session.out, statistics)
    session.out.notes(statistics.notes)
