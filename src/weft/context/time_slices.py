"""Slices of time or topic: what a recipe calls a kala, how it widens, and which records it covers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final, TypeAlias, assert_never

from weft.context.js_compat import number_of
from weft.errors import InvalidInputError
from weft.tree.content import can_be_kept
from weft.tree.json import JsonObject, JsonValue

_WEEK: Final = 604_800
_WEEK_ORIGIN: Final = 259_200
_TERM: Final = 365.230769 / 4 * 24 * 60 * 60
"""A quarter of a year. The order of the factors decides its last bit, and with it where terms begin."""
_SESSION: Final = 8 * 60 * 60
_SAFE: Final = 2**53

_NAMES_OF_PATH = frozenset({"kind", "treeId", "nodeId"})

LABELS: Mapping[str, str] = {
    "SegKala": "(Convo) ",
    "SessionKala": "(Session) ",
    "WeekKala": "(Week) ",
    "TermKala": "(Term) ",
}


@dataclass(frozen=True, slots=True)
class Topic:
    """Everything about one topic."""

    topic_id: str | None
    kind: ClassVar[str] = "Topic"

    def to_wire(self) -> JsonObject:
        return {"kind": self.kind} if self.topic_id is None else {"kind": self.kind, "topicId": self.topic_id}


@dataclass(frozen=True, slots=True)
class SessionSegment:
    """Some seconds of a session up to a moment."""

    session_id: str
    end: float
    seconds: float
    kind: ClassVar[str] = "SegKala"

    def to_wire(self) -> JsonObject:
        return {
            "kind": self.kind,
            "sessionId": self.session_id,
            "end": self.end,
            "windowSeconds": self.seconds,
        }


@dataclass(frozen=True, slots=True)
class RecordSession:
    """The eight hours before a session's end."""

    session_id: str
    end: float
    kind: ClassVar[str] = "SessionKala"

    def to_wire(self) -> JsonObject:
        return {"kind": self.kind, "sessionId": self.session_id, "sessionEnd": self.end}


@dataclass(frozen=True, slots=True)
class Week:
    end: float
    kind: ClassVar[str] = "WeekKala"

    def to_wire(self) -> JsonObject:
        return {"kind": self.kind, "weekEnd": self.end}


@dataclass(frozen=True, slots=True)
class Term:
    """A quarter of a year."""

    begin: float
    end: float
    kind: ClassVar[str] = "TermKala"

    def to_wire(self) -> JsonObject:
        return {"kind": self.kind, "begin": self.begin, "end": self.end}


@dataclass(frozen=True, slots=True)
class TreePath:
    """The way from a tree's root to a node."""

    tree_id: str
    node_id: str
    options: JsonObject = field(default_factory=dict[str, JsonValue], hash=False)
    """How its context is wanted where a stream is assembled: `limit`, `strategy`, …"""
    kind: ClassVar[str] = "Path"

    def to_wire(self) -> JsonObject:
        return {"kind": self.kind, "treeId": self.tree_id, "nodeId": self.node_id, **self.options}


@dataclass(frozen=True, slots=True)
class Other:
    """A kind that nobody here knows: it covers no records."""

    kind: str

    def to_wire(self) -> JsonObject:
        return {"kind": self.kind}


Slice: TypeAlias = Topic | SessionSegment | RecordSession | Week | Term | TreePath | Other


def slice_of(kala: JsonObject) -> Slice:
    """Read a kala; what it lacks is an error that names the field."""
    match kala.get("kind"):
        case "Topic":
            return Topic(None if kala.get("topicId") is None else _text(kala, "topicId"))
        case "SegKala":
            return SessionSegment(_text(kala, "sessionId"), _time(kala, "end"), _time(kala, "windowSeconds"))
        case "SessionKala":
            return RecordSession(_text(kala, "sessionId"), _time(kala, "sessionEnd"))
        case "WeekKala":
            return Week(_time(kala, "weekEnd"))
        case "TermKala":
            return Term(_time(kala, "begin"), _time(kala, "end"))
        case "Path":
            options = {name: value for name, value in kala.items() if name not in _NAMES_OF_PATH}
            return TreePath(_text(kala, "treeId"), _text(kala, "nodeId"), options)
        case kind:
            return Other(str(kind))


def _text(kala: JsonObject, name: str) -> str:
    value = kala.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidInputError(f"kala.{name} must be a string that is not empty", path=f"kala.{name}")
    if not can_be_kept(value):
        raise InvalidInputError(f"kala.{name} has a NUL or half a character in it", path=f"kala.{name}")
    return value


def _time(kala: JsonObject, name: str) -> float:
    value = kala.get(name)
    number = math.nan if isinstance(value, bool) else number_of(value)
    if not isinstance(value, int | float) or not math.isfinite(number):
        raise InvalidInputError(f"kala.{name} must be a number of seconds", path=f"kala.{name}")
    return value if abs(value) < _SAFE else number


def _floor(number: float) -> float:
    """As a double: a whole number of Python's has no end, and no database takes it."""
    return float(math.floor(number)) if math.isfinite(number) else number


def week_end(time: float) -> float:
    """The end of the week in which a moment lies; a week's last moment is the first of the next."""
    return _WEEK_ORIGIN + (_floor((time - _WEEK_ORIGIN) / _WEEK) + 1) * _WEEK


def promoted(found: Slice) -> Slice | None:
    """The next wider slice: segment, session, week, term."""
    match found:
        case SessionSegment():
            return RecordSession(found.session_id, found.end)
        case RecordSession():
            return Week(week_end(found.end))
        case Week():
            number = _floor(found.end / _TERM)
            return Term(number * _TERM, (number + 1) * _TERM)
        case Term() | Topic() | TreePath() | Other():
            return None
        case _:
            assert_never(found)


def wider(found: Slice) -> list[Slice]:
    """All wider slices, the widest first."""
    chain: list[Slice] = []
    above = promoted(found)
    while above is not None:
        chain.insert(0, above)
        above = promoted(above)
    return chain


def label_of(found: Slice) -> str:
    """What stands before records of this slice, so that a model can tell how old they are."""
    return LABELS.get(found.kind, "")


@dataclass(frozen=True, slots=True)
class RecordSpan:
    """Records of a stream after a begin, up to and including an end."""

    stream: str
    session_id: str | None
    begin: float
    end: float


def span_of(found: Slice, name: str) -> RecordSpan | None:
    """Where the records of that name lie; None where the slice has none by time.

    What was summarised of sessions is found in the week's log, what was summarised of weeks in the
    term's. Messages themselves are only read of a segment.
    """
    match found:
        case SessionSegment():
            return RecordSpan(name, found.session_id, found.end - found.seconds, found.end)
        case _ if name == "messages":
            return None
        case RecordSession():
            return RecordSpan(name, found.session_id, found.end - _SESSION, found.end)
        case Week():
            return RecordSpan(f"log.sessions.{name}", None, found.end - _WEEK, found.end)
        case Term():
            return RecordSpan(f"log.weekly.{name}", None, found.begin, found.end)
        case _:
            return None
