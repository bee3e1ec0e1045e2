"""The collaborator's loop with a scripted model, on both stores: turns, batches, results, the reply."""

import asyncio
from decimal import Decimal

import pytest
from tests.collaboration.stage import MUSE, run, words, workshop
from tests.covers import covers
from tests.generation.stage import attempts, count
from tests.generation.test_generate import PAID, profile_with
from tests.soundness import check_sound

from weft.context.agent_view.loom_block import addendum
from weft.errors import (
    InvalidInputError,
    LimitExceededError,
    NotFoundError,
    PermissionDeniedError,
    ProviderError,
    Trouble,
)
from weft.providers.events import StopReason as Stopped
from weft.runtime.collaboration.run_events import (
    Answered,
    Began,
    Commanded,
    Ending,
    Finished,
    TextChunk,
    Turned,
)
from weft.store import schema
from weft.store.rows import OUTCOMES
from weft.testing import Gate, Reply, Scripted
from weft.tree.agent import ALL_PERMISSIONS
from weft.tree.attempt import AttemptOutcome
from weft.tree.content import Thinking
from weft.tree.node import Role, Status


def nothing_under_way(grove):
    tables = (schema.runs, schema.calls, schema.pieces, schema.leases)
    return [count(grove, table) for table in tables] == [0, 0, 0, 0]


@covers(
    "collaborate.until-no-command",
    "collaborate.prose-is-the-reply",
    "collaborate.every-call-is-an-attempt",
    "command.batch",
    "command.batch-goes-on-after-failure",
    "command.results-as-user-message",
    "command.sequential",
    "command.cut-at-first-prose",
    "command.lines-not-stored",
    "command.not-provider-tools",
    "loom.addendum-always-there",
    "loom.headings-stripped-from-output",
)
def test_a_run_goes_on_until_a_turn_has_no_command_and_what_was_said_is_one_reply(address):
    script = [
        'Let me look.\n→ tree\n→ search "nothing"\nI suppose that',
        "[a7x2] Muse · 3m ago\nShe lies because she is afraid.",
    ]
    with workshop(address, script) as (grove, tree, model):
        asked = tree.say("Why does Marie lie?")
        found = run(grove, tree).result()
        assert found.ending is Ending.DONE
        assert found.reply.text == "Let me look.\n\nShe lies because she is afraid."
        assert (found.reply.value.status, found.reply.role) == (Status.COMPLETE, Role.ASSISTANT)
        assert [result.command for result in found.results] == ["tree depth:5", 'search "nothing"']
        assert found.note is None
        assert (found.turns, len(model.requests)) == (2, 2)
        said = asked.children[0]
        assert said.text == "Look around."
        assert said.children == [found.reply]
        assert tree.cursor == found.reply
        assert grove.acting_as(MUSE).tree(tree.id).cursor == found.reply
        second = model.requests[1]
        assert all(request.system[0].startswith("You are Muse.\n\n") for request in model.requests)
        assert all(addendum(ALL_PERMISSIONS) in request.system[0] for request in model.requests)
        assert second.messages[-2].text == 'Let me look.\n→ tree\n→ search "nothing"'
        assert "I suppose" not in words(second)
        assert all(request.tools == () for request in model.requests)
        results = second.messages[-1].text
        assert results.index("[result:1] → tree depth:5\n✓") < results.index('[result:2] → search "nothing"')
        rows = attempts(grove)
        assert [OUTCOMES[row.outcome] for row in rows] == [AttemptOutcome.COMPLETE] * 2
        assert all(row.request is not None and row.response is not None for row in rows)
        sent = grove.generations.sent(tree.id, found.reply.id)
        assert sent.generation["assembly"] == "loom-aware"
        assert b"[result:1]" in found.reply.provenance().request
        assert nothing_under_way(grove)
        assert [node.text for node in tree.path.nodes[1:]] == [
            "Why does Marie lie?",
            "Look around.",
            found.text,
        ]
        check_sound(grove)


@pytest.mark.parametrize(
    "said", ["Hm.\n→ think She may lie. ←\n→ tree\n", "Hm.\n→ think She may lie. ←\n→ tree"]
)
def test_what_happens_is_told_in_order(address, said):
    script = [said, "So it is."]
    with workshop(address, script) as (grove, tree, _):
        events = list(run(grove, tree))
        kinds = [type(event) for event in events]
        assert kinds == [
            Began,
            Turned,
            TextChunk,
            Commanded,
            Commanded,
            Answered,
            Turned,
            TextChunk,
            Finished,
        ]
        assert events[2].text == "Hm."
        assert [event.text for event in events if isinstance(event, Commanded)] == ["She may lie.", "tree"]
        assert events[-2].text == "So it is."
        assert events[-1].reply.text == "Hm.\n\nSo it is."
        assert (events[0].agent, events[0].tree_id) == (MUSE, tree.id)


@covers("loom.headings-stripped-from-output")
@pytest.mark.parametrize("size", [1, 3, 7, 1_000])
def test_a_heading_that_a_model_imitates_is_not_told_either(file_address, size):
    said = "[a7x2] Muse · 3m ago\nShe lies.\n\n[b3k9] human · just now · 2 links\n[see](there) [a7x2] · 3m ago\n[b3k9] is it."
    pieces = [said[start : start + size] for start in range(0, len(said), size)]
    with workshop(file_address, [Reply(chunks=tuple(pieces))]) as (grove, tree, _):
        events = list(run(grove, tree))
        told = "".join(event.text for event in events if isinstance(event, TextChunk))
        assert told == "She lies.\n\n[see](there) [a7x2] · 3m ago\n[b3k9] is it."
        assert events[-1].reply.text == told


def test_an_event_loop_can_listen_too(file_address):
    async def listen(grove, tree):
        async with run(grove, tree) as going:
            kinds = [type(event).__name__ async for event in going]
        return kinds, await going.result_async()

    with workshop(file_address, ["→ tree\n", "Good."]) as (grove, tree, _):
        kinds, found = asyncio.run(listen(grove, tree))
        assert kinds[0] == "Began"
        assert kinds[-1] == "Finished"
        assert found.text == "Good."


def test_collaborate_waits_and_gives_what_it_came_to(file_address):
    with workshop(file_address, ["→ bookmark zzzz\nx", "I cannot."]) as (grove, tree, _):
        found = tree.collaborate(MUSE, "Mark it.")
        assert found.text == "I cannot."
        assert not found.results[0].ok
        assert tree.collaborate.__doc__
        assert repr(grove.agent(MUSE)) == "<Agent 'Muse' muse:one>"


@covers("collaborate.limits")
def test_after_so_many_turns_it_ends_with_a_note_and_what_was_said_is_interrupted(address):
    script = lambda _request, _choice: "Once more.\n→ tree\n"  # noqa: E731
    with workshop(address, script) as (grove, tree, model):
        found = run(grove, tree).result()
        assert (found.ending, found.turns, len(model.requests)) == (Ending.LIMIT, 12, 12)
        assert found.note == "ended after 12 turns"
        assert found.reply.value.status is Status.INTERRUPTED
        assert found.reply.text == "\n\n".join(["Once more."] * 12)
        assert found.reply.provenance().raw_response
        assert len(found.results) == 12
        few = run(grove, tree, turns=1).result()
        assert (few.turns, few.note) == (1, "ended after 1 turn")
        assert nothing_under_way(grove)
        check_sound(grove)


def test_an_agent_does_not_prune_what_it_answers(address):
    script = ["A careful analysis.\n→ prune NODE\n→ prune OTHER\n", "Left as it is."]
    with workshop(address, []) as (grove, tree, model):
        node = tree.say("Here.")
        other = tree.root.say("Beside.")
        named = [text.replace("NODE", node.local_id).replace("OTHER", other.local_id) for text in script]
        model._replies = iter(named)
        found = run(grove, tree, None, node=node).result()
        assert [result.ok for result in found.results] == [False, True]
        assert found.results[0].text.startswith(
            f"✗ CONFLICT: you are answering below [{node.local_id}]: your reply would be hidden too\n  hint:"
        )
        assert found.reply.text == "A careful analysis.\n\nLeft as it is."
        assert found.reply.path.nodes[-2].id == node.id


@covers("collaborate.resumed")
def test_what_a_limit_interrupted_can_be_gone_on_with_once(address):
    with workshop(address, ["Once more.\n→ tree\n", "That is all."]) as (grove, tree, _):
        muse = grove.agent(MUSE)
        with pytest.raises(NotFoundError, match="'Muse' has nothing to go on with in this tree"):
            muse.resume(tree=tree)
        cut = run(grove, tree, turns=1).result()
        elsewhere = tree.root.say("Something else.").switch()
        found = muse.resume(tree=tree, turns=3).result()
        assert (found.text, found.ending) == ("That is all.", Ending.DONE)
        assert [node.text for node in found.reply.path.nodes[-3:]] == [
            cut.reply.text,
            "Go on where you were broken off.",
            "That is all.",
        ]
        assert elsewhere.refresh().children == []
        with pytest.raises(NotFoundError):
            muse.resume(tree=tree)
        assert nothing_under_way(grove)


@covers("collaborate.resumed")
def test_a_run_that_only_worked_is_gone_on_with_where_it_was(file_address):
    with workshop(file_address, ["→ tree\n", "Now I know."]) as (grove, tree, model):
        muse = grove.agent(MUSE)
        cut = run(grove, tree, turns=1).result()
        assert (cut.reply, cut.note) == (None, "ended after 1 turn")
        asked = tree.cursor
        elsewhere = tree.root.say("Something else.").switch()
        found = muse.resume(tree=tree).result()
        assert [node.text for node in found.reply.path.nodes[-3:]] == [
            "Look around.",
            "Go on where you were broken off: ended after 1 turn.",
            "Now I know.",
        ]
        assert f"was broken off at {asked.local_id} (ended after 1 turn)" in words(model.requests[-1])
        assert elsewhere.refresh().children == []
        with pytest.raises(NotFoundError, match="nothing to go on with"):
            muse.resume(tree=tree)


@covers("collaborate.resumed")
def test_a_run_that_was_stopped_before_its_first_words_is_gone_on_with(file_address):
    gate = Gate()
    with workshop(file_address, ["Never said.", "Now."], gate=gate) as (grove, tree, _):
        with run(grove, tree) as going:
            gate.wait(1)
            going.stop()
            gate.open()
            assert (going.result().ending, going.result().reply) == (Ending.STOPPED, None)
        found = grove.agent(MUSE).resume(tree=tree).result()
        assert found.reply.path.nodes[-2].text == "Go on where you were broken off: stopped in turn 1."


@covers("collaborate.resumed")
def test_beside_a_document_a_run_is_gone_on_with_too(file_address):
    with workshop(file_address, ["Let me see.\n→ tree\n", "All is well."]) as (grove, _, model):
        tree = grove.plant("House", "The house stood empty.", mode="buffer")
        cut = run(grove, tree, "Is it too long?", turns=1).result()
        assert cut.reply.value.status is Status.INTERRUPTED
        found = grove.agent(MUSE).resume(tree=tree).result()
        assert found.text == "All is well."
        assert (
            model.requests[-1]
            .messages[0]
            .text.endswith("===\n\nGo on where you were broken off: ended after 1 turn.")
        )
        assert tree.text == "The house stood empty."
        with pytest.raises(NotFoundError, match="nothing to go on with"):
            grove.agent(MUSE).resume(tree=tree)


@covers("collaborate.limits")
def test_tokens_and_time_end_it_too(file_address):
    long = "word " * 1_000
    with workshop(file_address, [f"{long}\n→ tree\n", "→ tree\n", "→ tree\n"]) as (grove, tree, _):
        found = run(grove, tree, tokens=900).result()
        assert (found.ending, found.turns) == (Ending.LIMIT, 1)
        assert found.note.endswith("tokens, of 900")
        assert found.reply.value.status is Status.INTERRUPTED
        assert found.results == ()
        moment = [0]
        object.__setattr__(grove.caller.executor, "clock", lambda: 2_000_000_000_000_000 + moment[0])
        going = run(grove, tree, seconds=60)
        for event in going:
            if isinstance(event, Answered):
                moment[0] += 61_000_000
        assert going.result().note == "ended after 60 seconds"


@covers("collaborate.limits", "generate.unattended-needs-a-cap")
def test_money_ends_it_with_a_note(file_address):
    model = Scripted(["→ tree\n", "Never said."], name="muse", profile=profile_with(prices=PAID, local=False))
    with workshop(file_address, model) as (grove, tree, model):
        with pytest.raises(LimitExceededError, match="set a spend cap"):
            run(grove, tree, unattended=True, max_tokens=10).result()
        grove.generations.set_cap(Decimal("0.014"))
        found = run(grove, tree, max_tokens=100).result()
        assert (found.ending, found.turns, len(model.requests)) == (Ending.LIMIT, 2, 1)
        assert found.note.endswith("the grove has spent $0.0026 of $0.014")
        grove.generations.set_cap(None)
        with pytest.raises(LimitExceededError, match="at most"):
            run(grove, tree, dollars=0.000001, max_tokens=100).result()


@covers("collaborate.truncated-command-not-run")
def test_a_command_that_the_length_limit_cut_off_is_not_run(file_address):
    reply = Reply(text='→ annotate ROOT "a"\n→ prune ROOT', ending=Stopped.LENGTH)
    with workshop(file_address, [reply, "Fine."]) as (grove, tree, model):
        node = tree.say("Here.")
        object.__setattr__(reply, "text", reply.text.replace("ROOT", node.local_id))
        found = run(grove, tree).result()
        assert len(found.results) == 1
        assert not node.refresh().metadata.pruned
        assert "cut off by the length limit, and not run" in words(model.requests[1])


def test_a_failure_does_not_stop_the_rest_of_the_batch_and_goes_back_with_its_hint(file_address):
    with workshop(file_address, ["→ view zzzz\n→ frobnicate\n→ tree\n", "Well."]) as (grove, tree, model):
        found = run(grove, tree).result()
        assert [result.ok for result in found.results] == [False, False, True]
        assert "✗ NOT_FOUND: node [zzzz] does not exist in this tree" in words(model.requests[1])


def _until(going, kind):
    return next(event for event in going if isinstance(event, kind))


@covers("collaborate.stop-keeps")
def test_stopped_while_it_speaks_it_runs_nothing_and_what_was_said_is_kept(address):
    gate = Gate()
    with workshop(address, [Reply(chunks=("One ", "two.\n", "→ tree\n", "→ tree\n"))], gate=gate) as (
        grove,
        tree,
        _,
    ):
        with run(grove, tree) as going:
            gate.let(3)
            _until(going, Commanded)
            going.stop()
            found = going.result()
        assert (found.ending, found.note, found.results) == (Ending.STOPPED, "stopped", ())
        assert (found.reply.text, found.reply.value.status) == ("One two.", Status.INTERRUPTED)
        assert [OUTCOMES[row.outcome] for row in attempts(grove)] == [AttemptOutcome.INTERRUPTED]
        assert nothing_under_way(grove)
        check_sound(grove)


@covers("collaborate.stop-keeps")
def test_stopped_within_a_batch_the_rest_of_it_is_not_run(address):
    with workshop(address, ["Now.\n→ tree\n→ tree\n→ tree\n", "Not said."]) as (grove, tree, model):
        going = run(grove, tree)
        for event in going:
            if isinstance(event, Answered):
                going.stop()
        found = going.result()
        assert found.ending is Ending.STOPPED
        assert len(found.results) < 3 or len(model.requests) == 1
        assert (found.reply.text, found.reply.value.status) == ("Now.", Status.INTERRUPTED)
        assert nothing_under_way(grove)
        check_sound(grove)


@covers("collaborate.stop-keeps")
def test_who_goes_away_without_a_word_stops_it(file_address):
    gate = Gate()
    with workshop(file_address, [Reply(chunks=("One ", "two."))], gate=gate) as (grove, tree, _):
        with run(grove, tree) as going:
            gate.let(1)
            _until(going, TextChunk)
        assert nothing_under_way(grove)
        del tree
        (kept,) = grove.trees()[0].leaves
        assert (kept.text, kept.value.status) == ("One", Status.INTERRUPTED)


@covers("collaborate.stop-keeps")
def test_closing_the_grove_stops_it(file_address):
    gate = Gate()
    with workshop(file_address, [Reply(chunks=("One two.", " three"))], gate=gate) as (grove, tree, _):
        going = run(grove, tree)
        gate.let(1)
        _until(going, TextChunk)
    del going
    with workshop(file_address, []) as (grove, tree, _):
        (kept,) = tree.leaves
        assert (kept.text, kept.value.status) == ("One two.", Status.INTERRUPTED)
        assert nothing_under_way(grove)


@covers("collaborate.error-keeps")
def test_an_error_halfway_keeps_what_was_said_in_all_turns(address):
    broken = ProviderError(Trouble.NETWORK, "the line is dead")
    script = ["First.\n→ tree\n", Reply(chunks=("Second ", "and"), error=broken)]
    with workshop(address, script) as (grove, tree, _):
        found = run(grove, tree).result()
        assert (found.ending, found.error) == (Ending.FAILED, broken)
        assert (found.reply.text, found.reply.value.status) == ("First.\n\nSecond and", Status.INTERRUPTED)
        assert [OUTCOMES[row.outcome] for row in attempts(grove)] == [
            AttemptOutcome.COMPLETE,
            AttemptOutcome.INTERRUPTED,
        ]
        assert nothing_under_way(grove)
        check_sound(grove)


@covers("collaborate.error-keeps")
def test_an_error_before_the_first_word_of_a_later_turn_keeps_the_earlier_ones(address):
    refused = ProviderError(Trouble.INVALID_REQUEST, "no")
    with workshop(address, ["First.\n→ tree\n", refused]) as (grove, tree, _):
        found = run(grove, tree).result()
        assert (found.ending, found.reply.text) == (Ending.FAILED, "First.")
        assert found.reply.value.status is Status.INTERRUPTED
        assert b"First." in found.reply.provenance().raw_response
        check_sound(grove)


def test_an_error_before_anything_was_said_is_raised(file_address):
    with workshop(file_address, [ProviderError(Trouble.INVALID_REQUEST, "no")]) as (grove, tree, _):
        with pytest.raises(ProviderError, match="no"):
            run(grove, tree).result()
        assert nothing_under_way(grove)
        assert tree.cursor.text == "Look around."


def test_who_cannot_be_a_collaborator_is_told_why(file_address):
    with workshop(file_address, ["Yes."]) as (grove, tree, _):
        with pytest.raises(InvalidInputError, match="'Echo' is not loom-aware"):
            tree.collaborate("Echo", "Look.")
        with pytest.raises(InvalidInputError, match="is a person"):
            tree.collaborate("human", "Look.")
        with pytest.raises(InvalidInputError, match="say what"):
            tree.collaborate(MUSE, "  ")
        with pytest.raises(InvalidInputError, match="must be between"):
            tree.collaborate(MUSE, "Look.", turns=0)
        with pytest.raises(InvalidInputError, match="must be between"):
            tree.collaborate(MUSE, "Look.", seconds=float("inf"))
        assert tree.refresh().counters.nodes == 1
        assert tree.collaborate(None, "Look.").text == "Yes."
        grove.agent(MUSE)
    with workshop(file_address, []) as (grove, tree, _), pytest.raises(NotFoundError):
        grove.agent("Nobody")


@covers("collaborate.never-itself")
def test_an_agent_does_not_run_itself(file_address):
    with workshop(file_address, ["Yes."]) as (grove, tree, _):
        mine = grove.acting_as(MUSE).tree(tree.id)
        with pytest.raises(PermissionDeniedError, match="cannot invoke itself"):
            mine.collaborate(MUSE, "Again.")


def test_thinking_is_no_place_for_commands_and_no_part_of_the_reply(file_address):
    reply = Reply(text="Fine.", thinking=Thinking(text="→ prune a7x2\n"))
    with workshop(file_address, [reply]) as (grove, tree, _):
        found = run(grove, tree).result()
        assert found.results == ()
        assert found.reply.text == "Fine."


def test_a_turn_of_nothing_at_all_ends_it_without_a_reply(file_address):
    with workshop(file_address, [Reply(text=""), "Now.\n→ tree\n", Reply(text="")]) as (grove, tree, _):
        assert run(grove, tree).result().reply is None
        found = run(grove, tree).result()
        assert (found.text, found.reply.value.status) == ("Now.", Status.COMPLETE)
        assert nothing_under_way(grove)
        check_sound(grove)


def test_whoever_has_moved_on_meanwhile_stays_where_it_is(file_address):
    gate = Gate()
    with workshop(file_address, ["Fine."], gate=gate) as (grove, tree, _):
        with run(grove, tree) as going:
            gate.wait(1)
            tree.root.switch()
            gate.open()
            found = going.result()
        assert tree.cursor == tree.root
        assert grove.acting_as(MUSE).tree(tree.id).cursor == found.reply


def test_a_reply_can_be_undone_by_who_asked_for_it(file_address):
    with workshop(file_address, ["Now.\n→ tree\n", "Fine."]) as (grove, tree, _):
        found = run(grove, tree).result()
        tree.undo()
        assert tree.cursor.text == "Look around."
        assert found.reply.id in {node.id for node in tree.hidden}
        check_sound(grove)


@covers("memory.recalled-stash-stays", "command.results-fade")
def test_a_recalled_stash_stands_in_the_block_for_the_rest_of_the_run_and_the_next(file_address):
    script = ['→ stash "theme" "loss and tea"\n', '→ recall "theme"\n', "One.", "Two.", "Three."]
    with workshop(file_address, script) as (grove, tree, model):
        for _ in range(3):
            run(grove, tree).result()
        shown = ['Recalled:\n  "theme" "loss and tea"' in words(request) for request in model.requests]
        assert shown == [False, False, True, True, False]
        assert "Recent actions:" in words(model.requests[1])
        # A result is there for the rest of its run, and gone in the next.
        assert ["[result:1]" in words(request) for request in model.requests] == [
            False,
            True,
            True,
            False,
            False,
        ]
