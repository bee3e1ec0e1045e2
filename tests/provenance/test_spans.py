"""Finished attempts as OpenTelemetry spans, derived from what is stored."""

import http.server
import threading
from collections.abc import Generator

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from tests.covers import covers

import weft
from weft import testing
from weft.errors import ModelError, ProviderError, Trouble, UnavailableError
from weft.runtime.events.log import EventLog
from weft.runtime.evidence import span_names as names
from weft.runtime.evidence.span_export import AttemptExporter, context_of, otlp_exporter
from weft.testing import Reply, Scripted

SECRET = "the kingfisher sleeps"


@pytest.fixture
def spoken() -> Generator[weft.Grove]:
    """A tree with two answers, one of them of two nodes, and a call that failed."""
    broken = Reply(error=ProviderError(Trouble.INVALID_REQUEST, "it broke"))
    model = Scripted(["One answer.", SECRET, "Another.", broken, broken])
    with testing.grove(model=model) as grove:
        grove.add_agent("Muse", model_ref="scripted:muse")
        tree = grove.plant("Marie", f"Why? {SECRET}")
        (first,) = tree.root.generate()
        first.say("And then?").generate(n=2)
        with pytest.raises(ModelError):
            tree.root.generate()
        yield grove


def exporter(grove: weft.Grove, target: SpanExporter, **more) -> AttemptExporter:
    return AttemptExporter(EventLog(grove.caller.store, grove.caller.actor), target, **more)


def facts(span) -> dict:
    return dict(span.attributes or {})


@covers("otel.attempts-as-spans")
def test_each_finished_attempt_is_a_span_with_the_attributes_of_generative_ai(spoken):
    memory = InMemorySpanExporter()
    sender = exporter(spoken, memory)
    sent, complete = sender.send_batch()
    spans = memory.get_finished_spans()
    assert complete
    assert sent == len(spans) >= 3
    (tree,) = spoken.trees()
    first, *others = sorted(spans, key=lambda span: span.start_time)
    assert first.name == "chat muse"
    assert first.kind is SpanKind.CLIENT
    assert first.end_time >= first.start_time > 10**18
    assert facts(first)[names.OPERATION] == "chat"
    assert facts(first)[names.PROVIDER] == "scripted"
    assert facts(first)[names.REQUEST_MODEL] == "muse"
    assert facts(first)[names.CONVERSATION] == tree.id
    assert facts(first)[names.AGENT_NAME] == "Muse"
    assert facts(first)[names.INPUT_TOKENS] > 0
    assert facts(first)[names.PARENT_NODE] == tree.root.id
    assert spoken.read.find(facts(first)[names.NODE]).text == "One answer."
    assert not first.links
    failed = [span for span in spans if span.status.status_code is StatusCode.ERROR]
    assert [facts(span)[names.OUTCOME] for span in failed] == ["failed"]
    assert "it broke" in failed[0].status.description
    assert names.NODE not in facts(failed[0])
    # The attempt that the answer above came from is a link, and its span has the ids that the link names.
    later = [span for span in others if span not in failed]
    assert later
    for span in later:
        assert [link.context for link in span.links] == [context_of(facts(first)[names.ATTEMPT])]
    assert first.context == context_of(facts(first)[names.ATTEMPT])


@covers("otel.content-off")
def test_what_was_said_is_sent_only_if_it_is_asked_for(spoken):
    quiet, loud = InMemorySpanExporter(), InMemorySpanExporter()
    exporter(spoken, quiet).send_batch()
    assert SECRET not in str([span.to_json() for span in quiet.get_finished_spans()])
    exporter(spoken, loud, contents=True).send_batch()
    told = [facts(span) for span in loud.get_finished_spans()]
    assert any(SECRET in each.get(names.OUTPUT_MESSAGES, "") for each in told)


class Refusing(InMemorySpanExporter):
    """A collector that is away."""

    def export(self, spans):
        del spans
        return SpanExportResult.FAILURE


@covers("otel.resumes-at-a-cursor")
def test_what_was_sent_is_not_sent_again_and_what_was_refused_is(spoken):
    sender = exporter(spoken, Refusing())
    with pytest.raises(UnavailableError, match="did not accept"):
        sender.send_batch()
    assert sender.cursor is None
    memory = InMemorySpanExporter()
    whole = exporter(spoken, memory)
    whole.send_batch()
    count = len(memory.get_finished_spans())
    # From every event on: what is left of the same spans, each once.
    for event in spoken.events().events:
        rest = InMemorySpanExporter()
        exporter(spoken, rest, cursor=event.cursor).send_batch()
        ids = [span.context.span_id for span in rest.get_finished_spans()]
        assert len(set(ids)) == len(ids) <= count
    again = InMemorySpanExporter()
    exporter(spoken, again, cursor=whole.cursor).send_batch()
    assert again.get_finished_spans() == ()
    (tree,) = spoken.trees()
    with pytest.raises(ModelError):
        tree.root.generate()
    more = InMemorySpanExporter()
    exporter(spoken, more, cursor=whole.cursor).send_batch()
    assert len(more.get_finished_spans()) == 1


@pytest.mark.outer
@covers("otel.attempts-as-spans")
def test_a_collector_gets_them_by_otlp(spoken):
    received: list[ExportTraceServiceRequest] = []

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            received.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args) -> None:  # noqa: A002 - the name in the base class
            del format, args

    with http.server.HTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        target = otlp_exporter(f"http://127.0.0.1:{server.server_port}/v1/traces", {"x-team": "ours"})
        exporter(spoken, target).send_batch()
        target.shutdown()
        server.shutdown()
        thread.join()
    spans = [
        span
        for each in received
        for part in each.resource_spans
        for scope in part.scope_spans
        for span in scope.spans
    ]
    assert {span.name for span in spans} == {"chat muse"}
