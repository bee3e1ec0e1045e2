"""The exact bytes of the wire, as stream events and as a record of each exchange."""

import hashlib
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

Header: TypeAlias = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRequest:
    """A request, as it was sent; keys are replaced in its headers and address, never in its body."""

    method: str
    url: str
    headers: tuple[Header, ...]
    body: bytes
    segments: tuple[bytes, ...]
    """The body in pieces (system, each message, the rest): joined they are the body."""

    @property
    def sha256(self) -> str:
        """Of the body."""
        return hashlib.sha256(self.body).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class WireHead:
    """The head of a response."""

    status: int
    headers: tuple[Header, ...] = ()
    reason: bytes = b""
    version: bytes = b"HTTP/1.1"

    def header(self, name: str) -> str | None:
        wanted = name.lower().encode()
        return next((value.decode("latin-1") for key, value in self.headers if key.lower() == wanted), None)

    def __bytes__(self) -> bytes:
        line = b"%s %d %s" % (self.version, self.status, self.reason)
        lines = [line.rstrip(b" "), *(b"%s: %s" % header for header in self.headers)]
        return b"\r\n".join([*lines, b"", b""])


@dataclass(frozen=True, slots=True)
class WireBytes:
    """A piece of a response's body as it came in, without our own key."""

    data: bytes


WireEvent: TypeAlias = WireRequest | WireHead | WireBytes


@dataclass(slots=True)
class WireRecord:
    """Everything that went over the wire for one call, retries too: feed it every event of a stream.

    What is kept with a node is the last exchange; those before it failed.
    """

    exchanges: list["WireExchange"] = field(default_factory=list["WireExchange"])

    def add(self, event: object) -> None:
        """Add a wire event; other events are ignored."""
        match event:
            case WireRequest():
                self.exchanges.append(WireExchange(event))
            case WireHead():
                self.exchanges[-1].answered = event
            case WireBytes():
                self.exchanges[-1].parts.append(event.data)
            case _:
                pass

    @property
    def last(self) -> "WireExchange | None":
        return self.exchanges[-1] if self.exchanges else None


@dataclass(slots=True)
class WireExchange:
    """One request and what came back, as far as it came."""

    sent: WireRequest
    answered: WireHead | None = None
    parts: list[bytes] = field(default_factory=list[bytes])

    @property
    def body(self) -> bytes:
        return b"".join(self.parts)

    @property
    def response(self) -> bytes:
        """Head and body as they came in: the raw response that is kept. Empty if nothing came."""
        return b"" if self.answered is None else bytes(self.answered) + self.body

    @property
    def sha256(self) -> str:
        """Of the raw response."""
        return hashlib.sha256(self.response).hexdigest()

    @property
    def status(self) -> int | None:
        return None if self.answered is None else self.answered.status


_LISTS = frozenset({b'"messages"', b'"contents"', b'"input"', b'"system"', b'"tools"'})
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{},:]')
_TOP = 1
_INSIDE = 2


def cut_body(body: bytes) -> tuple[bytes, ...]:
    """The body in pieces: cut before every element of its lists of messages, and after the last.

    Joined they are the body; a body that is not a JSON object stays whole.
    Linear in the body, and no deeper than it.
    """
    cuts = [0, *_cuts(body), len(body)]
    return tuple(body[start:end] for start, end in pairwise(cuts) if start < end)


def _cuts(body: bytes) -> list[int]:
    cuts: list[int] = []
    depth, key, last, listed = 0, b"", b"", False
    for token in _TOKEN.finditer(body):
        sign = token.group()
        if sign == b":" and depth == _TOP:
            key = last
        elif sign in b"[{":
            depth += 1
            if depth == _INSIDE and sign == b"[" and key in _LISTS:
                listed = True
                cuts.append(token.end())
        elif sign in b"]}":
            if depth == _INSIDE and listed:
                listed = False
                cuts.append(token.start())
            depth -= 1
        elif sign == b"," and depth == _INSIDE and listed:
            cuts.append(token.end())
        last = sign
    return cuts if body[:1] == b"{" else []
