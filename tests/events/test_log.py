"""What happened, in one order: read in batches, resumed at any cursor, by whoever may."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select
from tests.covers import covers
from tests.events.listening import (
    PATIENCE,
    all_events,
    first,
    follow_on,
    member,
    settle,
    stored,
    told,
)

import weft
from weft.errors import InvalidInputError, NotFoundError, PermissionDeniedError
from weft.runtime.events import subscription
from weft.runtime.events.log import EventLog, read_cursor, write_cursor
from weft.store import schema
from weft.store.events import EventPosition
from weft.tree.access import MemberRole


@covers("event.every-change")
def test_every_operation_is_an_event_with_a_number_of_its_own(fresh_loom):
    tree = fresh_loom.plant("Marie")
    node = tree.say("Why?")
    node.bookmark("here")
    events = told(fresh_loom).events
    assert [event.kind for event in events] == ["found", "plant", "plant", "append", "bookmark"]
    assert [event.tree_id for event in events] == [None, tree.id, None, tree.id, tree.id]
    assert [event.ordinal for event in events] == [1, 1, 2, 2, 3]
    numbers = [event.number for event in events]
    assert len(set(numbers)) == 5
    assert numbers == sorted(numbers)
    assert {event.agent_id for event in events} == {fresh_loom.me.id}
    assert events[3].payload["nodes"] == [node.id]
    assert events[3].hash == fresh_loom.read.events(tree.id)[1].hash


@covers("event.every-change")
def test_what_is_refused_is_no_event(fresh_loom):
    tree = fresh_loom.plant("Marie")
    before = told(fresh_loom)
    with pytest.raises(NotFoundError):
        tree.node("zzzz").say("lost")
    assert told(fresh_loom, after=before.cursor).events == ()


@pytest.mark.outer
@covers("event.resume", "proof.stream-reconnected-everywhere")
def test_a_stream_taken_up_at_any_offset_gives_the_same(fresh_loom):
    trees = [fresh_loom.plant(f"Tree {number}") for number in range(3)]
    for number in range(20):
        trees[number % 3].say(str(number))
    whole = all_events(fresh_loom)
    assert len(whole) == len(stored(fresh_loom)) == 1 + 6 + 20
    for offset, event in enumerate(whole):
        assert all_events(fresh_loom, after=event.cursor, limit=7) == whole[offset + 1 :]
        with fresh_loom.follow(after=event.cursor) as following_:
            rest = first(following_, len(whole) - offset - 1)
        assert rest == whole[offset + 1 :]


@pytest.mark.parametrize("limit", [1, 2, 3, 1_000])
def test_batches_of_any_size_give_the_same(loom, limit):
    tree = loom.plant("Marie")
    for number in range(5):
        tree.say(str(number))
    assert all_events(loom, limit=limit) == all_events(loom)


def test_a_batch_without_events_still_has_a_cursor_that_goes_on(fresh_loom):
    end = told(fresh_loom)
    again = told(fresh_loom, after=end.cursor)
    assert again.events == ()
    assert again.cursor == end.cursor
    tree = fresh_loom.plant("Marie")
    assert [event.kind for event in told(fresh_loom, after=again.cursor).events] == ["plant", "plant"]
    assert told(fresh_loom, after="now").events == ()
    assert tree.id


def test_events_of_some_trees_only(fresh_loom):
    one, other = fresh_loom.plant("One"), fresh_loom.plant("Other")
    for number in range(3):
        one.say(str(number))
        other.say(str(number))
    mine = all_events(fresh_loom, trees=["One"], limit=2)
    assert [event.tree_id for event in mine] == [one.id] * 4
    behind = told(fresh_loom, trees=["One"])
    assert behind.cursor == told(fresh_loom).cursor
    with pytest.raises(NotFoundError):
        told(fresh_loom, trees=["None"])


def test_how_many_events_at_once_is_bounded(loom):
    for limit in (0, -1, 10**9):
        with pytest.raises(InvalidInputError, match="is not a number of events"):
            told(loom, limit=limit)


@covers("event.opaque-cursor")
@pytest.mark.parametrize("cursor", ["", "x", "now ", "A" * 36, "é" * 36, "A" * 10_000, "AAAA-_==", "0"])
def test_what_is_no_cursor_is_refused(loom, cursor):
    with pytest.raises(InvalidInputError, match="is not an event cursor") as caught:
        told(loom, after=cursor)
    assert len(str(caught.value)) < 250
    with pytest.raises(InvalidInputError):
        loom.follow(after=cursor)


@pytest.mark.outer
@covers("event.opaque-cursor")
def test_a_cursor_of_another_grove_is_refused(loom, tmp_path):
    with weft.open(tmp_path / "other.db") as other:
        theirs = told(other).cursor
    with pytest.raises(InvalidInputError, match="another grove's"):
        told(loom, after=theirs)


@covers("event.opaque-cursor")
def test_a_cursor_ahead_of_the_grove_is_refused(loom):
    loom.plant("Marie")
    with loom.caller.executor.store.read() as session:
        grove = session.execute(select(schema.grove.c.ulid)).scalar_one()
    place = read_cursor(grove, told(loom).cursor)
    for ahead in (
        EventPosition(place.transaction, place.number + 1),
        EventPosition(place.transaction + 10**9, 1),
    ):
        if ahead.transaction == place.transaction > 0:
            continue  # On PostgreSQL a number alone says nothing.
        with pytest.raises(InvalidInputError, match="ahead of the grove"):
            told(loom, after=write_cursor(grove, ahead))


@covers("event.opaque-cursor")
@given(st.integers(-1, 2**63 - 1), st.integers(0, 2**63 - 1), st.data())
def test_a_cursor_comes_back_as_it_was_and_no_letter_of_it_can_change(transaction, number, data):
    cursor = write_cursor("01M7GTWNDWDETHQA5XXT7JZD4G", EventPosition(transaction, number))
    assert len(cursor) == 36
    assert read_cursor("01M7GTWNDWDETHQA5XXT7JZD4G", cursor) == EventPosition(transaction, number)
    index = data.draw(st.integers(0, 35))
    letter = data.draw(st.sampled_from([c for c in "ABCDEFxyz019-_" if c != cursor[index]]))
    with pytest.raises(InvalidInputError):
        read_cursor("01M7GTWNDWDETHQA5XXT7JZD4G", cursor[:index] + letter + cursor[index + 1 :])


@covers("event.readers-see-their-trees")
def test_events_of_trees_one_may_not_read_are_left_out(loom):
    mine, theirs = loom.plant("Mine"), loom.plant("Theirs")
    actor = member(loom, MemberRole.READER, mine.id)
    log = EventLog(loom.caller.executor.store, actor)
    start = told(loom, after="now").cursor
    mine.say("yes")
    theirs.say("no")
    mine.say("yes")
    settle(loom)
    assert {event.tree_id for event in log.read().events} == {mine.id}
    with pytest.raises(NotFoundError):
        log.read(trees=[theirs.id])
    with subscription.follow(log, after=start, timeout=0.2) as live:
        assert [event.tree_id for event in live] == [mine.id, mine.id]
    stranger = member(loom, MemberRole.READER)
    with pytest.raises(PermissionDeniedError):
        EventLog(loom.caller.executor.store, stranger).read()


@covers("event.readers-see-their-trees")
def test_whoever_loses_the_right_gets_no_more(loom):
    tree = loom.plant("Mine")
    spare = loom.plant("Spare")
    actor = member(loom, MemberRole.READER, tree.id, spare.id)
    settle(loom)
    with subscription.follow(
        EventLog(loom.caller.executor.store, actor), after="now", timeout=PATIENCE
    ) as live:
        tree.say("one")
        assert next(iter(live)).tree_id == tree.id
        memberships = schema.memberships
        loom.caller.executor.store.write(
            lambda transaction: transaction.execute(
                memberships.delete().where(
                    memberships.c.user == actor.user,
                    memberships.c.tree
                    == select(schema.trees.c.key).where(schema.trees.c.ulid == tree.id).scalar_subquery(),
                )
            )
        )
        tree.say("two")
        spare.say("three")
        assert next(iter(live)).tree_id == spare.id


@covers("event.deleted-trees")
def test_a_deleted_trees_events_are_gone_and_its_end_is_heard(fresh_loom):
    tree, other = fresh_loom.plant("Marie"), fresh_loom.plant("Other")
    with follow_on(fresh_loom, trees=[tree.id], timeout=PATIENCE) as live:
        heard = iter(live)
        tree.say("secret")
        assert next(heard).kind == "append"
        other.delete(confirm=other.id)
        tree.delete(confirm=tree.id)
        last = next(heard)
    assert (last.kind, last.tree_id, last.payload["tree"]) == ("delete", None, tree.id)
    left = all_events(fresh_loom)
    assert {event.tree_id for event in left} == {None}
    assert [event.kind for event in left] == ["found", "plant", "plant", "delete", "delete"]
    # A cursor from before the deletion still works.
    assert told(fresh_loom, after=left[0].cursor).events == tuple(left[1:])
