"""Finished attempts as OpenTelemetry spans, sent by an exporter; what was sent is remembered as a cursor."""

import functools
import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from weft.errors import UnavailableError
from weft.ids import ALPHABET
from weft.runtime.events.log import EventLog
from weft.runtime.evidence import span_names as names
from weft.runtime.evidence.finished_attempts import FinishedAttempt, read_finished
from weft.tree.attempt import AttemptOutcome
from weft.tree.json import JsonValue
from weft.tree.json_names import to_microseconds
from weft.tree.tree import Mode

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import SpanContext

_MOST_REMEMBERED = 10_000
_INPUTS = ("messages", "contents", "input", "prompt")
_SYSTEMS = ("system", "systemInstruction", "system_instruction", "instructions")
_MISSING = 'pip install "weft-loom[otel]"'


@dataclass(slots=True)
class AttemptExporter:
    """Sends every finished attempt as a span, once; it reads what is stored, so that no generation waits for it."""

    log: EventLog
    exporter: "SpanExporter"
    cursor: str | None = None
    """Where to begin; None: with the first event."""
    contents: bool = False
    """Send what was said, too."""
    _sent: OrderedDict[str, None] = field(default_factory=OrderedDict[str, None])

    def send_batch(self) -> tuple[int, bool]:
        """Send what the next events ended: how many spans, and whether there is no more now.

        The cursor moves only if the exporter has taken them.
        """
        batch = read_finished(self.log, self.cursor, contents=self.contents)
        # A later event of the same run may name an attempt again.
        fresh = {each.id: each for each in batch.attempts if each.id not in self._sent}
        if fresh:
            self._export(spans_of(list(fresh.values())))
        for attempt in fresh:
            self._sent[attempt] = None
            if len(self._sent) > _MOST_REMEMBERED:
                self._sent.popitem(last=False)
        self.cursor = batch.cursor
        return len(fresh), batch.complete

    def _export(self, spans: "Sequence[ReadableSpan]") -> None:
        from opentelemetry.sdk.trace.export import SpanExportResult  # noqa: PLC0415 - an extra

        if self.exporter.export(spans) is not SpanExportResult.SUCCESS:
            raise UnavailableError(
                "the collector did not accept the spans", hint="check its address; nothing is lost"
            )


def otlp_exporter(endpoint: str | None, headers: Mapping[str, str]) -> "SpanExporter":
    """OTLP over HTTP; without an endpoint, as the OTEL_EXPORTER_OTLP_… variables say."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 - an extra
            OTLPSpanExporter,
        )
    except ModuleNotFoundError:
        raise UnavailableError("OpenTelemetry is not installed", hint=_MISSING) from None
    return OTLPSpanExporter(endpoint=endpoint, headers=dict(headers))


def spans_of(attempts: Sequence[FinishedAttempt]) -> "list[ReadableSpan]":
    """A span for each; ids are derived from the attempts' own, so that sending one again is no second span."""
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - an extra
    from opentelemetry.sdk.trace import ReadableSpan  # noqa: PLC0415 - an extra
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope  # noqa: PLC0415 - an extra
    from opentelemetry.trace import Link, SpanKind  # noqa: PLC0415 - an extra
    from opentelemetry.trace.status import Status, StatusCode  # noqa: PLC0415 - an extra

    resource, scope = Resource.create({"service.name": "weft"}), InstrumentationScope("weft")
    spans: list[ReadableSpan] = []
    for each in attempts:
        failed = each.outcome is not AttemptOutcome.COMPLETE
        spans.append(
            ReadableSpan(
                name=f"{_operation(each)} {each.model}",
                context=context_of(each.id),
                resource=resource,
                attributes=_attributes(each),
                links=[Link(context_of(each.previous))] if each.previous else (),
                kind=SpanKind.CLIENT,
                status=Status(StatusCode.ERROR, each.error or each.outcome)
                if failed
                else Status(StatusCode.UNSET),
                start_time=to_microseconds(each.started_at) * 1_000,
                end_time=to_microseconds(each.ended_at) * 1_000,
                instrumentation_scope=scope,
            )
        )
    return spans


def context_of(attempt: str) -> "SpanContext":
    """The trace of an attempt has its ULID's 128 bits."""
    from opentelemetry.trace import SpanContext, TraceFlags  # noqa: PLC0415 - an extra

    span = int.from_bytes(hashlib.sha256(attempt.encode()).digest()[:8]) or 1
    return SpanContext(_number(attempt), span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _number(ulid: str) -> int:
    """The 128 bits that a ULID spells."""
    return functools.reduce(lambda number, digit: number * 32 + ALPHABET.index(digit), ulid, 0)


def _operation(attempt: FinishedAttempt) -> str:
    return names.COMPLETION if attempt.mode is Mode.BUFFER else names.CHAT


def _attributes(attempt: FinishedAttempt) -> dict[str, str | int | Sequence[str]]:
    known: dict[str, str | int | Sequence[str] | None] = {
        names.OPERATION: _operation(attempt),
        names.PROVIDER: names.PROVIDERS.get(attempt.provider, attempt.provider),
        names.REQUEST_MODEL: attempt.model,
        names.RESPONSE_MODEL: attempt.response_model,
        names.CONVERSATION: attempt.tree,
        names.AGENT_ID: attempt.agent,
        names.AGENT_NAME: attempt.agent_name,
        names.INPUT_TOKENS: attempt.prompt_tokens,
        names.OUTPUT_TOKENS: attempt.completion_tokens,
        names.CACHE_READ_TOKENS: attempt.cached_read,
        names.CACHE_WRITE_TOKENS: attempt.cached_write,
        names.STATUS_CODE: attempt.status_code,
        names.ERROR_TYPE: None if attempt.outcome is AttemptOutcome.COMPLETE else attempt.outcome.value,
        names.NODE: attempt.nodes[0] if attempt.nodes else None,
        names.NODES: attempt.nodes if len(attempt.nodes) > 1 else None,
        names.PARENT_NODE: attempt.parent,
        names.TREE: attempt.tree,
        names.ATTEMPT: attempt.id,
        names.OUTCOME: attempt.outcome.value,
        names.REQUEST_ID: attempt.request_id,
        **_contents(attempt),
    }
    return {name: value for name, value in known.items() if value is not None}


def _contents(attempt: FinishedAttempt) -> dict[str, str | None]:
    """What was said, where it was asked for."""
    request: Mapping[str, JsonValue] = attempt.request if isinstance(attempt.request, Mapping) else {}
    said: JsonValue = [
        {"role": "assistant", "parts": [{"type": "text", "content": text}]} for text in attempt.texts
    ]
    return {
        names.INPUT_MESSAGES: _first_json(request, _INPUTS),
        names.SYSTEM_INSTRUCTIONS: _first_json(request, _SYSTEMS),
        names.OUTPUT_MESSAGES: json.dumps(said, ensure_ascii=False) if attempt.texts else None,
    }


def _first_json(request: Mapping[str, JsonValue], keys: Sequence[str]) -> str | None:
    value = next((request[key] for key in keys if key in request), None)
    return None if value is None else json.dumps(value, ensure_ascii=False)
