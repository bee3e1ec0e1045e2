"""Turns that a person types at a prompt; what is pasted or piped is told apart from what is typed."""

import contextlib
import importlib
import secrets
import select
import sys
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

from weft.cli.text_input import is_interactive

_QUOTE = '"""'
_INVISIBLE = "\u2061\u2062\u2063\u2064"
_MARK_LENGTH = 16
_PASTE_ON, _PASTE_OFF = "\x1b[?2004h", "\x1b[?2004l"


@dataclass(frozen=True, slots=True)
class TypedTurn:
    """One turn, and whether it is one line that a person typed at the prompt."""

    text: str
    is_typed: bool
    goes_on: bool = False
    """True for a line of a pasted block that is not its last."""


def typed_turns() -> Iterator[TypedTurn]:
    """Turns until the input ends: a line, a pasted block, lines joined by a backslash, or all between quotes."""
    lines: list[str] = []
    quoting, typed = False, True
    with _line_source() as source:
        while True:
            line = source.line("… " if lines or quoting else "> ")
            if line is None:
                if lines:
                    yield TypedTurn("\n".join(lines), is_typed=False)
                return
            typed = typed and line.is_typed
            if line.goes_on:
                lines.append(line.text)
                continue
            if line.text.strip() == _QUOTE:
                quoting = not quoting
                if not quoting:
                    yield TypedTurn("\n".join(lines), is_typed=False)
                    lines, typed = [], True
                continue
            if not quoting and line.text.endswith("\\"):
                lines.append(line.text[:-1])
                continue
            lines.append(line.text)
            if not quoting:
                yield TypedTurn("\n".join(lines), is_typed=typed and len(lines) == 1)
                lines, typed = [], True


class _PipedLines:
    """Lines of a pipe or file: nothing of them was typed here."""

    def line(self, prompt: str) -> TypedTurn | None:
        del prompt
        # Without any input Python has no object for it.
        line = "" if sys.stdin is None else sys.stdin.readline()
        return TypedTurn(line.rstrip("\r\n"), is_typed=False) if line else None


class _TerminalLines:
    """Lines of a terminal. A terminal marks what is pasted; the marks become random invisible characters.

    They are random because a pasted text could hold the end mark otherwise, and go on as if it were typed.
    """

    def __init__(self, readline: Any) -> None:
        self._start = "".join(secrets.choice(_INVISIBLE) for _ in range(_MARK_LENGTH))
        self._end = "".join(secrets.choice(_INVISIBLE) for _ in range(_MARK_LENGTH))
        self._inside = False
        self._marked = False
        if readline is not None and "libedit" not in (readline.__doc__ or ""):
            self._marked = True
            readline.parse_and_bind("set enable-bracketed-paste off")
            readline.parse_and_bind(f'"\\e[200~": "{self._start}"')
            readline.parse_and_bind(f'"\\e[201~": "{self._end}"')

    def line(self, prompt: str) -> TypedTurn | None:
        """One line; None at the end. Ctrl-C at the prompt discards what was typed."""
        while True:
            try:
                sys.stdout.flush()
                return self._turn(input(prompt))
            except EOFError:
                return None
            except KeyboardInterrupt:
                self._inside = False
                sys.stderr.write("\n(Ctrl-D ends)\n")

    def _turn(self, line: str) -> TypedTurn:
        was_inside = self._inside
        last_start, last_end = line.rfind(self._start), line.rfind(self._end)
        if last_start >= 0 or last_end >= 0:
            self._inside = last_start > last_end
        pasted = was_inside or last_start >= 0 or last_end >= 0 or self._more_waits()
        plain = line.replace(self._start, "").replace(self._end, "")
        return TypedTurn(plain, is_typed=not pasted, goes_on=self._inside)

    def _more_waits(self) -> bool:
        """Where a terminal does not mark what is pasted: more came at once than a person types."""
        if self._marked:
            return False
        return bool(select.select([sys.stdin], [], [], 0)[0])


@contextlib.contextmanager
def _line_source() -> "Generator[_PipedLines | _TerminalLines]":
    if not is_interactive():
        yield _PipedLines()
        return
    readline: Any = None
    with contextlib.suppress(ImportError):
        readline = importlib.import_module("readline")  # gives input() history and line editing
    source = _TerminalLines(readline)
    sys.stdout.write(_PASTE_ON)
    try:
        yield source
    finally:
        sys.stdout.write(_PASTE_OFF)
        sys.stdout.flush()
