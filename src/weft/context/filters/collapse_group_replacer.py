"""Show one placeholder instead of the messages of a collapsed group."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from weft.context.filters.base import FilterContext, Options
from weft.context.filters.trace import id_of_message
from weft.context.groups import (
    Documents,
    GroupReader,
    GroupScope,
    Membership,
    is_expanded,
    newest_group,
    told,
)
from weft.context.javascript import compact_json, fields_of, number_text, parse_json

__all__ = ["collapse_groups", "is_placeholder"]

_TYPE = "collapsed_group"


def collapse_groups(messages: Sequence[object], options: Options, context: FilterContext) -> list[object]:
    """Replace each group's messages by a system message where its first one stood.

    A message in several groups counts to the newest. An expanded group's messages stay,
    and say which group they are of. What is a placeholder already stays as it is.
    """
    del options
    if context.groups is None or context.session_id is None:
        return list(messages)
    index = _Index(context.groups, GroupScope(session_id=context.session_id, user_id=context.user_id))
    members = index.members(messages)
    names = {member.name for member in members.values()}
    expanded = {name for name, state in index.states(names).items() if is_expanded(state)}
    found: list[object] = []
    shown: set[str] = set()
    firsts = _firsts(members, expanded)
    responses = index.responses({member.response_id for member in firsts if member.response_id})
    for position, message in enumerate(messages):
        member = members.get(position)
        if member is None:
            found.append(message)
        elif member.name in expanded:
            found.append(_annotated(message, member))
            context.trace.kept(position, message, found[-1], f"of the expanded group {member.name}")
        else:
            if member.name not in shown:
                shown.add(member.name)
                found.append(_placeholder(member, responses))
                context.trace.added(found[-1], f"stands for the group {member.name}")
            context.trace.collapsed(position, message, f"of the group {member.name}")
    return found


@dataclass(frozen=True, slots=True)
class _Index:
    """Groups of a user, and where the user has none, everybody's."""

    reader: GroupReader
    scope: GroupScope

    def members(self, messages: Sequence[object]) -> dict[int, Membership]:
        """The group of each message that is in one, by the message's place."""
        ids = [(place, key) for place, message in enumerate(messages) if (key := _key(message)) is not None]
        documents = self._read(self.reader.memberships, {key for _, key in ids})
        groups = {key: newest_group(document) for key, document in documents.items()}
        return {
            place: group
            for place, key in ids
            if (group := groups.get(key)) is not None and not is_placeholder(messages[place])
        }

    def states(self, names: Collection[str]) -> Documents:
        return self._read(self.reader.states, names)

    def responses(self, ids: Collection[str]) -> Documents:
        return self._read(self.reader.responses, ids)

    def _read(
        self, read: Callable[[GroupScope, Collection[str]], Documents], ids: Collection[str]
    ) -> Documents:
        if not ids:
            return {}
        found = read(self.scope, ids)
        rest = [each for each in ids if each not in found]
        everybody = self.scope.unscoped
        return {**read(everybody, rest), **found} if rest and everybody is not None else found


def _key(message: object) -> str | None:
    found = id_of_message(message)
    if isinstance(found, int | float) and not isinstance(found, bool):
        return number_text(found)
    return found if isinstance(found, str) else None


def is_placeholder(message: object) -> bool:
    """Whether a message stands for a collapsed group already."""
    fields = fields_of(message)
    content = fields.get("content")
    if fields.get("role") != "system" or not isinstance(content, str) or _TYPE not in content:
        return False
    try:
        value = parse_json(content)
    except ValueError:
        return False
    return isinstance(value, Mapping) and value.get("type") == _TYPE


def _firsts(members: Mapping[int, Membership], expanded: Collection[str]) -> list[Membership]:
    """For each collapsed group the membership of its first message: the one that speaks for it."""
    found: dict[str, Membership] = {}
    for member in members.values():
        if member.name not in expanded:
            found.setdefault(member.name, member)
    return list(found.values())


def _placeholder(member: Membership, responses: Documents) -> Mapping[str, object]:
    response = responses.get(member.response_id) if member.response_id else None
    content = {"type": _TYPE, "name": member.name, **member.origin, **told(response, member.name).to_wire()}
    return {"role": "system", "content": compact_json(content)}


def _annotated(message: object, member: Membership) -> Mapping[str, object]:
    group = {"name": member.name, "expanded": True, **member.origin}
    return {**fields_of(message), "collapsedGroupId": member.name, "collapsedGroup": group}
