"""Listening to a grove, and knowing when there is nothing more to hear."""

import itertools
import threading
import time

from sqlalchemy import select

from weft.runtime.operations.permissions import ROLE_RANKS, Actor
from weft.store import schema
from weft.store.events import head_of

PATIENCE = 30.0
"""Seconds a test waits for what must come; never a measure of anything."""


def settle(grove):
    """Wait until what is stored is given out: elsewhere on the server something may still be running."""
    events = schema.events
    last = select(events.c.transaction, events.c.number).order_by(
        events.c.transaction.desc(), events.c.number.desc()
    )
    end = time.monotonic() + PATIENCE
    while True:
        with grove.caller.executor.store.read() as session:
            if head_of(session) == tuple(session.execute(last.limit(1)).one()):
                return
        assert time.monotonic() < end
        threading.Event().wait(0.005)


def told(grove, **options):
    """A batch, once everything is settled."""
    settle(grove)
    return grove.events(**options)


def follow_on(grove, **options):
    """Follow what happens from here on."""
    settle(grove)
    return grove.follow(after="now", **options)


def all_events(grove, *, after=None, trees=None, limit=1_000):
    """Everything behind a cursor, batch by batch."""
    found = []
    while True:
        batch = told(grove, after=after, trees=trees, limit=limit)
        found += batch.events
        if batch.cursor == after:
            return found
        after = batch.cursor


def stored(grove):
    """(tree, ordinal) of every event in the store."""
    with grove.caller.executor.store.read() as session:
        events = schema.events
        return sorted(tuple(row) for row in session.execute(select(events.c.tree, events.c.ordinal)))


def first(live, count):
    """The next so many events, and not one more."""
    return list(itertools.islice(live, count))


def chain_of(event):
    return event.tree_id, event.ordinal


def member(grove, role, *trees):
    """An actor for a user who may only look at these trees."""

    def work(transaction):
        owner = transaction.grove_state().owner
        name = f"user {time.monotonic_ns()}"
        row = {"ulid": name[-26:], "name": name, "agent": owner, "created_at": 0, "archived_at": None}
        user = transaction.insert(schema.users, row)
        for tree in trees:
            key = transaction.execute(
                select(schema.trees.c.key).where(schema.trees.c.ulid == tree)
            ).scalar_one()
            transaction.add(schema.memberships, {"tree": key, "user": user, "role": ROLE_RANKS.index(role)})
        return Actor(owner, user=user)

    return grove.caller.executor.store.write(work)
