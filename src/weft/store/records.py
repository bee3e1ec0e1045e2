"""Records and the index of collapsed groups, by place: every read is one range of one index."""

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, bindparam, delete, func, select

from weft.store import schema
from weft.store.schema.records import PLACE
from weft.store.session import Session, in_batches
from weft.store.transaction import Transaction
from weft.tree.content import is_storable
from weft.tree.json import JsonObject
from weft.tree.record import RecordPlace, RecordValue

_records, _index = schema.records, schema.group_index
_SEEN = _records.c.hidden.is_(None)
_AT_ONCE = 400
_HERE = and_(*(_records.c[name] == bindparam(f"the_{name}") for name in PLACE))
_WINDOW = (
    select(_records.c.id, _records.c.document)
    .where(
        _HERE, _records.c.create_time > bindparam("begin"), _records.c.create_time <= bindparam("end"), _SEEN
    )
    .order_by(_records.c.create_time, _records.c.id)
    .limit(bindparam("most"))
)
_ANY = select(_records.c.key).where(_HERE, _SEEN).limit(1)


class Window(NamedTuple):
    """After a begin, up to and including an end."""

    begin: float = -math.inf
    end: float = math.inf


def _at(place: RecordPlace) -> dict[str, Any]:
    return {f"the_{name}": getattr(place, name) or "" for name in PLACE}


def _has_stream(session: Session, place: RecordPlace) -> bool:
    """Whether there is any record of it."""
    return _is_place(place) and bool(session.rows(_ANY, _at(place)))


def nearest_place(session: Session, place: RecordPlace) -> RecordPlace:
    """The user's stream of the project; else the user's own; else the one without a user."""
    *nearer, last = dict.fromkeys(
        (place, replace(place, project=None), replace(place, user=None, project=None))
    )
    return next((step for step in nearer if _has_stream(session, step)), last)


def _is_place(place: RecordPlace) -> bool:
    """Whether there can be records; databases refuse to look for what they could not keep."""
    return all(is_storable(getattr(place, name) or "") for name in PLACE)


def read_window(
    session: Session, place: RecordPlace, window: Window | None, most: int
) -> list[tuple[str, str]]:
    """Ids and documents of one stream, the oldest first, of those of one time by id; at most so many."""
    if not _is_place(place):
        return []
    begin, end = window or Window()
    values = {**_at(place), "begin": begin, "end": end, "most": most}
    return [(row[0], row[1]) for row in session.rows(_WINDOW, values)]


def known_records(
    session: Session, places: Collection[tuple[RecordPlace, str]]
) -> dict[tuple[Any, ...], Any]:
    """Rows that have these ids in these streams, undone ones too, by place and id."""
    rows: dict[tuple[Any, ...], Any] = {}
    by_place: dict[RecordPlace, list[str]] = {}
    for place, name in places:
        if is_storable(name) and _is_place(place):
            by_place.setdefault(place, []).append(name)
    for place, names in by_place.items():
        for some in in_batches(names):
            statement = select(_records).where(_HERE, _records.c.id.in_(some))
            for row in session.execute(statement, _at(place)):
                rows[*(getattr(row, name) for name in PLACE), row.id] = row
    return rows


def record_rows(session: Session, ulids: Iterable[str]) -> list[Any]:
    """Records by the grove's own names for them, undone ones too."""
    rows: list[Any] = []
    for some in in_batches(ulids):
        rows.extend(
            session.execute(select(_records).where(_records.c.ulid.in_(some)).order_by(_records.c.key))
        )
    return rows


def list_records(
    session: Session, place: RecordPlace, window: Window, *, after: str | None, limit: int, newest: bool
) -> list[Any]:
    """Records of one stream, by time; `after` is the id of the last one seen."""
    if not _is_place(place) or not is_storable(after or ""):
        return []
    time, name = _records.c.create_time, _records.c.id
    statement = select(_records).where(_HERE, time > window.begin, time <= window.end, _SEEN)
    if after is not None:
        last = session.execute(select(time).where(_HERE, name == after), _at(place)).scalar_one_or_none()
        if last is None:
            return []
        statement = statement.where(_beyond((time, name), (last, after), backwards=newest))
    order = [column.desc() if newest else column for column in (time, name)]
    return list(session.execute(statement.order_by(*order).limit(limit), _at(place)))


def _beyond(
    columns: Sequence[ColumnElement[Any]], values: Sequence[Any], *, backwards: bool
) -> ColumnElement[bool]:
    """Rows behind a place in an order by several columns."""
    column, value = columns[0], values[0]
    further = column < value if backwards else column > value
    if len(columns) == 1:
        return further
    return further | and_(column == value, _beyond(columns[1:], values[1:], backwards=backwards))


def choose_records(
    session: Session, place: Mapping[str, str], ids: Sequence[str] | None, limit: int
) -> list[Any]:
    """Keys, names and sessions of records whose place agrees as far as it is given, undone ones too."""
    columns = _records.c
    statement = select(columns.key, columns.ulid, columns.user, columns.session).where(*_agrees(place))
    if ids is not None:
        statement = statement.where(columns.id.in_(ids))
    return list(session.execute(statement.order_by(columns.key).limit(limit)))


def _agrees(place: Mapping[str, str]) -> list[ColumnElement[bool]]:
    return [_records.c[name] == value for name, value in place.items()]


def list_streams(session: Session, place: Mapping[str, str]) -> list[Any]:
    """Each stream with how many records it has, and when the first and the last of them were made."""
    if not all(map(is_storable, place.values())):
        return []
    columns = [_records.c[name] for name in PLACE]
    time = _records.c.create_time
    statement = (
        select(
            *columns,
            func.count().label("records"),
            func.min(time).label("first"),
            func.max(time).label("last"),
        )
        .where(*_agrees(place), _SEEN)
        .group_by(*columns)
        .order_by(*columns)
    )
    return list(session.execute(statement))


def record_value(row: Any) -> RecordValue:
    return RecordValue(
        ulid=row.ulid,
        id=row.id,
        stream=row.stream,
        user=row.user or None,
        project=row.project or None,
        session=row.session or None,
        topic=row.topic or None,
        create_time=row.create_time,
        document=json.loads(row.document),
    )


class GroupDocument(NamedTuple):
    """One document of the index of collapsed groups, as text; None takes it away."""

    shelf: int
    name: str
    text: str | None


def read_entries(
    session: Session, user: str, group_session: str, shelf: int, names: Collection[str]
) -> dict[str, JsonObject]:
    """The documents that there are, by the names asked for."""
    documents: dict[str, JsonObject] = {}
    if not is_storable(user) or not is_storable(group_session):
        return documents
    here = _index.c.user == user, _index.c.session == group_session, _index.c.shelf == shelf
    wanted = [name for name in dict.fromkeys(names) if is_storable(name)]
    if (
        len(wanted) > _AT_ONCE
        and session.execute(select(_index.c.name).where(*here).limit(1)).first() is None
    ):
        # Most sessions have no groups; long ones should not ask for that again and again.
        return documents
    for some in in_batches(wanted):
        statement = select(_index.c.name, _index.c.document).where(*here, _index.c.name.in_(some))
        documents.update((row.name, json.loads(row.document)) for row in session.execute(statement))
    return documents


def entries_of(session: Session, user: str, group_session: str, shelf: int) -> dict[str, JsonObject]:
    """All documents of a shelf of one session."""
    here = _index.c.user == user, _index.c.session == group_session, _index.c.shelf == shelf
    statement = select(_index.c.name, _index.c.document).where(*here).order_by(_index.c.name)
    return {row.name: json.loads(row.document) for row in session.execute(statement)}


def put_entries(
    transaction: Transaction, user: str, group_session: str, entries: Sequence[GroupDocument]
) -> None:
    """Write documents over those that are there."""
    stored = [entry for entry in entries if entry.text is not None]
    for entry in entries:
        if entry.text is None:
            key = (user, group_session, entry.shelf, entry.name)
            here = (column == value for column, value in zip(_index.primary_key.columns, key, strict=True))
            transaction.execute(delete(_index).where(*here))
    if stored:
        statement = transaction.dialect.upsert(_index, ("user", "session", "shelf", "name"), ("document",))
        rows = [
            {"user": user, "session": group_session, "shelf": shelf, "name": name, "document": text}
            for shelf, name, text in stored
        ]
        transaction.execute_many(statement, rows)


def clear_entries(transaction: Transaction, user: str, group_session: str) -> None:
    """Forget what is collapsed in a session."""
    transaction.execute(delete(_index).where(_index.c.user == user, _index.c.session == group_session))
