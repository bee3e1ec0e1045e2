"""What was sent is kept with its turn: byte for byte, shared between turns, watched, predicted, added up."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import func, select
from tests import postgres
from tests.attempts import RecordAttempt
from tests.contexts.shelves import Desk, KeepLegacyText, held, library
from tests.covers import covers
from tests.soundness import check_sound
from tests.statements import statements

import weft
from weft.context.items.item_types import LayerId
from weft.errors import InvalidInputError, NotFoundError
from weft.runtime.contexts.statistics import tree_stats
from weft.runtime.operations.agents import ChangeAgent
from weft.store import schema
from weft.testing import SteppingClock
from weft.tree.agent import Configuration
from weft.tree.attempt import AttemptOutcome, RawResponse, Usage
from weft.tree.item import Item

LONG = "Be careful. " * 500


@pytest.fixture
def desk(loom, tmp_path) -> Desk:
    return Desk(loom, tmp_path / "vault", prompt=LONG)


@covers("envelope.stored-per-user-turn", "envelope.processed-text-computed")
def test_what_was_sent_is_put_together_again_byte_for_byte(desk):
    path = desk.write("a.md", "first version")
    turn = desk.ask("One", path)
    prepared, kept = desk.send(turn)
    assert kept == (desk.tree.id, turn.id, 0)
    desk.write("a.md", "second version")
    second = desk.ask("Two", path)
    later, _ = desk.send(second)
    assert turn.sent().to_wire() == prepared.envelope.to_wire()
    assert second.sent().to_wire() == later.envelope.to_wire()
    assert "first version" in turn.processed_text
    assert second.processed_text == later.envelope.processed_user_text
    unsent = desk.ask("Three")
    assert unsent.processed_text == "Three"
    with pytest.raises(NotFoundError, match="nothing was sent from here"):
        unsent.sent()
    again = turn.prepare(agent=desk.agent)
    assert desk.grove.layers.keep(again).ordinal == 1
    assert turn.sent(0).to_wire() == prepared.envelope.to_wire()
    assert turn.sent().to_wire() == again.envelope.to_wire()


@pytest.mark.outer
@covers("envelope.stored-per-user-turn")
def test_turns_share_what_they_share_in_the_store(fresh_loom, tmp_path):
    desk = Desk(fresh_loom, tmp_path / "vault", prompt=LONG)
    path = desk.write("a.md", "x" * 20_000)

    def kept() -> int:
        with fresh_loom.read.store.read() as session:
            bodies = schema.bodies
            return session.execute(select(func.sum(func.length(bodies.c.gzip)))).scalar_one()

    desk.send(desk.ask("One", path))
    before = kept()
    for number in range(5):
        desk.send(desk.ask(f"More {number}", path))
    # Every turn adds its own words and lists, never the prompt or the note again.
    assert kept() - before < 5 * 2_500
    check_sound(fresh_loom)


def test_a_request_without_a_model_or_without_a_node_is_not_kept(desk):
    turn = desk.ask("One")
    with pytest.raises(InvalidInputError, match="not prepared for a model"):
        desk.grove.layers.keep(turn.prepare().changed(agent=None))
    with pytest.raises(InvalidInputError, match="save the input as a node first"):
        desk.grove.layers.keep(turn.prepare(agent=desk.agent, text="not said"))
    with pytest.raises(InvalidInputError, match="not the id of an attempt"):
        desk.grove.layers.keep(turn.prepare(agent=desk.agent), attempt="x")


@covers("envelope.message-without-one-loads")
def test_a_message_saved_without_an_envelope_is_sent_as_it_was(desk):
    turn = desk.ask("What?")
    desk.grove.perform(KeepLegacyText(tree=desk.tree.id, node=turn.id, text="<note>baked in</note>\n\nWhat?"))
    assert turn.processed_text == "<note>baked in</note>\n\nWhat?"
    with pytest.raises(NotFoundError, match="only its text is known"):
        turn.sent()
    desk.answer(turn)
    envelope = desk.ask("And?").envelope(agent=desk.agent)
    assert envelope.messages[0].text == "<note>baked in</note>\n\nWhat?"
    assert envelope.tokens == desk.tree.envelope(agent=desk.agent, limit=envelope.tokens).tokens
    check_sound(desk.grove)


@pytest.mark.outer
@covers("cache.prediction")
@pytest.mark.parametrize(("placed", "found"), [("system", "L1_SYSTEM"), ("inline", "end")])
def test_where_marks_end_what_is_cached_a_library_that_grew_is_not_found_again(loom, tmp_path, placed, found):
    desk = Desk(loom, tmp_path / "vault", provider="anthropic:claude-sonnet-4-5", prompt=LONG)
    one, two = desk.write("a.md", "alpha " * 500), desk.write("b.md", "beta " * 500)
    desk.send(desk.ask("One", one), library=placed)
    second, _ = desk.send(desk.ask("Two", two), library=placed)
    third, _ = desk.send(desk.ask("Three"), library=placed)
    sent = {each.after: each.tokens for each in second.envelope.breakpoints}
    assert third.prediction.cached == sent[found]
    fourth = desk.ask("Four").prepare(agent=desk.agent, library=placed)
    assert fourth.prediction.cached == third.envelope.breakpoints[-1].tokens


@covers("cache.prediction", "cache.prediction-compared")
def test_the_cached_share_is_predicted_and_compared_with_what_is_reported(tmp_path, address):
    clock = SteppingClock()
    with weft.open(address, clock=clock) as grove:
        desk = Desk(grove, tmp_path / "vault", prompt=LONG)
        path = desk.write("a.md", "word " * 2_000)
        first, kept = desk.send(desk.ask("One", path))
        assert first.prediction.cached == 0
        grove.layers.report(kept, 0)
        second, kept = desk.send(desk.ask("Two", path))
        assert second.prediction.cached == 1_408
        grove.layers.report(kept, 1_280)
        turn = desk.ask("Three")
        third = turn.prepare(agent=desk.agent)
        assert third.prediction.cached > 3_000
        assert third.controls.fields["prompt_cache_key"].startswith("weft-")
        # The response of a call says it too, if nobody reported anything.
        attempt = grove.perform(
            RecordAttempt(
                tree=desk.tree.id,
                parent=turn.id,
                agent=desk.agent,
                outcome=AttemptOutcome.COMPLETE,
                segments=[b"{}"],
                response=RawResponse(
                    body=b"{}", provider="openai", model="gpt", usage=Usage(prompt=4_000, cached_read=3_072)
                ),
            )
        )
        grove.layers.keep(third, attempt=attempt)
        stats = desk.tree.stats(agent=desk.agent)
        assert stats.requests.count == 3
        assert stats.requests.predicted == 1_408 + third.prediction.cached
        assert stats.requests.reported == 1_280 + 3_072
        assert stats.requests.reported_of == stats.requests.tokens
        assert stats.requests.in_layer("L1_SYSTEM") == 3 * 1_500
        assert stats.requests.in_layer("L2_LIBRARY") > 2 * 2_400
        # Another model has a cache of its own, and after an hour nothing is left of this one's.
        other = grove.add_agent("Other", model_ref="anthropic:claude", system_prompt=LONG)
        assert turn.prepare(agent=other.id).prediction.cached == 0
        assert len(turn.prepare(agent=other.id).controls.marks) == 4
        clock.pass_by(seconds=3_700)
        assert turn.prepare(agent=desk.agent).prediction.cached == 0
        check_sound(grove)


@covers("cache.anthropic")
def test_a_lifetime_is_a_preference_and_counts_only_where_there_is_one(desk):
    claude = desk.grove.add_agent(f"c {desk.name}", model_ref="anthropic:claude", system_prompt=LONG)
    turn = desk.ask("One")
    desk.tree.prefer(cache_lifetime="1h")
    (mark, *_) = turn.prepare(agent=claude.id).controls.marks
    assert mark.control == {"type": "ephemeral", "ttl": "1h"}
    assert turn.prepare(agent=desk.agent).controls.marks == ()


@covers("cache.gemini")
def test_gemini_is_asked_for_a_cache_of_its_own_where_a_lifetime_is_wanted(desk):
    gemini = desk.grove.add_agent(f"g {desk.name}", model_ref="google:gemini-2.5-pro", system_prompt=LONG * 2)
    turn = desk.ask("One")
    assert turn.prepare(agent=gemini.id).controls.to_wire() == {}
    desk.tree.prefer(cache_lifetime="1h")
    cached = turn.prepare(agent=gemini.id).controls.cached_content
    assert cached is not None
    assert (cached["after"], cached["messages"], cached["ttl"]) == ("L1_SYSTEM", 0, "3600s")


@covers("cache.monitor", "cache.monitor-names-the-segment")
def test_a_prefix_that_changes_without_a_reason_is_told_on_the_turn_and_in_the_log(desk, caplog):
    path = desk.write("a.md", "first")
    desk.send(desk.ask("One", path))
    quiet, _ = desk.send(desk.ask("Two", path))
    assert quiet.instabilities == ()
    desk.write("a.md", "second")
    turn = desk.ask("Three")
    with caplog.at_level(logging.WARNING, logger="weft.layers"):
        told = turn.prepare(agent=desk.agent)
        (found,) = told.instabilities
        assert (found.layer, found.segment) == (LayerId.LIBRARY, "a.md")
        assert found.message in told.envelope.warnings
        # A preview warns; what is sent is logged.
        assert found.message not in caplog.text
        desk.grove.layers.keep(told)
    assert found.message in caplog.text
    assert found.message in turn.sent().warnings


@pytest.mark.outer
@covers("cache.triggers", "cache.monitor")
def test_recorded_events_explain_a_prefix_that_changes(fresh_loom, tmp_path):
    desk = Desk(fresh_loom, tmp_path / "vault")
    path = desk.write("a.md", "text")
    first = desk.ask("One", path)
    desk.send(first)
    desk.send(desk.ask("Two"))
    project = fresh_loom.create_project("Novel", system_prompt="Edit.")
    changes = [
        lambda: desk.tree.describe(system_context="Be kind."),
        lambda: fresh_loom.perform(
            ChangeAgent(agent=desk.agent, configuration=Configuration(system_prompt="Be bold."))
        ),
        lambda: fresh_loom.remember("likes tea"),
        lambda: fresh_loom.remember("has a cat"),
        lambda: project.add(desk.tree),
        lambda: project.change(system_prompt="Edit well."),
        first.exclude,
        first.include,
        lambda: desk.tree.prefer(library="inline"),
        desk.tree.undo,
    ]
    for number, change in enumerate(changes):
        change()
        prepared, _ = desk.send(desk.ask(f"More {number}"))
        assert prepared.instabilities == (), number
    instructing = desk.tree.say("Always rhyme.")
    desk.answer(instructing)
    turn = desk.tree.say("And now?", instructions=[instructing])
    prepared, _ = desk.send(turn)
    # A system message at its place, where the provider takes one there.
    assert "Always rhyme." in [each.text for each in prepared.messages if each.role == "system"]
    assert prepared.instabilities == ()
    # Asked in another way, of the same turn: that is a setting of the call.
    assert turn.prepare(agent=desk.agent, library="inline").instabilities == ()


@covers("cache.triggers", "cache.monitor")
def test_an_event_explains_only_the_segment_that_it_changes(desk):
    """Each of them is recorded, and none of them is why the note is another."""
    path, other = desk.write("a.md", "text"), desk.write("b.md", "other")
    first = desk.ask("One", path)
    desk.send(first)
    desk.send(desk.ask("Two", other))
    joint = desk.tree.cursor
    aside = desk.ask("Aside", under=first)
    desk.send(aside)
    document = desk.grove.write_document(f"D {desk.name}", "d")
    changes = [
        lambda: desk.tree.describe(system_context="Be kind."),
        lambda: desk.tree.prefer(minimum_recent_nodes=3),
        lambda: desk.grove.prefer(minimum_recent_nodes=5),
        lambda: desk.grove.perform(
            ChangeAgent(agent=desk.agent, configuration=Configuration(system_prompt="Be bold."))
        ),
        lambda: document.save("e"),
        aside.exclude,
        lambda: desk.tree.node(aside.id).prune(),
    ]
    for number, change in enumerate(changes):
        desk.write("a.md", f"text {number}")
        change()
        prepared, _ = desk.send(desk.ask(f"More {number}", under=joint))
        joint = desk.tree.cursor
        assert [each.segment for each in prepared.instabilities] == [path], number
    first.exclude()
    desk.write("b.md", "changed")
    turn = desk.ask("Left out", under=joint)
    assert [each.segment for each in turn.prepare(agent=desk.agent).instabilities] == [other]


@pytest.mark.outer
@covers("cache.triggers", "cache.monitor")
def test_reasons_are_found_at_any_distance(desk):
    path = desk.write("a.md", "text")
    desk.send(desk.ask("One", path))
    desk.send(desk.ask("Two"))
    joint = desk.tree.cursor
    desk.tree.describe(system_context="Be kind.")
    for number in range(70):
        desk.send(desk.ask(f"Elsewhere {number}", under=joint if number % 35 == 0 else None))
    for number in range(1_100):
        joint.bookmark(str(number))
    turn = desk.ask("Here", under=joint)
    assert turn.prepare(agent=desk.agent).instabilities == ()
    desk.write("a.md", "changed")
    assert [each.segment for each in turn.prepare(agent=desk.agent).instabilities] == [path]


@covers("cache.payload-recorder")
def test_in_debug_every_request_is_logged_in_layers(desk, caplog):
    turn = desk.ask("One", desk.write("a.md", "the note"))
    with caplog.at_level(logging.DEBUG, logger="weft.layers"):
        desk.send(turn)
    assert "## L3_TURN · Smart References" in caplog.text
    assert "the note" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="weft.layers"):
        desk.send(desk.ask("Two"))
    assert caplog.text == ""


@covers("cache.payload-recorder")
def test_the_recorder_is_switched_on_for_a_call_or_by_a_preference(desk, caplog):
    desk.send(desk.ask("One"), record_payload=True)
    assert ("weft.payload", logging.INFO) in {(each.name, each.levelno) for each in caplog.records}
    assert "## L5_USER" in caplog.text
    caplog.clear()
    desk.send(desk.ask("Two"))
    assert caplog.text == ""
    desk.tree.prefer(record_payload=True)
    desk.send(desk.ask(f"Three, with sk-{'x' * 40}"))
    assert "Three, with" in caplog.text
    assert "x" * 40 not in caplog.text


@pytest.mark.outer
@covers("stats.per-tree-and-branch", "stats.what-would-have-been-saved")
def test_stats_by_branch_and_what_other_settings_would_have_saved(desk):
    path = desk.write("a.md", "word " * 2_000)
    first = desk.ask("One", path)
    _, _ = desk.send(first)
    joint = desk.tree.cursor
    desk.send(desk.ask("Left", desk.write("b.md", "other " * 1_000)))
    for number in range(4):
        desk.send(desk.ask(f"Left {number} " * 50, path))
    left = desk.tree.cursor
    desk.send(desk.ask("Right", under=joint))
    stats = tree_stats(desk.grove.layers, desk.tree.id, node=left.id)
    counts = {branch.leaf: branch.requests.count for branch in stats.branches}
    assert counts == {left.local_id: 6, desk.tree.cursor.local_id: 2}
    assert stats.requests.count == 7
    assert stats.turns == 6
    by = {(each.library, each.step): each for each in stats.variants}
    (current,) = [each for each in stats.variants if each.current]
    assert (current.library, current.saved) == ("system", 0.0)
    assert by["inline", 0.25].saved > 0
    assert by["inline", 0.25].cost < current.cost
    assert tree_stats(desk.grove.layers, desk.tree.id, turns=0).variants == ()
    with pytest.raises(InvalidInputError):
        tree_stats(desk.grove.layers, desk.grove.plant(mode="buffer").id)


@pytest.mark.outer
@covers("cache.monitor", "cache.monitor-names-the-segment", "stats.per-tree-and-branch")
def test_stats_show_where_the_cache_was_lost_without_a_reason(desk):
    path = desk.write("a.md", "one")
    for text in ("Zero", "One"):
        desk.send(desk.ask(text, path))
    assert tree_stats(desk.grove.layers, desk.tree.id, turns=0).unstable == ()
    desk.write("a.md", "two")
    turn = desk.ask("Two")
    desk.send(turn)
    desk.send(desk.ask("Three"))
    (found,) = tree_stats(desk.grove.layers, desk.tree.id, turns=0).unstable
    assert (found.node, found.layer, found.segment) == (turn.local_id, "L2_LIBRARY", path)
    assert "without a recorded reason" in found.message
    check_sound(desk.grove)


@covers("layer.tool-descriptions-after-l2", "cache.monitor")
def test_descriptions_of_tools_are_fixed_for_an_agents_life(desk):
    first, _ = desk.send(desk.ask("One"), tool_descriptions="Call search(query).")
    assert first.envelope.system.endswith("Call search(query).")
    same, _ = desk.send(desk.ask("Two"), tool_descriptions="Call search(query).")
    other, _ = desk.send(desk.ask("Three"), tool_descriptions="Call find(query).")
    assert [each.segment for each in other.instabilities] == ["tool descriptions"]
    assert "fixed for an agent's life" in other.envelope.warnings[-1]
    assert same.instabilities == ()
    desk.grove.perform(ChangeAgent(agent=desk.agent, model_ref="openai:gpt-5"))
    changed, _ = desk.send(desk.ask("Four"), tool_descriptions="Call look(query).")
    assert changed.instabilities == ()


@covers("envelope.same-everywhere")
def test_equal_inputs_give_equal_bytes_on_both_stores(tmp_path, postgres_server):
    one = held(str(tmp_path / "a.db"), tmp_path / "vault")
    with postgres.database(postgres_server) as address:
        assert held(address, tmp_path / "vault") == one


@pytest.mark.long
@covers("envelope.same-everywhere")
def test_equal_inputs_give_equal_bytes_in_another_process_with_another_hash_seed(tmp_path):
    code = "import sys, pathlib; from tests.contexts.shelves import KeepLegacyText, held; print(repr(held(sys.argv[1], pathlib.Path(sys.argv[2]))))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "there.db"), str(tmp_path / "vault")],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONHASHSEED": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == repr(held(str(tmp_path / "here.db"), tmp_path / "vault")) + "\n"


@pytest.mark.outer
def test_a_long_path_reads_its_items_in_few_statements(desk):
    path = desk.write("a.md", "text")
    for number in range(6):
        desk.answer(desk.ask(f"{number}", path))
    turn = desk.ask("Last", path)
    with statements(desk.grove.read.store) as few:
        assert library(turn.envelope(agent=desk.agent)) == ["a.md"]
    for number in range(6):
        desk.answer(desk.ask(f"again {number}", path))
    turn = desk.ask("Last", path)
    desk.grove.caller.executor.contents.clear()
    with statements(desk.grove.read.store) as many:
        turn.envelope(agent=desk.agent)
    assert len(many) == len(few) < 30


def test_items_of_an_edited_turn_go_with_the_new_branch(desk):
    path = desk.write("a.md", "text")
    turn = desk.ask("One", path)
    desk.answer(turn)
    edited = turn.edit("One, then")
    assert edited.envelope().processed_user_text.endswith("One, then")
    assert [each.id for each in edited.value.attachments] == ["a.md"]
    assert Item(id="x", type="note", content="y").title is None
