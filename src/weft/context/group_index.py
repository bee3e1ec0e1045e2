"""Collapsed groups as they are written: which documents a response's groups become, in which batches.

Nothing here writes. A request becomes a plan of upserts that whoever keeps the index carries
out batch by batch; carrying out a plan twice leaves what carrying it out once left.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from weft.context.groups import DocumentReader, Documents, GroupScope, Shelf, group_name, groups_of_response
from weft.errors import InvalidInputError, NotFoundError
from weft.tree.json import JsonObject, JsonValue

__all__ = [
    "BATCH",
    "IndexPlan",
    "IndexRequest",
    "MemoryIndex",
    "StateRequest",
    "Upsert",
    "plan_index",
    "plan_removal",
    "plan_state",
    "read_index_request",
    "read_state_request",
]

BATCH = 400
"""As many writes as the original service put into one transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upsert:
    """One document to be written: over whatever is there, or into its `groups`; None takes away."""

    shelf: Shelf
    key: str
    document: JsonObject | None
    merge: bool = False
    """Other groups of the same message stay."""


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
    groups: Sequence[JsonObject] | None = None

    @property
    def wants_response(self) -> bool:
        """Whether the response has to be read for its groups."""
        return self.groups is None


def read_index_request(body: JsonValue) -> IndexRequest:
    """Check a request's body; a mistake is an `InvalidInputError` that names the field."""
    fields = _object(body)
    session_id = _id(fields, "sessionId", needed=True)
    response_id = _id(fields, "responseId")
    groups = fields.get("groups")
    if groups is None and response_id is None:
        raise InvalidInputError("Either responseId or groups must be provided")
    if groups is not None and not isinstance(groups, list | tuple):
        raise InvalidInputError("groups must be an array")
    given = None if groups is None else [group for group in groups if isinstance(group, Mapping)]
    return IndexRequest(session_id=session_id or "", response_id=response_id, groups=given)


def plan_index(
    request: IndexRequest, *, user_id: str | None, now: float, response: JsonObject | None = None
) -> IndexPlan:
    """Index the groups by message, by name and by response; the last to index a name has it.

    A group whose name has nothing in it that a name can have is passed over.
    """
    if request.groups is None and response is None:
        raise NotFoundError(f"there is no response {request.response_id!r} in session {request.session_id!r}")
    groups = groups_of_response(response or {}) if request.groups is None else request.groups
    upserts: list[Upsert] = []
    names: list[str] = []
    messages = 0
    for group in groups:
        name = group_name(group.get("name"))
        if not name:
            continue
        members = _message_ids(group)
        names.append(name)
        messages += len(members)
        origin: dict[str, JsonValue] = {"responseId": request.response_id, "updated_at": now}
        upserts.append(
            Upsert(shelf=Shelf.GROUP_TO_RESPONSE, key=name, document={**origin, "size": len(members)})
        )
        upserts += (
            Upsert(shelf=Shelf.MESSAGE_TO_GROUPS, key=member, document={"groups": {name: origin}}, merge=True)
            for member in members
        )
    if names and request.response_id is not None:
        listed = list(dict.fromkeys(names))
        upserts.append(
            Upsert(
                shelf=Shelf.RESPONSE_TO_GROUPS,
                key=request.response_id,
                document={"groups": listed, "updated_at": now},
            )
        )
    answer: JsonObject = {
        "ok": True,
        "indexed_groups": len(names),
        "indexed_messages": messages,
        "batches": -(-len(upserts) // BATCH),
    }
    scope = GroupScope(session_id=request.session_id, user_id=user_id)
    return IndexPlan(scope=scope, upserts=upserts, answer=answer)


def _message_ids(group: JsonObject) -> list[str]:
    """The messages of a group, each once; collapsed groups inside it have an index of their own."""
    items = group.get("items")
    if not isinstance(items, list | tuple):
        return []
    found = [item.get("id") for item in items if isinstance(item, Mapping) and item.get("type") == "message"]
    return list(dict.fromkeys(each for each in found if isinstance(each, str) and each))


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
        raise InvalidInputError("group must be a name with letters or digits in it")
    expanded = fields.get("expanded")
    if not isinstance(expanded, bool):
        raise InvalidInputError("expanded must be true or false")
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
        upserts=[Upsert(shelf=Shelf.GROUP_STATE, key=request.group, document=document)],
        answer={"ok": True, "group": request.group, "expanded": request.expanded, "updated_at": now},
    )


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
        for shelf in (Shelf.GROUP_TO_RESPONSE, Shelf.GROUP_STATE)
    ]
    for key, document in memberships.items():
        groups = document.get("groups")
        if isinstance(groups, Mapping):
            kept = {name: entry for name, entry in groups.items() if not _is_of(entry, response_id)}
            if len(kept) < len(groups):
                left: JsonObject | None = {"groups": kept} if kept else None
                upserts.append(Upsert(shelf=Shelf.MESSAGE_TO_GROUPS, key=key, document=left))
    upserts.append(Upsert(shelf=Shelf.RESPONSE_TO_GROUPS, key=response_id, document=None))
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
            raise InvalidInputError(f"{name} is required")
        return None
    if not isinstance(value, str) or "/" in value:
        raise InvalidInputError(f"{name} must be a string without slashes")
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
        if upsert.document is None:
            self.documents.pop(path, None)
            return
        before = self.documents.get(path, {}).get("groups") if upsert.merge else None
        if isinstance(before, Mapping):
            added = cast("JsonObject", upsert.document["groups"])
            self.documents[path] = {**self.documents[path], "groups": {**before, **added}}
        else:
            self.documents[path] = upsert.document
