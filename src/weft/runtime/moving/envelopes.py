"""Requests in layers in a file: written as they are kept, read with everything that they point to."""

import hashlib
import json
from collections.abc import Collection
from typing import Any

from weft.context.layers.stored import named_snapshots
from weft.errors import InvalidInputError
from weft.interop.weft_json import Record
from weft.runtime.moving.fields import Fields
from weft.runtime.moving.notation import base64_of, compact, time_of, unpack
from weft.store.bodies import pack

__all__ = ["envelope_fields", "envelope_record"]

_NAME_LIMIT = 1_000


def envelope_record(row: Any, agent: str, node: str) -> Record:
    return compact(
        record="envelope",
        node=node,
        ordinal=row.ordinal,
        agentId=agent,
        provider=row.provider,
        attempt=row.attempt,
        legacy=bool(row.legacy) or None,
        sha256=row.sha256.hex(),
        data=base64_of(unpack(row.gzip)),
        prefix=base64_of(row.prefix),
        total=row.total,
        predicted=row.predicted,
        cached=row.cached,
        createdAt=time_of(row.created_at),
    )


def envelope_fields(fields: Fields, bodies: Collection[bytes]) -> dict[str, Any]:
    """The columns that the record itself says; `bodies` are the hashes that the file has brought."""
    digest, data = fields.digest("sha256"), fields.data("data")
    if hashlib.sha256(data).digest() != digest:
        raise fields.wrong("the envelope does not match its hash")
    try:
        # Bodies are not held while a file is read, so lists are not looked into; verifying does.
        named = named_snapshots(json.loads(data), lambda _: "[]")
        missing = [name for name in named if bytes.fromhex(name) not in bodies]
    except (InvalidInputError, ValueError, RecursionError):
        raise fields.wrong("the envelope cannot be read") from None
    if missing:
        raise fields.wrong(f"snapshot {missing[0][:12]}… of the envelope is not in the file")
    return {
        "ordinal": fields.count("ordinal"),
        "provider": fields.text("provider", limit=_NAME_LIMIT),
        "attempt": fields.optional_ulid("attempt"),
        "legacy": fields.flag("legacy"),
        "sha256": digest,
        "gzip": pack(data),
        "prefix": fields.data("prefix"),
        "total": fields.count("total"),
        "predicted": fields.count("predicted"),
        "cached": fields.optional_count("cached"),
        "created_at": fields.time("createdAt"),
    }
