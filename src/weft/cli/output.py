"""stdout is data, stderr is talk."""

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from weft.cli.settings import Settings
from weft.cli.wording import one_line
from weft.errors import WeftError
from weft.tree.json_names import to_wire

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = ["Column", "Output", "Piece", "hush", "tell_error", "visible"]

_CONTROL = {
    **{code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"},
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
}
"""Each control character and the picture of it."""
_NARROWEST = 12
"""Words are not cut below this; a line that needs more is cut at its end instead."""


class Piece(NamedTuple):
    """A run of characters with one look. `gives` marks what is cut first when a line is too long."""

    text: str
    style: str = ""
    gives: bool = False


class Column(NamedTuple):
    name: str
    number: bool = False
    gives: bool = False


def visible(text: str) -> str:
    """Control characters as pictures: what a model wrote must not steer a terminal."""
    return text.translate(_CONTROL)


class Output:
    """Where one command's answer goes, and how it looks there."""

    def __init__(self, settings: Settings, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self.terminal = sys.stdout.isatty() if settings.terminal is None else settings.terminal
        self._settings = settings

    @cached_property
    def _console(self) -> "Console":
        from rich.console import Console  # noqa: PLC0415 - only terminals need it

        return Console(
            file=sys.stdout,
            width=self._settings.width,
            force_terminal=True,
            color_system="auto" if _coloured() else None,
            highlight=False,
            markup=False,
            emoji=False,
        )

    @property
    def width(self) -> int:
        return self._console.width

    def answer(self, value: object, plain: str | None, told: str) -> None:
        """What a change came to: its value as JSON, or the little that a script wants of it, if anything.

        Where one screen shows both streams, the talk has said it already.
        """
        if self.as_json:
            self.json(value)
        elif plain is not None and not (self.terminal and sys.stderr.isatty()):
            self.text(plain)
        self.talk(told)

    def json(self, value: object) -> None:
        """One JSON value; on one line where a program reads it."""
        indent = 2 if self.terminal else None
        shown = json.dumps(to_wire(value), ensure_ascii=False, indent=indent)
        sys.stdout.write(visible(shown) + "\n" if self.terminal else shown + "\n")

    def json_line(self, value: object) -> None:
        """One of several JSON values, each on a line of its own, wherever it goes."""
        shown = json.dumps(to_wire(value), ensure_ascii=False)
        sys.stdout.write(visible(shown) + "\n" if self.terminal else shown + "\n")

    def text(self, text: str, style: str = "") -> None:
        """A text as it is, and a line end that is not part of it."""
        self.pieces([Piece(text, style)])

    def pieces(self, pieces: Iterable[Piece]) -> None:
        """A running text in several looks; a terminal wraps it at words."""
        if self.terminal:
            self._console.print(_styled(pieces))
        else:
            sys.stdout.write("".join(piece.text for piece in pieces) + "\n")

    def line(self, pieces: Sequence[Piece]) -> None:
        """One line, cut to the terminal's width."""
        if not self.terminal:
            sys.stdout.write("".join(piece.text for piece in pieces) + "\n")
            return
        fitted = _styled(_fit(pieces, self.width))
        fitted.truncate(self.width, overflow="ellipsis")
        self._console.print(fitted, no_wrap=True, crop=True)

    def table(
        self, columns: Sequence[Column], shown: Iterable[Sequence[str]], plain: Iterable[Sequence[str]]
    ) -> None:
        """Rows, one at least, for a person; for a pipe, fields with tabs between and no heading."""
        if not self.terminal:
            for row in plain:
                sys.stdout.write("\t".join(one_line(cell) for cell in row) + "\n")
            return
        heading = [column.name for column in columns]
        rows = [heading, *([visible(one_line(cell)) for cell in row] for row in shown)]
        # A column that says nothing about anything is left out.
        kept = [index for index in range(len(columns)) if any(row[index] for row in rows[1:])]
        columns = [columns[index] for index in kept]
        rows = [[row[index] for index in kept] for row in rows]
        widths = _widths(columns, rows, self.width)
        for number, row in enumerate(rows):
            cells = (_cell(*each) for each in zip(row, columns, widths, strict=True))
            self.line([Piece("  ".join(cells).rstrip(), "dim" if number == 0 else "")])

    def exact(self, text: str) -> None:
        """A document, to the byte; a terminal gets the line end it may lack."""
        if self.terminal:
            text = visible(text)
            sys.stdout.write(text if text.endswith("\n") or not text else text + "\n")
        else:
            sys.stdout.write(text)

    def talk(self, message: str) -> None:
        sys.stderr.write(visible(message) + "\n")

    def flush(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()


def tell_error(error: WeftError) -> None:
    """An error in the words and the shape that every face gives it."""
    sys.stdout.flush()
    head = f"✗ {error.code}"
    if sys.stderr.isatty() and _coloured():
        head = f"\x1b[31m{head}\x1b[0m"
    sys.stderr.write(f"{head}: {visible(error.message)}\n")
    if error.hint is not None:
        sys.stderr.write(f"  hint: {visible(error.hint)}\n")


def hush() -> None:
    """Nobody reads any more: let what is still buffered go nowhere, without a word."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
            continue
        with contextlib.suppress(OSError, ValueError):
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _coloured() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _styled(pieces: Iterable[Piece]) -> "Text":
    from rich.text import Text  # noqa: PLC0415 - only terminals need it

    return Text.assemble(*((visible(piece.text), piece.style) for piece in pieces))


def _fit(pieces: Sequence[Piece], width: int) -> Iterator[Piece]:
    """Shorten the piece that gives, so that what stands after it is still seen."""
    from rich.cells import cell_len  # noqa: PLC0415 - only terminals need it
    from rich.text import Text  # noqa: PLC0415

    over = sum(cell_len(visible(piece.text)) for piece in pieces) - width
    for piece in pieces:
        if piece.gives and over > 0:
            words = Text(visible(piece.text))
            words.truncate(max(_NARROWEST, words.cell_len - over), overflow="ellipsis")
            yield piece._replace(text=words.plain)
        else:
            yield piece


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """As wide as the widest cell; where that is too much, the column that gives is narrower."""
    from rich.cells import cell_len  # noqa: PLC0415 - only terminals need it

    widest = [max(map(cell_len, cells)) for cells in zip(*rows, strict=True)]
    over = sum(widest) + 2 * (len(columns) - 1) - width
    return [
        max(min(_NARROWEST, wide), wide - max(0, over)) if column.gives else wide
        for column, wide in zip(columns, widest, strict=True)
    ]


def _cell(text: str, column: Column, width: int) -> str:
    from rich.text import Text  # noqa: PLC0415 - only terminals need it

    cell = Text(text)
    cell.truncate(width, overflow="ellipsis")
    blank = " " * (width - cell.cell_len)
    return blank + cell.plain if column.number else cell.plain + blank
