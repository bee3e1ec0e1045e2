"""What is known of a list of messages: measured where a window could reach, growing at its end."""

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import NamedTuple, cast

from weft.context.fit import Columns, Sketch, Stretch
from weft.context.shapes import ROLES, SYSTEM_ROLES, Measurer, PlainMessage, carries_result
from weft.context.tokens import CHARS, DEFAULT
from weft.errors import InvalidInputError

__all__ = ["Ledger", "Numbers"]

_ROLE, _CONTENT = itemgetter("role"), itemgetter("content")
_PLAIN = frozenset({"user", "assistant"})
_TEXT_ONLY = {str}
_TWO_KEYS = {2}
_FIRST_LOOK, _LONGEST_LOOK = 64, 1024
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


class Ledger:
    """Messages with their sizes, from the level `first` on. Several contexts may share one."""

    __slots__ = (
        *("bound", "first", "head", "log", "measurer", "messages", "opened", "roles", "strays", "sums"),
        *("systems", "tail"),
    )

    def __init__(self, messages: Iterable[PlainMessage], measurer: Measurer) -> None:
        self.measurer = measurer
        self.messages = list(messages)
        self.roles = _roles(self.messages, 0)
        self.systems = _systems(self.roles, 0)
        self.first = len(self.messages)
        self.head: Columns | None = None
        self.sums: list[int] = [0]
        self.bound = bytearray()
        self.tail: Columns | None = None
        self.strays = False
        """Whether a result came so late that its call was never measured."""
        self.log: list[Traffic] = []
        self.opened: dict[str, int] = {}
        """Id of a call → the level that made it last."""

    def __len__(self) -> int:
        return len(self.messages)

    def copy(self, levels: int) -> "Ledger":
        """The same as it was when there were so many messages, for growing in another direction."""
        found = Ledger.__new__(Ledger)
        found.measurer, found.first, found.head = self.measurer, self.first, self.head
        found.messages, found.roles = self.messages[:levels], self.roles[:levels]
        found.systems = [level for level in self.systems if level < levels]
        found.sums = self.sums[: levels - self.first + 1]
        found.bound = bytearray(levels - self.first)
        found.log, found.opened = [each for each in self.log if each.level < levels], {}
        found.tail, found.strays = None, self.strays
        found.bind(found.log)
        return found

    def tokens(self, level: int) -> int:
        """Live tokens of one message."""
        if level >= self.first:
            index = level - self.first
            return self.sums[index + 1] - self.sums[index]
        return self._sizes(level, level + 1, [])[0]

    def sizes(self, start: int, stop: int) -> list[int]:
        """Live tokens of several, measured now if nobody needed them before."""
        unknown = self._sizes(start, min(stop, self.first), []) if start < self.first else []
        lower = max(start, self.first) - self.first
        sums = self.sums[lower : max(lower, stop - self.first) + 1]
        return unknown + [after - before for before, after in pairwise(sums)]

    def system_tokens(self, levels: Iterable[int]) -> list[tuple[int, int]]:
        """Level and size of system messages."""
        return [(level, self.measurer.shape(self.messages[level], level).tokens) for level in levels]

    def append(self, messages: Sequence[PlainMessage]) -> list[int]:
        """Add messages at the end; the levels of new system messages are returned."""
        start = len(self.messages)
        roles = _roles(messages, start)
        systems = _systems(roles, start)
        self.messages.extend(messages)
        self.roles.extend(roles)
        traffic: list[Traffic] = []
        try:
            sizes = self._sizes(start, len(self.messages), traffic)
        except BaseException:
            # A callable of the user's may fail: nothing was said then.
            del self.messages[start:], self.roles[start:]
            raise
        self.systems.extend(systems)
        total = self.sums[-1]
        for size in sizes:
            total += size
            self.sums.append(total)
        self.bound.extend(bytes(len(messages)))
        if self.tail is not None and self.first:
            cast("list[str]", self.tail.roles).extend(self.roles[start:])
        if traffic:
            self.strays = self.first > 0 and self._answered_before(traffic, set(self.opened)) < self.first
            self.log.extend(traffic)
            self.bind(traffic)
        return systems

    def measure_back(self, enough: int) -> None:
        """Measure from the end until there is more than enough, or all of it."""
        looked, parts, total = _FIRST_LOOK, list[list[int]](), 0
        traffic: list[Traffic] = []
        while self.first > 0 and total <= enough:
            start = max(0, self.first - looked)
            found: list[Traffic] = []
            parts.append(self._sizes(start, self.first, found))
            traffic = found + traffic
            total += sum(parts[-1])
            self.first = start
            looked = min(2 * looked, _LONGEST_LOOK)
        earliest = self._answered_before(traffic, set())
        if earliest < self.first:
            found = []
            parts.append(self._sizes(earliest, self.first, found))
            traffic = found + traffic
            self.first = earliest
        parts.reverse()
        self.sums = [0, *accumulate(size for part in parts for size in part)]
        self.bound = bytearray(len(self.sums) - 1)
        self.log = traffic
        self.bind(traffic)

    def measure_head(self, enough: int) -> None:
        """Measure from the beginning, one level past what a head could take; all, if that meets the tail."""
        stop, looked, total = 0, _FIRST_LOOK, 0
        sizes: list[int] = []
        traffic: list[Traffic] = []
        while stop < self.first and total <= enough:
            until = min(self.first, stop + looked)
            part = self._sizes(stop, until, traffic)
            total += sum(part)
            sizes += part
            stop, looked = until, min(2 * looked, _LONGEST_LOOK)
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
            roles=self.roles[:stop],
            bound=bound,
            ids=Numbers(0, stop),
        )

    def sketch(self, last_user: int | None) -> Sketch:
        """What fitting reads. The columns grow with the ledger, so they are made once."""
        first = self.first
        tail = self.tail
        if tail is None:
            tail = self.tail = Columns(
                sums=self.sums,
                roles=self.roles if first == 0 else self.roles[first:],
                bound=self.bound,
                ids=Numbers(first, _ENDLESS),
                ruler=self.sums,
            )
        known = None if last_user is None else (last_user, self.tokens(last_user))
        if first == 0:
            return Sketch(tail=tail, last_user=known, floor_of=self._floor)
        head = self.head or _NO_HEAD
        between = Stretch(count=first - len(head), first=str(len(head)), last=str(first - 1))
        return Sketch(tail=tail, head=head, between=between, last_user=known, floor_of=self._floor)

    def last_user(self, start: int, otherwise: int | None = None) -> int | None:
        """The newest user message at or after a level."""
        for level in range(len(self.roles) - 1, start - 1, -1):
            if self.roles[level] == "user" and not carries_result(self.messages[level]):
                return level
        return otherwise

    def _floor(self, level: int) -> int:
        return self.measurer.floor(self.messages[level])

    def _complete(self, sizes: list[int], traffic: list[Traffic]) -> None:
        known = len(sizes)
        behind = [after - before for before, after in pairwise(self.sums)]
        self.first = 0
        self.sums = [0, *accumulate(sizes + behind)]
        self.bound = bytearray(known) + self.bound
        self.log = traffic + self.log
        self.opened = {}
        self.bind(self.log)

    def _sizes(self, start: int, stop: int, traffic: list[Traffic]) -> list[int]:
        """Live tokens of a slice; plain texts, which most are, without looking at each in turn."""
        chunk, roles = self.messages[start:stop], self.roles[start:stop]
        if set(roles) <= _PLAIN and set(map(len, chunk)) == _TWO_KEYS:
            contents = _contents(chunk)
            if contents is not None and set(map(type, contents)) == _TEXT_ONLY:
                return self._plain_sizes(cast("list[str]", contents))
        return [self._size(message, start + index, traffic) for index, message in enumerate(chunk)]

    def _plain_sizes(self, contents: list[str]) -> list[int]:
        estimator = self.measurer.estimator
        if estimator is CHARS or (estimator is DEFAULT and all(map(str.isascii, contents))):
            return [(length + 3) >> 2 or 1 for length in map(len, contents)]
        return [size or 1 for size in map(estimator.of_text, contents)]

    def _size(self, message: PlainMessage, level: int, traffic: list[Traffic]) -> int:
        role = self.roles[level]
        if role in SYSTEM_ROLES:
            return 0
        content = message.get("content")
        if isinstance(content, str) and len(message) == 2 and role in _PLAIN:
            return self.measurer.estimator.of_text(content) or 1
        shape = self.measurer.shape(message, level)
        self.roles[level] = shape.role
        if shape.calls or shape.results:
            traffic.append(Traffic(level, shape.calls, shape.results))
        return shape.tokens

    def bind(self, traffic: Iterable[Traffic]) -> None:
        _mark(self.bound, self.first, traffic, self.opened)

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
            if self.roles[level] == "assistant":
                calls = set(self.measurer.shape(self.messages[level], level).calls)
                if missing & calls:
                    missing -= calls
                    earliest = level
        return earliest

    def _answered_later(self, calls: set[str], start: int) -> bool:
        return any(
            calls & set(self.measurer.shape(self.messages[level], level).results)
            for level in range(start, self.first)
            if self.roles[level] not in SYSTEM_ROLES
        )


def _mark(
    bound: bytearray,
    first: int,
    traffic: Iterable[Traffic],
    made: dict[str, int],
) -> None:
    """Bind every result, and all between, to the call that it answers."""
    for level, calls, results in traffic:
        for answer in results:
            start = made.get(answer)
            if start is not None:
                bound[start + 1 - first : level + 1 - first] = b"\1" * (level - start)
        for call in calls:
            made[call] = level


def _contents(chunk: Sequence[PlainMessage]) -> list[object] | None:
    try:
        return list(map(_CONTENT, chunk))
    except KeyError:
        return None


def _roles(messages: Sequence[PlainMessage], start: int) -> list[str]:
    try:
        roles = list(map(_ROLE, messages))
        if set(roles) <= ROLES:
            return cast("list[str]", roles)
    except (KeyError, TypeError, IndexError, AttributeError):
        pass
    for index, message in enumerate(messages):
        if not hasattr(message, "get") or "role" not in message:
            raise InvalidInputError(f"messages[{start + index}] is not a dictionary with a role")
        role = message["role"]
        if not isinstance(role, str) or role not in ROLES:
            raise InvalidInputError(
                f"messages[{start + index}] has the role {role!r}",
                hint=f"roles are {', '.join(sorted(ROLES))}",
            )
    raise InvalidInputError("messages must be dictionaries with a role")


def _systems(roles: Sequence[str], start: int) -> list[int]:
    if SYSTEM_ROLES.isdisjoint(roles):
        return []
    return [start + index for index, role in enumerate(roles) if role in SYSTEM_ROLES]
