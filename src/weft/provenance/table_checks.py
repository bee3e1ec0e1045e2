"""Rows of every table beside the nodes, compared with the fingerprints that events hold of them.

Of a tree: bodies, responses, attempts, envelopes, links, tags, collapsed ranges, typed text and what agents
remember. Of the grove: documents, projects, records, users, roles and tokens.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import and_, select

from weft.context.layers.stored import named_snapshots
from weft.errors import InvalidInputError, LimitExceededError
from weft.provenance.damaged_rows import fetch, pages, text_of, values_of
from weft.provenance.fingerprints import (
    DOCUMENT,
    PROJECT,
    SEAL,
    Fingerprint,
    RevisedKind,
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
    trace_seal,
    typing_fingerprint,
    user_fingerprint,
)
from weft.provenance.nodes import AgentTable
from weft.provenance.replay import Chain
from weft.provenance.report import Findings
from weft.store import schema
from weft.store.bodies import PackingError, unpack
from weft.store.memory import TRACE
from weft.store.session import Session
from weft.store.transaction import GROVE

_FEW = 16
_TREE, _NODE, _DOCUMENT = 1, 0, 2
"""What links and tags point at, as the database numbers it."""


@dataclass(slots=True)
class Inspection:
    """The rows of one chain under inspection: a tree's, or the grove's own."""

    session: Session
    findings: Findings
    tree: int
    chain: Chain
    agents: AgentTable


def compare_fingerprint(
    inspection: Inspection, kind: str, name: str, value: str, fingerprint: Fingerprint
) -> None:
    """Compare a row's fingerprint with the last one an event gave it."""
    findings, chain = inspection.findings, inspection.chain
    if fingerprint.name not in chain.fingerprints:
        findings.differs_in(kind, name, value, "no event records it")
        return
    chain.compared.add(fingerprint.name)
    recorded = chain.fingerprints[fingerprint.name]
    if recorded is None or fingerprint.digest is None or bytes.fromhex(fingerprint.digest) != recorded:
        findings.differs_in(
            kind, name, value, fingerprint.digest, "nothing" if recorded is None else recorded.hex()
        )


def check_summary(inspection: Inspection, kind: str, ulid: str, summary: str | None) -> None:
    """A summary is the last one that an event records; where none does, there is none."""
    fingerprint = summary_fingerprint(ulid, summary)
    if summary is None and inspection.chain.fingerprints.get(fingerprint.name) is None:
        return
    compare_fingerprint(inspection, kind, ulid, "summary", fingerprint)


def report_missing_rows(inspection: Inspection) -> None:
    """Report fingerprints without a row, unless what the row belonged to was deleted."""
    session = inspection.session
    for name, recorded in inspection.chain.fingerprints.items():
        kind, _, rest = name.partition(":")
        if recorded is None or not rest or name in inspection.chain.compared:
            continue
        parts = rest.split(":")
        if kind in {"vault", "user", "token", "role"}:
            # They belong to one installation, and do not move with a grove.
            continue
        if kind == "link" and not all(_exists(session, end) for end in parts[1:]):
            continue
        if kind == "tag" and not _exists(session, parts[0]):
            continue
        inspection.findings.missing(kind, parts[0], "the row that an event records")


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


def check_bodies(inspection: Inspection) -> None:
    """Every body has the hash that names it, and every body that a row refers to is there."""
    session, findings, tree = inspection.session, inspection.findings, inspection.tree
    bodies = schema.bodies
    for page in pages(session, findings, bodies, bodies.c.sha256, bodies.c.tree == tree, size=_FEW):
        for row in page:
            findings.bodies += 1
            check_packed(findings, "body", row.sha256.hex(), row.gzip, row.sha256)
    for table, column, kind in (
        (schema.attachments, schema.attachments.c.sha256, "attachment"),
        (schema.responses, schema.responses.c.sha256, "response"),
        (schema.requests, schema.requests.c.segment, "request segment"),
    ):
        there = and_(bodies.c.tree == table.c.tree, bodies.c.sha256 == column)
        lost = select(column).outerjoin(bodies, there).where(table.c.tree == tree, bodies.c.tree.is_(None))
        for digest in values_of(session, lost.distinct(), bytes):
            findings.missing(kind, digest.hex(), "body")


def check_packed(findings: Findings, kind: str, name: str, packed: bytes, digest: bytes) -> bool:
    """True if the bytes are those that the hash was taken of."""
    try:
        computed = hashlib.sha256(unpack(packed)).digest()
    except (PackingError, LimitExceededError) as error:
        findings.differs_in(kind, name, "gzip", str(error))
        return False
    return findings.compare(kind, name, "sha256", digest.hex(), computed.hex())


def check_responses(inspection: Inspection) -> dict[int, str]:
    """The metadata of each raw response; returns the hashes by key."""
    session, findings, tree = inspection.session, inspection.findings, inspection.tree
    hashes: dict[int, str] = {}
    for page in pages(
        session, findings, schema.responses, schema.responses.c.key, schema.responses.c.tree == tree
    ):
        for row in page:
            hashes[row.key] = row.sha256.hex()
            covered = "provider, model, request id, times or usage"
            compare_fingerprint(
                inspection, "response", row.sha256.hex(), covered, response_fingerprint(row._asdict())
            )
    return hashes


def check_attempts(inspection: Inspection, names: Mapping[int, str], responses: Mapping[int, str]) -> None:
    """Model calls: each request is rebuilt from its segments, byte for byte."""
    session, findings, tree = inspection.session, inspection.findings, inspection.tree
    agents = inspection.agents.ulids
    for page in pages(
        session, findings, schema.attempts, schema.attempts.c.key, schema.attempts.c.tree == tree
    ):
        if not page:
            continue
        low, high = page[0].key, page[-1].key
        manifests = {
            row.attempt: row
            for row in fetch(
                session,
                findings,
                schema.manifests,
                schema.manifests.c.tree == tree,
                schema.manifests.c.attempt.between(low, high),
            )
        }
        for row in page:
            manifest = manifests.get(row.key)
            if manifest is not None:
                check_packed(findings, "manifest", row.ulid, manifest.gzip, manifest.sha256)
            _check_request(session, findings, tree, row)
            response = None if row.response is None else responses.get(row.response, str(row.response))
            fingerprint = attempt_fingerprint(
                row._asdict(),
                agents.get(row.agent, str(row.agent)),
                names.get(row.parent, str(row.parent)),
                response,
                None if manifest is None else manifest.sha256,
            )
            compare_fingerprint(
                inspection,
                "attempt",
                row.ulid,
                "agent, parent, outcome, request, manifest or times",
                fingerprint,
            )


def _check_request(session: Session, findings: Findings, tree: int, attempt: Any) -> None:
    """The SHA-256 of the whole body, from its segments, without holding it in memory."""
    requests, bodies = schema.requests, schema.bodies
    mine = requests.c.tree == tree, requests.c.attempt == attempt.key
    listed = fetch(session, findings, requests, *mine)
    if attempt.request is None and not listed:
        return
    whole = hashlib.sha256()
    for index, row in enumerate(listed):
        findings.compare("request", attempt.ulid, "order of segments", row.ordinal, index)
        body = select(bodies.c.gzip).where(bodies.c.tree == tree, bodies.c.sha256 == row.segment)
        packed = values_of(session, body, bytes)
        if not packed:
            findings.missing("request", attempt.ulid, f"segment {row.segment.hex()}")
            return
        try:
            whole.update(unpack(packed[0]))
        except (PackingError, LimitExceededError):
            return
    stored = "nothing" if attempt.request is None else attempt.request.hex()
    findings.compare("request", attempt.ulid, "sha256 of the body", stored, whole.hexdigest())


def check_typings(inspection: Inspection) -> None:
    """Text typed into working buffers, which undo needs."""
    session, findings, tree = inspection.session, inspection.findings, inspection.tree
    for page in pages(
        session, findings, schema.typings, schema.typings.c.ordinal, schema.typings.c.tree == tree
    ):
        for row in page:
            name = f"{inspection.chain.ulid}/{row.ordinal}"
            compare_fingerprint(inspection, "typing", name, "text", typing_fingerprint(row._asdict()))


def check_groups(inspection: Inspection, names: Mapping[int, str]) -> None:
    session, findings, tree = inspection.session, inspection.findings, inspection.tree
    for row in fetch(session, findings, schema.groups, schema.groups.c.tree == tree):
        first, last = (names.get(key, str(key)) for key in (row.first, row.last))
        fingerprint = group_fingerprint(row._asdict(), first, last)
        compare_fingerprint(
            inspection, "folded range", row.ulid, "name, description, ends or state", fingerprint
        )


def check_references(inspection: Inspection) -> None:
    """Links and tags that this chain records: of a tree, or (tree 0) of documents alone."""
    session, findings, tree = inspection.session, inspection.findings, inspection.tree
    agents = inspection.agents.ulids
    links, tags = schema.links, schema.tags
    mine = and_(links.c.a_tree == tree) if tree else and_(links.c.a_tree == 0, links.c.b_tree == 0)
    if tree:
        mine = mine | and_(links.c.a_tree == 0, links.c.b_tree == tree)
    for row in fetch(session, findings, links, mine):
        ends = [
            _target(session, row.a_tree, row.a_kind, row.a_key),
            _target(session, row.b_tree, row.b_kind, row.b_key),
        ]
        fingerprint = link_fingerprint(row._asdict(), ends, agents.get(row.author, str(row.author)))
        compare_fingerprint(inspection, "link", row.ulid, "ends, note, author or times", fingerprint)
    for row in fetch(session, findings, tags, tags.c.tree == tree):
        target = _target(session, row.tree, row.kind, row.target)
        compare_fingerprint(
            inspection,
            "tag",
            f"{row.label!r} on {target}",
            "label or times",
            tag_fingerprint(row._asdict(), target),
        )


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
        found = text_of(session, chosen)
        if found is not None:
            return found
    return f"{tree}/{kind}/{key}"


def check_revised(mine: Inspection) -> None:
    """Every document and project, and every revision of them."""
    for kind in (DOCUMENT, PROJECT):
        for row in fetch(mine.session, mine.findings, kind.table):
            compare_fingerprint(mine, kind.name, row.ulid, kind.covers, kind.fingerprint(row._asdict()))
            if "summary" in kind.table.c:
                check_summary(mine, kind.name, row.ulid, row.summary)
            _check_revisions(mine, kind, row)


def _check_revisions(mine: Inspection, kind: RevisedKind, row: Any) -> None:
    agents = mine.agents.ulids
    whole = kind.revisions.c[kind.name]
    for revision in fetch(mine.session, mine.findings, kind.revisions, whole == row.key):
        fingerprint = kind.revision_fingerprint(row.ulid, revision._asdict(), agents.get(revision.author, ""))
        name = f"{row.ulid} revision {revision.revision}"
        compare_fingerprint(mine, kind.name, name, kind.revision_covers, fingerprint)


def forget_document(chain: Chain, ulid: str) -> None:
    """Drop the fingerprints of a deleted document."""
    whole = {f"document:{ulid}", f"summary:{ulid}"}
    gone = [name for name in chain.fingerprints if name in whole or name.startswith(f"revision:{ulid}:")]
    for name in gone:
        del chain.fingerprints[name]


def check_records(mine: Inspection) -> None:
    """Every record, in batches by key."""
    for page in pages(mine.session, mine.findings, schema.records, schema.records.c.key):
        for row in page:
            compare_fingerprint(
                mine, "record", row.ulid, "place, id, time or document", record_fingerprint(row._asdict())
            )


def check_users(mine: Inspection) -> None:
    """Users, their roles, and the tokens that let them in."""
    session, findings, agents = mine.session, mine.findings, mine.agents.ulids
    trees, names = schema.trees, dict[int, str]()
    for row in fetch(session, findings, schema.users):
        names[row.key] = row.ulid
        fingerprint = user_fingerprint(row._asdict(), agents.get(row.agent, str(row.agent)))
        compare_fingerprint(mine, "user", row.ulid, "name, agent or times", fingerprint)
    for row in fetch(session, findings, schema.tokens):
        fingerprint = token_fingerprint(row._asdict(), names.get(row.user, str(row.user)))
        compare_fingerprint(mine, "token", row.ulid, "user, hash, label, kind or times", fingerprint)
    for row in fetch(session, findings, schema.memberships):
        user = names.get(row.user, str(row.user))
        tree = None
        if row.tree != GROVE:
            tree = text_of(session, select(trees.c.ulid).where(trees.c.key == row.tree)) or str(row.tree)
        compare_fingerprint(
            mine, "role", user, f"role on {tree or 'the grove'}", role_fingerprint(user, tree, row.role)
        )


def check_memory(inspection: Inspection) -> None:
    """Pins, stashes, recalls and thoughts by their events; actions, runs and results by their own hash."""
    session, findings, memory = inspection.session, inspection.findings, schema.memory
    mine = memory.c.tree == inspection.tree
    for key in values_of(session, select(memory.c.agent).where(mine).distinct(), int):
        agent = inspection.agents.ulids.get(key, str(key))
        for page in pages(session, findings, memory, memory.c.ordinal, mine, memory.c.agent == key):
            for row in page:
                name = f"{agent}/{row.ordinal}"
                if row.kind not in TRACE:
                    fingerprint = memory_fingerprint(row._asdict(), agent)
                    compare_fingerprint(inspection, "memory", name, "kind, label, body or times", fingerprint)
                elif not _is_sealed(row._asdict(), inspection.chain.ulid, agent):
                    findings.differs_in("memory", name, "kind, label, body or times")


def _is_sealed(row: dict[str, object], tree: str, agent: str) -> bool:
    try:
        value = orjson.loads(str(row["body"]))
        written = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
        return written == row["body"] and value[SEAL] == trace_seal(row, tree, agent)
    except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError):
        return False


def check_envelopes(inspection: Inspection, names: Mapping[int, str]) -> None:
    """Every envelope is as it was written, and the snapshots that it names are there."""
    session, findings, tree = inspection.session, inspection.findings, inspection.tree
    agents, envelopes = inspection.agents.ulids, schema.envelopes
    places = select(envelopes.c.node).where(envelopes.c.tree == tree).distinct().order_by(envelopes.c.node)
    for node in values_of(session, places, int):
        for row in fetch(session, findings, envelopes, envelopes.c.tree == tree, envelopes.c.node == node):
            name = f"{names.get(row.node, str(row.node))}/{row.ordinal}"
            fingerprint = envelope_fingerprint(
                row._asdict(), names.get(row.node, str(row.node)), agents.get(row.agent, str(row.agent))
            )
            compare_fingerprint(
                inspection, "envelope", name, "agent, provider, record, tokens or time", fingerprint
            )
            if check_packed(findings, "envelope", name, row.gzip, row.sha256):
                for digest in _missing_snapshots(session, tree, row.gzip):
                    findings.missing("envelope", name, f"snapshot {digest}")


def _missing_snapshots(session: Session, tree: int, packed: bytes) -> Iterator[str]:
    try:
        record = json.loads(unpack(packed))
        named = set(named_snapshots(record, lambda name: _snapshot(session, tree, name) or "[]"))
    except (PackingError, LimitExceededError, InvalidInputError, ValueError):
        # The envelope or the list that cannot be read is a finding already.
        return
    for digest in sorted(named):
        if _snapshot(session, tree, digest) is None:
            yield digest


def _snapshot(session: Session, tree: int, digest: str) -> str | None:
    bodies = schema.bodies
    body = select(bodies.c.gzip).where(bodies.c.tree == tree, bodies.c.sha256 == bytes.fromhex(digest))
    packed = values_of(session, body, bytes)
    if not packed:
        return None
    try:
        return unpack(packed[0]).decode("utf-8", "surrogatepass")
    except (PackingError, LimitExceededError, UnicodeDecodeError):
        return ""
