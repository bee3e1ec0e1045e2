"""`→ continue`: another goes on, never the agent itself, not even through others; leases and runs."""

import threading

import pytest
from tests.collaboration.commands.workplace import Workplace, open_with
from tests.covers import covers

from weft.commands.scanner import scan
from weft.errors import ConflictError, PermissionDeniedError, ProviderError, Trouble
from weft.grove.grove import Grove
from weft.ids import new_ulid
from weft.runtime.generation.options import GenerationOptions
from weft.runtime.generation.start_point import StartPlace
from weft.runtime.operations.nodes import Append
from weft.store import schema
from weft.testing import Gate, Reply, Scripted, SteppingClock
from weft.tree.node import Status


@covers("command.continue")
def test_continue_lets_another_agent_go_on(work):
    a = work.a.local_id
    told = work.ok(f'continue from {a} n:2 tokens:7 temp:0.5 stop:"END" using agent:"Base"')
    one, two = work.session.results[-1].nodes
    assert told == f"✓ continued from [{a}] · 2 results · [{one}], [{two}] · by Base"
    base = next(agent for agent in work.loom.agents() if agent.name == "Base")
    assert {work.node(name).value.author_id for name in (one, two)} == {base.id}
    # The agent has asked, and not moved.
    assert work.session.place().path == (work.root.local_id,)
    work.ok(f"switch to {work.b.local_id}")
    assert work.ok("continue").startswith(f"✓ continued from [{work.b.local_id}] · 1 result · [")


@covers("command.continue")
def test_continue_passes_on_what_was_asked_for(address):
    model = Scripted()
    with open_with(address, model) as loom:
        work = Workplace(loom)
        work.ok(f'continue from {work.a.local_id} tokens:7 temp:0.5 stop:"END" using agent:"Base"')
        (asked,) = model.requests
        assert (asked.parameters.max_tokens, asked.parameters.temperature, asked.parameters.stop) == (
            7,
            0.5,
            ("END",),
        )
        assert "crossTree" not in asked.parameters.custom


@covers("command.continue", "generate.empty-answer-marked")
def test_continue_names_an_answer_without_text(address):
    with open_with(address, Scripted([""])) as loom:
        work = Workplace(loom)
        shown = work.ok(f'continue from {work.a.local_id} using agent:"Base"')
        assert shown.endswith("\n  note: empty: the model returned no text")


@covers("command.continue-at-most-ten")
def test_at_most_ten_and_the_permission_is_asked_for_first(grove):
    work = Workplace(grove)
    a = work.a.local_id
    assert work.no(f"continue from {a} n:50") == (
        "✗ LIMIT_EXCEEDED: max continuations per request is 10\n  hint: use n:10 or less"
    )
    analyst = Workplace(grove, permissions=("loom_aware", "doc_read"))
    assert analyst.no(f"continue from {analyst.a.local_id} n:50") == (
        "✗ PERMISSION_DENIED: loom_generate not enabled\n"
        "  hint: request elevated permissions or ask the human to generate"
    )


@covers("collaborate.never-itself")
def test_an_agent_never_asks_itself(work):
    assert work.no(f'continue using agent:"{work.agent.name}"') == (
        '✗ PERMISSION_DENIED: you cannot invoke yourself\n  hint: name another: → continue using agent:"…"'
    )
    # Nor where nobody is named and it came last of all models.
    told = work.ok(f"continue from {work.a.local_id}")
    assert not told.endswith(f"by {work.agent.name}")


@covers("collaborate.call-chain-checked")
def test_nobody_is_asked_who_led_here(work):
    other = work.loom.add_agent(f"Other {work.number}", model_ref="scripted:x", permissions=["loom_aware"])
    work.session = work.new_session(chain=(other.id,))
    assert work.session.chain == (other.id, work.agent.id)
    before = work.events()
    assert work.no(f'continue using agent:"{other.name}"') == (
        f"✗ PERMISSION_DENIED: '{other.name}' is already in this chain of calls and cannot be invoked again\n"
        '  hint: name another: → continue using agent:"…"'
    )
    assert not work.ok(f"continue from {work.a.local_id}").endswith(f"by {other.name}")
    # And the operation refuses it too, whoever comes with such a chain.
    place = StartPlace(tree=work.tree.id, node=work.a.id, chain=work.session.chain)
    with pytest.raises(
        PermissionDeniedError, match="is already in this chain of calls and cannot be invoked again"
    ):
        Grove(work.session.caller).generations.stream(
            place.tree, place.node, GenerationOptions(agent=other.id), place
        ).result()
    assert work.events()[1] == before[1]


@covers("collaborate.call-chain-checked", "permission.intersection")
def test_an_agent_that_acts_through_another_does_not_ask_who_it_acts_for(work):
    other = Workplace(work.loom)
    inner = type(work.session)(work.session.caller, work.tree.id, other.agent, run=other.session.run_id)
    assert inner.chain == (work.agent.id, other.agent.id)
    line = scan(f'→ continue from {work.a.local_id} using agent:"{work.agent.name}"').batch
    (result,) = inner.run(line, turn=1)
    assert result.error.code == "PERMISSION_DENIED"


@covers("collaborate.call-chain-checked")
def test_the_chain_is_kept_with_the_call(work):
    work.ok(f'continue from {work.a.local_id} using agent:"Base"')
    events = [each for each in work.loom.read.events(work.tree.id) if each.kind == "attempt"]
    assert events[0].payload["chain"] == [work.agent.id]
    assert work.loom.verify().verdict == "valid"


@covers("command.continue")
def test_a_providers_trouble_is_a_model_error_and_what_came_is_kept(address):
    broken = ProviderError(Trouble.INVALID_REQUEST, "no such thing")
    with open_with(
        address, Scripted([Reply(error=broken), Reply(chunks=("So ", "far"), error=broken)])
    ) as loom:
        work = Workplace(loom)
        line = f'continue from {work.a.local_id} using agent:"Base"'
        assert work.no(line) == "✗ MODEL_ERROR: no such thing"
        assert work.no(line) == "✗ MODEL_ERROR: no such thing"
        kept = [node for node in work.a.children if node.value.status is Status.INTERRUPTED]
        assert [node.text for node in kept] == ["So far"]
        assert loom.verify().verdict == "valid"


@covers("command.stop")
def test_a_session_that_is_stopped_stops_who_it_asked(address):
    gate = Gate()
    with open_with(address, Scripted(["one two three four five six"], gate=gate)) as loom:
        work = Workplace(loom)
        done: list = []
        lines = scan(
            f'→ continue from {work.a.local_id} using agent:"Base"\n→ bookmark {work.a.local_id}'
        ).batch
        thread = threading.Thread(target=lambda: done.extend(work.session.run(lines, turn=1)))
        thread.start()
        gate.let(2)
        gate.wait()
        work.session.stop()
        thread.join(30)
        assert not thread.is_alive()
        assert len(done) == 1
        assert not work.node(work.a.id).metadata.bookmarked


@covers("lease.conflict-names-the-holder", "lease.held-by-a-run")
def test_where_another_run_writes_it_is_a_conflict_and_where_its_own_does_it_is_not(work):
    loom, a = work.loom, work.a
    other = loom.add_agent(
        f"Rival {work.number}", model_ref="scripted:x", permissions=["loom_aware", "loom_write"]
    )
    lease = loom.acting_as(other.id).leases.acquire(work.tree.id, a.id, seconds=30)
    until = lease.expires_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    taken = f"✗ CONFLICT: '{other.name}' is extending [{a.local_id}] until {until}"
    before = work.events()
    assert work.no(f'respond {a.local_id} "x"').startswith(taken)
    assert work.one(f'continue from {a.local_id} using agent:"Base"').error.code == "CONFLICT"
    assert work.events() == before
    # Others can read, note, and go on elsewhere.
    work.ok(f"view {a.local_id}")
    work.ok(f'annotate {a.local_id} "hm"')
    work.ok(f'respond {work.beside.local_id} "x"')
    loom.acting_as(other.id).leases.release(lease)
    mine = Grove(work.session.caller).leases.acquire(work.tree.id, a.id, run=work.session.run_id)
    assert mine.run == work.session.run_id
    work.ok(f'respond {a.local_id} "mine"')
    work.ok(f'continue from {a.local_id} using agent:"Base"')
    work.ok(f'continue from {a.local_id} n:2 using agent:"Base"')
    one, two = work.session.results[-1].nodes
    # Each command is a step of its own, though one run wrote it all.
    assert set(work.ok("undo").removeprefix("✓ undid generate ").split(", ")) == {f"[{one}]", f"[{two}]"}
    # The run holds it still, and others are kept out.
    assert loom.leases.holder(work.tree.id, a.id).run == work.session.run_id
    with pytest.raises(ConflictError, match="is extending"):
        loom.perform(Append(tree=work.tree.id, parent=a.id, content="no"))


@covers("lease.fencing-token", "lease.durable-and-expiring")
def test_a_lease_that_ran_out_keeps_nobody_out_and_a_late_run_is_refused(address):
    clock = SteppingClock()
    with open_with(address, clock=clock) as loom:
        work = Workplace(loom)
        late = work.session
        Grove(late.caller).leases.acquire(work.tree.id, work.a.id, run=late.run_id, seconds=10)
        clock.pass_by(seconds=11)
        other = loom.leases.acquire(
            work.tree.id, work.a.id, run=new_ulid(clock(), loom.caller.executor.entropy)
        )
        assert work.one(f'respond {work.a.local_id} "late"').error.code == "CONFLICT"
        loom.leases.release(other)
        work.ok(f'respond {work.a.local_id} "in time"')


@covers("lease.different-branches-free")
def test_two_agents_on_different_branches_work_at_once(work):
    second = work.loom.add_agent(
        f"Second {work.number}", model_ref="scripted:x", permissions=["loom_aware", "loom_write"]
    )
    gate = work.loom.caller.executor
    theirs = type(work.session)(
        work.loom.caller, work.tree.id, second, run=new_ulid(gate.clock(), gate.entropy)
    )
    lines = [
        scan("\n".join(f'→ respond {node.local_id} "{n}"' for n in range(10))).batch
        for node in (work.b, work.beside)
    ]
    results: list = [[], []]

    def run(index, session):
        results[index] = session.run(lines[index], turn=1)

    threads = [threading.Thread(target=run, args=each) for each in enumerate((work.session, theirs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert all(result.ok for batch in results for result in batch)
    assert len(work.b.children) == len(work.beside.children) == 10
    with work.loom.read.store.read() as session:
        assert session.execute(schema.memory.select().where(schema.memory.c.kind == 3)).all()
