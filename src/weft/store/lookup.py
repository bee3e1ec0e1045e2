"""What a name refers to: trees, agents, documents, projects, by ULID or by what people call them."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import Select, Table, bindparam, func, select

from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, NotFoundError
from weft.ids import is_ulid
from weft.store import schema
from weft.store.session import Session
from weft.tree.content import check_text

_CANDIDATES = 6
_LISTING = {"tree": "ls", "agent": "agents", "document": "doc ls", "project": "project ls"}
"""The commands that list each kind, for hints."""
_PREFIX = 8
"""ULIDs of one day share their beginning, so a shorter prefix would rarely mean one thing."""


def _seen(columns: Select[*tuple[Any, ...]], table: Table) -> Select[*tuple[Any, ...]]:
    """Without what was undone."""
    return columns.where(table.c.hidden.is_(None)) if "hidden" in table.c else columns


_BY_ULID = {
    table: _seen(select(table.c.key), table).where(table.c.ulid == bindparam("the_ulid"))
    for table in (schema.trees, schema.agents, schema.documents, schema.projects)
}
_AS_NAMED = {
    table: _seen(select(table.c.key, table.c.archived_at), table)
    .where(name == bindparam("the_name"))
    .limit(2)
    for table, name in (
        (schema.trees, schema.trees.c.title),
        (schema.agents, schema.agents.c.name),
        (schema.documents, schema.documents.c.title),
        (schema.projects, schema.projects.c.name),
    )
}


def find_tree(session: Session, reference: str, among: Collection[int] | None = None) -> int:
    """Of the trees with these keys; None: of all."""
    return _find(session, schema.trees, schema.trees.c.title, reference, "tree", among=among)


def find_agent(session: Session, reference: str, among: Collection[int] | None = None) -> int:
    """Of the agents with these keys; None: of all."""
    return _find(session, schema.agents, schema.agents.c.name, reference, "agent", among=among)


def find_document(session: Session, reference: str) -> int:
    return _find(session, schema.documents, schema.documents.c.title, reference, "document")


def find_project(session: Session, reference: str) -> int:
    return _find(session, schema.projects, schema.projects.c.name, reference, "project")


def _find(
    session: Session,
    table: Table,
    name: Any,
    reference: str,
    what: str,
    *,
    among: Collection[int] | None = None,
) -> int:
    """By ULID, then by exact name, by name in any case, by the beginning of either."""
    shown = reference if len(reference) <= 60 else reference[:60] + "…"
    text = check_text(reference, what=f"{what} reference").strip()
    if not text:
        raise InvalidInputError(f"{shown!r} names no {what}")
    if is_ulid(text.upper()):
        rows = session.rows(_BY_ULID[table], {"the_ulid": text.upper()})
        if rows and (among is None or int(rows[0][0]) in among):
            return int(rows[0][0])
    only = session.rows(_AS_NAMED[table], {"the_name": text}) if among is None else ()
    if len(only) == 1:
        return int(only[0][0])
    columns = _seen(select(table.c.key, table.c.ulid, name.label("name"), table.c.archived_at), table)
    if among is not None:
        columns = columns.where(session.dialect.among(table.c.key, sorted(among)))
    open_first = table.c.archived_at.is_not(None)
    ways = [name == text, func.lower(name) == text.lower()]
    if len(text) >= _PREFIX and text.isalnum() and text.isascii():
        ways.append(table.c.ulid.between(text.upper(), text.upper() + "~"))
    ways.append(name.istartswith(text, autoescape=True))
    for way in ways:
        rows = session.execute(columns.where(way).order_by(open_first, table.c.key).limit(_CANDIDATES)).all()
        present = [row for row in rows if row.archived_at is None]
        if len(rows) == 1 or len(present) == 1:
            return (present or rows)[0].key
        if rows:
            names = "; ".join(f"{row.ulid} {row.name[:40]!r}" for row in rows)
            raise InvalidInputError(f"{shown!r} names several {what}s", hint=f"use the id: {names}")
    raise no_match(what, shown)


def no_match(what: str, reference: str) -> NotFoundError:
    """The same error for what does not exist and for what may not be read."""
    hint = Hint(HintKind.LIST_NAMES, names=f"{what}s", command=_LISTING[what])
    return NotFoundError(f"no {what} {reference!r}", hint=hint)
