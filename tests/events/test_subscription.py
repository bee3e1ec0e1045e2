"""Following what happens: none missed, none twice, wherever one begins again."""

import asyncio
import contextlib
import os
import random
import subprocess
import sys
import threading
from functools import partial

import psycopg
import pytest
from sqlalchemy import update
from tests import postgres
from tests.covers import covers
from tests.events.listening import (
    PATIENCE,
    all_events,
    chain_of,
    first,
    follow_on,
    settle,
    told,
)
from tests.statements import statements

import weft
from weft.errors import UnavailableError
from weft.runtime.events import subscription
from weft.store import schema
from weft.tree.access import MemberRole
from weft.tree.event_kinds import EventKind

WRITERS = 100


@covers("event.one-poller")
def test_all_who_follow_share_one_poller(fresh_loom):
    tree = fresh_loom.plant("Marie")
    others = fresh_loom.acting_as("human")
    with contextlib.ExitStack() as stack:
        live = [
            stack.enter_context(follow_on(fresh_loom if number % 2 else others, timeout=PATIENCE))
            for number in range(20)
        ]
        pollers = {each._poller for each in live}
        assert len(pollers) == 1
        names = [thread.name for thread in threading.enumerate()]
        assert names.count("weft-events") == 1
        for number in range(5):
            tree.say(str(number))
        heard = [first(each, 5) for each in live]
    assert all(events == heard[0] for events in heard)
    assert [event.kind for event in heard[0]] == ["append"] * 5


@pytest.mark.outer
@covers("event.one-poller")
def test_a_slow_follower_loses_nothing_and_holds_nobody_up(fresh_loom, monkeypatch):
    monkeypatch.setattr(subscription, "_RING", 8)
    tree = fresh_loom.plant("Marie")
    with follow_on(fresh_loom, timeout=PATIENCE) as slow, follow_on(fresh_loom) as quick:
        assert quick.take() == []
        for number in range(60):
            tree.say(str(number))
        swift = first(quick, 60)
        poller = slow._poller
        assert len(poller._ring) <= 16
        late = first(slow, 60)
    assert late == swift
    assert len({chain_of(event) for event in late}) == 60


def test_a_follower_that_stops_halfway_knows_where_it_was(fresh_loom):
    tree = fresh_loom.plant("Marie")
    for number in range(10):
        tree.say(str(number))
    whole = all_events(fresh_loom)
    with fresh_loom.follow() as live:
        some = first(live, 4)
        assert live.cursor == some[-1].cursor
    assert some + all_events(fresh_loom, after=live.cursor) == whole


def test_closing_ends_the_waiting(fresh_loom):
    tree = fresh_loom.plant("Marie")
    live = follow_on(fresh_loom)
    ended = threading.Event()

    def wait_for_it():
        assert list(live) == []
        ended.set()

    waiter = threading.Thread(target=wait_for_it)
    waiter.start()
    live.close()
    assert ended.wait(PATIENCE)
    other = follow_on(fresh_loom)
    tree.say("so that it is under way")
    assert len(first(other, 1)) == 1
    waiter = threading.Thread(target=lambda: list(other))
    waiter.start()
    fresh_loom.close()
    waiter.join(PATIENCE)
    assert not waiter.is_alive()
    assert list(other) == []
    assert "weft-events" not in {thread.name for thread in threading.enumerate()}


def test_nobody_follows_a_closed_grove(address):
    grove = weft.open(address)
    with follow_on(grove):
        pass
    grove.close()
    if not address.startswith("postgresql"):
        with pytest.raises(UnavailableError, match="closed"):
            follow_on(grove)


def test_the_poller_rests_when_nobody_follows_and_comes_back(fresh_loom):
    tree = fresh_loom.plant("Marie")
    for number in range(3):
        with follow_on(fresh_loom, timeout=PATIENCE) as live:
            poller = live._poller
            tree.say(str(number))
            assert next(iter(live)).kind == "append"
        thread = poller._thread
        if thread is not None:
            thread.join(PATIENCE)
        assert poller._thread is None


def test_an_asyncio_program_follows_too(fresh_loom):
    tree = fresh_loom.plant("Marie")

    async def main():
        live = fresh_loom.follow(after=told(fresh_loom, after="now").cursor)
        for number in range(10):
            await asyncio.to_thread(tree.say, str(number))
        heard = []
        async with asyncio.timeout(PATIENCE):
            async for batch in live.batches(limit=3):
                assert len(batch) <= 3
                heard += batch
                if len(heard) >= 10:
                    break
            ended = asyncio.create_task(anext_of(follow_on(fresh_loom)))
            await asyncio.sleep(0)
            tree.say("wakes it")
            assert await ended == "append"
        return heard

    async def anext_of(live):
        return (await anext(live.batches()))[0].kind

    heard = asyncio.run(main())
    assert [event.ordinal for event in heard] == list(range(2, 12))


def test_a_callback_that_fails_is_logged_and_stops_no_other_subscription(fresh_loom, caplog):
    tree = fresh_loom.plant("Marie")

    def fail():
        raise RuntimeError("no screen")

    with follow_on(fresh_loom) as broken, follow_on(fresh_loom, timeout=PATIENCE) as sound:
        tree.say("one")
        assert len(first(sound, 1)) == 1
        thread = sound._poller._thread
        broken.on_events(fail)
        for text in ("two", "three"):
            tree.say(text)
            assert len(first(sound, 1)) == 1
        assert sound._poller._thread is thread
        broken.on_events(None)
    assert "no screen" in caplog.text


@covers("event.no-notify-in-write")
def test_no_write_notifies(postgres_server):
    with (
        postgres.database(postgres_server) as address,
        weft.open(address) as grove,
        statements(grove.caller.executor.store) as said,
        follow_on(grove),
    ):
        grove.plant("Marie").say("Why?").edit("How?").prune()
    assert any("INSERT INTO events" in statement for statement in said)
    words = " ".join(said).lower()
    assert "notify" not in words
    assert "listen" not in words


@covers("event.opaque-cursor", "event.resume")
def test_an_event_behind_a_transaction_still_open_waits_for_it(postgres_server):
    """The lower transaction commits last: whoever read on must still get it, and in its place."""
    with postgres.database(postgres_server) as address, weft.open(address) as grove:
        early, late = grove.plant("Early"), grove.plant("Late")
        start = told(grove, after="now").cursor
        drawn, free = threading.Event(), threading.Event()

        def slow_write():
            def work(transaction):
                # Draws its transaction id and a number now, commits when it is let.
                transaction.execute(
                    update(schema.trees).where(schema.trees.c.ulid == early.id).values(title="E")
                )
                drawn.set()
                assert free.wait(PATIENCE)

            grove.caller.executor.store.write(work)
            early.say("after all")

        writer = threading.Thread(target=slow_write)
        writer.start()
        assert drawn.wait(PATIENCE)
        for number in range(5):
            late.say(str(number))
        # Committed and visible, but not settled: something earlier may still come.
        held_back = grove.events(after=start)
        assert held_back.events == ()
        with grove.follow(after=start, timeout=PATIENCE) as live:
            free.set()
            heard = first(live, 6)
        writer.join()
    assert [event.tree_id for event in heard] == [late.id] * 5 + [early.id]


def hold_open(grove, tree_id, seconds, never):
    """An operation whose event is written early and committed late, with others in between."""

    class Slow:
        verb = "describe"
        permission = "loom_write"
        access = MemberRole.EDITOR

        def apply(self, scope):
            tree = scope.open_tree(tree_id)
            scope.record(tree, EventKind.DESCRIBE, {"fields": []}, {})
            scope.transaction.flush()
            never.wait(seconds)

    grove.perform(Slow())


def follow_in_pieces(address, cursor, done, heard):
    """Read and follow by turns, breaking off all the time, until the writers are done and all is read."""
    dice = random.Random(7)
    with weft.open(address) as mine:
        while True:
            finished = done.is_set()
            if finished:
                settle(mine)
            before = cursor
            if dice.random() < 0.5:
                batch = mine.events(after=cursor, limit=dice.randrange(1, 50))
                heard.extend(batch.events)
                cursor = batch.cursor
            else:
                with mine.follow(after=cursor, timeout=0.05) as live:
                    heard.extend(first(live, dice.randrange(1, 80)))
                    cursor = live.cursor
            if finished and cursor == before:
                return


def write_at_random(grove, trees, number, count):
    """Plain writes, and now and then one whose transaction stays open for a while."""
    dice = random.Random(number)
    pause = threading.Event()
    for turn in range(count):
        tree = trees[dice.randrange(len(trees))]
        if dice.random() < 0.2:
            patiently(partial(hold_open, grove, tree, dice.random() * 0.02, pause))
        else:
            patiently(partial(say_in, grove, tree, f"{number}.{turn}"))


def say_in(grove, tree, text):
    grove.tree(tree).root.say(text)


def patiently(work):
    """There are fewer connections than writers: who waited in vain for one is told so, and tries again."""
    while True:
        with contextlib.suppress(UnavailableError):
            return work()


@covers("proof.stream-reconnected-everywhere", "event.resume")
@pytest.mark.long
def test_a_follower_that_reconnects_at_random_misses_and_doubles_nothing(postgres_server, figure):
    """A hundred writers with overlapping transactions on ten trees."""
    each = 40 if os.environ.get("WEFT_PROVE") else 6
    with postgres.database(postgres_server) as address, weft.open(address) as grove:
        trees = [grove.plant(f"Tree {number}").id for number in range(10)]
        start = told(grove, after="now").cursor
        done, heard = threading.Event(), []
        follower = threading.Thread(target=follow_in_pieces, args=(address, start, done, heard))
        follower.start()
        writers = [
            threading.Thread(target=write_at_random, args=(grove, trees, number, each))
            for number in range(WRITERS)
        ]
        for thread in writers:
            thread.start()
        for thread in writers:
            thread.join()
        done.set()
        follower.join(PATIENCE * 4)
        assert not follower.is_alive()
        expected = all_events(grove, after=start)
    assert len(expected) == WRITERS * each
    assert [chain_of(event) for event in heard] == [chain_of(event) for event in expected]
    assert len({event.number for event in heard}) == WRITERS * each
    figure("events missed or doubled by a follower that reconnects", f"0 of {len(expected):,}")


SAY = """
import sys, weft
with weft.open(sys.argv[1]) as grove:
    tree = grove.tree(sys.argv[2])
    for number in range(int(sys.argv[3])):
        tree.say(f"{sys.argv[4]}.{number}")
"""


@covers("event.resume")
@pytest.mark.long
def test_what_other_processes_write_is_followed(fresh_loom, address):
    tree, other = fresh_loom.plant("Marie"), fresh_loom.plant("Theo")
    with follow_on(fresh_loom, timeout=PATIENCE) as live:
        coming = iter(live)
        writers = [
            subprocess.Popen([sys.executable, "-c", SAY, address, tree.id, "25", "a"]),
            subprocess.Popen([sys.executable, "-c", SAY, address, other.id, "25", "b"]),
        ]
        heard = [next(coming) for _ in range(50)]
        assert [writer.wait() for writer in writers] == [0, 0]
    for each in (tree, other):
        assert [event.ordinal for event in heard if event.tree_id == each.id] == list(range(2, 27))


def test_a_database_that_goes_away_for_a_while_is_waited_for(postgres_server):
    with postgres.database(postgres_server) as address, weft.open(address) as grove:
        tree = grove.plant("Marie")
        with follow_on(grove, timeout=PATIENCE) as live:
            tree.say("one")
            assert next(iter(live)).ordinal == 2
            with psycopg.connect(address, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            # Who happens to hold a broken connection is told so, once for each.
            while True:
                with contextlib.suppress(UnavailableError):
                    tree.say("two")
                    break
            assert next(iter(live)).ordinal == 3


def test_events_of_a_dump_put_back_on_another_server_are_settled(postgres_server):
    """Transaction ids are a server's own: there, those of the dump may lie in its future."""
    with postgres.database(postgres_server) as address:
        with weft.open(address) as grove:
            tree = grove.plant("Marie")
            tree.say("Why?")
            kinds = [event.kind for event in told(grove).events]
            events = schema.events
            grove.caller.executor.store.write(
                lambda transaction: transaction.execute(
                    update(events).values(transaction=events.c.transaction + 10**12)
                )
            )
        with weft.open(address) as grove:
            grove.tree("Marie").say("Because.")
            assert [event.kind for event in told(grove).events] == [*kinds, "append"]
