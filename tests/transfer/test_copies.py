"""Backups and copies between databases: whole, equal, or not there at all."""

import itertools
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.covers import covers
from tests.growing import say_many
from tests.soundness import check_file, check_sound
from tests.transfer.conftest import Places
from tests.transfer.rich import PICTURE, fill
from tests.transfer.test_round_trip import BOTH, derived, exported

import weft
from weft.errors import ConflictError, InvalidInputError, StorageError
from weft.runtime.transfer.copy_backup import migrate_grove
from weft.store import schema

SENTENCES = [f"Thread {number} goes over, and under, and over. " * (number % 7) for number in range(50)]


@covers("store.migrate")
@pytest.mark.parametrize(("here", "there"), list(itertools.product(BOTH, BOTH)))
@pytest.mark.long
def test_a_grove_is_copied_whole_with_equal_hashes(
    places: Places, here: str, there: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    source, target = places(here), places(there)
    with weft.open(source) as grove:
        fill(grove)
        first, shape = exported(grove), derived(grove)
    monkeypatch.setattr("weft.store.postgres._blob_folder", lambda name: tmp_path / f"blobs-{name[-6:]}")
    if here == "postgres":
        with weft.open(source) as grove:
            grove.put_blob(PICTURE)
    reports: list[tuple[int, int]] = []
    copied = migrate_grove(source, target, progress=lambda done, total: reports.append((done, total)))
    assert copied.blobs == 1
    assert copied.notes == ()
    assert reports[-1] == (2 * copied.rows, 2 * copied.rows)
    assert [done for done, _ in reports] == sorted(done for done, _ in reports)
    with weft.open(target) as other:
        assert exported(other) == first
        assert derived(other) == shape
        check_sound(other)
        # Keys and numbers go on after those that were copied.
        tree = other.plant("After", "root")
        tree.say("more")
        other.tag(tree, "after")
        other.add_agent("After", type="human")
        other.write_document("After")
        other.tree("Marie").say("more")
        check_sound(other)
        assert other.blob(next(iter(other.read.store.blobs.all()))[0]) == PICTURE


@covers("proof.migration-both-ways")
@pytest.mark.long
def test_a_large_grove_comes_back_from_the_other_store_as_it_went(
    places: Places, figure: Callable[[str, str], None]
):
    count = 100_000 if os.environ.get("WEFT_PROVE") else 2_000
    here, there, back = places("sqlite"), places("postgres"), places("sqlite")
    with weft.open(here) as grove:
        say_many(grove, "Long", SENTENCES, count)
        before = proofs(grove)
    migrate_grove(here, there)
    migrate_grove(there, back)
    for address in (there, back):
        with weft.open(address) as grove:
            assert proofs(grove) == before
            assert grove.verify().findings == ()
    figure("hashes that differ after migrating there and back", f"0 of {len(before):,}")


def proofs(grove: weft.Grove) -> list[tuple[str, bytes]]:
    """The hash of every node, and where every chain ends."""
    with grove.caller.executor.store.read() as session:
        nodes = session.execute(select(schema.nodes.c.ulid, schema.nodes.c.hash)).all()
        ends = session.execute(select(schema.trees.c.ulid, schema.trees.c.head)).all()
    return sorted(
        [(row.ulid, bytes(row.hash)) for row in nodes] + [(row.ulid, bytes(row.head)) for row in ends]
    )


@covers("store.migrate")
@pytest.mark.parametrize("there", BOTH)
def test_a_grove_with_something_in_it_is_never_written_over(places: Places, there: str):
    source, target = places("sqlite"), places(there)
    with weft.open(source) as grove:
        fill(grove)
    with weft.open(target) as other:
        other.plant("Mine")
        before = exported(other)
        with pytest.raises(ConflictError, match="the target grove is not empty"):
            migrate_grove(source, target)
        assert exported(other) == before


def test_a_grove_is_not_copied_onto_itself_nor_from_nowhere(tmp_path: Path):
    with weft.open(tmp_path / "a.db"):
        pass
    with pytest.raises(InvalidInputError, match="the same grove"):
        migrate_grove(tmp_path / "a.db", tmp_path / "a.db")
    with pytest.raises(StorageError, match="there is no grove"):
        migrate_grove(tmp_path / "nowhere.db", tmp_path / "b.db")
    assert not (tmp_path / "nowhere.db").exists()


@covers("store.migrate")
@pytest.mark.parametrize("there", BOTH)
@pytest.mark.long
def test_a_copy_that_differs_is_not_kept(places: Places, there: str, monkeypatch: pytest.MonkeyPatch):
    source, target = places("sqlite"), places(there)
    with weft.open(source) as grove:
        fill(grove)
        first = exported(grove)
    put = weft.store.transaction.Transaction.put

    def spoiled(self, table, rows):
        if table.name == "texts":
            rows = [{**rows[0], "content": rows[0]["content"] + "!"}, *rows[1:]]
        put(self, table, rows)

    with monkeypatch.context() as patch:
        patch.setattr("weft.store.transaction.Transaction.put", spoiled)
        with pytest.raises(StorageError, match="copy of texts differs from the original"):
            migrate_grove(source, target)
    migrate_grove(source, target)
    with weft.open(target) as other:
        assert exported(other) == first


KILLED = """
import os, signal, sys
from pathlib import Path
import weft
from weft.runtime.transfer.copy_backup import migrate_grove
what, source, target, after = sys.argv[1:]
calls = 0
def progress(done, total):
    global calls
    calls += 1
    if calls > int(after):
        os.kill(os.getpid(), signal.SIGKILL)
import weft.runtime.transfer.copy_backup as copying
copying._BATCH = 20
import weft.runtime.transfer.importer as importer
importer._LINES_PER_REPORT = 10
import weft.store.sqlite as sqlite
sqlite._COPY_PAGES = 20
if what == "migrate":
    migrate_grove(source, target, progress=progress)
elif what == "import":
    with weft.open(target) as grove:
        grove.import_(Path(source), progress=progress)
else:
    with weft.open(source) as grove:
        grove.backup(target, overwrite=True, progress=progress)
"""


def killed(*words: str) -> bool:
    """Run it until it kills itself; False if it was done before."""
    ended = subprocess.run([sys.executable, "-c", KILLED, *words], check=False, capture_output=True)
    assert ended.returncode in {0, -signal.SIGKILL}, ended.stderr.decode()
    return ended.returncode != 0


@covers("store.migrate", "import.bad-file", "import.all-or-nothing")
@pytest.mark.long
@pytest.mark.parametrize("there", BOTH)
@pytest.mark.parametrize("what", ["migrate", "import"])
def test_killed_halfway_nothing_is_there_and_a_second_try_succeeds(places: Places, what: str, there: str):
    source, target = places("sqlite"), places(there)
    with weft.open(source) as grove:
        fill(grove)
        first = exported(grove)
        file = Path(source).with_suffix(".json")
        grove.export(file)
    asked = source if what == "migrate" else str(file)
    chance = random.Random(7)
    for _ in range(6 if os.environ.get("WEFT_PROVE") else 2):
        assert killed(what, asked, target, str(chance.randrange(4, 30)))
        with weft.open(target) as other:
            assert other.trees(archived=True) == []
            assert len(other.agents()) == 1
            check_sound(other)
    assert not killed(what, asked, target, "1000000")
    with weft.open(target) as other:
        assert exported(other) == first
        check_sound(other)


@covers("proof.backup-while-writing")
@pytest.mark.long
def test_a_backup_killed_halfway_leaves_the_older_one(tmp_path: Path):
    target = tmp_path / "backup" / "copy.db"
    target.parent.mkdir()
    with weft.open(tmp_path / "grove.db") as grove:
        fill(grove)
        grove.backup(target)
        first = exported(grove)
        grove.plant("New")
    assert killed("backup", str(tmp_path / "grove.db"), str(target), "1")
    with weft.open(target) as kept:
        assert exported(kept) == first


@covers("proof.backup-while-writing")
@pytest.mark.long
def test_a_backup_taken_while_others_write_is_whole_and_has_all_that_was_acknowledged(
    address: str, tmp_path: Path
):
    with weft.open(address) as grove:
        fill(grove)
        trees = [grove.plant(f"Tree {number}", "root") for number in range(8)]
        said: list[list[str]] = [[] for _ in trees]
        stop, ready = threading.Event(), threading.Barrier(len(trees) + 1)

        def write(number: int) -> None:
            mine = weft.open(address)
            tree = mine.tree(trees[number].id)
            said[number].append(tree.say("first").id)
            ready.wait()
            while not stop.is_set():
                said[number].append(tree.say(f"word {len(said[number])}").id)
            mine.close()

        writers = [threading.Thread(target=write, args=(number,)) for number in range(len(trees))]
        for writer in writers:
            writer.start()
        ready.wait()
        for number in range(3):
            acknowledged = [list(nodes) for nodes in said]
            done = grove.backup(tmp_path / f"{number}.db", verify=True)
            assert done.blobs == 1
            _check_copy(tmp_path / f"{number}.db", acknowledged, [tree.id for tree in trees])
        stop.set()
        for writer in writers:
            writer.join()
        check_sound(grove)
    listed = sorted(path.name for path in tmp_path.iterdir() if "new" in path.name)
    assert listed == []


def _check_copy(path: Path, acknowledged: list[list[str]], trees: list[str]) -> None:
    check_file(str(path))
    with weft.open(path) as copy:
        check_sound(copy)
        assert copy.blob(next(iter(copy.read.store.blobs.all()))[0]) == PICTURE
        for tree, nodes in zip(trees, acknowledged, strict=True):
            ids = [node.id for node in copy.tree(tree).path][1:]
            assert ids[: len(nodes)] == nodes


@covers("proof.backup-while-writing")
@pytest.mark.long
def test_a_backup_restores_to_an_equal_grove(address: str, tmp_path: Path):
    with weft.open(address) as grove:
        fill(grove)
        reports: list[tuple[int, int]] = []
        grove.backup(tmp_path / "copy.db", verify=True, progress=lambda *done: reports.append(done))
        assert reports
        with weft.open(tmp_path / "copy.db") as copy:
            assert exported(copy) == exported(grove)
            assert derived(copy) == derived(grove)
        assert (tmp_path / "copy.db").stat().st_mode & 0o077 == 0


@covers("backup.never-overwrites")
@pytest.mark.long
def test_a_backup_never_overwrites_unasked(tmp_path: Path):
    with weft.open(tmp_path / "grove.db") as grove:
        fill(grove)
        grove.backup(tmp_path / "copy.db")
        with pytest.raises(ConflictError, match="is there already"):
            grove.backup(tmp_path / "copy.db")
        with pytest.raises(InvalidInputError, match="the grove itself"):
            grove.backup(tmp_path / "grove.db", overwrite=True)
        with pytest.raises(ConflictError, match="is a folder"):
            grove.backup(tmp_path)
        with pytest.raises(StorageError, match="cannot write"):
            grove.backup(tmp_path / "nowhere" / "copy.db")
        with weft.open(tmp_path / "copy.db") as copy:
            copy.plant("In use")
            with pytest.raises(StorageError, match="is in use"):
                grove.backup(tmp_path / "copy.db", overwrite=True)
        grove.plant("Later")
        grove.backup(tmp_path / "copy.db", overwrite=True)
        with weft.open(tmp_path / "copy.db") as copy:
            assert exported(copy) == exported(grove)


def test_a_backup_of_a_damaged_grove_is_refused(tmp_path: Path):
    with weft.open(tmp_path / "grove.db") as grove:
        fill(grove)
        grove.read.store.write(
            lambda transaction: transaction.execute(weft.store.schema.trees.update().values(head=b"x" * 32))
        )
        with pytest.raises(StorageError, match="the copy is damaged: the event chain of tree"):
            grove.backup(tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()
