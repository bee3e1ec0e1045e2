"""Requests to a timestamp authority (RFC 3161), and the offline check of its tokens."""

import contextlib
import http.client
import secrets
import ssl
from collections.abc import Generator
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from rfc3161_client import TimeStampResponse, VerifierBuilder, decode_timestamp_response

from weft.errors import InvalidInputError, UnavailableError, WeftError

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
    kept = b"".join(certificate.public_bytes(Encoding.PEM) for certificate in chain)
    return TimestampToken(answer, kept, _time_of(response))


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
