"""The index follows what is written, whoever writes, whoever dies, whatever is deleted."""

import inspect
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import func, select, text, update
from tests import postgres
from tests.covers import covers
from tests.growing import grow

import weft
from weft.grove.grove import open_grove
from weft.runtime.coordination.background import stop_workers
from weft.runtime.search.indexer import catch_up
from weft.store import schema
from weft.store.addresses import open_store
from weft.store.index_updates import Size, lagging_trees, prepare, present_mark, write_portions
from weft.store.lookup import find_tree
from weft.store.sqlite_dialect import driver_of
from weft.store.text_index import clear_index, key_of
from weft.store.tree_queries import node_row

ALL = Size(10_000, 10_000_000)


@pytest.fixture(scope="module", autouse=True)
def in_the_background():
    """Here the index follows by itself."""
    opening = inspect.unwrap(open_grove)
    opening.__kwdefaults__ = {**(opening.__kwdefaults__ or {}), "background": True}
    yield
    opening.__kwdefaults__ = {**(opening.__kwdefaults__ or {}), "background": False}


def count_terms(store):
    with store.read() as session:
        return session.execute(text("SELECT count(*) FROM search_terms")).scalar_one()


def count_things(store):
    """Nodes, titles, tags, documents: each is in the index once."""
    tables = (schema.nodes, schema.trees, schema.tags, schema.documents)
    with store.read() as session:
        return sum(session.execute(select(func.count()).select_from(table)).scalar_one() for table in tables)


def wait_until(true):
    """As long as it takes; a test that waits in vain is ended by the runner's patience, and this one's."""
    pause = threading.Event()
    for _ in range(1_000):
        if true():
            return
        pause.wait(0.02)
    raise AssertionError("waited in vain")


@covers("sqlite.search-index-follows")
def test_what_is_written_is_indexed_without_being_asked(fresh_loom):
    store = fresh_loom.caller.executor.store
    tree = fresh_loom.plant("Marie")
    for number in range(30):
        tree.say(f"loom {number}")
    wait_until(lambda: count_terms(store) == count_things(store))
    fresh_loom.tag(tree, "new")
    fresh_loom.write_document("Notes", "text")
    wait_until(lambda: count_terms(store) == count_things(store))


@covers("sqlite.search-index-follows")
def test_the_thread_ends_with_its_grove(address):
    def indexers():
        return [thread for thread in threading.enumerate() if thread.name == "weft-indexer"]

    before = len(indexers())
    grove = weft.open(address)
    grove.search("nothing")
    grove.plant("Marie")
    assert len(indexers()) == before + 1
    grove.close()
    assert len(indexers()) == before
    with weft.open(address) as again:
        assert len(again.search("marie")) == 1
    assert len(indexers()) == before


@covers("search.own-writes", "search.shared-work")
def test_what_others_wrote_is_found_too(address):
    with weft.open(address) as one, weft.open(address) as other:
        tree = one.plant("Marie")
        for number in range(5):
            (one if number % 2 else other).tree(tree.id).say(f"loom {number}")
            assert len(one.search("loom")) == number + 1
            assert len(other.search("loom")) == number + 1


@covers("search.shared-work")
@pytest.mark.long
def test_many_who_index_at_once_do_it_once(address):
    with weft.open(address) as grove:
        tree = grove.plant("Marie")
        key, root = place_of(grove, tree)
        grow(grove.caller.executor.store, key, root, 300, text="a grown loom")
        for number in range(20):
            grove.plant(f"Tree {number}", "loom")
    stores = [open_store(address) for _ in range(4)]
    stores[0].write(clear_index)
    problems = []

    def work(store):
        try:
            assert catch_up(store, size=Size(7, 100_000))
        except BaseException as error:  # noqa: BLE001 - told to the test
            problems.append(error)

    threads = [threading.Thread(target=work, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert count_terms(stores[0]) == count_things(stores[0])
    for store in stores:
        store.close()


def place_of(grove, tree):
    with grove.caller.executor.store.read() as session:
        key = find_tree(session, tree.id)
        return key, node_row(session, key, 1)


@covers("search.killed-halfway")
def test_an_indexer_that_stops_halfway_loses_nothing(address):
    with weft.open(address) as grove:
        tree = grove.plant("Marie")
        key, root = place_of(grove, tree)
        grow(grove.caller.executor.store, key, root, 100, text="a grown loom")
    store = open_store(address)
    store.write(clear_index)
    assert not catch_up(store, size=Size(30, 100_000), ended=lambda: True)
    assert 0 < count_terms(store) < 102
    assert not catch_up(store, size=Size(30, 100_000), seconds=0)
    assert catch_up(store)
    assert count_terms(store) == count_things(store)
    store.close()


CHILD = """
import sys, weft
with weft.open(sys.argv[1]) as grove:
    grove.reindex(lambda done, total: print(done, total, flush=True) or (done < total and sys.stdin.read(1)))
"""


@covers("search.killed-halfway")
@pytest.mark.long
def test_a_killed_indexer_loses_nothing(address):
    with weft.open(address) as grove:
        tree = grove.plant("Marie")
        key, root = place_of(grove, tree)
        grow(grove.caller.executor.store, key, root, 5_000, text="a grown loom")
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, address], stdout=subprocess.PIPE, stdin=subprocess.PIPE
    )
    done, total = child.stdout.readline().split()
    assert 0 < int(done) < int(total)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    with weft.open(address) as grove:
        assert grove.search("grown").complete
        store = grove.caller.executor.store
        assert count_terms(store) == count_things(store)


@covers("search.reindex")
@pytest.mark.long
def test_the_index_is_made_anew_with_progress(fresh_loom):
    tree = fresh_loom.plant("Marie")
    key, root = place_of(fresh_loom, tree)
    store = fresh_loom.caller.executor.store
    grow(store, key, root, 4_500, text="a grown loom")
    assert len(fresh_loom.search("grown", limit=1_000)) == 1_000
    told = []
    fresh_loom.reindex(lambda done, total: told.append((done, total)))
    assert len(told) >= 3
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1]
    assert count_terms(store) == count_things(store)
    assert fresh_loom.search("grown").more


def test_an_index_of_another_kind_is_made_anew(fresh_loom):
    node = fresh_loom.plant("Marie").say("loom")
    assert len(fresh_loom.search("loom")) == 1
    store = fresh_loom.caller.executor.store
    store.write(lambda transaction: transaction.execute(update(schema.search_state).values(folding=0)))
    with store.read() as session:
        assert present_mark(session) is None
    assert [hit.id for hit in fresh_loom.search("loom")] == [node.id]
    assert count_terms(store) == count_things(store)


@covers("search.delete-leaves-nothing")
def test_a_deleted_tree_is_gone_from_the_index_at_once(fresh_loom):
    store = fresh_loom.caller.executor.store
    kept = fresh_loom.plant("Kept", "loom")
    tree = fresh_loom.plant("Gone loom")
    fresh_loom.tag(tree.say("a loom"), "loom")
    document = fresh_loom.write_document("Loom paper", "loom")
    fresh_loom.tag(document, "loom too")
    assert len(fresh_loom.search("loom")) == 6
    key = place_of(fresh_loom, tree)[0]
    tree.delete(confirm=tree.id)
    document.delete(confirm=document.id)
    assert count_terms(store) == count_things(store) == 2
    with store.read() as session:
        for table in (schema.search_positions, schema.search_versions):
            assert session.execute(select(table).where(table.c.tree == key)).all() == []
    assert [hit.id for hit in fresh_loom.search("loom")] == [kept.root.id]
    fresh_loom.tag(fresh_loom.write_document("New paper"), "loom again")
    assert len(fresh_loom.search("loom")) == 2


@covers("search.delete-leaves-nothing")
@pytest.mark.long
def test_no_word_of_a_deleted_tree_is_left_in_the_file(tmp_path):
    path = tmp_path / "grove.db"
    with weft.open(path) as grove:
        kept = grove.plant("Kept")
        tree = grove.plant("Gone")
        document = grove.write_document("Paper", "xylocanary")
        for number in range(200):
            tree.say(f"A xylocanary sings, number {number}.")
            kept.say(f"Something else, number {number}.")
            if number % 20 == 0:
                assert grove.search("xylocanary")
        assert b"xylocanary" in path.read_bytes() + Path(f"{path}-wal").read_bytes()
        tree.delete(confirm=tree.id)
        document.delete(confirm=document.id)
        assert len(grove.search("xylocanary")) == 0
        assert len(grove.search("else")) == 20
    for file in tmp_path.iterdir():
        assert b"xylocanary" not in (file.read_bytes() if file.is_file() else b""), file


@covers("search.delete-leaves-nothing")
def test_what_was_read_before_a_delete_is_not_written_after_it(fresh_loom):
    store = fresh_loom.caller.executor.store
    tree = fresh_loom.plant("Gone", "loom")
    document = fresh_loom.write_document("Paper", "loom")
    stop_workers(store)
    store.write(clear_index)
    with store.read() as session:
        portions = [prepare(session, key, ALL) for key in lagging_trees(session)]
    assert len(portions) == 2
    tree.delete(confirm=tree.id)
    document.delete(confirm=document.id)
    entries = [portion.entries() for portion in portions]
    written = store.write(lambda transaction: write_portions(transaction, portions, entries))
    assert written == [False, False]
    assert count_terms(store) == 0
    assert len(fresh_loom.search("loom")) == 0


def test_what_came_without_events_is_found_by_the_next_process(address):
    with weft.open(address) as grove:
        tree = grove.plant("Marie")
        assert len(grove.search("marie")) == 1
        key, root = place_of(grove, tree)
        grow(grove.caller.executor.store, key, root, 3, text="a grown loom")
    with weft.open(address) as grove:
        assert len(grove.search("grown")) == 3


def test_a_long_transaction_of_somebody_else_hides_nothing(postgres_server):
    with postgres.database(postgres_server) as address, weft.open(address) as grove:
        tree = grove.plant("Marie")
        store = grove.caller.executor.store
        with psycopg.connect(address) as idle:
            (running,) = idle.execute("SELECT pg_current_xact_id()::text::bigint").fetchone() or (0,)
            tree.say("loom")
            assert len(grove.search("loom")) == 1
            assert mark_of(store) < running
        wait_until(lambda: mark_of(store) > running)


def mark_of(store):
    with store.read() as session:
        return present_mark(session).transaction


def test_a_key_says_what_it_is_about():
    assert key_of(0, 2, 5) < key_of(1, 0, 0) < key_of(1, 3, 2**31 - 1) < key_of(2, 0, 0)
    assert key_of(2**30 - 1, 3, 2**31 - 1) < 2**63


def test_a_search_says_why_it_could_not_look_at_what_is_new(tmp_path):
    """Where nothing can be written, what was indexed before can still be found."""
    with weft.open(tmp_path / "grove.db", background=False) as grove:
        tree = grove.plant("Marie", "a loom")
        assert len(grove.search("loom")) == 1
        tree.say("another loom")
        writer = driver_of(grove.caller.executor.store._file._connection)
        writer.execute("PRAGMA query_only = 1")
        found = grove.search("loom")
        assert (len(found), found.complete) == (1, False)
        assert "read-only" in (found.trouble or "")
        writer.execute("PRAGMA query_only = 0")
        again = grove.search("loom")
        assert (len(again), again.complete, again.trouble) == (2, True, None)
