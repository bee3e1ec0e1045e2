"""A look at a grove's health: what is wrong is said, and nothing is touched unasked."""

import hashlib
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests import postgres
from tests.covers import covers
from tests.soundness import check_sound
from tests.transfer.rich import fill

import weft
from weft.runtime.transfer.copy_backup import migrate_grove
from weft.runtime.transfer.doctor import Examination, examine
from weft.store import schema
from weft.store.base import HealthLevel
from weft.store.sqlite import has_reset_bug

SMALL = b"a small picture"


def levels(examination: Examination) -> dict[str, HealthLevel]:
    """The worst there is to say about each thing."""
    rank = list(HealthLevel)
    worst: dict[str, HealthLevel] = {}
    for finding in examination.findings:
        worst[finding.about] = max(worst.get(finding.about, HealthLevel.GOOD), finding.level, key=rank.index)
    return worst


def is_sound(examination: Examination) -> bool:
    """Except for the durability of the tests' own server, which may not wait for the disk."""
    return all(f.level is not HealthLevel.WRONG for f in examination.findings if f.about != "durability")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "grove.db"
    with weft.open(path) as grove:
        fill(grove, SMALL)
    return path


@pytest.fixture
def filled(address: str, template: Path) -> str:
    migrate_grove(template, address)
    return address


def state_of(folder: Path) -> dict[str, tuple[int, str]]:
    return {
        str(path): (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(("-lock", "-turn"))
    }


@covers("sqlite.doctor", "cli.upkeep", "doctor.only-looks")
def test_a_sound_grove_is_said_to_be_sound_and_left_as_it_is(filled: str, tmp_path: Path):
    before = state_of(tmp_path)
    examination = examine(filled)
    assert is_sound(examination), examination.findings
    assert {level for about, level in levels(examination).items() if about != "durability"} == {
        HealthLevel.GOOD
    }
    assert {"events", "counters", "work", "clock", "blobs", "schema"} < set(levels(examination))
    assert state_of(tmp_path) == before


@covers("sqlite.doctor")
@pytest.mark.parametrize(
    ("version", "affected"),
    [
        ((3, 6, 23), False),
        ((3, 7, 0), True),
        ((3, 40, 1), True),
        ((3, 44, 5), True),
        ((3, 44, 6), False),
        ((3, 45, 0), True),
        ((3, 50, 6), True),
        ((3, 50, 7), False),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
        ((3, 52, 0), False),
        ((4, 0, 0), False),
    ],
)
def test_the_versions_with_the_bug_are_known(version: tuple[int, int, int], affected: bool):  # noqa: FBT001
    assert has_reset_bug(version) == affected


def test_the_library_and_its_risk_are_told(tmp_path: Path):
    with weft.open(tmp_path / "grove.db"):
        pass
    (words,) = [
        finding.words for finding in examine(tmp_path / "grove.db").findings if finding.about == "SQLite"
    ]
    assert sqlite3.sqlite_version in words
    assert "WAL-reset bug" in words


def spoil(address: str, table: Any, **values: Any) -> None:
    with weft.open(address) as grove:
        grove.read.store.write(lambda transaction: transaction.execute(table.update().values(**values)))


def test_a_chain_that_ends_elsewhere_is_wrong(filled: str):
    spoil(filled, schema.trees, head=b"x" * 32)
    examination = examine(filled)
    assert not examination.sound
    assert levels(examination)["events"] is HealthLevel.WRONG


def test_a_chain_of_the_grove_that_ends_elsewhere_is_wrong(filled: str):
    spoil(filled, schema.grove, head=b"x" * 32)
    assert levels(examine(filled))["events"] is HealthLevel.WRONG


def test_counters_are_counted_and_repaired_on_request(filled: str):
    spoil(filled, schema.trees, nodes=999)
    assert levels(examine(filled))["counters"] is HealthLevel.WRONG
    examination = examine(filled, repair=True)
    assert len(examination.repaired) == 3
    assert is_sound(examination)
    with weft.open(filled) as grove:
        check_sound(grove)


@covers("blob.unreferenced-are-found")
def test_missing_and_unused_blobs_are_found_and_only_old_ones_swept(filled: str):
    with weft.open(filled) as grove:
        blobs = grove.read.store.blobs
        old, new = grove.put_blob(b"old"), grove.put_blob(b"new")
        used = next(ref for ref, _ in blobs.all() if ref not in {old, new})
        half = blobs.path(old).parent / ".new-half"
        half.write_bytes(b"ha")
        for path in (blobs.path(old), half, blobs.path(used)):
            os.utime(path, (1, 1))
    assert levels(examine(filled))["blobs"] is HealthLevel.NOTE
    examination = examine(filled, repair=True)
    assert len(examination.repaired) == 2
    assert {ref for ref, _ in blobs.all()} == {used, new}
    blobs.path(used).unlink()
    examination = examine(filled)
    assert levels(examination)["blobs"] is HealthLevel.WRONG
    assert any(used in (finding.hint or "") for finding in examination.findings)


def test_a_clock_behind_what_was_written_is_told(filled: str):
    examination = examine(filled, clock=lambda: 1_000_000)
    assert levels(examination)["clock"] is HealthLevel.WRONG


def test_work_that_was_left_is_told(filled: str):
    def leave(transaction: weft.store.transaction.Transaction) -> None:
        lease = {"tree": 1, "position": 1, "run": "0" * 26, "agent": 1, "token": 1, "expires_at": 5}
        transaction.add(schema.leases, lease)
        job = {
            "tree": 1,
            "kind": "k",
            "target": None,
            "payload": "{}",
            "state": 1,
            "attempts": 1,
            "run_after": 1,
        }
        transaction.add(schema.jobs, {**job, "holder": "h", "held_until": 5, "error": None, "created_at": 1})
        transaction.execute(schema.attempts.update().values(outcome=0, started_at=1))

    with weft.open(filled) as grove:
        grove.read.store.write(leave)
    examination = levels(examine(filled))
    assert [examination[name] for name in ("leases", "jobs", "attempts")] == [HealthLevel.NOTE] * 3


@covers("sqlite.doctor")
def test_damaged_pages_are_told(template: Path, tmp_path: Path):
    path = tmp_path / "grove.db"
    shutil.copy(template, path)
    data = bytearray(path.read_bytes())
    for page in range(5, 30):
        data[page * 4096 : page * 4096 + 8] = b"\xff" * 8
    path.write_bytes(data)
    examination = examine(path)
    assert not examination.sound


def test_what_lies_beside_the_file_is_told(template: Path, tmp_path: Path):
    path = tmp_path / "grove.db"
    migrate_grove(template, path)
    left = tmp_path / ".grove.db.abc.new"
    left.write_bytes(b"x")
    os.utime(left, (1, 1))
    (tmp_path / "grove.db-journal").write_bytes(b"")
    path.chmod(0o644)
    examination = levels(examine(path))
    assert examination["files"] is HealthLevel.WRONG
    assert examination["rights"] is HealthLevel.NOTE
    assert examine(path, repair=True).repaired == (f"removed {left.name}",)
    assert not left.exists()


@pytest.mark.parametrize("content", [b"", b"hello, I am a text" * 50])
def test_what_is_no_grove_is_told_and_left_alone(tmp_path: Path, content: bytes):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    assert not examine(path).sound
    assert path.read_bytes() == content
    assert not examine(tmp_path / "nowhere.db").sound
    assert not (tmp_path / "nowhere.db").exists()


def test_a_server_that_does_not_answer_is_told():
    examination = examine("postgresql://nobody:secret@127.0.0.1:1/none")
    assert not examination.sound
    assert "secret" not in repr(examination)


def test_a_grove_in_use_can_be_looked_at(filled: str):
    with weft.open(filled) as grove:
        grove.plant("Meanwhile")
        assert is_sound(examine(filled))
        grove.plant("After")
        check_sound(grove)


def test_a_setting_that_loses_writes_is_told(postgres_server: str):
    with postgres.database(postgres_server) as address:
        weft.open(address).close()
        with psycopg.connect(address, autocommit=True) as connection:
            name = connection.info.dbname
            connection.execute(f'ALTER DATABASE "{name}" SET synchronous_commit = off'.encode())
        examination = examine(address)
    assert any(finding.words.startswith("synchronous_commit is off") for finding in examination.findings)
    assert not examination.sound
