"""What is known of a list of messages: measured where a window could reach, growing at its end."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain, pairwise
from operator import itemgetter
from typing import NamedTuple, cast

from weft.context.call_answers import call_answers
from weft.context.columns import Columns, Sketch, SkippedRange
from weft.context.masking import Mask, MaskedSums, MaskRule, ToolResults
from weft.context.message_dict import (
    ROLES,
    SYSTEM_ROLES,
    Measurer,
    MessageShape,
    PlainMessage,
    masked,
    named_calls,
    speaker_of,
)
from weft.context.tokens import CHARS, DEFAULT
from weft.errors import InvalidInputError

_ROLE = itemgetter("role")
_PLAIN = frozenset({"user", "assistant"})
_FIRST_LOOK, _LONGEST_LOOK = 32, 1024
_SHORT = 64
"""Tokens of a message that is rather short."""
_SPARE = 8
_ENDLESS = 1 << 62
_NO_HEAD = Columns(sums=(0,), roles=(), bound=b"", ids=())


class Traffic(NamedTuple):
    """The tool calls that a message makes, and those that it answers."""

    level: int
    calls: tuple[str, ...]
    results: tuple[str, ...]


class Numbers(Sequence[str]):
    """The ids of messages in a list: their places, said when somebody asks."""

    __slots__ = ("_start", "_stop")

    def __init__(self, start: int, stop: int) -> None:
        self._start, self._stop = start, stop

    def __len__(self) -> int:
        return self._stop - self._start

    def __getitem__(self, index: int | slice) -> "str | Numbers":  # type: ignore[override] - slices are numbers too
        if isinstance(index, slice):
            start, stop, _ = index.indices(len(self))
            return Numbers(self._start + start, self._start + max(start, stop))
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return str((self._stop if index < 0 else self._start) + index)


class Speakers(Sequence[str]):
    """Who speaks from a level on, read when somebody asks."""

    __slots__ = ("_messages", "_start")

    def __init__(self, messages: list[PlainMessage], start: int) -> None:
        self._messages, self._start = messages, start

    def __len__(self) -> int:
        return len(self._messages) - self._start

    def __getitem__(self, index: int | slice) -> "str | list[str]":  # type: ignore[override] - a slice is a list
        if isinstance(index, slice):
            return [speaker_of(message) for message in self._messages[self._start :][index]]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return speaker_of(self._messages[index if index < 0 else self._start + index])


class Ledger:
    """Messages with their sizes, from the level `first` on. Several contexts may share one."""

    __slots__ = (
        *("bound", "first", "head", "log", "masks", "measurer", "messages", "names", "opened", "plain"),
        *("results", "strays", "sums", "systems", "tail"),
    )

    def __init__(self, messages: Iterable[PlainMessage], measurer: Measurer) -> None:
        self.measurer = measurer
        self.messages = as_list(messages)
        self.plain, self.systems = _roles_in(self.messages, 0)
        self.first = len(self.messages)
        self.head: Columns | None = None
        self.tail: Columns | None = None
        self.sums: list[int] = [0]
        self.bound = bytearray()
        self.strays = False
        """Whether a result came so late that its call was never measured."""
        self.log: list[Traffic] = []
        self.opened: dict[str, int] = {}
        """Id of a call → the level that made it last."""
        self.names: dict[str, str] = {}
        """Id of a call → the name of its tool, as far as results were looked at."""
        self.masks: dict[int, tuple[Mask, ...]] = {}
        """Level → its tool results as lines."""
        self.results: ToolResults | None = None
        """Where results are masked: then all messages are measured."""

    def __len__(self) -> int:
        return len(self.messages)

    def copy(self, levels: int) -> "Ledger":
        """The same as it was when there were so many messages, for growing in another direction."""
        ledger = Ledger((), self.measurer)
        ledger.messages, ledger.first, ledger.head = self.messages[:levels], self.first, self.head
        ledger.plain = self.plain
        ledger.systems = [level for level in self.systems if level < levels]
        ledger.sums = self.sums[: levels - self.first + 1]
        ledger.bound = bytearray(levels - self.first)
        ledger.log = [each for each in self.log if each.level < levels]
        ledger.bind(ledger.log)
        if self.results is not None:
            ledger.mask(self.results.rule)
        return ledger

    def tokens(self, level: int) -> int:
        """Live tokens of one message."""
        if level >= self.first:
            index = level - self.first
            return self.sums[index + 1] - self.sums[index]
        return self._sizes(level, level + 1)[0]

    def sizes(self, start: int, stop: int) -> list[int]:
        """Live tokens of several, measured now if nobody needed them before."""
        unknown = self._sizes(start, min(stop, self.first)) if start < self.first else []
        lower = max(start, self.first) - self.first
        sums = self.sums[lower : max(lower, stop - self.first) + 1]
        return unknown + [after - before for before, after in pairwise(sums)]

    def role(self, level: int) -> str:
        return speaker_of(self.messages[level])

    def first_role(self, level: int) -> str:
        """The role that speaks first at or after a level, system messages apart."""
        while level < len(self.messages) and self.role(level) in SYSTEM_ROLES:
            level += 1
        return self.role(level) if level < len(self.messages) else ""

    def last_user(self, start: int, otherwise: int | None = None) -> int | None:
        """The newest user message at or after a level."""
        for level in range(len(self.messages) - 1, start - 1, -1):
            if self.role(level) == "user":
                return level
        return otherwise

    def system_tokens(self, levels: Iterable[int]) -> list[tuple[int, int]]:
        """Level and size of system messages."""
        return [(level, self.measurer.shape(self.messages[level], level).tokens) for level in levels]

    def append(self, messages: Sequence[PlainMessage]) -> list[int]:
        """Add messages at the end; the levels of new system messages are returned."""
        start = len(self.messages)
        plain, systems = _roles_in(messages, start)
        self.plain = self.plain and plain
        self.messages.extend(messages)
        traffic: list[Traffic] = []
        try:
            sizes = self._sizes(start, len(self.messages), traffic)
        except BaseException:
            # A callable of the user's may fail: nothing was said then.
            del self.messages[start:]
            raise
        self.systems.extend(systems)
        total = self.sums[-1]
        for size in sizes:
            total += size
            self.sums.append(total)
        self.bound.extend(bytes(len(messages)))
        if traffic:
            self.strays = self.first > 0 and self._answered_before(traffic, set(self.opened)) < self.first
            self.log.extend(traffic)
            self.bind(traffic)
            self._mask(traffic)
        return systems

    def mask(self, rule: MaskRule) -> None:
        """Look at all tool results, and at those that come from now on."""
        self.results = ToolResults(rule)
        self._mask(self.log)

    def _mask(self, traffic: Iterable[Traffic]) -> None:
        results = self.results
        if results is None:
            return
        for level, calls, answers in traffic:
            message = self.messages[level]
            if answers:
                masks = self.masks[level] = self.measurer.masks(message, self.names, results.rule)
                results.add(level, self.sums[level], self.sums[level + 1], masks)
            if calls:
                self.names |= named_calls(message)

    def masked(self, level: int, count: int) -> PlainMessage:
        """A message as it is sent where the first so many of all tool results are masked."""
        message, results = self.messages[level], self.results
        if results is None or level not in self.masks:
            return message
        return masked(message, self.masks[level][: max(0, count - bisect_left(results.levels, level))])

    def hidden(self, count: int) -> dict[int, int]:
        """Level → the tokens that masking the first so many tool results saves there, where it saves any."""
        hidden: dict[int, int] = {}
        for index, level in enumerate(self.results.levels[:count] if self.results is not None else ()):
            saved = self.results.saved[index + 1] - self.results.saved[index] if self.results else 0
            if saved:
                hidden[level] = hidden.get(level, 0) + saved
        return hidden

    def measure_back(self, enough: int, least: int) -> None:
        """Measure from the end until there is more than enough and of so many messages, or all of it."""
        # Most messages have more than so many tokens, so that the first look is mostly the only one.
        looked, total, many = min(max(_FIRST_LOOK, enough // _SHORT), _LONGEST_LOOK), 0, 0
        parts: list[list[int]] = []
        while self.first > 0 and (total <= enough or many <= least):
            part = self._measure_before(max(0, self.first - looked))
            parts.append(part)
            total += sum(part)
            many += len(part) - part.count(0) if self.systems else len(part)
            expected = _expected(enough - total, total, len(self.messages) - self.first)
            looked = min(max(expected, least + 1 - many), _LONGEST_LOOK)
        if self.log:
            earliest = self._answered_before(self.log, set())
            if earliest < self.first:
                parts.append(self._measure_before(earliest))
        parts.reverse()
        self.sums = [0, *accumulate(chain.from_iterable(parts))]
        self.bound = bytearray(len(self.sums) - 1)
        self.bind(self.log)

    def measure_head(self, enough: int) -> None:
        """Measure from the beginning, past what a head could take; all, if that meets the tail."""
        stop, looked, total = 0, _FIRST_LOOK, 0
        sizes, traffic = list[int](), list[Traffic]()
        while stop < self.first and total <= enough:
            until = min(self.first, stop + looked)
            part = self._sizes(stop, until, traffic)
            total += sum(part)
            sizes += part
            stop, looked = until, min(_expected(enough - total, total, until), _LONGEST_LOOK)
        if stop == self.first:
            self._complete(sizes, traffic)
            return
        bound = bytearray(stop)
        _mark(bound, 0, traffic, {})
        answered = {answer for _, _, results in traffic for answer in results}
        for level, calls, _ in traffic:
            if set(calls) - answered and self._answered_later(set(calls) - answered, stop):
                bound[level + 1 :] = b"\1" * (stop - level - 1)
        self.head = Columns(
            sums=[0, *accumulate(sizes)],
            roles=Speakers(self.messages, 0),
            bound=bound,
            ids=Numbers(0, stop),
        )

    def sketch(self, last_user: int | None) -> Sketch:
        """What fitting reads. The columns grow with the ledger, so they are made once."""
        tail, results = self.tail, self.results
        if results is not None:
            tail = Columns(
                sums=MaskedSums(self.sums, results, results.masked),
                roles=Speakers(self.messages, 0),
                bound=self.bound,
                ids=Numbers(0, _ENDLESS),
                ruler=self.sums,
                whole=self.sums,
                results=results if results.rule.step else None,
            )
        elif tail is None:
            tail = self.tail = Columns(
                sums=self.sums,
                roles=Speakers(self.messages, self.first),
                bound=self.bound,
                ids=Numbers(self.first, _ENDLESS),
                ruler=self.sums,
            )
        known = None if last_user is None else (last_user, self.tokens(last_user))
        if self.first == 0:
            return Sketch(
                tail=tail,
                last_user=known,
                floor_of=self._floor,
                parts_of=self._parts,
                stays=self.systems,
            )
        head = self.head or _NO_HEAD
        between = SkippedRange(levels=self.first - len(head), first=str(len(head)), last=str(self.first - 1))
        return Sketch(
            tail=tail, head=head, between=between, last_user=known, floor_of=self._floor, stays=self.systems
        )

    def bind(self, traffic: Iterable[Traffic]) -> None:
        _mark(self.bound, self.first, traffic, self.opened)

    def _floor(self, level: int) -> int:
        count = 0 if self.results is None else self.results.masked
        return self.measurer.floor(self.masked(level, count))

    def _parts(self, level: int) -> list[tuple[str, int]]:
        """A message by the name that people know it by."""
        return [(f"messages[{level}]", self.tokens(level))]

    def _measure_before(self, start: int) -> list[int]:
        """Sizes from a level to where measuring had come; tool traffic is taken down."""
        traffic: list[Traffic] = []
        sizes = self._sizes(start, self.first, traffic)
        self.log[:0] = traffic
        self.first = start
        return sizes

    def _complete(self, sizes: list[int], traffic: list[Traffic]) -> None:
        behind = [after - before for before, after in pairwise(self.sums)]
        self.first = 0
        self.sums = [0, *accumulate(sizes + behind)]
        self.log[:0] = traffic
        self.bound = bytearray(len(sizes) + len(behind))
        self.opened = {}
        self.bind(self.log)

    def _sizes(self, start: int, stop: int, traffic: list[Traffic] | None = None) -> list[int]:
        """Live tokens of a slice; of plain texts, which most are, with less ado."""
        chunk = self.messages[start:stop]
        plain = self.plain or _PLAIN.issuperset(map(_ROLE, chunk))
        texts = _texts(chunk) if plain else None
        if texts is not None:
            return self._plain_sizes(texts)
        shapes = [self._shape(message, start + index) for index, message in enumerate(chunk)]
        if traffic is not None:
            traffic += [
                Traffic(start + index, shape.calls, shape.results)
                for index, shape in enumerate(shapes)
                if shape.calls or shape.results
            ]
        return [shape.tokens for shape in shapes]

    def _plain_sizes(self, texts: list[str]) -> list[int]:
        estimator = self.measurer.estimator
        if estimator is CHARS or (estimator is DEFAULT and all(map(str.isascii, texts))):
            return [(len(text) + 3) >> 2 or 1 for text in texts]
        return [size or 1 for size in map(estimator.of_text, texts)]

    def _shape(self, message: PlainMessage, level: int) -> MessageShape:
        role = cast("str", message["role"])
        if role in SYSTEM_ROLES:
            return MessageShape(role, 0)
        content = message.get("content")
        if isinstance(content, str) and len(message) == 2 and role in _PLAIN:
            return MessageShape(role, self.measurer.estimator.of_text(content) or 1)
        return self.measurer.shape(message, level)

    def _answered_before(self, traffic: Sequence[Traffic], known: set[str]) -> int:
        """The level of the earliest call that was not measured although its result was."""
        made = set(known)
        missing: set[str] = set()
        for _, calls, results in traffic:
            missing.update(set(results) - made)
            made.update(calls)
        level = earliest = self.first
        while missing and level > 0:
            level -= 1
            if self.messages[level]["role"] == "assistant":
                calls = set(self.measurer.shape(self.messages[level], level).calls)
                if missing & calls:
                    missing -= calls
                    earliest = level
        return earliest

    def _answered_later(self, calls: set[str], start: int) -> bool:
        return any(
            calls & set(self.measurer.shape(self.messages[level], level).results)
            for level in range(start, self.first)
            if self.messages[level]["role"] not in SYSTEM_ROLES
        )


def _mark(bound: bytearray, first: int, traffic: Iterable[Traffic], made: dict[str, int]) -> None:
    """Bind every result, and all between, to the call that it answers."""
    for start, _, level in call_answers(traffic, made):
        bound[start + 1 - first : level + 1 - first] = b"\1" * (level - start)


def _expected(missing: int, total: int, seen: int) -> int:
    """How many messages hold the tokens that are missing, if they are like those that were seen; a few more."""
    expected = missing * seen // max(1, total)
    return expected + expected // _SPARE + _SPARE


def as_list(messages: Iterable[PlainMessage]) -> list[PlainMessage]:
    if not isinstance(cast("object", messages), Iterable):
        raise InvalidInputError(f"messages must be a list of dictionaries, got {messages!r}")
    return list(messages)


def _texts(chunk: Sequence[PlainMessage]) -> list[str] | None:
    """What messages say that have a role and a text and nothing else; None if one of them is otherwise."""
    try:
        texts = [text for message in chunk if len(message) == 2 and type(text := message["content"]) is str]
    except KeyError:
        return None
    return texts if len(texts) == len(chunk) else None


def _roles_in(messages: Sequence[PlainMessage], start: int) -> tuple[bool, list[int]]:
    """Whether only users and assistants speak, and the levels of system messages.

    Every role is looked at, because none of these may be lost; but where they stand first,
    as they mostly do, once.
    """
    try:
        leading = 0
        while leading < len(messages) and messages[leading]["role"] in SYSTEM_ROLES:
            leading += 1
        following = messages[leading:] if leading else messages
        kinds = set(map(_ROLE, following))
    except (KeyError, TypeError, IndexError, AttributeError):
        raise _strange(messages, start) from None
    if not kinds <= ROLES:
        raise _strange(messages, start)
    systems = list(range(start, start + leading))
    if not SYSTEM_ROLES.isdisjoint(kinds):
        first = start + leading
        systems += [first + index for index, role in enumerate(map(_ROLE, following)) if role in SYSTEM_ROLES]
    return not systems and kinds <= _PLAIN, systems


def _strange(messages: Sequence[object], start: int) -> InvalidInputError:
    """What is wrong with the first thing that is no message."""
    for index, message in enumerate(messages):
        if not isinstance(message, Mapping) or "role" not in message:
            return InvalidInputError(f"messages[{start + index}] is not a dictionary with a role")
        role = cast("PlainMessage", message)["role"]
        if not isinstance(role, str) or role not in ROLES:
            known = ", ".join(sorted(ROLES))
            return InvalidInputError(
                f"messages[{start + index}] has the role {role!r}", hint=f"roles are {known}"
            )
    return InvalidInputError("messages must be dictionaries with a role")
