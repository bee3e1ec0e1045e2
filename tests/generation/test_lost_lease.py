"""A generation whose lease is lost stops: it asks for no more words, and writes nothing where another is."""

import pytest
from sqlalchemy import text, update
from tests.coordination.test_jobs import HandClock
from tests.covers import covers
from tests.generation.stage import attempts, count, grove_with
from tests.soundness import check_sound

from weft.errors import ConflictError
from weft.runtime.generation import run as running
from weft.store import schema
from weft.store.rows import OUTCOMES
from weft.testing import Gate, Scripted
from weft.tree.attempt import AttemptOutcome
from weft.tree.node import Status


@pytest.fixture
def quick_beats(monkeypatch):
    """A beat every few milliseconds; the lease itself is held for as long as ever."""
    monkeypatch.setattr(running, "HOLD_SECONDS", 0.06)


@covers("lease.failed-heartbeat-stops", "lease.fencing-token")
@pytest.mark.usefixtures("quick_beats")
def test_a_generation_whose_lease_another_took_stops_and_writes_no_node(address):
    clock, gate = HandClock(), Gate(2)
    with grove_with(address, Scripted(["One two three four."], gate=gate), clock=clock) as grove:
        tree = grove.plant("Marie")
        asked = tree.say("Where to?")
        with asked.stream() as stream:
            gate.wait(1)
            clock.pass_by(31)
            taken = grove.leases.acquire(tree.id, asked.id)
            # Nothing opens the gate: only the lost lease ends it.
            with pytest.raises(ConflictError):
                stream.result()
        assert asked.children == []
        assert [OUTCOMES[row.outcome] for row in attempts(grove)] == [AttemptOutcome.FAILED]
        assert count(grove, schema.calls) == 0
        assert grove.leases.holder(tree.id, asked.id) == taken
        check_sound(grove)


@covers("lease.failed-heartbeat-stops")
@pytest.mark.usefixtures("quick_beats")
def test_a_generation_whose_lease_cannot_be_renewed_until_it_runs_out_stops_and_keeps_what_came(file_address):
    gate = Gate(2)
    with grove_with(file_address, Scripted(["One two three four."], gate=gate)) as grove:
        asked = grove.plant("Marie").say("Where to?")
        with asked.stream() as stream:
            gate.wait(1)
            grove.caller.executor.store.write(
                lambda transaction: transaction.execute(
                    text("CREATE TRIGGER no BEFORE UPDATE ON calls BEGIN SELECT RAISE(ABORT, 'no'); END")
                )
            )
            with pytest.raises(ConflictError, match="lease on this node was lost"):
                stream.result()
        (kept,) = asked.children
        assert (kept.text, kept.value.status) == ("One two", Status.INTERRUPTED)
        assert count(grove, schema.leases) == count(grove, schema.calls) == 0


@covers("lease.failed-heartbeat-stops")
@pytest.mark.usefixtures("quick_beats")
def test_a_generation_whose_idempotency_key_another_call_took_stops(address):
    clock, gate = HandClock(), Gate(2)
    with grove_with(address, Scripted(["One two three four."], gate=gate), clock=clock) as grove:
        asked = grove.plant("Marie").say("Where to?")
        with asked.stream(idempotency_key="k") as stream:
            gate.wait(1)
            claims = schema.idempotency
            grove.caller.executor.store.write(
                lambda transaction: transaction.execute(update(claims).values(holder="another"))
            )
            with pytest.raises(ConflictError, match="lost during the answer"):
                stream.result()
        assert count(grove, schema.leases) == count(grove, schema.calls) == 0
