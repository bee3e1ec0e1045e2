"""Starting a generation is one transaction: what fails in the middle leaves nothing behind."""

from contextlib import aclosing
from dataclasses import replace
from decimal import Decimal

import pytest
from tests.covers import covers
from tests.generation.failing import allow, refuse
from tests.generation.stage import attempts, count, grove_with
from tests.soundness import check_sound

from weft.errors import InvalidInputError, WeftError
from weft.providers.base import ModelPrices
from weft.providers.events import WireHead
from weft.providers.scripted import PROFILE
from weft.store import schema
from weft.store.rows import OUTCOMES
from weft.testing import Gate, Reply, Scripted
from weft.tree.attempt import AttemptOutcome, Usage

PAID = replace(PROFILE, prices=ModelPrices(input=Decimal(10), output=Decimal(100)), local=False, choices=1)
STARTED = ["attempts", "leases", "manifests", "calls", "spending", "bodies", "envelopes", "events"]


class Silent(Scripted):
    """Accepts a request, and answers nothing until the gate lets it."""

    def __init__(self, before):
        super().__init__(lambda _request, _choice: "Yes.", profile=PAID)
        self._before = before

    async def stream(self, request):
        async with aclosing(super().stream(request)) as events:
            async for event in events:
                if isinstance(event, WireHead):
                    await self._before.go_through()
                yield event


@covers("generate.started-whole")
@pytest.mark.parametrize("table", STARTED)
def test_a_start_that_fails_at_any_table_leaves_nothing_behind_and_asks_no_model(address, table):
    model = Scripted(lambda _request, _choice: "Yes.", profile=PAID)
    with grove_with(address, model) as grove:
        asked = grove.plant("Marie").say("Where to?")
        before = count(grove, schema.events)
        refuse(grove, table)
        with pytest.raises(Exception, match="refused"):
            asked.generate(n=2)
        allow(grove, table)
        assert model.requests == []
        for each in STARTED[:-1]:
            assert count(grove, getattr(schema, each)) == 0
        assert count(grove, schema.events) == before
        assert grove.generations.spent().total == 0
        # Nothing blocks the place.
        assert [kid.text for kid in asked.generate(n=2)] == ["Yes.", "Yes."]
        check_sound(grove)


@covers("generate.started-whole")
def test_a_start_without_its_provider_leaves_nothing_behind(file_address):
    with grove_with(file_address, Scripted(["Yes."])) as grove:
        grove.add_agent("Gone", model_ref="nowhere:x")
        asked = grove.plant("Marie").say("Where to?")
        with pytest.raises(WeftError):
            asked.generate(agents=["Echo", "Gone"])
        assert attempts(grove) == []
        assert count(grove, schema.leases) == 0
        assert [kid.text for kid in asked.generate()] == ["Yes."]


@covers("generate.started-whole", "generate.interrupted-kept")
@pytest.mark.parametrize("error", [KeyboardInterrupt, None])
def test_one_that_is_interrupted_before_the_first_byte_leaves_no_running_call_and_no_cost(address, error):
    gate = Gate()
    with grove_with(address, Silent(gate)) as grove:
        asked = grove.plant("Marie").say("Where to?")

        def interrupt():
            with asked.stream(n=2):
                gate.wait(2)
                if error is not None:
                    raise error

        if error is None:
            interrupt()
        else:
            with pytest.raises(error):
                interrupt()
        assert {OUTCOMES[row.outcome] for row in attempts(grove)} == {AttemptOutcome.INTERRUPTED}
        assert count(grove, schema.leases) == count(grove, schema.calls) == 0
        assert grove.generations.spent().total == 0
        assert asked.children == []
        check_sound(grove)


@covers("generate.started-whole")
def test_an_answer_that_no_table_can_hold_leaves_no_running_call_and_no_lease(file_address, caplog):
    odd = Reply(text="Yes.", usage=Usage(prompt=2**70, completion=1))
    with grove_with(file_address, Scripted([odd, "No."])) as grove:
        asked = grove.plant("Marie").say("Where to?")
        with pytest.raises(InvalidInputError, match="must lie between"):
            asked.generate()
        assert [OUTCOMES[row.outcome] for row in attempts(grove)] == [AttemptOutcome.FAILED]
        assert count(grove, schema.leases) == count(grove, schema.calls) == 0
        assert "Traceback" in caplog.text
        assert [kid.text for kid in asked.generate()] == ["No."]
        check_sound(grove)


@covers("generate.checks-first")
@pytest.mark.parametrize("mode", ["dialogue", "buffer"])
def test_nothing_continues_from_an_annotation(address, mode):
    model = Scripted(["Yes."])
    with grove_with(address, model) as grove:
        tree = grove.plant("Marie", mode=mode)
        note = tree.say("Where to?").annotate("by train?")
        refusals = []
        for ask in (note.generate, note.preflight, lambda: note.say("Or by sea?")):
            with pytest.raises(InvalidInputError) as caught:
                ask()
            refusals.append(caught.value)
        refusals.append(tree.do(f"→ continue from {note.local_id}").error)
        says = f"[{note.local_id}] is an annotation: conversations do not continue from it"
        assert [refusal.message for refusal in refusals] == [says] * 4
        assert model.requests == []
        assert list(note.children) == []
