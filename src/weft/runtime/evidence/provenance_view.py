"""The evidence for a node: its chain, its timestamps, the request and the raw response."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import orjson
from sqlalchemy import select

from weft.context.manifest import Manifest
from weft.error_hints import Hint, HintKind
from weft.errors import NotFoundError, StorageError
from weft.provenance.bundle import BundleWriter
from weft.provenance.chain import hashed_value
from weft.provenance.damaged_rows import values_of
from weft.provenance.findings import Findings, Report, Verdict
from weft.provenance.node_columns import Neighbours, ancestry, readable_nodes
from weft.provenance.nodes import AgentTable, Surroundings, attached_rows, facts_of
from weft.provenance.timestamps import STAMP_STATES, StampStatus
from weft.provenance.verify import verify_grove, verify_nodes, verify_tree
from weft.runtime.operations.node_values import citations_of, value_of
from weft.runtime.operations.permissions import Actor, require_access, require_permission, tree_for
from weft.store import schema
from weft.store.base import Store
from weft.store.packed_bodies import load_body
from weft.store.request_records import manifest_of, request_segments
from weft.store.rows import AGENT_TYPES, NodeRow, load_content
from weft.store.session import Session
from weft.store.transaction import GROVE
from weft.store.tree_queries import find_node
from weft.tree.access import MemberRole
from weft.tree.agent import AgentType, Permission
from weft.tree.attempt import Usage
from weft.tree.citation import Citation
from weft.tree.content import blob_refs
from weft.tree.json import JsonObject, JsonValue
from weft.tree.json_names import from_microseconds, iso, to_wire
from weft.tree.progress import Progress

_SOME = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """A time that an outside authority has certified, or is asked to."""

    id: str
    target: str
    status: StampStatus
    authority: str
    certified_at: datetime | None = None
    error: str | None = None
    attempts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceHash:
    """A node that another was written from, and its hash at that time."""

    id: str
    role: str
    content_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a node comes from, with the evidence."""

    node_id: str
    local_id: str
    tree_id: str
    content_hash: str
    chain: Verdict
    """Of the node and all it was written from."""
    report: Report
    author: str
    author_type: AgentType
    created_at: datetime
    edited_from: str | None = None
    sources: tuple[SourceHash, ...] = ()
    timestamps: tuple[Stamp, ...] = ()
    provider: str | None = None
    model: str | None = None
    request_id: str | None = None
    status_code: int | None = None
    requested_at: datetime | None = None
    responded_at: datetime | None = None
    latency_ms: float | None = None
    usage: Usage | None = None
    response_sha256: str | None = None
    request_sha256: str | None = None
    replaced_keys: tuple[int, ...] = ()
    """Offsets in the raw response at which the provider echoed our own key, and it was replaced."""
    citations: tuple[Citation, ...] = ()
    """What it cites of the sources that its call was given."""
    call_note: str | None = None
    """How its call ended, where that is worth a word: empty, interrupted, stopped."""

    @property
    def certified_at(self) -> datetime | None:
        """The earliest certified time."""
        return min((stamp.certified_at for stamp in self.timestamps if stamp.certified_at), default=None)


def _json_or_text(body: bytes) -> JsonValue:
    try:
        return cast("JsonValue", orjson.loads(body))
    except orjson.JSONDecodeError:
        return body.decode("utf-8", "replace")


class ProvenanceHandle:
    """Where a node comes from, and the evidence itself on demand."""

    __slots__ = ("_evidence", "value")

    def __init__(self, evidence: "Evidence", value: Provenance) -> None:
        self._evidence = evidence
        self.value = value

    def __repr__(self) -> str:
        certified = self.certified_at
        time = "not certified" if certified is None else f"certified {iso(certified)}"
        return f"<Provenance [{self.value.local_id}] {self.chain}, {time}>"

    @property
    def chain(self) -> Verdict:
        return self.value.chain

    @property
    def certified_at(self) -> datetime | None:
        return self.value.certified_at

    @property
    def raw_response(self) -> bytes | None:
        """The exact bytes a provider answered with."""
        return self._evidence.raw_response(self.value.tree_id, self.value.node_id)

    @property
    def replaced_keys(self) -> tuple[int, ...]:
        """Offsets in the raw response at which the provider echoed our own key, and it was replaced."""
        return self.value.replaced_keys

    @property
    def request(self) -> bytes | None:
        """The body that was sent, byte for byte."""
        return self._evidence.request(self.value.tree_id, self.value.node_id)

    def trace(self) -> JsonObject:
        """The generation for evaluation: what was sent, what came back, what it took, and why it was that."""
        value, request, response, manifest = self.value, self.request, self.raw_response, self.manifest
        if request is None:
            raise NotFoundError(f"[{value.local_id}] was not generated here: there is no request")
        return {
            "node": value.node_id,
            "provider": value.provider,
            "model": value.model,
            "requestId": value.request_id,
            "requestedAt": to_wire(value.requested_at),
            "latencyMs": value.latency_ms,
            "usage": to_wire(value.usage),
            "request": _json_or_text(request),
            "response": None if response is None else response.decode("utf-8", "replace"),
            "manifest": None if manifest is None else manifest.to_wire(),
        }

    @property
    def manifest(self) -> Manifest | None:
        """What the model saw and what it did not, as recorded; None for what no model wrote."""
        stored = self._evidence.manifest(self.value.tree_id, self.value.node_id)
        return None if stored is None else Manifest.from_stored(orjson.loads(stored))

    def save_bundle(self, path: str | Path, progress: Progress | None = None) -> int:
        """Write everything needed to check the node elsewhere to one file."""
        return self._evidence.write_bundle(self.value.tree_id, self.value.node_id, Path(path), progress)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The provenance of a grove's nodes, as one agent may see it."""

    store: Store
    actor: Actor

    def _open(self, session: Session, tree: str) -> int:
        self._require_look(session)
        return tree_for(session, self.actor, tree)

    def _require_look(self, session: Session) -> None:
        """The owner may always look: the owner's own permissions may be what was damaged."""
        owners = values_of(session, select(schema.grove.c.owner), int)
        if self.actor not in map(Actor, owners):
            require_permission(session, self.actor, Permission.LOOM_AWARE, "look")

    def verify_grove(self, progress: Progress | None = None, *, quick: bool = False) -> Report:
        """The whole grove; `quick` skips the database's check of indexes against tables."""
        with self.store.read() as session:
            self._require_look(session)
            require_access(session, self.actor, MemberRole.READER)
            return verify_grove(session, self.store, progress, quick=quick)

    def verify_tree(self, tree: str, progress: Progress | None = None) -> Report:
        with self.store.read() as session:
            return verify_tree(session, self.store.blobs, self._open(session, tree), progress)

    def verify_node(
        self, tree: str, node: str, *, path: bool = False, progress: Progress | None = None
    ) -> Report:
        """One node; or, with `path`, all it was written from too."""
        with self.store.read() as session:
            key = self._open(session, tree)
            row = find_node(session, key, node)
            keys = ancestry(session, key, row.key) if path else [row.key]
            return verify_nodes(session, self.store.blobs, key, keys, progress)

    def provenance(self, tree: str, node: str, progress: Progress | None = None) -> Provenance:
        """Everything known about where a node comes from."""
        with self.store.read() as session:
            key = self._open(session, tree)
            row = find_node(session, key, node)
            report = verify_nodes(session, self.store.blobs, key, ancestry(session, key, row.key), progress)
            return self._provenance(session, key, row, report)

    def _provenance(self, session: Session, tree: int, row: NodeRow, report: Report) -> Provenance:
        ulid = session.execute(select(schema.trees.c.ulid).where(schema.trees.c.key == tree)).scalar_one()
        agents = schema.agents
        author = session.execute(select(agents).where(agents.c.key == row.author)).one()
        mine = attached_rows(session, Findings(), tree, [row.key])
        around = Surroundings(ulid, Neighbours(session, tree), AgentTable({row.author: author.ulid}, {}))
        content = load_content(row.kind, mine.texts[row.key])
        facts = facts_of(Findings(), row, mine, around, content)
        if facts is None:
            raise StorageError(f"[{row.local_id}] is damaged", hint=Hint(HintKind.VERIFY))
        attempt, response = _attempt(session, tree, row), _response(session, tree, row.key)
        return Provenance(
            node_id=row.ulid,
            local_id=row.local_id,
            tree_id=ulid,
            content_hash=row.hash.hex(),
            chain=report.verdict,
            report=report,
            author=author.name,
            author_type=AGENT_TYPES[row.author_type],
            created_at=from_microseconds(row.created_at),
            edited_from=facts.edited_from,
            sources=tuple(
                SourceHash(id=id_, role=role, content_hash=hash_) for id_, role, hash_ in facts.sources
            ),
            timestamps=tuple(stamps_of(session, tree, row.ulid)),
            request_sha256=None if attempt is None or attempt.request is None else attempt.request.hex(),
            replaced_keys=() if response is None else _replaced_keys(session, tree, response.sha256),
            citations=tuple(citations_of(session, tree, [row]).get(row.key, ())),
            call_note=None if attempt is None else attempt.error,
            **_response_fields(response),
        )

    def raw_response(self, tree: str, node: str) -> bytes | None:
        """The exact bytes a provider answered with; None for what no model wrote."""
        with self.store.read() as session:
            key = self._open(session, tree)
            response = _response(session, key, find_node(session, key, node).key)
            return None if response is None else load_body(session, key, response.sha256)

    def request(self, tree: str, node: str) -> bytes | None:
        """The body that was sent, rebuilt byte for byte; None where none is kept."""
        with self.store.read() as session:
            key = self._open(session, tree)
            attempt = _attempt(session, key, find_node(session, key, node))
            return None if attempt is None else b"".join(request_segments(session, key, attempt.key))

    def manifest(self, tree: str, node: str) -> bytes | None:
        """The manifest of the request, in its stored form."""
        with self.store.read() as session:
            key = self._open(session, tree)
            attempt = _attempt(session, key, find_node(session, key, node))
            return None if attempt is None else manifest_of(session, key, attempt.key)

    def timestamps(self, tree: str | None = None, node: str | None = None) -> list[Stamp]:
        """Of a node, or of the grove as a whole."""
        with self.store.read() as session:
            if tree is None:
                require_permission(session, self.actor, Permission.LOOM_AWARE, "look")
                return stamps_of(session, GROVE, None)
            key = self._open(session, tree)
            return stamps_of(session, key, None if node is None else find_node(session, key, node).ulid)

    def write_bundle(self, tree: str, node: str, path: Path, progress: Progress | None = None) -> int:
        """Everything needed to check a node elsewhere, in one file. Returns how many nodes are in it."""
        with self.store.read() as session:
            key = self._open(session, tree)
            row = find_node(session, key, node)
            ulid = session.execute(select(schema.trees.c.ulid).where(schema.trees.c.key == key)).scalar_one()
            keys = ancestry(session, key, row.key)
            writer = BundleWriter(path)
            try:
                _fill(session, self.store, writer, (key, ulid, keys), progress)
                writer.close(node=row.ulid, tree=ulid)
            except BaseException:
                writer.discard()
                raise
            return len(keys)


def _fill(
    session: Session,
    store: Store,
    writer: BundleWriter,
    place: tuple[int, str, list[int]],
    progress: Progress | None,
) -> None:
    tree, _, keys = place
    bodies: set[bytes] = set()
    blobs: set[str] = set()
    stamps: list[dict[str, Any]] = []
    writer.add("nodes.jsonl", _lines(session, place, (bodies, blobs, stamps), progress))
    stamps.sort(key=lambda stamp: stamp["id"])
    writer.add("timestamps.json", [orjson.dumps(stamps, option=orjson.OPT_SORT_KEYS)])
    table = schema.bodies
    for digest in sorted(bodies):
        packed = session.execute(
            select(table.c.gzip).where(table.c.tree == tree, table.c.sha256 == digest)
        ).scalar_one_or_none()
        if packed is not None:
            writer.add(f"bodies/{digest.hex()}", [packed])
    for ref in sorted(blobs):
        if ref in store.blobs:
            writer.add(f"blobs/{ref}", [store.blobs.get(ref)])
    if progress is not None:
        progress(len(keys), len(keys))


def _lines(
    session: Session,
    place: tuple[int, str, list[int]],
    gathered: tuple[set[bytes], set[str], list[dict[str, Any]]],
    progress: Progress | None,
) -> Iterator[bytes]:
    """One line for each node: what was hashed, the hash, and what its provider said of itself."""
    tree, ulid, keys = place
    bodies, blobs, stamps = gathered
    agents = schema.agents
    names = {row.key: row.ulid for row in session.execute(select(agents.c.key, agents.c.ulid))}
    lookup = Neighbours(session, tree)
    around = Surroundings(ulid, lookup, AgentTable(names, {}))
    for start in range(0, len(keys), _SOME):
        some = keys[start : start + _SOME]
        rows = list(readable_nodes(session, Findings(), tree, some).values())
        if len(rows) < len(some):
            raise NotFoundError("a node that others depend on is missing", hint=Hint(HintKind.VERIFY))
        lookup.learn(rows)
        mine = attached_rows(session, Findings(), tree, [row.key for row in rows])
        for row in sorted(rows, key=lambda row: row.key):
            content = load_content(row.kind, mine.texts[row.key])
            facts = facts_of(Findings(), row, mine, around, content)
            if facts is None:
                raise StorageError(f"[{row.local_id}] is damaged", hint=Hint(HintKind.VERIFY))
            choice = mine.choices.get(row.key)
            response = None if choice is None else mine.responses.get(choice.response)
            bodies.update(bytes.fromhex(sha256) for _, sha256 in facts.attachments)
            if response is not None:
                bodies.add(response.sha256)
            blobs.update(blob_refs(content))
            value = {
                "facts": hashed_value(facts),
                "hash": row.hash.hex(),
                "localId": row.local_id,
                "response": None if response is None else to_wire(_response_fields(response)),
            }
            yield orjson.dumps(value, option=orjson.OPT_SORT_KEYS) + b"\n"
        stamps.extend(_certified(session, tree, [row.ulid for row in rows]))
        if progress is not None:
            progress(start, len(keys))


def _certified(session: Session, tree: int, targets: list[str]) -> Iterator[dict[str, Any]]:
    table = schema.timestamps
    chosen = select(table).where(
        table.c.tree == tree, table.c.target.in_(targets), table.c.token.is_not(None)
    )
    for row in session.execute(chosen):
        yield {
            "id": row.ulid,
            "node": row.target,
            "digest": row.digest.hex(),
            "authority": row.authority,
            "token": row.token.hex(),
            "certificates": row.certificates.decode(),
            "certifiedAt": iso(from_microseconds(row.certified_at)),
        }


def stamps_of(session: Session, tree: int, target: str | None) -> list[Stamp]:
    table = schema.timestamps
    chosen = select(table).where(table.c.tree == tree).order_by(table.c.ulid)
    if target is not None:
        chosen = chosen.where(table.c.target == target)
    return [value_of(Stamp, row, status=STAMP_STATES[int(row.status)]) for row in session.execute(chosen)]


def _response(session: Session, tree: int, node: int) -> Any:
    choices, responses = schema.node_responses, schema.responses
    same = (responses.c.tree == choices.c.tree) & (responses.c.key == choices.c.response)
    chosen = select(responses).select_from(choices).join(responses, same)
    return session.execute(chosen.where(choices.c.tree == tree, choices.c.node == node)).one_or_none()


def _attempt(session: Session, tree: int, row: NodeRow) -> Any:
    """The call that gave this node: the one with its response."""
    choices, attempts = schema.node_responses, schema.attempts
    same = (attempts.c.tree == choices.c.tree) & (attempts.c.response == choices.c.response)
    chosen = select(attempts).select_from(choices).join(attempts, same).order_by(attempts.c.key).limit(1)
    return session.execute(chosen.where(choices.c.tree == tree, choices.c.node == row.key)).first()


def _replaced_keys(session: Session, tree: int, digest: bytes) -> tuple[int, ...]:
    from weft.providers.redaction import marks_in  # noqa: PLC0415 - providers are imported when used

    try:
        return tuple(marks_in(load_body(session, tree, digest)))
    except (NotFoundError, StorageError):
        # The report has it among its findings.
        return ()


def _response_fields(row: Any) -> Mapping[str, Any]:
    if row is None:
        return {}
    requested, responded = row.requested_at, row.responded_at
    return {
        "provider": row.provider,
        "model": row.model,
        "request_id": row.request_id,
        "status_code": row.status_code,
        "requested_at": None if requested is None else from_microseconds(requested),
        "responded_at": None if responded is None else from_microseconds(responded),
        "latency_ms": None if requested is None or responded is None else (responded - requested) / 1000,
        "usage": Usage(
            prompt=row.prompt_tokens,
            completion=row.completion_tokens,
            total=row.total_tokens,
            cached_read=row.cached_read,
            cached_write=row.cached_write,
        ),
        "response_sha256": row.sha256.hex(),
    }
