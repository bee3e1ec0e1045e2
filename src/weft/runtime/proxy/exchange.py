"""One request of another program and its answer: all that is recorded of them."""

from dataclasses import dataclass, field
from datetime import datetime

from weft.interop.loose_json import loads, mapping, sequence
from weft.runtime.proxy.client_signs import ClientSigns, system_text
from weft.runtime.proxy.history import HistoryPart, canonical, digest_of, read_history, without_marks
from weft.runtime.proxy.replies import Reply, parse_reply
from weft.runtime.proxy.wires import Wire
from weft.tree.attempt import AttemptOutcome, RawResponse
from weft.tree.json import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request and its answer, as far as it came."""

    wire: Wire
    signs: ClientSigns
    token: int
    """The key of the client's token; 0 is the owner's own."""
    attempt: str
    """The id of the call."""
    provider: str
    model: str
    """The upstream's own name of it."""
    policy: str
    received: bytes = field(repr=False)
    """The body as it came."""
    sent: bytes = field(repr=False)
    """The body as it was forwarded."""
    manifest: bytes = field(default=b"{}", repr=False)
    changed: str = ""
    """What the policy changed, in words."""
    requested_at: datetime
    responded_at: datetime | None = None
    status: int | None = None
    """None: there was no answer."""
    request_id: str | None = None
    is_stream: bool = False
    head: bytes = field(default=b"", repr=False)
    body: bytes = field(default=b"", repr=False)
    error: str = ""
    """Why the answer is not whole, where the proxy knows."""
    added: int = 0
    """Microseconds of Weft's own before the first byte."""
    first_byte: int | None = None
    """Microseconds to the first byte, the upstream's share with it."""

    @property
    def request(self) -> JsonObject:
        return mapping(loads(self.received))

    def reply(self) -> Reply:
        if self.status is None:
            return Reply(error=self.error or "no answer")
        return parse_reply(self.wire, self.body, status=self.status, is_stream=self.is_stream)

    def response(self, reply: Reply) -> RawResponse | None:
        """The raw answer, head and body as they came."""
        if self.status is None:
            return None
        return RawResponse(
            body=self.head + self.body,
            provider=self.provider,
            model=self.model,
            attempt=self.attempt,
            request_id=self.request_id,
            status_code=self.status,
            requested_at=self.requested_at,
            responded_at=self.responded_at,
            usage=reply.usage,
        )


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """What a request has besides its history, each hashed apart."""

    history: tuple[HistoryPart, ...]
    system: str
    system_hash: bytes
    tools_hash: bytes
    has_tools: bool

    @classmethod
    def of(cls, wire: Wire, body: JsonObject) -> "RequestFacts":
        system, tools = system_text(body), sequence(body.get("tools"))
        return cls(
            history=read_history(wire, body),
            system=system,
            system_hash=digest_of("system", system),
            tools_hash=digest_of("tools", canonical(without_marks(tools))),
            has_tools=bool(tools),
        )


def outcome_of(exchange: Exchange, reply: Reply) -> AttemptOutcome:
    """Complete, or interrupted after the first words, or failed."""
    if reply.is_complete and not exchange.error:
        return AttemptOutcome.COMPLETE
    has_words = any(part.key for choice in reply.choices for part in choice)
    return AttemptOutcome.INTERRUPTED if has_words else AttemptOutcome.FAILED
