"""Full-text search: search."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.arguments import agent_option, flag
from weft.cli.command import command
from weft.cli.formatting import ago, one_line, quoted
from weft.cli.output import Piece, progress_bar
from weft.cli.session import CliSession
from weft.errors import InvalidInputError

if TYPE_CHECKING:
    from weft.grove.search import SearchHit
    from weft.runtime.search.results import Hits


def search(
    session: CliSession,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUERY",
            help='Words that must all occur; "a phrase", a prefix*, one or another, -not. Quote it for the shell.',
        ),
    ] = None,
    *,
    author: Annotated[str | None, agent_option("--author", help="Written by this agent.")] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="MODEL", help="Written by agents of this model.")
    ] = None,
    after: Annotated[
        str | None, typer.Option("--after", metavar="DATE", help="Since this day or time (UTC).")
    ] = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="DATE", help="Before this day or time (UTC).")
    ] = None,
    bookmarked: Annotated[bool, flag("--bookmarked", help="Only bookmarked nodes.")] = False,
    kinds: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="KIND", help="Only node, tree, document or tag. Repeatable."),
    ] = None,
    mode: Annotated[
        str | None, typer.Option("--mode", metavar="MODE", help="Only in trees of this mode.")
    ] = None,
    everything: Annotated[
        bool, flag("--all", help="Include excluded, pruned, undone and archived results.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="At most N results.")] = 20,
    offset: Annotated[int, typer.Option("--offset", metavar="N", help="Skip the first N results.")] = 0,
    rebuild: Annotated[bool, flag("--reindex", help="Rebuild the index first.")] = False,
) -> None:
    """Search nodes, trees, documents and tags, the best result first.

    Searches the whole grove, or the tree that --tree names.
    """
    if rebuild:
        with progress_bar("indexing") as progress:
            session.grove.reindex(progress)
        session.out.message("rebuilt the search index")
    if not words:
        if not rebuild:
            raise InvalidInputError("the query is missing", hint="weft search QUERY")
        if session.out.as_json:
            session.out.json({"reindexed": True})
        return
    hits = session.grove.search(
        " ".join(words),
        tree=session.options.tree,
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
    if session.out.as_json:
        session.out.json(replace(hits, hits=tuple(hit.value for hit in hits)))
    elif session.out.terminal:
        _show(session, hits)
    else:
        for hit in hits:
            session.out.text("\t".join(map(one_line, (hit.id, hit.kind, hit.title, hit.snippet.text))))
    _show_state(session, hits)


def _show(session: CliSession, hits: "Hits[SearchHit]") -> None:
    """Each result under a heading, with a blank line between."""
    for index, hit in enumerate(hits):
        if index:
            session.out.text("")
        session.out.line(_heading(hit, session.now))
        session.out.pieces(Piece(text, "bold" if marked else "") for text, marked in hit.snippet.pieces())


def _heading(hit: "SearchHit", now: int) -> list[Piece]:
    facts = [*_facts(hit), ago(hit.created_at, now)]
    return [
        Piece(_name(hit), "bold"),
        Piece(f" {quoted(hit.title)}", shrinks=True),
        Piece(" · " + " · ".join(facts), "dim"),
    ]


def _name(hit: "SearchHit") -> str:
    if hit.local_id is None:
        return hit.kind if hit.kind == hit.target.kind else f"{hit.kind} on {hit.target.kind}"
    return f"[{hit.local_id}]" if hit.kind == hit.target.kind else f"{hit.kind} on [{hit.local_id}]"


def _facts(hit: "SearchHit") -> Iterator[str]:
    if hit.author is not None:
        yield one_line(hit.author)
    metadata = hit.metadata
    if metadata is not None:
        if metadata.bookmarked:
            yield one_line(f"★ {metadata.bookmark_label or ''}")
        flags = {"excluded": metadata.excluded, "pruned": metadata.pruned, "undone": metadata.hidden}
        yield from (name for name, is_set in flags.items() if is_set)


def _show_state(session: CliSession, hits: "Hits[SearchHit]") -> None:
    if hits.trouble is not None:
        session.out.message(f"the index could not be updated, results may be missing: {hits.trouble}")
    elif not hits.complete:
        session.out.message("the index is being updated, results may be missing; try again soon")
    if not hits and not session.out.as_json:
        session.out.message(f"no results for {hits.query[:60]!r}")
    elif hits.more:
        session.out.message(f"more results: --offset {hits.next_offset}")


def add_to(app: typer.Typer) -> None:
    command(app, "search", search, panel="Trees")
