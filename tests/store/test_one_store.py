"""A grove file is opened by SQLite only, once a process, and every commit goes into the log that others see."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
from tests.covers import covers
from tests.soundness import check_file, check_sound

import weft
from weft.errors import InvalidInputError, StorageError, UnavailableError


def run(script: str, *words: object) -> subprocess.CompletedProcess[str]:
    """A program of its own."""
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def list_trees(path: Path) -> None:
    """Another program that opens the grove and closes it as the last, as far as it can see."""
    command = [sys.executable, "-m", "weft.cli", "--grove", str(path), "ls"]
    subprocess.run(command, capture_output=True, timeout=120, check=True)


def drop_locks(path: Path) -> None:
    """What a program does that copies its own grove file: SQLite's locks on it are gone."""
    with path.open("rb"):
        pass


def texts(path: Path) -> list[str]:
    with weft.open(path) as grove:
        check_sound(grove)
        found = [node.text for node in grove.tree("T").path]
    check_file(str(path))
    return found


@pytest.mark.outer
@covers("sqlite.opened-by-sqlite-only", "sqlite.one-store-a-process")
def test_a_grove_that_is_opened_twice_keeps_all_it_acknowledged(tmp_path):
    script = """
        import subprocess, sys, weft
        loom = weft.open(sys.argv[1])
        loom.plant("T", "root")
        loom = weft.open(sys.argv[1])
        subprocess.run([sys.executable, "-m", "weft.cli", "--grove", sys.argv[1], "ls"], check=True)
        for number in range(5):
            loom.tree("T").say(str(number))
        loom.close()
    """
    done = run(script, tmp_path / "n.db")
    assert (done.returncode, done.stderr) == (0, "")
    assert texts(tmp_path / "n.db") == ["root", "0", "1", "2", "3", "4"]


@pytest.mark.outer
@covers("sqlite.opened-by-sqlite-only")
def test_the_file_is_opened_by_sqlite_only(tmp_path):
    script = """
        import os, sys
        from pathlib import Path
        grove, backup = Path(sys.argv[1]), Path(sys.argv[2])
        opened = []

        def audit(event, arguments):
            if event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
                opened.append(Path(os.fsdecode(arguments[0])).name)

        import weft
        from weft.runtime.transfer.doctor import examine
        weft.open(grove).close()
        weft.open(backup).close()
        sys.addaudithook(audit)
        first = weft.open(grove)
        first.plant("T", "root").say("x")
        second = weft.open(grove)
        assert examine(grove).sound
        assert examine(grove, repair=True).sound
        first.backup(backup, overwrite=True, verify=True)
        first.export(grove.with_suffix(".json"))
        second.close()
        weft.open(grove).verify()
        first.close()
        print(grove.name in opened, backup.name in opened)
    """
    done = run(script, tmp_path / "n.db", tmp_path / "backup.db")
    assert (done.stdout, done.stderr) == ("False False\n", "")


@covers("sqlite.one-store-a-process")
def test_groves_of_one_file_share_its_descriptors_and_its_writer(tmp_path):
    path = tmp_path / "n.db"
    link = tmp_path / "link.db"
    link.symlink_to(path)
    threads = threading.active_count()
    with weft.open(path) as first:
        first.plant("T", "root")
        descriptors = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - its entries are no files
        others = [weft.open(name, timeout=1 + number) for number in range(8) for name in (path, link)]
        for number, other in enumerate(others):
            other.tree("T").say(str(number))
        assert len(os.listdir("/proc/self/fd")) <= descriptors + 2  # noqa: PTH208
        assert threading.active_count() == threads + 1
        for other in others:
            other.close()
            with pytest.raises(UnavailableError, match="closed"):
                other.trees()
        assert len(first.tree("T").path) == 17
    assert threading.active_count() == threads
    assert {file.name for file in tmp_path.iterdir()} == {"n.db", "n.db-lock", "n.db-turn", "link.db"}


@covers("proof.storage-trouble")
def test_a_grove_whose_process_was_killed_while_it_folded_the_log_back_opens_with_all_it_kept(tmp_path):
    """The first page is written first: it promises pages that are only in the log yet."""
    path = tmp_path / "n.db"
    script = """
        import os, signal, sys, weft
        weft.open(sys.argv[1], background=False).plant("T", "root").say("kept")
        os.kill(os.getpid(), signal.SIGKILL)
    """
    assert run(script, path).returncode == -signal.SIGKILL
    with path.open("r+b") as file:
        file.seek(28)
        file.write((path.stat().st_size // 4096 + 40).to_bytes(4, "big"))
    assert texts(path) == ["root", "kept"]


def test_a_file_that_is_damaged_without_a_log_is_still_refused(tmp_path):
    path = tmp_path / "n.db"
    with weft.open(path) as grove:
        grove.plant("T", "root")
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(StorageError, match="is damaged"):
        weft.open(path)


def test_a_grove_is_opened_and_closed_by_many_threads_at_once(tmp_path):
    path = tmp_path / "n.db"
    barrier = threading.Barrier(8)
    errors: list[BaseException] = []

    def reopen(name: str) -> None:
        try:
            barrier.wait(60)
            for number in range(10):
                with weft.open(path) as grove:
                    grove.plant(f"{name} {number}")
        except BaseException as error:  # noqa: BLE001 - looked at below
            errors.append(error)

    threads = [threading.Thread(target=reopen, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with weft.open(path) as grove:
        assert len(grove.trees()) == 80
        check_sound(grove)


@covers("sqlite.commits-into-the-log-others-see")
def test_a_write_whose_log_was_deleted_is_refused_and_the_next_one_is_kept(tmp_path):
    path = tmp_path / "n.db"
    with weft.open(path) as loom:
        tree = loom.plant("T", "root")
        tree.say("before")
        drop_locks(path)
        list_trees(path)
        with pytest.raises(StorageError, match="nothing was written"):
            tree.say("never")
        tree.say("after")
        assert [node.text for node in loom.tree("T").path] == ["root", "before", "after"]
    assert texts(path) == ["root", "before", "after"]


@covers("sqlite.commits-into-the-log-others-see")
def test_a_log_that_goes_while_a_group_is_written_fails_the_whole_group(tmp_path):
    path = tmp_path / "n.db"
    with weft.open(path) as loom:
        tree = loom.plant("T", "root")

        def work(transaction):
            drop_locks(path)
            (tmp_path / "n.db-wal").rename(tmp_path / "away")

        with pytest.raises(StorageError, match="nothing was written"):
            loom.caller.executor.store.write(work)
        (tmp_path / "away").rename(tmp_path / "n.db-wal")
        tree.say("after")
    assert texts(path) == ["root", "after"]


@covers("sqlite.commits-into-the-log-others-see")
@pytest.mark.outer
def test_two_programs_that_lost_their_locks_lose_no_acknowledged_write(tmp_path):
    path = tmp_path / "n.db"
    script = """
        import os, sys, weft
        path = sys.argv[1]
        open_before = weft.open(path)
        open(path, "rb").close()
        for line in sys.stdin:
            try:
                open_before.tree("T").say(line.strip())
                print("kept", flush=True)
            except weft.WeftError as error:
                print(error.code, flush=True)
    """
    kept = ["root"]
    with weft.open(path) as loom:
        loom.plant("T", "root")
        other = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script), str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

        def say_there(text: str) -> None:
            other.stdin.write(f"{text}\n")
            other.stdin.flush()
            if other.stdout.readline() == "kept\n":
                kept.append(text)

        def say_here(text: str) -> None:
            try:
                loom.tree("T").say(text)
                kept.append(text)
            except StorageError:
                pass

        for number in range(6):
            say_there(f"there {number}")
            drop_locks(path)
            list_trees(path)
            say_here(f"here {number}")
            say_here(f"here {number} again")
            say_there(f"there {number} again")
        other.kill()
        other.communicate()
    assert len(kept) > 8
    assert texts(path) == kept


def test_a_file_that_was_moved_is_not_opened_under_its_new_name(tmp_path):
    path, moved = tmp_path / "n.db", tmp_path / "m.db"
    with weft.open(path) as loom:
        loom.plant("T", "root")
        path.rename(moved)
        with pytest.raises(StorageError, match="was moved"):
            weft.open(moved)
        moved.rename(path)
        loom.tree("T").say("x")


def test_the_grove_itself_is_neither_imported_nor_overwritten(tmp_path):
    path = tmp_path / "n.db"
    link = tmp_path / "link.db"
    link.symlink_to(path)
    with weft.open(path) as loom:
        loom.plant("T", "root")
        for name in (path, link):
            for action in (loom.import_, lambda file: loom.export(file, overwrite=True)):
                with pytest.raises(InvalidInputError, match="is the grove itself"):
                    action(name)
            with pytest.raises(InvalidInputError, match="is the grove itself"):
                loom.backup(name, overwrite=True)
        list_trees(path)
        loom.tree("T").say("x")
    assert texts(path) == ["root", "x"]
