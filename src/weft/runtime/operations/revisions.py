"""What documents, projects and agents share: numbered revisions, and being put away."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Table, func, select, update

from weft.provenance.fingerprints import RevisedKind
from weft.runtime.operations.scope import Scope


def next_revision(scope: Scope, kind: RevisedKind, key: int) -> int:
    """One more than there ever was: a number that was undone still means the text it meant."""
    columns = kind.revisions.c
    highest = select(func.max(columns.revision)).where(columns[kind.name] == key)
    return scope.transaction.execute(highest).scalar_one() + 1


def note_revised(scope: Scope, kind: RevisedKind, ulid: str, revision: int | None = None) -> None:
    """Let the event vouch for it as it is now: itself, its revision, and one more if named."""
    transaction, columns = scope.transaction, kind.revisions.c
    whole = select(kind.table).where(kind.table.c.ulid == ulid)
    row = transaction.execute(whole).mappings().one()
    scope.add_fingerprint(kind.fingerprint(row))
    for number in {row["revision"], row["revision"] if revision is None else revision}:
        there = (columns[kind.name] == row["key"]) & (columns.revision == number)
        kept = transaction.execute(select(kind.revisions).where(there)).mappings().one()
        scope.add_fingerprint(kind.revision_fingerprint(ulid, kept, transaction.agent(kept["author"]).ulid))


def put_away(
    scope: Scope,
    table: Table,
    row: Any,
    *,
    restore: bool,
    note: Callable[[], None],
    require_free: Callable[[], None] | None = None,
) -> None:
    """Archive the row, or take it out again; nothing happens where it is so already.

    `require_free` refuses where somebody else has the name by now; `note` lets the event
    vouch for what has become of it.
    """
    if (row.archived_at is None) == restore:
        return
    if restore and require_free is not None:
        require_free()
    moment = None if restore else scope.now
    scope.transaction.execute(update(table).where(table.c.key == row.key).values(archived_at=moment))
    note()
    what = table.name.removesuffix("s")
    kind = f"restore-{what}" if restore else f"archive-{what}"
    scope.record(None, kind, {what: row.ulid}, {"archivedAt": row.archived_at})
