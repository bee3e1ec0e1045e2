"""Cache marks on a plain list of messages in Anthropic's shape."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from weft.context.message_dict import PlainMessage
from weft.tree.cache_profile import CacheProfile

_UNMARKED = frozenset({"thinking", "redacted_thinking"})
_CONTROL = "cache_control"


def has_marks(*values: object) -> bool:
    """Whether the client marked prefixes itself: then it knows what it sends again."""
    pending: list[object] = list(values)
    while pending:
        value = pending.pop()
        if isinstance(value, Mapping):
            fields = cast("Mapping[str, object]", value)
            if _CONTROL in fields:
                return True
            pending.append(fields.get("content"))
        elif isinstance(value, list | tuple):
            pending.extend(cast("Sequence[object]", value))
    return False


def marked_system(system: Any, profile: CacheProfile) -> Any:
    """The system field with a mark at its end."""
    if isinstance(system, str):
        blocks = [{"type": "text", "text": system, _CONTROL: dict(profile.control)}]
        return blocks if system else system
    given = cast("list[Any]", system) if isinstance(system, list) else []
    return [*given[:-1], {**given[-1], _CONTROL: dict(profile.control)}] if given else cast("Any", system)


def marked_messages(messages: Sequence[PlainMessage], profile: CacheProfile) -> list[PlainMessage]:
    """The messages with a mark at their end, and one where the request before this one ended.

    A request looks back from a mark over a few blocks only. A turn with many calls would put the end of the
    request before out of reach, so that is marked again.
    """
    listed = list(messages)
    for place in sorted(_ends(listed)):
        listed[place] = _marked(listed[place], profile)
    return listed


def _ends(messages: Sequence[PlainMessage]) -> set[int]:
    last = len(messages) - 1
    answers = [place for place, each in enumerate(messages) if each.get("role") == "assistant"]
    places = {last} if messages else set[int]()
    if answers and answers[-1] > 0:
        places.add(answers[-1] - 1)
    return {place for place in places if _markable(messages[place]) is not None}


def _markable(message: PlainMessage) -> int | None:
    """The last block that takes a mark; of a string the only one."""
    content = message.get("content")
    if isinstance(content, str):
        return 0 if content else None
    blocks = cast("Sequence[Mapping[str, Any]]", content) if isinstance(content, list | tuple) else ()
    for place in range(len(blocks) - 1, -1, -1):
        block = blocks[place]
        if block.get("type") not in _UNMARKED and block.get("text") != "":
            return place
    return None


def _marked(message: PlainMessage, profile: CacheProfile) -> PlainMessage:
    content: Any = message["content"]
    control = {_CONTROL: dict(profile.control)}
    if isinstance(content, str):
        return {**message, "content": [{"type": "text", "text": content, **control}]}
    place = _markable(message)
    if place is None:
        return message
    blocks: list[Any] = list(content)
    blocks[place] = {**blocks[place], **control}
    return {**message, "content": blocks}
