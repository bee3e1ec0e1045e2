"""Leases: one run extends a position, the rest of the tree is free, and whoever slept too long is refused."""

import os
import threading
from dataclasses import dataclass

import psycopg
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from sqlalchemy import select
from tests.covers import covers

import weft
from weft.errors import ConflictError, InvalidInputError, NotFoundError, PermissionDeniedError
from weft.ids import new_ulid
from weft.runtime.coordination.leases import Extend, Extended
from weft.runtime.operations.nodes import Append
from weft.store import schema

SECOND = 1_000_000
PATIENCE = 30.0
EXAMPLES = 100 if os.environ.get("WEFT_PROVE") else 4


@dataclass
class HandClock:
    now: int = 1_800_000_000_000_000

    def __call__(self) -> int:
        return self.now

    def pass_by(self, seconds):
        self.now += round(seconds * SECOND)


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture
def here(address, clock):
    with weft.open(address, clock=clock) as grove:
        yield grove


def extend(grove, lease, text="more", *, follows=True) -> Extended:
    append = Append(tree=lease.tree_id, content=text, parent=lease.node_id)
    return grove.perform(Extend(lease=lease, append=append, follows=follows))


@covers("lease.one-generator-per-position", "lease.conflict-names-the-holder")
def test_a_position_has_one_generator_and_the_next_is_told_who_and_until_when(here):
    tree = here.plant("Marie")
    node = tree.say("Why?")
    model = here.add_agent("claude", model_ref="t:m", permissions=["loom_aware", "loom_write"])
    lease = here.acting_as(model.id).leases.acquire(tree.id, node.id, seconds=30)
    with pytest.raises(ConflictError) as caught:
        here.leases.acquire(tree.id, node.id)
    until = lease.expires_at.isoformat().replace("+00:00", "")[:19]
    assert f"'claude' is extending [{node.local_id}] until {until}" in caught.value.message
    assert caught.value.hint == "wait for it, or go on from another node"
    assert here.leases.holder(tree.id, node.id) == lease
    assert lease.agent_id == model.id


@covers("lease.conflict-names-the-holder")
def test_a_person_who_writes_at_a_leased_position_is_told_so_and_nothing_is_written(here):
    tree = here.plant("Marie")
    node = tree.say("Why?")
    here.leases.acquire(tree.id, node.id)
    before = here.read.tree(tree.id).counters, len(here.read.events(tree.id))
    with pytest.raises(ConflictError, match="is extending"):
        node.say("Because")
    with pytest.raises(ConflictError, match="is extending"):
        tree.merge([node, tree.root], "both")
    assert (here.read.tree(tree.id).counters, len(here.read.events(tree.id))) == before


@covers("lease.different-branches-free", "lease.others-may-read-and-fork")
def test_every_other_place_is_free(here):
    tree = here.plant("Marie")
    node = tree.say("Why?")
    here.leases.acquire(tree.id, node.id)
    assert node.path.nodes
    fork = tree.root.say("Or how?")
    fork.say("Like this")
    node.annotate("a note extends nothing")
    node.bookmark("here")
    other = here.leases.acquire(tree.id, fork.id)
    assert other.run != here.leases.holder(tree.id, node.id).run
    assert here.plant("Another").say("free").id


def test_typed_text_stays_where_its_place_is_leased(here):
    tree = here.plant("Story", "Once", mode="buffer")
    here.leases.acquire(tree.id, tree.root.id)
    tree.type("typed text is kept")
    with pytest.raises(ConflictError, match="is extending"):
        tree.commit()
    assert tree.working_buffer == "typed text is kept"


@covers("lease.prune-and-edit-conflict", "lease.conflict-names-the-holder")
@pytest.mark.parametrize("mode", ["dialogue", "buffer"])
def test_what_a_run_extends_is_neither_pruned_nor_edited_by_others(here, clock, mode):
    tree = here.plant("Story", "Once", mode=mode)
    above = tree.say("upon")
    node = above.say("a time")
    beside = above.say("a place")
    model = here.add_agent("claude", model_ref="t:m", permissions=["loom_aware", "loom_write"])
    lease = here.acting_as(model.id).leases.acquire(tree.id, node.id, seconds=30)
    until = lease.expires_at.isoformat().replace("+00:00", "")[:19]
    before = here.read.tree(tree.id).counters, len(here.read.events(tree.id))
    attempts = [node.prune, above.prune, lambda: node.edit("a while")]
    if mode == "buffer":
        tree.switch(node)
        before = here.read.tree(tree.id).counters, len(here.read.events(tree.id))
        attempts.append(lambda: tree.erase(len("Onceupona"), len("Onceupona time")))
    for attempt in attempts:
        with pytest.raises(ConflictError) as caught:
            attempt()
        assert f"'claude' is extending [{node.local_id}] until {until}" in caught.value.message
    assert (here.read.tree(tree.id).counters, len(here.read.events(tree.id))) == before
    beside.edit("a palace")
    beside.prune()
    clock.pass_by(31)
    assert node.edit("a while").text == "a while"
    assert node.prune()


@covers("lease.prune-and-edit-conflict")
def test_neither_undo_nor_redo_prunes_edits_or_extends_what_a_run_extends(here, clock):
    tree = here.plant("Marie")
    above = tree.say("Why?")
    node = above.say("Because.")
    steps = {
        "prune": (above.prune, True),
        "restore": (above.restore, False),
        "edit": (lambda: node.edit("Since."), True),
        "say": (lambda: node.say("And?"), True),
    }
    for name, (work, redone) in steps.items():
        if name == "restore":
            above.prune()
        work()
        if redone:
            tree.undo()
        lease = here.leases.acquire(tree.id, node.id, seconds=30)
        before = len(here.read.events(tree.id))
        with pytest.raises(ConflictError, match=rf"is extending \[{node.local_id}\] until "):
            tree.redo() if redone else tree.undo()
        assert len(here.read.events(tree.id)) == before
        assert here.leases.release(lease)
        (tree.redo if redone else tree.undo)()
        (tree.undo if redone else tree.redo)()


@covers("lease.prune-and-edit-conflict")
def test_an_edit_of_a_buffer_is_not_undone_while_a_run_extends_it(here):
    tree = here.plant("Story", "Once", mode="buffer")
    edited = tree.root.edit("Twice")
    lease = here.leases.acquire(tree.id, edited.id)
    with pytest.raises(ConflictError, match=rf"is extending \[{tree.root.local_id}'?\] until "):
        tree.undo()
    here.leases.release(lease)
    tree.undo()
    lease = here.leases.acquire(tree.id, tree.root.id)
    with pytest.raises(ConflictError, match="is extending"):
        tree.redo()


@covers("lease.held-by-a-run")
def test_the_siblings_of_one_comparison_are_one_run(here):
    tree = here.plant("Marie")
    node = tree.say("Why?")
    lease = here.leases.acquire(tree.id, node.id)
    again = here.leases.acquire(tree.id, node.id, run=lease.run)
    assert (again.run, again.token) == (lease.run, lease.token)
    made = [
        extend(here, each, text, follows=False) for each, text in ((lease, "a"), (again, "b"), (lease, "c"))
    ]
    assert [each.node.text for each in made] == ["a", "b", "c"]
    assert [child.text for child in node.children] == ["a", "b", "c"]


@covers("lease.held-by-a-run")
def test_a_lease_follows_its_head(here):
    tree = here.plant("Marie")
    node = tree.say("Why?")
    lease = here.leases.acquire(tree.id, node.id)
    first, moved = extend(here, lease)
    assert here.leases.holder(tree.id, node.id) is None
    assert here.leases.holder(tree.id, first.id) == moved
    assert (moved.run, moved.expires_at) == (lease.run, lease.expires_at)
    assert moved.token > lease.token
    node.say("free again")
    with pytest.raises(ConflictError):
        tree.node(first.id).say("not here")
    # The old lease is no use any more, not even where it was.
    with pytest.raises(ConflictError, match="has run out"):
        extend(here, lease)
    second, moved = extend(here, moved)
    assert [node.id for node in tree.node(second.id).path.nodes][-2:] == [first.id, second.id]


@covers("lease.fencing-token")
def test_a_holder_that_slept_too_long_is_refused_whatever_it_believes(here, clock):
    tree = here.plant("Marie")
    node = tree.say("Why?")
    stale = here.leases.acquire(tree.id, node.id, seconds=10)
    clock.pass_by(11)
    with pytest.raises(ConflictError, match="the lease has run out"):
        extend(here, stale)
    fresh = here.leases.acquire(tree.id, node.id)
    assert fresh.token > stale.token
    with pytest.raises(ConflictError, match="is extending"):
        extend(here, stale)
    with pytest.raises(ConflictError):
        here.leases.renew(stale)
    assert here.leases.release(stale) is False
    assert here.leases.holder(tree.id, node.id) == fresh
    assert node.children == []
    extend(here, fresh)


@covers("lease.fencing-token")
def test_the_token_is_looked_at_by_the_transaction_that_writes(here, address, clock):
    """The lease passes on between the decision to write and the write."""
    tree = here.plant("Marie")
    node = tree.say("Why?")
    lease = here.leases.acquire(tree.id, node.id, seconds=10)

    class Late(Append):
        __slots__ = ()

        def apply(self, scope):
            raise AssertionError(f"it was let through: {scope}")

    with weft.open(address, clock=clock) as other:
        clock.pass_by(10.1)
        taken = other.leases.acquire(tree.id, node.id)
        with pytest.raises(ConflictError):
            here.perform(Extend(lease=lease, append=Late(tree=tree.id, content="x", parent=node.id)))
        assert extend(other, taken).node.text == "more"


@covers("lease.durable-and-expiring")
def test_a_lease_survives_a_restart_runs_out_and_is_renewed(address, clock):
    with weft.open(address, clock=clock) as grove:
        tree = grove.plant("Marie").id
        lease = grove.leases.acquire(tree, grove.tree(tree).root.id, seconds=10)
    with weft.open(address, clock=clock) as grove:
        root = grove.tree(tree).root
        with pytest.raises(ConflictError):
            root.say("no")
        clock.pass_by(9)
        renewed = grove.leases.renew(lease, seconds=10)
        assert renewed.token == lease.token
        clock.pass_by(9)
        with pytest.raises(ConflictError):
            root.say("still no")
        clock.pass_by(2)
        root.say("yes")
        with pytest.raises(ConflictError, match="has run out"):
            grove.leases.renew(renewed)


def test_tokens_go_up_also_after_a_release(here, clock):
    tree = here.plant("Marie")
    tokens = []
    for turn in range(6):
        lease = here.leases.acquire(tree.id, tree.root.id, seconds=5)
        tokens.append(lease.token)
        if turn % 2:
            assert here.leases.release(lease) is True
            assert here.leases.release(lease) is False
        else:
            clock.pass_by(5.1)
    assert tokens == sorted(set(tokens))


def test_what_makes_no_sense_is_refused(here):
    tree = here.plant("Marie")
    node = tree.say("Why?")
    for seconds in (0, -1, 10**9, float("nan")):
        with pytest.raises(InvalidInputError, match="makes no sense"):
            here.leases.acquire(tree.id, node.id, seconds=seconds)
    with pytest.raises(InvalidInputError, match="named by a ULID"):
        here.leases.acquire(tree.id, node.id, run="me")
    with pytest.raises(NotFoundError):
        here.leases.acquire(tree.id, "zzzz")
    node.prune()
    with pytest.raises(ConflictError, match="pruned"):
        here.leases.acquire(tree.id, node.id)
    agent = here.add_agent("reader", model_ref="t:m", permissions=["loom_aware"])
    with pytest.raises(PermissionDeniedError):
        here.acting_as(agent.id).leases.acquire(tree.id, tree.root.id)
    lease = here.leases.acquire(tree.id, tree.root.id)
    elsewhere = Append(tree=here.plant("Other").id, content="x")
    with pytest.raises(InvalidInputError, match="would be written elsewhere"):
        here.perform(Extend(lease=lease, append=elsewhere))


def test_deleting_a_tree_takes_its_leases_along(here):
    tree = here.plant("Marie")
    here.leases.acquire(tree.id, tree.root.id)
    tree.delete(confirm=tree.id)
    with here.caller.executor.store.read() as session:
        assert session.execute(select(schema.leases)).all() == []


@covers("lease.free-without-leases")
def test_a_writer_does_not_look_for_leases_where_there_are_none(here, address):
    tree = here.plant("Marie")
    here.leases.release(here.leases.acquire(tree.id, tree.root.id))
    if address.startswith("postgresql"):
        # Whoever looked would wait for this lock.
        with psycopg.connect(address) as other:
            other.execute("LOCK TABLE leases IN ACCESS EXCLUSIVE MODE")
            writer = threading.Thread(target=tree.say, args=("plain",))
            writer.start()
            writer.join(PATIENCE)
            waited = writer.is_alive()
        writer.join()
        assert not waited
    else:
        driver = here.caller.executor.store._file._connection.connection.driver_connection
        said = []
        driver.set_trace_callback(said.append)
        tree.say("plain")
        driver.set_trace_callback(None)
        assert said
        assert not [statement for statement in said if "leases" in statement]


def test_of_many_who_want_it_at_once_one_gets_it(fresh_loom, address):
    tree = fresh_loom.plant("Marie")
    ready = threading.Barrier(12)
    got, refused = [], []

    def want():
        ready.wait()
        try:
            got.append(fresh_loom.leases.acquire(tree.id, tree.root.id))
        except ConflictError as error:
            refused.append(error)

    threads = [threading.Thread(target=want) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(got), len(refused)) == (1, 11)


class Leasing(RuleBasedStateMachine):
    """Two processes' worth of actors on three positions, against leases kept on paper."""

    address = ""
    runs = st.integers(0, 3)
    places = st.integers(0, 2)

    @initialize()
    def begin(self):
        self.clock = HandClock()
        self.groves = [weft.open(self.address, clock=self.clock) for _ in range(2)]
        tree = self.groves[0].plant("Marie")
        self.tree = tree.id
        self.nodes = [tree.root.id, tree.root.say("a").id, tree.root.say("b").id]
        self.runs_ = [new_ulid(self.clock(), lambda n, i=i: bytes([i]) * n) for i in range(4)]
        self.paper = {}
        """Place → (run, token, expires)."""
        self.held = {}
        """(run, place) → the last lease that run was given there."""
        self.highest = dict.fromkeys(range(3), 0)

    def grove(self, run):
        return self.groves[run % 2]

    def standing(self, place):
        found = self.paper.get(place)
        return None if found is None or found[2] <= self.clock.now else found

    @rule(run=runs, place=places, seconds=st.integers(1, 20))
    def acquire(self, run, place, seconds):
        standing = self.standing(place)
        call = lambda: self.grove(run).leases.acquire(  # noqa: E731 - called in two ways
            self.tree, self.nodes[place], run=self.runs_[run], seconds=seconds
        )
        if standing is not None and standing[0] != run:
            with pytest.raises(ConflictError, match="is extending"):
                call()
            return
        lease = call()
        if standing is None:
            assert lease.token > self.highest[place]
        else:
            assert lease.token == standing[1]
        self.note(run, place, lease)

    def note(self, run, place, lease):
        self.highest[place] = max(self.highest[place], lease.token)
        self.held[run, place] = lease
        self.paper[place] = (run, lease.token, round(lease.expires_at.timestamp() * SECOND))

    def is_good(self, run, place):
        lease, standing = self.held.get((run, place)), self.standing(place)
        return lease is not None and standing is not None and standing[:2] == (run, lease.token)

    @rule(run=runs, place=places)
    def renew(self, run, place):
        lease = self.held.get((run, place))
        if lease is None:
            return
        if self.is_good(run, place):
            self.note(run, place, self.grove(run).leases.renew(lease, seconds=10))
        else:
            with pytest.raises(ConflictError):
                self.grove(run).leases.renew(lease)

    @rule(run=runs, place=places)
    def release(self, run, place):
        lease = self.held.get((run, place))
        if lease is not None:
            good = self.is_good(run, place)
            assert self.grove(run).leases.release(lease) is good
            if good:
                del self.paper[place]

    @rule(run=runs, place=places, follows=st.booleans())
    def write(self, run, place, follows):
        lease = self.held.get((run, place))
        if lease is None:
            return
        if not self.is_good(run, place):
            with pytest.raises(ConflictError):
                extend(self.grove(run), lease)
            return
        node, after = extend(self.grove(run), lease, follows=follows)
        if follows:
            # The head moved on: the old place is free, and the new one is let go for the next round.
            assert self.grove(run + 1).leases.holder(self.tree, node.id) == after
            assert self.grove(run).leases.release(after)
            del self.paper[place]

    @rule(run=runs, place=places)
    def type_plainly(self, run, place):
        node = self.grove(run).tree(self.tree).node(self.nodes[place])
        if self.standing(place) is None:
            node.say("plain")
        else:
            with pytest.raises(ConflictError, match="is extending"):
                node.say("plain")

    @rule(seconds=st.integers(1, 15))
    def wait(self, seconds):
        self.clock.pass_by(seconds)

    @invariant()
    def what_is_told_is_what_holds(self):
        if not hasattr(self, "paper"):
            return
        for place in range(3):
            holder = self.groves[place % 2].leases.holder(self.tree, self.nodes[place])
            standing = self.standing(place)
            assert (holder is None) == (standing is None)
            if holder is not None and standing is not None:
                assert (holder.run, holder.token) == (self.runs_[standing[0]], standing[1])

    def teardown(self):
        for grove in getattr(self, "groves", ()):
            grove.close()


@covers("lease.fencing-token", "lease.one-generator-per-position", "lease.durable-and-expiring")
@pytest.mark.long
def test_leases_at_random_are_as_they_are_on_paper(address):
    machine = type("Machine", (Leasing,), {"address": address})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=EXAMPLES, stateful_step_count=20, deadline=None)
    )
