"""Read rows that may be damaged: a row with an unreadable value becomes a finding, the rest are returned.

SQLite stores a value of any type in any column, and text that is not UTF-8. Each row is therefore
compared with the types of its table before a check looks at it.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any, NamedTuple, cast

from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    Float,
    Integer,
    LargeBinary,
    Select,
    Table,
    literal,
    not_,
    or_,
    select,
    type_coerce,
)
from sqlalchemy.exc import DBAPIError

from weft.provenance.findings import Findings
from weft.store.session import Session
from weft.tree.json_names import from_microseconds, iso

_BATCH = 1_000
_HIGHEST = literal(2**63 - 1, BigInteger)
"""SQLite sorts numbers below texts, and texts below blobs."""


class _Shape(NamedTuple):
    """How the rows of a table are read, and which types their values may have."""

    select: Select[Any]
    allowed: tuple[frozenset[type], ...]
    names: tuple[str, ...]
    flags: tuple[int, ...]
    """Places of the stored numbers of booleans, which follow the table's own columns."""
    sound: set[tuple[type, ...]]
    """Combinations of types that were accepted before: one look-up a row."""


@cache
def _shape(table: Table) -> _Shape:
    columns = list(table.columns)
    # The driver's result for a boolean hides every number but 0; the stored number does not.
    flags = [column for column in columns if isinstance(column.type, Boolean)]
    numbers = [type_coerce(column, Integer).label(f"stored_{column.name}") for column in flags]
    allowed = [_types(column) for column in (*columns, *flags)]
    names = tuple(column.name for column in (*columns, *flags))
    places = tuple(range(len(columns), len(names)))
    return _Shape(select(table, *numbers), tuple(allowed), names, places, set())


def _types(column: Any) -> frozenset[type]:
    types: set[type] = {str}
    for sql, stored in (
        (Boolean, {bool, int}),
        (Integer, {int}),
        (Float, {float}),
        (LargeBinary, {bytes}),
    ):
        if isinstance(cast("object", column.type), sql):
            types = set(stored)
    return frozenset({*types, type(None)} if column.nullable else types)


def _damage(shape: _Shape, row: Any) -> str | None:
    """The first column whose value cannot be what was written; None if there is none."""
    types = tuple(map(type, row))
    if types not in shape.sound:
        for name, allowed, stored in zip(shape.names, shape.allowed, types, strict=True):
            if stored not in allowed:
                return name
        shape.sound.add(types)
    return next((shape.names[at] for at in shape.flags if row[at] not in {0, 1, None}), None)


def is_readable(table: Table, row: Sequence[Any]) -> bool:
    """True if the values of a row of a table without booleans have the types that were written."""
    return _damage(_shape(table), row) is None


def fetch(session: Session, findings: Findings, table: Table, *where: ColumnElement[bool]) -> list[Any]:
    """The readable rows that match, in the order of their key."""
    shape, key = _shape(table), list(table.primary_key.columns)
    rows: list[Any] = []
    try:
        rows = list(session.execute(shape.select.where(*where).order_by(*key)))
    except DBAPIError as error:
        if not session.dialect.is_unreadable_text(error):
            raise
        rows = _fetch_singly(session, findings, table, where)
    sound: list[Any] = []
    for row in rows:
        damaged = _damage(shape, row)
        if damaged is None:
            sound.append(row)
        else:
            stored = getattr(row, damaged)
            shown = "nothing" if stored is None else f"{type(stored).__name__} {stored!r:.60}"
            findings.differs_in(_noun(table), _name(findings, table, row), damaged.replace("_", " "), shown)
    return sound


def _fetch_singly(
    session: Session, findings: Findings, table: Table, where: Sequence[ColumnElement[bool]]
) -> list[Any]:
    """Row by row, because the text of one of them is not UTF-8."""
    shape, key = _shape(table), list(table.primary_key.columns)
    rows: list[Any] = []
    try:
        names = list(session.execute(select(*key).where(*where).order_by(*key)))
    except DBAPIError as error:
        if not session.dialect.is_unreadable_text(error):
            raise
        findings.differs_in(_noun(table), "?", "name", "text that is not UTF-8")
        return rows
    for name in names:
        chosen = [column.is_not_distinct_from(value) for column, value in zip(key, name, strict=True)]
        try:
            rows.extend(session.execute(shape.select.where(*chosen)))
        except DBAPIError as error:
            if not session.dialect.is_unreadable_text(error):
                raise
            label = _id_of(session, table, chosen) or _label(findings, table, name)
            findings.differs_in(_noun(table), label, _unreadable(error))
    return rows


def values_of(session: Session, statement: Select[tuple[Any]], wanted: type) -> list[Any]:
    """The values of one column that have the wanted type. `fetch` reports the rows of the others."""
    try:
        return [value for value in session.execute(statement).scalars() if type(value) is wanted]
    except DBAPIError as error:
        if not session.dialect.is_unreadable_text(error):
            raise
        return []


def text_of(session: Session, statement: Select[tuple[Any]]) -> str | None:
    """The first text that a statement finds; None where there is none that can be read."""
    return next(iter(values_of(session, statement, str)), None)


def _name(findings: Findings, table: Table, row: Any) -> str:
    """What a row is called: its ULID, its hash, or its key."""
    for name in ("ulid", "sha256"):
        value = getattr(row, name, None)
        if isinstance(value, str):
            return value
        if isinstance(value, bytes):
            return value.hex()
    return _label(findings, table, [getattr(row, column.name) for column in table.primary_key.columns])


def _id_of(session: Session, table: Table, chosen: Sequence[ColumnElement[bool]]) -> str | None:
    """The ULID or the hash of a row that cannot be read as a whole."""
    if "ulid" in table.c:
        return text_of(session, select(table.c.ulid).where(*chosen))
    if "sha256" in table.c:
        digests = values_of(session, select(table.c.sha256).where(*chosen), bytes)
        return digests[0].hex() if digests else None
    return None


def _label(findings: Findings, table: Table, name: Sequence[Any]) -> str:
    """The key of a row that has no id, or none that can be read."""
    parts = [str(part) for part in name]
    if "tree" in table.primary_key.columns and findings.chain is not None and name[0] == findings.chain_key:
        parts[0] = findings.chain
    return "/".join(parts)


def _unreadable(error: DBAPIError) -> str:
    """The column that SQLite could not decode, from its message."""
    _, _, rest = str(error.orig).partition("column '")
    return rest.partition("'")[0] or "text"


def _noun(table: Table) -> str:
    return table.name.removesuffix("s").replace("bodie", "body").replace("_", " ")


def pages(
    session: Session,
    findings: Findings,
    table: Table,
    key: ColumnElement[Any],
    *where: ColumnElement[bool],
    size: int = _BATCH,
) -> Iterator[list[Any]]:
    """The readable rows that match in batches, by ascending key."""
    typed = key >= b"" if isinstance(key.type, LargeBinary) else key <= _HIGHEST
    after = None
    while True:
        bounds = select(key).where(*where, typed).order_by(key).limit(size)
        values = session.execute(bounds if after is None else bounds.where(key > after)).scalars()
        # SQLite does not look for a missing key where the table's definition forbids it.
        keys = [each for each in values if each is not None]
        if not keys:
            break
        after = keys[-1]
        yield fetch(session, findings, table, *where, key >= keys[0], key <= after)
    # Rows whose key has another type lie outside of every batch: they are reported.
    fetch(session, findings, table, *where, or_(key.is_(None), not_(typed)))


def paged(
    session: Session,
    findings: Findings,
    table: Table,
    key: ColumnElement[Any],
    *where: ColumnElement[bool],
    size: int | None = None,
) -> Iterator[Any]:
    """The same, row by row."""
    return chain.from_iterable(pages(session, findings, table, key, *where, size=size or _BATCH))


def stamp_of(microseconds: int) -> str | None:
    """The time as it is hashed; None where the number is no time."""
    try:
        return iso(from_microseconds(microseconds))
    except OverflowError:
        return None
