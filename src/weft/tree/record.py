"""Records: what outside programs keep in named streams, by user, project, session or topic, and time."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

from weft.errors import InvalidInputError
from weft.tree.content import CONTENT_LIMIT, check_text
from weft.tree.json import JsonObject, JsonValue

NAME_LIMIT = 200
ID_LIMIT = 1_000
KEY_LIMIT = 2_500
"""Bytes of all that names one entry: PostgreSQL finds nothing by more."""
_LATEST = 2**53
"""Seconds: beyond it a double cannot tell one from the next."""
DELETE_LIMIT = 100_000
"""As many records as one operation destroys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPlace:
    """Whose a record is, and of which stream. What is not given it does not belong to."""

    stream: str
    user: str | None = None
    project: str | None = None
    session: str | None = None
    topic: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordDraft:
    """A record to be appended; without an id or a time it gets its own."""

    place: RecordPlace
    document: JsonObject
    """What is kept: `value` and the fields beside it."""
    id: str | None = None
    create_time: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordValue:
    """One kept record. Its id is its stream's; `ulid` is the grove's own name for it."""

    ulid: str
    id: str
    stream: str
    user: str | None
    project: str | None
    session: str | None
    topic: str | None
    create_time: float
    document: JsonObject

    @property
    def value(self) -> JsonValue:
        return self.document.get("value")


_PLACE = {
    "name": "stream",
    "userId": "user",
    "projectId": "project",
    "sessionId": "session",
    "topicId": "topic",
}
"""The fields that say whose a record is, on the wire and inside."""
_FIELDS = frozenset({*_PLACE, "value", "document", "id", "createTime", "create_time", "cost", "execId"})


def draft_from_wire(value: JsonValue, path: str, **defaults: str | None) -> RecordDraft:
    """Read a record: `{name, value}`, and what it belongs to; what it lacks is as the defaults say.

    `document` is all that is kept, where that is more than a value; a mistake names its field.
    """
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{path} must be an object", path=path)
    for name in value:
        if name not in _FIELDS:
            raise InvalidInputError(f"{path}.{name} is not known", path=f"{path}.{name}")

    def text(name: str, default: str | None) -> str | None:
        given = value.get(name)
        if given is not None and not isinstance(given, str):
            raise InvalidInputError(f"{path}.{name} must be a string", path=f"{path}.{name}")
        return default if given is None else given

    document = value.get("document", {})
    if not isinstance(document, Mapping):
        raise InvalidInputError(f"{path}.document must be an object", path=f"{path}.document")
    if "value" not in value and "document" not in value:
        raise InvalidInputError(f"{path}.value is missing", path=f"{path}.value")
    own = {name: value[name] for name in ("cost", "execId", "value") if name in value}
    owners = {name: text(wire, defaults.get(name)) for wire, name in _PLACE.items()}
    place = RecordPlace(stream=owners.pop("stream") or "", **owners)
    moment = value.get("createTime", value.get("create_time", document.get("create_time")))
    if isinstance(moment, bool) or not isinstance(moment, int | float | None):
        raise InvalidInputError(f"{path}.createTime must be a number", path=f"{path}.createTime")
    return check_draft(
        RecordDraft(place=place, document={**document, **own}, id=text("id", None), create_time=moment),
        path,
    )


def record_to_wire(record: RecordValue) -> JsonObject:
    """A kept record, in the words of the wire; what it does not belong to is not said, and its time once."""
    wire: dict[str, JsonValue] = {
        "id": record.id,
        **{wire: getattr(record, name) for wire, name in _PLACE.items()},
        "createTime": record.create_time,
        "document": {name: value for name, value in record.document.items() if name != "create_time"},
        "ulid": record.ulid,
    }
    return {name: value for name, value in wire.items() if value is not None}


def check_draft(draft: RecordDraft, path: str) -> RecordDraft:
    """Refuse what could not be kept or found again, with the field that is wrong."""
    place = draft.place
    names = {wire: getattr(place, name) for wire, name in _PLACE.items()} | {"id": draft.id}
    for wire, value in names.items():
        if value is not None:
            _check_name(value, f"{path}.{wire}", NAME_LIMIT if wire == "name" else ID_LIMIT)
    if place.session is not None and place.topic is not None:
        raise InvalidInputError(
            f"{path}.topicId: a record is of a session or of a topic, not of both", path=f"{path}.topicId"
        )
    taken = key_bytes(*names.values())
    if taken > KEY_LIMIT:
        raise InvalidInputError(
            f"{path}: its names take {taken:,} bytes together, the limit is {KEY_LIMIT:,}", path=path
        )
    time = draft.create_time
    if time is not None and (abs(time) > _LATEST or not math.isfinite(time)):
        raise InvalidInputError(f"{path}.createTime must be a number of seconds", path=f"{path}.createTime")
    return draft


def key_bytes(*names: str | None) -> int:
    """How long names are together, as a database keeps them."""
    return sum(len(name.encode()) for name in names if name)


def _check_name(value: str, path: str, limit: int) -> None:
    try:
        check_text(value, what=path, limit=limit)
    except InvalidInputError as error:
        raise InvalidInputError(error.message, hint=error.hint, path=path) from None
    if not value:
        raise InvalidInputError(f"{path} must not be empty", path=path)


def dump_document(document: Mapping[str, JsonValue], path: str) -> str:
    """A document as it is kept: JSON in the order of its fields."""
    try:
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        if not text.isascii():
            text.encode()
    except UnicodeEncodeError:
        # Half a character cannot be kept as text, but as an escape.
        text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"{path} cannot be kept as JSON: {error}", path=path) from None
    return check_text(text, what=path, limit=CONTENT_LIMIT)
