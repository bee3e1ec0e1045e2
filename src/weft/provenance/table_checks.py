"""Rows of every table beside the nodes, compared with the fingerprints that events hold of them.

Of a tree: bodies, responses, attempts, envelopes, links, tags, collapsed ranges, typed text and what agents
remember. Of the grove: agents, vaults, documents, projects, records, users, roles and tokens.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Table, and_, or_, select

from weft.context.stored_envelope import named_snapshots
from weft.errors import InvalidInputError, LimitExceededError
from weft.provenance.damaged_rows import fetch, paged, text_of, values_of
from weft.provenance.findings import Findings
from weft.provenance.fingerprints import (
    DOCUMENT,
    PROJECT,
    SEAL,
    Fingerprint,
    agent_fingerprint,
    attempt_fingerprint,
    envelope_fingerprint,
    group_fingerprint,
    link_fingerprint,
    memory_fingerprint,
    record_fingerprint,
    response_fingerprint,
    role_fingerprint,
    summary_fingerprint,
    tag_fingerprint,
    token_fingerprint,
    tool_result_fingerprint,
    trace_seal,
    typing_fingerprint,
    user_fingerprint,
    vault_fingerprint,
)
from weft.provenance.nodes import AgentTable
from weft.provenance.replay import Chain
from weft.store import schema
from weft.store.memory import TRACE
from weft.store.packed_bodies import PackingError, unpack
from weft.store.session import Session
from weft.store.transaction import GROVE

_FEW = 16
_TREE, _NODE, _DOCUMENT = 1, 0, 2
"""What links and tags point at, as the database numbers it."""
_COVERED: dict[str, tuple[str, str]] = {
    "agent": ("agent", "name, type, model, configuration, permissions or times"),
    "attempt": ("attempt", "agent, parent, outcome, request, manifest or times"),
    "choice": ("response", "choice"),
    "citations": ("citation", "number, source or place"),
    "document": ("document", "title, revision or times"),
    "envelope": ("envelope", "agent, provider, record, tokens or time"),
    "group": ("folded range", "name, description, ends or state"),
    "grove": ("grove", "owner, preferences or creation"),
    "item": ("attachment", "id, type or body"),
    "items": ("attachment", "ids, types or order"),
    "link": ("link", "ends, note, author or times"),
    "memory": ("memory", "kind, label, body or times"),
    "project": ("project", "name, prompt, context, revision or times"),
    "projectRevision": ("project", "name, prompt, context, author or time"),
    "record": ("record", "place, id, time or document"),
    "response": ("response", "provider, model, request id, times or usage"),
    "revision": ("document", "title, content, author or time"),
    "tag": ("tag", "label or times"),
    "timestamp": ("timestamp", "target, digest, authority, token or certificates"),
    "token": ("token", "user, hash, label, kind or times"),
    "toolResult": ("tool result", "turn, agent, tool, arguments, text or time"),
    "typing": ("typing", "text"),
    "user": ("user", "name, agent or times"),
    "vault": ("vault", "name, folder or times"),
}
"""What a finding calls the rows of each kind of fingerprint, and what may differ in them."""


@dataclass(slots=True)
class Inspection:
    """The rows of one chain under inspection: a tree's, or the grove's own."""

    session: Session
    findings: Findings
    tree: int
    chain: Chain
    agents: AgentTable
    names: Callable[[int], str] = str
    """The ULID of a node of the tree, or its key where there is none."""

    def agent(self, key: int) -> str:
        return self.agents.ulids.get(key, str(key))

    def compare(
        self, name: str, fingerprint: Fingerprint, kind: str | None = None, value: str | None = None
    ) -> None:
        """Compare a row's fingerprint with the last one that an event gave it."""
        known = _COVERED.get(fingerprint.name.partition(":")[0], ("", ""))
        kind, value = kind or known[0], value or known[1]
        if fingerprint.name not in self.chain.fingerprints:
            self.findings.differs_in(kind, name, value, "no event records it")
            return
        self.chain.compared.add(fingerprint.name)
        recorded = self.chain.fingerprints[fingerprint.name]
        if recorded is None or fingerprint.digest is None or bytes.fromhex(fingerprint.digest) != recorded:
            shown = "nothing" if recorded is None else recorded.hex()
            self.findings.differs_in(kind, name, value, fingerprint.digest, shown)

    def fetch(self, table: Table, *where: ColumnElement[bool]) -> list[Any]:
        """The readable rows of a table that match."""
        return fetch(self.session, self.findings, table, *where)

    def of_tree(self, table: Table, key: str, size: int | None = None) -> Iterator[Any]:
        """The readable rows of a table that belong to this tree, in batches by a key."""
        return paged(self.session, self.findings, table, table.c[key], table.c.tree == self.tree, size=size)


def check_summary(mine: Inspection, kind: str, ulid: str, summary: str | None) -> None:
    """A summary is the last one that an event records; where none does, there is none."""
    fingerprint = summary_fingerprint(ulid, summary)
    if summary is not None or mine.chain.fingerprints.get(fingerprint.name) is not None:
        mine.compare(ulid, fingerprint, kind, "summary")


def report_missing_rows(mine: Inspection) -> None:
    """Report fingerprints without a row, unless what the row belonged to was deleted."""
    for name, recorded in mine.chain.fingerprints.items():
        kind, _, rest = name.partition(":")
        if recorded is None or not rest or name in mine.chain.compared:
            continue
        parts = rest.split(":")
        trees = [each for each in parts[1:] if each != "grove"]
        ends = {"link": parts[1:], "tag": parts[:1], "role": trees}.get(kind, [])
        if all(_exists(mine.session, end) for end in ends):
            mine.findings.missing(kind, parts[0], "the row that an event records")


def _exists(session: Session, ulid: str) -> bool:
    """Whether a tree, document or node has that id."""
    for table in (schema.trees, schema.documents):
        if session.execute(select(table.c.key).where(table.c.ulid == ulid)).first() is not None:
            return True
    trees, nodes = schema.trees, schema.nodes
    anywhere = (
        select(nodes.c.key)
        .select_from(trees)
        .join(nodes, and_(nodes.c.tree == trees.c.key, nodes.c.ulid == ulid))
    )
    return session.execute(anywhere.limit(1)).first() is not None


def check_bodies(mine: Inspection) -> None:
    """Every body has the hash that names it, and every body that a row refers to is there."""
    findings, bodies = mine.findings, schema.bodies
    for row in mine.of_tree(bodies, "sha256", _FEW):
        findings.bodies += 1
        check_packed(findings, "body", row.sha256.hex(), row.gzip, row.sha256)
    for table, column, kind in (
        (schema.attachments, schema.attachments.c.sha256, "attachment"),
        (schema.responses, schema.responses.c.sha256, "response"),
        (schema.requests, schema.requests.c.segment, "request segment"),
        (schema.tool_results, schema.tool_results.c.sha256, "tool result"),
    ):
        there = and_(bodies.c.tree == table.c.tree, bodies.c.sha256 == column)
        here = table.c.tree == mine.tree, bodies.c.tree.is_(None)
        lost = select(column).outerjoin(bodies, there).where(*here)
        for digest in values_of(mine.session, lost.distinct(), bytes):
            findings.missing(kind, digest.hex(), "body")


def check_packed(findings: Findings, kind: str, name: str, packed: bytes, digest: bytes) -> bool:
    """True if the bytes are those that the hash was taken of."""
    try:
        computed = hashlib.sha256(unpack(packed)).digest()
    except (PackingError, LimitExceededError) as error:
        findings.differs_in(kind, name, "gzip", str(error))
        return False
    return findings.compare(kind, name, "sha256", digest.hex(), computed.hex())


def check_calls(mine: Inspection) -> None:
    """Raw responses, and the attempts: each request is rebuilt from its segments, byte for byte."""
    findings, manifests = mine.findings, schema.manifests
    responses: dict[int, str] = {}
    for row in mine.of_tree(schema.responses, "key"):
        responses[row.key] = row.sha256.hex()
        mine.compare(row.sha256.hex(), response_fingerprint(row._asdict()))
    for row in mine.of_tree(schema.attempts, "key"):
        here = manifests.c.tree == mine.tree, manifests.c.attempt == row.key
        manifest = next(iter(mine.fetch(manifests, *here)), None)
        if manifest is not None:
            check_packed(findings, "manifest", row.ulid, manifest.gzip, manifest.sha256)
        _check_request(mine, row)
        response = None if row.response is None else responses.get(row.response, str(row.response))
        digest = None if manifest is None else manifest.sha256
        agent, parent = mine.agent(row.agent), mine.names(row.parent)
        mine.compare(row.ulid, attempt_fingerprint(row._asdict(), agent, parent, response, digest))


def check_tool_results(mine: Inspection) -> None:
    """Results that were put aside; their texts are bodies."""
    for row in mine.of_tree(schema.tool_results, "number"):
        node, agent = mine.names(row.node), mine.agent(row.agent)
        mine.compare(str(row.number), tool_result_fingerprint(row._asdict(), node, agent))


def _check_request(mine: Inspection, attempt: Any) -> None:
    """The SHA-256 of the whole body, from its segments, without holding it in memory."""
    findings, requests = mine.findings, schema.requests
    listed = mine.fetch(requests, requests.c.tree == mine.tree, requests.c.attempt == attempt.key)
    if attempt.request is None and not listed:
        return
    whole = hashlib.sha256()
    for index, row in enumerate(listed):
        findings.compare("request", attempt.ulid, "order of segments", row.ordinal, index)
        packed = _packed(mine, row.segment)
        if packed is None:
            findings.missing("request", attempt.ulid, f"segment {row.segment.hex()}")
            return
        try:
            whole.update(unpack(packed))
        except (PackingError, LimitExceededError):
            return
    stored = "nothing" if attempt.request is None else attempt.request.hex()
    findings.compare("request", attempt.ulid, "sha256 of the body", stored, whole.hexdigest())


def _packed(mine: Inspection, digest: bytes) -> bytes | None:
    bodies = schema.bodies
    body = select(bodies.c.gzip).where(bodies.c.tree == mine.tree, bodies.c.sha256 == digest)
    return next(iter(values_of(mine.session, body, bytes)), None)


def check_labels(mine: Inspection) -> None:
    """Text typed into working buffers, which undo needs, and collapsed ranges."""
    for row in mine.of_tree(schema.typings, "ordinal"):
        mine.compare(f"{mine.chain.ulid}/{row.ordinal}", typing_fingerprint(row._asdict()))
    for row in mine.fetch(schema.groups, schema.groups.c.tree == mine.tree):
        first, last = mine.names(row.first), mine.names(row.last)
        mine.compare(row.ulid, group_fingerprint(row._asdict(), first, last))


def check_references(mine: Inspection) -> None:
    """Links and tags that this chain records: of a tree, or (tree 0) of documents alone."""
    session, tree = mine.session, mine.tree
    links, tags = schema.links, schema.tags
    # A link belongs to the chain of the first of its ends that is a tree.
    own = or_(links.c.a_tree == tree, and_(links.c.a_tree == GROVE, links.c.b_tree == tree))
    alone = and_(links.c.a_tree == GROVE, links.c.b_tree == GROVE)
    for row in mine.fetch(links, own if tree else alone):
        ends = [
            _target(session, row.a_tree, row.a_kind, row.a_key),
            _target(session, row.b_tree, row.b_kind, row.b_key),
        ]
        mine.compare(row.ulid, link_fingerprint(row._asdict(), ends, mine.agent(row.author)))
    for row in mine.fetch(tags, tags.c.tree == tree):
        target = _target(session, row.tree, row.kind, row.target)
        mine.compare(f"{row.label!r} on {target}", tag_fingerprint(row._asdict(), target))


def _target(session: Session, tree: int, kind: int, key: int) -> str:
    """The ULID of what a link or tag points at; its address where nothing is there."""
    table = {_NODE: schema.nodes, _TREE: schema.trees, _DOCUMENT: schema.documents}.get(kind)
    if table is not None and -(2**31) <= key < 2**31:
        chosen = select(table.c.ulid).where(table.c.key == key)
        if kind == _NODE:
            chosen = chosen.where(table.c.tree == tree)
        elif kind == _TREE:
            chosen = chosen.where(table.c.key == tree)
        elif tree != 0:
            return f"{tree}/{kind}/{key}"
        ulid = text_of(session, chosen)
        if ulid is not None:
            return ulid
    return f"{tree}/{kind}/{key}"


def check_entities(mine: Inspection) -> None:
    """Agents, vaults and records; documents and projects with every revision."""
    for row in mine.fetch(schema.agents):
        mine.compare(row.ulid, agent_fingerprint(row._asdict()))
    for row in mine.fetch(schema.vaults):
        mine.compare(row.ulid, vault_fingerprint(row._asdict()))
    for kind in (DOCUMENT, PROJECT):
        for row in mine.fetch(kind.table):
            mine.compare(row.ulid, kind.fingerprint(row._asdict()))
            if "summary" in kind.table.c:
                check_summary(mine, kind.name, row.ulid, row.summary)
            for revision in mine.fetch(kind.revisions, kind.revisions.c[kind.name] == row.key):
                author = mine.agents.ulids.get(revision.author, "")
                fingerprint = kind.revision_fingerprint(row.ulid, revision._asdict(), author)
                mine.compare(f"{row.ulid} revision {revision.revision}", fingerprint)
    for row in paged(mine.session, mine.findings, schema.records, schema.records.c.key):
        mine.compare(row.ulid, record_fingerprint(row._asdict()))


def forget_document(chain: Chain, ulid: str) -> None:
    """Drop the fingerprints of a deleted document."""
    whole = {f"document:{ulid}", f"summary:{ulid}"}
    gone = [name for name in chain.fingerprints if name in whole or name.startswith(f"revision:{ulid}:")]
    for name in gone:
        del chain.fingerprints[name]


def check_users(mine: Inspection) -> None:
    """Users, their roles, and the tokens that let them in."""
    trees, names = schema.trees, dict[int, str]()
    for row in mine.fetch(schema.users):
        names[row.key] = row.ulid
        mine.compare(row.ulid, user_fingerprint(row._asdict(), mine.agent(row.agent)))
    for row in mine.fetch(schema.tokens):
        mine.compare(row.ulid, token_fingerprint(row._asdict(), names.get(row.user, str(row.user))))
    for row in mine.fetch(schema.memberships):
        user, tree = names.get(row.user, str(row.user)), None
        if row.tree != GROVE:
            named = select(trees.c.ulid).where(trees.c.key == row.tree)
            tree = text_of(mine.session, named) or str(row.tree)
        mine.compare(user, role_fingerprint(user, tree, row.role), "role", f"role on {tree or 'the grove'}")


def check_memory(mine: Inspection) -> None:
    """Pins, stashes, recalls and thoughts by their events; actions, runs and results by their own hash."""
    memory = schema.memory
    here = memory.c.tree == mine.tree
    for key in values_of(mine.session, select(memory.c.agent).where(here).distinct(), int):
        agent = mine.agent(key)
        own = here, memory.c.agent == key
        for row in paged(mine.session, mine.findings, memory, memory.c.ordinal, *own):
            if row.kind not in TRACE:
                mine.compare(f"{agent}/{row.ordinal}", memory_fingerprint(row._asdict(), agent))
            elif not _is_sealed(row._asdict(), mine.chain.ulid, agent):
                mine.findings.differs_in("memory", f"{agent}/{row.ordinal}", _COVERED["memory"][1])


def _is_sealed(row: dict[str, object], tree: str, agent: str) -> bool:
    try:
        value = orjson.loads(str(row["body"]))
        written = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
        return written == row["body"] and value[SEAL] == trace_seal(row, tree, agent)
    except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError):
        return False


def check_envelopes(mine: Inspection) -> None:
    """Every envelope is as it was written, and the snapshots that it names are there."""
    findings, envelopes = mine.findings, schema.envelopes
    here = envelopes.c.tree == mine.tree
    places = select(envelopes.c.node).where(here).distinct().order_by(envelopes.c.node)
    for node in values_of(mine.session, places, int):
        for row in mine.fetch(envelopes, here, envelopes.c.node == node):
            ulid = mine.names(row.node)
            name = f"{ulid}/{row.ordinal}"
            mine.compare(name, envelope_fingerprint(row._asdict(), ulid, mine.agent(row.agent)))
            if check_packed(findings, "envelope", name, row.gzip, row.sha256):
                for digest in _missing_snapshots(mine, row.gzip):
                    findings.missing("envelope", name, f"snapshot {digest}")


def _missing_snapshots(mine: Inspection, packed: bytes) -> Iterator[str]:
    try:
        record = json.loads(unpack(packed))
        named = set(named_snapshots(record, lambda name: _snapshot(mine, name) or "[]"))
    except (PackingError, LimitExceededError, InvalidInputError, ValueError):
        # The envelope or the list that cannot be read is a finding already.
        return
    yield from (digest for digest in sorted(named) if _snapshot(mine, digest) is None)


def _snapshot(mine: Inspection, digest: str) -> str | None:
    packed = _packed(mine, bytes.fromhex(digest))
    try:
        return None if packed is None else unpack(packed).decode("utf-8", "surrogatepass")
    except (PackingError, LimitExceededError, UnicodeDecodeError):
        return ""
