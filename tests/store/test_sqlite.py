"""SQLite as the spec wants it: settings, groups, checkpoints, locks."""

import fcntl
import os
import sqlite3
import subprocess
import sys
import textwrap
import threading

import pytest
from tests.covers import covers

import weft
from weft.errors import ConflictError, UnavailableError, WeftError
from weft.store.lock import GroveLock
from weft.store.sqlite_dialect import driver_of


@pytest.fixture
def grove(tmp_path):
    with weft.open(tmp_path / "grove.db") as opened:
        yield opened


def pragma(connection, name):
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


@covers("sqlite.no-automatic-checkpoints", "sqlite.default-settings")
def test_every_connection_is_durable_and_never_checkpoints_by_itself(grove):
    store = grove.caller.executor.store
    grove.plant("Marie")
    with store.read() as session:
        drivers = [driver_of(session._connection), driver_of(store._file._connection)]
        for driver in drivers:
            assert pragma(driver, "journal_mode") == "wal"
            assert pragma(driver, "synchronous") == 2
            assert pragma(driver, "foreign_keys") == 1
            assert pragma(driver, "wal_autocheckpoint") == 0
        (made,) = drivers[0].execute("SELECT sql FROM sqlite_master WHERE name = 'search_terms'").fetchone()
    assert "USING fts5" in made


@pytest.mark.outer
@covers("sqlite.one-writer-group-commit")
def test_writers_of_one_process_share_commits(grove):
    trees = [grove.plant(str(number)) for number in range(16)]
    gate = threading.Barrier(17)
    commits: list[int] = []
    store = grove.caller.executor.store
    store._file._connection.connection.driver_connection.set_trace_callback(
        lambda statement: commits.append(1) if statement.startswith("COMMIT") else None
    )

    def write(tree):
        gate.wait()
        for number in range(20):
            tree.say(str(number))

    threads = [threading.Thread(target=write, args=(tree,)) for tree in trees]
    for thread in threads:
        thread.start()
    gate.wait()
    for thread in threads:
        thread.join()
    assert all(tree.refresh().counters.nodes == 21 for tree in trees)
    assert len(commits) < 16 * 20 / 2


@covers("op.failure-changes-nothing")
def test_one_failure_in_a_group_leaves_the_others_whole(grove):
    tree = grove.plant("Marie")
    node = tree.say("Why?")
    node.prune()
    outcomes: list[object] = []

    def good():
        outcomes.append(tree.root.say("x"))

    def bad():
        try:
            node.say("x")
        except ConflictError as error:
            outcomes.append(error)

    def worse():
        try:
            grove.caller.executor.store.write(half_written)
        except RuntimeError as error:
            outcomes.append(error)

    def half_written(transaction):
        from sqlalchemy import update

        from weft.store import schema

        transaction.execute(update(schema.trees).values(title="broken"))
        raise RuntimeError("in the middle")

    threads = [threading.Thread(target=target) for target in (good, bad, worse, good, worse, bad) * 5]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kinds = [type(outcome).__name__ for outcome in outcomes]
    assert {name: kinds.count(name) for name in set(kinds)} == {
        "NodeHandle": 10,
        "ConflictError": 10,
        "RuntimeError": 10,
    }
    after = tree.refresh()
    assert (after.title, after.counters.nodes, len(tree.root.children)) == ("Marie", 11, 10)


@covers("sqlite.no-automatic-checkpoints")
@pytest.mark.long
def test_the_log_is_folded_back_by_size(grove, tmp_path):
    tree = grove.plant("Marie")
    for _ in range(24):
        tree.say("x" * 4_000_000)
    assert (tmp_path / "grove.db-wal").stat().st_size < 48 * 1024 * 1024
    assert (tmp_path / "grove.db").stat().st_size > 60_000_000


def test_closing_leaves_one_sound_file_and_its_locks(tmp_path):
    with weft.open(tmp_path / "grove.db") as grove:
        grove.plant("Marie").say("Why?")
    connection = sqlite3.connect(tmp_path / "grove.db")
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    names = {path.name for path in tmp_path.iterdir()}
    assert names <= {"grove.db", "grove.db-lock", "grove.db-turn"}


@pytest.mark.outer
def test_two_handles_of_one_process_share_one_writer(tmp_path):
    one, two = weft.open(tmp_path / "grove.db"), weft.open(tmp_path / "grove.db")
    assert one.caller.executor.store._file is two.caller.executor.store._file
    one.plant("Marie")
    one.close()
    two.plant("Théo")
    assert len(two.trees()) == 2
    with pytest.raises(UnavailableError, match="closed"):
        one.plant("x")
    two.close()


@pytest.mark.long
@covers("sqlite.one-write-lock")
def test_a_write_waits_for_the_lock_and_gives_up_without_writing(tmp_path):
    # Made first, in whatever time that takes on a busy machine.
    weft.open(tmp_path / "grove.db").close()
    with weft.open(tmp_path / "grove.db", timeout=1) as grove:
        tree = grove.plant("Marie")
        held = os.open(tmp_path / "grove.db-lock", os.O_RDWR)
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(UnavailableError, match="held the grove's write lock") as caught:
            tree.say("never")
        assert "nothing was written" in caught.value.hint
        assert tree.refresh().counters.nodes == 1
        fcntl.flock(held, fcntl.LOCK_UN)
        os.close(held)
        tree.say("now")
        assert [node.text for node in tree.path] == ["", "now"]


def test_a_replaced_lock_file_is_noticed(tmp_path):
    lock = GroveLock(tmp_path / "grove.db")
    with lock.hold():
        pass
    (tmp_path / "grove.db-lock").unlink()
    with lock.hold():
        other = os.open(tmp_path / "grove.db-lock", os.O_RDWR)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(other)
    lock.close()


WRITER = """
    import sys, weft
    with weft.open(sys.argv[1]) as grove:
        tree = grove.tree(sys.argv[2])
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(int(sys.argv[3])):
            tree.root.say(f"{sys.argv[4]} {number}")
            print(number, flush=True)
"""


@covers("sqlite.several-processes", "sqlite.lock-is-fair")
@pytest.mark.long
def test_two_processes_write_one_grove_and_both_make_progress(tmp_path):
    path = tmp_path / "grove.db"
    with weft.open(path) as grove:
        tree = grove.plant("Marie")
        script = textwrap.dedent(WRITER)
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", script, str(path), tree.id, "60", name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for name in ("one", "two")
        ]
        for writer in writers:
            assert writer.stdout.readline() == "ready\n"
        for writer in writers:
            writer.stdin.write("go\n")
            writer.stdin.flush()
        for number in range(20):
            tree.root.say(f"three {number}")
        for writer in writers:
            assert writer.communicate()[0].split() == [str(number) for number in range(60)]
            assert writer.returncode == 0
        texts = [node.text for node in tree.root.children]
        assert len(texts) == len(set(texts)) == 140
        # Fair: neither finished before the other was well under way.
        first_of = {name: texts.index(f"{name} 0") for name in ("one", "two")}
        last_of = {name: texts.index(f"{name} 59") for name in ("one", "two")}
        assert max(first_of.values()) < min(last_of.values())
        assert tree.refresh().counters.branches == 140
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


@pytest.mark.long
@covers("store.fork-is-refused")
def test_a_grove_that_was_opened_before_a_fork_is_refused_in_the_child(tmp_path):
    script = """
        import os, sys, weft
        grove = weft.open(sys.argv[1])
        tree = grove.plant("Marie")
        child = os.fork()
        if child == 0:
            for action in (lambda: tree.say("child"), grove.trees, lambda: weft.open(sys.argv[1])):
                try:
                    action()
                    os._exit(1)
                except weft.WeftError as error:
                    print(error.message, flush=True)
            grove.close()
            with weft.open(sys.argv[1] + ".child") as mine:
                mine.plant("Jonas").say("own")
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        tree.root.say("parent")
        print(sorted(node.text for node in grove.tree(tree.id).leaves))
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script), str(tmp_path / "grove.db")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    refused = f"{tmp_path / 'grove.db'} was opened before this process was forked"
    assert (done.stdout.splitlines(), done.stderr) == ([refused] * 3 + ["['parent']"], "")


@pytest.mark.long
def test_the_process_ends_without_closing_and_loses_nothing(tmp_path):
    script = "import sys, weft; weft.open(sys.argv[1]).plant('Marie').say('kept')"
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "grove.db")], check=True, timeout=60)
    with weft.open(tmp_path / "grove.db") as grove:
        assert grove.trees()[0].path.text == "kept"


def test_errors_of_the_database_keep_their_cause(grove):
    with pytest.raises(WeftError) as caught:
        grove.caller.executor.store.write(lambda transaction: transaction.execute(_nonsense()))
    assert caught.value.__cause__ is not None


def _nonsense():
    from sqlalchemy import text

    return text("SELECT * FROM nowhere")
