"""The planner: which tools a turn needs, by a model's JSON list of calls or by rules."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from weft.context.envelope import Envelope, Segment
from weft.context.items.item_types import LayerId
from weft.errors import InvalidInputError
from weft.runtime.runners.question_words import Wish, asks_for, is_only
from weft.tree.json import JsonObject, JsonValue

MOST_CALLS = 8
"""Tools of one turn."""
_QUESTION_LIMIT = 4_000
_INSTRUCTIONS = """\
You choose the tools that are needed to answer a question. You do not answer it.
Reply with a JSON array and nothing else. Each element is one call: {"name": "…", "arguments": {…}}.
Use only the tools below, with arguments that match their schemas; at most %d calls.
Reply with [] if no tool is needed: for small talk, for writing, or where the attached items are enough.

Tools:
%s"""
_QUESTION = "Question:\n%s"
_ATTACHED = "Attached to the question (their contents are not shown here):\n%s"
_AGAIN = "That was not valid: %s\nReply with the corrected JSON array and nothing else."
_FENCE = re.compile(r"\A\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)


class PlannedTool(NamedTuple):
    """A tool to run, and its arguments."""

    name: str
    arguments: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class KnownTool:
    """A tool as the planner knows it."""

    name: str
    description: str
    schema: JsonObject
    check: Callable[[Mapping[str, JsonValue]], None]
    """Raises `InvalidInputError` for arguments that do not match."""


class TurnSummary(NamedTuple):
    """What the planner is shown of a turn: L5, and metadata of L3."""

    question: str
    attached: tuple[str, ...]

    @classmethod
    def of(cls, envelope: Envelope) -> "TurnSummary":
        """L5 as typed; of each item of L3 its type and id, and nothing that it says."""
        items = envelope.layer(LayerId.TURN).segments
        return cls(envelope.layer(LayerId.USER).text, tuple(map(_item_line, items)))

    @property
    def text(self) -> str:
        parts = [_QUESTION % self.question]
        if self.attached:
            parts.insert(0, _ATTACHED % "\n".join(self.attached))
        return "\n\n".join(parts)


def _item_line(item: Segment) -> str:
    return f"- {item.metadata.get('type', 'item')}: {json.dumps(item.id, ensure_ascii=False)}"


def planner_instructions(tools: Sequence[KnownTool]) -> str:
    """The system text of the planner: the same bytes for the same tools."""
    listed = "\n".join(
        json.dumps(
            {"name": each.name, "description": each.description, "arguments": each.schema},
            ensure_ascii=False,
            sort_keys=True,
            separators=(",", ":"),
        )
        for each in tools
    )
    return _INSTRUCTIONS % (MOST_CALLS, listed)


def retry_text(error: InvalidInputError) -> str:
    """What a model is told whose list is not valid."""
    return _AGAIN % error.message


def read_plan(text: str, tools: Sequence[KnownTool]) -> list[PlannedTool]:
    """A model's list of calls, each checked against its tool's schema; else an error that says what is wrong."""
    fenced = _FENCE.match(text)
    try:
        value: object = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        raise InvalidInputError("the reply is not JSON") from None
    if not isinstance(value, list):
        raise InvalidInputError("the reply is not a JSON array")
    if len(value) > MOST_CALLS:  # pyright: ignore[reportUnknownArgumentType] - a list of anything
        raise InvalidInputError(f"{len(value):,} calls; the most is {MOST_CALLS}")  # pyright: ignore[reportUnknownArgumentType] - as above
    known = {each.name: each for each in tools}
    return [_read_call(each, known, f"[{index}]") for index, each in enumerate(value)]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - as above


def _read_call(value: object, tools: Mapping[str, KnownTool], path: str) -> PlannedTool:
    if not isinstance(value, Mapping) or set(value) - {"name", "arguments"}:  # pyright: ignore[reportUnknownArgumentType] - a mapping of anything
        raise InvalidInputError(f'{path} is not {{"name": …, "arguments": {{…}}}}')
    name, arguments = value.get("name"), value.get("arguments", {})  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - as above
    if not isinstance(name, str) or name not in tools:
        raise InvalidInputError(f"{path}.name is {name!r}; the tools are {', '.join(tools)}")
    if not isinstance(arguments, Mapping):
        raise InvalidInputError(f"{path}.arguments must be an object")
    call = PlannedTool(name, dict(arguments))  # pyright: ignore[reportUnknownArgumentType] - checked by the tool
    tools[name].check(call.arguments)
    return call


_LINK = re.compile(r"\[\[([^\[\]|#\n]{1,200})(?:[|#][^\[\]\n]*)?\]\]")
_PATH = re.compile(
    r"(?<![\w/.])[\w./-]{1,200}\.md\b|(?<=[\"'“„«「『`])[\w][\w ./-]{0,199}\.md(?=[\"'”“»」』`])"
)
_URL = re.compile(r"https?://[^\s<>\"')\]，。、）」]+")


def plan_by_rules(turn: TurnSummary, tools: Sequence[KnownTool]) -> list[PlannedTool]:
    """Calls that the words of a question ask for; a search of the notes for any real question."""
    found: list[PlannedTool] = []
    known = {each.name: each for each in tools}
    for call in _ruled(turn.question[:_QUESTION_LIMIT]):
        tool = known.get(call.name)
        if tool is None or call in found or len(found) == MOST_CALLS:
            continue
        try:
            tool.check(call.arguments)
        except InvalidInputError:
            continue
        found.append(call)
    return found


def _ruled(question: str) -> Iterator[PlannedTool]:
    if is_only(question, Wish.TALK):
        return
    for path in (*_LINK.findall(question), *_PATH.findall(question)):
        yield PlannedTool("readNote", {"path": path.strip()})
    for url in _URL.findall(question):
        yield PlannedTool("readUrl", {"url": url.rstrip(".,;:!?")})
    if asks_for(question, Wish.TIME):
        yield PlannedTool("getTimeInfo", {})
    if asks_for(question, Wish.TREE) or (asks_for(question, Wish.LISTING) and asks_for(question, Wish.FILES)):
        yield PlannedTool("getFileTree", {})
    if asks_for(question, Wish.WEB):
        yield PlannedTool("webSearch", {"query": question})
    yield PlannedTool("localSearch", {"query": question})
