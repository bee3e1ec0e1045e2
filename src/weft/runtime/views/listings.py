"""Trees and documents page by page, without their contents."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, Table, select

from weft.runtime.operations.permissions import require_access, require_permission, trees_allowed
from weft.runtime.views.reader import Reader
from weft.store import schema
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.json_names import from_microseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingRow:
    """One tree or document, without its content."""

    id: str
    title: str
    summary: str
    updated_at: datetime


def tree_page(reading: Reader, *, after: str | None = None, limit: int) -> list[ListingRow]:
    """Trees that may be looked at, the newest first; `after` is the id of the last one seen.

    By when they were planted, so that what is changed meanwhile is neither missed nor seen twice.
    """
    table = schema.trees
    with reading.store.read() as session:
        require_permission(session, reading.actor, Permission.LOOM_AWARE, "look")
        allowed = trees_allowed(session, reading.actor)
        statement = _page(table, table.c.description, after, limit)
        if allowed is not None:
            statement = statement.where(session.dialect.among(table.c.key, sorted(allowed)))
        return _listing_rows(session.execute(statement).all())


def document_page(reading: Reader, *, after: str | None = None, limit: int) -> list[ListingRow]:
    """The same for documents."""
    table = schema.documents
    with reading.store.read() as session:
        require_permission(session, reading.actor, Permission.DOC_READ, "look")
        require_access(session, reading.actor, MemberRole.READER)
        return _listing_rows(session.execute(_page(table, table.c.summary, after, limit)).all())


def _page(table: Table, fallback: Any, after: str | None, limit: int) -> Select[*tuple[Any, ...]]:
    statement = (
        select(table.c.ulid, table.c.title, table.c.summary, fallback.label("fallback"), table.c.updated_at)
        .where(table.c.hidden.is_(None), table.c.archived_at.is_(None))
        .order_by(table.c.ulid.desc())
        .limit(limit)
    )
    return statement if after is None else statement.where(table.c.ulid < after)


def _listing_rows(rows: Sequence[Any]) -> list[ListingRow]:
    return [
        ListingRow(
            id=row.ulid,
            title=row.title,
            summary=row.summary or row.fallback or "",
            updated_at=from_microseconds(row.updated_at),
        )
        for row in rows
    ]
