"""`weft stats`: what requests were made of, what a cache made of them, what other settings would have."""

from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.call import Call
from weft.cli.command import command
from weft.cli.completing import complete_agents, complete_nodes
from weft.cli.layers import COLOURS, layer_bar
from weft.cli.output import Column, Piece
from weft.cli.progress import progress_bar
from weft.cli.wording import quoted
from weft.tree.node_labels import counted

if TYPE_CHECKING:
    from weft.runtime.contexts.options import LayerWishes
    from weft.runtime.contexts.statistics import Requests, TreeStats

__all__ = ["add_to"]

_SHORTEST = 20
_LAYERS = {"L1_SYSTEM": "L1", "L2_LIBRARY": "L2", "L4_HISTORY": "L4", "L3_TURN": "L3", "L5_USER": "L5"}


def stats(
    call: Call,
    reference: Annotated[
        str | None,
        typer.Argument(
            metavar="NODE",
            help="A tree, or the end of a branch of it. Else where you stand.",
            autocompletion=complete_nodes,
        ),
    ] = None,
    *,
    agent: Annotated[
        str | None,
        typer.Option("--agent", metavar="AGENT", help="Whose cache counts.", autocompletion=complete_agents),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="TOKENS", help="The budget to try settings with.")
    ] = None,
    window: Annotated[
        int | None, typer.Option("--window", metavar="TOKENS", help="The model's window instead.")
    ] = None,
    turns: Annotated[
        int, typer.Option("--turns", metavar="N", min=0, help="Try other settings on the last N turns.")
    ] = 30,
) -> None:
    """Show what a tree's requests were made of, and how much of them was cached.

    For the tree and each branch: tokens by layer, the share that was expected to be cached and
    the share that providers reported; and the turns at which L1 or L2 changed without a recorded
    reason. Then what the same turns would have cost with other
    settings, in tokens at the full price (reading from a cache costs 0.1, writing to it 1.25).
    """
    from weft.runtime.contexts.options import layer_options_from  # noqa: PLC0415 - the engine
    from weft.runtime.contexts.statistics import tree_stats  # noqa: PLC0415

    tree, node = call.place(reference)
    wishes: LayerWishes = {"agent": agent, "limit": limit, "window": window}
    with progress_bar("trying other settings") as progress:
        found = tree_stats(
            call.grove.layers,
            tree.id,
            layer_options_from(wishes),
            node=None if node is None else node.id,
            turns=turns,
            progress=progress,
        )
    if call.out.as_json:
        call.out.json(found)
        return
    _draw(call, found)
    for note in found.notes:
        call.out.talk(f"note: {note}")


def _draw(call: Call, found: "TreeStats") -> None:
    whole = found.requests
    call.out.line(
        [
            Piece(quoted(found.title), "bold"),
            Piece(f"  {counted(whole.count, 'request')}, {whole.tokens:,} tokens"),
        ]
    )
    if call.out.terminal and whole.count:
        width = max(_SHORTEST, call.out.width - 18)
        call.out.line(
            [
                Piece("layers     ", "dim"),
                *layer_bar([(name, whole.in_layer(name)) for name in COLOURS], width),
            ]
        )
        call.out.line([Piece("expected   ", "dim"), *_share_bar(whole.predicted_share, width)])
        if whole.reported_share is not None:
            call.out.line([Piece("reported   ", "dim"), *_share_bar(whole.reported_share, width)])
    if whole.count:
        rows = [("all", whole), *((f"[{each.leaf}]", each.requests) for each in found.branches)]
        lines = [_row(name, requests) for name, requests in rows]
        call.out.table(
            (
                Column("branch"),
                Column("requests", number=True),
                Column("tokens", number=True),
                *(Column(short, number=True) for short in _LAYERS.values()),
                Column("expected", number=True),
                Column("reported", number=True),
            ),
            lines,
            lines,
        )
    else:
        call.out.talk("nothing was sent from this tree yet")
    if found.unstable:
        lines = [(f"[{each.node}]", each.layer, each.segment) for each in found.unstable]
        call.out.line([Piece("the cache was lost without a recorded reason", "yellow")])
        call.out.table((Column("turn"), Column("layer"), Column("from", gives=True)), lines, lines)
    if found.variants:
        lines = [
            (
                each.library,
                "exact" if each.step == 0 else f"steps of {each.step:g}",
                f"{each.cost:,.0f}",
                f"{100 * each.cached:.0f} %",
                "as it is" if each.current else f"{100 * each.saved:+.0f} %",
            )
            for each in found.variants
        ]
        call.out.line([Piece(f"the last {counted(found.turns, 'turn')} with other settings", "dim")])
        call.out.table(
            (
                Column("library"),
                Column("cuts"),
                Column("cost", number=True),
                Column("cached", number=True),
                Column("saves", number=True),
            ),
            lines,
            lines,
        )


def _row(name: str, requests: "Requests") -> tuple[str, ...]:
    reported = requests.reported_share
    return (
        name,
        f"{requests.count:,}",
        f"{requests.tokens:,}",
        *(f"{requests.in_layer(layer):,}" for layer in _LAYERS),
        f"{100 * requests.predicted_share:.0f} %",
        "" if reported is None else f"{100 * reported:.0f} %",
    )


def _share_bar(share: float, width: int) -> list[Piece]:
    filled = round(min(1.0, share) * width)
    return [
        Piece("█" * filled, "green"),
        Piece("░" * (width - filled), "dim"),
        Piece(f" {100 * share:.0f} %"),
    ]


def add_to(app: typer.Typer) -> None:
    command(app, "stats", stats, panel="Context")
