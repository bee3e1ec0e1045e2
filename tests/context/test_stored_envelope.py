"""Envelopes as they are kept, and put together again."""

import json

import pytest
from tests.context.talks import Talk
from tests.covers import covers

from weft.context.items.blocks import ToolOutput
from weft.context.items.item_types import note
from weft.context.stored_envelope import load_envelope, processed_text, store_envelope
from weft.errors import InvalidInputError

SPEC = note("spec.md", "Build a piano.")


def talked():
    talk = Talk(tool_descriptions="You may look().", memory_block="[memory]")
    talk.ask("One?", SPEC, answer="A piano.")
    return talk


def test_an_envelope_is_l3_entries_and_pointers_to_snapshots():
    envelope = talked().ask("Two?", SPEC, note("b.md", "b"), tools=[ToolOutput(name="look", content="seen")])
    stored = store_envelope(envelope)
    record = json.loads(json.dumps(stored.record))
    assert set(record["layers"]) == {"L1_SYSTEM", "L2_LIBRARY", "L4_HISTORY"}
    assert [(entry["id"], entry["type"], entry["outcome"]) for entry in record["entries"]] == [
        ("spec.md", "note", "referenced"),
        ("b.md", "note", "kept"),
    ]
    loaded = load_envelope(record, stored.snapshots.__getitem__, user_text="Two?")
    assert loaded.to_wire() == envelope.to_wire()
    assert loaded.messages == envelope.messages


@covers("envelope.processed-text-computed")
def test_what_was_sent_is_computed_and_the_users_words_are_not_kept_twice():
    envelope = talked().ask("Something nobody else says?", SPEC)
    stored = store_envelope(envelope)
    assert "Something nobody else says" not in json.dumps([stored.record, *stored.snapshots.values()])
    loaded = load_envelope(
        stored.record, stored.snapshots.__getitem__, user_text="Something nobody else says?"
    )
    assert processed_text(loaded) == envelope.processed_user_text
    assert processed_text(None, saved="baked", displayed="typed") == "baked"
    assert processed_text(None, displayed="typed") == "typed"


def test_turns_share_the_snapshots_of_what_they_share():
    talk = talked()
    for index in range(5):
        talk.ask(f"More {index}?", note(f"n{index}.md", "x" * 2_000))
    stored = [store_envelope(envelope).snapshots for envelope in talk.envelopes]
    apart = sum(len(text) for snapshots in stored for text in snapshots.values())
    together = sum(
        len(text) for text in {key: text for each in stored for key, text in each.items()}.values()
    )
    assert together < apart / 2


def test_a_snapshot_or_a_text_that_is_not_what_was_sent_is_refused():
    envelope = talked().ask("Two?", SPEC)
    stored = store_envelope(envelope)
    with pytest.raises(InvalidInputError, match="L5_USER of message m2 is not what was sent"):
        load_envelope(stored.record, stored.snapshots.__getitem__, user_text="Three?")
    with pytest.raises(InvalidInputError, match="is not what its hash says"):
        load_envelope(stored.record, lambda digest: stored.snapshots[digest] + " ", user_text="Two?")
    for wrong in (None, [], {}, {**stored.record, "layers": 3}, {**stored.record, "manifest": None}):
        with pytest.raises(InvalidInputError):
            load_envelope(wrong, stored.snapshots.__getitem__, user_text="Two?")
    with pytest.raises(InvalidInputError, match="cannot be read"):
        load_envelope(stored.record, {}.__getitem__, user_text="Two?")


@covers("envelope.returned-by-assemble", "envelope.layer-names")
def test_the_wire_has_the_fixed_names():
    sent = talked().ask("Two?", SPEC).to_wire()
    wire = json.loads(json.dumps(sent))
    assert wire == sent
    assert list(wire) == [
        *(
            "version",
            "conversationId",
            "messageId",
            "layers",
            "llmMessages",
            "renderedSegments",
            "layerHashes",
        ),
        *("combinedHash", "processedUserText", "breakpoints", "manifest", "warnings"),
    ]
    assert list(wire["layers"][1]) == ["id", "label", "text", "segments", "stable", "hash"]
    assert list(wire["layers"][1]["segments"][0]) == ["id", "content", "stable", "metadata"]
