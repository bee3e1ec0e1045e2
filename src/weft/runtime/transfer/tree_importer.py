"""One tree of a file: its bodies, responses, nodes, attempts, events, and the agents' places in it."""

import hashlib
import json
from collections.abc import Mapping
from typing import cast

from sqlalchemy import Table

from weft.context.stored_envelope import named_snapshots
from weft.errors import InvalidInputError, LimitExceededError
from weft.interop.weft_json import Record
from weft.provenance.chain import event_hash
from weft.runtime.transfer.checked_fields import COUNT, Located, Read, RecordReference, RecordSet, Row
from weft.runtime.transfer.import_target import ImportTarget
from weft.runtime.transfer.node_importer import KnownAgent, NodeImporter
from weft.runtime.transfer.record_specs import BLOB, BODY, TREE_RECORDS
from weft.store import schema
from weft.store.blobs import BLOB_LIMIT, IncomingBlob
from weft.store.packed_bodies import pack
from weft.store.rows import MODES
from weft.tree.json import JsonObject, JsonValue
from weft.tree.json_names import iso_moment

_BODY_LIMIT = 512 * 1024 * 1024


class EventChain:
    """Events in order, each with the hash of the one before."""

    def __init__(self, ulid: str) -> None:
        self._ulid = ulid
        self.head: bytes | None = None
        self.count = 0

    def add(self, record: Record, row: Row) -> Row:
        """The row of the next event; refused unless its hash holds."""
        self.count += 1
        digest = event_hash(
            previous=self.head,
            tree=self._ulid,
            ordinal=self.count,
            kind=row["kind"],
            agent_id=str(record["agentId"]),
            created_at=iso_moment(row["created_at"]),
            payload=cast("JsonObject", record["payload"]),
            inverse=cast("JsonObject", record["inverse"]),
        )
        if digest != row["hash"]:
            raise InvalidInputError(
                f"event {self.count:,} ({row['kind'][:40]}) does not match its hash, or one before it is missing",
                hint="the file was changed after it was exported; nothing was imported",
            )
        event = {**row, "ordinal": self.count, "previous": self.head}
        self.head = digest
        return event

    def require(self, count: int, head: bytes | None, what: str) -> None:
        if (self.count, self.head) != (count, head):
            raise InvalidInputError(f"events of {what} are missing: {self.count:,} of {count:,} are there")


class TreeImporter:
    """Takes a tree's records in their order, checks them and passes their rows on."""

    def __init__(
        self,
        row: Row,
        target: ImportTarget,
        references: Mapping[RecordReference, Read],
        agents: dict[str, KnownAgent],
        blobs: set[str],
    ) -> None:
        self.ulid: str = row["ulid"]
        self._target = target
        self._expected: dict[str, int] = {
            name: row.pop(f"{name}_count") for name in ("node", "response", "attempt")
        }
        mode: int = row["mode"]
        self._events: tuple[int, bytes | None] = row["events"], row["head"]
        if self._expected["node"] < 1:
            raise InvalidInputError("a tree has at least its root")
        derived = {"root": 1, "root_ulid": "", "nodes": 0, "branches": 0, "depth": 0}
        self.key = target.tree({**row, **derived, "next_key": sum(self._expected.values()) + 1})
        self._chunks = ChunkSequence(_BODY_LIMIT)
        self._body: list[bytes] = []
        self._bodies: set[bytes] = set()
        self._responses: list[bytes] = []
        self._attempts = 0
        self._chain = EventChain(self.ulid)
        self._nodes = NodeImporter(
            target,
            self.ulid,
            MODES[mode],
            agents,
            bodies=self._bodies,
            response_hash=lambda key: self._responses[key - self._expected["node"] - 1].hex(),
            has_blob=lambda ref: ref in blobs or target.has_blob(ref),
        )
        here: Mapping[RecordReference, Read] = {
            **references,
            RecordReference.NODE: self._nodes.key_of,
            RecordReference.RESPONSE: self._response_key,
        }
        self._records = RecordSet(TREE_RECORDS, here)

    def add(self, kind: str, record: Record) -> None:
        """The next record of the tree, of any kind but blobs."""
        if kind != BODY.kind:
            self._chunks.require_complete()
        row = self._records.read(kind, record) | {"tree": self.key}
        match kind:
            case "body":
                self._add_body(row)
            case "node":
                if self._nodes.count == self._expected[kind]:
                    raise InvalidInputError(
                        f"the tree announced {self._nodes.count:,} nodes, here is one more"
                    )
                self._nodes.add(record, row)
            case "attempt":
                self._add_attempt(row)
            case "event":
                self._target.add_event(self._chain.add(record, row))
            case _:
                self._check(kind, row)
                self._target.add(cast("Table", self._records.specs[kind].table), row)

    def end(self) -> int:
        """Check that the tree is complete. Returns the number of its nodes."""
        what = f"tree {self.ulid}"
        with Located(what):
            self._chunks.require_complete()
        present = {"node": self._nodes.count, "response": len(self._responses), "attempt": self._attempts}
        for kind, expected in self._expected.items():
            if present[kind] != expected:
                raise InvalidInputError(
                    f"{what}: {present[kind]:,} {kind}s are there, {expected:,} were announced"
                )
        self._chain.require(*self._events, what)
        root = next(iter(self._nodes.keys))
        self._target.end_tree(self.key, root, self._nodes.moved_pointers())
        return self._nodes.count

    def _check(self, kind: str, row: Row) -> None:
        match kind:
            case "response":
                if row["sha256"] not in self._bodies:
                    raise InvalidInputError("the response's bytes are not in the file")
                self._responses.append(row["sha256"])
                row["key"] = self._expected["node"] + len(self._responses)
            case "envelope":
                data = row.pop("data")
                row["gzip"] = _pack_checked(data, row["sha256"], "the envelope")
                self._check_envelope(data)
            case "typing":
                if not 1 <= row["ordinal"] <= self._chain.count:
                    raise InvalidInputError(f"event {row['ordinal']:,} is not in the file")
            case "selection":
                if self._nodes.positions[row["node"]] != row["position"]:
                    raise InvalidInputError("the selected node is not a version of its position")
            case _:
                pass

    def _check_envelope(self, data: bytes) -> None:
        try:
            # Bodies are not held while a file is read, so lists are not looked into; verifying does.
            named = named_snapshots(json.loads(data), lambda _: "[]")
            missing = [name for name in named if bytes.fromhex(name) not in self._bodies]
        except (InvalidInputError, ValueError, RecursionError):
            raise InvalidInputError("the envelope cannot be read") from None
        if missing:
            raise InvalidInputError(f"snapshot {missing[0][:12]}… of the envelope is not in the file")

    def _add_body(self, chunk: Row) -> None:
        first, last = self._chunks.add(chunk)
        if first:
            self._body = []
        self._body.append(chunk["data"])
        if not last:
            return
        digest = bytes.fromhex(chunk["sha256"])
        self._records.require_new(BODY.kind, digest)
        packed = _pack_checked(b"".join(self._body), digest, f"body {chunk['sha256'][:12]}…")
        self._body = []
        self._bodies.add(digest)
        self._target.add(schema.bodies, {"tree": self.key, "sha256": digest, "gzip": packed})

    def _add_attempt(self, row: Row) -> None:
        self._attempts += 1
        key = self._expected["node"] + self._expected["response"] + self._attempts
        segments, digest, manifest = row.pop("segments"), row.pop("manifest_digest"), row.pop("manifest")
        self._target.add(schema.attempts, {**row, "key": key})
        place = {"tree": self.key, "attempt": key}
        for ordinal, segment in enumerate(segments):
            if segment not in self._bodies:
                raise InvalidInputError(f"segment {ordinal} of the request is not in the file")
            self._target.add(schema.requests, {**place, "ordinal": ordinal, "segment": segment})
        if (digest is None) != (manifest is None):
            raise InvalidInputError("a manifest needs its hash")
        if manifest is not None:
            packed = _pack_checked(manifest, digest, "the manifest")
            self._target.add(schema.manifests, {**place, "sha256": digest, "gzip": packed})

    def _response_key(self, value: JsonValue, name: str) -> int:
        number: int = COUNT.read(value, name)
        if not 1 <= number <= len(self._responses):
            raise InvalidInputError(f"response {number} is not in the file")
        return self._expected["node"] + number


def _pack_checked(data: bytes, digest: bytes, what: str) -> bytes:
    if hashlib.sha256(data).digest() != digest:
        raise InvalidInputError(f"{what} does not match its hash")
    return pack(data)


class ChunkSequence:
    """Checks that chunks follow one another without a gap."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._name: str | None = None
        self._size = 0
        self._offset = 0

    def add(self, chunk: Row) -> tuple[bool, bool]:
        """Whether the chunk is the first and the last of its bytes."""
        name, size, offset, data = chunk["sha256"], chunk["size"], chunk["offset"], chunk["data"]
        if size > self._limit:
            raise LimitExceededError(f"{size:,} bytes are more than the limit of {self._limit:,}")
        first = offset == 0
        if first:
            self.require_complete()
            self._name, self._size, self._offset = name, size, 0
        elif (name, size, offset) != (self._name, self._size, self._offset):
            raise InvalidInputError("this chunk does not follow the one before")
        self._offset += len(data)
        if self._offset > size or (not data and size):
            raise InvalidInputError("the chunks do not have the size that was announced")
        last = self._offset == size
        if last:
            self._name = None
        return first, last

    def require_complete(self) -> None:
        if self._name is not None:
            raise InvalidInputError(f"the rest of {self._name[:12]}… is missing")


class BlobImporter:
    """Images and recordings of a file: checked against their hashes, written if they are new."""

    def __init__(self, target: ImportTarget) -> None:
        self._target = target
        self._chunks = ChunkSequence(BLOB_LIMIT)
        self._read = BLOB.reader()
        self._incoming: IncomingBlob | None = None
        self._digest = hashlib.sha256()
        self.known: set[str] = set()
        self.missing = 0

    def add(self, record: Record) -> None:
        chunk = self._read(record)
        ref, data = chunk["sha256"], chunk["data"]
        if chunk["missing"]:
            self.known.add(ref)
            self.missing += not self._target.has_blob(ref)
            return
        if data is None or chunk["size"] is None:
            raise InvalidInputError("a blob needs its size and data")
        first, last = self._chunks.add(chunk)
        if first:
            self._digest = hashlib.sha256()
            self._incoming = self._target.blob(ref)
        self._digest.update(data)
        if self._incoming is not None:
            self._incoming.write(data)
        if not last:
            return
        if self._digest.hexdigest() != ref:
            self.discard()
            raise InvalidInputError(f"blob {ref[:12]}… does not match its hash")
        if self._incoming is not None:
            self._incoming.finish()
            self._incoming = None
        self.known.add(ref)

    def require_complete(self) -> None:
        self._chunks.require_complete()

    def discard(self) -> None:
        """Remove what is written of a blob that is not complete."""
        if self._incoming is not None:
            self._incoming.drop()
            self._incoming = None
