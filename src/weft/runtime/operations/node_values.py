"""From rows to the values people get."""

import gzip
import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar, cast

from sqlalchemy import and_, select

from weft.runtime.operations.permissions import agent_row
from weft.runtime.operations.sized_cache import SizedCache
from weft.store import schema
from weft.store.rows import (
    AGENT_TYPES,
    EDGE_TYPES,
    MODES,
    ROLES,
    SOURCE_ROLES,
    STATUSES,
    TEXT_KIND,
    AgentRow,
    Flag,
    LightRow,
    NodeRow,
    load_content,
    permissions_from,
)
from weft.store.session import Session
from weft.store.tree_queries import node_rows, versions_at
from weft.store.tree_statements import contents_by_keys, texts_by_keys
from weft.tree.agent import Agent, Configuration
from weft.tree.citation import Citation
from weft.tree.content import Content, Text
from weft.tree.edge import Edge, EdgeType, Source, SourceRole
from weft.tree.item import Item, about_item
from weft.tree.json_names import from_microseconds
from weft.tree.node import Metadata, Node
from weft.tree.tree import Counters, Mode, Tree


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]


T = TypeVar("T")
V = TypeVar("V", bound=_Dataclass)


def metadata_of(row: NodeRow) -> Metadata:
    return Metadata(
        excluded=bool(row.flags & Flag.EXCLUDED),
        pruned=row.pruned is not None,
        bookmarked=bool(row.flags & Flag.BOOKMARKED),
        bookmark_label=row.bookmark_label,
        hidden=row.hidden is not None,
    )


def contents_of(
    session: Session, tree: int, rows: Sequence[NodeRow]
) -> dict[int, tuple[Content, str | None]]:
    """Content and summary of many nodes, in one query."""
    if not rows:
        return {}
    kinds = {row.key: row.kind for row in rows}
    values = {"in_tree": tree, "wanted": session.dialect.keys(list(kinds))}
    return {
        node: (load_content(kinds[node], content), summary)
        for node, content, summary in session.rows(texts_by_keys(session.dialect), values)
    }


def items_of(session: Session, tree: int, rows: Sequence[NodeRow]) -> dict[int, list[Item]]:
    """What hangs on many nodes now, in order."""
    wanted = [row.key for row in rows if row.flags & Flag.HAS_ATTACHMENTS]
    if not wanted:
        return {}
    attachments, bodies = schema.attachments, schema.bodies
    statement = (
        select(attachments, bodies.c.gzip)
        .join(bodies, and_(bodies.c.tree == attachments.c.tree, bodies.c.sha256 == attachments.c.sha256))
        .where(
            attachments.c.tree == tree,
            session.dialect.among(attachments.c.node, wanted),
            attachments.c.detached_by.is_(None),
        )
        .order_by(attachments.c.node, attachments.c.ordinal)
    )
    by_node: dict[int, list[Item]] = {}
    for row in session.execute(statement):
        item = Item(
            id=row.id,
            type=row.type,
            content=gzip.decompress(row.gzip).decode(),
            recoverable=row.recoverable,
            **cast("dict[str, Any]", about_item(row.about)),
        )
        by_node.setdefault(row.node, []).append(item)
    return by_node


def citations_of(session: Session, tree: int, rows: Sequence[NodeRow]) -> dict[int, list[Citation]]:
    """What many nodes cite, in order."""
    wanted = [row.key for row in rows if row.flags & Flag.HAS_CITATIONS]
    if not wanted:
        return {}
    table = schema.citations
    statement = (
        select(table)
        .where(table.c.tree == tree, session.dialect.among(table.c.node, wanted))
        .order_by(table.c.node, table.c.ordinal)
    )
    by_node: dict[int, list[Citation]] = {}
    for row in session.execute(statement):
        by_node.setdefault(row.node, []).append(value_of(Citation, row))
    return by_node


def further_sources_of(
    session: Session, tree: int, rows: Sequence[LightRow]
) -> dict[int, list[tuple[int, SourceRole]]]:
    """The sources of those nodes that have more than their parent, in order."""
    several = [row.key for row in rows if row.flags & Flag.HAS_SOURCES]
    by_target: dict[int, list[tuple[int, SourceRole]]] = {}
    if several:
        sources = schema.sources
        statement = (
            select(sources)
            .where(sources.c.tree == tree, session.dialect.among(sources.c.target, several))
            .order_by(sources.c.target, sources.c.ordinal)
        )
        for row in session.execute(statement):
            by_target.setdefault(row.target, []).append((int(row.source), SOURCE_ROLES[int(row.role)]))
    return by_target


def sources_of(
    session: Session, tree: int, rows: Sequence[NodeRow]
) -> dict[int, list[tuple[int, SourceRole]]]:
    """The sources of each node as they were written, in order."""
    by_parent = {
        row.key: [(row.parent_node, SourceRole.PRIMARY)]
        for row in rows
        if row.parent_node is not None and not row.flags & Flag.HAS_SOURCES
    }
    return by_parent | further_sources_of(session, tree, rows)


class Heading(NamedTuple):
    """What every node of a tree shares."""

    ulid: str
    mode: Mode


def heading_of(session: Session, tree: int) -> Heading:
    trees = schema.trees
    row = session.execute(select(trees.c.ulid, trees.c.mode).where(trees.c.key == tree)).one()
    return Heading(row.ulid, MODES[int(row.mode)])


def node_values(session: Session, tree: int, rows: Sequence[NodeRow], head: Heading) -> list[Node]:
    """Whole nodes for many rows: a fixed number of queries, however many rows."""
    if not rows:
        return []
    contents = contents_of(session, tree, rows)
    items = items_of(session, tree, rows)
    citations = citations_of(session, tree, rows)
    sources = sources_of(session, tree, rows)
    known = _neighbours(session, tree, rows, sources)
    names = {key: row.ulid for key, row in known.items()}
    parents: dict[int, list[str]] = {}
    if head.mode is Mode.BUFFER:
        places = {row.parent for row in rows if row.parent is not None}
        later = versions_at(session, tree, sorted(places))
        parents = {place: [names[place], *(v.ulid for v in later.get(place, ()))] for place in places}
    authors = {key: agent_row(session, key) for key in {row.author for row in rows}}
    values: list[Node] = []
    for row in rows:
        content, summary = contents[row.key]
        author = authors[row.author]
        edge_type = EDGE_TYPES[row.edge_type]
        values.append(
            Node(
                id=row.ulid,
                local_id=row.local_id,
                tree_id=head.ulid,
                content=content,
                summary=summary,
                author_id=author.ulid,
                author_type=AGENT_TYPES[row.author_type],
                role=ROLES[row.role],
                status=STATUSES[row.status],
                content_hash=row.hash.hex(),
                created_at=from_microseconds(row.created_at),
                edited_from=None if row.edited_from is None else names[row.edited_from],
                attachments=tuple(items.get(row.key, ())),
                citations=tuple(citations.get(row.key, ())),
                edge=None
                if row.parent is None
                else Edge(
                    row.ulid,
                    edge_type,
                    _edge_sources(row, edge_type, sources[row.key], names, parents),
                ),
                depth=row.depth,
                metadata=metadata_of(row),
            )
        )
    return values


def _neighbours(
    session: Session, tree: int, rows: Sequence[NodeRow], sources: dict[int, list[tuple[int, SourceRole]]]
) -> dict[int, NodeRow]:
    """Every node that the rows mention."""
    here = {row.key: row for row in rows}
    mentioned = {key for listed in sources.values() for key, _ in listed}
    mentioned.update(row.edited_from for row in rows if row.edited_from is not None)
    mentioned.update(row.parent for row in rows if row.parent is not None)
    return here | node_rows(session, tree, sorted(mentioned - here.keys()))


def _edge_sources(
    row: NodeRow,
    edge_type: EdgeType,
    sources: list[tuple[int, SourceRole]],
    names: dict[int, str],
    parents: dict[int, list[str]],
) -> tuple[Source, ...]:
    """As written; in buffer mode the parent represents every version of its position."""
    listed: list[Source] = []
    for key, role in sources:
        versions = parents.get(row.parent or 0)
        is_parent = key == row.parent_node and role is SourceRole.PRIMARY
        if is_parent and versions and edge_type is EdgeType.CONTINUATION:
            listed.extend(Source(ulid, role) for ulid in versions)
        else:
            listed.append(Source(names[key], role))
    return tuple(listed)


TREE_ROWS = select(schema.trees, schema.projects.c.name.label("project_name")).outerjoin(
    schema.projects, schema.projects.c.key == schema.trees.c.project
)
"""Trees with the names of their projects: what makes a tree's value."""


def value_of(kind: type[V], row: Any, **given: Any) -> V:
    """A value from a row whose columns have the names of its fields; `id` is the ULID, times are converted."""
    fields = dict(given)
    for name in kind.__dataclass_fields__.keys() - given.keys():
        value = getattr(row, "ulid" if name == "id" else name)
        fields[name] = from_microseconds(value) if name.endswith("_at") and value is not None else value
    return kind(**fields)


def tree_value(row: Any) -> Tree:
    """A tree from one of `TREE_ROWS`."""
    return value_of(
        Tree,
        row,
        mode=MODES[int(row.mode)],
        preferences=json.loads(row.preferences),
        project=row.project_name,
        root=row.root_ulid,
        counters=Counters(row.nodes, row.branches, row.depth),
    )


def agent_value(row: AgentRow) -> Agent:
    settings = json.loads(row.configuration)
    configuration = Configuration(
        system_prompt=settings.get("systemPrompt"),
        temperature=settings.get("temperature"),
        max_tokens=settings.get("maxTokens"),
        stop_sequences=tuple(settings.get("stopSequences", ())),
        custom=settings.get("custom", {}),
    )
    rights = permissions_from(row.permissions)
    return value_of(Agent, row, type=AGENT_TYPES[row.type], configuration=configuration, permissions=rights)


_ROOM = 32_000_000
"""Characters, roughly."""
_PATHS_ROOM = 64_000_000
_OVERHEAD = 200


class ContentCache:
    """The contents read last, and the paths to the last places, up to a fixed amount of memory."""

    def __init__(self, room: int = _ROOM) -> None:
        self._contents: SizedCache[tuple[int, int], Content] = SizedCache(room)
        self.paths: SizedCache[Hashable, object] = SizedCache(_PATHS_ROOM)
        """What contexts know of paths: see `weft.runtime.contexts.known_path`."""
        self._of_grove: tuple[bytes | None, dict[Hashable, Any]] = (None, {})

    def contents(self, session: Session, tree: int, rows: Iterable[LightRow]) -> dict[int, Content]:
        """Contents by key: one query for those that are not at hand, none if all are."""
        wanted = {row.key: row for row in rows}
        held = self._contents.get_all((tree, key) for key in wanted)
        contents = {key: content for (_, key), content in held.items()}
        missing = wanted if not contents else {key: wanted[key] for key in wanted if key not in contents}
        if missing:
            values = {"in_tree": tree, "wanted": session.dialect.keys(list(missing))}
            stored = session.rows(contents_by_keys(session.dialect), values)
            self._keep(tree, [(missing[key], content) for key, content in stored], contents)
        return contents

    def keep_contents(self, tree: int, rows: Iterable[tuple[LightRow, str]]) -> None:
        """Contents that were read with their rows, for the next one who asks."""
        self._keep(tree, rows, {})

    def _keep(self, tree: int, stored: Iterable[tuple[LightRow, str]], contents: dict[int, Content]) -> None:
        """Load stored contents into `contents`, and keep them."""
        new: list[tuple[tuple[int, int], Content, int]] = []
        for row, text in stored:
            content = contents[row.key] = (
                Text(text) if row.kind == TEXT_KIND else load_content(row.kind, text)
            )
            new.append(((tree, row.key), content, row.narrow + row.wide + _OVERHEAD))
        self._contents.put_all(new)

    def of_grove(self, head: bytes | None, key: Hashable, read: Callable[[], T]) -> T:
        """What only the grove's own events change (agents and settings do), read once for each head of its chain."""
        known_head, known = self._of_grove
        if known_head != head:
            self._of_grove = head, (known := {})
        if key not in known:
            known[key] = read()
        return known[key]

    def clear(self) -> None:
        """Forget everything: of what was destroyed nothing stays in memory."""
        self._of_grove = None, {}
        self._contents.clear()
        self.paths.clear()
