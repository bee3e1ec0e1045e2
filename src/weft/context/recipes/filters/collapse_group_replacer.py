"""Show one placeholder instead of the messages of a collapsed group."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from weft.context.recipes.collapsed_groups import (
    PLACEHOLDER,
    Documents,
    GroupMembership,
    GroupReader,
    GroupScope,
    is_expanded,
    newest_group,
    placeholder_text,
    told,
)
from weft.context.recipes.filters.base import FilterContext, Options, text
from weft.context.recipes.filters.option_rules import TEXT, accepts
from weft.context.recipes.filters.trace import id_of_message
from weft.context.recipes.js_compat import fields_of, parse_json, string_of


@accepts(sessionId=TEXT, userId=TEXT)
def collapse_groups(messages: Sequence[object], options: Options, context: FilterContext) -> list[object]:
    """Replace each group's messages by a system message where its first one stood.

    A message in several groups counts to the newest. An expanded group's messages stay,
    and say which group they are of. What is a placeholder already stays as it is.
    """
    session_id = context.session_id or text(options, "sessionId", "")
    user_id = context.user_id or text(options, "userId", "") or None
    if context.groups is None or not session_id:
        return list(messages)
    index = _Index(context.groups, GroupScope(session_id=session_id, user_id=user_id))
    members = index.members(messages)
    firsts = _firsts(members)
    expanded = {name for name, state in index.states(firsts).items() if is_expanded(state)}
    told_by = {firsts[name].response_key for name in firsts if name not in expanded}
    responses = index.responses(told_by)
    replaced: list[object] = []
    shown: set[str] = set()
    for position, message in enumerate(messages):
        member = members.get(position)
        if member is None:
            replaced.append(message)
        elif member.name in expanded:
            replaced.append(_annotated(message, firsts[member.name]))
            context.trace.kept(position, message, replaced[-1], f"of the expanded group {member.name}")
        else:
            if member.name not in shown:
                shown.add(member.name)
                replaced.append(_placeholder(member, responses))
                context.trace.added(replaced[-1], f"stands for the group {member.name}")
            context.trace.collapsed(position, message, f"of the group {member.name}")
    return replaced


@dataclass(frozen=True, slots=True)
class _Index:
    """Groups of a user, and where the user has none, those without a user."""

    reader: GroupReader
    scope: GroupScope

    def members(self, messages: Sequence[object]) -> dict[int, GroupMembership]:
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
        documents = read(self.scope, ids)
        rest = [each for each in ids if each not in documents]
        nobodys = self.scope.unscoped
        return {**read(nobodys, rest), **documents} if rest and nobodys is not None else documents


def _key(message: object) -> str | None:
    own_id = id_of_message(message)
    return None if own_id is None else string_of(own_id)


def is_placeholder(message: object) -> bool:
    """Whether a message stands for a collapsed group already."""
    content = fields_of(message).get("content")
    if not isinstance(content, str) or PLACEHOLDER not in content:
        return False
    try:
        value = parse_json(content)
    except ValueError:
        return False
    return (
        isinstance(value, Mapping) and value.get("type") == PLACEHOLDER and isinstance(value.get("name"), str)
    )


def _firsts(members: Mapping[int, GroupMembership]) -> dict[str, GroupMembership]:
    """For each group the membership of its first message: the one that speaks for it."""
    firsts: dict[str, GroupMembership] = {}
    for member in members.values():
        firsts.setdefault(member.name, member)
    return firsts


def _placeholder(member: GroupMembership, responses: Documents) -> Mapping[str, object]:
    telling = told(responses.get(member.response_key), member.name)
    return {"role": "system", "content": placeholder_text(member.name, member.response_id, telling)}


def _annotated(message: object, first: GroupMembership) -> Mapping[str, object]:
    group = {"name": first.name, "expanded": True, "responseId": first.response_id}
    return {**fields_of(message), "collapsedGroupId": first.name, "collapsedGroup": group}
