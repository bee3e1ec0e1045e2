"""Timestamps: requests to an authority (RFC 3161), the offline check of tokens, and the stored ones."""

import contextlib
import hashlib
import http.client
import secrets
import ssl
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, cast
from urllib.parse import urlsplit

import orjson
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from rfc3161_client import TimeStampResponse, VerifierBuilder, decode_timestamp_response
from sqlalchemy import select

from weft.errors import InvalidInputError, UnavailableError, WeftError
from weft.provenance.damaged_rows import fetch
from weft.provenance.findings import Findings
from weft.provenance.fingerprints import timestamp_fingerprint
from weft.provenance.replay import EventRecord
from weft.provenance.table_checks import Inspection
from weft.store import schema
from weft.store.session import Session
from weft.store.transaction import GROVE
from weft.tree.json_names import to_microseconds

_ANSWER_LIMIT = 1024 * 1024
_ANCHOR_LIMIT = 1024 * 1024
_VERSION_1 = bytes.fromhex("020101")
_SHA256_IMPRINT = bytes.fromhex("3031300d060960864801650304020105000420")
_WANTS_CERTIFICATE = bytes.fromhex("0101ff")
_SHA256_OID = x509.ObjectIdentifier("2.16.840.1.101.3.4.2.1")


@dataclass(frozen=True, slots=True)
class TimestampToken:
    """What an authority answered, with the certificates it was checked against."""

    response: bytes
    certificates: bytes
    time: datetime


def check_authority(address: str) -> str:
    """An address an authority can have: http or https, a host, nothing secret."""
    try:
        parts = urlsplit(address)
        named = parts.hostname is not None and parts.port != 0
    except ValueError:
        raise InvalidInputError(f"{address[:80]!r} is not an address") from None
    if parts.scheme not in {"http", "https"} or not named:
        raise InvalidInputError(
            f"{address[:80]!r} is not a timestamp authority", hint="give its http:// or https:// address"
        )
    if parts.username is not None or parts.password is not None:
        raise InvalidInputError("an authority's address is kept in the grove: leave the password out")
    if not address.isascii() or any(character <= " " for character in address):
        raise InvalidInputError(f"{address[:80]!r} is not an address")
    return address


def load_anchors(pem: bytes) -> list[x509.Certificate]:
    """Trusted certificates from a PEM file."""
    if len(pem) > _ANCHOR_LIMIT:
        raise InvalidInputError(f"a file of trusted certificates has at most {_ANCHOR_LIMIT:,} bytes")
    with _understood("the file holds no certificates", hint="export the authority's certificate as PEM"):
        return x509.load_pem_x509_certificates(pem)


def request_token(address: str, digest: bytes, anchors: bytes, *, timeout: float = 10.0) -> TimestampToken:
    """Ask an authority to certify a digest, and check its answer.

    Only the digest leaves the machine.
    """
    chain = load_anchors(anchors)
    nonce = secrets.randbits(63) | 1 << 62
    answer = _post(address, _query(digest, nonce), timeout)
    response = _decode(answer)
    _verify(response, digest, chain, nonce=nonce)
    certificates = b"".join(certificate.public_bytes(Encoding.PEM) for certificate in chain)
    return TimestampToken(answer, certificates, _time_of(response))


def _query(digest: bytes, nonce: int) -> bytes:
    """A TimeStampReq over the digest itself.

    The library would hash it once more, and then no other tool could check the token
    against the hash that Weft shows.
    """
    if len(digest) != 32:
        raise InvalidInputError("only SHA-256 hashes are certified")
    fields = (
        _VERSION_1 + _SHA256_IMPRINT + digest + b"\x02\x08" + nonce.to_bytes(8, "big") + _WANTS_CERTIFICATE
    )
    return b"\x30" + len(fields).to_bytes(1, "big") + fields


def certified_time(answer: bytes, digest: bytes, certificates: bytes) -> datetime:
    """When the digest was certified. Raises where the token is over another digest, or not signed by a trusted certificate."""
    response = _decode(answer)
    _verify(response, digest, load_anchors(certificates), nonce=None)
    return _time_of(response)


def _decode(answer: bytes) -> TimeStampResponse:
    with _understood("the authority's answer is not a timestamp"):
        response = decode_timestamp_response(answer)
        status, words = response.status, list(response.status_string)
    if status != 0:
        reason = "; ".join(words)
        raise InvalidInputError(f"the authority refused: {reason or f'status {status}'}"[:300])
    return response


def _verify(
    response: TimeStampResponse, digest: bytes, anchors: list[x509.Certificate], nonce: int | None
) -> None:
    builder = VerifierBuilder() if nonce is None else VerifierBuilder().nonce(nonce)
    for anchor in dict.fromkeys(anchors):
        builder = builder.add_root_certificate(anchor)
    with _understood("the timestamp does not hold"):
        imprint = response.tst_info.message_imprint
        if imprint.hash_algorithm != _SHA256_OID:
            raise InvalidInputError("the timestamp is over another kind of hash")
        builder.build().verify(response, digest)


def _time_of(response: TimeStampResponse) -> datetime:
    with _understood("the timestamp has no time"):
        moment = response.tst_info.gen_time
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


@contextlib.contextmanager
def _understood(otherwise: str, *, hint: str | None = None) -> Generator[None]:
    """Map every error about bytes from outside: the libraries that read them raise almost anything."""
    try:
        yield
    except WeftError:
        raise
    except Exception as error:
        raise InvalidInputError(f"{otherwise}: {error}"[:300], hint=hint) from error
    except BaseException as error:
        # What is written in Rust panics beside all other errors.
        if type(error).__name__ != "PanicException":
            raise
        raise InvalidInputError(f"{otherwise}: it cannot be read", hint=hint) from error


def _post(address: str, body: bytes, timeout: float) -> bytes:
    """One request, no redirects, no proxies, an answer of bounded size."""
    parts = urlsplit(check_authority(address))
    host = parts.hostname or ""
    connection = (
        http.client.HTTPSConnection(host, parts.port, timeout=timeout, context=ssl.create_default_context())
        if parts.scheme == "https"
        else http.client.HTTPConnection(host, parts.port, timeout=timeout)
    )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    headers = {"Content-Type": "application/timestamp-query", "Accept": "application/timestamp-reply"}
    try:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        if answer.status != 200:
            raise UnavailableError(f"the authority answered with status {answer.status}")
        data = answer.read(_ANSWER_LIMIT + 1)
    except (OSError, http.client.HTTPException) as error:
        reason = str(error) or type(error).__name__
        raise UnavailableError(f"the authority does not answer: {reason}"[:300]) from error
    finally:
        connection.close()
    if len(data) > _ANSWER_LIMIT:
        raise UnavailableError(f"the authority's answer has more than {_ANSWER_LIMIT:,} bytes")
    return data


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
