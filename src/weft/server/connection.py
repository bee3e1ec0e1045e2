"""Connections: a client that stays silent, sends slowly or stops reading is dropped."""

import asyncio
import json
import socket
from collections.abc import Callable
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from weft.errors import InvalidInputError
from weft.server.headers import ANSWER_HEADERS

_HEAD_TIMEOUT = 10.0
"""Seconds for the head of a request to arrive, and for the rest of a body that is not read."""
_WRITE_TIMEOUT = 60.0
"""Seconds in which a client reads nothing of what it is sent."""
_PROBE_AFTER, _PROBE_EVERY, _PROBES = 60, 15, 4
"""Of TCP's own probes: a client that is gone without a word is noticed after two minutes."""


class GuardedConnection(H11Protocol):
    """HTTP/1.1 with limits of time on both directions."""

    head_timeout = _HEAD_TIMEOUT
    write_timeout = _WRITE_TIMEOUT
    _reading: asyncio.TimerHandle | None = None
    _writing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        _probe(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        if self._reading is None and self._is_idle:
            self._await_head()
        super().data_received(data)
        if not self._is_idle:
            self._reading = _cancel(self._reading)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # The answer came before the whole body, whose rest is thrown away, or the next head has begun.
        if self._is_idle and (self.conn.their_state is h11.SEND_BODY or self.conn.trailing_data[0]):
            self._await_head()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._writing = self._writing or self._later(self.write_timeout)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._writing = _cancel(self._writing)

    def connection_lost(self, exc: Exception | None) -> None:
        self._reading, self._writing = _cancel(self._reading), _cancel(self._writing)
        super().connection_lost(exc)

    def _unsupported_upgrade_warning(self) -> None:
        """A client that asks for another protocol is answered in this one; that is no news."""

    def send_400_response(self, msg: str) -> None:
        """In the form of every error; what was sent is not repeated."""
        del msg
        error = InvalidInputError("the request is not valid HTTP, or its head is larger than 16,384 bytes")
        body = json.dumps({"error": error.message, "code": error.code, "retry": error.row.retry}).encode()
        headers = [
            *ANSWER_HEADERS,
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    @property
    def _is_idle(self) -> bool:
        """True if no request is being answered."""
        # Before the first request there is none, whatever uvicorn's annotation says.
        cycle = cast("Any", self.cycle)
        return cycle is None or bool(cycle.response_complete)

    def _await_head(self) -> None:
        self._reading = _cancel(self._reading)
        self._reading = self._later(self.head_timeout)

    def _later(self, wait: float) -> asyncio.TimerHandle:
        # Aborted, not closed: what is not read would be waited for.
        abort: Callable[[], None] = self.transport.abort
        return self.loop.call_later(wait, abort)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


def _probe(transport: asyncio.Transport) -> None:
    """Let the system probe a silent client, and give up on one that confirms nothing."""
    connection = transport.get_extra_info("socket")
    if connection is None or connection.family not in {socket.AF_INET, socket.AF_INET6}:
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", _PROBE_AFTER),
        ("TCP_KEEPINTVL", _PROBE_EVERY),
        ("TCP_KEEPCNT", _PROBES),
        ("TCP_USER_TIMEOUT", int(_WRITE_TIMEOUT * 1_000)),
    ):
        # Not every system has all of them.
        if (option := getattr(socket, name, None)) is not None:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
