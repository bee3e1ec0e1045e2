"""Tools in words, for models without tool calling: how they are described, called and answered.

A call is `<use_tool name="NAME">{"argument": "value"}</use_tool>` on lines of its own, outside of code
blocks and quotations. A result is `<tool_result name="NAME">…</tool_result>`.
"""

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from weft.context.items.blocks import leave_open
from weft.context.rows import Candidate
from weft.tree.content import Block, Text, ToolCall, ToolResult
from weft.tree.json import JsonValue
from weft.tree.message import Message
from weft.tree.node import Role
from weft.tree.tool_spec import ToolSpec

_CALL_TOKENS = 16
"""What the tags around a call add to its name and arguments, at most."""
_RESULT_TOKENS = 36
"""What the tags around a result add to its text, at most: the name is not stored with it."""
_ELEMENT = "use_tool"
_TAG = f"<{_ELEMENT}"
_END = f"</{_ELEMENT}"
_RESULT = "tool_result"
_BLANKS = re.compile(r"\s*")
_OPEN = re.compile(r'[ \t]*<use_tool\s+name\s*=\s*"(?P<name>[^"<>\n]{1,64})"\s*>')
_CLOSE = re.compile(r"</use_tool\s*>")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_INTRODUCTION = """# Tools

You can use the tools below. To use one, write on lines of its own, outside of code blocks and quotations:

<use_tool name="NAME">{"argument": "value"}</use_tool>

Its content is one JSON object that fits the tool's schema. You may use several tools, one right after \
another. End your message there: the results follow, in the same order, as \
<tool_result name="NAME">…</tool_result>. Never write a result yourself. Without a tool, answer in words."""


def describe_tools(tools: Sequence[ToolSpec]) -> str:
    """The tools and how they are used, for the system message; nothing if there are none."""
    if not tools:
        return ""
    return "\n\n".join([_INTRODUCTION, *map(_described, tools)])


def _described(tool: ToolSpec) -> str:
    schema = json.dumps(tool.schema, ensure_ascii=False)
    return "\n".join(filter(None, [f"## {tool.name}", tool.description.strip(), f"Arguments: {schema}"]))


class TextCalls(NamedTuple):
    """What a model wrote, with its calls read."""

    words: str
    """Before the first call."""
    calls: tuple[tuple[str, JsonValue], ...]
    """Names and arguments; arguments that are not JSON stay the text they are."""
    rest: str
    """After the last call: words that are not the model's to say before the results are there."""

    @property
    def is_over(self) -> bool:
        """Whether no further call can follow."""
        return bool(self.rest) and not (self.rest.startswith(_TAG) or _TAG.startswith(self.rest))


def read_calls(text: str) -> TextCalls | None:
    """The calls in a model's own output, where it has any; what is quoted or in a code block is none."""
    place = _first_call(text)
    if place is None:
        return None
    calls: list[tuple[str, JsonValue]] = []
    words, end = text[:place].rstrip(), place
    while (opened := _OPEN.match(text, end)) is not None:
        read = _arguments(text, opened.end())
        if read is None:
            break
        arguments, end = read
        calls.append((opened["name"], arguments))
        end = _past_blanks(text, end)
    return TextCalls(words, tuple(calls), text[end:]) if calls else None


def _first_call(text: str) -> int | None:
    """Where the first call begins that is on a line of its own, in no code block and no quotation."""
    fence, start, last = "", 0, text.rfind(_TAG)
    while start <= last:
        stop = text.find("\n", start) + 1 or len(text) + 1
        line = text[start:stop]
        marked = _FENCE.match(line)
        if fence:
            if marked and marked[1][0] == fence[0] and len(marked[1]) >= len(fence):
                fence = ""
        elif marked:
            fence = marked[1]
        elif _OPEN.match(line):
            return start
        start = stop
    return None


def _arguments(text: str, start: int) -> tuple[JsonValue, int] | None:
    """The arguments of a call and the place after it; None where it does not end."""
    try:
        value, end = json.JSONDecoder().raw_decode(text, _past_blanks(text, start))
    except (ValueError, RecursionError):
        pass
    else:
        end = _past_blanks(text, end)
        if (closed := _CLOSE.match(text, end)) is not None:
            return value, closed.end()
    closed = _CLOSE.search(text, start)
    if closed is None:
        return None
    written = text[start : closed.start()].strip()
    return written or {}, closed.end()


def _past_blanks(text: str, place: int) -> int:
    blanks = _BLANKS.match(text, place)
    return place if blanks is None else blanks.end()


class CallWatch:
    """Watches a model's words as they arrive: after its calls it has nothing to say."""

    __slots__ = ("_closed", "_parts", "_tail")

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._tail = ""
        self._closed = False

    def hear(self, text: str) -> bool:
        """Some more words. True: the calls are complete, and no more is wanted."""
        self._parts.append(text)
        self._tail = (self._tail + text)[-len(text) - len(_END) :]
        self._closed = self._closed or _END in self._tail
        if not self._closed or not text.strip():
            return False
        read = read_calls("".join(self._parts))
        return read is not None and read.is_over


def with_calls(blocks: Sequence[Block], call_id: str) -> tuple[Block, ...]:
    """The blocks of an answer with the calls in its words as blocks; `call_id` begins their ids."""
    words = "".join(block.text for block in blocks if isinstance(block, Text))
    read = read_calls(words)
    if read is None:
        return tuple(blocks)
    others = tuple(block for block in blocks if not isinstance(block, Text))
    calls = tuple(
        ToolCall(id=f"{call_id}_{index}", name=name, arguments=arguments)
        for index, (name, arguments) in enumerate(read.calls)
    )
    return (*others, *([Text(read.words)] if read.words else ()), *calls)


def tag_tokens(row: Candidate) -> int:
    """What the tags around a level's calls and results cost."""
    if row.tools is None:
        return 0
    return _CALL_TOKENS * len(row.tools.calls) + _RESULT_TOKENS * len(row.tools.results)


def in_words(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Messages for a model without tool calling: every call and result as text, block for block."""
    kinds = {type(block) for message in messages for block in message.blocks}
    if not kinds & {ToolCall, ToolResult}:
        return tuple(messages)
    names = {
        block.id: block.name
        for message in messages
        for block in message.blocks
        if isinstance(block, ToolCall)
    }
    return tuple(
        Message(
            Role.USER if message.role is Role.TOOL else message.role,
            tuple(_in_words(block, number, names) for number, block in enumerate(message.blocks)),
        )
        if message.calls or message.results
        else message
        for message in messages
    )


def _in_words(block: Block, number: int, names: dict[str, str]) -> Block:
    # Words of one message are joined as they are: what follows another block begins on a new line.
    before = "\n\n" if number else ""
    match block:
        case ToolCall():
            arguments = json.dumps(block.arguments, ensure_ascii=False)
            return Text(f'{before}<{_ELEMENT} name="{block.name}">{arguments}</{_ELEMENT}>')
        case ToolResult():
            text = block.content if isinstance(block.content, str) else json.dumps(block.content)
            failed = ' error="true"' if block.is_error else ""
            name = names.get(block.call_id, "")
            content = leave_open(text, _RESULT)
            return Text(f'{before}<{_RESULT} name="{name}"{failed}>\n{content}\n</{_RESULT}>')
        case Text() if number:
            return Text(f"\n\n{block.text}")
        case _:
            return block
