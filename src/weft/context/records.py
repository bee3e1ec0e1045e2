"""Records: what streams hold, who reads them, and the messages they become."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from weft.context.groups import Documents
from weft.context.javascript import compact_json
from weft.context.slices import Path, Slice, Span, Topic, label_of, span_of
from weft.tree.json import JsonObject, JsonValue

__all__ = ["DocumentRecords", "Record", "RecordReader", "RecordScope", "messages_of_stream"]

_MESSAGES = "messages"
_CARRIED = ("cost", "execId")
"""What a record knows about how it was made, and its message says too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordScope:
    """Whose records. Without a user they are everybody's."""

    user_id: str | None = None
    project_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One entry of a stream: its id, and what was kept, with `value` and `create_time`."""

    id: str
    document: JsonObject


class RecordReader(Protocol):
    """Whoever can look up records. The oldest come first, of those of one time by id."""

    def span(self, scope: RecordScope, span: Span) -> Iterable[Record]:
        """Records with begin < time ≤ end."""
        ...

    def topic(self, scope: RecordScope, topic_id: str, name: str) -> Iterable[Record]: ...

    def path(self, scope: RecordScope, tree_id: str, node_id: str) -> Iterable[Record]:
        """A path of a tree, root first, as messages."""
        ...


class DocumentRecords:
    """Records out of documents by path, as the original service kept them."""

    __slots__ = ("_folders",)

    def __init__(self, documents: Documents) -> None:
        self._folders: dict[str, list[Record]] = {}
        for path, document in documents.items():
            folder, _, name = path.rpartition("/")
            self._folders.setdefault(folder, []).append(Record(id=name, document=document))

    def span(self, scope: RecordScope, span: Span) -> Iterator[Record]:
        session = "" if span.session_id is None else f"convo.sessions/{span.session_id}/"
        for time, record in self._ordered(f"{_root(scope)}{session}{span.stream}"):
            if span.begin < time <= span.end:
                yield record

    def topic(self, scope: RecordScope, topic_id: str, name: str) -> Iterator[Record]:
        return (record for _, record in self._ordered(f"{_root(scope)}topics/{topic_id}/{name}"))

    def path(self, scope: RecordScope, tree_id: str, node_id: str) -> Iterator[Record]:
        """Here a path is a folder of its own; trees are not kept as documents."""
        return (record for _, record in self._ordered(f"{_root(scope)}trees/{tree_id}/paths/{node_id}"))

    def _ordered(self, folder: str) -> list[tuple[float, Record]]:
        timed = [(_time(record), record) for record in self._folders.get(folder, ())]
        known = [(time, record) for time, record in timed if time is not None]
        return sorted(known, key=lambda each: (each[0], each[1].id))


def _root(scope: RecordScope) -> str:
    return "" if scope.user_id is None else f"users/{scope.user_id}/"


def _time(record: Record) -> float | None:
    value = record.document.get("create_time")
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return None
    return value


def messages_of_stream(
    reader: RecordReader,
    name: str,
    found: Slice,
    scope: RecordScope,
    *,
    framing: str = "",
    doc_ids: bool = False,
) -> list[JsonObject]:
    """One stream's records of a slice as messages.

    Messages come as they are; anything else as JSON text in a system message, with the slice's
    label and the framing before it.
    """
    records = list(_records(reader, name, found, scope))
    if name == _MESSAGES:
        made = [(record, _raw(record, framing)) for record in records]
    else:
        before = label_of(found) + framing
        made = [(record, _told(record, before)) for record in records]
    return [_with_origin(record, message, doc_ids=doc_ids) for record, message in made if message is not None]


def _records(reader: RecordReader, name: str, found: Slice, scope: RecordScope) -> Iterable[Record]:
    if isinstance(found, Topic):
        return () if found.topic_id is None else reader.topic(scope, found.topic_id, name)
    if isinstance(found, Path):
        return reader.path(scope, found.tree_id, found.node_id) if name == _MESSAGES else ()
    span = span_of(found, name)
    return () if span is None else reader.span(scope, span)


def _value(record: Record) -> JsonValue:
    """What was kept. Older records are their own value."""
    if "value" in record.document:
        return record.document["value"]
    return {name: value for name, value in record.document.items() if name != "create_time"}


def _raw(record: Record, framing: str) -> JsonObject | None:
    value = _value(record)
    if isinstance(value, str):
        return {"role": "user", "content": framing + value}
    if not isinstance(value, Mapping):
        return None
    content = value.get("content")
    return {**value, "content": framing + content} if framing and isinstance(content, str) else value


def _told(record: Record, before: str) -> JsonObject | None:
    value = _value(record)
    return None if value is None else {"role": "system", "content": before + compact_json(value)}


def _with_origin(record: Record, message: JsonObject, *, doc_ids: bool) -> JsonObject:
    carried = {name: record.document[name] for name in _CARRIED if record.document.get(name) is not None}
    return {**message, **carried, "docId": record.id} if doc_ids else {**message, **carried}
