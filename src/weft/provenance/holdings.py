"""What a tree holds beside its nodes: bodies, responses, attempts, links, tags, folded ranges."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, select

from weft.errors import LimitExceededError
from weft.provenance.events import Chain
from weft.provenance.facts import (
    Fact,
    attempt_fact,
    group_fact,
    link_fact,
    response_fact,
    summary_fact,
    tag_fact,
    typing_fact,
)
from weft.provenance.nodes import AgentFacts
from weft.provenance.report import Findings
from weft.provenance.rows import fetch, pages, text_of, values_of
from weft.store import schema
from weft.store.packing import PackingError, unpack
from weft.store.session import Session

__all__ = [
    "Inspection",
    "check_attempts",
    "check_bodies",
    "check_groups",
    "check_references",
    "check_responses",
    "check_summary",
    "check_typings",
    "tell_left_over",
    "vouch",
]

_FEW = 16
_TREE, _NODE, _DOCUMENT = 1, 0, 2
"""What links and tags point at, as the database numbers it."""


@dataclass(slots=True)
class Inspection:
    """One chain's rows being looked through: a tree's, or the grove's own."""

    session: Session
    findings: Findings
    tree: int
    chain: Chain
    agents: AgentFacts


def vouch(inspection: Inspection, kind: str, name: str, value: str, fact: Fact) -> None:
    """Compare a row's fingerprint with the last one an event gave it."""
    findings, chain = inspection.findings, inspection.chain
    if fact.name not in chain.facts:
        findings.differs_in(kind, name, value, "no event speaks of it")
        return
    chain.used.add(fact.name)
    recorded = chain.facts[fact.name]
    if recorded is None or fact.digest is None or bytes.fromhex(fact.digest) != recorded:
        findings.differs_in(kind, name, value, fact.digest, "nothing" if recorded is None else recorded.hex())


def check_summary(inspection: Inspection, kind: str, ulid: str, summary: str | None) -> None:
    """A summary is the last one that an event speaks of; where none does, there is none."""
    fact = summary_fact(ulid, summary)
    if summary is None and inspection.chain.facts.get(fact.name) is None:
        return
    vouch(inspection, kind, ulid, "summary", fact)


def tell_left_over(inspection: Inspection) -> None:
    """What events vouch for and no row holds, unless what it belonged to was deleted."""
    session = inspection.session
    for name, recorded in inspection.chain.facts.items():
        kind, _, rest = name.partition(":")
        if recorded is None or not rest or name in inspection.chain.used:
            continue
        parts = rest.split(":")
        if kind in {"vault", "user", "token", "role"}:
            # Of another machine, its folders and who may enter there: they stayed behind when the grove was moved.
            continue
        if kind == "link" and not all(_exists(session, end) for end in parts[1:]):
            continue
        if kind == "tag" and not _exists(session, parts[0]):
            continue
        inspection.findings.missing(kind, parts[0], "the row that an event vouches for")


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
    """Every kept body is what its name says, and all that are spoken of are there."""
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
    """What is said about each raw response; returns their hashes by key."""
    session, findings, tree = inspection.session, inspection.findings, inspection.tree
    hashes: dict[int, str] = {}
    for page in pages(
        session, findings, schema.responses, schema.responses.c.key, schema.responses.c.tree == tree
    ):
        for row in page:
            hashes[row.key] = row.sha256.hex()
            told = "provider, model, request id, times or usage"
            vouch(inspection, "response", row.sha256.hex(), told, response_fact(row._asdict()))
    return hashes


def check_attempts(inspection: Inspection, names: Mapping[int, str], responses: Mapping[int, str]) -> None:
    """Calls of a model: what was asked is rebuilt from its segments, byte for byte."""
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
            fact = attempt_fact(
                row._asdict(),
                agents.get(row.agent, str(row.agent)),
                names.get(row.parent, str(row.parent)),
                response,
                None if manifest is None else manifest.sha256,
            )
            vouch(
                inspection,
                "attempt",
                row.ulid,
                "agent, parent, outcome, request, manifest or times",
                fact,
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
    """What was typed into working buffers, which undo needs."""
    session, findings, tree = inspection.session, inspection.findings, inspection.tree
    for page in pages(
        session, findings, schema.typings, schema.typings.c.ordinal, schema.typings.c.tree == tree
    ):
        for row in page:
            name = f"{inspection.chain.ulid}/{row.ordinal}"
            vouch(inspection, "typing", name, "text", typing_fact(row._asdict()))


def check_groups(inspection: Inspection, names: Mapping[int, str]) -> None:
    session, findings, tree = inspection.session, inspection.findings, inspection.tree
    for row in fetch(session, findings, schema.groups, schema.groups.c.tree == tree):
        first, last = (names.get(key, str(key)) for key in (row.first, row.last))
        fact = group_fact(row._asdict(), first, last)
        vouch(inspection, "folded range", row.ulid, "name, description, ends or state", fact)


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
        fact = link_fact(row._asdict(), ends, agents.get(row.author, str(row.author)))
        vouch(inspection, "link", row.ulid, "ends, note, author or times", fact)
    for row in fetch(session, findings, tags, tags.c.tree == tree):
        target = _target(session, row.tree, row.kind, row.target)
        vouch(
            inspection,
            "tag",
            f"{row.label!r} on {target}",
            "label or times",
            tag_fact(row._asdict(), target),
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
