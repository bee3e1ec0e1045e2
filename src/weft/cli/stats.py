"""Statistics of a tree's requests: stats."""

from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.arguments import agent_option, node_argument
from weft.cli.command import command
from weft.cli.context_display import LAYERS, bar
from weft.cli.formatting import quoted
from weft.cli.output import Column, Output, Piece, progress_bar
from weft.cli.session import CliSession
from weft.tree.node_labels import counted

if TYPE_CHECKING:
    from weft.runtime.contexts.statistics import Requests, TreeStats

_NARROWEST = 20


def stats(
    session: CliSession,
    reference: Annotated[
        str | None, node_argument("A tree, or the end of one of its branches. Default: the current node.")
    ] = None,
    *,
    agent: Annotated[str | None, agent_option("--agent", help="The agent whose cache counts.")] = None,
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
    """Show what a tree's requests consisted of, and how much of them was cached.

    For the tree and each branch: tokens by layer, the expected share of cached tokens and the share
    that providers reported; and the turns at which L1 or L2 changed without a recorded reason. Then the
    cost of the same turns with other settings, in tokens at the full price (a cache read costs 0.1, a
    cache write 1.25).
    """
    from weft.runtime.contexts.options import LayerOptions  # noqa: PLC0415 - loads with the engine
    from weft.runtime.contexts.statistics import tree_stats  # noqa: PLC0415 - loads with the engine

    tree, node = session.place(reference)
    with progress_bar("trying other settings") as progress:
        statistics = tree_stats(
            session.grove.layers,
            tree.id,
            LayerOptions(agent=agent, limit=limit, window=window),
            node=None if node is None else node.id,
            turns=turns,
            progress=progress,
        )
    if session.out.as_json:
        session.out.json(statistics)
        return
    _draw(session.out, statistics)
    session.out.notes(statistics.notes)


def _draw(out: Output, statistics: "TreeStats") -> None:
    whole = statistics.requests
    out.line(
        [
            Piece(quoted(statistics.title), "bold"),
            Piece(f"  {counted(whole.count, 'request')}, {whole.tokens:,} tokens"),
        ]
    )
    if out.terminal and whole.count:
        _draw_bars(out, whole)
    if whole.count:
        out.table(
            [("all", whole), *((f"[{each.leaf}]", each.requests) for each in statistics.branches)],
            Column("branch", lambda row: row[0]),
            Column("requests", lambda row: f"{row[1].count:,}", number=True),
            Column("tokens", lambda row: f"{row[1].tokens:,}", number=True),
            *(_layer_column(layer) for layer in LAYERS),
            Column("expected", lambda row: _percent(row[1].predicted_share), number=True),
            Column("reported", lambda row: _percent(row[1].reported_share), number=True),
        )
    else:
        out.message("nothing was sent from this tree yet")
    if statistics.unstable:
        out.line([Piece("the cache was lost without a recorded reason", "yellow")])
        out.table(
            statistics.unstable,
            Column("turn", lambda each: f"[{each.node}]"),
            Column("layer", lambda each: each.layer),
            Column("from", lambda each: each.segment, shrinks=True),
        )
    if statistics.variants:
        out.line([Piece(f"the last {counted(statistics.turns, 'turn')} with other settings", "dim")])
        out.table(
            statistics.variants,
            Column("library", lambda each: each.library),
            Column("cuts", lambda each: "exact" if each.step == 0 else f"steps of {each.step:g}"),
            Column("cost", lambda each: f"{each.cost:,.0f}", number=True),
            Column("cached", lambda each: _percent(each.cached), number=True),
            Column(
                "saves",
                lambda each: "current" if each.current else f"{100 * each.saved:+.0f} %",
                number=True,
            ),
        )


def _draw_bars(out: Output, requests: "Requests") -> None:
    width = max(_NARROWEST, out.width - 18)
    sizes = [(name, requests.in_layer(name)) for name in LAYERS]
    out.line([Piece("layers     ", "dim"), *bar(sizes, LAYERS, width)])
    for name, share in (("expected", requests.predicted_share), ("reported", requests.reported_share)):
        if share is not None:
            filled = round(min(1.0, share) * width)
            blocks = [Piece("█" * filled, "green"), Piece("░" * (width - filled), "dim")]
            out.line([Piece(f"{name}   ", "dim"), *blocks, Piece(f" {_percent(share)}")])


def _layer_column(layer: str) -> "Column[tuple[str, Requests]]":
    return Column(layer[:2], lambda row: f"{row[1].in_layer(layer):,}", number=True)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"


def add_to(app: typer.Typer) -> None:
    command(app, "stats", stats, panel="Context")
