"""Storage in trouble: a clear error, nothing half-written, recovery without restart."""

import os
import resource
import shutil
import signal
import sqlite3
import tempfile
from pathlib import Path

import psycopg
import pytest
from tests import postgres
from tests.covers import covers

import weft
from weft.errors import StorageError, UnavailableError
from weft.store.sqlite_dialect import driver_of


@pytest.fixture
def grove(tmp_path):
    with weft.open(tmp_path / "grove.db", timeout=10) as opened:
        yield opened


def in_a_child(action):
    """Run an action in a forked process; return what it printed to the pipe."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            os.write(writing, action().encode())
        except BaseException as error:  # noqa: BLE001 - whatever happens there is told here
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


@covers("proof.storage-trouble")
def test_a_full_disk_is_said_and_passes(grove):
    tree = grove.plant("Marie")
    node = tree.say("before")
    driver = driver_of(grove.caller.executor.store._file._connection)
    pages = driver.execute("PRAGMA page_count").fetchone()[0]
    driver.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StorageError, match="is full") as caught:
        tree.say("x" * 1_000_000)
    assert "nothing was half-written" in caught.value.hint
    assert tree.refresh().counters.nodes == 2
    assert tree.cursor == node
    driver.execute("PRAGMA max_page_count = 1073741823")
    assert tree.say("after").path.text == "beforeafter"


@covers("proof.storage-trouble")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_disk_that_takes_no_more_bytes_is_said_and_passes(tmp_path):
    path = tmp_path / "grove.db"
    with weft.open(path) as grove:
        tree = grove.plant("Marie")

    def fill():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with weft.open(path) as mine:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
            here = mine.tree(tree.id)
            try:
                here.say("x" * 3_000_000)
            except StorageError as error:
                said = error.message
            else:
                said = "was written"
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            here.say("after")
            return f"{said}|{here.path.text}|{here.refresh().counters.nodes}"

    said = in_a_child(fill)
    assert (
        said.startswith(f"the disk with {path} is full|after|2")
        or "cannot be read or written|after|2" in said
    )


@covers("proof.storage-trouble")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_read_only_file_is_said_and_passes():
    folder = Path(tempfile.mkdtemp())
    try:
        path = folder / "grove.db"
        with weft.open(path) as grove:
            tree = grove.plant("Marie")
        for file in folder.iterdir():
            file.chmod(0o444)
        folder.chmod(0o555)

        def write():
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            with weft.open(path) as mine:
                mine.tree(tree.id).say("never")
            return "was written"

        said = in_a_child(write)
        assert said.startswith("StorageError")
        assert "read-only" in said or "cannot open the lock file" in said
        folder.chmod(0o755)
        for file in folder.iterdir():
            file.chmod(0o644)
        with weft.open(path) as grove:
            assert grove.tree(tree.id).say("now").path.text == "now"
    finally:
        shutil.rmtree(folder)


@covers("proof.storage-trouble")
def test_a_database_locked_by_another_program_is_said_and_passes(grove, tmp_path):
    tree = grove.plant("Marie")
    driver_of(grove.caller.executor.store._file._connection).execute("PRAGMA busy_timeout = 50")
    stranger = sqlite3.connect(tmp_path / "grove.db", isolation_level=None)
    stranger.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match="is locked by another program"):
        tree.say("never")
    assert tree.refresh().counters.nodes == 1
    stranger.execute("ROLLBACK")
    stranger.close()
    assert tree.say("now").path.text == "now"


@covers("proof.storage-trouble")
def test_a_vanished_file_is_said_and_its_return_noticed(grove, tmp_path):
    tree = grove.plant("Marie")
    tree.say("before")
    path, away = tmp_path / "grove.db", tmp_path / "away"
    away.mkdir()
    for file in tmp_path.glob("grove.db*"):
        if file.is_file():
            file.rename(away / file.name)
    for action in (lambda: tree.say("never"), tree.refresh, grove.trees):
        with pytest.raises(StorageError, match="is gone|was moved") as caught:
            action()
        assert "put it back" in caught.value.hint
    assert not path.exists()
    for file in away.iterdir():
        file.rename(tmp_path / file.name)
    assert tree.say("after").path.text == "beforeafter"


@covers("proof.storage-trouble")
def test_a_replaced_file_is_read_anew(grove, tmp_path):
    grove.plant("Marie")
    other = tmp_path / "other.db"
    with weft.open(other) as theirs:
        theirs.plant("Théo")
    other.replace(tmp_path / "grove.db")
    for side in ("-wal", "-shm"):
        (tmp_path / f"grove.db{side}").unlink(missing_ok=True)
    assert [tree.title for tree in grove.trees()] == ["Théo"]
    grove.trees()[0].say("here")
    assert grove.trees()[0].counters.nodes == 2


@covers("proof.storage-trouble")
@pytest.mark.long
def test_a_damaged_file_is_said(tmp_path):
    path = tmp_path / "grove.db"
    with weft.open(path) as grove:
        tree = grove.plant("Marie")
        for number in range(200):
            tree.say(f"{number} " * 50)
    with path.open("r+b") as file:
        file.seek(4096 * 3)
        file.write(b"\xff" * 4096 * 20)
    with pytest.raises(StorageError, match="is damaged|is not a database"), weft.open(path) as grove:
        for node in grove.tree(tree.id).path:
            assert node.text
        grove.trees()


@covers("proof.storage-trouble")
def test_an_emptied_file_is_not_taken_for_a_new_grove(tmp_path):
    path = tmp_path / "grove.db"
    with weft.open(path) as grove:
        grove.plant("Marie")
    os.truncate(path, 0)
    with pytest.raises(StorageError, match="is empty: there is no grove in it") as caught:
        weft.open(path, create=False)
    assert "backup" in caught.value.hint
    assert path.stat().st_size == 0


@covers("proof.storage-trouble")
def test_a_server_that_went_away_is_said_and_its_return_noticed(postgres_server):
    with postgres.database(postgres_server) as address, weft.open(address) as grove:
        tree = grove.plant("Marie")
        tree.say("before")
        name = address.partition("?")[0].rsplit("/", 1)[1]
        with psycopg.connect(postgres_server, autocommit=True) as admin:
            admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
            for action in (lambda: tree.say("never"), grove.trees):
                with pytest.raises((UnavailableError, StorageError)):
                    action()
            admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        assert tree.say("after").path.text == "beforeafter"


@covers("proof.storage-trouble")
@pytest.mark.parametrize(
    ("state", "error", "message"),
    [
        ("53100", StorageError, "disk of .* is full"),
        ("25006", StorageError, "is read-only"),
        ("57P03", UnavailableError, "does not answer"),
        ("53300", UnavailableError, "out of resources"),
    ],
)
def test_a_servers_troubles_are_said_and_change_nothing(postgres_server, state, error, message):
    with postgres.database(postgres_server) as address, weft.open(address) as grove:
        tree = grove.plant("Marie")
        with psycopg.connect(address, autocommit=True) as admin:
            admin.execute(
                f"CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS "
                f"$$ BEGIN RAISE SQLSTATE '{state}'; END $$"
            )
            admin.execute("CREATE TRIGGER fail BEFORE INSERT ON texts FOR EACH ROW EXECUTE FUNCTION fail()")
        with pytest.raises(error, match=message):
            tree.say("never")
        assert tree.refresh().counters.nodes == 1
        with psycopg.connect(address, autocommit=True) as admin:
            admin.execute("DROP TRIGGER fail ON texts")
        assert tree.say("now").path.text == "now"


@covers("proof.storage-trouble")
def test_a_commit_whose_answer_was_lost_is_looked_up(postgres_server):
    from sqlalchemy import event
    from sqlalchemy.exc import OperationalError

    with postgres.database(postgres_server) as address, weft.open(address) as grove:
        tree = grove.plant("Marie")
        store = grove.caller.executor.store
        lost = []

        def lose_the_answer(connection):
            if not lost:
                lost.append(True)
                connection.connection.driver_connection.commit()
                raise OperationalError(
                    "COMMIT", {}, psycopg.OperationalError("gone"), connection_invalidated=True
                )

        event.listen(store._engine, "commit", lose_the_answer)
        node = tree.say("kept")
        assert lost
        assert [found.id for found in tree.path][1:] == [node.id]
        assert tree.refresh().counters.nodes == 2


@covers("postgres.commit-looked-up")
def test_a_commit_that_was_lost_is_not_taken_for_that_of_a_tree_it_only_read(postgres_server):
    from sqlalchemy import event, update
    from sqlalchemy.exc import OperationalError

    from weft.store import schema

    with postgres.database(postgres_server) as address, weft.open(address) as grove:
        read, written = grove.plant("Marie"), grove.plant("Jonas")
        read.say("before")
        store = grove.caller.executor.store

        def lose_the_commit(connection):
            connection.connection.driver_connection.rollback()
            raise OperationalError(
                "COMMIT", {}, psycopg.OperationalError("gone"), connection_invalidated=True
            )

        def work(transaction):
            transaction.tree_state(1)
            transaction.execute(
                update(schema.trees).where(schema.trees.c.ulid == written.id).values(title="x")
            )

        event.listen(store._engine, "commit", lose_the_commit)
        with pytest.raises(UnavailableError, match="does not answer"):
            store.write(work)
        with pytest.raises(UnavailableError, match="does not answer"):
            written.say("never")
        event.remove(store._engine, "commit", lose_the_commit)
        assert (written.refresh().title, written.refresh().counters.nodes) == ("Jonas", 1)


def test_connections_that_are_out_when_a_grove_is_closed_are_closed_when_they_come_back(postgres_server):
    with postgres.database(postgres_server) as address:
        grove = weft.open(address, background=False)
        store = grove.caller.executor.store
        with store.read() as session:
            driver = session.connection.connection.driver_connection
            grove.close()
            assert not driver.closed
        assert driver.closed


@covers("store.fork-is-refused")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_grove_that_was_opened_before_a_fork_is_refused_in_the_child(address):
    with weft.open(address) as grove:
        tree = grove.plant("Marie")

        def use():
            with pytest.raises(UnavailableError, match="was opened before this process was forked"):
                tree.say("never")
            grove.close()
            grove.trees()
            return "was read"

        assert in_a_child(use).startswith("UnavailableError: the grove is closed")
        assert tree.say("parent").path.text == "parent"


def test_a_closed_grove_says_so(address):
    with weft.open(address) as grove:
        tree = grove.plant("Marie")
    for action in (lambda: tree.say("never"), grove.trees):
        with pytest.raises(UnavailableError, match="the grove is closed"):
            action()
