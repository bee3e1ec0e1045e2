"""Is a grove sound? Hashes, chains, shape and counters, from the rows alone."""

import gzip
import hashlib
import json
import sqlite3
from collections import defaultdict
from typing import Any

import weft
from weft.provenance.chain import NodeFacts, content_hash, event_hash
from weft.store import schema
from weft.store.rows import EDGE_TYPES, ROLES, SOURCE_ROLES, STATUSES, Flag, load_content
from weft.tree.edge import EdgeType
from weft.tree.json_names import from_microseconds, iso
from weft.tree.tree import jump_depth

CONTINUATION = EDGE_TYPES.index(EdgeType.CONTINUATION)


def check_sound(grove: weft.Grove) -> None:
    """Raise AssertionError at the first thing that does not hold."""
    with grove.caller.executor.store.read() as session:
        rows: dict[str, list[Any]] = {
            table.name: list(session.execute(table.select())) for table in schema.metadata.sorted_tables
        }
    agents = {row.key: row.ulid for row in rows["agents"]}
    by_tree: dict[str, dict[int, list[Any]]] = {name: defaultdict(list) for name in rows}
    for name, listed in rows.items():
        for row in listed:
            if "tree" in row._mapping:
                by_tree[name][row.tree].append(row)
    for tree in rows["trees"]:
        mine = {name: listed[tree.key] for name, listed in by_tree.items()}
        _check_shape(tree, mine["nodes"])
        _check_hashes(tree, mine, agents)
        _check_chain(tree, mine["events"], agents)
    (own,) = rows["grove"]
    _check_chain(own, by_tree["events"][0], agents)
    # The product's own word for it, which looks at more.
    assert [str(finding) for finding in grove.verify().findings] == []


def check_file(path: str) -> None:
    connection = sqlite3.connect(path)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    finally:
        connection.close()


def _check_shape(tree: Any, nodes: list[Any]) -> None:
    by_key = {row.key: row for row in nodes}
    roots = [row for row in nodes if row.parent is None and row.key == row.position]
    assert [row.key for row in roots] == [tree.root]
    parents: set[int] = set()
    live = [row for row in nodes if row.pruned is None and row.hidden is None]
    places = {row.position: row for row in live if row.edge_type == CONTINUATION}
    for row in nodes:
        if row.parent is not None:
            above = by_key[row.parent]
            assert above.key == above.position
            assert row.depth == above.depth + 1
            assert by_key[row.jump].depth == jump_depth(row.depth)
        if row.position in places and row.edge_type == CONTINUATION and row.parent in places:
            parents.add(row.parent)
    assert (tree.nodes, tree.branches, tree.depth) == (
        len(live),
        len(places) - len(parents),
        max((row.depth for row in places.values()), default=0),
    )


def _check_hashes(tree: Any, mine: dict[str, list[Any]], agents: dict[int, str]) -> None:
    nodes = {row.key: row for row in mine["nodes"]}
    texts = {row.node: row.content for row in mine["texts"]}
    sources: dict[int, list[Any]] = defaultdict(list)
    for row in sorted(mine["sources"], key=lambda row: row.ordinal):
        sources[row.target].append((row.source, SOURCE_ROLES[row.role]))
    items: dict[int, list[Any]] = defaultdict(list)
    for row in sorted(mine["attachments"], key=lambda row: row.ordinal):
        if row.attached_by is None:
            items[row.node].append((row.id, row.sha256.hex()))
    bodies = {row.sha256: gzip.decompress(row.gzip) for row in mine["bodies"]}
    for digest, body in bodies.items():
        assert hashlib.sha256(body).digest() == digest
    responses = {row.key: row.sha256 for row in mine["responses"]}
    answered = {row.node: responses[row.response] for row in mine["node_responses"]}
    assert set(texts) == set(nodes)
    for row in nodes.values():
        parent = row.written_after or row.parent
        listed = sources.get(row.key) or ([] if parent is None else [(parent, SOURCE_ROLES[0])])
        assert bool(row.flags & Flag.HAS_RESPONSE) == (row.key in answered)
        facts = NodeFacts(
            tree_id=tree.ulid,
            node_id=row.ulid,
            content=load_content(row.kind, texts[row.key]),
            role=ROLES[row.role],
            status=STATUSES[row.status],
            edge_type=None if row.parent is None else EDGE_TYPES[row.edge_type],
            sources=[(nodes[key].ulid, role.value, nodes[key].hash.hex()) for key, role in listed],
            edited_from=None if row.edited_from is None else nodes[row.edited_from].ulid,
            attachments=items[row.key],
            created_at=iso(from_microseconds(row.created_at)),
            author_id=agents[row.author],
            response_sha256=answered[row.key].hex() if row.key in answered else None,
        )
        assert content_hash(facts) == row.hash, row.local_id


def _check_chain(chain: Any, events: list[Any], agents: dict[int, str]) -> None:
    ordered = sorted(events, key=lambda event: event.ordinal)
    assert [event.ordinal for event in ordered] == list(range(1, chain.events + 1))
    head = None
    for event in ordered:
        assert event.previous == head
        head = event_hash(
            previous=head,
            tree=chain.ulid,
            ordinal=event.ordinal,
            kind=event.kind,
            agent_id=agents[event.agent],
            created_at=iso(from_microseconds(event.created_at)),
            payload=json.loads(event.payload),
            inverse=json.loads(event.inverse),
        )
        assert event.hash == head
    assert chain.head == head
