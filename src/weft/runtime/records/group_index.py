"""The index of collapsed groups in a grove: which messages a response folds, and what is open."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from weft.context.recipes.collapsed_groups import Documents, GroupParts, GroupScope
from weft.context.recipes.group_index import (
    IndexPlan,
    IndexRequest,
    StateRequest,
    Upsert,
    plan_index,
    plan_removal,
    plan_state,
    read_index_request,
    read_removal_request,
    read_state_request,
)
from weft.errors import InvalidInputError
from weft.runtime.operations.executor import Editing, Executor
from weft.runtime.operations.permissions import Actor
from weft.runtime.operations.scope import Scope
from weft.store.records import (
    GroupDocument,
    entries_of,
    known_records,
    put_entries,
    read_entries,
    record_value,
)
from weft.store.session import Session
from weft.store.transaction import Transaction
from weft.tree.content import is_storable
from weft.tree.json import JsonObject, JsonValue
from weft.tree.record import KEY_LIMIT, RecordPlace, dump_document, key_bytes


@dataclass(frozen=True, slots=True)
class GroupIndex:
    """Index responses, open and close groups, take responses out again."""

    executor: Executor
    actor: Actor

    def index(self, body: JsonValue, *, user: str | None = None) -> JsonObject:
        """Index the groups of a body `{sessionId, responseId | groups}`; how many, in how many batches.

        Doing it again changes nothing; the last to index a name has it.
        """
        request = read_index_request(body)
        return self.executor.perform(self.actor, IndexGroups(request=request, user=user))

    def set_state(self, body: JsonValue, *, user: str | None = None) -> JsonObject:
        """Open or close a group: `{sessionId, group, expanded, responseId?}`."""
        request = read_state_request(body)
        return self.executor.perform(self.actor, OpenGroup(request=request, user=user))

    def remove(self, session_id: str, response_id: str, *, user: str | None = None) -> JsonObject:
        """Take a response's groups out of the index, as far as they still are its own."""
        session, response = read_removal_request({"sessionId": session_id, "responseId": response_id})
        operation = ForgetGroups(session=session, response=response, user=user)
        return self.executor.perform(self.actor, operation)


_SECOND = 1_000_000


class _Indexing(Editing):
    """Writes a plan whole or not at all. What is in the index already is not written again."""

    def carry_out(self, scope: Scope, plan: IndexPlan) -> JsonObject:
        written = sum(_write(scope.transaction, plan.scope, batch) for batch in plan.batches)
        if written:
            # Names of groups, sessions and messages are people's words, and stay out of the log.
            scope.record(None, self.verb, {"entries": written}, {})
        return plan.answer


def _open(scope: Scope) -> None:
    scope.open_grove()
    # Two who add groups to one message at once must not forget each other's.
    scope.transaction.grove_state()


def _seconds(scope: Scope) -> float:
    """To the fraction: of two groups that come within a second, the later one is the newest."""
    whole, rest = divmod(scope.now, _SECOND)
    return scope.now / _SECOND if rest else whole


class IndexGroups(_Indexing, verb="index-groups"):
    """Index the groups given, or those of a response that is stored already."""

    request: IndexRequest
    user: str | None = None

    def apply(self, scope: Scope) -> JsonObject:
        _open(scope)
        request = self.request
        response = None
        if request.wants_response and request.response_id is not None:
            place = GroupScope(session_id=request.session_id, user_id=self.user)
            stored = StoredGroups(scope.transaction).responses(place, [request.response_id])
            response = stored.get(request.response_id)
        plan = plan_index(request, user_id=self.user, now=_seconds(scope), response=response)
        return self.carry_out(scope, plan)


class OpenGroup(_Indexing, verb="open-group"):
    """Show a group's messages themselves, or its placeholder again."""

    request: StateRequest
    user: str | None = None

    def apply(self, scope: Scope) -> JsonObject:
        _open(scope)
        return self.carry_out(scope, plan_state(self.request, user_id=self.user, now=_seconds(scope)))


class ForgetGroups(_Indexing, verb="forget-groups"):
    """Take a response's groups out of the index, as far as they still are its own."""

    session: str
    response: str
    user: str | None = None

    def apply(self, scope: Scope) -> JsonObject:
        _open(scope)
        transaction = scope.transaction
        place = GroupScope(session_id=self.session, user_id=self.user)
        groups = StoredGroups(transaction)
        reverse = groups.documents(place, GroupParts.RESPONSE_TO_GROUPS, [self.response]).get(self.response)
        shelf = PARTS.index(GroupParts.MESSAGE_TO_GROUPS)
        memberships = entries_of(transaction, self.user or "", self.session, shelf)
        owners = groups.documents(
            place, GroupParts.GROUP_TO_RESPONSE, [] if reverse is None else _names(reverse)
        )
        return self.carry_out(scope, plan_removal(self.response, reverse, memberships, owners, place))


def _names(reverse: JsonObject) -> list[str]:
    listed = reverse.get("groups")
    return [each for each in listed if isinstance(each, str)] if isinstance(listed, list | tuple) else []


def _write(transaction: Transaction, scope: GroupScope, batch: Sequence[Upsert]) -> int:
    """How many entries are other than before."""
    user, session = scope.user_id or "", scope.session_id
    before: dict[tuple[int, str], JsonObject | None] = {}
    for shelf in {upsert.shelf for upsert in batch}:
        number = PARTS.index(shelf)
        names = [upsert.key for upsert in batch if upsert.shelf is shelf]
        for name in names:
            if not is_storable(name) or key_bytes(user, session, name) > KEY_LIMIT:
                raise InvalidInputError(
                    f"{name[:40]!r} cannot be the id of a message, or a group's name", path="groups"
                )
        entries_now = read_entries(transaction, user, session, number, names)
        before.update(((number, name), entries_now.get(name)) for name in names)
    after = dict(before)
    for upsert in batch:
        place = PARTS.index(upsert.shelf), upsert.key
        after[place] = upsert.over(after[place])
    entries = [
        GroupDocument(shelf, name, None if document is None else dump_document(document, "groups"))
        for (shelf, name), document in after.items()
        if document != before[shelf, name]
    ]
    put_entries(transaction, user, session, entries)
    return len(entries)


RESPONSES = "collapsed"
"""The stream of a session in which the responses that make groups are kept."""
PARTS = tuple(GroupParts)
"""Stored as their index."""


@dataclass(frozen=True, slots=True)
class StoredGroups:
    """Groups as recipes read them: the index, and responses among the session's records."""

    session: Session

    def memberships(self, scope: GroupScope, message_ids: Collection[str]) -> Documents:
        return self.documents(scope, GroupParts.MESSAGE_TO_GROUPS, message_ids)

    def states(self, scope: GroupScope, names: Collection[str]) -> Documents:
        return self.documents(scope, GroupParts.GROUP_STATE, names)

    def responses(self, scope: GroupScope, response_ids: Collection[str]) -> Documents:
        place = RecordPlace(stream=RESPONSES, user=scope.user_id, session=scope.session_id)
        rows = known_records(self.session, [(place, each) for each in response_ids])
        return {row.id: record_value(row).document for row in rows.values() if row.hidden is None}

    def documents(self, scope: GroupScope, part: GroupParts, names: Collection[str]) -> Documents:
        return read_entries(self.session, scope.user_id or "", scope.session_id, PARTS.index(part), names)
