"""Stored timestamps: what each was taken over, and whether its token still certifies that."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, cast

import orjson
from sqlalchemy import select

from weft.errors import WeftError
from weft.provenance.authority import certified_time
from weft.provenance.damaged_rows import fetch
from weft.provenance.fingerprints import timestamp_fingerprint
from weft.provenance.replay import EventRecord
from weft.provenance.report import Findings
from weft.provenance.table_checks import Inspection
from weft.store import schema
from weft.store.session import Session
from weft.store.transaction import GROVE
from weft.tree.json_names import to_microseconds

HEADS_ALGORITHM = "weft-heads-1"


class StampStatus(StrEnum):
    PENDING = "pending"
    CERTIFIED = "certified"
    UNAVAILABLE = "unavailable"


STAMP_STATES = (StampStatus.PENDING, StampStatus.CERTIFIED, StampStatus.UNAVAILABLE)
"""Stored as their index."""


def heads_statement(session: Session) -> str:
    """The ends of all chains of a grove, as one canonical text: what a grove's timestamp is taken over."""
    grove = session.execute(select(schema.grove)).one()
    trees = schema.trees
    rows = session.execute(select(trees.c.ulid, trees.c.events, trees.c.head).order_by(trees.c.ulid))
    heads: list[list[object]] = [[grove.ulid, grove.events, grove.head.hex()]]
    heads.extend([row.ulid, row.events, row.head.hex()] for row in rows if row.head is not None)
    value = {"algorithm": HEADS_ALGORITHM, "grove": grove.ulid, "heads": heads}
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


@dataclass(slots=True)
class CertifiedHeads:
    """The hashes of events that an authority certified."""

    heads: dict[str, dict[int, tuple[bytes, str]]] = field(
        default_factory=dict[str, "dict[int, tuple[bytes, str]]"]
    )
    """Chain → ordinal → hash, and the timestamp that certifies it."""

    def check(self, findings: Findings, chain: str, event: EventRecord) -> None:
        certified = self.heads.get(chain, {}).pop(event.ordinal, None)
        if certified is not None:
            name = f"{chain}/{event.ordinal}"
            findings.compare("event", name, f"hash in timestamp {certified[1]}", event.hash, certified[0])

    def report_missing(self, findings: Findings, chain: str, count: int) -> None:
        for ordinal, (_, stamp) in sorted(self.heads.get(chain, {}).items()):
            findings.missing("event", f"{chain}/{ordinal}", f"the event that timestamp {stamp} is over")
            findings.differs = findings.differs or ordinal > count


def read_certified_heads(session: Session, findings: Findings) -> CertifiedHeads:
    """The heads of chains in the grove's own timestamps."""
    certified = CertifiedHeads()
    stamps = schema.timestamps
    whole = stamps.c.statement.is_not(None)
    for row in fetch(session, findings, stamps, stamps.c.tree == GROVE, whole):
        for chain, ordinal, head in _heads(row.statement):
            certified.heads.setdefault(chain, {})[ordinal] = (head, row.ulid)
    return certified


def _heads(statement: str) -> list[tuple[str, int, bytes]]:
    try:
        value = orjson.loads(statement)
        listed = cast("list[tuple[str, int, str]]", value["heads"])
        return [(str(chain), int(ordinal), bytes.fromhex(head)) for chain, ordinal, head in listed]
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return []


def check_all_stamps(mine: Inspection, hash_of: Callable[[str], bytes | None]) -> None:
    """Every timestamp of a tree, or of the grove, against its target and its fingerprint."""
    rows = mine.fetch(schema.timestamps, schema.timestamps.c.tree == mine.tree)
    _check_rows(mine.findings, rows, hash_of)
    for row in rows:
        mine.compare(row.ulid, timestamp_fingerprint(row._asdict()))


def check_stamps_of(session: Session, findings: Findings, tree: int, hashes: Mapping[str, bytes]) -> None:
    """The timestamps of these nodes."""
    stamps = schema.timestamps
    mine = stamps.c.target.in_(list(hashes))
    _check_rows(findings, fetch(session, findings, stamps, stamps.c.tree == tree, mine), hashes.get)


def _check_rows(findings: Findings, rows: Sequence[Any], hash_of: Callable[[str], bytes | None]) -> None:
    for row in rows:
        findings.timestamps += 1
        _check_stamp(findings, row)
        if row.statement is not None:
            computed = hashlib.sha256(row.statement.encode()).hexdigest()
            findings.compare("timestamp", row.ulid, "statement", row.digest.hex(), computed)
        else:
            known = hash_of(row.target)
            if known is None:
                findings.missing("timestamp", row.ulid, f"node {row.target}")
            else:
                findings.compare("timestamp", row.ulid, "digest", row.digest.hex(), known.hex())


def _check_stamp(findings: Findings, row: Any) -> None:
    certified = STAMP_STATES.index(StampStatus.CERTIFIED)
    if not 0 <= row.status < len(STAMP_STATES) or (row.status == certified) != (row.token is not None):
        findings.differs_in("timestamp", row.ulid, "status", row.status)
    if row.token is None:
        return
    try:
        moment = certified_time(row.token, row.digest, row.certificates or b"")
    except WeftError as error:
        findings.differs_in("timestamp", row.ulid, "token", error.message)
        return
    findings.compare("timestamp", row.ulid, "certified at", row.certified_at, to_microseconds(moment))
