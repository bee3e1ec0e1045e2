"""Collapsed groups as they are read: which group a message belongs to, how it is told, whether it is open."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias, cast, runtime_checkable

from weft.context.recipes.js_compat import compact_json, fields_of, is_truthy, property_order, string_of
from weft.tree.json import JsonObject, JsonValue

Documents: TypeAlias = Mapping[str, JsonObject]
"""Documents by path."""

_RUNS = re.compile(r"[^A-Z0-9]+")


def group_name(name: object) -> str:
    """A group's name in UPPER_SNAKE_CASE; empty if nothing of it is left."""
    return _RUNS.sub("_", string_of(name).upper()).strip("_") if is_truthy(name) else ""


class GroupParts(StrEnum):
    """The parts of an index, by the names they have in paths."""

    GROUP_TO_RESPONSE = "groupToResponse"
    MESSAGE_TO_GROUPS = "messageToGroups"
    BY_MESSAGE = "byMessage"
    RESPONSE_TO_GROUPS = "responseToGroups"
    GROUP_STATE = "groupState"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupScope:
    """Whose groups, in which session. Without a user they are everybody's."""

    session_id: str
    user_id: str | None = None

    @property
    def path(self) -> str:
        session = f"convo.sessions/{self.session_id}"
        return session if self.user_id is None else f"users/{self.user_id}/{session}"

    def path_of(self, shelf: GroupParts, key: str) -> str:
        return f"{self.path}/indexes/collapsed/{shelf}/{key}"

    @property
    def unscoped(self) -> "GroupScope | None":
        """Where to look for what the user does not have: older data has no user."""
        return None if self.user_id is None else GroupScope(session_id=self.session_id)


@runtime_checkable
class GroupReader(Protocol):
    """Looks up groups. Each method gives the documents that exist, by the ids asked for."""

    def memberships(self, scope: GroupScope, message_ids: Collection[str]) -> Documents:
        """`{groups: {name: {responseId, updated_at}}}` for each message."""
        ...

    def states(self, scope: GroupScope, names: Collection[str]) -> Documents:
        """`{expanded, updated_at}` for each group."""
        ...

    def responses(self, scope: GroupScope, response_ids: Collection[str]) -> Documents:
        """The response that made a group, in either shape."""
        ...


@dataclass(frozen=True, slots=True)
class DocumentReader:
    """Groups out of documents by path, as the original service kept them."""

    documents: Documents

    def memberships(self, scope: GroupScope, message_ids: Collection[str]) -> Documents:
        return self.indexed(scope, GroupParts.MESSAGE_TO_GROUPS, message_ids)

    def states(self, scope: GroupScope, names: Collection[str]) -> Documents:
        return self.indexed(scope, GroupParts.GROUP_STATE, names)

    def responses(self, scope: GroupScope, response_ids: Collection[str]) -> Documents:
        return self._at(f"{scope.path}/collapsed/", response_ids)

    def indexed(self, scope: GroupScope, shelf: GroupParts, keys: Collection[str]) -> Documents:
        return self._at(scope.path_of(shelf, ""), keys)

    def _at(self, folder: str, keys: Collection[str]) -> Documents:
        paths = ((key, folder + key) for key in keys)
        return {key: self.documents[path] for key, path in paths if path in self.documents}


@dataclass(frozen=True, slots=True)
class GroupMembership:
    """The group that a message counts to, and the response that made it."""

    name: str
    response_id: JsonValue

    @property
    def response_key(self) -> str:
        return string_of(self.response_id)


def newest_group(document: JsonObject) -> GroupMembership | None:
    """Of several groups the one that was updated last; of those updated together, the first.

    What is in a group without a response that made it is in none.
    """
    said = document.get("groups")
    groups = (
        {str(place): entry for place, entry in enumerate(said)}
        if isinstance(said, list | tuple)
        else fields_of(said)
    )
    best, latest = None, -math.inf
    for name in property_order(groups):
        entry = fields_of(groups[name])
        response_id = cast("JsonValue", entry.get("responseId"))
        if not is_truthy(response_id):
            continue
        moment = entry.get("updated_at")
        updated = moment if isinstance(moment, int | float) and not isinstance(moment, bool) else 0
        if best is None or updated > latest:
            best, latest = GroupMembership(name, response_id), updated
    return best


def is_expanded(state: JsonObject | None) -> bool:
    return state is not None and is_truthy(state.get("expanded"))


def groups_of_response(response: JsonObject) -> Sequence[JsonValue]:
    """The groups of either shape: `groups`, or `value.groups`."""
    value = response.get("value")
    inner = value.get("groups") if isinstance(value, Mapping) else None
    for groups in (response.get("groups"), inner):
        if isinstance(groups, list | tuple):
            return groups
    return []


@dataclass(frozen=True, slots=True)
class Telling:
    """What a placeholder says of a group."""

    description: str | None = None
    items: JsonValue = None

    def to_wire(self) -> JsonObject:
        wire: dict[str, JsonValue] = {}
        if self.description:
            wire["description"] = self.description
        if self.items is not None:
            wire["items"] = self.items
        return wire


PLACEHOLDER = "collapsed_group"


def placeholder_text(name: str, response_id: JsonValue, telling: Telling) -> str:
    """What stands for a group: the same wherever its messages come from."""
    return compact_json({"type": PLACEHOLDER, "name": name, "responseId": response_id, **telling.to_wire()})


def told(response: JsonObject | None, name: str) -> Telling:
    """A group's description and items in the response that made it; a response of one group means that one."""
    groups = groups_of_response(response or {})
    named = [(_called(group), group) for group in groups]
    chosen = next((group for said, group in named if said == name.upper()), None)
    if chosen is None:
        # The index writes "Past plans" as PAST_PLANS.
        chosen = next((group for said, group in named if group_name(said) == name), None)
    if chosen is None and len(groups) == 1:
        chosen = groups[0]
    fields = fields_of(chosen)
    inner = fields_of(fields.get("value"))
    descriptions = (
        fields.get("description"),
        fields_of(fields.get("params")).get("description"),
        inner.get("description"),
    )
    items = (fields.get("items"), inner.get("items"))
    return Telling(
        next((text for text in descriptions if isinstance(text, str)), None),
        next((cast("JsonValue", each) for each in items if isinstance(each, list | tuple)), None),
    )


def _called(group: JsonValue) -> str:
    """A group's name in a response, in capitals: names do not differ by case."""
    fields = fields_of(group)
    names = (fields.get(name) for name in ("name", "group"))
    return string_of(next((name for name in names if is_truthy(name)), "")).upper()
