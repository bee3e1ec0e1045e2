"""Clients that send what programs send, recorded without a network: request and answer as bytes."""

import itertools
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.proxy.upstreams import SHAPES, Answer

import weft
from weft.ids import new_ulid
from weft.runtime.proxy.client_signs import read_signs
from weft.runtime.proxy.exchange import Exchange
from weft.runtime.proxy.history import HistoryPart, Side, history_part, ordered, read_history
from weft.runtime.proxy.recording import RecordedExchange, RecordExchange, StartExchange
from weft.runtime.proxy.sessions import ProxyRecords
from weft.runtime.proxy.wires import Wire
from weft.tree.content import blocks_of

_PATHS = {wire: f"/{wire.path}" for wire in Wire}


@dataclass
class Desk:
    """Records the exchanges of one token, and says what trees they made."""

    grove: weft.Grove
    token: int = 1
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    def send(
        self,
        wire: Wire,
        body: dict[str, Any],
        answer: Answer | None = None,
        *,
        headers: dict[str, str] | None = None,
        cut: int | None = None,
        error: str = "",
        is_exact: bool = True,
        started: datetime | None = None,
    ) -> RecordedExchange:
        """Record one exchange; `cut` is how much of a streamed answer came.

        With `started`, only the request is written, as if the server had ended then. Not exact: the path has more than the history says, as after an interruption.
        """
        number = next(self.numbers)
        given = {"model": "model-1", **body}
        said = Answer(text=f"answer {number}") if answer is None else answer
        data = json.dumps(given).encode()
        if said.status != 200:
            reply = json.dumps({"error": {"message": said.message, "type": "x"}}).encode()
        else:
            whole, events = SHAPES[_PATHS[wire]](said, number, given)
            is_stream = bool(given.get("stream"))
            reply = b"".join(events) if is_stream else json.dumps(whole).encode()
        executor = self.grove.caller.executor
        exchange = Exchange(
            wire=wire,
            signs=read_signs(wire, headers or {}, given),
            token=self.token,
            attempt=new_ulid(executor.clock(), executor.entropy),
            provider="lab",
            model="model-1",
            policy="record",
            received=data,
            sent=data,
            requested_at=started or datetime.now(UTC),
            responded_at=datetime.now(UTC),
            status=said.status,
            is_stream=bool(given.get("stream")) and said.status == 200,
            head=b"HTTP/1.1 %d OK\r\n\r\n" % said.status,
            body=reply if cut is None else reply[:cut],
            error=error,
        )
        if started is not None:
            return RecordedExchange(started=self.grove.perform(StartExchange(exchange=exchange)), reply=None)
        recorded = self.grove.perform(RecordExchange(exchange=exchange))
        if is_exact:
            self.check(wire, given, recorded)
        return recorded

    def check(self, wire: Wire, body: dict[str, Any], recorded: RecordedExchange) -> None:
        """The path of a turn is the history that was sent."""
        if recorded.started.purpose.is_side or recorded.started.link in {"last reply", "transcript"}:
            return
        sent = [part.key for part in read_history(wire, body) if part.key]
        path = self.records.history(recorded.started.tree, recorded.started.node)
        keys = [key for node in path for key in keys_of(node)]
        assert keys[-len(sent) :] == sent
        assert "previous_response_id" in body or keys == sent

    @property
    def records(self) -> ProxyRecords:
        return ProxyRecords(self.grove.caller)

    def texts(self, recorded: RecordedExchange) -> list[str]:
        """The words of the path that a request's answer ended."""
        node = recorded.reply or recorded.started.node
        return [each.text for each in self.grove.read.path(recorded.started.tree, node).nodes[1:]]


def keys_of(node: Any) -> list[bytes]:
    """The keys of a node's blocks, as those of a history."""
    side = Side.MODEL if node.role == "assistant" else Side.CLIENT
    parts: list[HistoryPart] = [history_part(side, 0, block) for block in blocks_of(node.content)]
    return [part.key for part in ordered(parts) if part.key]
