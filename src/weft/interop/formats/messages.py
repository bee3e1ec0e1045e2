"""Lists of messages: OpenAI and Anthropic requests, plain lists, ShareGPT, preference pairs."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import orjson

from weft.errors import InvalidInputError
from weft.interop.conversation import Part, SourceConversation, SourceRecord
from weft.interop.importer import FileValues, Importer, all_values, each_value
from weft.interop.loose_json import NOTHING, first_text, loads, mapping, moment, sequence, text
from weft.interop.message_parts import content_parts, openai_parts, responses_parts, role_named, tool_call
from weft.interop.source_file import SourceFile
from weft.tree.content import Text, ToolCall
from weft.tree.json import JsonObject, JsonValue
from weft.tree.node import Role

_LISTS = ("messages", "conversations", "conversation", "input", "items", "output", "history")
_PAIRS = (("chosen", "rejected"), ("chosen_messages", "rejected_messages"))
_ITEMS = {"message", "function_call", "function_call_output", "reasoning"}


def _is_message(value: JsonValue) -> bool:
    fields = mapping(value)
    return ("role" in fields and ("content" in fields or "tool_calls" in fields or "parts" in fields)) or (
        "from" in fields and "value" in fields
    )


def _is_item(value: JsonValue) -> bool:
    return text(mapping(value).get("type")) in _ITEMS and (
        _is_message(value) or "call_id" in mapping(value) or "summary" in mapping(value)
    )


def _listed(fields: JsonObject) -> Sequence[JsonValue]:
    for name in _LISTS:
        items = sequence(fields.get(name))
        if items and any(_is_message(item) or _is_item(item) for item in items):
            return items
    return ()


def _is_pair(fields: JsonObject) -> bool:
    return any(chosen in fields and rejected in fields for chosen, rejected in _PAIRS)


def _matches(file: SourceFile) -> bool:
    return any(
        _is_message(value)
        or _is_item(value)
        or bool(_listed(mapping(value)))
        or _is_pair(mapping(value))
        or _is_list(value)
        for value in file.sample
    )


def _is_list(value: JsonValue) -> bool:
    return any(_is_message(item) for item in sequence(value)[:3])


def _split(file: SourceFile) -> Iterator[FileValues]:
    """A file of messages is one conversation; a file of lists of messages has one in each."""
    if any(_is_message(value) or _is_item(value) for value in file.sample):
        yield from all_values(file)
    else:
        yield from each_value(file)


def _convert(values: FileValues) -> SourceConversation:
    fields = mapping(values.value) if len(values.values) == 1 and not _is_message(values.value) else NOTHING
    records = _Records()
    if _is_pair(fields):
        _add_pair(records, fields)
    else:
        items = _listed(fields) if fields else sequence(values.value) if _only_list(values) else values.values
        if fields and not items:
            raise InvalidInputError("it has no messages")
        _add_all(records, fields, items)
    first = records.made[0].id if records.made else ""
    given = first_text(fields, "id", "conversation_id", "conversationId", "session_id")
    return SourceConversation(
        id=given or f"{values.file.base_name}{values.place}:{first}",
        title=first_text(fields, "title", "name"),
        records=records.made,
        current=records.last,
    )


def _only_list(values: FileValues) -> bool:
    return len(values.values) == 1 and isinstance(values.value, list)


def _add_all(records: "_Records", fields: JsonObject, items: Sequence[JsonValue]) -> None:
    system = fields.get("system", fields.get("instructions", fields.get("system_prompt")))
    parts = content_parts(system)
    if parts:
        records.add(Role.SYSTEM, parts)
    for item in items:
        records.add_message(mapping(item))


def _add_pair(records: "_Records", fields: JsonObject) -> None:
    chosen, rejected = next((fields[a], fields[b]) for a, b in _PAIRS if a in fields and b in fields)
    prompt = fields.get("prompt", fields.get("messages", fields.get("conversations", fields.get("question"))))
    system = content_parts(fields.get("system"))
    if system:
        records.add(Role.SYSTEM, system)
    if isinstance(prompt, str) and prompt:
        records.add(Role.USER, (Text(prompt),))
    elif prompt is not None:
        for item in sequence(prompt):
            records.add_message(mapping(item))
    fork = records.last
    for answer, bookmarked in ((chosen, True), (rejected, False)):
        records.last = fork
        messages = [answer] if isinstance(answer, Mapping) else sequence(answer)
        if isinstance(answer, str):
            records.add(Role.ASSISTANT, (Text(answer),))
        for item in messages:
            records.add_message(mapping(item))
        if bookmarked:
            records.bookmark()


class _Records:
    """Records in order; one's name is its words and those before it, so that a shared beginning is there once."""

    def __init__(self) -> None:
        self.made: list[SourceRecord] = []
        self.last: str | None = None
        self._names: set[str] = set()

    def add_message(self, message: JsonObject) -> None:
        kind = text(message.get("type"))
        if kind in _ITEMS and kind != "message":
            result = kind == "function_call_output"
            self.add(Role.TOOL if result else Role.ASSISTANT, responses_parts(message))
            return
        word = first_text(message, "role", "from")
        role = role_named(word)
        parts = openai_parts(message)
        if "parts" in message and not parts:
            parts = content_parts(message.get("parts"))
        if word == "function_call":
            parts = tuple(_called(part) for part in parts)
        self.add(role, parts, message)

    def add(self, role: Role, parts: tuple[Part, ...], message: JsonObject | None = None) -> None:
        told = orjson.dumps([self.last, role.value, repr(parts)])
        name = hashlib.sha256(told).hexdigest()[:24]
        fields = message or NOTHING
        if name not in self._names:
            self._names.add(name)
            self.made.append(
                SourceRecord(
                    id=name,
                    parent=self.last,
                    role=role,
                    parts=parts,
                    author=first_text(fields, "name") if role is not Role.TOOL else "",
                    model=first_text(fields, "model") if role is Role.ASSISTANT else "",
                    created_at=moment(fields.get("timestamp", fields.get("created_at"))),
                )
            )
        self.last = name

    def bookmark(self) -> None:
        """Mark the last record."""
        self.made = [replace(each, bookmarked=True) if each.id == self.last else each for each in self.made]


def _called(part: Part) -> Part:
    """A call that ShareGPT writes as JSON text."""
    if not isinstance(part, Text):
        return part
    fields = mapping(loads(part.text))
    return tool_call(fields) if fields.get("name") else ToolCall(id="", name="tool", arguments=part.text)


MESSAGES = Importer(
    name="messages", label="messages", matches=_matches, split=_split, convert=_convert, rank=9
)
