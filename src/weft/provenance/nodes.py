"""Check one node against its hash, its place and its names."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Protocol

from weft.errors import WeftError
from weft.ids import LOCAL_ID_LENGTH, PRIME, base_of, local_id_candidates, sayable_ids
from weft.provenance.chain import NodeFacts, content_hash
from weft.provenance.damaged_rows import fetch, stamp_of
from weft.provenance.findings import Findings
from weft.provenance.node_columns import NodeSummary
from weft.store import schema
from weft.store.rows import (
    AGENT_TYPES,
    EDGE_TYPES,
    KINDS,
    ROLES,
    SOURCE_ROLES,
    STATUSES,
    Flag,
    NodeRow,
    dump_content,
    load_content,
)
from weft.store.session import Session
from weft.tree.content import Content, is_blank, kind_of
from weft.tree.edge import EdgeType, SourceRole
from weft.tree.measure import default_tokens, measure_content
from weft.tree.node import Role
from weft.tree.tree import jump_depth

CONTINUATION = EDGE_TYPES.index(EdgeType.CONTINUATION)


class Lookup(Protocol):
    """Where the light values of other nodes are found."""

    def light(self, key: int) -> NodeSummary | None: ...


@dataclass(frozen=True, slots=True)
class AgentTable:
    """Agents by key: their ULIDs and types."""

    ulids: dict[int, str]
    types: dict[int, int]


@dataclass(slots=True)
class AttachedRows:
    """Rows of other tables that belong to some nodes."""

    texts: dict[int, str] = field(default_factory=dict[int, str])
    summaries: dict[int, str] = field(default_factory=dict[int, str])
    sources: dict[int, list[Any]] = field(default_factory=dict[int, "list[Any]"])
    items: dict[int, list[Any]] = field(default_factory=dict[int, "list[Any]"])
    citations: dict[int, list[Any]] = field(default_factory=dict[int, "list[Any]"])
    choices: dict[int, Any] = field(default_factory=dict[int, Any])
    responses: dict[int, Any] = field(default_factory=dict[int, Any])


def attached_rows(session: Session, findings: Findings, tree: int, keys: Sequence[int]) -> AttachedRows:
    """All of it for a run of keys, in six queries."""
    attached = AttachedRows()
    low, high = min(keys), max(keys)
    dense = high - low < 4 * len(keys)

    def of(table: Any, column: Any) -> list[Any]:
        some = column.between(low, high) if dense else session.dialect.among(column, list(keys))
        return fetch(session, findings, table, table.c.tree == tree, some)

    for row in of(schema.texts, schema.texts.c.node):
        attached.texts[row.node] = row.content
        if row.summary is not None:
            attached.summaries[row.node] = row.summary
    for row in of(schema.sources, schema.sources.c.target):
        attached.sources.setdefault(row.target, []).append(row)
    for row in of(schema.attachments, schema.attachments.c.node):
        attached.items.setdefault(row.node, []).append(row)
    for row in of(schema.citations, schema.citations.c.node):
        attached.citations.setdefault(row.node, []).append(row)
    for row in of(schema.node_responses, schema.node_responses.c.node):
        attached.choices[row.node] = row
    wanted = sorted({row.response for row in attached.choices.values()})
    if wanted:
        table = schema.responses
        chosen = session.dialect.among(table.c.key, wanted)
        attached.responses = {
            row.key: row for row in fetch(session, findings, table, table.c.tree == tree, chosen)
        }
    return attached


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a node is compared with: its tree, other nodes, agents."""

    tree_ulid: str
    lookup: Lookup
    agents: AgentTable
    late: Collection[int] = ()
    """Positions where an item was attached after the node was created."""


def check_node(findings: Findings, row: NodeRow, mine: AttachedRows, around: Surroundings) -> Content | None:
    """Check what follows from the node and its neighbours alone; return its content if that can be read."""
    lookup, agents = around.lookup, around.agents
    findings.nodes += 1
    content = _content(findings, row, mine)
    _check_enumerations(findings, row, agents)
    _check_flags(findings, row, mine)
    if content is not None:
        size = measure_content(content)
        findings.compare("node", row.ulid, "narrow characters", row.narrow, size.narrow)
        findings.compare("node", row.ulid, "wide characters", row.wide, size.wide)
        if row.flags & Flag.BLANK and not is_blank(content):
            findings.differs_in("node", row.ulid, "flag for white space", row.flags)
        facts = facts_of(findings, row, mine, around, content)
        if facts is not None:
            findings.compare("node", row.ulid, "hash", row.hash.hex(), content_hash(facts).hex())
    _check_parent(findings, row, mine, lookup)
    _check_place(findings, row, mine, around, content)
    _check_local_id(findings, row, lookup)
    return content


def _content(findings: Findings, row: NodeRow, mine: AttachedRows) -> Content | None:
    stored = mine.texts.get(row.key)
    if stored is None:
        findings.missing("node", row.ulid, "content")
        return None
    if not 0 <= row.kind < len(KINDS):
        findings.differs_in("node", row.ulid, "kind", row.kind)
        return None
    try:
        content = load_content(row.kind, stored)
        if dump_content(content) != stored:
            findings.differs_in("node", row.ulid, "content", "JSON that Weft did not write")
        findings.compare("node", row.ulid, "kind", KINDS[row.kind], kind_of(content))
    except (WeftError, json.JSONDecodeError, RecursionError, ValueError, TypeError, KeyError):
        findings.differs_in("node", row.ulid, "content", f"no {KINDS[row.kind]} that can be read")
        return None
    return content


def _check_enumerations(findings: Findings, row: NodeRow, agents: AgentTable) -> None:
    for name, value, known in (
        ("role", row.role, ROLES),
        ("status", row.status, STATUSES),
        ("edge type", row.edge_type, EDGE_TYPES),
        ("author type", row.author_type, AGENT_TYPES),
    ):
        if not 0 <= value < len(known):
            findings.differs_in("node", row.ulid, name, value)
    if row.author not in agents.ulids:
        findings.missing("node", row.ulid, "its author")
    else:
        findings.compare("node", row.ulid, "author type", row.author_type, agents.types.get(row.author))


def _check_flags(findings: Findings, row: NodeRow, mine: AttachedRows) -> None:
    for name, flag, there in (
        ("sources", Flag.HAS_SOURCES, row.key in mine.sources),
        ("attachments", Flag.HAS_ATTACHMENTS, row.key in mine.items),
        ("response", Flag.HAS_RESPONSE, row.key in mine.choices),
        ("citations", Flag.HAS_CITATIONS, row.key in mine.citations),
    ):
        if bool(row.flags & flag) != there:
            findings.differs_in("node", row.ulid, f"flag for {name}", row.flags)


def _source_keys(row: NodeRow, mine: AttachedRows) -> list[tuple[int, int]]:
    listed = mine.sources.get(row.key)
    if listed:
        return [(int(source.source), int(source.role)) for source in listed]
    parent = row.parent_node
    return [] if parent is None else [(parent, SOURCE_ROLES.index(SourceRole.PRIMARY))]


def facts_of(
    findings: Findings, row: NodeRow, mine: AttachedRows, around: Surroundings, content: Content
) -> NodeFacts | None:
    """The values that the node's hash covers, as stored now; None where some of them cannot be read."""
    lookup = around.lookup
    sources: list[tuple[str, str, str]] = []
    complete = True
    listed = mine.sources.get(row.key, ())
    if [source.ordinal for source in listed] != list(range(len(listed))):
        findings.differs_in("node", row.ulid, "order of its sources")
    for key, role in _source_keys(row, mine):
        source = lookup.light(key)
        if source is None or not 0 <= role < len(SOURCE_ROLES):
            findings.missing("node", row.ulid, f"source {key}")
            complete = False
        else:
            sources.append((source.ulid, SOURCE_ROLES[role].value, source.hash.hex()))
    original = None if row.edited_from is None else lookup.light(row.edited_from)
    if row.edited_from is not None and original is None:
        findings.missing("node", row.ulid, "the node it was edited from")
        complete = False
    response = None
    choice = mine.choices.get(row.key)
    if choice is not None:
        stored = mine.responses.get(choice.response)
        if stored is None:
            findings.missing("node", row.ulid, "raw response")
            complete = False
        else:
            response = stored.sha256.hex()
    stamp = stamp_of(row.created_at)
    if stamp is None:
        findings.differs_in("node", row.ulid, "created at", row.created_at)
    readable = 0 <= row.role < len(ROLES) and 0 <= row.status < len(STATUSES)
    if not complete or stamp is None or not readable or not 0 <= row.edge_type < len(EDGE_TYPES):
        return None
    return NodeFacts(
        tree_id=around.tree_ulid,
        node_id=row.ulid,
        content=content,
        role=ROLES[row.role],
        status=STATUSES[row.status],
        edge_type=None if row.parent is None else EDGE_TYPES[row.edge_type],
        sources=sources,
        edited_from=None if original is None else original.ulid,
        attachments=[
            (item.id, item.sha256.hex()) for item in mine.items.get(row.key, ()) if item.attached_by is None
        ],
        created_at=stamp,
        author_id=around.agents.ulids.get(row.author, ""),
        response_sha256=response,
    )


def _check_parent(findings: Findings, row: NodeRow, mine: AttachedRows, lookup: Lookup) -> None:
    """The parent is the position of the first primary source."""
    primary = SOURCE_ROLES.index(SourceRole.PRIMARY)
    first = next((key for key, role in _source_keys(row, mine) if role == primary), None)
    source = None if first is None else lookup.light(first)
    expected = None if source is None else source.position
    findings.compare("node", row.ulid, "parent", row.parent, expected)
    after = None if source is None or source.key == source.position else source.key
    findings.compare("node", row.ulid, "written after", row.written_after, after)
    if row.parent is None:
        findings.compare("node", row.ulid, "edge type", row.edge_type, CONTINUATION)


def _check_place(
    findings: Findings, row: NodeRow, mine: AttachedRows, around: Surroundings, content: Content | None
) -> None:
    lookup = around.lookup
    if row.position != row.key:
        _check_version(findings, row, lookup)
        return
    parent = None if row.parent is None else lookup.light(row.parent)
    tokens = default_tokens(row.narrow, row.wide) if content is None else measure_content(content).tokens
    instruction = SOURCE_ROLES.index(SourceRole.INSTRUCTION)
    instructs = row.role == ROLES.index(Role.SYSTEM) or any(
        role == instruction for _, role in _source_keys(row, mine)
    )
    has_items = row.key in around.late or any(
        item.attached_by is None for item in mine.items.get(row.key, ())
    )
    computed: dict[str, int | None] = {
        "near_instruction": row.key if instructs else parent and parent.near_instruction,
        "near_attachments": row.key if has_items else parent and parent.near_attachments,
    }
    if row.parent is None:
        computed |= {"depth": 0, "jump": row.key, "ruler": tokens}
    elif parent is None:
        findings.missing("node", row.ulid, "parent")
        return
    else:
        jump = parent.position
        if jump_depth(parent.depth + 1) != parent.depth:
            far = lookup.light(parent.jump)
            jump = row.jump if far is None else far.jump
        computed |= {"depth": parent.depth + 1, "jump": jump, "ruler": parent.ruler + tokens}
    for name, value in computed.items():
        findings.compare("node", row.ulid, name.replace("_", " "), getattr(row, name), value)


def _check_version(findings: Findings, row: NodeRow, lookup: Lookup) -> None:
    """Versions share the place of the first node at their position."""
    first = lookup.light(row.position)
    original = None if row.edited_from is None else lookup.light(row.edited_from)
    expected = row.key if original is None else original.position
    if first is None or first.position != first.key or row.position != expected:
        findings.differs_in("node", row.ulid, "position", row.position, expected)
        return
    for name in ("parent", "depth", "jump", "ruler", "near_attachments", "near_instruction"):
        findings.compare("node", row.ulid, name.replace("_", " "), getattr(row, name), getattr(first, name))


def _check_local_id(findings: Findings, row: NodeRow, lookup: Lookup) -> None:
    original = None if row.edited_from is None else lookup.light(row.edited_from)
    if original is not None:
        base = base_of(original.local_id)
        primes = len(row.local_id) - len(base)
        spelled = primes > 0 and row.local_id == base + PRIME * primes
    else:
        spelled = row.edited_from is not None or row.local_id in local_id_candidates(row.ulid)
    if not spelled:
        findings.differs_in("node", row.ulid, "local id", row.local_id)


def names_to_find(row: NodeRow) -> str | None:
    """The shorter local id that must be in use where this one is longer than the shortest."""
    if row.edited_from is not None:
        return row.local_id[:-1] if row.local_id.endswith(PRIME) else None
    # One that is a word is passed over, so no node need have it.
    shorter = takewhile(lambda name: len(name) < len(row.local_id), sayable_ids(row.ulid))
    return max(shorter, key=len, default=None) if len(row.local_id) > LOCAL_ID_LENGTH else None
