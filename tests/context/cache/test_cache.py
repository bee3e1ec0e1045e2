"""Breakpoints, what providers are told, what is predicted, and what is watched."""

import json
from dataclasses import replace

import pytest
from tests.context.talks import Talk
from tests.covers import covers

from weft.context.cache.controls import cache_controls, content_prefix
from weft.context.cache.prediction import predict
from weft.context.cache.prefix_monitor import Trigger, expected_reasons, watch
from weft.context.conversation import ConversationTurn
from weft.context.items.item_types import note
from weft.context.payload import record_payload
from weft.context.rows import Reason
from weft.context.system import Instruction, Standing, SystemParts
from weft.errors import InvalidInputError
from weft.providers.anthropic import anthropic_profile
from weft.providers.google import google_profile
from weft.providers.openai import openai_profile
from weft.tree.cache_profile import NO_PREFIX_CACHE
from weft.tree.content import Mixed, Text, Thinking, ToolCall, ToolResult

ANTHROPIC = anthropic_profile("claude-sonnet-4-5").cache
OPENAI = openai_profile("gpt-4o").cache
GEMINI = replace(google_profile("gemini-2.5-pro").cache, minimum=1_024)
LONG = note("long.md", "tune " * 2_000)


def talked(**options):
    talk = Talk(system=SystemParts(agent="Be careful. " * 500), **options)
    talk.ask("One?", LONG, answer="Yes. " * 1_000)
    return talk


@covers("cache.breakpoints")
def test_breakpoints_stand_after_l1_after_l2_at_the_end_of_l4_and_at_the_end():
    envelope = talked().ask("Two?", LONG)
    assert [(each.after, each.block) for each in envelope.breakpoints] == [
        ("L1_SYSTEM", 0),
        ("L2_LIBRARY", 1),
        ("L4_HISTORY", 3),
        ("end", 4),
    ]
    sums = [each.tokens for each in envelope.breakpoints]
    assert sums == sorted(sums)
    assert [each.after for each in Talk(system=SystemParts()).ask("Why?").breakpoints] == ["end"]


@covers("cache.anthropic")
def test_anthropic_gets_at_most_four_marks_where_enough_stands_before_them():
    envelope = talked().ask("Two?", LONG)
    marks = cache_controls(envelope, ANTHROPIC).marks
    assert [(mark.message, mark.block) for mark in marks] == [(None, 0), (None, 1), (1, 0), (2, 0)]
    assert {str(mark.control) for mark in marks} == {"{'type': 'ephemeral'}"}
    hour = cache_controls(envelope, ANTHROPIC, lifetime="1h").marks
    assert hour[0].control == {"type": "ephemeral", "ttl": "1h"}
    large = replace(ANTHROPIC, minimum=4_096)
    assert [(mark.message, mark.block) for mark in cache_controls(envelope, large).marks] == [(1, 0), (2, 0)]
    assert cache_controls(Talk().ask("Short?"), ANTHROPIC).to_wire() == {}
    with pytest.raises(InvalidInputError, match="has no cache lifetime '2h'"):
        cache_controls(envelope, ANTHROPIC, lifetime="2h")


@covers("cache.anthropic")
def test_a_mark_is_never_further_from_the_last_request_than_anthropic_looks_back():
    talk = talked()
    blocks = []
    for index in range(14):
        blocks += [Thinking(text="Hm."), ToolCall(id=f"c{index}", name="look", arguments={})]
    turns = list(talk.conversation.turns)
    turns += [ConversationTurn(id="m2", text="Look.", answer=Mixed(tuple(blocks)))]
    turns += [
        ConversationTurn(
            id="m3",
            text=Mixed(tuple(ToolResult(call_id=f"c{index}", content="seen") for index in range(14))),
            answer="So.",
        )
    ]
    talk.conversation = replace(talk.conversation, turns=tuple(turns))
    envelope = talk.look("And?")
    marks = list(cache_controls(envelope, ANTHROPIC).marks)
    assert 2 <= len(marks) <= 4
    asked = [index for index, message in enumerate(envelope.messages) if message.role == "user"]
    assert marks[-2].message in asked or marks[-2].message == envelope.history - 1
    places = {(block.message, block.number): index for index, block in enumerate(envelope.blocks())}
    assert all(envelope.blocks()[places[mark.message, mark.block]].kind != "thinking" for mark in marks)


@covers("cache.openai", "cache.gemini", "cache.none")
def test_others_are_told_in_their_own_way_or_not_at_all():
    talk = talked()
    envelope, sibling = talk.look("Two?", LONG), talk.look("Or?")
    key = cache_controls(envelope, OPENAI).fields["prompt_cache_key"]
    assert key.startswith("weft-")
    assert len(key) <= 64
    assert key == cache_controls(sibling, OPENAI).fields["prompt_cache_key"]
    assert cache_controls(envelope, OPENAI, key="mine").to_wire() == {"fields": {"prompt_cache_key": "mine"}}
    assert cache_controls(envelope, GEMINI).to_wire() == {}
    explicit = cache_controls(envelope, GEMINI, explicit=True, lifetime="600s").cached_content
    assert explicit == {
        "after": "L4_HISTORY",
        "messages": 2,
        "tokens": envelope.breakpoints[2].tokens,
        "ttl": "600s",
        "prefix": content_prefix(envelope, "", 2),
        "replaces": [],
    }
    assert cache_controls(Talk().ask("Short?"), GEMINI, explicit=True).to_wire() == {}
    assert cache_controls(envelope, NO_PREFIX_CACHE).to_wire() == {}
    assert cache_controls(envelope, GEMINI, explicit=True, lifetime="1h").cached_content == {
        **(explicit or {}),
        "ttl": "3600s",
    }


@covers("cache.prediction")
@pytest.mark.parametrize("minimum", [1_024, 4_096])
def test_nothing_below_the_minimum_is_cached(minimum):
    talk = Talk(system=SystemParts(agent="x" * 4 * (minimum - 200)))
    envelope = talk.look("One?")
    profile = replace(OPENAI, minimum=minimum)
    assert predict(envelope.prefix(), [envelope.prefix()], profile).cached == 0
    assert predict(envelope.prefix(), [envelope.prefix()], replace(profile, minimum=500)).cached > 0


@covers("cache.prediction")
def test_prediction_is_the_longest_beginning_in_common_as_the_provider_counts_it():
    talk = talked(settings={"library": "inline"})
    recent = [envelope.prefix() for envelope in talk.envelopes]
    envelope = talk.look("Two?", LONG)
    found = predict(envelope.prefix(), recent, OPENAI)
    shared = sum(block.tokens for block in recent[0])
    assert found.cached == shared // 128 * 128
    assert found.blocks == 2
    assert 0 < found.share < 1
    assert found.total == sum(block.tokens for block in envelope.prefix())
    assert predict(envelope.prefix(), recent, ANTHROPIC).cached == shared
    assert predict(envelope.prefix(), recent, NO_PREFIX_CACHE).cached == 0
    assert predict(envelope.prefix(), [], OPENAI).cached == 0
    grown = talked()
    grown.ask("Two?", note("b.md", "b"))
    before, after = grown.envelopes[-1].prefix(), grown.look("Three?").prefix()
    assert predict(after, [before], ANTHROPIC).blocks == 3
    assert predict(envelope.prefix(), recent, replace(OPENAI, minimum=10**6)).cached == 0


@covers("cache.monitor-names-the-segment")
def test_a_prefix_that_changes_without_a_reason_is_told_by_its_first_segment():
    talk = talked(standing=Standing(memory="Likes tea."))
    talk.ask("Two?", note("b.md", "b"))
    before = talk.ask("Three?")
    assert watch(before, talk.look("Four?")) == []
    changed = talk.look("Four?", fresh={"b.md": note("b.md", "other")})
    (found,) = watch(before, changed)
    assert (found.layer.value, found.segment) == ("L2_LIBRARY", "b.md")
    assert "from b.md on: the provider's cache is lost from there" in found.message
    assert found.to_wire()["before"] != found.to_wire()["after"]
    talk.conversation = replace(talk.conversation, standing=Standing(memory="Likes coffee."))
    (found,) = watch(before, talk.look("Four?"))
    assert (found.layer.value, found.segment) == ("L1_SYSTEM", "memory")


@covers("cache.triggers")
def test_a_recorded_trigger_explains_what_it_can_bring_about_and_nothing_else():
    talk = talked(standing=Standing(memory="Likes tea.", project_prompt="Weave."))
    before = talk.ask("Two?", note("b.md", "b"))
    grown = talk.ask("Three?")
    assert expected_reasons(before, grown) == {Trigger.NEW_ITEM: {"b.md"}}
    assert watch(before, grown, expected_reasons(before, grown)) == []
    assert [each.segment for each in watch(before, grown)] == ["b.md"]
    assert [each.segment for each in watch(before, grown, {Trigger.NEW_ITEM: {"c.md"}})] == ["b.md"]
    conversation = talk.conversation

    def seen(trigger, segment, **changes):
        talk.conversation = replace(conversation, **changes)
        return [each.segment for each in watch(grown, talk.look("Four?"), {trigger: {segment}})]

    agent = SystemParts(agent="Other.")
    told = SystemParts(
        agent=conversation.system.agent, instructions=(Instruction(id="N", local_id="n", text="Brief."),)
    )
    standing = Standing(memory="Likes coffee.", project_prompt="Weave.")
    assert seen(Trigger.AGENT, "agent", system=agent) == []
    assert seen(Trigger.INSTRUCTION, "[n]", system=told) == []
    assert seen(Trigger.INSTRUCTION, "[m]", system=told) == ["[n]"]
    assert seen(Trigger.MEMORY, "memory", standing=standing) == []
    assert seen(Trigger.SETTINGS, "tree", standing=standing, system=agent) == ["agent"]
    assert seen(Trigger.MEMORY, "memory", system=agent) == ["agent"]
    assert seen(Trigger.AGENT, "agent", system=told) == ["[n]"]
    talk.conversation = conversation
    talk.budget = 4_900
    compacted = talk.look("Four?")
    assert expected_reasons(grown, compacted) == {Trigger.COMPACTION: {"long.md"}}
    assert watch(grown, compacted, expected_reasons(grown, compacted)) == []
    assert expected_reasons(grown, grown) == {}
    assert [each.segment for each in watch(grown, compacted, {Trigger.NEW_ITEM: {"long.md"}})] == ["long.md"]
    # A compaction explains that less is shown, not that the note says something else.
    other = talk.look("Four?", fresh={"long.md": note("long.md", "Other words. " * 3_000)})
    assert [each.segment for each in watch(grown, other, expected_reasons(grown, other))] == ["long.md"]


@covers("cache.triggers")
def test_an_item_that_is_left_out_explains_itself_and_no_other():
    talk = talked()
    talk.ask("Two?", note("b.md", "b"))
    before = talk.ask("Three?")
    (first, *rest) = talk.conversation.turns
    talk.conversation = replace(talk.conversation, turns=(replace(first, left_out=Reason.EXCLUDED), *rest))
    after = talk.look("Four?", fresh={"b.md": note("b.md", "other")})
    gone = {Trigger.EXCLUSION: {"long.md"}}
    assert [each.segment for each in watch(before, talk.look("Four?"))] == ["b.md"]
    assert watch(before, talk.look("Four?"), gone) == []
    assert [each.segment for each in watch(before, after, gone)] == ["b.md"]


def test_a_payload_is_recorded_as_a_layered_view():
    talk = Talk()
    talk.ask("One?", note("a.md", "x\x00"))
    envelope = talk.ask("Two?", note("a.md", "x\x00"))
    payload = record_payload(
        envelope,
        provider="anthropic",
        controls=cache_controls(envelope, replace(ANTHROPIC, minimum=0)),
        prediction=predict(envelope.prefix(), [], ANTHROPIC),
    )
    text = payload.text
    places = [text.index(f"## {name} · ") for name in envelope.layer_hashes]
    assert places == sorted(places)
    assert "warning: a.md contains NUL characters" in text
    assert "Context attached:\n- a.md\nFind them in the Context Library above." in text
    assert "## cache marks\nsystem, block 0\nsystem, block 1\nmessage 1, block 0\nmessage 2, block 0" in text
    wire = json.loads(json.dumps(payload.to_wire()))
    assert wire["envelope"]["combinedHash"] == envelope.combined_hash
    assert set(wire) == {"provider", "envelope", "cacheControls", "prediction"}


def test_text_alone_is_one_block_of_a_message():
    envelope = Talk().ask("Why?")
    assert envelope.messages[-1].blocks == (Text("Why?"),)
