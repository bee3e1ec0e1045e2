"""What a store holds of a tree, row by row, and whether it is what the tree on paper says."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Column, Select, Table, bindparam, or_, select
from tests.properties.model import Piece, Thing
from tests.properties.past import Paper

from weft.provenance.chain import NodeFacts, content_hash, event_hash
from weft.runtime.operations.references import KINDS as KINDS_OF_TARGET
from weft.store import schema
from weft.store.base import Store
from weft.store.rows import AGENT_TYPES, EDGE_TYPES, KINDS, ROLES, SOURCE_ROLES, STATUSES, Flag
from weft.tree.agent import Agent
from weft.tree.attempt import RawResponse
from weft.tree.content import as_content, kind_of
from weft.tree.json_names import from_microseconds, iso, to_microseconds
from weft.tree.measure import measure_content
from weft.tree.tree import jump_depth

Dump = dict[str, list[Any]]

_OF_A_TREE = (
    schema.nodes,
    schema.texts,
    schema.sources,
    schema.attachments,
    schema.bodies,
    schema.responses,
    schema.node_responses,
    schema.events,
    schema.cursors,
    schema.selections,
    schema.buffers,
    schema.groups,
    schema.tags,
)
_LASTING = (
    "key",
    "ulid",
    "local_id",
    "position",
    "parent",
    "depth",
    "jump",
    "written_after",
    "edge_type",
    "edited_from",
    "author",
    "author_type",
    "role",
    "kind",
    "status",
    "narrow",
    "wide",
    "ruler",
    "hash",
    "created_at",
)
"""Columns of a node that nothing may ever change."""


def _rows(table: Table, *keys: Column[Any]) -> Select[Any]:
    """Built once: most of what a small query costs is its making."""
    mine = [key == bindparam(name) for key in keys for name in ("one", "other")]
    return select(table).where(or_(*mine)).order_by(*table.primary_key.columns)


_DUMP = {
    **{table.name: _rows(table, table.c.tree) for table in _OF_A_TREE},
    "links": _rows(schema.links, schema.links.c.a_tree, schema.links.c.b_tree),
    "trees": _rows(schema.trees, schema.trees.c.key),
    "grove": select(schema.grove),
}


def dump(store: Store, one: int, other: int) -> Dump:
    """Every row that belongs to two trees, and the grove's own."""
    keys = {"one": one, "other": other}
    with store.read() as session:
        return {name: list(session.execute(rows, keys).all()) for name, rows in _DUMP.items()}


def rows_left(store: Store, tree: int) -> list[str]:
    """The tables that still hold something of a tree."""
    links = schema.links
    with store.read() as session:
        tables = [table for table in schema.metadata.sorted_tables if "tree" in table.c]
        statements = {table.name: select(table).where(table.c.tree == tree).limit(1) for table in tables}
        statements["links"] = (
            select(links).where(or_(links.c.a_tree == tree, links.c.b_tree == tree)).limit(1)
        )
        return [name for name, statement in statements.items() if session.execute(statement).first()]


def without_chains(rows: Dump) -> Dump:
    """The same without what every operation moves: events, heads and times of change."""
    moving = {"events", "head", "updated_at"}
    changed = {
        name: [tuple(v for k, v in row._mapping.items() if k not in moving) for row in listed]
        for name, listed in rows.items()
        if name != "events"
    }
    changed["cursors"] = [(row.tree, row.agent, row.node) for row in rows["cursors"]]
    return changed


def count_events(rows: Dump) -> int:
    return sum(row.events for row in (*rows["trees"], *rows["grove"]))


@dataclass
class Ledger:
    """The tree on paper and the tree in the store, side by side."""

    tree: int
    tree_id: str
    agents: dict[str, Agent]
    agent_keys: dict[str, int]
    keys: list[int] = field(default_factory=list[int])
    ids: list[str] = field(default_factory=list[str])
    """By number."""
    hashed: int = 0
    lasting: dict[int, tuple[Any, ...]] = field(default_factory=dict[int, tuple[Any, ...]])
    chained: int = 0
    head: bytes | None = None

    def adopt(self, paper: Paper, rows: Dump) -> None:
        """Learn the ids of new nodes: in the order they were written."""
        new = [row for row in rows["nodes"] if row.tree == self.tree][len(self.keys) :]
        assert len(self.keys) + len(new) == len(paper.pieces), "as many nodes as on paper"
        for row in new:
            piece = paper.pieces[len(self.keys)]
            assert row.local_id == paper.name_for(piece, row.ulid[10:].lower())
            paper.names[piece.number] = row.local_id
            self.keys.append(row.key)
            self.ids.append(row.ulid)

    def check(self, paper: Paper, rows: Dump) -> None:
        mine = {
            name: [row for row in listed if "tree" not in row._mapping or row.tree == self.tree]
            for name, listed in rows.items()
        }
        nodes = {row.key: row for row in mine["nodes"]}
        self._check_places(paper, nodes)
        self._check_lasting(nodes)
        self._check_marks(paper, nodes)
        self._check_sources(paper, mine, nodes)
        self._check_attachments(paper, mine)
        self._check_responses(paper, mine)
        self._check_hashes(paper, mine, nodes)
        self._check_agents(paper, mine)
        self._check_tree(paper, mine)
        self._check_chain(mine)

    def key(self, number: int | None) -> int | None:
        return None if number is None else self.keys[number]

    def _check_places(self, paper: Paper, nodes: dict[int, Any]) -> None:
        assert [row.key for row in nodes.values() if row.parent is None and row.position == row.key] == [
            self.keys[0]
        ], "one root"
        rulers: dict[int, int] = {}
        near = list(paper.with_things()), list(paper.with_instructions())
        for piece in paper.pieces:
            row = nodes[self.keys[piece.number]]
            above = paper.places_to(piece.place)
            depth = len(above) - 1
            if piece.number == piece.place:
                size = measure_content(as_content(piece.words.content))
                rulers[piece.place] = size.tokens + (rulers[above[-2]] if depth else 0)
            assert row.position == self.keys[piece.place]
            assert row.parent == (self.keys[above[-2]] if depth else None)
            assert row.depth == depth
            assert row.jump == self.keys[above[jump_depth(depth)]]
            assert row.ruler == rulers[piece.place]
            assert row.near_attachments == self.key(paper.nearest(piece.place, near[0]))
            assert row.near_instruction == self.key(paper.nearest(piece.place, near[1]))

    def _check_lasting(self, nodes: dict[int, Any]) -> None:
        for key, row in nodes.items():
            values = tuple(getattr(row, name) for name in _LASTING)
            assert self.lasting.setdefault(key, values) == values, "a node never changes"

    def _check_marks(self, paper: Paper, nodes: dict[int, Any]) -> None:
        prunes: dict[int | None, int | None] = {None: None}
        for piece in paper.pieces:
            row = nodes[self.keys[piece.number]]
            assert row.ulid == self.ids[piece.number]
            assert EDGE_TYPES[row.edge_type] == piece.edge
            assert row.edited_from == self.key(piece.edited_from)
            assert row.author == self.agent_keys[piece.author.name]
            assert AGENT_TYPES[row.author_type] == piece.author.type
            assert ROLES[row.role] == piece.role
            assert STATUSES[row.status] == piece.status
            assert KINDS[row.kind] == kind_of(as_content(piece.words.content))
            assert bool(row.flags & Flag.EXCLUDED) == piece.excluded
            assert bool(row.flags & Flag.BOOKMARKED) == piece.bookmarked
            assert row.bookmark_label == piece.label
            assert (row.hidden is not None) == piece.hidden
            assert prunes.setdefault(piece.pruned, row.pruned) == row.pruned, "one prune, one number"
        assert len(set(prunes.values())) == len(prunes), "two prunes, two numbers"

    def _check_sources(self, paper: Paper, mine: Dump, nodes: dict[int, Any]) -> None:
        written = [
            (self.keys[piece.number], ordinal, self.keys[source], SOURCE_ROLES.index(_role(role)))
            for piece in paper.pieces
            if len(piece.sources) > 1
            for ordinal, (source, role) in enumerate(piece.sources)
        ]
        assert [(r.target, r.ordinal, r.source, r.role) for r in mine["sources"]] == written
        for piece in paper.pieces:
            row = nodes[self.keys[piece.number]]
            assert (row.written_after or row.parent) == self.key(piece.parent)
            assert all(source < piece.number for source, _ in piece.sources), "no cycles"

    def _check_attachments(self, paper: Paper, mine: Dump) -> None:
        hanging: dict[int, list[tuple[str, str, bool, bytes]]] = {}
        for row in mine["attachments"]:
            if row.detached_by is None:
                hanging.setdefault(row.node, []).append((row.id, row.type, row.recoverable, row.sha256))
        assert hanging == {
            self.keys[piece.number]: [
                (thing.id, thing.type, thing.recoverable, _sha256(thing)) for thing in piece.things
            ]
            for piece in paper.pieces
            if piece.things
        }

    def _check_responses(self, paper: Paper, mine: Dump) -> None:
        kept = {row.key: row for row in mine["responses"]}
        found = {row.node: kept[row.response] for row in mine["node_responses"]}
        given = {self.keys[p.number]: p.response for p in paper.pieces if p.response is not None}
        assert found.keys() == given.keys()
        for key, response in given.items():
            assert isinstance(response, RawResponse)
            row = found[key]
            assert row.sha256 == hashlib.sha256(response.body).digest()
            assert (row.provider, row.model, row.request_id, row.status_code) == (
                response.provider,
                response.model,
                response.request_id,
                response.status_code,
            )
            assert row.requested_at == (response.requested_at and to_microseconds(response.requested_at))
            assert (row.prompt_tokens, row.completion_tokens) == (
                response.usage.prompt,
                response.usage.completion,
            )
        assert len(kept) == len({row.key for row in found.values()}), "no response without its node"
        calls = [response for response in given.values() if isinstance(response, RawResponse)]
        shared = {response.attempt for response in calls} - {None}
        alone = sum(response.attempt is None for response in calls)
        assert len(kept) == alone + len(shared), "one response for each call"

    def _check_hashes(self, paper: Paper, mine: Dump, nodes: dict[int, Any]) -> None:
        """Each hash from what the paper says; what was hashed once cannot change."""
        texts = {row.node: row for row in mine["texts"]}
        for piece in paper.pieces[self.hashed :]:
            row = nodes[self.keys[piece.number]]
            assert texts[row.key].summary is None
            assert row.hash == content_hash(self._facts(piece, row, nodes))
        self.hashed = len(paper.pieces)
        assert texts.keys() == nodes.keys()

    def _facts(self, piece: Piece, row: Any, nodes: dict[int, Any]) -> NodeFacts:
        response = piece.response
        return NodeFacts(
            tree_id=self.tree_id,
            node_id=row.ulid,
            content=as_content(piece.words.content),
            role=piece.role,
            status=piece.status,
            edge_type=piece.edge if piece.sources else None,
            sources=[(self.ids[n], role, nodes[self.keys[n]].hash.hex()) for n, role in piece.sources],
            edited_from=None if piece.edited_from is None else self.ids[piece.edited_from],
            attachments=[(thing.id, _sha256(thing).hex()) for thing in piece.born_with],
            created_at=iso(from_microseconds(row.created_at)),
            author_id=self.agents[piece.author.name].id,
            response_sha256=hashlib.sha256(response.body).hexdigest()
            if isinstance(response, RawResponse)
            else None,
        )

    def _check_agents(self, paper: Paper, mine: Dump) -> None:
        names = {key: name for name, key in self.agent_keys.items()}
        stands = {names[row.agent]: row.node for row in mine["cursors"]}
        assert stands == {name: self.keys[number] for name, number in paper.stands.items()}
        chosen: dict[str, dict[int, int]] = {}
        for row in mine["selections"]:
            chosen.setdefault(names[row.agent], {})[row.position] = row.node
        assert chosen == {
            name: {self.keys[place]: self.keys[version] for place, version in made.items()}
            for name, made in paper.chosen.items()
        }
        assert {names[row.agent]: row.text for row in mine["buffers"]} == paper.typed

    def _check_tree(self, paper: Paper, mine: Dump) -> None:
        row = next(row for row in mine["trees"] if row.key == self.tree)
        assert (row.nodes, row.branches, row.depth) == paper.counters(), "counters are true"
        assert (row.root, row.root_ulid) == (self.keys[0], self.ids[0])
        assert (row.archived_at is not None) == bool(paper.archived)
        for name, value in paper.about.items():
            assert getattr(row, name) == value
        # Who describes nothing gets words of the range, which are not on the paper.
        folds = {
            row.name: (row.first, row.last, row.description, row.expanded)
            if row.name in paper.folds and paper.folds[row.name].description
            else (row.first, row.last, "", row.expanded)
            for row in mine["groups"]
        }
        assert folds == {
            name: (self.keys[fold.first], self.keys[fold.last], fold.description, fold.expanded)
            for name, fold in paper.folds.items()
        }

        tags = [row for row in mine["tags"] if row.removed is None]
        assert sorted(
            (row.target, row.label) for row in tags if KINDS_OF_TARGET[row.kind] == "node"
        ) == sorted((self.keys[end[1]], label) for end, label in paper.tags if end[0] == "node")
        assert len(tags) == len(paper.tags)
        assert sorted(row.note for row in mine["links"] if row.removed is None) == sorted(
            paper.links.values()
        )

    def _check_chain(self, mine: Dump) -> None:
        """Every event follows from the one before; none is missing."""
        row = next(row for row in mine["trees"] if row.key == self.tree)
        agents = {self.agent_keys[name]: agent.id for name, agent in self.agents.items()}
        self.chained, self.head = follow_chain(mine["events"], self.tree_id, agents, self.chained, self.head)
        assert (row.events, row.head) == (self.chained, self.head)


def follow_chain(
    events: Sequence[Any], chain: str, agents: dict[int, str], ordinal: int, head: bytes | None
) -> tuple[int, bytes | None]:
    """Recompute the events after `ordinal`, whose hash is `head`; how far that leads."""
    for row in events:
        if row.ordinal <= ordinal:
            continue
        ordinal += 1
        assert row.ordinal == ordinal, "no gaps"
        assert row.previous == head
        head = event_hash(
            previous=head,
            tree=chain,
            ordinal=ordinal,
            kind=row.kind,
            agent_id=agents[row.agent],
            created_at=iso(from_microseconds(row.created_at)),
            payload=json.loads(row.payload),
            inverse=json.loads(row.inverse),
        )
        assert row.hash == head
    return ordinal, head


def _sha256(thing: Thing) -> bytes:
    return hashlib.sha256(thing.content.encode()).digest()


def _role(role: str) -> Any:
    return next(known for known in SOURCE_ROLES if known == role)
