"""Finding things by their words."""

import contextlib
import sys
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.call import Call
from weft.cli.command import command, flag
from weft.cli.completing import complete_agents
from weft.cli.output import Piece
from weft.cli.wording import ago, one_line, quoted
from weft.errors import InvalidInputError

if TYPE_CHECKING:
    from weft.runtime.search.results import Hit, Hits

__all__ = ["add_to"]


def search(
    call: Call,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUERY",
            help='Words that must all occur; "a phrase", a beginn*, one or another, -not. Quote it for the shell.',
        ),
    ] = None,
    *,
    author: Annotated[
        str | None,
        typer.Option(
            "--author", metavar="AGENT", help="Written by this agent.", autocompletion=complete_agents
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="MODEL", help="Written by agents of this model.")
    ] = None,
    after: Annotated[
        str | None, typer.Option("--after", metavar="DATE", help="Since this day or time (UTC).")
    ] = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="DATE", help="Before this day or time (UTC).")
    ] = None,
    bookmarked: Annotated[bool, flag("--bookmarked", help="Bookmarked nodes only.")] = False,
    kinds: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="KIND", help="Only node, tree, document or tag; may be repeated."),
    ] = None,
    mode: Annotated[
        str | None, typer.Option("--mode", metavar="MODE", help="Only in trees of this mode.")
    ] = None,
    everything: Annotated[
        bool, flag("--all", help="Also what is excluded, pruned, undone or archived.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="At most so many.")] = 20,
    offset: Annotated[int, typer.Option("--offset", metavar="N", help="Leave out the first N.")] = 0,
    again: Annotated[bool, flag("--reindex", help="Make the index anew first.")] = False,
) -> None:
    """Find nodes, trees, documents and tags by their words, the best first.

    In the whole grove, or in the tree that --tree names.
    """
    if again:
        _reindex(call)
    if not words:
        if not again:
            raise InvalidInputError("what for?", hint="weft search QUERY")
        if call.out.as_json:
            call.out.json({"reindexed": True})
        return
    found = call.grove.search(
        " ".join(words),
        tree=call.choices.tree,
        author=author,
        model=model,
        after=after,
        before=before,
        bookmarked=bookmarked,
        kinds=kinds or None,
        mode=mode,
        everything=everything,
        limit=limit,
        offset=offset,
    )
    if call.out.as_json:
        call.out.json(found)
    elif call.out.terminal:
        _show(call, found)
    else:
        for hit in found:
            call.out.text("\t".join(map(one_line, (hit.id, hit.kind, hit.title, hit.snippet.text))))
    _tell_rest(call, found)


def _reindex(call: Call) -> None:
    with _bar("indexing") as move:
        call.grove.reindex(move)
    call.out.talk("made the search index anew")


def _show(call: Call, found: "Hits") -> None:
    """Each hit under a heading, a blank line between."""
    for index, hit in enumerate(found):
        if index:
            call.out.text("")
        call.out.line(_heading(hit, call.now))
        call.out.pieces(Piece(text, "bold" if marked else "") for text, marked in hit.snippet.pieces())


def _heading(hit: "Hit", now: int) -> list[Piece]:
    facts = [*_facts(hit), ago(hit.created_at, now)]
    return [
        Piece(_name(hit), "bold"),
        Piece(f" {quoted(hit.title)}", gives=True),
        Piece(" · " + " · ".join(facts), "dim"),
    ]


def _name(hit: "Hit") -> str:
    if hit.local_id is None:
        return hit.kind if hit.kind == hit.target.kind else f"{hit.kind} on {hit.target.kind}"
    return f"[{hit.local_id}]" if hit.kind == hit.target.kind else f"{hit.kind} on [{hit.local_id}]"


def _facts(hit: "Hit") -> Iterator[str]:
    if hit.author is not None:
        yield one_line(hit.author)
    if hit.metadata is not None:
        if hit.metadata.bookmarked:
            yield one_line(f"★ {hit.metadata.bookmark_label or ''}")
        for name, stands in (
            ("excluded", hit.metadata.excluded),
            ("pruned", hit.metadata.pruned),
            ("undone", hit.metadata.hidden),
        ):
            if stands:
                yield name


def _tell_rest(call: Call, found: "Hits") -> None:
    if found.trouble is not None:
        call.out.talk(
            f"the index could not be brought up to date, something new may be missing: {found.trouble}"
        )
    elif not found.complete:
        call.out.talk("the index is not up to date yet: something new may be missing; try again in a moment")
    if not found and not call.out.as_json:
        call.out.talk(f"nothing found for {found.query[:60]!r}")
    elif found.more:
        call.out.talk(f"there are more: --offset {found.next_offset}")


@contextlib.contextmanager
def _bar(label: str) -> Generator[Callable[[int, int], None]]:
    """A moving bar on stderr, where somebody looks at it."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console  # noqa: PLC0415 - only terminals need it
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=max(1, total))


def add_to(app: typer.Typer) -> None:
    command(app, "search", search, panel="Trees")
