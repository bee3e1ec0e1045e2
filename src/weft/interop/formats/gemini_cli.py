"""Gemini CLI sessions: one object, or since 0.40 a header line, message lines and updates."""

from collections.abc import Iterator, Mapping

from weft.interop.conversation import Part, SourceConversation, SourceRecord
from weft.interop.importer import FileValues, Importer, all_values
from weft.interop.loose_json import first_text, mapping, moment, sequence, text
from weft.interop.message_parts import content_parts, role_named
from weft.interop.source_file import SourceFile
from weft.tree.content import Thinking, ToolCall, ToolResult
from weft.tree.json import JsonObject, JsonValue
from weft.tree.node import Role

_KINDS = {"user", "gemini"}


def _matches(file: SourceFile) -> bool:
    fields = [mapping(value) for value in file.sample]
    if not fields or not ({"sessionId", "startTime"} <= fields[0].keys() or "projectHash" in fields[0]):
        return False
    return "uuid" not in fields[0]


def _convert(values: FileValues) -> SourceConversation:
    lines = [mapping(value) for value in values.values]
    head: dict[str, JsonValue] = {}
    messages: dict[str, JsonObject] = {}
    for line in lines:
        changes = mapping(line.get("$set"))
        if changes:
            head.update(changes)
        elif text(line.get("type")) in {"user", "gemini", "info", "error", "warning"}:
            _put(messages, line)
        else:
            head.update(line)
    for message in map(mapping, sequence(head.get("messages"))):
        _put(messages, message)
    records: list[SourceRecord] = []
    for name, message in messages.items():
        role = role_named(text(message.get("type")))
        records.append(
            SourceRecord(
                id=name,
                parent=records[-1].id if records else None,
                role=role,
                parts=tuple(_parts(message)) if text(message.get("type")) in _KINDS else (),
                model=text(message.get("model")) if role is Role.ASSISTANT else "",
                created_at=moment(message.get("timestamp")),
            )
        )
    return SourceConversation(
        id=text(head.get("sessionId")) or values.file.base_name,
        title=first_text(head, "summary"),
        records=records,
    )


def _put(messages: dict[str, JsonObject], message: JsonObject) -> None:
    name = text(message.get("id")) or f"message-{len(messages)}"
    messages[name] = {**messages.get(name, {}), **message}


def _parts(message: JsonObject) -> Iterator[Part]:
    for thought in map(mapping, sequence(message.get("thoughts"))):
        said = ": ".join(filter(None, (text(thought.get("subject")), text(thought.get("description")))))
        if said:
            yield Thinking(text=said)
    content = message.get("content")
    if isinstance(content, Mapping):
        content = [content]
    calls = [mapping(call) for call in sequence(message.get("toolCalls"))]
    yield from content_parts(content)
    for call in calls:
        yield ToolCall(
            id=text(call.get("id")), name=text(call.get("name")) or "tool", arguments=call.get("args")
        )
    for call in calls:
        if call.get("result") is not None and text(call.get("id")):
            failed = text(call.get("status")) in {"error", "cancelled"}
            yield ToolResult(call_id=text(call.get("id")), content=call.get("result"), is_error=failed)


GEMINI_CLI = Importer(
    name="gemini-cli", label="Gemini CLI session", matches=_matches, split=all_values, convert=_convert
)
