"""export, import, backup, migrate, doctor."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.desk import Desk, run_weft
from tests.covers import covers


def test_a_tree_goes_through_a_pipe_into_another_grove(marie: Desk, tmp_path: Path):
    said = marie.ok("say", "Why?")
    file = marie.ok("export", "Marie") + "\n"
    other = Desk(str(tmp_path / "other.db"))
    tree = other.ok("import", "-", stdin=file)
    assert other.ok("read", f"{tree}/{said}") == "Why?"
    assert other.ok("export", "Marie") + "\n" == file


@covers("cli.upkeep")
def test_a_whole_grove_is_exported_where_no_tree_is_named(marie: Desk, tmp_path: Path):
    marie.ok("new", "Other")
    file = tmp_path / "all.json.gz"
    assert marie.ok("export", "-o", str(file)) == str(file)
    other = Desk(str(tmp_path / "other.db"))
    answer = other("import", str(file))
    assert answer.out.count("\n") == 2
    assert "imported 2 trees with 2 nodes" in answer.err
    assert other.ok("export") == marie.ok("export")
    assert json.loads(marie.ok("export", "--tree", "Other"))["scope"] == "trees"


@covers("backup.never-overwrites")
def test_files_are_not_overwritten_unless_forced(marie: Desk, tmp_path: Path):
    file = str(tmp_path / "file")
    for command in (("export", "--out"), ("backup",)):
        marie.ok(*command, file)
        assert "--force" in marie.fail("CONFLICT", *command, file)
        marie.ok(*command, file, "--force")
        Path(file).unlink()


@covers("import.known-tree")
def test_nonsense_is_refused_in_words(marie: Desk, tmp_path: Path):
    marie.fail("NOT_FOUND", "import", str(tmp_path / "nothing.json"))
    marie.fail("INVALID_INPUT", "import", "-", stdin="hello")
    marie.fail("INVALID_INPUT", "import", "-", stdin=b"\xff\xfe\x00")
    marie.fail("INVALID_INPUT", "export", "--json")
    marie.fail("NOT_FOUND", "export", "Nobody")
    whole = marie.ok("export")
    assert "in this grove already" in marie.fail("CONFLICT", "import", "-", stdin=whole + "\n")
    marie.fail("STORAGE", "migrate", str(tmp_path / "no.db"), str(tmp_path / "to.db"))
    assert not (tmp_path / "to.db").exists()


def test_a_backup_is_opened_to_restore_it(marie: Desk, tmp_path: Path):
    said = marie.ok("say", "Why?")
    file = str(tmp_path / "copy.db")
    answer = marie("backup", file, "--verify")
    assert answer.out == file + "\n"
    assert "every hash recomputed" in answer.err
    assert marie.ok("read", said, "--grove", file) == "Why?"


def test_a_grove_moves_to_another_database(address: str, tmp_path: Path):
    desk = Desk(str(tmp_path / "here.db"))
    desk.ok("new", "Marie")
    moved = desk.json("migrate", desk.address, address)
    assert {"trees": 1, "nodes": 1}.items() <= {row["table"]: row["rows"] for row in moved["tables"]}.items()
    assert moved["rows"] == sum(row["rows"] for row in moved["tables"])
    assert "Marie" in desk.ok("ls", "--grove", address)


@covers("sqlite.doctor")
def test_the_doctor_ends_with_one_if_something_is_wrong(marie: Desk):
    answer = marie("doctor")
    assert answer.code == 0
    assert "✓ SQLite: SQLite " in answer.out
    assert answer.err == "no problems\n"
    marie.clock.pass_by(seconds=-3_600)
    answer = marie("doctor")
    assert answer.code == 1
    assert "✗ clock: " in answer.out
    assert answer.err == "there are problems\n"
    assert marie("doctor", "--json").code == 1
    assert Desk(marie.address + "x")("doctor").code == 1


@covers("cli.progress")
@pytest.mark.long
def test_a_bar_moves_on_stderr_where_a_person_watches(marie: Desk, tmp_path: Path):
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "weft.cli", "export", "--out", str(tmp_path / "x.json")],
        stdout=subprocess.PIPE,
        stderr=terminal,
        env={**os.environ, "WEFT_GROVE": marie.address, "TERM": "xterm"},
    ) as running:
        os.close(terminal)
        seen = b""
        while True:
            try:
                piece = os.read(controller, 4096)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        assert running.wait() == 0
    os.close(controller)
    assert b"exporting" in seen
    assert b"%" in seen


@pytest.mark.long
def test_the_real_program_writes_one_document(marie: Desk):
    done = run_weft("export", grove=marie.address)
    assert done.returncode == 0
    assert json.loads(done.stdout)["format"] == "weft"


def test_what_is_no_export_makes_no_grove(tmp_path: Path):
    nonsense = tmp_path / "nonsense.json"
    nonsense.write_text("hello")
    new = Desk(str(tmp_path / "new.db"))
    new.fail("INVALID_INPUT", "import", str(nonsense))
    new.fail("NOT_FOUND", "import", str(tmp_path / "nothing.json"))
    assert not (tmp_path / "new.db").exists()


def test_a_file_that_is_taken_for_a_tree_is_told_where_it_belongs(marie: Desk, tmp_path: Path):
    told = marie.fail("NOT_FOUND", "export", str(tmp_path / "grove.json"))
    assert f"--out {tmp_path / 'grove.json'}" in told
    assert "--out" not in marie.fail("NOT_FOUND", "export", "Nobody")
