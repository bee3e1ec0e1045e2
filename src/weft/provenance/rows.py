"""Reading rows that somebody may have damaged: one that cannot be read is named, the rest go on."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, select
from sqlalchemy.exc import DBAPIError

from weft.provenance.report import Findings
from weft.store.session import Session
from weft.tree.wire import from_microseconds, iso

__all__ = ["BATCH", "fetch", "pages", "stamp_of", "text_of"]

BATCH = 1_000


def fetch(session: Session, findings: Findings, table: Table, *where: ColumnElement[bool]) -> list[Any]:
    """All rows that fit, in the order of their key."""
    key = list(table.primary_key.columns)
    try:
        return list(session.execute(select(table).where(*where).order_by(*key)))
    except DBAPIError as error:
        if not session.dialect.is_unreadable_text(error):
            raise
    rows: list[Any] = []
    try:
        names = list(session.execute(select(*key).where(*where).order_by(*key)))
    except DBAPIError as error:
        if not session.dialect.is_unreadable_text(error):
            raise
        findings.differs_in(_noun(table), "?", "name", "text that is not UTF-8")
        return rows
    for name in names:
        chosen = [column == value for column, value in zip(key, name, strict=True)]
        try:
            rows.extend(session.execute(select(table).where(*chosen)))
        except DBAPIError as error:
            if not session.dialect.is_unreadable_text(error):
                raise
            label = _id_of(session, table, chosen) or _label(findings, table, name)
            findings.differs_in(_noun(table), label, _unreadable(error))
    return rows


def text_of(session: Session, statement: Select[tuple[Any]]) -> str | None:
    """The one text a statement finds; None where there is none, or none that can be read."""
    try:
        return session.execute(statement).scalars().first()
    except DBAPIError as error:
        if not session.dialect.is_unreadable_text(error):
            raise
        return None


def _id_of(session: Session, table: Table, chosen: Sequence[ColumnElement[bool]]) -> str | None:
    """The ULID, or else the hash, that a row is called by."""
    if "ulid" in table.c:
        return text_of(session, select(table.c.ulid).where(*chosen))
    if "sha256" in table.c:
        digest = session.execute(select(table.c.sha256).where(*chosen)).scalars().first()
        return None if digest is None else digest.hex()
    return None


def _label(findings: Findings, table: Table, name: Any) -> str:
    """The key of a row that has no id, or none that can be read."""
    parts = [str(part) for part in name]
    if "tree" in table.primary_key.columns and findings.chain is not None:
        parts[0] = findings.chain
    return "/".join(parts)


def _unreadable(error: DBAPIError) -> str:
    """Which column SQLite could not decode, from its words."""
    _, _, rest = str(error.orig).partition("column '")
    return rest.partition("'")[0] or "text"


def _noun(table: Table) -> str:
    return table.name.removesuffix("s").replace("bodie", "body").replace("_", " ")


def pages(
    session: Session, findings: Findings, table: Table, tree: int, key: ColumnElement[int]
) -> Iterator[list[Any]]:
    """A tree's rows in batches, by ascending key."""
    after = None
    while True:
        bounds = select(key).where(table.c.tree == tree).order_by(key).limit(BATCH)
        if after is not None:
            bounds = bounds.where(key > after)
        numbers = [int(value) for value in session.execute(bounds).scalars()]
        if not numbers:
            return
        after = numbers[-1]
        yield fetch(session, findings, table, table.c.tree == tree, key >= numbers[0], key <= after)


def stamp_of(microseconds: int) -> str | None:
    """The time as it is hashed; None where the number is no time."""
    try:
        return iso(from_microseconds(microseconds))
    except OverflowError:
        return None
