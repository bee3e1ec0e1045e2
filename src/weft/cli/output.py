"""Write output: data to stdout, messages to stderr; titles, ids, times and nodes as text."""

import contextlib
import itertools
import json
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, cast

from weft.error_hints import Face, Hint
from weft.errors import WeftError
from weft.tree.agent import AgentType
from weft.tree.content import plain_text
from weft.tree.json_names import from_microseconds, iso, to_wire
from weft.tree.node import Node
from weft.tree.node import node_marks as marks_of
from weft.tree.progress import silent

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from weft.ids import Clock
    from weft.tree.progress import Progress

T = TypeVar("T")

_CONTROL = {
    **{code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"},
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
}
"""Each control character and the picture of it."""
_NARROWEST = 12
"""Text is not cut below this; a line that needs more is cut at its end instead."""


class Piece(NamedTuple):
    """A run of characters with one style. `shrinks` marks what is cut first when a line is too long."""

    text: str
    style: str = ""
    shrinks: bool = False


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """One column of a table: a terminal shows it under its heading, a pipe gets its field.

    A cell's value decides its form. Numbers, times and lists have one for people (1,000; 2h ago;
    a, b) and one for programs (1000; ISO 8601; a,b); None is empty.
    """

    heading: str | None
    """None: the field is only for pipes."""
    cell: Callable[[T], object]
    number: bool = False
    """Align to the right."""
    shrinks: bool = False
    """Narrow this column first where the terminal is too narrow."""
    wraps: bool = False
    """What does not fit goes on below: it is never cut."""
    piped: bool = True
    """False: the column is only for terminals."""
    field: Callable[[T], object] | None = None
    """The value for pipes, where it differs."""


def visible(text: str) -> str:
    """Control characters as pictures: what a model wrote must not control a terminal."""
    return text.translate(_CONTROL)


class Output:
    """Where one command's output goes, and how it looks there."""

    def __init__(
        self, clock: "Clock", *, terminal: bool | None = None, width: int | None = None, as_json: bool = False
    ) -> None:
        self.as_json = as_json
        self.terminal = sys.stdout.isatty() if terminal is None else terminal
        self._clock = clock
        self._width = width

    @cached_property
    def _console(self) -> "Console":
        from rich.console import Console  # noqa: PLC0415 - 60 ms, and only terminals need it

        return Console(
            file=sys.stdout,
            width=self._width,
            force_terminal=True,
            color_system="auto" if _coloured() else None,
            highlight=False,
            markup=False,
            emoji=False,
        )

    @property
    def coloured(self) -> bool:
        """True if what is written can be told apart by its colour."""
        return self.terminal and _coloured()

    @property
    def width(self) -> int:
        return self._console.width

    def result(self, value: object, plain: str | None, message: str) -> None:
        """The result of a change: its value as JSON, else the part that a script needs, if any.

        Where one screen shows both streams, the message alone is enough.
        """
        if self.as_json:
            self.json(value)
        elif plain is not None and not (self.terminal and sys.stderr.isatty()):
            self.text(plain)
        self.message(message)

    def json(self, value: object) -> None:
        """One JSON value; on one line where a program reads it."""
        self._write_json(value, 2 if self.terminal else None)

    def json_line(self, value: object) -> None:
        """One of several JSON values, each on a line of its own."""
        self._write_json(value, None)

    def _write_json(self, value: object, indent: int | None) -> None:
        text = json.dumps(to_wire(value), ensure_ascii=False, indent=indent)
        sys.stdout.write(visible(text) + "\n" if self.terminal else text + "\n")

    def text(self, text: str, style: str = "") -> None:
        """A text as it is, and a line end that is not part of it."""
        self.pieces([Piece(text, style)])

    def pieces(self, pieces: Iterable[Piece]) -> None:
        """A running text in several styles; a terminal wraps it at words."""
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

    def listing(
        self,
        rows: Sequence[T],
        *columns: Column[T],
        empty: str | None = None,
        wire: Callable[[T], object] | None = None,
    ) -> None:
        """Rows as a JSON array (each as `wire` gives it) or as a table; the message `empty` if there are none."""
        if self.as_json:
            self.json(rows if wire is None else [wire(row) for row in rows])
        elif rows:
            self.table(rows, *columns)
        elif empty is not None:
            self.message(empty)

    def table(self, rows: Sequence[T], *columns: Column[T]) -> None:
        """Aligned columns on a terminal; in a pipe, fields with tabs between and no heading.

        Nothing where there are no rows.
        """
        if not self.terminal:
            fields = [column.field or column.cell for column in columns if column.piped]
            for row in rows:
                sys.stdout.write("\t".join(_cell(field(row), None) for field in fields) + "\n")
            return
        if not rows:
            return
        now = self._clock()
        # A column without any text is left out.
        filled = [
            (column, [column.heading, *cells])
            for column in columns
            if column.heading is not None
            and any(cells := [visible(_cell(column.cell(row), now)) for row in rows])
        ]
        lines = list(zip(*(texts for _, texts in filled), strict=True))
        widths = _widths([column.shrinks for column, _ in filled], lines, self.width)
        for number, line in enumerate(lines):
            cells = [
                wrapped(cell, width) if column.wraps else [cell]
                for cell, width, (column, _) in zip(line, widths, filled, strict=True)
            ]
            for row in itertools.zip_longest(*cells, fillvalue=""):
                padded = (
                    _padded(cell, width, right=column.number)
                    for cell, width, (column, _) in zip(row, widths, filled, strict=True)
                )
                self.line([Piece("  ".join(padded).rstrip(), "dim" if number == 0 else "")])

    def exact(self, text: str) -> None:
        """A document, to the byte; a terminal gets the line end it may lack."""
        if self.terminal:
            text = visible(text)
            sys.stdout.write(text if text.endswith("\n") or not text else text + "\n")
        else:
            sys.stdout.write(text)

    def message(self, message: str) -> None:
        sys.stderr.write(visible(message) + "\n")

    def notes(self, notes: Iterable[str]) -> None:
        """Further messages of an operation, each marked as a note."""
        for note in notes:
            self.message(f"note: {note}")

    def flush(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()


def write_error(error: WeftError) -> None:
    """An error as code, message and hint on stderr."""
    sys.stdout.flush()
    head = f"✗ {error.code}"
    if sys.stderr.isatty() and _coloured():
        head = f"\x1b[31m{head}\x1b[0m"
    sys.stderr.write(f"{head}: {visible(error.message)}\n")
    if error.hint is not None:
        sys.stderr.write(
            f"  hint: {visible(error.hint.on(Face.CLI) if isinstance(error.hint, Hint) else error.hint)}\n"
        )


def wire_object(value: object, *, without: str = "", **more: object) -> dict[str, object]:
    """The JSON object of a value, without one of its fields, with others added."""
    wire = cast("Mapping[str, object]", to_wire(value))
    return {**{key: each for key, each in wire.items() if key != without}, **more}


def discard_output() -> None:
    """Discard what is still buffered: the program that read it has ended."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
            continue
        with contextlib.suppress(OSError, ValueError):
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


@contextlib.contextmanager
def progress_bar(title: str) -> "Generator[Progress]":
    """Show a bar on stderr while long work runs, if stderr is a terminal that can draw one."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield silent
        return
    from rich.console import Console  # noqa: PLC0415 - 60 ms, and only terminals need it
    from rich.progress import (  # noqa: PLC0415 - as above
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)

        def update(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total or None)

        yield update


def _coloured() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _cell(value: object, now: int | None) -> str:
    """A cell on one line: as a person reads it now, or as a program does (None)."""
    match value:
        case None:
            return ""
        case int() if now is not None:
            return f"{value:,}"
        case datetime():
            return iso(value) if now is None else ago(value, now)
        case list() | tuple():
            separator = "," if now is None else ", "
            return one_line(separator.join(map(str, cast("Sequence[object]", value))))
        case _:
            return one_line(str(value))


def _styled(pieces: Iterable[Piece]) -> "Text":
    from rich.text import Text  # noqa: PLC0415 - 60 ms, and only terminals need it

    return Text.assemble(*((visible(piece.text), piece.style) for piece in pieces))


def _fit(pieces: Sequence[Piece], width: int) -> Iterator[Piece]:
    """Shorten the piece that shrinks, so that what follows it is still seen."""
    from rich.cells import cell_len  # noqa: PLC0415 - 60 ms, and only terminals need it
    from rich.text import Text  # noqa: PLC0415 - as above

    over = sum(cell_len(visible(piece.text)) for piece in pieces) - width
    for piece in pieces:
        if piece.shrinks and over > 0:
            words = Text(visible(piece.text))
            words.truncate(max(_NARROWEST, words.cell_len - over), overflow="ellipsis")
            yield piece._replace(text=words.plain)
        else:
            yield piece


def _widths(shrinks: Sequence[bool], lines: Sequence[Sequence[str]], width: int) -> list[int]:
    """As wide as the widest cell; where that is too much, the column that shrinks is narrower."""
    from rich.cells import cell_len  # noqa: PLC0415 - 60 ms, and only terminals need it

    widest = [max(map(cell_len, cells)) for cells in zip(*lines, strict=True)]
    over = sum(widest) + 2 * (len(widest) - 1) - width
    return [
        max(min(_NARROWEST, wide), wide - max(0, over)) if may_shrink else wide
        for may_shrink, wide in zip(shrinks, widest, strict=True)
    ]


def _padded(text: str, width: int, *, right: bool) -> str:
    from rich.text import Text  # noqa: PLC0415 - 60 ms, and only terminals need it

    cell = Text(text)
    cell.truncate(width, overflow="ellipsis")
    blank = " " * (width - cell.cell_len)
    return blank + cell.plain if right else cell.plain + blank


def wrapped(text: str, width: int) -> list[str]:
    """A text in lines of at most so many cells, broken between words where there are some."""
    from weft.cli.word_wrap import WordWrap  # noqa: PLC0415 - only terminals wrap

    wrap = WordWrap(width)
    return (wrap.add(text) + wrap.add("\n")).rstrip("\n").split("\n")


FIRST_WORDS = 80
_TITLE = 40
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_MODEL_STYLE = "dark_orange3"


def one_line(text: str) -> str:
    return " ".join(text.split())


def shortened(text: str, limit: int) -> str:
    """The beginning of a text on one line."""
    line = one_line(text[: 8 * limit])
    if len(line) <= limit and len(text) <= 8 * limit:
        return line
    return line[: limit - 1].rstrip() + "…"


def quoted(title: str) -> str:
    return f'"{shortened(title, _TITLE)}"'


def where(title: str) -> str:
    return f"in {quoted(title)}"


def ago(moment: datetime, now: int) -> str:
    """The time between a moment and now (in microseconds); a date after a month."""
    seconds = int((from_microseconds(now) - moment).total_seconds())
    if seconds < _MINUTE:
        return "just now"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE}m ago"
    if seconds < _DAY:
        return f"{seconds // _HOUR}h ago"
    if seconds < 30 * _DAY:
        return f"{seconds // _DAY}d ago"
    return moment.strftime("%Y-%m-%d")


def style_of(node: Node) -> str:
    """Models' lines are tinted; a person's have the terminal's own colour."""
    return _MODEL_STYLE if node.author_type is AgentType.MODEL else ""


def label_of(node: Node, names: Mapping[str, str]) -> str:
    """A node's id and author: `[a7x2] human`."""
    return f"[{node.local_id}] {one_line(names.get(node.author_id, node.author_type))}"


def first_words(node: Node, limit: int = FIRST_WORDS) -> str:
    """The beginning of a node on one line; its kind, if it has no text."""
    text = plain_text(node.content)
    return shortened(text, limit) or ("(empty)" if node.kind == "text" else f"({node.kind})")


def node_marks(node: Node, annotations: int = 0) -> Iterator[str]:
    """A node's flags and tags, each on one line."""
    return map(one_line, marks_of(node, annotations))
