"""A person at a terminal: questions, an editor, one screen for both streams."""

import contextlib
import os
import pty
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest
from tests.cli.desk import Desk
from tests.covers import covers

from weft.cli import main

pytestmark = pytest.mark.long


@dataclass
class Screen:
    """One run of the program with a terminal of its own."""

    process: int
    terminal: int
    shown: str = ""

    def read_until(self, text: str) -> None:
        while text not in self.shown:
            piece = os.read(self.terminal, 65_536)
            assert piece, self.shown
            self.shown += piece.decode(errors="replace")

    def type(self, keys: str) -> None:
        os.write(self.terminal, keys.encode())

    def ended(self) -> int:
        """The exit code, after everything was shown."""
        while True:
            try:
                piece = os.read(self.terminal, 65_536)
            except OSError:  # Linux says so when the other side is closed.
                break
            if not piece:
                break
            self.shown += piece.decode(errors="replace")
        os.close(self.terminal)
        _, status = os.waitpid(self.process, 0)
        self.shown = self.shown.replace("\r\n", "\n")
        return os.waitstatus_to_exitcode(status)


@dataclass
class Seat:
    grove: Path
    folder: Path

    @property
    def desk(self) -> Desk:
        return Desk(str(self.grove))

    def run(self, *words: str, editor: str | None = None, anew: bool = False) -> Screen:
        """Run a command at a terminal; in a Python of its own only where that matters, for it takes a second."""
        env = {**os.environ, "WEFT_GROVE": str(self.grove), "TMPDIR": str(self.folder), "NO_COLOR": "1"}
        if editor is not None:
            script = self.folder / "editor"
            script.write_text(f"#!/bin/sh\n{editor}\n")
            script.chmod(0o755)
            env["EDITOR"] = str(script)
        process, terminal = pty.fork()
        if process == 0 and anew:
            os.execve(sys.executable, [sys.executable, "-m", "weft.cli", *words], env)
        elif process == 0:
            _be_weft(words, env)
        return Screen(process, terminal)

    def kept(self) -> list[Path]:
        return list(self.folder.glob("weft-*.md"))


def _be_weft(words: Sequence[str], env: Mapping[str, str]) -> NoReturn:
    """What the program does, in a process that has loaded it already."""
    code = 70
    try:
        os.environ.clear()
        os.environ.update(env)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115 - until it ends
        sys.argv = ["weft", *words]
        main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


@pytest.fixture
def seat(tmp_path: Path) -> Iterator[Seat]:
    folder = tmp_path / "scratch"
    folder.mkdir()
    seat = Seat(tmp_path / "grove.db", folder)
    seat.desk.ok("new", "Marie")
    seat.desk.ok("say", "Why?")
    yield seat
    assert not seat.kept(), "a test leaves no text behind that it has not looked at"


def test_one_screen_is_told_once(seat: Seat) -> None:
    screen = seat.run("say", "hello", anew=True)
    assert screen.ended() == 0
    assert screen.shown == f'wrote [{seat.desk.ok("switch")}] in "Marie"\n'


def test_without_a_text_the_editor_opens(seat: Seat) -> None:
    screen = seat.run("say", editor='printf "from the editor\\n" > "$1"')
    assert screen.ended() == 0, screen.shown
    assert seat.desk.ok("read", "--node") == "from the editor"


def test_an_edit_begins_with_the_text_that_is_there(seat: Seat) -> None:
    screen = seat.run("edit", ".", editor='printf " Really?" >> "$1"')
    assert screen.ended() == 0, screen.shown
    assert seat.desk.ok("read", "--node") == "Why? Really?"


@pytest.mark.parametrize(
    ("editor", "told"),
    [
        ("true", "the text was not changed"),
        (': > "$1"', "no text given"),
        ("exit 3", "exited with 3"),
    ],
)
def test_an_editor_that_changes_nothing_changes_nothing(seat: Seat, editor: str, told: str) -> None:
    screen = seat.run("edit", ".", editor=editor)
    assert screen.ended() == 2
    assert told in screen.shown
    assert seat.desk.ok("read", "--node") == "Why?"


def test_an_editor_that_is_not_there_is_named(seat: Seat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "/nowhere/editor -w")
    screen = seat.run("say")
    assert screen.ended() == 9
    assert "set EDITOR" in screen.shown


@pytest.mark.long
def test_what_was_written_is_kept_when_saving_fails(seat: Seat) -> None:
    seat.desk.ok("doc", "new", "Notes", "one")
    other = f'"{sys.executable}" -m weft.cli doc write Notes two --revision 1 </dev/null >/dev/null 2>&1'
    screen = seat.run("doc", "write", "Notes", editor=f'{other}; printf " mine" >> "$1"', anew=True)
    assert screen.ended() == 6, screen.shown
    assert "✗ CONFLICT: 'Notes' is at revision 2, you started from 1" in screen.shown
    (kept,) = seat.kept()
    assert f"your text is kept in {kept}" in screen.shown
    assert kept.read_text() == "one mine"
    assert seat.desk("doc", "read", "Notes").out == "two"
    kept.unlink()


@pytest.mark.parametrize(
    ("keys", "code", "left"), [("y\n", 0, 0), ("n\n", 1, 1), ("\n", 1, 1), ("\x03", 130, 1)]
)
def test_deleting_asks_first(seat: Seat, keys: str, code: int, left: int) -> None:
    screen = seat.run("delete", "Marie", anew=keys == "\x03")
    screen.read_until('delete "Marie" with 2 nodes permanently? [y/N] ')
    screen.type(keys)
    assert screen.ended() == code
    assert "Traceback" not in screen.shown
    assert len(seat.desk.json("ls")) == left


@pytest.fixture
def pair(seat: Seat) -> Seat:
    """With a collaborator who has one thing to say."""
    rights = ("--may", "loom_aware", "--may", "loom_write")
    seat.desk.ok("agents", "add", "Muse", "--model", "scripted:muse", *rights)
    seat.desk.ok("agents", "set", "Muse", "--set", 'script=["So it is."]')
    return seat


@covers("cli.typed-arrows")
def test_an_arrow_that_is_typed_is_ones_own_command(pair: Seat) -> None:
    screen = pair.run("collaborate", anew=True)
    screen.read_until("> ")
    screen.type("-> bookmark .\r")
    screen.read_until("✓")
    screen.type("→ tree\r")
    screen.read_until("Why?\r\n> ")
    screen.type("\x04")
    assert screen.ended() == 0, screen.shown
    assert screen.shown.startswith('"Marie" with Muse; /help')
    assert pair.desk.json("switch")["metadata"]["bookmarked"]


@covers("cli.typed-arrows")
@pytest.mark.parametrize(
    "pasted",
    [
        "\x1b[200~-> prune .\x1b[201~\r",
        "\x1b[200~look at this\r-> prune .\r→ prune .\x1b[201~\r",
        "\x1b[200~a\u2061\u2062\u2063\u2064\r-> prune .\rb\x1b[201~\r",
        '"""\r-> prune .\r"""\r',
        "-> \\\rprune .\r",
    ],
)
def test_an_arrow_that_is_pasted_or_one_of_several_lines_is_text(pair: Seat, pasted: str) -> None:
    screen = pair.run("collaborate", anew=True)
    screen.read_until("> ")
    screen.type(pasted)
    # One turn, also of several lines.
    screen.read_until("Muse wrote [")
    screen.read_until("\r\n> ")
    screen.type("\x04")
    assert screen.ended() == 0, screen.shown
    assert "prune ." in pair.desk.ok("read")
    assert not any(row["node"]["metadata"]["pruned"] for row in pair.desk.json("tree", "--all")["nodes"])


@covers("cli.collaborate")
@pytest.mark.parametrize(("keys", "made"), [("\r", True), ("n\r", False)])
def test_collaborate_offers_to_make_an_agent_before_its_prompt(seat: Seat, keys: str, *, made: bool) -> None:
    seat.desk.ok("agents", "add", "Echo", "--model", "scripted:echo")
    screen = seat.run("collaborate", anew=True)
    screen.read_until("Make the agent 'Muse' with scripted:echo? [Y/n] ")
    screen.type(keys)
    if made:
        screen.read_until("> ")
        screen.type("\x04")
    assert (screen.ended() == 0) is made, screen.shown
    assert ("Muse" in seat.desk.ok("agents")) is made


@covers("cli.streamed-text-wraps")
def test_streamed_text_wraps_at_words_of_the_terminal(seat: Seat) -> None:
    seat.desk.ok("agents", "add", "Echo", "--model", "scripted:echo")
    text = " ".join(["wavering"] * 40)
    screen = seat.run("gen", text, "--from", seat.desk.ok("switch"), anew=True)
    assert screen.ended() == 0
    lines = screen.shown.splitlines()
    assert max(map(len, lines)) <= 80
    assert {word for line in lines for word in line.split() if word.startswith("wav")} == {"wavering"}
