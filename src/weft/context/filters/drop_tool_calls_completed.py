"""Of the messages that only say that tools are done, keep the last."""

from collections.abc import Sequence

from weft.context.filters.base import FilterContext, Options, text, unless_false
from weft.context.js_compat import fields_of, is_truthy, trim

PHRASE = "Tool calls completed"


def drop_tool_calls_completed(
    messages: Sequence[object], options: Options, context: FilterContext
) -> list[object]:
    """Drop every user message that equals `phrase`, except the last, and whatever is no message at all.

    Contents are trimmed before they are compared, the phrase is not.
    """
    phrase = text(options, "phrase", PHRASE)
    trimmed = unless_false(options, "trim")
    sensitive = unless_false(options, "caseSensitive")
    wanted = phrase if sensitive else phrase.lower()

    def says_so(message: object) -> bool:
        fields = fields_of(message)
        content = fields.get("content")
        if fields.get("role") != "user" or not isinstance(content, str):
            return False
        content = trim(content) if trimmed else content
        return (content if sensitive else content.lower()) == wanted

    saying = [position for position, message in enumerate(messages) if says_so(message)]
    repeated = set(saying[:-1])
    found: list[object] = []
    for position, message in enumerate(messages):
        if position in repeated:
            context.trace.dropped(position, message, "said again later")
        elif not is_truthy(message):
            context.trace.dropped(position, message, "not a message")
        else:
            found.append(message)
    return found
