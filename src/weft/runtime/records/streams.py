"""Records of a grove: kept in streams, listed by time, read by recipes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.errors import InvalidInputError
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.permissions import Actor, require_access, require_permission
from weft.runtime.operations.records import APPEND_LIMIT, AppendRecords, DeleteRecords
from weft.store.records import Window, choose_records, list_records, list_streams, nearest_place, record_value
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.json import JsonObject, JsonValue
from weft.tree.record import DELETE_LIMIT, RecordDraft, RecordPlace, RecordValue

if TYPE_CHECKING:
    from weft.store.session import Session

LIST_LIMIT = 10_000
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
    """Whoever may look at the grove may look at records; whose, is for the caller to say."""
    require_permission(session, actor, Permission.LOOM_AWARE, "look")
    require_access(session, actor, MemberRole.READER)


@dataclass(frozen=True, slots=True)
class Records:
    """What outside programs keep in this grove, as one agent may see and change it."""

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
        """Keep one record; `more` stands beside its value (`cost`, `execId`, …).

        Appending the same again changes nothing; the same id with another value is a conflict.
        """
        place = RecordPlace(stream=stream, user=user, project=project, session=session, topic=topic)
        document: JsonObject = {**(more or {}), "value": value}
        draft = RecordDraft(place=place, document=document, id=id, create_time=create_time)
        return self.append_all([draft])[0]

    def append_all(self, drafts: Sequence[RecordDraft]) -> list[RecordValue]:
        """Keep many, all or none; at most 1,000 at a time."""
        if not drafts:
            return []
        return self.executor.perform(self.actor, AppendRecords(drafts=drafts))

    def append_in_parts(self, drafts: Sequence[RecordDraft]) -> list[RecordValue]:
        """Keep any number, a thousand in each transaction."""
        return [
            value
            for start in range(0, len(drafts), APPEND_LIMIT)
            for value in self.append_all(drafts[start : start + APPEND_LIMIT])
        ]

    def list(
        self,
        stream: str,
        *,
        user: str | None = None,
        project: str | None = None,
        session: str | None = None,
        topic: str | None = None,
        begin: float | None = None,
        end: float | None = None,
        after: str | None = None,
        limit: int = 1_000,
        newest: bool = False,
        fallback: bool = False,
    ) -> list[RecordValue]:
        """One stream's records with begin < time ≤ end, the oldest first; of those of one time by id.

        Go on `after` the id of the last one seen. Nobody's records are not a user's, but with
        `fallback`: then, as recipes do, where the user's project has none the user's own are
        listed, and where the user has none, nobody's.
        """
        if not 1 <= limit <= LIST_LIMIT:
            raise InvalidInputError(
                f"{limit} is not a number of records", hint=f"1 to {LIST_LIMIT:,}", path="limit"
            )
        place = RecordPlace(stream=stream, user=user, project=project, session=session, topic=topic)
        window = Window(_FOREVER.begin if begin is None else begin, _FOREVER.end if end is None else end)
        with self.executor.store.read() as reading:
            require_records(reading, self.actor)
            if fallback:
                place = nearest_place(reading, place)
            rows = list_records(reading, place, window, after=after, limit=limit, newest=newest)
            return [record_value(row) for row in rows]

    def streams(
        self,
        *,
        user: str | None = None,
        session: str | None = None,
        topic: str | None = None,
        everybody: bool = False,
    ) -> "list[RecordStream]":
        """The streams of a user, or of nobody; with `everybody`, all there are."""
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
