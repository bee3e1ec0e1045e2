"""Records: append them, destroy them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import delete, update

from weft.errors import ConflictError, InvalidInputError, LimitExceededError, NotFoundError
from weft.provenance.fingerprints import Fingerprint, record_fingerprint
from weft.runtime.operations.deletion import announce_deletion
from weft.runtime.operations.executor import Destroying, Editing
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.records import choose_records, clear_entries, known_records, record_value
from weft.store.schema.records import PLACE
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.json import JsonObject, JsonValue
from weft.tree.node import counted
from weft.tree.record import DELETE_LIMIT, RecordDraft, RecordValue, check_draft, dump_document

APPEND_LIMIT = 1_000
"""As many records as one operation takes: its event speaks of each of them."""
_AT_ONCE = 1_000
_SECOND = 1_000_000
_records = schema.records


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendRecords(Editing):
    """Keep records, all or none. One that is there already, and the same, is left as it is.

    The same id with another document in one stream is a conflict: records do not change.
    """

    verb: ClassVar[str] = "record"
    drafts: Sequence[RecordDraft]

    def apply(self, scope: Scope) -> list[RecordValue]:
        if not 1 <= len(self.drafts) <= APPEND_LIMIT:
            raise LimitExceededError(
                f"{len(self.drafts):,} records at once", hint=f"append 1 to {APPEND_LIMIT:,} at a time"
            )
        scope.open_grove()
        given = [(check_draft(draft, f"records[{index}]"), index) for index, draft in enumerate(self.drafts)]
        named = [(draft.place, draft.id) for draft, _ in given if draft.id is not None]
        known = known_records(scope.transaction, named)
        found: list[RecordValue] = []
        fresh: list[dict[str, Any]] = []
        together = scope.new_ulid()
        for draft, index in given:
            # Those of one time stand in the order they were given in.
            own = together if len(given) == 1 else f"{together}-{index:04}"
            row = _row(scope, draft, own, f"records[{index}]")
            there = known.get((*(row[name] for name in PLACE), row["id"]))
            if there is None:
                known[*(row[name] for name in PLACE), row["id"]] = _Row(row)
                fresh.append(row)
                found.append(record_value(_Row(row)))
            elif _is_same(there, row, draft) and there.hidden is None:
                found.append(record_value(there))
            else:
                raise ConflictError(
                    f"records[{index}].id: {row['stream']!r} has another record {row['id']!r}",
                    hint="records do not change: give the new one an id of its own",
                )
        if fresh:
            for row in fresh:
                scope.transaction.add(_records, row)
                scope.add_fingerprint(record_fingerprint(row))
            ulids: list[JsonValue] = [row["ulid"] for row in fresh]
            scope.record(None, self.verb, {"records": ulids}, {"hide": ulids})
        return found


class _Row:
    """A row that is not in the database yet."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__.update(values)


def _row(scope: Scope, draft: RecordDraft, own: str, path: str) -> dict[str, Any]:
    time = scope.now / _SECOND if draft.create_time is None else draft.create_time
    document: JsonObject = {"create_time": time, **draft.document}
    return {
        "ulid": scope.new_ulid(),
        **{name: getattr(draft.place, name) or "" for name in PLACE},
        "id": own if draft.id is None else draft.id,
        "create_time": float(time),
        "document": dump_document({**document, "create_time": time}, f"{path}.document"),
        "hidden": None,
    }


def _is_same(there: Any, row: Mapping[str, Any], draft: RecordDraft) -> bool:
    if draft.create_time is None:
        # It has the time of its first coming; what matters is what it says.
        before, after = record_value(there).document, draft.document
        return {**before, "create_time": None} == {**after, "create_time": None}
    return there.document == row["document"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecords(Destroying):
    """Destroy records for good, and forget what is collapsed in sessions that go whole. Returns how many.

    `confirm` must be their number: whoever asks has counted them.
    """

    verb: ClassVar[str] = "delete-records"
    permission: ClassVar[Permission] = Editing.permission
    access: ClassVar[MemberRole] = MemberRole.OWNER
    place: Mapping[str, str]
    """Which: any of user, project, session, topic and stream; empty means those without one."""
    ids: Sequence[str] | None = None
    confirm: int

    def apply(self, scope: Scope) -> int:
        scope.open_grove()
        unknown = set(self.place) - set(PLACE)
        if unknown or not (self.place or self.ids):
            raise InvalidInputError("say which records: by user, project, session, topic, stream or id")
        transaction = scope.transaction
        rows = choose_records(transaction, self.place, self.ids, DELETE_LIMIT + 1)
        if not rows:
            raise NotFoundError("there are no such records")
        if len(rows) > DELETE_LIMIT:
            raise LimitExceededError(
                f"more than {DELETE_LIMIT:,} records", hint="destroy them stream by stream"
            )
        if self.confirm != len(rows):
            raise InvalidInputError(
                f"destroying {counted(len(rows), 'record')} cannot be undone: confirm it with their number",
                hint=f"confirm with {len(rows)}",
            )
        announce_deletion(scope)
        if self.ids is None and set(self.place) <= {"user", "session"}:
            for user, session in {(row.user, row.session) for row in rows if row.session}:
                clear_entries(transaction, user, session)
        for start in range(0, len(rows), _AT_ONCE):
            some = rows[start : start + _AT_ONCE]
            keys = transaction.dialect.among(_records.c.key, [row.key for row in some])
            transaction.execute(delete(_records).where(keys))
            scope.add_fingerprint(*(Fingerprint(f"record:{row.ulid}", None) for row in some))
            scope.record(None, self.verb, {"records": [row.ulid for row in some]}, {})
        return len(rows)


def hide_records(scope: Scope, rows: Sequence[Any], by: int | None) -> None:
    """Let records be unseen, or seen again."""
    transaction = scope.transaction
    keys = transaction.dialect.among(_records.c.key, [row.key for row in rows])
    transaction.execute(update(_records).where(keys).values(hidden=by))
