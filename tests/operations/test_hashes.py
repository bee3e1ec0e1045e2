"""Hashes and events: what a node's hash stands for, and that every change leaves a trace."""

import dataclasses
import hashlib
import json
from datetime import UTC, datetime

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from weft.errors import ConflictError, InvalidInputError
from weft.provenance import chain
from weft.provenance.chain import NodeFacts, content_hash, event_hash
from weft.runtime.operations.nodes import Append
from weft.store import schema
from weft.store.lookup import find_tree
from weft.tree.attempt import RawResponse, Usage
from weft.tree.content import Text, ToolCall, content_to_wire
from weft.tree.item import Item
from weft.tree.json_names import from_microseconds, iso

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@covers("hash.sha256-over-canonical-json")
@given(texts, texts)
def test_the_quick_form_is_the_canonical_form(text, name):
    value = {"b": text, "a": [name, None, {"z": text, "y": True}], "n": 12}
    assert chain._canonical_plain(value) == rfc8785.dumps(value)


@covers(
    "hash.sha256-over-canonical-json",
    "hash.covers-identity-and-content",
    "hash.covers-edge-and-sources",
    "hash.covers-lineage-and-attachments",
    "hash.covers-author-and-time",
    "hash.covers-raw-response",
)
def test_a_hash_can_be_recomputed_by_anybody_from_what_is_shown(loom):
    model = loom.add_agent(f"hashed {len(loom.agents())}", model_ref="t:m")
    tree = loom.plant("Marie")
    asked = tree.say("Why?", attachments=[Item(id="a.md", type="note", content="A")])
    body = b'{"id": "1", "text": "Because."}'
    response = RawResponse(body=body, provider="t", model="m", usage=Usage(prompt=3))
    answer = asked.say("Because.", context=[tree.root], author=model.id, response=response)
    edited = asked.edit("Why now?")
    for node in (asked, answer, edited):
        value = tree.node(node.id).value
        sources = [
            [source.node, source.role, tree.node(source.node).value.content_hash]
            for source in value.edge.sources
        ]
        facts = {
            "algorithm": "weft-node-1",
            "treeId": tree.id,
            "nodeId": value.id,
            "content": content_to_wire(value.content),
            "role": value.role,
            "status": "complete",
            "edgeType": "continuation",
            "sources": sources,
            "editedFrom": value.edited_from,
            "attachments": [[item.id, item.sha256] for item in value.attachments],
            "createdAt": iso(value.created_at),
            "authorId": value.author_id,
        }
        if node == answer:
            facts["responseSha256"] = hashlib.sha256(body).hexdigest()
        assert value.content_hash == hashlib.sha256(rfc8785.dumps(facts)).hexdigest()


@covers("hash.covers-identity-and-content", "hash.covers-edge-and-sources", "hash.covers-author-and-time")
def test_every_input_matters():
    facts = {
        "tree_id": "T",
        "node_id": "N",
        "content": Text("x"),
        "role": "user",
        "status": "complete",
        "edge_type": "continuation",
        "sources": [("P", "primary", "00")],
        "edited_from": None,
        "attachments": [("a", "11")],
        "created_at": "2026-01-01T00:00:00.000000Z",
        "author_id": "A",
        "response_sha256": None,
    }
    other = {
        "tree_id": "U",
        "node_id": "M",
        "content": ToolCall(id="1", name="n", arguments={"x": 1.5}),
        "role": "assistant",
        "status": "interrupted",
        "edge_type": "annotation",
        "sources": [("P", "context", "00")],
        "edited_from": "O",
        "attachments": [("a", "12")],
        "created_at": "2026-01-01T00:00:00.000001Z",
        "author_id": "B",
        "response_sha256": "22",
    }
    digests = {content_hash(NodeFacts(**(facts | {name: other[name]}))) for name in facts}
    assert len(digests | {content_hash(NodeFacts(**facts))}) == len(facts) + 1


@covers("hash.later-version-upstream-changes-nothing")
def test_a_later_version_upstream_disturbs_no_hash(loom):
    tree = loom.plant("Story", "Once", mode="buffer")
    upon, time = tree.say(" upon"), tree.say(" a time")
    before = time.value.content_hash
    upon.edit(" below")
    assert time.refresh().value.content_hash == before


@covers(
    "response.gzip",
    "response.facts",
    "response.token-usage",
    "response.same-transaction",
    "response.choices-stored-once",
)
def test_a_response_is_kept_once_exactly_as_it_came(loom):
    import gzip

    model = loom.add_agent(f"wired {len(loom.agents())}", model_ref="t:m")
    tree = loom.plant("Marie")
    asked = tree.say("Why?")
    body = bytes(range(256)) * 40
    response = RawResponse(
        body=body,
        provider="t",
        model="m-2026",
        attempt="01M7GTSB9ENNJ2DY2RQ37W8NN9",
        request_id="req_1",
        usage=Usage(prompt=1, completion=2, cached_read=3),
    )
    for text in ("Because.", "Who knows?"):
        asked.say(text, author=model.id, response=response)
    with loom.caller.executor.store.read() as session:
        tree_key = next(row.key for row in session.execute(schema.trees.select()) if row.ulid == tree.id)
        kept = [row for row in session.execute(schema.responses.select()) if row.tree == tree_key]
        links = [row for row in session.execute(schema.node_responses.select()) if row.tree == tree_key]
        bodies = [row for row in session.execute(schema.bodies.select()) if row.tree == tree_key]
    assert (len(kept), len(links), len(bodies)) == (1, 2, 1)
    assert gzip.decompress(bodies[0].gzip) == body
    assert (kept[0].request_id, kept[0].model, kept[0].cached_read) == ("req_1", "m-2026", 3)
    assert kept[0].sha256 == hashlib.sha256(body).digest()
    with pytest.raises(ConflictError, match="was answered with other bytes"):
        asked.say("No.", author=model.id, response=dataclasses.replace(response, body=b"other"))
    with pytest.raises(InvalidInputError, match="is not the id of an attempt"):
        asked.say("No.", author=model.id, response=dataclasses.replace(response, attempt="once"))


@covers("response.one-for-each-call")
@pytest.mark.parametrize("request_id", [None, "req_1"])
def test_equal_bytes_of_two_calls_are_two_responses_with_one_body(loom, request_id):
    model = loom.add_agent(f"echo {len(loom.agents())}", model_ref="t:m")
    tree = loom.plant("Marie")
    asked = tree.say("Why?")
    first = RawResponse(
        body=b'{"text": "Because."}',
        provider="t",
        model="m",
        request_id=request_id,
        requested_at=datetime(2026, 1, 1, tzinfo=UTC),
        usage=Usage(prompt=1),
    )
    second = dataclasses.replace(first, requested_at=datetime(2026, 1, 2, tzinfo=UTC), usage=Usage(prompt=2))
    # The last two differ in nothing at all: only the caller can say whether they were one call.
    for response in (first, second, second):
        asked.say("Because.", author=model.id, response=response)
    for choice in (0, 1):
        loom.perform(
            Append(
                tree=tree.id,
                parent=asked.id,
                content="So.",
                author=model.id,
                response=dataclasses.replace(first, attempt="01M7GTSB9ENNJ2DY2RQ37W8NN9"),
                choice=choice,
            )
        )
    with loom.caller.executor.store.read() as session:
        key = find_tree(session, tree.id)

        def rows(table):
            return [row for row in session.execute(table.select()) if row.tree == key]

        assert sorted(row.prompt_tokens for row in rows(schema.responses)) == [1, 1, 2, 2]
        assert len({row.response for row in rows(schema.node_responses)}) == 4
        assert len(rows(schema.bodies)) == 1
        (attempt,) = rows(schema.attempts)
        shared = [row for row in rows(schema.node_responses) if row.response == attempt.response]
        assert sorted(row.choice for row in shared) == [0, 1]


@covers("event.hash-chained")
def test_events_form_one_chain_without_gaps(loom):
    tree = loom.plant("Marie")
    node = tree.say("Why?")
    node.exclude().include().bookmark("x")
    node.annotate("hm").prune()
    with loom.caller.executor.store.read() as session:
        row = next(row for row in session.execute(schema.trees.select()) if row.ulid == tree.id)
        events = sorted(
            (event for event in session.execute(schema.events.select()) if event.tree == row.key),
            key=lambda event: event.ordinal,
        )
    assert [event.ordinal for event in events] == list(range(1, row.events + 1))
    assert [event.kind for event in events] == [
        "plant",
        "append",
        "exclude",
        "include",
        "bookmark",
        "annotate",
        "prune",
    ]
    previous = None
    for event in events:
        digest = event_hash(
            previous=previous,
            tree=tree.id,
            ordinal=event.ordinal,
            kind=event.kind,
            agent_id=loom.me.id,
            created_at=iso(from_microseconds(event.created_at)),
            payload=json.loads(event.payload),
            inverse=json.loads(event.inverse),
        )
        assert (event.previous, event.hash) == (previous, digest)
        previous = digest
    assert row.head == previous


@covers("op.failure-changes-nothing")
def test_texts_never_stand_in_events(loom):
    tree = loom.plant("Marie")
    tree.say("a secret thought").edit("another secret thought").annotate("a secret note")
    loom.write_document(f"secret {tree.id}", "secret words").save("more secret words")
    with loom.caller.executor.store.read() as session:
        for event in session.execute(schema.events.select()):
            assert "thought" not in event.payload + event.inverse
            assert "words" not in event.payload + event.inverse
