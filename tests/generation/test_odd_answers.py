"""Answers that are hard to keep: what came is kept all the same, and counted, and told again as it was."""

import asyncio
from dataclasses import replace
from decimal import Decimal

import orjson
import pytest
from sqlalchemy import delete
from tests.covers import covers
from tests.generation.stage import attempts, count, grove_with
from tests.generation.test_kill import kill_after
from tests.soundness import check_sound

from weft.errors import ConflictError, ProviderError
from weft.providers.base import ModelPrices
from weft.providers.events import TextDelta
from weft.providers.scripted import PROFILE
from weft.runtime.generation.answer import CallProgress
from weft.runtime.generation.stream import TextChunk
from weft.store import schema
from weft.store.rows import OUTCOMES
from weft.testing import Gate, Reply, Scripted
from weft.tree.attempt import Usage
from weft.tree.content import CONTENT_LIMIT, Thinking, ToolCall
from weft.tree.node import Status

PRICES = ModelPrices(input=Decimal(3), output=Decimal(15))
ONE_BY_ONE = replace(PROFILE, choices=1)


class Slow(Scripted):
    """Its first answer waits until it is let go, or until a second one has ended."""

    go = False

    async def stream(self, request):
        while request.parameters.seed == 1 and not self.go:  # noqa: ASYNC110 - set in another thread
            await asyncio.sleep(0.001)
        async for event in super().stream(request):
            yield event


@covers("log.no-secrets")
def test_the_traceback_of_a_mistake_in_an_adapter_is_logged_and_what_came_is_kept(file_address, caplog):
    def stumble(_request, _choice):
        raise ZeroDivisionError("token=abcdefghijklmnop")

    with grove_with(file_address, Scripted(stumble)) as grove:
        asked = grove.plant("Marie").say("Where to?")
        with pytest.raises(ProviderError, match=r"ZeroDivisionError: token=\[redacted\]"):
            asked.generate()
    (told,) = [record.getMessage() for record in caplog.records if record.name == "weft.generation"]
    assert "in stumble\n" in told
    assert "abcdefghijklmnop" not in told


@covers("generate.odd-answers-kept")
@pytest.mark.parametrize("bad", ["a\0b", "a\ud83db"])
def test_characters_that_no_text_can_hold_cost_nothing_else(file_address, bad):
    reply = Reply(
        text=f"Looking. {bad}",
        thinking=Thinking(text=f"hm {bad}", opaque={"signature": bad}),
        calls=(ToolCall(id="c1", name="find", arguments={"at": [bad], bad: 1}),),
    )
    with grove_with(file_address, Scripted([reply])) as grove:
        (node,) = grove.plant("Marie").say("Look.").generate()
        assert node.value.status is Status.COMPLETE
        assert "Looking. a�b" in node.text
        kept = node.provenance()
        assert kept.raw_response
        assert kept.request
        check_sound(grove)


@covers("generate.odd-answers-kept")
def test_an_answer_longer_than_a_node_can_hold_is_kept_as_far_as_it_goes(file_address):
    chunk = "x" * (CONTENT_LIMIT // 4)
    with grove_with(file_address, Scripted([Reply(chunks=(chunk,) * 5)])) as grove:
        asked = grove.plant("Marie").say("Go on.")
        with pytest.raises(ProviderError, match="longer than"):
            asked.generate()
        (node,) = asked.children
        assert (len(node.text), node.value.status) == (CONTENT_LIMIT, Status.INTERRUPTED)
        check_sound(grove)


@covers("generate.odd-answers-kept")
def test_a_place_that_was_pruned_while_its_process_died_does_not_keep_a_call_open(address):
    with grove_with(address, Scripted()) as grove:
        asked = grove.plant("Marie").say("Count.")
        node = asked.id
    with grove_with(address, Scripted()) as other:

        def prune() -> None:
            # Where the lease was lost, another process prunes it while the words come; then the first one dies.
            other.caller.store.write(lambda transaction: transaction.execute(delete(schema.leases)))
            other.node(node).prune()

        kill_after(address, node, 20, before=prune)
        assert count(other, schema.calls) == 1
    with grove_with(address, Scripted()) as grove:
        assert count(grove, schema.calls) == count(grove, schema.pieces) == 0
        (row,) = attempts(grove)
        assert OUTCOMES[row.outcome] == "interrupted"
        assert row.response is not None
        check_sound(grove)


@covers("generate.odd-answers-kept")
def test_what_could_not_be_written_down_goes_with_the_next_piece():
    heard = CallProgress(None)
    for word in ("one ", "two "):
        heard.add(TextDelta(word), 0)
    lost = heard.take_news()
    heard.add(TextDelta("three"), 0)
    heard.put_back(lost)
    again = heard.take_news()
    assert again.ordinal == lost.ordinal == 1
    assert [words for _, _, words in orjson.loads(again.piece.said)] == ["one ", "two ", "three"]


@covers("generate.spend-caps")
def test_an_answer_that_was_stopped_is_counted_by_what_came(file_address):
    """A provider tells in the beginning that it has written one token, and in the end how many it were."""
    gate = Gate()
    gate.let(400)
    told = Usage(prompt=10, completion=1)
    reply = Reply(chunks=tuple(f"word{number} " for number in range(900)), usage=told)
    model = Beginning([reply], gate=gate, profile=replace(PROFILE, prices=PRICES, local=False))
    with grove_with(file_address, model) as grove:
        asked = grove.plant("Marie").say("Go on.")
        grove.generations.set_cap(10)
        with asked.stream(max_tokens=4_000) as stream:
            for event in stream:
                if isinstance(event, TextChunk) and "word399" in event.text:
                    break
        assert grove.generations.spent().today >= 400 * 15


class Beginning(Scripted):
    """Tells what it has used before its first word, as Anthropic does."""

    async def stream(self, request):
        from weft.providers.events import ModelReported, UsageReported

        async for event in super().stream(request):
            yield event
            if isinstance(event, ModelReported):
                yield UsageReported(Usage(prompt=10, completion=1))


@covers("idempotency.repeat-returns-first")
def test_a_repeated_call_tells_the_failure_again(file_address):
    model = Scripted([Reply(text="She counts", ending=None)])
    with grove_with(file_address, model) as grove:
        asked = grove.plant("Marie").say("Count.")
        for _ in range(2):
            with pytest.raises(ProviderError, match="connection was cut"):
                asked.generate(idempotency_key="k")
        assert len(model.requests) == len(asked.children) == 1


@covers("idempotency.repeat-returns-first", "generate.stands-at-the-first")
def test_order_and_place_are_those_of_the_continuations_and_not_of_who_was_faster(address):
    model = Slow(lambda request, _: f"seed {request.parameters.seed}", profile=ONE_BY_ONE)
    with grove_with(address, model) as grove:
        tree = grove.plant("Marie")
        asked = tree.say("Count.")
        with asked.stream(n=2, seed=1, idempotency_key="k") as stream:
            for event in stream:
                model.go = model.go or (isinstance(event, TextChunk) and event.slot == 1)
        first = [node.text for node in stream.result()]
        assert first == ["seed 1", "seed 2"]
        assert tree.cursor.text == "seed 1"
        assert [node.text for node in asked.generate(n=2, seed=1, idempotency_key="k")] == first
        tree.undo()
        assert tree.cursor.id == asked.id


@covers("idempotency.repeat-returns-first")
def test_whoever_waits_for_another_with_the_same_key_can_be_stopped(file_address):
    model = Slow(profile=ONE_BY_ONE)
    with grove_with(file_address, model) as grove:
        asked = grove.plant("Marie").say("Count.")
        with asked.stream(seed=1, idempotency_key="k") as first:
            next(iter(first))
            second = asked.stream(seed=1, idempotency_key="k")
            second.stop()
            with pytest.raises(ConflictError, match="still running"):
                second.result()
            model.go = True
            first.result()
