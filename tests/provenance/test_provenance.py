"""Where a node comes from: the view, the raw bytes, the requests."""

import hashlib
from dataclasses import replace
from datetime import timedelta

import orjson
import pytest
from sqlalchemy import func, select
from tests.attempts import RecordAttempt
from tests.covers import covers
from tests.provenance.small import BODY, MOMENT, answer

import weft
from weft.errors import NotFoundError, StorageError
from weft.provenance.findings import Verdict
from weft.provenance.node_columns import ancestry
from weft.store import schema
from weft.store.packed_bodies import load_body
from weft.store.request_records import manifest_of, request_segments
from weft.tree.attempt import AttemptOutcome, RawResponse

SEGMENTS = [b'{"system":"Calm","messages":[', b'{"role":"user"}', b"]}"]


def record(
    grove: weft.Grove,
    parent: weft.grove.node.NodeHandle,
    response: RawResponse | None = None,
    manifest: bytes = b'{"kept":1}',
) -> str:
    return grove.perform(
        RecordAttempt(
            tree=parent.value.tree_id,
            parent=parent.id,
            agent="sage",
            outcome=AttemptOutcome.RUNNING if response is None else AttemptOutcome.COMPLETE,
            segments=SEGMENTS,
            manifest=manifest,
            response=response,
        )
    )


@covers("provenance.one-view", "provenance.raw-on-demand", "response.kept-with-the-node")
def test_a_models_node_shows_its_chain_its_provider_and_the_bytes_on_demand(fresh_loom: weft.Grove) -> None:
    fresh_loom.add_agent("sage", model_ref="local:sample")
    tree = fresh_loom.plant("T", "one")
    asked = tree.root.say("Why?")
    seen = asked.manifest()
    attempt = record(fresh_loom, asked, manifest=orjson.dumps(seen.stored()))
    said = asked.say("Because.", author="sage", response=replace(answer(), attempt=attempt))
    assert fresh_loom.verify().findings == ()
    shown = said.provenance()
    value = shown.value
    assert (value.chain, value.report.nodes) == (Verdict.VALID, 3)
    assert (value.provider, value.model, value.request_id) == ("sample", "sample-1", "req-1")
    assert (value.requested_at, value.latency_ms) == (MOMENT, 0)
    assert value.usage is not None
    assert value.usage.total == 5
    assert [source.content_hash for source in value.sources] == [asked.value.content_hash]
    assert (value.author, value.author_type, value.certified_at) == ("sage", "model", None)
    assert shown.raw_response == BODY
    assert shown.request == b"".join(SEGMENTS)
    assert value.request_sha256 == hashlib.sha256(b"".join(SEGMENTS)).hexdigest()
    assert shown.manifest == seen
    mine = asked.provenance()
    assert (mine.raw_response, mine.request, mine.manifest, mine.value.provider) == (None, None, None, None)


@covers(
    "request.content-addressed-segments", "request.manifest-and-body-hash", "request.rebuilt-byte-for-byte"
)
def test_requests_share_segments_and_are_rebuilt_byte_for_byte(fresh_loom: weft.Grove) -> None:
    fresh_loom.add_agent("sage", model_ref="local:sample")
    tree = fresh_loom.plant("T", "one")
    for number in range(3):
        record(fresh_loom, tree.root, answer(request_id=f"req-{number}"))
    with fresh_loom.caller.executor.store.read() as session:
        attempts = session.execute(select(schema.attempts)).all()
        assert len({row.request for row in attempts}) == 1
        for row in attempts:
            body = b"".join(request_segments(session, row.tree, row.key))
            assert body == b"".join(SEGMENTS)
            assert hashlib.sha256(body).digest() == row.request
            assert manifest_of(session, row.tree, row.key) == b'{"kept":1}'
        assert session.execute(select(func.count()).select_from(schema.bodies)).scalar() == 4
        with pytest.raises(NotFoundError):
            load_body(session, 1, bytes(32))
    assert fresh_loom.verify().valid


@covers("response.errors-kept")
def test_an_error_response_is_kept_with_its_attempt(fresh_loom: weft.Grove) -> None:
    fresh_loom.add_agent("sage", model_ref="local:sample")
    tree = fresh_loom.plant("T", "one")
    failed = RecordAttempt(
        tree=tree.id,
        parent=tree.root.id,
        agent="sage",
        outcome=AttemptOutcome.FAILED,
        segments=SEGMENTS,
        response=answer(b"HTTP/1.1 500\r\n\r\n"),
        error="out of luck",
        started_at=MOMENT,
        ended_at=MOMENT + timedelta(seconds=1),
    )
    attempt = fresh_loom.perform(failed)
    with fresh_loom.caller.executor.store.read() as session:
        row = session.execute(select(schema.attempts)).one()
        response = session.execute(select(schema.responses)).one()
        assert (row.ulid, row.response, row.error) == (attempt, response.key, "out of luck")
        assert load_body(session, row.tree, response.sha256) == b"HTTP/1.1 500\r\n\r\n"
    assert fresh_loom.verify().valid


def test_ancestry_follows_versions_and_merges_and_nothing_else(fresh_loom: weft.Grove) -> None:
    tree = fresh_loom.plant("T", "one", mode="buffer")
    second = tree.root.say("two")
    edited = second.edit("2")
    left, right = edited.say("left"), edited.say("right")
    aside = tree.root.say("aside")
    merged = left.merge(right, content="both")
    below = merged.say("end", context=[aside])
    tree.root.say("elsewhere")
    report = below.verify(path=True)
    assert (report.verdict, report.nodes) == (Verdict.VALID, 7)
    with fresh_loom.caller.executor.store.read() as session:
        keys = {row.ulid: row.key for row in session.execute(select(schema.nodes))}
        tree_key = session.execute(select(schema.trees.c.key)).scalar_one()
        found = ancestry(session, tree_key, keys[below.id])
    assert found == sorted(keys[node.id] for node in (tree.root, edited, left, right, aside, merged, below))


def test_a_damaged_node_is_told_rather_than_shown(fresh_loom: weft.Grove) -> None:
    tree = fresh_loom.plant("T", "one")
    second = tree.root.say("two")
    blobs = fresh_loom.caller.executor.store.blobs
    ref = fresh_loom.put_blob(b"bytes")
    assert blobs.digest(ref) == ref
    assert blobs.digest("0" * 64) is None
    assert "valid" in repr(second.provenance())
    with pytest.raises((NotFoundError, StorageError)):
        fresh_loom.evidence.provenance(tree.id, "zzzz")
