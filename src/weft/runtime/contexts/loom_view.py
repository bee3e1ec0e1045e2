"""What a command shows of a tree, in a few queries for a tree of any size."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import and_, func, or_, select

from weft.commands.reply import INLINE_TOKENS, TreeRow
from weft.context.agent_view.loom_block import HeadingFacts, LoomPlace, Presence
from weft.ids import PRIME, base_of, is_ulid
from weft.runtime.operations.node_values import TREE_ROWS, contents_of, tree_value
from weft.runtime.operations.permissions import agent_row
from weft.runtime.operations.references import KINDS
from weft.runtime.views.reader import Opened, Reader
from weft.store import schema
from weft.store.path_queries import ancestor_at_depth, walk_up
from weft.store.rows import AGENT_TYPES, EDGE_TYPES, Flag, NodeRow
from weft.store.session import Session
from weft.store.tree_queries import count_continuations, count_notes, node_row, node_rows
from weft.store.tree_statements import CONTINUATION, LIVE
from weft.tree.agent import Agent, AgentType
from weft.tree.content import Content, plain_text, spoken_text
from weft.tree.edge import EdgeType
from weft.tree.json_names import from_microseconds
from weft.tree.node import Node
from weft.tree.reference import TargetKind
from weft.tree.snippet import EXTRACT, extract
from weft.tree.tree import Mode

PRESENT_SECONDS = 120.0
"""How long an agent counts as present after its last heartbeat."""
_MOST_PRESENT = 10
_MOST_DRAWN = 300
_PATH = 3
_WAY = 3
"""How many nodes of a way are named before the last."""
_nodes, _links, _cursors = schema.nodes, schema.links, schema.cursors
_NODE = KINDS.index(TargetKind.NODE)
_HUMAN = AGENT_TYPES.index(AgentType.HUMAN)
_SEVERAL = 2
_ANNOTATION = EDGE_TYPES.index(EdgeType.ANNOTATION)


class Drawing(NamedTuple):
    """A tree as it is drawn, and how deep that goes."""

    rows: list[TreeRow]
    depth: int
    nodes: list[str]
    """Ids of those that have no summary."""


def words_of(content: Content) -> str:
    """What a node says; of one that only calls or shows, what there is to read of it."""
    return spoken_text(content) or plain_text(content)


@dataclass(frozen=True, slots=True)
class LoomView(Reader):
    """A tree as an agent sees it through commands."""

    def row(self, tree: str, reference: str | None) -> NodeRow:
        """The node that a reference names; without one, the agent's cursor."""
        with self._tree(tree) as opened:
            return self._cursor_row(opened) if reference is None else self._row(opened, reference)

    def known(self, tree: str, ulid: str) -> str:
        """The local id of a node, also of one that was undone."""
        with self._tree(tree) as opened:
            return self._row(opened, ulid, hidden=True).local_id

    def facts(self, tree: str, ids: Iterable[str]) -> dict[str, HeadingFacts]:
        """What headings tell of nodes, by the ids as they were given (ULIDs, or local ids)."""
        with self._tree(tree) as opened:
            rows = _named(opened, list(dict.fromkeys(ids)))
            known = _facts(opened.session, opened.key, list(rows.values()))
            return {name: known[row.key] for name, row in rows.items()}

    def place(self, tree: str, now: int, at: NodeRow | None = None) -> LoomPlace:
        """A node (the agent's cursor), its tree, and who else is active."""
        with self._tree(tree) as opened:
            value = tree_value(
                opened.session.execute(TREE_ROWS.where(schema.trees.c.key == opened.key)).one()
            )
            at = at or self._cursor_row(opened)
            near = self._resolved(opened, walk_up(opened.session, opened.key, at.position, _PATH))
            near[-1:] = [at]
            return LoomPlace(
                title=value.title,
                mode=value.mode,
                nodes=value.counters.nodes,
                branches=value.counters.branches,
                depth=value.counters.depth,
                path=tuple(row.local_id for row in near),
                longer=near[0].depth > 0,
                others=self._others(opened, at, now),
            )

    def _others(self, opened: Opened, at: NodeRow, now: int) -> tuple[Presence, ...]:
        """Cursors with a recent heartbeat, by node, with the way from the path to `at`."""
        since = now - round(PRESENT_SECONDS * 1_000_000)
        cursors = opened.session.execute(
            select(_cursors.c.agent, _cursors.c.node)
            .where(
                _cursors.c.tree == opened.key,
                _cursors.c.agent != self.actor.agent,
                _cursors.c.updated_at >= since,
            )
            .order_by(_cursors.c.updated_at.desc())
            .limit(_MOST_PRESENT)
        ).all()
        rows = node_rows(opened.session, opened.key, [row.node for row in cursors])
        present: list[Presence] = []
        for each in cursors:
            row, agent = rows[each.node], agent_row(opened.session, each.agent)
            if row.hidden is None:
                name = "Human" if agent.name == AgentType.HUMAN else agent.name
                way = self._way(opened, at, row)
                present.append(Presence(name=name, node=row.local_id, depth=row.depth, way=way))
        return tuple(present)

    def _way(self, opened: Opened, at: NodeRow, other: NodeRow) -> tuple[str, ...]:
        """Local ids from the last node that both paths have to another's; none if it is on the path to `at`.

        Of a long way the middle is one empty id.
        """
        session, tree = opened.session, opened.key

        def is_shared(depth: int) -> bool:
            if depth > at.depth:
                return False
            ends = (ancestor_at_depth(session, tree, each.position, depth) for each in (at, other))
            return len(set(ends)) == 1

        if is_shared(other.depth):
            return ()
        fork, parted = other.depth - 1, other.depth
        while fork > 0 and not is_shared(fork):
            fork, parted = max(0, 2 * fork - other.depth), fork
        while parted - fork > 1:
            middle = (fork + parted) // 2
            fork, parted = (middle, parted) if is_shared(middle) else (fork, middle)
        depths = range(fork, other.depth)[:_WAY]
        positions = [ancestor_at_depth(session, tree, other.position, depth) for depth in depths]
        rows = node_rows(session, tree, positions)
        way = [row.local_id for row in self._resolved(opened, [rows[each] for each in positions])]
        return (*way, *([""] if fork + len(way) < other.depth else []), other.local_id)

    def drawn(self, tree: str, start: str | None, *, depth: int, summary: bool) -> Drawing:
        """The tree from a node (the root) down to a depth; what lies deeper, or is too much, is counted."""
        with self._tree(tree) as opened:
            top = opened.root if start is None else self._row(opened, start).position
            here = self._cursor_row(opened).position
            rows, below, left = self._levels(opened, top, depth)
            shown = dict(zip(rows, self._resolved(opened, list(rows.values())), strict=True))
            texts = contents_of(opened.session, opened.key, list(shown.values()))
            drawing: list[TreeRow] = []
            pending = [(top, 0)]
            while pending:
                position, indent = pending.pop()
                row = shown[position]
                content, summarised = texts[row.key]
                words = words_of(content)
                said = (summarised or extract(words)).removeprefix(EXTRACT) if summary else words[:400]
                drawing.append(
                    TreeRow(
                        local_id=row.local_id,
                        depth=indent,
                        text=said,
                        here=position == here,
                        more=left.get(position, 0),
                    )
                )
                pending.extend((kid, indent + 1) for kid in reversed(below.get(position, ())))
            missing = [row.ulid for row in shown.values() if texts[row.key][1] is None]
            return Drawing(drawing, depth, missing)

    def _levels(
        self, opened: Opened, top: int, depth: int
    ) -> tuple[dict[int, NodeRow], dict[int, list[int]], dict[int, int]]:
        """Positions by level, the children drawn below each, and how many are not."""
        session = opened.session
        rows = {top: node_row(session, opened.key, top)}
        below: dict[int, list[int]] = {}
        left: dict[int, int] = {}
        frontier = [top]
        for _ in range(depth):
            if not frontier:
                break
            further: list[int] = []
            for child in _below(session, opened.key, frontier):
                parent = child.parent or 0
                if child.position in rows:
                    continue
                if len(rows) >= _MOST_DRAWN:
                    left[parent] = left.get(parent, 0) + 1
                    continue
                rows[child.position] = child
                below.setdefault(parent, []).append(child.position)
                further.append(child.position)
            frontier = further
        else:
            left |= count_continuations(session, opened.key, frontier)
        return rows, below, left

    def hanging(self, tree: str, node: str, *, annotations: bool, limit: int) -> tuple[list[Node], int]:
        """The first live continuations of a node, or annotations on it, and how many there are in all."""
        kind = _ANNOTATION if annotations else CONTINUATION
        with self._tree(tree) as opened:
            session, place = opened.session, self._row(opened, node).position
            there = (_nodes.c.tree == opened.key, _nodes.c.parent == place, _nodes.c.edge_type == kind, LIVE)
            count = session.execute(
                select(func.count(_nodes.c.position.distinct())).where(*there)
            ).scalar_one()
            first = (
                select(_nodes.c.position).where(*there).distinct().order_by(_nodes.c.position).limit(limit)
            )
            rows = node_rows(session, opened.key, session.execute(first).scalars())
            ordered = [rows[key] for key in sorted(rows)]
            return self._nodes(opened, self._resolved(opened, ordered)), count

    def lineage(self, tree: str, node: str) -> list[Node]:
        """All versions of a node, oldest first: at its position in a buffer, beside it in a dialogue."""
        with self._tree(tree) as opened:
            row = self._row(opened, node)
            if opened.mode is Mode.DIALOGUE:
                base = base_of(row.local_id)
                primed = and_(_nodes.c.local_id > base, _nodes.c.local_id < base + chr(ord(PRIME) + 1))
                records = opened.session.execute(
                    select(_nodes)
                    .where(
                        _nodes.c.tree == opened.key,
                        or_(_nodes.c.local_id == base, primed),
                        _nodes.c.hidden.is_(None),
                    )
                    .order_by(_nodes.c.key)
                )
                return self._nodes(opened, [NodeRow._make(each) for each in records])
        return self.versions(tree, node)

    def mode(self, tree: str) -> Mode:
        with self._tree(tree) as opened:
            return opened.mode


def _named(opened: Opened, ids: Sequence[str]) -> dict[str, NodeRow]:
    """Rows by what they were asked for by; what is not there is left out."""
    known: dict[str, NodeRow] = {}
    for name, column in ((True, _nodes.c.ulid), (False, _nodes.c.local_id)):
        wanted = [each for each in ids if is_ulid(each) is name]
        for start in range(0, len(wanted), 500):
            part = wanted[start : start + 500]
            statement = select(_nodes).where(
                _nodes.c.tree == opened.key, column.in_(part), _nodes.c.hidden.is_(None)
            )
            for record in opened.session.execute(statement):
                row = NodeRow._make(record)
                known[row.ulid if name else row.local_id] = row
    return {each: known[each] for each in ids if each in known}


def _facts(session: Session, tree: int, rows: Sequence[NodeRow]) -> dict[int, HeadingFacts]:
    positions = sorted({row.position for row in rows})
    continuations = count_continuations(session, tree, positions)
    notes = count_notes(session, tree, positions)
    links = _count_links(session, tree, [row.key for row in rows])
    authors = {key: agent_row(session, key).name for key in {row.author for row in rows}}
    people = {row.author for row in rows if row.author_type == _HUMAN}
    wrote = {row.author for row in rows if row.author_type == _HUMAN and (row.narrow or row.wide)}
    if people and not _several_write(session, tree, wrote):
        authors |= dict.fromkeys(people, AgentType.HUMAN.value)
    return {
        row.key: HeadingFacts(
            local_id=row.local_id,
            author=authors[row.author],
            created_at=from_microseconds(row.created_at),
            continuations=continuations.get(row.position, 0),
            annotations=notes.get(row.position, 0),
            links=links.get(row.key, 0),
            bookmarked=bool(row.flags & Flag.BOOKMARKED),
            model=AGENT_TYPES[row.author_type] is AgentType.MODEL,
        )
        for row in rows
    }


def _several_write(session: Session, tree: int, people: AbstractSet[int]) -> bool:
    """Whether several people have text in a tree; these have. An empty root is no text of who planted it."""
    if len(people) > 1:
        return True
    agents = schema.agents
    in_grove = select(func.count()).select_from(agents).where(agents.c.type == _HUMAN)
    if session.execute(in_grove).scalar_one() < _SEVERAL:
        return False
    theirs = _nodes.c.tree == tree, _nodes.c.author_type == _HUMAN, _nodes.c.author.not_in(people)
    text = _nodes.c.narrow + _nodes.c.wide > 0, _nodes.c.hidden.is_(None)
    first = select(_nodes.c.author).where(*theirs, *text).distinct().limit(_SEVERAL - len(people))
    return len(people) + len(session.execute(first).all()) >= _SEVERAL


def _below(session: Session, tree: int, positions: Sequence[int]) -> Iterable[NodeRow]:
    statement = (
        select(_nodes)
        .where(
            _nodes.c.tree == tree,
            session.dialect.among(_nodes.c.parent, positions),
            _nodes.c.edge_type == CONTINUATION,
            LIVE,
        )
        .order_by(_nodes.c.parent, _nodes.c.key)
    )
    return (NodeRow._make(row) for row in session.execute(statement))


def _count_links(session: Session, tree: int, keys: Sequence[int]) -> dict[int, int]:
    counts: dict[int, int] = {}
    if not keys:
        return counts
    for side in ("a", "b"):
        key = _links.c[f"{side}_key"]
        statement = (
            select(key.label("node"), func.count().label("number"))
            .where(
                and_(_links.c[f"{side}_tree"] == tree, _links.c[f"{side}_kind"] == _NODE),
                session.dialect.among(key, keys),
                _links.c.removed.is_(None),
            )
            .group_by(key)
        )
        for row in session.execute(statement):
            counts[row.node] = counts.get(row.node, 0) + row.number
    return counts


INLINE = "inlineTokens"


def inline_tokens(agent: Agent) -> int:
    """What the agent says, where that is a number of tokens; else the default."""
    set_to = agent.configuration.custom.get(INLINE)
    return (
        set_to if isinstance(set_to, int) and not isinstance(set_to, bool) and set_to > 0 else INLINE_TOKENS
    )
