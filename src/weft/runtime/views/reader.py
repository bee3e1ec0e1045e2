"""Read a grove: what an agent may see of trees, nodes, documents and history, in a fixed number of queries."""

import contextlib
from bisect import bisect_left
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import and_, bindparam, or_, select

from weft.error_hints import Hint, HintKind
from weft.errors import CrossTreeError, InvalidInputError, NotFoundError
from weft.ids import is_ulid
from weft.runtime.events.log import Event, event_from_row, grove_id
from weft.runtime.operations.documents import load_document, load_documents, load_revisions, load_sizes
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.node_values import (
    TREE_ROWS,
    Heading,
    agent_value,
    heading_of,
    node_values,
    tree_value,
    value_of,
)
from weft.runtime.operations.permissions import (
    Actor,
    agent_for,
    agent_row,
    agents_allowed,
    require_access,
    require_permission,
    tree_for,
    trees_allowed,
)
from weft.runtime.operations.projects import load_project, load_projects
from weft.runtime.operations.references import (
    TargetAddress,
    TargetRef,
    at_end,
    ends_of,
    locate,
    on_target,
    targets_of,
)
from weft.runtime.operations.tool_results import load_result
from weft.runtime.views.history import history_of
from weft.runtime.views.outline import OutlineRow, branch_positions, leaf_positions, read_outline
from weft.store import schema
from weft.store.base import Store
from weft.store.events import chain_events
from weft.store.path_queries import ancestor_at_depth, walk_up
from weft.store.rows import EDGE_TYPES, MODES, AgentRow, Flag, NodeRow
from weft.store.session import Session
from weft.store.transaction import GROVE
from weft.store.tree_queries import (
    Selections,
    children,
    count_notes,
    find_node,
    find_nodes_anywhere,
    node_row,
    node_rows,
    origins_of,
    resolve,
    selections_of,
    versions_at,
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
from weft.tree.reference import CollapsedRange, Link, Project, Tag
from weft.tree.tree import Cursor, Mode, Path, Tree

if TYPE_CHECKING:
    from weft.runtime.views.skeleton import Skeleton
    from weft.tree.text_diff import Difference

_LARGEST = 2**63
_nodes = schema.nodes
_trees = schema.trees
_ANNOTATION = EDGE_TYPES.index(EdgeType.ANNOTATION)
_COLUMNS = select(_trees.c.key, _trees.c.ulid, _trees.c.mode, _trees.c.root)
_CURSOR = select(schema.cursors.c.node, schema.cursors.c.updated_at).where(
    schema.cursors.c.tree == bindparam("the_tree"), schema.cursors.c.agent == bindparam("the_agent")
)
AT_CURSOR = (
    select(_nodes)
    .join(schema.cursors, and_(schema.cursors.c.tree == _nodes.c.tree, schema.cursors.c.node == _nodes.c.key))
    .where(_nodes.c.tree == bindparam("the_tree"), schema.cursors.c.agent == bindparam("the_agent"))
)
"""The node an agent is at; and the key under which a session knows its rows."""
_BY_ULID = _COLUMNS.where(_trees.c.ulid == bindparam("the_ulid"), _trees.c.hidden.is_(None))


class Opened(NamedTuple):
    """A tree that is being read."""

    session: Session
    key: int
    ulid: str
    mode: Mode
    root: int

    @property
    def is_dialogue(self) -> bool:
        return self.mode is Mode.DIALOGUE


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
    def _grove(self, permission: Permission = Permission.LOOM_AWARE) -> Generator[Session]:
        """A session for what belongs to the grove itself: its users need a role on the grove."""
        with self._session(permission) as session:
            require_access(session, self.actor, MemberRole.READER)
            yield session

    @contextlib.contextmanager
    def _tree(self, reference: str) -> Generator[Opened]:
        with self._session() as session:
            yield self._tree_row(session, reference)

    def tool_result(self, tree: str, number: int) -> str:
        """The whole text of a tool's result that was put aside in a tree, by its number."""
        with self._tree(tree) as opened:
            return load_result(opened.session, opened.key, number)

    def _tree_row(self, session: Session, reference: str) -> Opened:
        """One query for an id; any other reference is looked up first. Refused if it may not be read."""
        if is_ulid(reference):
            rows = session.once((Opened, reference), lambda: session.rows(_BY_ULID, {"the_ulid": reference}))
        else:
            rows = []
        if rows:
            require_access(session, self.actor, MemberRole.READER, rows[0][0])
        else:
            key = tree_for(session, self.actor, reference)
            rows = [tuple(session.execute(_COLUMNS.where(_trees.c.key == key)).one())]
        key, ulid, mode, root = rows[0]
        return Opened(session, key, ulid, MODES[mode], root)

    def _selections(self, tree: Opened) -> Selections:
        if tree.is_dialogue:
            return {}
        place = tree.key, self.actor.agent
        return tree.session.once((Selections, *place), lambda: selections_of(tree.session, *place))

    def _resolved(self, tree: Opened, rows: Sequence[NodeRow]) -> list[NodeRow]:
        """Positions as the versions this agent sees."""
        if tree.is_dialogue:
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
                statement = statement.where(session.dialect.among(_trees.c.key, sorted(allowed)))
            return [tree_value(row) for row in session.execute(statement)]

    def tree(self, reference: str) -> Tree:
        with self._tree(reference) as tree:
            return tree_value(tree.session.execute(TREE_ROWS.where(_trees.c.key == tree.key)).one())

    def latest_tree(self) -> str:
        """The tree this agent was last in, else the one changed last."""
        cursors = schema.cursors
        with self._session() as session:
            recent = session.execute(
                select(_trees.c.ulid)
                .join(cursors, cursors.c.tree == _trees.c.key)
                .where(cursors.c.agent == self.actor.agent, _trees.c.archived_at.is_(None))
                .order_by(cursors.c.updated_at.desc())
                .limit(1)
            ).scalar_one_or_none()
        if recent is not None:
            return recent
        for tree in self.trees(limit=1):
            return tree.id
        raise NotFoundError("the grove has no open trees", hint=Hint(HintKind.PLANT))

    def node(self, tree: str, reference: str, *, hidden: bool = False) -> Node:
        """A node; one that was undone only where that is asked for."""
        with self._tree(tree) as opened:
            return self._nodes(opened, [self._row(opened, reference, hidden=hidden)])[0]

    def hidden(self, tree: str) -> list[Node]:
        """Nodes whose creation was undone, oldest first; no other view shows them."""
        with self._tree(tree) as opened:
            undone = select(_nodes).where(_nodes.c.tree == opened.key, _nodes.c.hidden.is_not(None))
            rows = opened.session.execute(undone.order_by(_nodes.c.key))
            return self._nodes(opened, [NodeRow._make(row) for row in rows])

    def _row(self, tree: Opened, reference: str, *, hidden: bool = False) -> NodeRow:
        asked = find_node, tree.key, reference, hidden
        try:
            return tree.session.once(
                asked, lambda: find_node(tree.session, tree.key, reference, hidden=hidden)
            )
        except NotFoundError:
            if is_ulid(reference.strip().upper()):
                with contextlib.suppress(NotFoundError):
                    find_nodes_anywhere(tree.session, reference, trees_allowed(tree.session, self.actor))
                    raise CrossTreeError(
                        f"node {reference} is in another tree", hint="name that tree"
                    ) from None
            raise

    def find(self, reference: str) -> Node:
        """A node of any tree, by ULID or by a local id that only one tree has."""
        with self._session() as session:
            row = find_nodes_anywhere(session, reference, trees_allowed(session, self.actor))
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
        """True if a node, or another version at its position, is on the path to `end`."""
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
            return self._nodes(opened, [row if each.position == row.position else each for each in rows])

    def _places(self, tree: Opened, position: int, edge_type: int) -> list[NodeRow]:
        """One row for each live position below another, as the version this agent sees."""
        rows = children(tree.session, tree.key, position, edge_type=edge_type)
        chosen = self._selections(tree)
        places: dict[int, NodeRow] = {}
        for row in rows:
            known = places.get(row.position)
            if known is None or chosen.get(row.position) != known.key:
                places[row.position] = row
        return sorted(places.values(), key=lambda row: row.position)

    def versions(self, tree: str, node: str, *, hidden: bool = False) -> list[Node]:
        """All nodes at a node's position, oldest first, pruned ones too; undone ones if asked."""
        with self._tree(tree) as opened:
            row = self._row(opened, node, hidden=hidden)
            first = node_row(opened.session, opened.key, row.position)
            later = versions_at(opened.session, opened.key, [row.position], hidden=hidden)
            return self._nodes(opened, [first, *later.get(row.position, [])])

    def leaves(self, tree: str) -> list[Node]:
        """Live positions that nothing continues."""
        return self._shape(tree, leaf_positions)

    def bookmarks(self, tree: str) -> list[Node]:
        """Bookmarked nodes that are live, in the order of their creation."""
        with self._tree(tree) as opened:
            marked = _nodes.c.flags.op("&")(int(Flag.BOOKMARKED)) != 0
            here = select(_nodes).where(_nodes.c.tree == opened.key, marked, LIVE).order_by(_nodes.c.key)
            return self._nodes(opened, [NodeRow._make(row) for row in opened.session.execute(here)])

    def branch_points(self, tree: str) -> list[Node]:
        """Positions with two live continuations or more."""
        return self._shape(tree, branch_positions)

    def _shape(self, tree: str, find: Callable[[Session, int], list[int]]) -> list[Node]:
        with self._tree(tree) as opened:
            rows = node_rows(opened.session, opened.key, find(opened.session, opened.key))
            ordered = sorted(rows.values(), key=lambda row: row.key)
            return self._nodes(opened, self._resolved(opened, ordered))

    def cursor(self, tree: str) -> Cursor:
        """The cursor of this agent; before it has moved, the root."""
        with self._tree(tree) as opened:
            row = self._cursor_row(opened)
            chosen = selections_of(opened.session, opened.key, self.actor.agent)
            names = node_rows(opened.session, opened.key, [*chosen.keys(), *chosen.values()])
            moved = self._moved(opened)
            return Cursor(
                agent_id=agent_row(opened.session, self.actor.agent).ulid,
                tree_id=opened.ulid,
                node_id=row.ulid,
                selections={names[p].ulid: names[v].ulid for p, v in chosen.items()},
                updated_at=from_microseconds(row.created_at if moved is None else moved[1]),
            )

    def presence(self, tree: str) -> list[tuple[Agent, Node, datetime]]:
        """Everyone's cursor in a tree, the latest first."""
        cursors = schema.cursors
        with self._tree(tree) as opened:
            here = select(cursors).where(cursors.c.tree == opened.key)
            places = opened.session.execute(here.order_by(cursors.c.updated_at.desc())).all()
            rows = node_rows(opened.session, opened.key, [place.node for place in places])
            nodes = self._nodes(opened, [rows[place.node] for place in places])
            return [
                (agent_value(agent_row(opened.session, each.agent)), node, from_microseconds(each.updated_at))
                for each, node in zip(places, nodes, strict=True)
            ]

    def _cursor_row(self, tree: Opened) -> NodeRow:
        place = tree.key, self.actor.agent
        return tree.session.once((Cursor, *place), lambda: self._read_cursor(tree))

    def _read_cursor(self, tree: Opened) -> NodeRow:
        row = self._row_at_cursor(tree) or node_row(tree.session, tree.key, tree.root)
        if tree.is_dialogue:
            return row
        first = row if row.key == row.position else node_row(tree.session, tree.key, row.position)
        return self._resolved(tree, [first])[0]

    def _row_at_cursor(self, tree: Opened) -> NodeRow | None:
        """The node of this agent's cursor; None if it never moved."""
        session, key, agent = tree.session, tree.key, self.actor.agent
        place = {"the_tree": key, "the_agent": agent}
        rows = session.once((AT_CURSOR, key, agent), lambda: session.rows(AT_CURSOR, place))
        return NodeRow._make(rows[0]) if rows else None

    def _moved(self, tree: Opened) -> tuple[int, int] | None:
        """The key of this agent's cursor and when it moved there; None if it never moved."""
        rows = tree.session.rows(_CURSOR, {"the_tree": tree.key, "the_agent": self.actor.agent})
        return rows[0] if rows else None

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

    def outline(
        self, tree: str, *, node: str | None = None, limit: int = 2_000, everything: bool = False
    ) -> list[OutlineRow]:
        """The tree from a node down, in drawing order, breadth cut at `limit` nodes.

        With `everything`, what was pruned or undone too.
        """
        with self._tree(tree) as opened:
            top = opened.root if node is None else self._row(opened, node).position
            outline = read_outline(opened.session, opened.key, top, limit, everything=everything)
            rows, children, hidden, versions = outline
            notes = count_notes(opened.session, opened.key, list(rows))
            nodes = dict(
                zip(rows, self._nodes(opened, self._resolved(opened, list(rows.values()))), strict=True)
            )
            return [
                OutlineRow(
                    nodes[at],
                    indent,
                    len(children.get(at, ())),
                    notes.get(at, 0),
                    hidden.get(at, 0),
                    versions.get(at, 1),
                )
                for at, indent in outline.indented(top)
            ]

    def skeleton(self, tree: str, *, first: int = 1) -> "Skeleton":
        """The shape of a tree as compact columns, without its texts; of the nodes from a number on."""
        from weft.runtime.views.skeleton import read_skeleton  # noqa: PLC0415 - only drawing clients need it

        with self._tree(tree) as opened:
            return read_skeleton(opened.session, opened.key, versions=not opened.is_dialogue, first=first)

    def revision(self, tree: str) -> int:
        """The number of a tree's events: the same number means that nothing has changed."""
        trees = schema.trees
        with self._tree(tree) as opened:
            counted = select(trees.c.events).where(trees.c.key == opened.key)
            return opened.session.execute(counted).scalar_one()

    def numbered(self, tree: str, first: int, last: int) -> list[Node]:
        """The nodes with these numbers of the skeleton, at most 1,000."""
        from weft.runtime.views.skeleton import rows_in_range  # noqa: PLC0415 - only drawing clients need it

        with self._tree(tree) as opened:
            return self._nodes(opened, rows_in_range(opened.session, opened.key, first, last))

    def difference(self, tree: str, one: str, other: str, *, paths: bool = False) -> "Difference":
        """Where two paths fork, and how the two texts differ; with `paths`, all that follows the fork."""
        from weft.tree.text_diff import Difference, word_difference  # noqa: PLC0415 - few calls compare

        with self._tree(tree) as opened:
            left, right = self._row(opened, one), self._row(opened, other)
            above = partial(ancestor_at_depth, opened.session, opened.key)
            shallow = min(left.depth, right.depth)
            # The first depth at which the paths differ, minus one.
            depth = bisect_left(
                range(1, shallow + 1), 1, key=lambda at: above(left.position, at) != above(right.position, at)
            )
            joint = "\n\n" if opened.is_dialogue else ""
            texts = [
                joint.join(
                    node.text
                    for node in self._nodes(
                        opened,
                        self._path_rows(opened, end.ulid, None, max(1, end.depth - depth) if paths else 1),
                    )
                )
                for end in (left, right)
            ]
            return Difference(
                one=left.local_id,
                other=right.local_id,
                common=node_row(opened.session, opened.key, above(left.position, depth)).local_id,
                one_beyond=left.depth - depth,
                other_beyond=right.depth - depth,
                words=word_difference(*texts),
            )

    def links(self, target: TargetRef) -> list[Link]:
        links = schema.links
        with self._session() as session:
            here = self._locate(session, target)
            either = or_(at_end("a", here), at_end("b", here))
            rows = session.execute(
                select(links).where(either, links.c.removed.is_(None)).order_by(links.c.key)
            ).mappings()
            ends = [(row, *ends_of(row)) for row in rows]
            targets = targets_of(session, {end for _, *pair in ends for end in pair})
            return [
                Link(
                    id=row["ulid"],
                    ends=(targets[one], targets[other]),
                    note=row["note"],
                    author_id=agent_row(session, row["author"]).ulid,
                    created_at=from_microseconds(row["created_at"]),
                )
                for row, one, other in ends
                # An end that was deleted at the same moment leaves nothing to show.
                if one in targets and other in targets
            ]

    def _locate(self, session: Session, target: TargetRef) -> TargetAddress:
        return locate(session, self.actor, target)

    def tags(self, target: TargetRef | None = None) -> list[Tag]:
        """The tags on something, or all tags of the grove."""
        tags = schema.tags
        statement = select(tags).where(tags.c.removed.is_(None)).order_by(tags.c.label, tags.c.key)
        with self._session() as session:
            if target is not None:
                here = self._locate(session, target)
                statement = statement.where(on_target(here))
            else:
                require_access(session, self.actor, MemberRole.READER)
            labels = [
                (row.label, TargetAddress(row.tree, row.kind, row.target))
                for row in session.execute(statement)
            ]
            targets = targets_of(session, {address for _, address in labels})
            return [Tag(label, targets[address]) for label, address in labels if address in targets]

    def groups(self, tree: str) -> list[CollapsedRange]:
        groups = schema.groups
        with self._tree(tree) as opened:
            own = select(groups).where(groups.c.tree == opened.key).order_by(groups.c.name)
            ranges = opened.session.execute(own).all()
            ends = [key for row in ranges for key in (row.first, row.last)]
            rows = node_rows(opened.session, opened.key, ends)
            return [
                value_of(CollapsedRange, row, first=rows[row.first].ulid, last=rows[row.last].ulid)
                for row in ranges
            ]

    def agents(self, *, archived: bool = False) -> list[Agent]:
        statement = (
            select(schema.agents).where(schema.agents.c.hidden.is_(None)).order_by(schema.agents.c.key)
        )
        if not archived:
            statement = statement.where(schema.agents.c.archived_at.is_(None))
        with self._session() as session:
            self._require_some_access(session)
            allowed = agents_allowed(session, self.actor)
            if allowed is not None:
                statement = statement.where(session.dialect.among(schema.agents.c.key, sorted(allowed)))
            return [agent_value(AgentRow._make(row)) for row in session.execute(statement)]

    def agent(self, reference: str) -> Agent:
        with self._session() as session:
            self._require_some_access(session)
            return agent_value(agent_row(session, agent_for(session, self.actor, reference)))

    def _require_some_access(self, session: Session) -> None:
        """A user who may read any tree may see the agents; one who may read none may not."""
        if trees_allowed(session, self.actor) == set():
            require_access(session, self.actor, MemberRole.READER)

    def document(self, reference: str, revision: int | None = None) -> Document:
        with self._grove(Permission.DOC_READ) as session:
            return load_document(session, reference, revision)

    def documents(self, *, archived: bool = False, contents: bool = True) -> list[Document]:
        """All documents, by title; without `contents`, their texts are not read and are empty."""
        with self._grove(Permission.DOC_READ) as session:
            return load_documents(session, archived=archived, contents=contents)

    def document_sizes(self) -> dict[str, int]:
        """Characters of every document, by id; no text is read."""
        with self._grove(Permission.DOC_READ) as session:
            return load_sizes(session)

    def revisions(self, document: str) -> list[Revision]:
        """Every save of a document, the latest first."""
        with self._grove(Permission.DOC_READ) as session:
            return load_revisions(session, document)

    def project(self, reference: str, revision: int | None = None) -> Project:
        with self._grove() as session:
            return load_project(session, reference, revision)

    def projects(self, *, archived: bool = False) -> list[Project]:
        """All projects, by name."""
        with self._grove() as session:
            return load_projects(session, archived=archived)

    def history(
        self, tree: str | None, *, limit: int = 50, before: int | None = None, agent: str | None = None
    ) -> list[HistoryEntry]:
        """The latest operations in a tree (None: in the grove itself), oldest first, undone ones marked."""
        with self._session() as session:
            chain = GROVE if tree is None else self._tree_row(session, tree).key
            require_access(session, self.actor, MemberRole.READER, chain)
            who = None if agent is None else agent_for(session, self.actor, agent)
            return history_of(session, chain, limit=limit, before=before, agent=who)

    def events(self, tree: str, *, after: int = 0, limit: int = 1_000) -> list[Event]:
        """A tree's operations in order."""
        with self._tree(tree) as opened:
            grove = grove_id(opened.session)
            rows = chain_events(opened.session, opened.key, after=after, limit=limit)
            return [event_from_row(grove, row) for row in rows]
