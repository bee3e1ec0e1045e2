"""Generating with a scripted model: what is asked, what comes, what is kept of it, on both stores."""

import asyncio
import threading
from decimal import Decimal

import pytest
from sqlalchemy import delete
from tests.covers import covers
from tests.generation.stage import attempts, count, grove_with
from tests.soundness import check_sound

from weft.errors import (
    ConflictError,
    ContextLimitError,
    InvalidInputError,
    LimitExceededError,
    ModelError,
    PermissionDeniedError,
    ProviderError,
    Trouble,
)
from weft.providers.base import FREE, ModelPrices, ModelProfile
from weft.providers.scripted import PROFILE
from weft.runtime.generation.spending import SpendingPeriod
from weft.runtime.generation.stream import (
    Failed,
    NodeCompleted,
    Notice,
    Retrying,
    Started,
    TextChunk,
    ThinkingChunk,
)
from weft.store import schema
from weft.store.rows import OUTCOMES
from weft.testing import Gate, Reply, Scripted
from weft.tree.attempt import AttemptOutcome, Usage
from weft.tree.content import Thinking, ToolCall
from weft.tree.edge import SourceRole
from weft.tree.item import Item
from weft.tree.node import Status

PAID = ModelPrices(input=Decimal(10), output=Decimal(100))


def profile_with(**changes) -> ModelProfile:
    from dataclasses import replace

    return replace(PROFILE, **changes)


def outcomes(grove) -> list[AttemptOutcome]:
    return [OUTCOMES[row.outcome] for row in attempts(grove)]


@covers("generate.empty-answer-marked")
def test_an_answer_without_text_is_an_empty_node_that_is_marked_and_named(address):
    model = Scripted(["", "Tea.", Reply(text="", thinking=Thinking(text="Hm."))])
    with grove_with(address, model) as grove:
        asked = grove.plant("Marie").say("What?")
        made = asked.generate(n=3, idempotency_key="k")
        assert [kid.text for kid in made] == ["", "Tea.", ""]
        assert [kid.status for kid in made] == [Status.COMPLETE] * 3
        assert made.notices == ("empty: the model returned no text",)
        assert made[0].provenance().value.call_note == made.notices[0]
        assert outcomes(grove) == [AttemptOutcome.COMPLETE]
        assert asked.generate(n=3, idempotency_key="k").notices == made.notices
        with asked.stream(n=3, idempotency_key="k") as stream:
            notices = [event for event in stream if isinstance(event, Notice)]
        assert notices == [Notice((0, 2), made.notices[0])]
        check_sound(grove)


@covers("generate.empty-answer-marked")
def test_a_tool_call_alone_is_no_empty_answer(address):
    call = ToolCall(id="c", name="look", arguments={})
    with grove_with(address, Scripted([Reply(calls=(call,))])) as grove:
        made = grove.plant("Marie").say("What?").generate()
        assert made.notices == ()
        assert made[0].provenance().value.call_note is None


@covers("provider.temperature-range")
def test_a_temperature_that_the_model_does_not_take_is_refused_and_nothing_is_kept(address):
    model = Scripted(["Tea."], profile=profile_with(temperatures=(0, 1)))
    with grove_with(address, model) as grove:
        asked = grove.plant("Marie").say("What?")
        with pytest.raises(InvalidInputError, match=r"temperature must be between 0 and 1 .*got 1\.5"):
            asked.generate(temperature=1.5)
        assert (attempts(grove), model.requests) == ([], [])


@covers("op.generate", "generate.one-transaction", "generate.concurrent-requests")
def test_one_request_with_n_choices_makes_n_siblings_with_all_their_evidence(address):
    model = Scripted(["Left.", "Right.", "On."])
    with grove_with(address, model) as grove:
        asked = grove.plant("Marie", system_context="Be brief.").say("Where to?")
        kids = asked.generate(n=3)
        assert [kid.text for kid in kids] == ["Left.", "Right.", "On."]
        assert [kid.id for kid in asked.children] == [kid.id for kid in kids]
        assert len(model.requests) == 1
        assert model.requests[0].system == ("Be brief.",)
        one, two = kids[0].provenance(), kids[1].provenance()
        assert one.value.response_sha256 == two.value.response_sha256
        assert count(grove, schema.responses) == 1
        assert b"Where to?" in one.request
        assert one.raw_response.startswith(b"HTTP/1.1 200")
        assert grove.generations.sent(asked.tree_id, kids[0].id).generation["model"] == "scripted:echo"
        assert one.value.usage.completion == 3
        assert outcomes(grove) == [AttemptOutcome.COMPLETE]
        assert count(grove, schema.calls) == count(grove, schema.pieces) == count(grove, schema.leases) == 0
        check_sound(grove)


@covers("generate.concurrent-requests")
def test_where_a_request_has_one_choice_n_requests_run_at_once(address):
    gate = Gate()
    model = Scripted(lambda _request, _choice: "Yes.", gate=gate, profile=profile_with(choices=1))
    with grove_with(address, model) as grove:
        asked = grove.plant("Marie").say("Really?")
        with asked.stream(n=3, seed=7) as stream:
            gate.wait(3)
            assert len(model.requests) == 3
            gate.open()
            assert [node.text for node in stream.result()] == ["Yes."] * 3
        assert [request.parameters.seed for request in model.requests] == [7, 8, 9]
        assert outcomes(grove) == [AttemptOutcome.COMPLETE] * 3
        check_sound(grove)


@covers("generate.several-agents")
def test_several_agents_answer_at_once_as_siblings(address):
    one, other = Scripted(["Tea."], name="one"), Scripted(["Coffee."], name="other")
    with grove_with(address, one, other) as grove:
        grove.add_agent("Other", model_ref="other:echo")
        asked = grove.plant("Marie").say("Tea or coffee?")
        kids = asked.generate(agents=["Echo", "Other"])
        assert {kid.text for kid in kids} == {"Tea.", "Coffee."}
        assert {grove.read.agent(kid.value.author_id).name for kid in kids} == {"Echo", "Other"}
        check_sound(grove)


@covers("generate.streams", "generate.finished-never-lost")
def test_words_come_as_they_are_said_and_the_end_is_told_once_it_is_durable(address):
    gate = Gate()
    model = Scripted([Reply(text="One two three", thinking=Thinking(text="Hm."))], gate=gate)
    with grove_with(address, model) as grove:
        asked = grove.plant("Marie").say("Count.")
        with asked.stream() as stream:
            events = iter(stream)
            assert isinstance(next(events), Started)
            gate.let(2)
            assert next(events) == ThinkingChunk(0, "Hm.")
            assert next(events) == TextChunk(0, "One")
            gate.open()
            rest = list(events)
        ended = rest[-1]
        assert isinstance(ended, NodeCompleted)
        assert "".join(event.text for event in rest if isinstance(event, TextChunk)) == " two three"
        assert grove.node(ended.node.id).text == "One two three"
        assert [
            block.kind if hasattr(block, "kind") else type(block).__name__
            for block in ended.node.content.blocks
        ]
        check_sound(grove)


def test_a_stream_can_be_read_in_an_event_loop(file_address):
    async def listen(node):
        async with node.stream(n=2) as stream:
            said = [event async for event in stream if isinstance(event, TextChunk)]
            return said, stream.nodes

    with grove_with(file_address, Scripted(["A b", "C d"])) as grove:
        said, nodes = asyncio.run(listen(grove.plant("Marie").say("Go.")))
        assert [node.text for node in nodes] == ["A b", "C d"]
        assert "".join(each.text for each in said if each.slot == 1) == "C d"


@covers("generate.interrupted-kept")
def test_what_came_before_a_stop_is_kept_as_interrupted_with_its_wire_bytes(address):
    gate = Gate()
    with grove_with(address, Scripted(["One two three four"], gate=gate)) as grove:
        asked = grove.plant("Marie").say("Count.")
        with asked.stream() as stream:
            gate.let(2)
            said = ""
            for event in stream:
                said += event.text if isinstance(event, TextChunk) else ""
                if said == "One two":
                    break
        (kept,) = asked.children
        assert (kept.text, kept.value.status) == ("One two", Status.INTERRUPTED)
        assert kept.provenance().raw_response.endswith(b'" two"}\n')
        assert outcomes(grove) == [AttemptOutcome.INTERRUPTED]
        assert attempts(grove)[0].error == "stopped"
        assert asked.tree.cursor.id == kept.id
        # The place is free again at once.
        gate.open()
        check_sound(grove)


@covers("proof.dropped-upstream", "generate.interrupted-kept")
def test_a_connection_that_is_cut_leaves_an_interrupted_node_and_an_error(address):
    replies = [Reply(text="Half of it", ending=None)]
    with grove_with(address, Scripted(replies)) as grove:
        asked = grove.plant("Marie").say("Tell me.")
        with pytest.raises(ModelError, match="connection was cut") as caught:
            asked.generate()
        (kept,) = asked.children
        assert (kept.text, kept.value.status) == ("Half of it", Status.INTERRUPTED)
        assert kept.local_id in caught.value.__notes__[0]
        assert attempts(grove)[0].error.startswith("network: ")
        check_sound(grove)


def test_of_several_choices_those_that_ended_are_complete_though_another_was_cut(address):
    replies = [Reply(text="Whole"), Reply(text="Not so whole", ending=None)]
    with grove_with(address, Scripted(replies)) as grove:
        kids = grove.plant("Marie").say("Both?").generate(n=2)
        assert [(kid.text, kid.value.status) for kid in kids] == [
            ("Whole", Status.COMPLETE),
            ("Not so whole", Status.INTERRUPTED),
        ]
        assert [type(each) for each in kids.failures] == [ProviderError]
        assert outcomes(grove) == [AttemptOutcome.INTERRUPTED]
        check_sound(grove)


def test_an_error_without_a_word_makes_no_node_and_keeps_the_error_response(file_address):
    error = ProviderError(Trouble.AUTHENTICATION, "no such key", status=401)
    with grove_with(file_address, Scripted([error])) as grove:
        asked = grove.plant("Marie").say("Well?")
        with pytest.raises(ProviderError, match="no such key"):
            asked.generate()
        assert asked.children == []
        (row,) = attempts(grove)
        assert (OUTCOMES[row.outcome], row.error) == (AttemptOutcome.FAILED, "authentication: no such key")
        assert row.response is not None
        check_sound(grove)


@covers("generate.retried-tries-kept")
def test_a_try_that_failed_is_tried_again_and_kept_as_an_attempt_of_its_own(address, monkeypatch):
    monkeypatch.setattr("weft.providers.adapter.Policy.wait", lambda *_: 0.0)
    busy = ProviderError(Trouble.SERVER_ERROR, "overloaded", status=529)

    def tries(request, _choice):
        return busy if len(model.requests) == 1 else "Now."

    model = Scripted(tries)
    with grove_with(address, model) as grove:
        asked = grove.plant("Marie").say("Well?")
        with asked.stream() as stream:
            events = list(stream)
        assert [event.error for event in events if isinstance(event, Retrying)] == [busy]
        assert [node.text for node in asked.children] == ["Now."]
        assert sorted(outcomes(grove)) == [AttemptOutcome.COMPLETE, AttemptOutcome.FAILED]
        assert {row.error for row in attempts(grove)} == {None, "server_error: overloaded"}
        assert count(grove, schema.responses) == 2
        check_sound(grove)


def a_document(grove, **options):
    """A document with all that can come with it."""
    project = grove.create_project("Looms", system_prompt="Weave.")
    tree = grove.plant(
        "Story", "Once", mode="buffer", system_context="In verse.", project=project.id, **options
    )
    map_, song = tree.root.say("A map."), tree.root.say("A song.")
    rule = tree.root.say("In French.")
    here = tree.root.say(" upon", context=[map_], instructions=[rule])
    here = here.merge(song, content=" a time")
    here.attach(Item(id="style.md", type="note", content="Short sentences."))
    return here


@covers("buffer.references-for-chat-models", "buffer.system-context-only-if-asked")
@pytest.mark.parametrize("system", [True, False])
@pytest.mark.parametrize("completion", [True, False])
def test_a_document_is_sent_with_references_to_a_chat_model_alone(address, system, completion):
    model = Scripted([" and on."], profile=profile_with(completion=completion))
    with grove_with(address, model) as grove:
        here = a_document(grove, buffer_mode_system_context=system)
        shown = here.context(agent="Echo", context=[here.tree.root.say("A late word.")])
        (kid,) = here.generate(context=[here.tree.root.say("A late word.")])
        (request,) = model.requests
        assert request.prompt == shown.document == "Once upon a time"
        text = "".join(message.text for message in request.messages)
        assert text == "".join(message.text for message in shown.messages) or not completion
        words = ["A map.", "A song.", "A late word.", "Short sentences."]
        assert [word in text for word in words] == [not completion] * 4
        asked = ["In verse.", "In French.", "Weave."]
        assert [word in "".join(request.system) for word in asked] == [system] * 3
        reasons = {entry.id: entry.reason for entry in kid.provenance().manifest or ()}
        if completion:
            assert reasons["style.md"] == "a completion endpoint takes the text alone"
        if not system:
            assert reasons["project_system_prompt"] == "the document goes without its system context"
        sent = grove.generations.sent(here.tree.id, kid.id)
        assert grove.generations.check_sent(sent).again == "same"


@covers("buffer.committed-by-generate")
def test_generating_commits_what_was_typed_also_if_it_then_fails(address):
    model = Scripted([" and so on.", ProviderError(Trouble.INVALID_REQUEST, "no")])
    with grove_with(address, model) as grove:
        tree = grove.plant("Story", "Once", mode="buffer")
        tree.type(" upon a time")
        (kid,) = tree.generate()
        assert tree.text == "Once upon a time and so on."
        assert model.requests[0].prompt == "Once upon a time"
        assert kid.value.edge.sources[0].node != tree.root.id
        tree.type(" The end")
        with pytest.raises(ProviderError):
            tree.generate()
        assert (tree.working_buffer, tree.text) == ("", "Once upon a time and so on. The end")
        check_sound(grove)


def test_further_sources_are_shown_to_the_model_and_written_on_the_edge(file_address):
    model = Scripted()
    with grove_with(file_address, model) as grove:
        tree = grove.plant("Marie")
        note, rule = tree.say("The lamp is green."), tree.say("Answer in French.")
        asked = tree.root.say("Which colour?")
        (kid,) = asked.generate(context=[note], instructions=[rule])
        assert [source.role for source in kid.value.edge.sources] == [
            SourceRole.PRIMARY,
            SourceRole.CONTEXT,
            SourceRole.INSTRUCTION,
        ]
        assert "The lamp is green." in "".join(message.text for message in model.requests[0].messages)
        assert "Answer in French." in model.requests[0].system_text
        check_sound(grove)


def test_a_model_with_prefill_goes_on_where_its_own_words_end(file_address):
    model = Scripted([" and white."])
    with grove_with(file_address, model) as grove:
        answer = grove.plant("Marie").say("Colours?").say("Black", author="Echo")
        answer.generate()
        assert model.requests[0].prefill == "Black"
        assert [message.text for message in model.requests[0].messages] == ["Colours?"]


@covers("generate.checks-first")
def test_who_may_not_generate_is_refused_before_anybody_is_asked(file_address):
    model = Scripted()
    with grove_with(file_address, model) as grove:
        node = grove.plant("Marie").say("Well?")
        grove.add_agent("Reader", type="human", permissions=["loom_aware", "loom_write"])
        reader = grove.acting_as("Reader")
        with pytest.raises(PermissionDeniedError, match="loom_generate not enabled"):
            reader.node(node.id).generate(agent="Echo")
        assert model.requests == []
        assert attempts(grove) == []


@covers("generate.checks-first")
def test_a_place_that_is_being_extended_is_refused_and_others_are_free(address):
    gate = Gate()
    with grove_with(address, Scripted(gate=gate)) as grove:
        tree = grove.plant("Marie")
        one, two = tree.root.say("One"), tree.root.say("Two")
        with one.stream() as stream:
            gate.wait(1)
            with pytest.raises(ConflictError, match="is being extended"):
                one.generate()
            with pytest.raises(ConflictError, match="is extending"):
                one.say("Me too")
            gate.open()
            assert two.generate()[0].text == "You said: Two"
            assert stream.result()[0].text == "You said: One"
        assert one.generate()
        check_sound(grove)


def test_a_node_that_was_pruned_meanwhile_gets_no_child_but_the_answer_is_kept(address):
    gate = Gate()
    with grove_with(address, Scripted(["Too late"], gate=gate)) as grove:
        node = grove.plant("Marie").say("Well?")
        with node.stream() as stream:
            gate.wait(1)
            with pytest.raises(ConflictError):
                node.prune()
            # A lease that was lost does not protect the node.
            grove.caller.store.write(lambda transaction: transaction.execute(delete(schema.leases)))
            node.prune()
            gate.open()
            with pytest.raises(ConflictError):
                stream.result()
        (row,) = attempts(grove)
        assert OUTCOMES[row.outcome] is AttemptOutcome.FAILED
        assert row.response is not None
        check_sound(grove)


def test_nonsense_is_refused(file_address):
    with grove_with(file_address, Scripted()) as grove:
        node = grove.plant("Marie").say("Well?")
        for options in ({"n": 0}, {"n": True}, {"agents": ["Echo", "Echo"]}, {"temperature": -1}):
            with pytest.raises(InvalidInputError):
                node.generate(**options)
        with pytest.raises(LimitExceededError, match="the most is 100"):
            node.generate(n=10**9)
        with pytest.raises(InvalidInputError, match="is a person"):
            node.generate(agent="human")
        with pytest.raises(ContextLimitError):
            node.generate(limit=0)
        assert attempts(grove) == []


@covers("proof.same-key-fifty-times", "idempotency.claimed-before-the-call")
def test_the_same_key_fifty_times_at_once_is_one_request_and_one_result(address):
    model = Scripted(["Once."])
    with grove_with(address, model) as grove:
        node = grove.plant("Marie").say("How often?")
        results, errors = [], []

        def ask():
            try:
                results.append([kid.id for kid in node.generate(idempotency_key="same")])
            except Exception as error:  # noqa: BLE001
                errors.append(error)

        threads = [threading.Thread(target=ask) for _ in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert len(model.requests) == 1
        assert results == [[node.children[0].id]] * 50
        with pytest.raises(ConflictError, match="was used for another request"):
            node.generate(idempotency_key="same", n=2)
        check_sound(grove)


@covers("generate.preflight")
def test_the_preflight_tells_tokens_and_price_for_n_times_agents_and_spends_nothing(file_address):
    model = Scripted(profile=profile_with(prices=PAID, local=False, choices=1))
    with grove_with(file_address, model) as grove:
        grove.add_agent("Other", model_ref="scripted:other")
        node = grove.plant("Marie").say("x" * 400)
        told = node.preflight(n=2, agents=["Echo", "Other"], max_tokens=10)
        assert [(each.agent, each.n, each.requests, each.tokens) for each in told.agents] == [
            ("Echo", 2, 2, 100),
            ("Other", 2, 2, 100),
        ]
        # 100 tokens at $10 and 10 at $100 a million, four times.
        assert told.dollars == 4 * (Decimal(100 * 10 + 10 * 100) / 1_000_000)
        assert told.cached_share == 0
        assert model.requests == []


@covers("generate.spend-caps")
@pytest.mark.parametrize("whose", ["grove", "tree", "agent"])
def test_a_cap_on_the_grove_a_tree_or_an_agent_holds(file_address, whose):
    usage = Usage(prompt=1_000, completion=100)
    model = Scripted(
        lambda _request, _choice: Reply(text="Yes.", usage=usage),
        profile=profile_with(prices=PAID, local=False),
    )
    with grove_with(file_address, model) as grove:
        tree = grove.plant("Marie")
        node = tree.say("Well?")
        named = {"grove": "grove", "tree": f"tree:{tree.id}", "agent": f"agent:{grove.read.agent('Echo').id}"}
        generations = grove.generations
        # Each call comes to two cents.
        generations.set_cap(0.05, whose=named[whose], period=SpendingPeriod.DAY)
        node.generate(max_tokens=100)
        assert generations.spent().today == 20_000
        node.generate(max_tokens=100)
        with pytest.raises(LimitExceededError, match=r"has spent \$0.0400 of \$0.05 today"):
            node.generate(max_tokens=200)
        assert len(model.requests) == 2
        elsewhere = grove.plant("Elsewhere").say("Well?")
        if whose == "tree":
            elsewhere.generate(max_tokens=100)
        generations.set_cap(None, whose=named[whose], period=SpendingPeriod.DAY)
        node.generate(max_tokens=200)
        check_sound(grove)


@covers("generate.unattended-needs-a-cap", "generate.spend-caps")
def test_a_loop_without_a_person_needs_a_cap_unless_the_model_is_free(file_address):
    paid = Scripted(name="paid", profile=profile_with(prices=PAID, local=False))
    unknown = Scripted(name="unknown", profile=profile_with(prices=None, local=False))
    free = Scripted(profile=profile_with(prices=FREE))
    with grove_with(file_address, free, paid, unknown) as grove:
        grove.add_agent("Paid", model_ref="paid:one")
        grove.add_agent("Unknown", model_ref="unknown:one")
        node = grove.plant("Marie").say("Well?")
        node.generate(agent="Echo", unattended=True)
        with pytest.raises(LimitExceededError, match="set a spend cap"):
            node.generate(agent="Paid", unattended=True)
        grove.generations.set_cap(1)
        node.generate(agent="Paid", unattended=True, max_tokens=10)
        with pytest.raises(LimitExceededError, match="the price of .* is not known"):
            node.generate(agent="Unknown", unattended=True)
        with pytest.raises(LimitExceededError, match="at most"):
            node.generate(agent="Paid", max_price=0.000001)


@covers("generate.default-agent", "python.plant-say-generate")
def test_who_answers_by_default_is_chosen_or_came_first(file_address):
    with grove_with(file_address, Scripted()) as grove:
        node = grove.plant("Marie").say("Who?")
        grove.add_agent("Later", model_ref="scripted:later")
        grove.add_agent("Elsewhere", model_ref="nowhere:model")
        name_of = lambda kid: grove.read.agent(kid.value.author_id).name  # noqa: E731
        # An agent that is added does not take over.
        assert name_of(node.generate()[0]) == grove.generations.answering_agent.name == "Echo"
        grove.generations.choose_default("Later")
        assert name_of(node.generate()[0]) == grove.generations.answering_agent.name == "Later"
        check_sound(grove)


@covers("generate.undone")
def test_undoing_a_generation_hides_what_it_made_and_redoing_brings_it_back(address):
    with grove_with(address, Scripted()) as grove:
        tree = grove.plant("Marie")
        node = tree.say("Well?")
        kids = node.generate(n=2)
        tree.undo()
        assert node.children == []
        assert tree.cursor.id == node.id
        tree.redo()
        assert [kid.id for kid in node.children] == [kid.id for kid in kids]
        assert len(attempts(grove)) == 1
        check_sound(grove)


def test_characters_that_no_store_takes_do_not_cost_the_answer(address):
    with grove_with(address, Scripted(["A\0b \ud800c"])) as grove:
        (kid,) = grove.plant("Marie").say("Well?").generate()
        assert kid.text == "A\ufffdb \ufffdc"
        check_sound(grove)


def test_a_closed_grove_has_kept_what_came(address):
    gate = Gate()
    with grove_with(address, Scripted(["One two three"], gate=gate)) as grove:
        node = grove.plant("Marie").say("Count.")
        stream = node.stream()
        gate.let(1)
        next(event for event in stream if isinstance(event, TextChunk))
    with grove_with(address, Scripted()) as grove:
        assert [(kid.text, kid.value.status) for kid in grove.node(node.id).children] == [
            ("One", Status.INTERRUPTED)
        ]


def test_failed_says_which_continuations_do_not_come(file_address):
    replies = [Reply(text="Whole"), Reply(text="Cut", ending=None)]
    with grove_with(file_address, Scripted(replies)) as grove:
        with grove.plant("Marie").say("Both?").stream(n=2) as stream:
            failed = [event for event in stream if isinstance(event, Failed)]
        assert [event.slots for event in failed] == [(1,)]


@covers("generate.in-layers")
def test_what_is_attached_is_sent_in_layers_and_the_cached_share_is_foretold(address):
    model = Scripted()
    with grove_with(address, model) as grove:
        tree = grove.plant("Tea", system_context="Be brief.")
        pot = Item(id="pot.md", type="note", content="The pot is blue.")
        asked = tree.say("Which pot?", attachments=[pot])
        (answer,) = asked.generate()
        assert "The pot is blue." in model.requests[0].messages[-1].text
        again = answer.say("And the cup?")
        assert again.preflight().cached_share is not None
        (second,) = again.generate()
        # It is in the library now, before the conversation.
        assert "The pot is blue." in model.requests[1].system_text
        assert asked.sent().processed_user_text == model.requests[0].messages[-1].text
        for node in (answer, second):
            sent = grove.generations.sent(tree.id, node.id)
            assert sent.generation["assembly"] == "layers"
            assert grove.generations.check_sent(sent).again == "same"
        check_sound(grove)


@covers("op.undo-whole-generation")
def test_continuations_of_one_generation_are_undone_and_redone_together(address):
    model = Scripted(profile=profile_with(choices=1))
    with grove_with(address, model) as grove:
        tree = grove.plant("Tea")
        asked = tree.say("Which pot?")
        first = asked.generate(n=2)
        second = asked.generate(n=3)
        assert len(model.requests) == 5
        undone = tree.undo()
        assert {node for step in undone for node in step.nodes} == {node.id for node in second}
        assert {node.id for node in asked.children} == {node.id for node in first}
        tree.undo(2)
        assert asked.value.id not in {node.id for node in tree.root.children}
        tree.redo(3)
        assert {node.id for node in asked.children} == {node.id for node in [*first, *second]}
        check_sound(grove)


@covers("generate.in-layers", "memory.user-memory-in-l1", "python.context")
def test_what_a_context_shows_is_what_is_sent_also_of_items_memory_and_projects(address):
    model = Scripted()
    pot = Item(id="pot.md", type="note", content="The pot is blue.")
    with grove_with(address, model) as grove:
        plain, attached = grove.plant("Tea").say("Which pot?"), grove.plant("Pots").say("Which?").attach(pot)
        project = grove.create_project("Kitchen", system_prompt="You keep the pots.")
        within = project.add(grove.plant("Shelf")).say("And where?")
        asked = [plain, attached, within]
        for memory in (False, True):
            if memory:
                grove.remember("likes green tea")
            for node in asked:
                seen = node.context()
                node.generate()
                sent = model.requests[-1]
                assert (sent.system_text, sent.messages) == (seen.system, seen.messages)
                assert ("likes green tea" in sent.system_text) is memory
                assert seen.tokens == node.manifest().tokens == sum(each.tokens for each in seen.manifest)
        assert [
            [layer.id.value[:2] for layer in each.context().layers if layer.tokens] for each in asked
        ] == [
            ["L1", "L5"],
            ["L1", "L3", "L5"],
            ["L1", "L5"],
        ]
        assert "The pot is blue." in attached.context().messages[-1].text
        assert "You keep the pots." in within.context().system


@covers("context.as-the-model-is")
def test_a_context_for_an_agent_is_what_its_model_is_sent(address):
    model = Scripted(profile=profile_with(window=3_000, prefill=True, choices=1))
    with grove_with(address, model) as grove:
        agent = next(agent for agent in grove.agents() if agent.name == "Echo")
        tree = grove.plant("Long", system_context="Be brief.")
        node = before = tree.root
        for number in range(120):
            before = node
            node = node.say(f"Number {number}. " + "word " * 30, author=agent.id if number % 2 else None)
        for end in (node, before):
            shown = end.context(agent=agent.id)
            end.generate(agent=agent.id)
            asked = model.requests[-1]
            sent = [message.text for message in asked.messages] + [asked.prefill] * bool(asked.prefill)
            assert [message.text for message in shown.messages] == sent
            assert len(sent) < 120


@covers("context.as-the-model-is")
def test_an_option_for_one_ability_of_a_provider_leaves_the_others_as_its_profile_says(address):
    with grove_with(address, Scripted(profile=profile_with(prefill=True, choices=1))) as grove:
        agent = next(agent for agent in grove.agents() if agent.name == "Echo")
        said = grove.plant("Half", "Begin.").say("The pot is", author=agent.id)
        for options, last in [
            ({}, "assistant"),
            ({"prefix_cache": True}, "assistant"),
            ({"prefill": False}, "user"),
        ]:
            assert said.context(agent=agent.id, **options).messages[-1].role == last, options
