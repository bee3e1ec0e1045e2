"""One tree of a file: its bodies, responses, nodes, attempts, events, and who stands where."""

import gzip
import hashlib
from collections.abc import Callable
from typing import Any

from weft.errors import InvalidInputError
from weft.provenance.chain import event_hash
from weft.runtime.moving.envelopes import envelope_fields
from weft.runtime.moving.exporting import OUTCOMES
from weft.runtime.moving.fields import Fields
from weft.runtime.moving.growth import Growth, KnownAgent, item_rows
from weft.runtime.moving.landing import Landing
from weft.runtime.moving.pieces import Pieces
from weft.runtime.operations.scope import dump_json
from weft.store import schema
from weft.store.rows import MODES
from weft.tree.wire import from_microseconds, iso

__all__ = ["Chain", "Section", "timestamp_row"]

_NODE_LIMIT = 10_000_000
_BODY_LIMIT = 512 * 1024 * 1024
_SEGMENT_LIMIT = 1_000_000
_NAME_LIMIT = 1_000
_NODE_COLUMNS = tuple(column.name for column in schema.nodes.columns)


def timestamp_row(fields: Fields, tree: int) -> dict[str, Any]:
    """A timestamp of a node, or (tree 0) of the whole grove."""
    row: dict[str, Any] = {
        "tree": tree,
        "ulid": fields.ulid("id"),
        "target": fields.ulid("target"),
        "statement": fields.optional_text("statement"),
        "digest": fields.digest("digest"),
        "authority": fields.text("authority", limit=_NAME_LIMIT),
        "status": fields.count("status", limit=2),
        "token": None if fields.get("token") is None else fields.data("token"),
        "certificates": None if fields.get("certificates") is None else fields.data("certificates"),
        "certified_at": fields.optional_time("certifiedAt"),
        "attempts": fields.count("attempts"),
        "next_try": fields.optional_time("nextTry"),
        "error": fields.optional_text("error"),
        "created_at": fields.time("createdAt"),
    }
    fields.done()
    return row


class Chain:
    """Events in order, each with the hash of the one before."""

    def __init__(self, ulid: str, agents: dict[str, KnownAgent]) -> None:
        self._ulid = ulid
        self._agents = agents
        self.head: bytes | None = None
        self.count = 0

    def add(self, fields: Fields, tree: int) -> dict[str, Any]:
        agent_id = fields.ulid("agentId")
        agent = self._agents.get(agent_id)
        if agent is None:
            raise fields.wrong("the event's agent is not in the file")
        created_at = fields.time("createdAt")
        kind = fields.text("kind", limit=100)
        payload, inverse = fields.object("payload"), fields.object("inverse")
        digest = fields.digest("hash")
        fields.done()
        self.count += 1
        found = event_hash(
            previous=self.head,
            tree=self._ulid,
            ordinal=self.count,
            kind=kind,
            agent_id=agent_id,
            created_at=iso(from_microseconds(created_at)),
            payload=payload,
            inverse=inverse,
        )
        if found != digest:
            raise fields.wrong(
                f"event {self.count:,} ({kind[:40]}) does not match its hash, or one before it is missing",
                hint="the file was changed after it was exported; nothing was imported",
            )
        row: dict[str, Any] = {
            "tree": tree,
            "ordinal": self.count,
            "kind": kind,
            "agent": agent.key,
            "payload": dump_json(payload),
            "inverse": dump_json(inverse),
            "created_at": created_at,
            "previous": self.head,
            "hash": digest,
        }
        self.head = digest
        return row

    def require(self, count: int, head: bytes | None, what: str) -> None:
        if (self.count, self.head) != (count, head):
            raise InvalidInputError(f"events of {what} are missing: {self.count:,} of {count:,} are there")


class Section:
    """Takes a tree's records in their order and puts what holds on the ground."""

    def __init__(
        self,
        fields: Fields,
        landing: Landing,
        agents: dict[str, KnownAgent],
        projects: dict[str, int],
        blobs: set[str],
    ) -> None:
        self._landing = landing
        self._agents = agents
        self.ulid = fields.ulid("id")
        self.title = fields.text("title", limit=_NAME_LIMIT)
        mode = fields.choice("mode", MODES)
        project = fields.optional_ulid("projectId")
        if project is not None and project not in projects:
            raise fields.wrong("the tree's project is not in the file")
        self._nodes = fields.count("nodes", limit=_NODE_LIMIT)
        self._responses = fields.count("responses", limit=_NODE_LIMIT)
        self._attempts = fields.count("attempts", limit=_NODE_LIMIT)
        self._events = fields.count("events", limit=2**62)
        self._head = fields.optional_digest("head")
        if self._nodes < 1:
            raise fields.wrong("a tree has at least its root")
        row: dict[str, Any] = {
            "ulid": self.ulid,
            "title": self.title,
            "description": fields.optional_text("description") or "",
            "summary": fields.optional_text("summary"),
            "mode": MODES.index(mode),
            "system_context": fields.optional_text("systemContext") or "",
            "buffer_mode_system_context": fields.flag("bufferModeSystemContext"),
            "preferences": dump_json(fields.object("preferences")),
            "project": None if project is None else projects[project],
            "root": 1,
            "root_ulid": "",
            "created_at": fields.time("createdAt"),
            "updated_at": fields.time("updatedAt"),
            "archived_at": fields.optional_time("archivedAt"),
            "hidden": fields.optional_mark("hidden"),
            "next_key": self._nodes + self._responses + self._attempts + 1,
            "nodes": 0,
            "branches": 0,
            "depth": 0,
            "events": self._events,
            "head": self._head,
        }
        fields.done()
        self.key = landing.tree(row)
        self._pieces = Pieces()
        self._body: list[bytes] = []
        self._bodies: set[bytes] = set()
        self._answers: list[bytes] = []
        self._tried: set[str] = set()
        self._taken: set[tuple[object, ...]] = set()
        self._chain = Chain(self.ulid, agents)
        self._growth = Growth(
            self.key,
            self.ulid,
            mode,
            agents,
            bodies=self._bodies,
            responses=self._answers,
            has_blob=lambda ref: ref in blobs or landing.has_blob(ref),
        )

    @property
    def count(self) -> int:
        return self._growth.count

    def take(self, record: str, fields: Fields) -> None:
        takers: dict[str, Callable[[Fields], None]] = {
            "body": self._take_body,
            "response": self._take_response,
            "node": self._take_node,
            "attempt": self._take_attempt,
            "envelope": self._take_envelope,
            "event": self._take_event,
            "typing": self._take_typing,
            "cursor": self._take_cursor,
            "selection": self._take_selection,
            "buffer": self._take_buffer,
            "group": self._take_group,
            "memory": self._take_memory,
            "timestamp": self._take_timestamp,
        }
        if record != "body":
            self._pieces.require_whole(fields)
        takers[record](fields)

    def end(self) -> int:
        """Everything that was announced must have come. Returns how many nodes there are."""
        what = f"tree {self.ulid}"
        if self._pieces.name is not None:
            raise InvalidInputError(f"{what}: the rest of a body is missing")
        for name, there, told in (
            ("nodes", self._growth.count, self._nodes),
            ("responses", len(self._answers), self._responses),
            ("attempts", len(self._tried), self._attempts),
        ):
            if there != told:
                raise InvalidInputError(f"{what}: {there:,} {name} are there, {told:,} were announced")
        self._chain.require(self._events, self._head, what)
        root = next(iter(self._growth.keys))
        self._landing.end_tree(self.key, root, self._growth.moved_pointers())
        return self._growth.count

    def _take_body(self, fields: Fields) -> None:
        name, data, first, last = self._pieces.take(fields, _BODY_LIMIT)
        if first:
            self._body = []
        self._body.append(data)
        if not last:
            return
        whole, digest = b"".join(self._body), bytes.fromhex(name)
        self._body = []
        if hashlib.sha256(whole).digest() != digest:
            raise fields.wrong(f"body {name[:12]}… does not match its hash")
        if digest in self._bodies:
            raise fields.wrong(f"body {name[:12]}… is there twice")
        self._bodies.add(digest)
        packed = gzip.compress(whole, compresslevel=6, mtime=0)
        self._landing.add(schema.bodies, {"tree": self.key, "sha256": digest, "gzip": packed})

    def _take_response(self, fields: Fields) -> None:
        digest = fields.digest("sha256")
        if digest not in self._bodies:
            raise fields.wrong("the response's bytes are not in the file")
        row: dict[str, Any] = {
            "tree": self.key,
            "key": self._response_key(len(self._answers) + 1),
            "sha256": digest,
            "provider": fields.text("provider", limit=_NAME_LIMIT),
            "model": fields.text("model", limit=_NAME_LIMIT),
            "request_id": fields.optional_text("requestId", limit=_NAME_LIMIT),
            "status_code": fields.optional_count("statusCode"),
            "requested_at": fields.optional_time("requestedAt"),
            "responded_at": fields.optional_time("respondedAt"),
            "prompt_tokens": fields.optional_count("promptTokens"),
            "completion_tokens": fields.optional_count("completionTokens"),
            "total_tokens": fields.optional_count("totalTokens"),
            "cached_read": fields.optional_count("cachedRead"),
            "cached_write": fields.optional_count("cachedWrite"),
        }
        fields.done()
        self._answers.append(digest)
        self._landing.add(schema.responses, row)

    def _response_key(self, number: int) -> int:
        return self._nodes + number

    def _take_node(self, fields: Fields) -> None:
        if self._growth.count >= self._nodes:
            raise fields.wrong(f"the tree announced {self._nodes:,} nodes, and here is one more")
        grown = self._growth.add(fields)
        landing, row = self._landing, grown.row
        place = {"tree": row.tree, "node": row.key}
        landing.add(schema.nodes, dict(zip(_NODE_COLUMNS, row, strict=True)))
        landing.add(schema.texts, {**place, "content": grown.content, "summary": grown.summary})
        for ordinal, (source, role) in enumerate(grown.sources):
            landing.add(
                schema.sources,
                {
                    "tree": row.tree,
                    "target": row.key,
                    "ordinal": ordinal,
                    "source": source,
                    "role": role,
                },
            )
        for item in item_rows(grown):
            landing.add(schema.attachments, item)
        if grown.response is not None:
            response = {"response": self._response_key(grown.response), "choice": grown.choice}
            landing.add(schema.node_responses, {**place, **response})

    def _take_attempt(self, fields: Fields) -> None:
        ulid = fields.ulid("id")
        if ulid in self._tried:
            raise fields.wrong(f"attempt {ulid} is there twice")
        self._tried.add(ulid)
        key = self._nodes + self._responses + len(self._tried)
        response = fields.optional_count("response")
        if response is not None and not 1 <= response <= len(self._answers):
            raise fields.wrong(f"response {response} is not in the file")
        row: dict[str, Any] = {
            "tree": self.key,
            "key": key,
            "ulid": ulid,
            "agent": self._agent(fields),
            "parent": self._growth.key_of(fields, "parent"),
            "outcome": OUTCOMES.index(fields.choice("outcome", OUTCOMES)),
            "idempotency_key": fields.optional_text("idempotencyKey", limit=_NAME_LIMIT),
            "request": fields.optional_digest("request"),
            "response": None if response is None else self._response_key(response),
            "partial": None if fields.get("partial") is None else fields.data("partial"),
            "error": fields.optional_text("error"),
            "started_at": fields.time("startedAt"),
            "ended_at": fields.optional_time("endedAt"),
        }
        self._landing.add(schema.attempts, row)
        place = {"tree": self.key, "attempt": key}
        for ordinal, segment in enumerate(fields.values("segments", limit=_SEGMENT_LIMIT)):
            digest = Fields({"segment": segment}, fields.where).digest("segment")
            if digest not in self._bodies:
                raise fields.wrong(f"segment {ordinal} of the request is not in the file")
            self._landing.add(schema.requests, {**place, "ordinal": ordinal, "segment": digest})
        manifest = fields.optional_digest("manifestSha256")
        if manifest is not None:
            data = fields.data("manifest")
            if hashlib.sha256(data).digest() != manifest:
                raise fields.wrong("the manifest does not match its hash")
            packed = gzip.compress(data, compresslevel=6, mtime=0)
            self._landing.add(schema.manifests, {**place, "sha256": manifest, "gzip": packed})
        fields.done()

    def _take_envelope(self, fields: Fields) -> None:
        node, agent = self._growth.key_of(fields, "node"), self._agent(fields)
        row = {"tree": self.key, "node": node, "agent": agent, **envelope_fields(fields, self._bodies)}
        self._once(fields, "envelope", node, row["ordinal"])
        fields.done()
        self._landing.add(schema.envelopes, row)

    def _take_event(self, fields: Fields) -> None:
        self._landing.add_event(self._chain.add(fields, self.key))

    def _take_typing(self, fields: Fields) -> None:
        number = fields.count("event", limit=2**62)
        if not 1 <= number <= self._chain.count:
            raise fields.wrong(f"event {number:,} is not in the file")
        self._once(fields, "typing", number)
        row = {"tree": self.key, "ordinal": number, "kept": fields.count("kept")}
        row |= {"removed": fields.text("removed"), "added": fields.text("added")}
        fields.done()
        self._landing.add(schema.typings, row)

    def _take_cursor(self, fields: Fields) -> None:
        agent, node = self._agent(fields), self._growth.key_of(fields, "node")
        self._once(fields, "cursor", agent)
        row = {"tree": self.key, "agent": agent, "node": node, "updated_at": fields.time("updatedAt")}
        fields.done()
        self._landing.add(schema.cursors, row)

    def _take_selection(self, fields: Fields) -> None:
        agent, node = self._agent(fields), self._growth.key_of(fields, "node")
        position = self._growth.key_of(fields, "position")
        if self._growth.positions[node] != position:
            raise fields.wrong("the selected node is not a version of its position")
        self._once(fields, "selection", agent, position)
        fields.done()
        row = {"tree": self.key, "agent": agent, "position": position, "node": node}
        self._landing.add(schema.selections, row)

    def _take_buffer(self, fields: Fields) -> None:
        agent = self._agent(fields)
        self._once(fields, "buffer", agent)
        row = {"tree": self.key, "agent": agent, "text": fields.text("text")}
        row["updated_at"] = fields.time("updatedAt")
        fields.done()
        self._landing.add(schema.buffers, row)

    def _take_group(self, fields: Fields) -> None:
        name = fields.text("name", limit=_NAME_LIMIT)
        self._once(fields, "group", name)
        row: dict[str, Any] = {
            "tree": self.key,
            "name": name,
            "ulid": fields.ulid("id"),
            "description": fields.optional_text("description") or "",
            "first": self._growth.key_of(fields, "first"),
            "last": self._growth.key_of(fields, "last"),
            "expanded": fields.flag("expanded"),
            "created_at": fields.time("createdAt"),
        }
        fields.done()
        self._landing.add(schema.groups, row)

    def _take_memory(self, fields: Fields) -> None:
        agent, ordinal = self._agent(fields), fields.count("ordinal")
        self._once(fields, "memory", agent, ordinal)
        row: dict[str, Any] = {
            "tree": self.key,
            "agent": agent,
            "ordinal": ordinal,
            "kind": fields.count("kind", limit=2**15 - 1),
            "label": fields.optional_text("label", limit=_NAME_LIMIT),
            "body": fields.text("body"),
            "created_at": fields.time("createdAt"),
            "removed": fields.optional_time("removedAt"),
        }
        fields.done()
        self._landing.add(schema.memory, row)

    def _take_timestamp(self, fields: Fields) -> None:
        row = timestamp_row(fields, self.key)
        self._once(fields, "timestamp", row["ulid"])
        self._landing.add(schema.timestamps, row)

    def _agent(self, fields: Fields) -> int:
        agent = self._agents.get(fields.ulid("agentId"))
        if agent is None:
            raise fields.wrong("agentId names an agent that is not in the file")
        return agent.key

    def _once(self, fields: Fields, *key: object) -> None:
        if key in self._taken:
            raise fields.wrong(f"this {key[0]} is there twice")
        self._taken.add(key)
