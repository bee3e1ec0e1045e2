"""Records of a grove: kept in streams, listed by time, read by recipes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete

from weft.argument_checks import takes_options
from weft.error_hints import Hint, HintKind
from weft.errors import ConflictError, InvalidInputError, LimitExceededError, NotFoundError
from weft.provenance.fingerprints import Fingerprint, record_fingerprint
from weft.runtime.operations.executor import Destroying, Editing, Executor, announce_deletion
from weft.runtime.operations.permissions import Actor, require_access, require_permission
from weft.runtime.operations.scope import Scope
from weft.runtime.records.options import RecordListOptions
from weft.store import schema
from weft.store.records import (
    Window,
    choose_records,
    clear_entries,
    known_records,
    list_records,
    list_streams,
    nearest_place,
    record_value,
)
from weft.store.schema.records import PLACE
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.json import JsonObject, JsonValue
from weft.tree.node import counted
from weft.tree.progress import Progress, silent
from weft.tree.record import DELETE_LIMIT, RecordDraft, RecordPlace, RecordValue, check_draft, dump_document

if TYPE_CHECKING:
    from weft.store.session import Session


_FOREVER = Window(float("-inf"), float("inf"))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordStream:
    """One stream: how many records it has, and when the first and the last of them were made."""

    stream: str
    user: str | None
    project: str | None
    session: str | None
    topic: str | None
    records: int
    first: float
    last: float


def require_records(session: "Session", actor: Actor) -> None:
    """Records need the right to read the grove; the caller chooses the user."""
    require_permission(session, actor, Permission.LOOM_AWARE, "look")
    require_access(session, actor, MemberRole.READER)


@dataclass(frozen=True, slots=True)
class Records:
    """The records of other programs, as one agent may see and change them."""

    executor: Executor
    actor: Actor

    def append(
        self,
        stream: str,
        value: JsonValue,
        *,
        id: str | None = None,  # noqa: A002 - the wire's word
        create_time: float | None = None,
        user: str | None = None,
        project: str | None = None,
        session: str | None = None,
        topic: str | None = None,
        more: Mapping[str, JsonValue] | None = None,
    ) -> RecordValue:
        """Store one record; `more` are fields beside its value (`cost`, `execId`, …).

        Appending the same again changes nothing; the same id with another value is a conflict.
        """
        place = RecordPlace(stream=stream, user=user, project=project, session=session, topic=topic)
        document: JsonObject = {**(more or {}), "value": value}
        draft = RecordDraft(place=place, document=document, id=id, create_time=create_time)
        return self.append_all([draft])[0]

    def append_all(self, drafts: Sequence[RecordDraft]) -> list[RecordValue]:
        """Append many, all or none; at most 1,000 at a time."""
        if not drafts:
            return []
        return self.executor.perform(self.actor, AppendRecords(drafts=drafts))

    def append_in_parts(
        self, drafts: Sequence[RecordDraft], *, progress: Progress = silent
    ) -> list[RecordValue]:
        """Append any number, a thousand in each transaction."""
        values: list[RecordValue] = []
        for start in range(0, len(drafts), APPEND_LIMIT):
            values += self.append_all(drafts[start : start + APPEND_LIMIT])
            progress(len(values), len(drafts))
        return values

    @takes_options(RecordListOptions)
    def list(self, options: RecordListOptions) -> list[RecordValue]:
        """One stream's records with begin < time ≤ end, the oldest first; those of one time by id."""
        place = RecordPlace(**{name: getattr(options, name) for name in PLACE})
        begin, end = options.begin, options.end
        window = Window(_FOREVER.begin if begin is None else begin, _FOREVER.end if end is None else end)
        with self.executor.store.read() as reading:
            require_records(reading, self.actor)
            if options.fallback:
                place = nearest_place(reading, place)
            rows = list_records(
                reading, place, window, after=options.after, limit=options.limit, newest=options.newest
            )
            return [record_value(row) for row in rows]

    def streams(
        self,
        *,
        user: str | None = None,
        session: str | None = None,
        topic: str | None = None,
        everybody: bool = False,
    ) -> "list[RecordStream]":
        """The streams of a user, or those without user; with `everybody`, all."""
        place = {} if everybody else {"user": user or ""}
        place |= {name: value for name, value in (("session", session), ("topic", topic)) if value}
        with self.executor.store.read() as reading:
            require_records(reading, self.actor)
            return [
                RecordStream(
                    stream=row.stream,
                    user=row.user or None,
                    project=row.project or None,
                    session=row.session or None,
                    topic=row.topic or None,
                    records=row.records,
                    first=row.first,
                    last=row.last,
                )
                for row in list_streams(reading, place)
            ]

    def count(self, place: Mapping[str, str], ids: Sequence[str] | None = None) -> int:
        """How many records `delete` would destroy."""
        with self.executor.store.read() as reading:
            require_records(reading, self.actor)
            return len(choose_records(reading, place, ids, DELETE_LIMIT + 1))

    def delete(self, place: Mapping[str, str], ids: Sequence[str] | None = None, *, confirm: int) -> int:
        """Destroy records for good; `confirm` must be their number."""
        return self.executor.perform(self.actor, DeleteRecords(place=place, ids=ids, confirm=confirm))


APPEND_LIMIT = 1_000
"""As many records as one operation takes: its event speaks of each of them."""
_AT_ONCE = 1_000
_SECOND = 1_000_000
_records = schema.records


class AppendRecords(Editing, verb="record"):
    """Store records, all or none. One that is stored already, and equal, is left as it is.

    The same id with another document in one stream is a conflict: records do not change.
    """

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
        values: list[RecordValue] = []
        fresh: list[dict[str, Any]] = []
        together = scope.new_ulid()
        for draft, index in given:
            # Records of one time are listed in the order they were given in.
            own = together if len(given) == 1 else f"{together}-{index:04}"
            row = _row(scope, draft, own, f"records[{index}]")
            there = known.get((*(row[name] for name in PLACE), row["id"]))
            if there is None:
                new = known[*(row[name] for name in PLACE), row["id"]] = SimpleNamespace(**row)
                fresh.append(row)
                values.append(record_value(new))
            elif _is_same(there, row, draft) and there.hidden is None:
                values.append(record_value(there))
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
        return values


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
        # The time is that of its first append; the rest must be equal.
        before, after = record_value(there).document, draft.document
        return {**before, "create_time": None} == {**after, "create_time": None}
    return there.document == row["document"]


class DeleteRecords(Destroying, verb="delete-records"):
    """Destroy records for good, and forget what is collapsed in sessions that go whole. Returns how many.

    `confirm` must be their number.
    """

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
                hint=Hint(HintKind.CONFIRM, value=str(len(rows))),
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
