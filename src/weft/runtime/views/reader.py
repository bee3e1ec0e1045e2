"""Looking: everything a face shows, each in a fixed number of queries."""

import contextlib
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import and_, bindparam, func, or_, select

from weft.errors import CrossTreeError, InvalidInputError, NotFoundError
from weft.ids import is_ulid
from weft.runtime.events.log import Event, event_from_row, grove_id
from weft.runtime.operations.documents import load_document, load_documents, load_revisions
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.node_values import (
    TREE_ROWS,
    Heading,
    agent_value,
    heading_of,
    node_values,
    tree_value,
)
from weft.runtime.operations.permissions import (
    Actor,
    agent_row,
    require_access,
    require_permission,
    trees_allowed,
)
from weft.runtime.operations.projects import load_project, load_projects
from weft.runtime.operations.references import TargetAddress, TargetRef, locate, targets_of
from weft.runtime.views.history import history_of
from weft.store import schema
from weft.store.base import Store
from weft.store.events import chain_events
from weft.store.lookup import find_agent, find_tree
from weft.store.rows import EDGE_TYPES, MODES, AgentRow, NodeRow
from weft.store.session import Session
from weft.store.transaction import GROVE
from weft.store.tree_queries import (
    Selections,
    ancestor_at_depth,
    children,
    count_below,
    count_notes,
    find_node,
    find_nodes_anywhere,
    node_row,
    node_rows,
    origins_of,
    resolve,
    selections_of,
    versions_at,
    walk_up,
)
from weft.store.tree_statements import CONTINUATION, LIVE
from weft.tree.access import MemberRole
from weft.tree.agent import Agent, Permission
from weft.tree.authorship import AuthorSpan, TextVersion, authorship_of
from weft.tree.document import Document, Revision
from weft.tree.edge import EdgeType
from weft.tree.event_kinds import HistoryEntry
from weft.tree.json_names import from_microseconds
from weft.tree.node import Node
from weft.tree.path import Cursor, Path
from weft.tree.reference import CollapsedRange, Link, Project, Tag
from weft.tree.tree import Mode, Tree

_LARGEST = 2**63
_nodes = schema.nodes
_trees = schema.trees
_ANNOTATION = EDGE_TYPES.index(EdgeType.ANNOTATION)
_COLUMNS = select(_trees.c.key, _trees.c.ulid, _trees.c.mode, _trees.c.root)
_STANDS_AT = select(schema.cursors.c.node).where(
    schema.cursors.c.tree == bindparam("the_tree"), schema.cursors.c.agent == bindparam("the_agent")
)
_BY_ULID = _COLUMNS.where(_trees.c.ulid == bindparam("the_ulid"), _trees.c.hidden.is_(None))


class OutlineRow(NamedTuple):
    """A node in a drawing of the tree: how far in, what hangs below, how much of it is not drawn."""

    node: Node
    indent: int
    branches: int
    annotations: int
    hidden_below: int


class _TreeRow(NamedTuple):
    key: int
    ulid: str
    mode: int
    root: int


class Opened(NamedTuple):
    """A tree while it is being looked at."""

    session: Session
    key: int
    ulid: str
    mode: Mode
    root: int


@dataclass(frozen=True, slots=True)
class Reader:
    """A grove as one agent may see it."""

    store: Store
    actor: Actor

    @classmethod
    def of(cls, caller: Caller) -> "Reader":
        return cls(caller.store, caller.actor)

    @contextlib.contextmanager
    def _session(self, permission: Permission = Permission.LOOM_AWARE) -> Generator[Session]:
        with self.store.read() as session:
            require_permission(session, self.actor, permission, "look")
            yield session

    @contextlib.contextmanager
    def _tree(self, reference: str) -> Generator[Opened]:
        with self._session() as session:
            row = self._tree_row(session, reference)
            require_access(session, self.actor, MemberRole.READER, row.key)
            yield Opened(session, row.key, row.ulid, MODES[row.mode], row.root)

    def _tree_row(self, session: Session, reference: str) -> "_TreeRow":
        """One query where the reference is an id, as between faces; otherwise it is looked up first."""
        if is_ulid(reference):
            found = session.rows(_BY_ULID, {"the_ulid": reference})
            if found:
                return _TreeRow._make(found[0])
        key = find_tree(session, reference)
        return _TreeRow._make(session.execute(_COLUMNS.where(_trees.c.key == key)).one())

    def _selections(self, tree: Opened) -> Selections:
        if tree.mode is Mode.DIALOGUE:
            return {}
        return selections_of(tree.session, tree.key, self.actor.agent)

    def _resolved(self, tree: Opened, rows: Sequence[NodeRow]) -> list[NodeRow]:
        """Positions as the versions this agent sees."""
        if tree.mode is Mode.DIALOGUE:
            return list(rows)
        return resolve(tree.session, tree.key, rows, self._selections(tree))

    def trees(self, *, archived: bool = False, limit: int | None = None) -> list[Tree]:
        """Trees, the most recently changed first; their counters are kept with them."""
        statement = (
            TREE_ROWS.where(_trees.c.hidden.is_(None))
            .order_by(_trees.c.updated_at.desc(), _trees.c.key.desc())
            .limit(limit)
        )
        if not archived:
            statement = statement.where(_trees.c.archived_at.is_(None))
        with self._session() as session:
            allowed = trees_allowed(session, self.actor)
            if allowed is not None:
                statement = statement.where(_trees.c.key.in_(allowed))
            return [tree_value(row) for row in session.execute(statement)]

    def tree(self, reference: str) -> Tree:
        with self._tree(reference) as tree:
            return tree_value(tree.session.execute(TREE_ROWS.where(_trees.c.key == tree.key)).one())

    def latest_tree(self) -> str:
        """The tree this agent was last in, else the one changed last."""
        cursors = schema.cursors
        with self._session() as session:
            found = session.execute(
                select(_trees.c.ulid)
                .join(cursors, cursors.c.tree == _trees.c.key)
                .where(cursors.c.agent == self.actor.agent, _trees.c.archived_at.is_(None))
                .order_by(cursors.c.updated_at.desc())
                .limit(1)
            ).scalar_one_or_none()
        if found is not None:
            return found
        recent = self.trees(limit=1)
        if not recent:
            raise NotFoundError("the grove has no open trees", hint='plant one: weft new "A title"')
        return recent[0].id

    def node(self, tree: str, reference: str, *, hidden: bool = False) -> Node:
        """A node; one that was undone only where that is asked for."""
        with self._tree(tree) as opened:
            return self._nodes(opened, [self._row(opened, reference, hidden=hidden)])[0]

    def hidden(self, tree: str) -> list[Node]:
        """Nodes whose making was undone, oldest first: in no other reading, but not lost."""
        with self._tree(tree) as opened:
            found = opened.session.execute(
                select(_nodes)
                .where(_nodes.c.tree == opened.key, _nodes.c.hidden.is_not(None))
                .order_by(_nodes.c.key)
            )
            return self._nodes(opened, [NodeRow._make(row) for row in found])

    def _row(self, tree: Opened, reference: str, *, hidden: bool = False) -> NodeRow:
        try:
            return find_node(tree.session, tree.key, reference, hidden=hidden)
        except NotFoundError:
            if is_ulid(reference.strip().upper()):
                with contextlib.suppress(NotFoundError):
                    find_nodes_anywhere(tree.session, reference)
                    raise CrossTreeError(
                        f"node {reference} is in another tree", hint="name that tree"
                    ) from None
            raise

    def find(self, reference: str) -> Node:
        """A node of any tree, by ULID or by a local id that only one tree has."""
        with self._session() as session:
            row = find_nodes_anywhere(session, reference)
            require_access(session, self.actor, MemberRole.READER, row.tree)
            return node_values(session, row.tree, [row], heading_of(session, row.tree))[0]

    def _nodes(self, tree: Opened, rows: Sequence[NodeRow]) -> list[Node]:
        return node_values(tree.session, tree.key, rows, Heading(tree.ulid, tree.mode))

    def path(
        self, tree: str, node: str | None = None, *, head: int | None = None, tail: int | None = None
    ) -> Path:
        """Root to node (to the cursor, if none is named), or only its beginning or end."""
        for name, count in (("head", head), ("tail", tail)):
            if count is not None and not 0 <= count < _LARGEST:
                raise InvalidInputError(f"{name} must be between 0 and 2^63 - 1, got {count}", path=name)
        with self._tree(tree) as opened:
            return Path(tuple(self._nodes(opened, self._path_rows(opened, node, head, tail))))

    def _path_rows(
        self, tree: Opened, reference: str | None, head: int | None, tail: int | None
    ) -> list[NodeRow]:
        end = self._cursor_row(tree) if reference is None else self._row(tree, reference)
        position, limit = end.position, tail
        if head is not None and head <= end.depth:
            position = ancestor_at_depth(tree.session, tree.key, end.position, max(0, head - 1))
            limit = head
        if limit is not None and limit <= 0:
            return []
        rows = self._resolved(tree, walk_up(tree.session, tree.key, position, limit))
        if reference is not None and rows and rows[-1].position == end.position:
            rows[-1] = end
        return rows

    def leads_to(self, tree: str, node: str, end: str) -> bool:
        """Whether a node, or a version in its place, stands on the way to another, or is that one."""
        with self._tree(tree) as opened:
            row, last = self._row(opened, node), self._row(opened, end)
            if row.depth > last.depth:
                return False
            there = ancestor_at_depth(opened.session, opened.key, last.position, row.depth)
            return there == row.position

    def children(self, tree: str, node: str, *, annotations: bool = False) -> list[Node]:
        """Live continuations of a node (or its annotations), oldest first."""
        kind = _ANNOTATION if annotations else CONTINUATION
        with self._tree(tree) as opened:
            row = self._row(opened, node)
            return self._nodes(opened, self._places(opened, row.position, kind))

    def siblings(self, tree: str, node: str) -> list[Node]:
        """The live continuations of a node's parent, the node's own among them."""
        with self._tree(tree) as opened:
            row = self._row(opened, node)
            if row.parent is None:
                return self._nodes(opened, [row])
            rows = self._places(opened, row.parent, row.edge_type)
            return self._nodes(opened, [row if found.position == row.position else found for found in rows])

    def _places(self, tree: Opened, position: int, edge_type: int) -> list[NodeRow]:
        """One row for each live position below another, as the version this agent sees."""
        found = children(tree.session, tree.key, position, edge_type=edge_type)
        if tree.mode is Mode.DIALOGUE:
            return found
        chosen = self._selections(tree)
        places: dict[int, NodeRow] = {}
        for row in found:
            known = places.get(row.position)
            if known is None or chosen.get(row.position) != known.key:
                places[row.position] = row
        return sorted(places.values(), key=lambda row: row.position)

    def versions(self, tree: str, node: str, *, hidden: bool = False) -> list[Node]:
        """All nodes at a node's position, oldest first, pruned ones too; undone ones if asked."""
        with self._tree(tree) as opened:
            row = self._row(opened, node, hidden=hidden)
            first = node_row(opened.session, opened.key, row.position)
            found = versions_at(opened.session, opened.key, [row.position], hidden=hidden)
            later = found.get(row.position, [])
            return self._nodes(opened, [first, *later])

    def leaves(self, tree: str) -> list[Node]:
        """Live positions that nothing continues."""
        return self._shape(tree, _leaf_positions)

    def branch_points(self, tree: str) -> list[Node]:
        """Positions with two live continuations or more."""
        return self._shape(tree, _branch_positions)

    def _shape(self, tree: str, find: Callable[[Session, int], list[int]]) -> list[Node]:
        with self._tree(tree) as opened:
            rows = node_rows(opened.session, opened.key, find(opened.session, opened.key))
            ordered = sorted(rows.values(), key=lambda row: row.key)
            return self._nodes(opened, self._resolved(opened, ordered))

    def cursor(self, tree: str) -> Cursor:
        """Where this agent stands; before it ever moved, at the root."""
        with self._tree(tree) as opened:
            row = self._cursor_row(opened)
            chosen = selections_of(opened.session, opened.key, self.actor.agent)
            names = node_rows(opened.session, opened.key, [*chosen.keys(), *chosen.values()])
            moment = opened.session.execute(
                select(schema.cursors.c.updated_at).where(
                    schema.cursors.c.tree == opened.key, schema.cursors.c.agent == self.actor.agent
                )
            ).scalar_one_or_none()
            return Cursor(
                agent_id=agent_row(opened.session, self.actor.agent).ulid,
                tree_id=opened.ulid,
                node_id=row.ulid,
                selections={names[p].ulid: names[v].ulid for p, v in chosen.items()},
                updated_at=from_microseconds(row.created_at if moment is None else moment),
            )

    def presence(self, tree: str) -> list[tuple[Agent, Node, datetime]]:
        """Everyone's cursor in a tree, the latest first."""
        cursors = schema.cursors
        with self._tree(tree) as opened:
            found = opened.session.execute(
                select(cursors).where(cursors.c.tree == opened.key).order_by(cursors.c.updated_at.desc())
            ).all()
            rows = node_rows(opened.session, opened.key, [row.node for row in found])
            listed = self._nodes(opened, [rows[row.node] for row in found])
            return [
                (agent_value(agent_row(opened.session, row.agent)), node, from_microseconds(row.updated_at))
                for row, node in zip(found, listed, strict=True)
            ]

    def _cursor_row(self, tree: Opened) -> NodeRow:
        at = tree.session.rows(_STANDS_AT, {"the_tree": tree.key, "the_agent": self.actor.agent})
        row = node_row(tree.session, tree.key, at[0][0] if at else tree.root)
        if tree.mode is Mode.DIALOGUE:
            return row
        first = node_row(tree.session, tree.key, row.position)
        return self._resolved(tree, [first])[0]

    def working_buffer(self, tree: str) -> str:
        """Uncommitted text of this agent at the document's end."""
        with self._tree(tree) as opened:
            return self._typed(opened)

    def _typed(self, tree: Opened) -> str:
        buffers = schema.buffers
        here = (buffers.c.tree == tree.key, buffers.c.agent == self.actor.agent)
        return tree.session.execute(select(buffers.c.text).where(*here)).scalar_one_or_none() or ""

    def authorship(self, tree: str, node: str) -> tuple[AuthorSpan, ...]:
        """Who wrote which characters of a node, through all its edits."""
        with self._tree(tree) as opened:
            origins = origins_of(opened.session, opened.key, self._row(opened, node).key)
            places = {row.key: place for place, (row, _) in enumerate(origins)}
            nodes = self._nodes(opened, [row for row, _ in origins])
            return authorship_of(
                [
                    TextVersion(each.author_id, each.text, tuple(places[key] for key in keys))
                    for each, (_, keys) in zip(nodes, origins, strict=True)
                ]
            )

    def outline(self, tree: str, *, node: str | None = None, limit: int = 2_000) -> list[OutlineRow]:
        """The tree from a node down, in drawing order, breadth cut at `limit` nodes."""
        with self._tree(tree) as opened:
            top = opened.root if node is None else self._row(opened, node).position
            return self._draw(opened, top, limit)

    def _draw(self, tree: Opened, top: int, limit: int) -> list[OutlineRow]:
        rows = {top: node_row(tree.session, tree.key, top)}
        below: dict[int, list[int]] = {}
        frontier = [top]
        while frontier and len(rows) < limit:
            found = tree.session.execute(
                select(_nodes)
                .where(
                    _nodes.c.tree == tree.key,
                    tree.session.dialect.among(_nodes.c.parent, frontier),
                    _nodes.c.edge_type == CONTINUATION,
                    LIVE,
                )
                .order_by(_nodes.c.parent, _nodes.c.key)
            )
            frontier = list[int]()
            for record in found:
                row = NodeRow._make(record)
                if row.position not in rows:
                    rows[row.position] = row
                    below.setdefault(row.parent or 0, []).append(row.position)
                    frontier.append(row.position)
        notes = count_notes(tree.session, tree.key, list(rows))
        hidden = count_below(tree.session, tree.key, frontier)
        shown = self._resolved(tree, [rows[key] for key in rows])
        values = dict(zip(rows, self._nodes(tree, shown), strict=True))
        drawing: list[OutlineRow] = []
        pending = [(top, 0)]
        while pending:
            position, indent = pending.pop()
            kids = below.get(position, [])
            drawing.append(
                OutlineRow(
                    values[position], indent, len(kids), notes.get(position, 0), hidden.get(position, 0)
                )
            )
            step = 1 if len(kids) > 1 else 0
            pending.extend((kid, indent + step) for kid in reversed(kids))
        return drawing

    def links(self, target: TargetRef) -> list[Link]:
        links = schema.links
        with self._session() as session:
            here = self._locate(session, target)
            found = session.execute(
                select(links)
                .where(
                    or_(
                        and_(
                            links.c.a_tree == here.tree,
                            links.c.a_kind == here.kind,
                            links.c.a_key == here.key,
                        ),
                        and_(
                            links.c.b_tree == here.tree,
                            links.c.b_kind == here.kind,
                            links.c.b_key == here.key,
                        ),
                    ),
                    links.c.removed.is_(None),
                )
                .order_by(links.c.key)
            ).all()
            ends = {
                row.key: (
                    TargetAddress(row.a_tree, row.a_kind, row.a_key),
                    TargetAddress(row.b_tree, row.b_kind, row.b_key),
                )
                for row in found
            }
            targets = targets_of(session, {end for pair in ends.values() for end in pair})
            # An end that was deleted at the same moment leaves nothing to show.
            found = [row for row in found if all(end in targets for end in ends[row.key])]
            return [
                Link(
                    id=row.ulid,
                    ends=(targets[ends[row.key][0]], targets[ends[row.key][1]]),
                    note=row.note,
                    author_id=agent_row(session, row.author).ulid,
                    created_at=from_microseconds(row.created_at),
                )
                for row in found
            ]

    def _locate(self, session: Session, target: TargetRef) -> TargetAddress:
        here = locate(session, target)
        require_access(session, self.actor, MemberRole.READER, here.tree)
        return here

    def tags(self, target: TargetRef | None = None) -> list[Tag]:
        """The tags on something, or all tags of the grove."""
        tags = schema.tags
        statement = select(tags).where(tags.c.removed.is_(None)).order_by(tags.c.label, tags.c.key)
        with self._session() as session:
            if target is not None:
                here = self._locate(session, target)
                statement = statement.where(
                    tags.c.tree == here.tree, tags.c.kind == here.kind, tags.c.target == here.key
                )
            else:
                require_access(session, self.actor, MemberRole.READER)
            found = session.execute(statement).all()
            places = {row.key: TargetAddress(row.tree, row.kind, row.target) for row in found}
            targets = targets_of(session, set(places.values()))
            return [Tag(row.label, targets[places[row.key]]) for row in found if places[row.key] in targets]

    def groups(self, tree: str) -> list[CollapsedRange]:
        groups = schema.groups
        with self._tree(tree) as opened:
            found = opened.session.execute(
                select(groups).where(groups.c.tree == opened.key).order_by(groups.c.name)
            ).all()
            rows = node_rows(
                opened.session, opened.key, [key for row in found for key in (row.first, row.last)]
            )
            return [
                CollapsedRange(
                    id=row.ulid,
                    name=row.name,
                    description=row.description,
                    first=rows[row.first].ulid,
                    last=rows[row.last].ulid,
                    expanded=row.expanded,
                )
                for row in found
            ]

    def agents(self, *, archived: bool = False) -> list[Agent]:
        statement = (
            select(schema.agents).where(schema.agents.c.hidden.is_(None)).order_by(schema.agents.c.key)
        )
        if not archived:
            statement = statement.where(schema.agents.c.archived_at.is_(None))
        with self._session() as session:
            self._require_some_access(session)
            return [agent_value(AgentRow._make(row)) for row in session.execute(statement)]

    def agent(self, reference: str) -> Agent:
        with self._session() as session:
            self._require_some_access(session)
            return agent_value(agent_row(session, find_agent(session, reference)))

    def _require_some_access(self, session: Session) -> None:
        """Whoever may see a tree may see who writes in it; a stranger may not."""
        if trees_allowed(session, self.actor) == set():
            require_access(session, self.actor, MemberRole.READER)

    def document(self, reference: str, revision: int | None = None) -> Document:
        with self._session(Permission.DOC_READ) as session:
            require_access(session, self.actor, MemberRole.READER)
            return load_document(session, reference, revision)

    def project(self, reference: str, revision: int | None = None) -> Project:
        with self._session() as session:
            require_access(session, self.actor, MemberRole.READER)
            return load_project(session, reference, revision)

    def projects(self, *, archived: bool = False) -> list[Project]:
        """All projects, by name."""
        with self._session() as session:
            require_access(session, self.actor, MemberRole.READER)
            return load_projects(session, archived=archived)

    def documents(self, *, archived: bool = False) -> list[Document]:
        with self._session(Permission.DOC_READ) as session:
            require_access(session, self.actor, MemberRole.READER)
            return load_documents(session, archived=archived)

    def revisions(self, document: str) -> list[Revision]:
        """Every save of a document, the latest first."""
        with self._session(Permission.DOC_READ) as session:
            require_access(session, self.actor, MemberRole.READER)
            return load_revisions(session, document)

    def history(
        self, tree: str | None, *, limit: int = 50, before: int | None = None, agent: str | None = None
    ) -> list[HistoryEntry]:
        """The latest operations in a tree (None: in the grove itself), oldest first, undone ones marked."""
        with self._session() as session:
            chain = GROVE if tree is None else self._tree_row(session, tree).key
            require_access(session, self.actor, MemberRole.READER, chain)
            who = None if agent is None else find_agent(session, agent)
            return history_of(session, chain, limit=limit, before=before, agent=who)

    def events(self, tree: str, *, after: int = 0, limit: int = 1_000) -> list[Event]:
        """A tree's operations in order."""
        with self._tree(tree) as opened:
            grove = grove_id(opened.session)
            rows = chain_events(opened.session, opened.key, after=after, limit=limit)
            return [event_from_row(grove, row) for row in rows]


def _leaf_positions(session: Session, tree: int) -> list[int]:
    child = _nodes.alias("child")
    statement = (
        select(_nodes.c.position)
        .where(_nodes.c.tree == tree, _nodes.c.edge_type == CONTINUATION, LIVE)
        .where(
            ~select(child.c.key)
            .where(
                child.c.tree == tree,
                child.c.parent == _nodes.c.position,
                child.c.edge_type == CONTINUATION,
                child.c.pruned.is_(None),
                child.c.hidden.is_(None),
            )
            .exists()
        )
        .distinct()
    )
    return list(session.execute(statement).scalars())


def _branch_positions(session: Session, tree: int) -> list[int]:
    statement = (
        select(_nodes.c.parent)
        .where(
            _nodes.c.tree == tree,
            _nodes.c.edge_type == CONTINUATION,
            _nodes.c.parent.is_not(None),
            LIVE,
        )
        .group_by(_nodes.c.parent)
        .having(func.count(_nodes.c.position.distinct()) > 1)
    )
    return list(session.execute(statement).scalars())
