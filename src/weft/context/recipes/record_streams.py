"""Streams of records: the slices of time or topic that recipes read, and the messages that records become."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final, NamedTuple, Protocol, TypeAlias, assert_never

from weft.context.manifest import Manifest
from weft.context.recipes.collapsed_groups import Documents
from weft.context.recipes.js_compat import compact_json, number_of
from weft.errors import InvalidInputError
from weft.tree.content import is_storable
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


Slice: TypeAlias = Topic | SessionSegment | RecordSession | Week | Term | TreePath
KINDS = tuple(each.kind for each in (Topic, SessionSegment, RecordSession, Week, Term, TreePath))


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
            raise InvalidInputError(
                f"kala.kind must be one of {', '.join(KINDS)}, got {kind!r}", path="kala.kind"
            )


def _text(kala: JsonObject, name: str) -> str:
    value = kala.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidInputError(f"kala.{name} must be a string that is not empty", path=f"kala.{name}")
    if not is_storable(value):
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


def promoted(time_slice: Slice) -> Slice | None:
    """The next wider slice: segment, session, week, term."""
    match time_slice:
        case SessionSegment():
            return RecordSession(time_slice.session_id, time_slice.end)
        case RecordSession():
            return Week(week_end(time_slice.end))
        case Week():
            number = _floor(time_slice.end / _TERM)
            return Term(number * _TERM, (number + 1) * _TERM)
        case Term() | Topic() | TreePath():
            return None
        case _:
            assert_never(time_slice)


def wider(time_slice: Slice) -> list[Slice]:
    """All wider slices, the widest first."""
    chain: list[Slice] = []
    above = promoted(time_slice)
    while above is not None:
        chain.insert(0, above)
        above = promoted(above)
    return chain


def label_of(time_slice: Slice) -> str:
    """What stands before records of this slice, so that a model can tell how old they are."""
    return LABELS.get(time_slice.kind, "")


@dataclass(frozen=True, slots=True)
class RecordSpan:
    """Records of a stream after a begin, up to and including an end."""

    stream: str
    session_id: str | None
    begin: float
    end: float


def span_of(time_slice: Slice, name: str) -> RecordSpan | None:
    """Where the records of that name lie; None where the slice has none by time.

    What was summarised of sessions is found in the week's log, what was summarised of weeks in the
    term's. Messages themselves are only read of a segment.
    """
    match time_slice:
        case SessionSegment():
            return RecordSpan(
                name, time_slice.session_id, time_slice.end - time_slice.seconds, time_slice.end
            )
        case _ if name == "messages":
            return None
        case RecordSession():
            return RecordSpan(name, time_slice.session_id, time_slice.end - _SESSION, time_slice.end)
        case Week():
            return RecordSpan(f"log.sessions.{name}", None, time_slice.end - _WEEK, time_slice.end)
        case Term():
            return RecordSpan(f"log.weekly.{name}", None, time_slice.begin, time_slice.end)
        case _:
            return None


_TOOL = "tool"
_MESSAGES = "messages"
_TOLD = frozenset({"summaries", "topicInfos", "topicInfo"})
"""Streams of what was made of conversations: a model reads them as JSON text, labelled and framed."""
_MADE = ("cost", "execId")
_CALLED = ("cost", "callingExecId", "currentExecId")
"""What a record knows about how it was made, and its message says too unless it has its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordScope:
    """Whose records. Older data has no user.

    A stream of which the user has no record is read from those without a user.
    """

    user_id: str | None = None
    project_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One entry of a stream: its id, and what was kept, with `value` and `create_time`."""

    id: str
    document: JsonObject


class RecordReader(Protocol):
    """Looks up records: the oldest first, those of one time by id."""

    def span(self, scope: RecordScope, span: RecordSpan) -> Iterable[Record]:
        """Records with begin < time ≤ end."""
        ...

    def topic(self, scope: RecordScope, topic_id: str, name: str) -> Iterable[Record]: ...

    def path(self, scope: RecordScope, path: TreePath, name: str) -> "StreamRecords":
        """A path of a tree as that stream: `messages` root first, or what a built-in recipe assembles."""
        ...


class StreamRecords(NamedTuple):
    """Records, and the manifest where some were chosen among them."""

    records: Iterable[Record]
    manifest: Manifest | None = None


class DocumentRecords:
    """Records out of documents by path, as the original service kept them."""

    __slots__ = ("_folders",)

    def __init__(self, documents: Documents) -> None:
        self._folders: dict[str, list[Record]] = {}
        for path, document in documents.items():
            folder, _, name = path.rpartition("/")
            self._folders.setdefault(folder, []).append(Record(id=name, document=document))

    def span(self, scope: RecordScope, span: RecordSpan) -> Iterator[Record]:
        session = "" if span.session_id is None else f"convo.sessions/{span.session_id}/"
        for time, record in self._ordered(scope, f"{session}{span.stream}"):
            if span.begin < time <= span.end:
                yield record

    def topic(self, scope: RecordScope, topic_id: str, name: str) -> Iterator[Record]:
        return (record for _, record in self._ordered(scope, f"topics/{topic_id}/{name}"))

    def path(self, scope: RecordScope, path: TreePath, name: str) -> StreamRecords:
        """Here a path is a folder of its own; trees are not kept as documents."""
        if name != _MESSAGES:
            return StreamRecords(())
        place = f"trees/{path.tree_id}/paths/{path.node_id}"
        return StreamRecords([record for _, record in self._ordered(scope, place)])

    def _ordered(self, scope: RecordScope, place: str) -> list[tuple[float, Record]]:
        listed = self._folders.get(f"{_root(scope)}{place}") or self._folders.get(place, ())
        timed = [(_time_of(record), record) for record in listed]
        known = [(time, record) for time, record in timed if time is not None]
        return sorted(known, key=lambda each: (each[0], each[1].id))


def _root(scope: RecordScope) -> str:
    return "" if scope.user_id is None else f"users/{scope.user_id}/"


def _time_of(record: Record) -> float | None:
    value = record.document.get("create_time")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return None if isinstance(value, float) and math.isnan(value) else value


def messages_of_stream(
    reader: RecordReader,
    name: str,
    time_slice: Slice,
    scope: RecordScope,
    *,
    framing: str = "",
    doc_ids: bool = False,
) -> list[JsonValue]:
    """One stream's records of a slice as messages."""
    records = read_stream(reader, name, time_slice, scope).records
    return as_messages(records, name, time_slice, framing=framing, doc_ids=doc_ids)


def as_messages(
    records: Iterable[Record], name: str, time_slice: Slice, *, framing: str = "", doc_ids: bool = False
) -> list[JsonValue]:
    """Records as the service gave them.

    Summaries and topic infos are JSON text in system messages, with the slice's label and the
    framing before it. Messages, and records of any other name, come as they are kept; those of
    topics and paths, which the service did not give, with the framing before a content that is text.
    """
    if name in _TOLD:
        before = label_of(time_slice) + framing
        return [_told(record, before, doc_ids=doc_ids) for record in records]
    made = _said if name == _MESSAGES or isinstance(time_slice, TreePath) else _kept
    before = framing if isinstance(time_slice, Topic | TreePath) else ""
    return [_framed(made(record, doc_ids=doc_ids), before) for record in records]


def _framed(message: JsonValue, framing: str) -> JsonValue:
    """A message with the framing before its words; what a tool gave is no words, and filters read it."""
    if not framing or not isinstance(message, Mapping) or message.get("role") == _TOOL:
        return message
    content = message.get("content")
    return {**message, "content": framing + content} if isinstance(content, str) else message


def read_stream(reader: RecordReader, name: str, time_slice: Slice, scope: RecordScope) -> StreamRecords:
    """The records of that name in a slice."""
    if isinstance(time_slice, Topic):
        return StreamRecords(
            () if time_slice.topic_id is None else reader.topic(scope, time_slice.topic_id, name)
        )
    if isinstance(time_slice, TreePath):
        return reader.path(scope, time_slice, name)
    span = span_of(time_slice, name)
    return StreamRecords(() if span is None else reader.span(scope, span))


def _told(record: Record, before: str, *, doc_ids: bool) -> JsonObject:
    document = record.document
    # Older records have no value of their own: all of them is told.
    value = document.get("value", document)
    message: JsonObject = {"role": "system", "content": before + compact_json(value)}
    return _with_origin(message, record, _MADE, doc_id=doc_ids)


def _said(record: Record, *, doc_ids: bool) -> JsonValue:
    value = record.document.get("value")
    fields = _fields({} if value is None else value)
    return value if fields is None else _with_origin(fields, record, _MADE, doc_id=doc_ids)


def _kept(record: Record, *, doc_ids: bool) -> JsonValue:
    value = record.document.get("value")
    if value is None:
        return _with_origin(record.document, record, (), doc_id=doc_ids)
    fields = _fields(value)
    if fields is None:
        return value
    return _with_origin(fields, record, _CALLED if "role" in fields else (), doc_id=doc_ids)


def _fields(value: JsonValue) -> JsonObject | None:
    """What `{...value}` copies; None of what is no object. A list's items go by their numbers."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, list | tuple):
        return {str(number): item for number, item in enumerate(value)}
    return None


def _with_origin(message: JsonObject, record: Record, carried: Iterable[str], *, doc_id: bool) -> JsonObject:
    document = record.document
    origin = {name: document[name] for name in carried if name in document and name not in message}
    # What was assembled is no one record.
    return {**message, **origin, "docId": record.id} if doc_id and record.id else {**message, **origin}
