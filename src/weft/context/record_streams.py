"""Records: what streams hold, who reads them, and the messages they become."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from weft.context.collapsed_groups import Documents
from weft.context.js_compat import compact_json
from weft.context.manifest import Manifest
from weft.context.time_slices import RecordSpan, Slice, Topic, TreePath, label_of, span_of
from weft.tree.json import JsonObject, JsonValue

_TOOL = "tool"
_MESSAGES = "messages"
_TOLD = frozenset({"summaries", "topicInfos", "topicInfo"})
"""Streams of what was made of conversations: a model reads them as JSON text, labelled and framed."""
_MADE = ("cost", "execId")
_CALLED = ("cost", "callingExecId", "currentExecId")
"""What a record knows about how it was made, and its message says too unless it has its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordScope:
    """Whose records. Without a user they are nobody's: what older data is.

    A stream of which the user has no record at all is read from nobody's.
    """

    user_id: str | None = None
    project_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One entry of a stream: its id, and what was kept, with `value` and `create_time`."""

    id: str
    document: JsonObject


class RecordReader(Protocol):
    """Whoever can look up records. The oldest come first, of those of one time by id."""

    def span(self, scope: RecordScope, span: RecordSpan) -> Iterable[Record]:
        """Records with begin < time ≤ end."""
        ...

    def topic(self, scope: RecordScope, topic_id: str, name: str) -> Iterable[Record]: ...

    def path(self, scope: RecordScope, path: TreePath, name: str) -> "StreamRecords":
        """A path of a tree as that stream: `messages` root first, or what a built-in recipe assembles."""
        ...


class StreamRecords(NamedTuple):
    """Records, and where somebody chose among them the account of that."""

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
        timed = [(_time(record), record) for record in listed]
        known = [(time, record) for time, record in timed if time is not None]
        return sorted(known, key=lambda each: (each[0], each[1].id))


def _root(scope: RecordScope) -> str:
    return "" if scope.user_id is None else f"users/{scope.user_id}/"


def _time(record: Record) -> float | None:
    value = record.document.get("create_time")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return None if isinstance(value, float) and math.isnan(value) else value


def messages_of_stream(
    reader: RecordReader,
    name: str,
    found: Slice,
    scope: RecordScope,
    *,
    framing: str = "",
    doc_ids: bool = False,
) -> list[JsonValue]:
    """One stream's records of a slice as messages."""
    records = read_stream(reader, name, found, scope).records
    return as_messages(records, name, found, framing=framing, doc_ids=doc_ids)


def as_messages(
    records: Iterable[Record], name: str, found: Slice, *, framing: str = "", doc_ids: bool = False
) -> list[JsonValue]:
    """Records as the service gave them.

    Summaries and topic infos are JSON text in system messages, with the slice's label and the
    framing before it. Messages, and records of any other name, come as they are kept; those of
    topics and paths, which the service did not give, with the framing before a content that is text.
    """
    if name in _TOLD:
        before = label_of(found) + framing
        return [_told(record, before, doc_ids=doc_ids) for record in records]
    made = _said if name == _MESSAGES or isinstance(found, TreePath) else _kept
    before = framing if isinstance(found, Topic | TreePath) else ""
    return [_framed(made(record, doc_ids=doc_ids), before) for record in records]


def _framed(message: JsonValue, framing: str) -> JsonValue:
    """A message with the framing before its words; what a tool gave is no words, and filters read it."""
    if not framing or not isinstance(message, Mapping) or message.get("role") == _TOOL:
        return message
    content = message.get("content")
    return {**message, "content": framing + content} if isinstance(content, str) else message


def read_stream(reader: RecordReader, name: str, found: Slice, scope: RecordScope) -> StreamRecords:
    """The records of that name in a slice."""
    if isinstance(found, Topic):
        return StreamRecords(() if found.topic_id is None else reader.topic(scope, found.topic_id, name))
    if isinstance(found, TreePath):
        return reader.path(scope, found, name)
    span = span_of(found, name)
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
    found = {name: document[name] for name in carried if name in document and name not in message}
    # What was assembled is no one record.
    return {**message, **found, "docId": record.id} if doc_id and record.id else {**message, **found}
