"""Find the commands in what an agent has said, while it is still speaking.

A line whose first non-blank character is `→` is a command. Not in a code block, a quotation
or a tag, not inside another command's string, not in a prefill: such
arrows are listed with the reason why nothing happened. An arrow after a tag or a single quotation
mark that may be closed later is held back until it is closed, which makes it a quotation, or until
the output ends. Each line is looked at a fixed number of times.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from weft.commands.lexer import end_of_closed, string_end, thought_start

ARROW, BACK = "→", "←"
_BLANKS = re.compile("[ \t\r\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]*")
_FENCE = re.compile(r"([ \t]*+(?:(?:>|[-*+][ \t]|\d{1,9}[.)][ \t])[ \t]*+){0,32}+)(`{3,}+|~{3,}+)(.*)")
_SHOWING = (
    "think|thinking|reasoning|scratchpad|pre|code|samp|xmp|blockquote|quote|q|examples?|documents?|"
    "(?:tool|function)_(?:results?|outputs?|response)"
)
"""Tags around what is shown or thought, and not said."""
_TAG = re.compile(rf"[ \t]*+<((?:{_SHOWING})(?![\w-])|!--)", re.IGNORECASE)
_WITHIN = re.compile(
    rf"""[`<>"“”„«»「」『』](?:(?<=<)(?:!--|/?(?:{_SHOWING})(?:\s[^<>]*+)?>)|(?<=`)`*+)?+""", re.IGNORECASE
)
"""What begins or ends a stretch of a line that is shown, and not said. A class of signs comes first: anything
else is passed over fast, and a `<` or `>` that is no tag counts as a mark too."""
_QUOTES = {"“": "”", "„": "“”", "«": "»", "»": "«", "「": "」", "『": "』"}
_VERBATIM = re.compile(
    r"\\begin\{(verbatim\*?|lstlisting|minted|alltt|quote|quotation|comment)\}", re.IGNORECASE
)
"""LaTeX around what is shown."""
_PAIRS = re.compile(
    r"""[<'‘’](?:
        (?<=<)(?P<closes>/?)(?P<name>[A-Za-z][\w.:-]{0,40})(?:\s[^<>]*+)?(?<!/)>
        |(?P<opening>(?<=['‘])(?<![\w'’]['‘])(?=\S))
        |(?P<closing>(?<=['’])(?<!\s['’])(?!\w))
    )""",
    re.VERBOSE,
)
"""What may begin or end a stretch that is shown: any tag, and single quotation marks. The class of signs comes
first, so that all else is passed over fast."""
_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)
_SINGLE = "'"
_MOST_MARKS = 10_000
_CODE_INDENT = 4
_TAB = 4


class Why(StrEnum):
    """Why an arrow at the beginning of a line was left alone."""

    CODE = "in a code block"
    QUOTATION = "in a quotation"
    TAG = "inside a tag"
    GIVEN = "not of the agent's own output"
    MARKED = "not a plain arrow"


class Span(NamedTuple):
    """A stretch of the output, in characters. The end is not part of it."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ScannedCommand:
    """One command and its exact range."""

    span: Span
    """From the arrow to the last character."""
    text: str
    """What follows the arrow; of a thought, what was thought."""
    think: bool = False
    closed: bool = True
    """False if a string, or a thought, never ended: a string makes the command void."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """An arrow that is no command."""

    start: int
    why: Why


@dataclass(frozen=True, slots=True)
class Scan:
    """What an output holds, as far as it counts."""

    commands: tuple[ScannedCommand, ...]
    """In order; what follows the cut is not among them."""
    prose: str
    """The words outside of commands, up to the cut."""
    cut: int | None
    """Where the first prose after a batch begins, in characters: from there on it was written without
    the results. None if there is none."""
    ignored: tuple[Ignored, ...]

    @property
    def batch(self) -> tuple[ScannedCommand, ...]:
        """The commands to be answered, in order. Thoughts are not."""
        return tuple(each for each in self.commands if not each.think)

    @property
    def thoughts(self) -> tuple[ScannedCommand, ...]:
        return tuple(each for each in self.commands if each.think)


def scan(text: str, *, given: str = "") -> Scan:
    """All commands of a whole output. Places count from the beginning of `given`."""
    scanner = Scanner(given=given)
    scanner.feed(text)
    return scanner.finish()


class _Line(NamedTuple):
    text: str
    place: int


@dataclass(slots=True)
class _Open:
    """A command that has begun: its parts so far, and what it waits for."""

    start: int
    own: bool
    think: bool
    parts: list[str]
    mark: str = ""
    """What opened the string that it is in the middle of."""


class Scanner:
    """Feed it what comes; ask `cut` whether to stop generating; `finish` it at the end.

    `given` is the prefill before the agent's own words in the same text: it
    decides where lines begin, and nothing in it is executed.
    """

    def __init__(self, *, given: str = "") -> None:
        self.cut: int | None = None
        self.work = 0
        """How many characters were looked at: never more than a few times the input."""
        self._commands: list[ScannedCommand] = []
        self._ignored: list[Ignored] = []
        self._prose: list[str] = []
        self._pending: list[str] = []
        """Pieces of the line that is not complete yet."""
        self._place = 0
        """Where that line begins."""
        self._own = len(given)
        self._open: _Open | None = None
        self._fence: tuple[str, int, int] | None = None
        self._tag = ""
        self._spoken = self._blank = self._indented = self._answerable = self._removed = False
        self._inside = ""
        """What would end the quotation, or the code within a line, that is open."""
        self._unpaired: Counter[str] = Counter()
        """Tags, by name, and single quotation marks that are open and may never be closed."""
        self._held: list[_Line] | None = None
        """Lines from an arrow on, while such a pair is open."""
        self._closers: dict[str, int] | None = None
        """Once the output is over: where each pair is closed for the last time."""
        self._quoted = False
        """Whether the paragraph is a block quotation: Markdown lets its later lines go without their mark."""
        self._peeked = False
        """Whether the first letter of the line is known already."""
        self._blanks = 0
        """How many pieces of that line are known to be blank."""
        self._letter = ""
        """The first that is not, once it is known."""
        self._told = self._told_pieces = self._told_letters = 0
        """How many lines of the prose, and how much of the line that is not complete, `news` has given out."""
        if given:
            self.feed(given)
            self.news()

    def feed(self, chunk: str) -> tuple[ScannedCommand, ...]:
        """Take the next piece of the output; get the commands that it completes."""
        before = len(self._commands)
        if self.cut is not None or not chunk:
            return ()
        first, *rest = chunk.split("\n")
        self._pending.append(first)
        for piece in rest:
            self._end_line(newline=True)
            if self.cut is not None:
                return tuple(self._commands[before:])
            self._pending.append(piece)
        self._peek(self._pending[-1])
        return tuple(self._commands[before:])

    def news(self) -> str:
        """The prose since the last time, as soon as it is certain: what may still be a command is held back."""
        lines = [f"{line}\n" for line in self._prose[self._told :]]
        if lines:
            # The beginning of the first was given out while it was not complete.
            lines[0] = lines[0][self._told_letters :]
            self._told, self._told_pieces, self._told_letters = len(self._prose), 0, 0
        if self._is_surely_prose():
            pieces = self._pending[self._told_pieces :]
            self._told_pieces = len(self._pending)
            self._told_letters += sum(map(len, pieces))
            lines += pieces
        return "".join(lines)

    def _is_surely_prose(self) -> bool:
        if self.cut is not None or self._open is not None or self._answerable or self._held is not None:
            return False
        if self._told_pieces or self._fence is not None or self._tag:
            return True
        while not self._letter and self._blanks < len(self._pending):
            piece = self._pending[self._blanks]
            first = _first(piece)
            self.work += first
            self._letter = piece[first : first + 1]
            self._blanks += not self._letter
        return bool(self._letter) and self._letter != ARROW

    def finish(self) -> Scan:
        """The output is over: an unclosed string makes its command void, an unclosed thought just ends."""
        if self.cut is None:
            self._end_line(newline=False)
        if self._held is not None:
            self._read_held(self._held)
        if self._open is not None:
            self._complete(self._open, self._place, closed=False)
        return Scan(
            commands=tuple(self._commands),
            prose="\n".join(self._prose).strip("\n"),
            cut=self.cut,
            ignored=tuple(self._ignored),
        )

    def _peek(self, piece: str) -> None:
        """See prose after a batch as soon as its first letter is there."""
        waiting = self._open is not None or self._fence is not None or self._tag or self._held is not None
        if self._peeked or waiting or not self._answerable:
            return
        first = _first(piece)
        self.work += first
        if first < len(piece):
            self._peeked = True
            if piece[first] != ARROW:
                self.cut = self._place

    def _end_line(self, *, newline: bool) -> None:
        line = "".join(self._pending)
        self._pending, self._blanks, self._letter, self._peeked = [], 0, "", False
        self.work += len(line)
        if newline or line:
            self._line(line)
        self._place += len(line) + newline

    def _line(self, line: str) -> None:
        if self._held is not None:
            self._hold(self._held, line)
        elif self._open is not None:
            self._go_on(self._open, line)
        elif self._fence is not None or self._tag:
            self._note_arrow(line, Why.CODE if self._fence is not None else Why.TAG)
            self._say(line)
            self._close_block(line)
        else:
            self._fresh(line)

    def _fresh(self, line: str) -> None:
        first = _first(line)
        if first == len(line):
            self._blank, self._quoted = True, False
            if self._inside.startswith("`"):
                self._inside = ""
            if not (self._removed and self._prose and not self._prose[-1]):
                self._prose.append("")
            return
        why = self._why_not(line, first) if line[first] == ARROW else None
        if why is not None:
            self._ignored.append(Ignored(self._place + first, why))
        if line[first] != ARROW or (why is not None and why is not Why.GIVEN):
            self._speak(line)
            return
        if self._unpaired and why is None:
            self._held = []
            self._hold(self._held, line)
            return
        self._blank = self._indented = False
        self._begin(line, first)

    def _hold(self, held: list[_Line], line: str) -> None:
        """Keep a line until it is known whether it is shown or said: it is shown if what is open is closed."""
        held.append(_Line(line, self._place))
        closed = [pair for pair, opens in _pairs(line) if not opens and self._unpaired[pair]]
        if not closed:
            return
        self._held = None
        here = self._place
        for each in held:
            self._place = each.place
            self._note_arrow(each.text, Why.QUOTATION if closed[0] == _SINGLE else Why.TAG)
            self._say(each.text)
        self._place = here
        self._close_pairs(closed)

    def _read_held(self, held: list[_Line]) -> None:
        """The output is over, and nothing closed the pair: it was none, and the lines are read as they are."""
        self._held = None
        self._unpaired.clear()
        self._closers = {pair: line.place for line in held for pair, opens in _pairs(line.text) if not opens}
        after = self._place
        for each in held:
            self._place = each.place
            self._line(each.text)
            if self.cut is not None:
                break
        self._place = after

    def _open_pairs(self, line: str) -> None:
        """Note the pairs that are open at the end of a line."""
        if line.strip() == _SINGLE and not self._unpaired[_SINGLE]:
            self._unpaired[_SINGLE] = 1
            return
        for pair, opens in _pairs(line):
            if not opens:
                self._close_pairs([pair])
            elif self._closers is None or self._closers.get(pair, -1) > self._place:
                self._unpaired[pair] = 1 if pair == _SINGLE else self._unpaired[pair] + 1

    def _close_pairs(self, pairs: Iterable[str]) -> None:
        for pair in pairs:
            if self._unpaired[pair] > 1:
                self._unpaired[pair] -= 1
            else:
                del self._unpaired[pair]

    def _why_not(self, line: str, first: int) -> Why | None:
        if self._place + first < self._own:
            return Why.GIVEN
        if unicodedata.category(line[first + 1 : first + 2] or " ").startswith("M"):
            return Why.MARKED
        if self._inside:
            return Why.CODE if self._inside.startswith("`") else Why.QUOTATION
        if self._quoted:
            return Why.QUOTATION
        if _depth(line) >= _CODE_INDENT and self._spoken and (self._blank or self._indented):
            # After words and a blank line, that is how Markdown shows code.
            self._indented = True
            return Why.CODE
        return None

    def _begin(self, line: str, first: int) -> None:
        after = first + 1
        thinking = thought_start(line, after)
        opened = _Open(
            start=self._place + first,
            own=self._place + first >= self._own,
            think=thinking is not None,
            parts=[],
        )
        if thinking is not None:
            self._think(opened, line, thinking)
        else:
            self._read(opened, line, after, after)

    def _go_on(self, opened: _Open, line: str) -> None:
        if opened.think:
            self._think(opened, line, 0)
            return
        end = string_end(line, 0, opened.mark)
        if end < 0:
            opened.parts.append(line.removesuffix("\r"))
        else:
            self._read(opened, line, 0, end)

    def _read(self, opened: _Open, line: str, start: int, position: int) -> None:
        """The command ends with its line, unless a string is open there."""
        rest, place = line[start:].removesuffix("\r"), position - start
        self.work += len(rest)
        opened.parts.append(rest)
        end = end_of_closed(rest, place)
        if end < len(rest):
            opened.mark, self._open = rest[end], opened
            return
        self._complete(opened, self._place + len(line.rstrip()), closed=True)

    def _think(self, opened: _Open, line: str, start: int) -> None:
        self._open = opened
        end = line.find(BACK, start)
        opened.parts.append(line[start:] if end < 0 else line[start:end])
        if end < 0:
            return
        after = end + len(BACK)
        self._complete(opened, self._place + after, closed=True)
        rest = line[after:]
        if _first(rest) < len(rest):
            self._speak(rest, after)

    def _complete(self, opened: _Open, end: int, *, closed: bool) -> None:
        self._open, self._removed = None, True
        if not opened.own:
            return
        text = "\n".join(opened.parts).strip()
        self._commands.append(ScannedCommand(Span(opened.start, end), text, opened.think, closed))
        # A thought has no result, so what follows it was not written without one.
        self._answerable = self._answerable or not opened.think

    def _speak(self, line: str, offset: int = 0) -> None:
        if self._answerable:
            self.cut = self._place + offset
            return
        if self._blank and _first(line) < len(line) and _depth(line) < _CODE_INDENT:
            self._indented = False
        self._blank = False
        self._spoken = True
        self._say(line)
        self._quoted = self._quoted or line.lstrip().startswith(">")
        self._open_block(line)
        if self._fence is None and not self._tag and not self._inside:
            self._open_pairs(line)

    def _say(self, line: str) -> None:
        self._prose.append(line)
        self._removed = False

    def _note_arrow(self, line: str, why: Why) -> None:
        first = _first(line)
        if first < len(line) and line[first] == ARROW:
            self._ignored.append(Ignored(self._place + first, why))

    def _open_block(self, line: str) -> None:
        fence = _FENCE.match(line)
        # Backticks in what follows three of them make it a span within a line.
        if fence is not None and not (fence[2][0] == "`" and "`" in fence[3]):
            self._fence = (fence[2][0], len(fence[2]), len(fence[1].expandtabs(_TAB)))
            self._inside = ""
            return
        verbatim = _VERBATIM.search(line)
        if verbatim is not None:
            closing = f"\\end{{{verbatim[1].lower()}}}"
            if closing not in line[verbatim.end() :].lower():
                self._tag = closing
                return
        tag = _TAG.match(line)
        if tag is not None:
            closing = _closing(tag[1].lower())
            if closing not in line[tag.end() :].lower():
                self._tag = closing
                return
        self._look_within(line)

    def _look_within(self, line: str) -> None:
        """What is open at the end of a line."""
        inside = self._inside
        for mark, start, end in _marks(line):
            if not mark:
                # Too many marks for prose: what follows is taken for a quotation.
                inside = "`"
            elif not inside:
                inside = _opened(mark, line[start - 1 : start], line[end : end + 1])
            elif _ends(mark, inside):
                inside = ""
        if inside[:1] in {"<", "-"}:
            self._tag, inside = inside, ""
        self._inside = inside

    def _close_block(self, line: str) -> None:
        if self._fence is None:
            if self._tag in line.lower():
                self._tag = ""
            return
        mark, length, indent = self._fence
        bare = line.strip(" \t\r>")
        if len(bare) >= length and not bare.strip(mark) and _depth(line) <= indent + 3:
            self._fence = None


def _marks(line: str) -> Iterator[tuple[str, int, int]]:
    """Each mark of a line, and where it is; at last an empty one if there are too many."""
    after = 0
    for number, sign in enumerate(_WITHIN.finditer(line)):
        if number == _MOST_MARKS:
            yield "", sign.start(), sign.end()
            return
        mark = sign[0].lower()
        if mark == ">" and line.endswith("-->", after, sign.end()):
            mark = "-->"
        if mark not in {"<", ">"}:
            after = sign.end()
            yield mark, sign.start(), after


def _pairs(line: str) -> Iterator[tuple[str, bool]]:
    """The pairs that a line opens (True) and closes, each by what names it."""
    for number, each in enumerate(_PAIRS.finditer(line)):
        name = each["name"]
        if number == _MOST_MARKS:
            return
        if name is None:
            yield _SINGLE, each["opening"] is not None
        elif name.lower() not in _VOID:
            yield f"<{name.lower()}", not each["closes"]


def _opened(mark: str, before: str, following: str) -> str:
    """What would end the stretch that a mark begins; empty if it begins none."""
    if mark[0] == "<":
        return "" if mark[1] == "/" else _closing(mark[1:].rstrip(">").split(maxsplit=1)[0])
    if mark[0] == "`":
        return mark
    if mark == "»" and not following.isalnum():
        return ""
    return _QUOTES.get(mark) or (mark if mark == '"' and not before.isalnum() else "")


def _closing(name: str) -> str:
    return "-->" if name == "!--" else f"</{name}"


def _ends(mark: str, inside: str) -> bool:
    """Whether a mark ends what is open: code its own number of ticks, a tag its name, a quotation either sign."""
    if inside[0] == "`":
        return mark == inside
    return mark.startswith(inside) if inside[0] in "<-" else mark in inside


def _first(line: str) -> int:
    """The place of the first character that is not blank."""
    blanks = _BLANKS.match(line)
    return 0 if blanks is None else blanks.end()


def _depth(line: str) -> int:
    """How far a line is indented."""
    return len(line[: _first(line)].expandtabs(_TAB))


_HEADED = re.compile(r"[ \t]*+(?:✓ )?(?:\[([0-9a-z']{4,26})\] ([^·\n]*)|(doc:\"[^\"\n]*\"))")
_LONGEST_LINE = 20_000


def arrow_lines(text: str, *, own: str) -> Iterator[tuple[str, str]]:
    """The lines of a shown text that begin with an arrow, without white space, and where they come from.

    Where they come from is the node or document in the last heading before them. Text under
    a heading of `own`, the name of the agent that the text is shown to, is its own.
    """
    source, is_own, place = "what you were shown", False, 0
    last = text.rfind(ARROW)
    while place <= last:
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        line = text[place:end]
        headed = _HEADED.match(line)
        first = _first(line)
        if headed is not None:
            source = headed[3] or f"[{headed[1]}]"
            is_own = headed[1] is not None and headed[2].strip() == own
        elif line[first : first + 1] == ARROW and not is_own:
            yield "".join(_command_from(text, place + first + 1, end).split()), source
        place = end + 1


def _command_from(text: str, start: int, end: int) -> str:
    """A line from its arrow on, with the lines that a string in it spans."""
    line = text[start:end]
    opened = end_of_closed(line, 0)
    if opened == len(line):
        return line
    inside = text[start + opened + 1 : start + _LONGEST_LINE]
    closed = string_end(inside, 0, line[opened])
    return line if closed < 0 else line[: opened + 1] + inside[:closed]
