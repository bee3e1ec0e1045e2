"""Collapsed groups as they are written: which documents a response's groups become, in which batches.

Nothing here writes. A request becomes a plan of upserts that the owner of the index carries
out batch by batch; carrying out a plan twice leaves what carrying it out once left.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from weft.context.recipes.collapsed_groups import (
    DocumentReader,
    Documents,
    GroupParts,
    GroupScope,
    group_name,
    groups_of_response,
)
from weft.context.recipes.js_compat import fields_of, is_truthy, items_of, string_of
from weft.errors import InvalidInputError
from weft.tree.content import is_storable
from weft.tree.json import JsonObject, JsonValue
from weft.tree.record import ID_LIMIT

BATCH = 400
"""As many writes as the original service put into one transaction."""
MOST_GROUPS = 200
"""A message that one request puts into more groups than this has an entry for each of them, aside."""
_UNKNOWN = "unknown"
"""Stands for the response of groups that came without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upsert:
    """One document to be written: into the one that is there, or in its place; None takes away."""

    shelf: GroupParts
    key: str
    document: JsonObject | None
    merge: bool = True
    """Fields that it does not name stay, such as the other groups of a message."""

    def over(self, before: JsonObject | None) -> JsonObject | None:
        """What is there afterwards."""
        if self.document is None or before is None or not self.merge:
            return self.document
        return _merged(before, self.document)


def _merged(before: JsonObject, after: JsonObject) -> JsonObject:
    merged: dict[str, JsonValue] = {**before}
    for name, value in after.items():
        inner = before.get(name)
        if isinstance(inner, Mapping) and isinstance(value, Mapping):
            merged[name] = _merged(inner, value)
        else:
            merged[name] = value
    return merged


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPlan:
    """What to write, and what to answer when it is written."""

    scope: GroupScope
    upserts: Sequence[Upsert] = ()
    answer: JsonObject = field(default_factory=dict[str, JsonValue])

    @property
    def batches(self) -> Iterator[Sequence[Upsert]]:
        return (self.upserts[start : start + BATCH] for start in range(0, len(self.upserts), BATCH))


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRequest:
    """Groups to index: those given, or those of a response that is kept already."""

    session_id: str
    response_id: str | None = None
    groups: Sequence[JsonValue] | None = None
    reverse: bool = True
    """Whether the response remembers its groups, so that they can be taken out again."""

    @property
    def wants_response(self) -> bool:
        """Whether the response has to be read for its groups."""
        return self.groups is None


def read_index_request(body: JsonValue) -> IndexRequest:
    """Check a request's body; a mistake is an `InvalidInputError` that names the field."""
    fields = _object(body)
    session_id = _id(fields, "sessionId", needed=True)
    response_id = _id(fields, "responseId")
    said = fields.get("groups")
    groups = said if isinstance(said, list | tuple) else None
    if groups is None and response_id is None:
        raise InvalidInputError("Either responseId or groups must be provided", path="groups")
    if groups is None and is_truthy(said):
        raise InvalidInputError("groups must be an array", path="groups")
    return IndexRequest(
        session_id=session_id or "",
        response_id=response_id,
        groups=groups,
        reverse=fields.get("includeResponseToGroups") is not False,
    )


def plan_index(
    request: IndexRequest, *, user_id: str | None, now: float, response: JsonObject | None = None
) -> IndexPlan:
    """Index the groups by message, by name and by response; the last to index a name has it.

    A group whose name has nothing in it that a name can have is passed over.
    """
    if request.groups is None and response is None:
        raise InvalidInputError(
            f"responseId: there is no response {request.response_id!r} in session {request.session_id!r}",
            path="responseId",
        )
    groups = groups_of_response(response or {}) if request.groups is None else request.groups
    origin: JsonObject = {"responseId": request.response_id or _UNKNOWN, "updated_at": now}
    upserts: list[Upsert] = []
    names: list[str] = []
    members: dict[str, dict[str, JsonObject]] = {}
    for group in map(fields_of, groups):
        name = group_name(group.get("name"))
        if not name:
            continue
        names.append(name)
        items = items_of(group.get("items"))
        size: JsonObject = {**origin, "size": len(items)}
        upserts.append(Upsert(shelf=GroupParts.GROUP_TO_RESPONSE, key=name, document=size))
        for member in _message_ids(items):
            members.setdefault(member, {})[name] = origin
    upserts += (
        upsert
        for member, groups_of_member in members.items()
        for upsert in _of_message(member, groups_of_member)
    )
    if names and request.reverse:
        listed: JsonObject = {"groups": names, "updated_at": now}
        key = request.response_id or _UNKNOWN
        upserts.append(Upsert(shelf=GroupParts.RESPONSE_TO_GROUPS, key=key, document=listed))
    answer: JsonObject = {
        "ok": True,
        "indexed_groups": len(names),
        "indexed_messages": len(members),
        "batches": -(-len(upserts) // BATCH),
    }
    scope = GroupScope(session_id=request.session_id, user_id=user_id)
    return IndexPlan(scope=scope, upserts=upserts, answer=answer)


def _message_ids(items: Sequence[object]) -> Iterator[str]:
    """The messages among a group's items; collapsed groups inside it have an index of their own."""
    for item in map(fields_of, items):
        own_id = item.get("id")
        if item.get("type") == "message" and is_truthy(own_id):
            yield string_of(own_id)


def _of_message(member: str, groups: Mapping[str, JsonObject]) -> Iterator[Upsert]:
    if len(groups) <= MOST_GROUPS:
        yield Upsert(shelf=GroupParts.MESSAGE_TO_GROUPS, key=member, document={"groups": groups})
        return
    for name, origin in groups.items():
        yield Upsert(shelf=GroupParts.BY_MESSAGE, key=f"{member}/groups/{name}", document=origin)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRequest:
    """A group to be shown open or closed."""

    session_id: str
    group: str
    expanded: bool
    response_id: str | None = None


def read_state_request(body: JsonValue) -> StateRequest:
    fields = _object(body)
    session_id = _id(fields, "sessionId", needed=True)
    group = group_name(fields.get("group"))
    if not group:
        raise InvalidInputError("group must be a name with letters or digits in it", path="group")
    expanded = fields.get("expanded")
    if not isinstance(expanded, bool):
        raise InvalidInputError("expanded must be true or false", path="expanded")
    return StateRequest(
        session_id=session_id or "", group=group, expanded=expanded, response_id=_id(fields, "responseId")
    )


def plan_state(request: StateRequest, *, user_id: str | None, now: float) -> IndexPlan:
    """Open or close a group: its messages are shown themselves, or its placeholder is."""
    document: dict[str, JsonValue] = {"expanded": request.expanded, "updated_at": now}
    if request.response_id is not None:
        document["responseId"] = request.response_id
    return IndexPlan(
        scope=GroupScope(session_id=request.session_id, user_id=user_id),
        upserts=[Upsert(shelf=GroupParts.GROUP_STATE, key=request.group, document=document)],
        answer={"ok": True, "group": request.group, "expanded": request.expanded, "updated_at": now},
    )


def read_removal_request(body: JsonValue) -> tuple[str, str]:
    """The session, and the response whose groups are to be forgotten."""
    fields = _object(body)
    session_id, response_id = (_id(fields, name, needed=True) for name in ("sessionId", "responseId"))
    return session_id or "", response_id or ""


def plan_removal(
    response_id: str,
    response_groups: JsonObject | None,
    memberships: Documents,
    owners: Documents,
    scope: GroupScope,
) -> IndexPlan:
    """Take a response's groups out of the index again, as far as they still are its own.

    `response_groups` is the response's entry in the reverse index, `memberships` those of the
    messages concerned, `owners` the groups' entries by name.
    """
    listed = (response_groups or {}).get("groups")
    names = (
        {each for each in listed if isinstance(each, str)} if isinstance(listed, list | tuple) else set[str]()
    )
    upserts = [
        Upsert(shelf=shelf, key=name, document=None)
        for name in sorted(names)
        if owners.get(name, {}).get("responseId") == response_id
        for shelf in (GroupParts.GROUP_TO_RESPONSE, GroupParts.GROUP_STATE)
    ]
    for key, document in memberships.items():
        groups = document.get("groups")
        if isinstance(groups, Mapping):
            kept = {name: entry for name, entry in groups.items() if not _is_of(entry, response_id)}
            if len(kept) < len(groups):
                left: JsonObject | None = {"groups": kept} if kept else None
                upserts.append(
                    Upsert(shelf=GroupParts.MESSAGE_TO_GROUPS, key=key, document=left, merge=False)
                )
    upserts.append(Upsert(shelf=GroupParts.RESPONSE_TO_GROUPS, key=response_id, document=None))
    return IndexPlan(scope=scope, upserts=upserts, answer={"ok": True, "removed_groups": len(names)})


def _is_of(entry: JsonValue, response_id: str) -> bool:
    return isinstance(entry, Mapping) and entry.get("responseId") == response_id


def _object(body: JsonValue) -> JsonObject:
    if not isinstance(body, Mapping):
        raise InvalidInputError("the body must be an object")
    return body


def _id(fields: JsonObject, name: str, *, needed: bool = False) -> str | None:
    value = fields.get(name)
    if value is None or value == "":
        if needed:
            raise InvalidInputError(f"{name} is required", path=name)
        return None
    if not isinstance(value, str) or "/" in value:
        raise InvalidInputError(f"{name} must be a string without slashes", path=name)
    if len(value) > ID_LIMIT or not is_storable(value):
        raise InvalidInputError(
            f"{name} must have at most {ID_LIMIT:,} characters, none of them NUL or half a character",
            path=name,
        )
    return value


class MemoryIndex:
    """An index in memory, kept as documents by path."""

    __slots__ = ("documents",)

    def __init__(self, documents: Documents | None = None) -> None:
        self.documents: dict[str, JsonObject] = dict(documents or {})

    @property
    def reader(self) -> DocumentReader:
        return DocumentReader(self.documents)

    def write(self, plan: IndexPlan) -> list[int]:
        """Carry out a plan; how many writes each batch had."""
        sizes: list[int] = []
        for batch in plan.batches:
            for upsert in batch:
                self._put(plan.scope.path_of(upsert.shelf, upsert.key), upsert)
            sizes.append(len(batch))
        return sizes

    def _put(self, path: str, upsert: Upsert) -> None:
        document = upsert.over(self.documents.get(path))
        if document is None:
            self.documents.pop(path, None)
        else:
            self.documents[path] = document
