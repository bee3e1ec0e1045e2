"""The index of collapsed groups in a grove: which messages a response folds, and what is open."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.context.group_index import (
    IndexPlan,
    Upsert,
    plan_index,
    plan_removal,
    plan_state,
    read_index_request,
    read_state_request,
)
from weft.context.groups import Documents, GroupScope, Shelf
from weft.errors import InvalidInputError
from weft.runtime.actor import Actor, require_access, require_permission
from weft.runtime.gate import Gate
from weft.store.records import Entry, entries_of, known_records, put_entries, read_entries, record_value
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.json import JsonObject, JsonValue
from weft.tree.record import RecordPlace, dump_document

if TYPE_CHECKING:
    from weft.store.session import Session
    from weft.store.transaction import Transaction

__all__ = ["RESPONSES", "GroupIndex", "StoredGroups"]

RESPONSES = "collapsed"
"""The stream of a session in which the responses that make groups are kept."""
_SHELVES = tuple(Shelf)
"""Stored as their index."""
_NAME_LIMIT = 2_000
_SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class StoredGroups:
    """Groups as recipes read them: the index, and responses among the session's records."""

    session: "Session"

    def memberships(self, scope: GroupScope, message_ids: Collection[str]) -> Documents:
        return self.shelved(scope, Shelf.MESSAGE_TO_GROUPS, message_ids)

    def states(self, scope: GroupScope, names: Collection[str]) -> Documents:
        return self.shelved(scope, Shelf.GROUP_STATE, names)

    def responses(self, scope: GroupScope, response_ids: Collection[str]) -> Documents:
        place = RecordPlace(stream=RESPONSES, user=scope.user_id, session=scope.session_id)
        rows = known_records(self.session, [(place, each) for each in response_ids])
        return {row.id: record_value(row).document for row in rows.values() if row.hidden is None}

    def shelved(self, scope: GroupScope, shelf: Shelf, names: Collection[str]) -> Documents:
        return read_entries(self.session, scope.user_id or "", scope.session_id, _SHELVES.index(shelf), names)


@dataclass(frozen=True, slots=True)
class GroupIndex:
    """Index responses, open and close groups, take responses out again."""

    gate: Gate
    actor: Actor

    def index(self, body: JsonValue, *, user: str | None = None) -> JsonObject:
        """Index the groups of a body `{sessionId, responseId | groups}`; how many, in how many batches.

        Doing it again changes nothing; the last to index a name has it.
        """
        request = read_index_request(body)

        def work(transaction: "Transaction") -> JsonObject:
            scope = GroupScope(session_id=request.session_id, user_id=user)
            response = None
            if request.groups is None and request.response_id is not None:
                kept = StoredGroups(transaction).responses(scope, [request.response_id])
                response = kept.get(request.response_id)
            plan = plan_index(request, user_id=user, now=self._now(), response=response)
            return self._carry_out(transaction, plan)

        return self.gate.store.write(work)

    def set_state(self, body: JsonValue, *, user: str | None = None) -> JsonObject:
        """Open or close a group: `{sessionId, group, expanded, responseId?}`."""
        plan = plan_state(read_state_request(body), user_id=user, now=self._now())
        return self.gate.store.write(lambda transaction: self._carry_out(transaction, plan))

    def remove(self, session_id: str, response_id: str, *, user: str | None = None) -> JsonObject:
        """Take a response's groups out of the index, as far as they still are its own."""

        def work(transaction: "Transaction") -> JsonObject:
            scope = GroupScope(session_id=session_id, user_id=user)
            groups = StoredGroups(transaction)
            reverse = groups.shelved(scope, Shelf.RESPONSE_TO_GROUPS, [response_id]).get(response_id)
            names = [] if reverse is None else _names(reverse)
            shelf = _SHELVES.index(Shelf.MESSAGE_TO_GROUPS)
            memberships = entries_of(transaction, user or "", session_id, shelf)
            owners = groups.shelved(scope, Shelf.GROUP_TO_RESPONSE, names)
            plan = plan_removal(response_id, reverse, memberships, owners, scope)
            return self._carry_out(transaction, plan)

        return self.gate.store.write(work)

    def _now(self) -> int:
        return self.gate.clock() // _SECOND

    def _carry_out(self, transaction: "Transaction", plan: IndexPlan) -> JsonObject:
        """Batch by batch, in one transaction: a plan is carried out whole or not at all."""
        require_permission(transaction, self.actor, Permission.LOOM_WRITE, "index groups")
        require_access(transaction, self.actor, MemberRole.EDITOR)
        # Two who add groups to one message at once must not forget each other's.
        transaction.grove_state()
        for batch in plan.batches:
            _write(transaction, plan.scope, batch)
        return plan.answer


def _names(reverse: JsonObject) -> list[str]:
    listed = reverse.get("groups")
    return [each for each in listed if isinstance(each, str)] if isinstance(listed, list | tuple) else []


def _write(transaction: "Transaction", scope: GroupScope, batch: Sequence[Upsert]) -> None:
    user, session = scope.user_id or "", scope.session_id
    before: dict[tuple[int, str], JsonObject | None] = {}
    for shelf in {upsert.shelf for upsert in batch}:
        number = _SHELVES.index(shelf)
        names = [upsert.key for upsert in batch if upsert.shelf is shelf]
        for name in names:
            if len(name) > _NAME_LIMIT or "\x00" in name:
                raise InvalidInputError(f"{name[:40]!r} cannot be the id of a message", path="groups")
        found = read_entries(transaction, user, session, number, names)
        before.update(((number, name), found.get(name)) for name in names)
    for upsert in batch:
        place = _SHELVES.index(upsert.shelf), upsert.key
        before[place] = upsert.over(before[place])
    entries = [
        Entry(shelf, name, None if after is None else dump_document(after, "groups"))
        for (shelf, name), after in before.items()
    ]
    put_entries(transaction, user, session, entries)
