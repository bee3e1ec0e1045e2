"""The files of a grove: private from the first, released without `close()`, readable where nothing can be written."""

import gc
import os
import stat
import subprocess
import sys
import textwrap
import threading
import weakref
from pathlib import Path

import pytest
from tests.covers import covers

import weft
from weft.errors import StorageError


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - its entries are no files


@covers("store.files-are-private")
def test_every_file_of_a_new_grove_is_private_whatever_the_umask(tmp_path):
    script = """
        import os, sys
        from pathlib import Path
        os.umask(0)
        import weft
        folder = Path(sys.argv[1])
        (folder / "made").mkdir(mode=0o700)
        with weft.open(folder / "made" / "grove.db") as grove:
            grove.plant("Marie").say("Why?")
            grove.put_blob(b"media")
            grove.backup(folder / "made" / "backup.db")
            for file in sorted((folder / "made").rglob("*")):
                print(oct(file.stat().st_mode & 0o777), "folder" if file.is_dir() else "file", file.name)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    assert {"grove.db", "grove.db-wal", "grove.db-shm", "grove.db-lock", "backup.db"} <= {
        name for _, _, name in lines
    }
    assert {(mode, kind) for mode, kind, _ in lines} == {("0o600", "file"), ("0o700", "folder")}
    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o700


@covers("store.dropped-groves-are-released")
@pytest.mark.parametrize("background", [False, True])
@pytest.mark.outer
def test_a_grove_that_is_dropped_without_closing_releases_threads_and_descriptors(tmp_path, background):
    path = tmp_path / "grove.db"
    weft.open(path).close()
    threads, files = set(threading.enumerate()), descriptors()
    for number in range(3):
        grove = weft.open(path, background=background)
        grove.plant(str(number)).say("kept")
        store = weakref.ref(grove.caller.executor.store)
        del grove
        gc.collect()
        for thread in set(threading.enumerate()) - threads:
            thread.join(30)
        assert store() is None
    assert set(threading.enumerate()) == threads
    assert descriptors() == files
    assert {file.name for file in tmp_path.iterdir()} == {"grove.db", "grove.db-lock", "grove.db-turn"}
    with weft.open(path) as again:
        assert sorted(tree.path.text for tree in again.trees()) == ["kept", "kept", "kept"]


AS_ANYBODY = """
import ctypes, os, sys
# Root obeys the rights of files, too, without CAP_DAC_OVERRIDE, which the next program cannot get back.
ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)
os.execv(sys.executable, [sys.executable, "-c", *sys.argv[1:]])
"""
READ_ONLY = """
    import sys, weft
    with weft.open(sys.argv[1]) as grove:
        tree = grove.tree("Marie")
        print(tree.path.text, len(grove.search("lamp").hits), tree.cursor.context().messages[-1].text)
        print(len(grove.verify().findings))
        try:
            tree.say("never")
        except weft.WeftError as error:
            print(error.code, error.message, "|", error.hint)
"""


@covers("store.read-only-grove-can-be-read")
@pytest.mark.parametrize("unclosed", [False, True])
def test_a_grove_that_cannot_be_written_can_be_read(tmp_path, unclosed):
    path = tmp_path / "kept" / "grove.db"
    path.parent.mkdir()
    writer = weft.open(path)
    writer.plant("Marie").say("the lamp")
    writer.search("lamp")
    if not unclosed:
        writer.close()
    for file in path.parent.iterdir():
        file.chmod(0o444)
    path.parent.chmod(0o555)
    before = sorted(file.name for file in path.parent.iterdir())
    done = subprocess.run(
        [sys.executable, "-c", AS_ANYBODY, textwrap.dedent(READ_ONLY), str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    after = sorted(file.name for file in path.parent.iterdir())
    path.parent.chmod(0o755)
    writer.close()
    assert done.stderr == ""
    read, verified, refused = done.stdout.splitlines()
    assert (read, verified) == ("the lamp 1 the lamp", "0")
    assert refused.startswith(f"STORAGE {path} is read-only | make the file and its folder writable")
    assert after == before


def test_a_grove_that_is_not_there_is_not_made_where_nothing_can_be_written(tmp_path):
    with pytest.raises(StorageError, match="there is no folder /proc/none"):
        weft.open(Path("/proc/none/grove.db"))
