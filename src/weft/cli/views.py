"""Show a tree, a path, a comparison, search results: tree, read, diff, search."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from weft.cli.arguments import TreeName, argument, flag, option
from weft.cli.output import (
    FIRST_WORDS,
    Column,
    Piece,
    ago,
    first_words,
    label_of,
    node_marks,
    one_line,
    progress_bar,
    quoted,
    style_of,
    wire_object,
)
from weft.cli.session import CliSession
from weft.errors import InvalidInputError
from weft.ids import base_of, typable
from weft.runtime.search.options import SearchOptions
from weft.tree.citation import cited_sources
from weft.tree.edge import SourceRole
from weft.tree.json import camel
from weft.tree.node import Node, counted
from weft.tree.reference import CollapsedRange
from weft.tree.tree import Mode

if TYPE_CHECKING:
    from weft.grove.search import SearchHit
    from weft.grove.tree import TreeHandle
    from weft.runtime.search.results import Hits
    from weft.runtime.views.outline import OutlineRow

_BRANCH, _LAST = "├─ ", "└─ "
_RAIL, _GAP = "│  ", "   "
_ALL = 10_000_000


def tree(
    session: CliSession,
    name: TreeName = None,
    *,
    top: Annotated[str | None, option("--from -f NODE", "Draw from this node down.")] = None,
    limit: Annotated[int, option("--limit -n", "Stop going deeper after this many nodes.", min=1)] = 2_000,
    everything: Annotated[
        bool, flag("--all", "Every node, however many: those that were pruned or undone, too.")
    ] = False,
) -> None:
    """Draw a tree: one line a node, * at the current one; edits and versions are marked."""
    read = session.grove.read
    handle = session.tree_or_current(name)
    if top is not None:
        node = session.node(top) if name is None else handle.node(top)
        handle = node.tree
        top = node.id
    outline = read.outline(handle.id, node=top, limit=_ALL if everything else limit, everything=everything)
    cursor = read.cursor(handle.id).node_id
    if session.out.as_json:
        rows = [{camel(name): value for name, value in row._asdict().items()} for row in outline]
        session.out.json({"tree": handle.value, "cursor": cursor, "nodes": rows})
        return
    counters = handle.counters
    session.out.message(
        f"{quoted(handle.title)} · {handle.mode} · {counted(counters.nodes, 'node')} · "
        f"{counted(counters.branches, 'branch')} · depth {counters.depth:,}"
    )
    lines = draw_tree(
        outline,
        mode=handle.mode,
        cursor=cursor,
        names=session.agent_names,
        groups=handle.groups,
        words=session.out.width if session.out.terminal else FIRST_WORDS,
    )
    for line in lines:
        session.out.line(line)


def draw_tree(
    outline: Sequence["OutlineRow"],
    *,
    mode: Mode,
    cursor: str,
    names: Mapping[str, str],
    groups: Sequence[CollapsedRange] = (),
    words: int = FIRST_WORDS,
) -> Iterator[list[Piece]]:
    """One line for each node: straight runs stay in their column, branches are indented."""
    ids = {row.node.id: row.node.local_id for row in outline}
    collapsed = {group.first: group for group in groups if not group.expanded}
    unbegun: dict[int, int] = {}
    rails: dict[int, str] = {}
    above: OutlineRow | None = None
    for row in outline:
        node, level = row.node, row.indent
        begins = above is not None and above.branches != 1
        if begins:
            unbegun[level] = unbegun.get(level, 1) - 1
            rails[level] = _RAIL if unbegun[level] else _GAP
        if row.branches > 1:
            unbegun[level + 1] = row.branches
        lines = "".join(rails.get(each, _GAP) for each in range(1, level))
        if level:
            lines += (_BRANCH if unbegun.get(level) else _LAST) if begins else rails.get(level, _GAP)
        marks = list(node_marks(node, row.annotations))
        if mode is Mode.DIALOGUE:
            marks.extend(_merge_mark(node, ids))
        if node.edited_from is not None and mode is Mode.DIALOGUE:
            marks.append(f"edit of [{base_of(node.local_id)}]")
        if row.versions > 1:
            marks.append(f"{row.versions:,} versions")
        if (group := collapsed.get(node.id)) is not None:
            marks.append(f"collapsed to [{ids.get(group.last, group.last)}] as {one_line(group.name)}")
        if row.hidden_below:
            marks.append("more below")
        style = style_of(node)
        yield [
            Piece("* " if node.id == cursor else "  ", "bold"),
            Piece(lines, "dim"),
            Piece(label_of(node, names), f"bold {style}".strip()),
            Piece("  "),
            Piece(first_words(node, words), style, shrinks=True),
            Piece(("  " if marks else "") + " · ".join(marks), "dim"),
        ]
        above = row


def _merge_mark(node: Node, ids: Mapping[str, str]) -> Iterator[str]:
    """A merge's sources, besides the one it is drawn under."""
    sources = () if node.edge is None else node.edge.sources
    primary = [source.node for source in sources if source.role is SourceRole.PRIMARY]
    if len(primary) > 1:
        yield "merges " + " ".join(f"[{ids.get(source, source)}]" for source in primary[1:])


def read(
    session: CliSession,
    reference: Annotated[
        str | None,
        argument("NODE", "The path's end: a7x2, TREE/a7x2, a ULID, or a tree. Default: the current node."),
    ] = None,
    *,
    only: Annotated[bool, flag("--node", "Only that node.")] = False,
    tail: Annotated[int | None, option("--tail", "The last N nodes.", min=1)] = None,
    head: Annotated[int | None, option("--head", "The first N nodes.", min=1)] = None,
    headings: Annotated[
        bool | None, flag("--headings/--raw", "Show author and time above each text, or not. Pipes: not.")
    ] = None,
    annotations: Annotated[bool, flag("--annotations -a", "Include annotations.")] = False,
) -> None:
    """Read the path from the root to a node."""
    if sum((only, tail is not None, head is not None)) > 1:
        raise InvalidInputError("--node, --head and --tail exclude each other")
    tree, node = session.place(reference)
    end = None if node is None else node.id
    path = session.grove.read.path(tree.id, end, head=head, tail=1 if only else tail)
    whole = node is None and not only and head is None
    buffer = tree.working_buffer if whole and tree.mode is Mode.BUFFER else ""
    notes = _notes(session, tree, path) if annotations else {}
    if session.out.as_json:
        nodes = [wire_object(each, annotations=notes[each.id]) if annotations else each for each in path]
        session.out.json({"treeId": tree.id, "mode": tree.mode, "nodes": nodes, "workingBuffer": buffer})
        return
    if headings is None:
        headings = annotations or (session.out.terminal and tree.mode is Mode.DIALOGUE)
    if headings:
        _show_with_headings(session, path, notes, buffer)
    elif tree.mode is Mode.BUFFER:
        pieces = [Piece(each.text, style_of(each)) for each in path]
        session.out.pieces([*pieces, Piece(buffer, "dim")])
    else:
        session.out.text("\n\n".join(each.text for each in path if each.text))


def _notes(session: CliSession, tree: "TreeHandle", path: Sequence[Node]) -> dict[str, list[Node]]:
    read = session.grove.read
    return {node.id: read.children(tree.id, node.id, annotations=True) for node in path}


def _show_with_headings(
    session: CliSession, path: Sequence[Node], notes: Mapping[str, Sequence[Node]], buffer: str
) -> None:
    """Each node under a heading, with a blank line between; an empty root is left out."""
    out = session.out
    names = session.agent_names
    shown = [node for node in path if not (node.is_root and not node.text and node.kind == "text")]
    for index, node in enumerate(shown):
        if index:
            out.text("")
        out.line(_heading(node, names, session.now))
        out.text(node.text or first_words(node), style_of(node) if node.text else "dim")
        for source in cited_sources(node.citations):
            out.text(f"  {source}", "dim")
        for note in notes.get(node.id, ()):
            out.line([Piece("  note ", "dim"), *_heading(note, names, session.now)])
            out.text("\n".join("  " + line for line in note.text.split("\n")), style_of(note))
    if buffer:
        out.text("\n(uncommitted)" if shown else "(uncommitted)", "dim")
        out.text(buffer)


def _heading(node: Node, names: Mapping[str, str], now: int) -> list[Piece]:
    facts = [ago(node.created_at, now), *node_marks(node)]
    return [
        Piece(label_of(node, names), f"bold {style_of(node)}".strip()),
        Piece(" · " + " · ".join(facts), "dim"),
    ]


def compare(
    session: CliSession,
    references: Annotated[
        list[str] | None, argument("NODE", "A node whose siblings are shown, or the nodes to compare.")
    ] = None,
) -> None:
    """Show siblings in full, one below the other, each with its id."""
    given = [session.node(each) for each in references or ()]
    first = given[0] if given else session.tree.cursor
    nodes = [each.value for each in given] if len(given) > 1 else [each.value for each in first.siblings]
    if len(given) < 2 and first.id not in {node.id for node in nodes}:
        nodes = sorted([*nodes, first.value], key=lambda node: node.id)
    if session.out.as_json:
        session.out.json(nodes)
        return
    if len(nodes) < 2:
        session.out.message(f"[{first.local_id}] has no siblings; weft gen --number 3 makes some")
    _show_with_headings(session, nodes, {}, "")


def versions(
    session: CliSession,
    reference: Annotated[str | None, argument("NODE", "Default: the current node.")] = None,
) -> None:
    """List a node and its edits, the oldest first."""
    node = session.tree.cursor if reference is None else session.node(reference)
    # In a dialogue an edit is a sibling with the same id and a prime.
    others = node.versions if node.tree.mode is Mode.BUFFER else [*node.siblings, node]
    edits = {each.id: each.value for each in others if base_of(each.local_id) == base_of(node.local_id)}
    ordered = sorted(edits.values(), key=lambda each: len(each.local_id))
    if session.out.as_json:
        session.out.json(ordered)
        return
    _show_with_headings(session, ordered, {}, "")


def bookmarks(session: CliSession, name: TreeName = None) -> None:
    """List the bookmarked nodes of a tree."""
    tree = session.tree_or_current(name)
    nodes = session.grove.read.bookmarks(tree.id)
    names = session.agent_names
    session.out.listing(
        nodes,
        Column("node", lambda node: typable(node.local_id)),
        Column("label", lambda node: node.metadata.bookmark_label or ""),
        Column("author", lambda node: names.get(node.author_id, "")),
        Column("text", first_words, shrinks=True),
        empty=f"no bookmarks in {quoted(tree.title)}; weft bookmark NODE sets one",
        wire=wire_object,
    )


def diff(
    session: CliSession,
    one: Annotated[str, argument("A", "A node.")],
    other: Annotated[str, argument("B", "Another node.")],
    *,
    paths: Annotated[
        bool, flag("--paths", "Compare everything after the common part, not only the two nodes.")
    ] = False,
) -> None:
    """Compare two nodes: where their paths part, and how their texts differ."""
    comparison = session.node(one).diff(session.node(other), paths=paths)
    if session.out.as_json:
        session.out.json(comparison)
        return
    session.out.message(
        f"[{comparison.one}] and [{comparison.other}] part after [{comparison.common}]: "
        f"{comparison.one_beyond:,} and {comparison.other_beyond:,} further"
    )
    if session.out.coloured:
        styles = {"same": "", "removed": "red strike", "added": "green"}
        session.out.pieces(Piece(each.text, styles[each.turn]) for each in comparison.words)
    else:
        session.out.text(str(comparison))
        if session.out.terminal:
            session.out.message("[-removed-] {+added+}")


def search(
    session: CliSession,
    words: Annotated[
        list[str] | None, argument("QUERY", f"{SearchOptions.specs()['query'].help} Quote it for the shell.")
    ] = None,
    *,
    author: Annotated[str | None, option("--author AGENT", SearchOptions)] = None,
    model: Annotated[str | None, option("--model MODEL", SearchOptions)] = None,
    after: Annotated[str | None, option("--after DATE", SearchOptions)] = None,
    before: Annotated[str | None, option("--before DATE", SearchOptions)] = None,
    bookmarked: Annotated[bool, flag("--bookmarked", SearchOptions)] = False,
    kinds: Annotated[list[str] | None, option("--kind KIND", SearchOptions, name="kinds")] = None,
    mode: Annotated[str | None, option("--mode MODE", SearchOptions)] = None,
    everything: Annotated[bool, flag("--all", SearchOptions, name="everything")] = False,
    limit: Annotated[int, option("--limit N", SearchOptions)] = SearchOptions.default("limit"),
    offset: Annotated[int, option("--offset N", SearchOptions)] = SearchOptions.default("offset"),
    rebuild: Annotated[bool, flag("--reindex", "Rebuild the index first.")] = False,
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
        _show_hits(session, hits)
    else:
        for hit in hits:
            session.out.text("\t".join(map(one_line, (hit.id, hit.kind, hit.title, hit.snippet.text))))
    _show_state(session, hits)


def _show_hits(session: CliSession, hits: "Hits[SearchHit]") -> None:
    """Each result under a heading, with a blank line between."""
    for index, hit in enumerate(hits):
        if index:
            session.out.text("")
        session.out.line(_hit_heading(hit, session.now))
        session.out.pieces(Piece(text, "bold" if marked else "") for text, marked in hit.snippet.pieces())


def _hit_heading(hit: "SearchHit", now: int) -> list[Piece]:
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
