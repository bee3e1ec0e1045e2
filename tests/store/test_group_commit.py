"""Several callers in one commit: each is told the truth, whatever happens to the others."""

import os
import signal
import threading

import pytest
from sqlalchemy import select, update
from tests.covers import covers
from tests.soundness import check_sound

import weft
from weft.errors import StorageError, UnavailableError
from weft.store import schema, sqlite_file
from weft.store.sqlite_dialect import driver_of
from weft.store.sqlite_file import CHECKPOINT_BYTES


@pytest.fixture
def grove(tmp_path):
    with weft.open(tmp_path / "grove.db") as opened:
        yield opened


def in_one_group(grove, *actions):
    """Run actions of several threads in one commit: they queue while the writer is held."""
    outcomes: list[object] = [None] * len(actions)
    held, go = threading.Event(), threading.Event()
    writer = grove.caller.executor.store._file.writer

    def hold(transaction):
        held.set()
        go.wait(30)

    def run(number, action):
        try:
            outcomes[number] = action()
        except Exception as error:  # noqa: BLE001 - the outcome is looked at
            outcomes[number] = error

    blocker = threading.Thread(target=lambda: grove.caller.executor.store.write(hold))
    blocker.start()
    held.wait(30)
    threads = []
    for number, action in enumerate(actions):
        thread = threading.Thread(target=run, args=(number, action))
        thread.start()
        threads.append(thread)
        while len(writer._jobs) < number + 1:
            pass
    go.set()
    for thread in (blocker, *threads):
        thread.join()
    return outcomes


@covers("op.failure-changes-nothing", "proof.storage-trouble")
def test_a_disk_that_fills_inside_a_group_loses_nothing_that_was_acknowledged(grove):
    tree = grove.plant("Marie")
    node = tree.say("Why?")
    driver = driver_of(grove.caller.executor.store._file._connection)
    pages = driver.execute("PRAGMA page_count").fetchone()[0]
    driver.execute(f"PRAGMA max_page_count = {pages + 6}")
    outcomes = in_one_group(
        grove,
        lambda: node.annotate("x" * 60_000),
        lambda: node.say("small"),
        lambda: node.annotate("y" * 60_000),
        node.exclude,
    )
    driver.execute("PRAGMA max_page_count = 1073741823")
    check_sound(grove)
    assert any(isinstance(outcome, StorageError) for outcome in outcomes)
    for outcome in outcomes:
        if not isinstance(outcome, Exception):
            assert tree.node(outcome.id).text == outcome.text


def test_a_mistake_in_one_job_is_not_told_to_another(grove):
    tree = grove.plant("Marie")

    def broken(transaction):
        transaction.add(schema.bodies, {"tree": 1, "sha256": b"", "gzip": object()})

    def innocent(transaction):
        return transaction.execute(select(schema.trees.c.key)).scalar_one()

    store = grove.caller.executor.store
    bad, good = in_one_group(grove, lambda: store.write(broken), lambda: store.write(innocent))
    assert isinstance(bad, weft.WeftError)
    assert good == 1
    check_sound(grove)
    assert tree.say("fine").text == "fine"


def fold_back(store):
    """A size is seen before a commit, and the log folded back after it: the next to write has waited for that."""
    store._file._checkpoint_at = 100_000
    for _ in range(2):
        store.write(lambda transaction: None)


@covers("sqlite.no-automatic-checkpoints")
def test_a_reader_in_the_way_of_a_checkpoint_is_not_waited_for(grove, tmp_path, monkeypatch):
    tree = grove.plant("Marie")
    store = grove.caller.executor.store
    log = tmp_path / "grove.db-wal"
    with store.read() as session:
        session.execute(select(schema.trees.c.key)).all()
        tree.say("x" * 300_000)
        fold_back(store)
        assert store._file._checkpoint_at == log.stat().st_size + CHECKPOINT_BYTES // 8
    fold_back(store)
    size = log.stat().st_size
    assert store._file._checkpoint_at == size + sqlite_file._GROWTH
    # Folded back, it is written again from its start.
    for _ in range(5):
        tree.say("y")
    assert log.stat().st_size == size
    monkeypatch.setattr(sqlite_file, "_LARGE_LOG", 100_000)
    fold_back(store)
    assert store._file._checkpoint_at == CHECKPOINT_BYTES
    assert log.stat().st_size < 200_000


@covers("op.failure-changes-nothing")
def test_an_interrupted_caller_takes_its_work_back(tmp_path):
    """Ctrl-C in the middle of something long: it does not go on behind one's back."""
    with weft.open(tmp_path / "grove.db") as grove:
        tree = grove.plant("Marie")
        store = grove.caller.executor.store
        ended = threading.Event()

        def long_work(transaction):
            try:
                transaction.execute(update(schema.trees).values(title="half done"))
                os.kill(os.getpid(), signal.SIGINT)
                while True:
                    transaction.execute(select(schema.trees.c.key))
            finally:
                ended.set()

        with pytest.raises(KeyboardInterrupt):
            store.write(long_work)
        assert ended.is_set()
        assert tree.refresh().title == "Marie"
        tree.say("and on")
        assert tree.refresh().counters.nodes == 2


def test_closing_does_not_pull_the_lock_away_from_what_is_still_written(tmp_path):
    grove = weft.open(tmp_path / "grove.db", timeout=0.05)
    grove.plant("Marie")
    store = grove.caller.executor.store
    begun, free = threading.Event(), threading.Event()

    def slow_work(transaction):
        transaction.execute(update(schema.trees).values(title="Slow"))
        begun.set()
        assert free.wait(30)

    writer = threading.Thread(target=lambda: store.write(slow_work))
    writer.start()
    assert begun.wait(30)
    grove.close()
    with pytest.raises(UnavailableError, match="held the grove's write lock"):
        weft.open(tmp_path / "grove.db", timeout=0.05)
    free.set()
    writer.join()
    with weft.open(tmp_path / "grove.db") as again:
        assert again.trees()[0].title == "Slow"
