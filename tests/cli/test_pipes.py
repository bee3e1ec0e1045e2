"""The real program, with real pipes."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.desk import Desk, run_weft
from tests.covers import covers

pytestmark = pytest.mark.long


@pytest.fixture
def grove(tmp_path: Path) -> Path:
    """A conversation whose last message is longer than any pipe holds."""
    desk = Desk(str(tmp_path / "grove.db"))
    desk.ok("new", "Marie")
    desk.ok("say", "織 first")
    desk.ok("say", stdin="word " * 100_000)
    return tmp_path / "grove.db"


@pytest.mark.long
@covers("cli.pipes", "cli.stdout-data-stderr-talk")
def test_one_weft_reads_what_another_writes(grove: Path) -> None:
    first = run_weft("read", "--head", "2", grove=grove, env={"PYTHONIOENCODING": "latin-1"})
    assert (first.stdout, first.stderr) == ("織 first\n".encode(), b"")
    said = run_weft("say", grove=grove, stdin=first.stdout)
    assert said.returncode == 0
    assert said.stderr.decode() == f'wrote [{said.stdout.decode().strip()}] in "Marie"\n'
    assert run_weft("read", "--node", grove=grove).stdout == first.stdout


@pytest.mark.long
def test_an_error_that_nobody_reads_still_has_its_exit_code(grove: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "weft.cli", "--grove", str(grove), "read", "zzzz"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stderr is not None
        process.stderr.close()
        assert process.wait(timeout=60) == 3


def test_an_error_is_told_on_stderr_without_a_traceback(grove: Path) -> None:
    answer = run_weft("read", "zzzz", grove=grove)
    assert (answer.stdout, answer.returncode) == (b"", 3)
    assert answer.stderr.decode() == "✗ NOT_FOUND: node [zzzz] does not exist in this tree\n"


@pytest.mark.parametrize(
    "words",
    [
        ("read",),
        pytest.param(("ls",), marks=pytest.mark.long),
        pytest.param(("say", "x"), marks=pytest.mark.long),
        pytest.param(("read", "--json"), marks=pytest.mark.long),
    ],
)
def test_a_broken_pipe_is_silent(grove: Path, words: tuple[str, ...]) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "weft.cli", "--grove", str(grove), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        told = process.stderr.read()
        assert process.wait(timeout=60) == 141
    assert b"Traceback" not in told
    assert b"Broken" not in told
    assert b"Exception" not in told


@pytest.mark.long
def test_closed_streams_do_not_matter(grove: Path) -> None:
    line = f'"{sys.executable}" -m weft.cli --grove "{grove}" say hello'
    for closing in (">&-", "2>&-", ">&- 2>&- <&-"):
        assert subprocess.run(f"{line} {closing}", shell=True, check=False, timeout=60).returncode == 0
    assert run_weft("ls", grove=grove).stdout.split(b"\t")[3] == b"6"
    unread = subprocess.run(
        f'"{sys.executable}" -m weft.cli --grove "{grove}" say <&-', shell=True, check=False, timeout=60
    )
    assert unread.returncode == 2


def test_importing_the_command_line_loads_no_database_and_no_terminal() -> None:
    """Beyond what `import weft` itself loads."""
    script = (
        "import sys, weft; before = set(sys.modules); import weft.cli; "
        "assert set(sys.modules) - before == {'weft.cli'}; import weft.cli.app; "
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}; "
        "assert not new & {'rich', 'sqlalchemy', 'alembic', 'psycopg', 'sqlite3'}, new"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_listing_trees_in_a_pipe_loads_only_what_it_needs(grove: Path) -> None:
    script = (
        "import sys; from weft.cli.app import app; "
        f"app(['--grove', {str(grove)!r}, 'ls'], standalone_mode=False); "
        "loaded = {'pydantic', 'alembic', 'fastapi', 'mcp', 'rich', 'httpx', 'psycopg', "
        "'sqlalchemy.dialects.postgresql', 'weft.cli.generation', 'weft.runtime.undo.registry'} & set(sys.modules); "
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a system without a disk that is always full")
@pytest.mark.parametrize("words", [("ls",), ("export",)])
def test_a_full_disk_behind_stdout_is_said(grove: Path, words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "weft.cli", "--grove", str(grove), *words],
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert ended.returncode == 8
    assert b"STORAGE: cannot read or write: No space left on device" in ended.stderr
    assert b"Traceback" not in ended.stderr
