"""Open WebUI chats: `chat.history.messages`, whole or the inner chat alone."""

import html
import re
from collections.abc import Iterator, Mapping

from weft.interop.conversation import Part, SourceConversation, SourceRecord
from weft.interop.importer import FileValues, Importer
from weft.interop.loose_json import arguments_of, first_text, mapping, moment, sequence, text
from weft.interop.message_parts import content_parts, image, responses_parts, role_named
from weft.interop.source_file import SourceFile
from weft.tree.content import Text, Thinking, ToolCall, ToolResult
from weft.tree.json import JsonObject
from weft.tree.node import Role

_DETAILS = re.compile(r"<details\b([^>]*)>(.*?)</details>\n?", re.DOTALL)
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
_SUMMARY = re.compile(r"<summary>.*?</summary>\s*", re.DOTALL)
_QUOTED = re.compile(r"^> ?", re.MULTILINE)


def _history(fields: JsonObject) -> JsonObject:
    return mapping(mapping(fields.get("chat")).get("history")) or mapping(fields.get("history"))


def _matches(file: SourceFile) -> bool:
    return any(
        isinstance(_history(mapping(value)).get("messages"), Mapping)
        or (
            isinstance(mapping(value).get("chat"), Mapping)
            and bool(sequence(mapping(mapping(value).get("chat")).get("messages")))
        )
        for value in file.sample
    )


def _convert(values: FileValues) -> SourceConversation:
    source = mapping(values.value)
    chat = mapping(source.get("chat")) or source
    history = _history(source)
    messages = mapping(history.get("messages")) or {
        first_text(each, "id") or f"message-{index}": each
        for index, each in enumerate(map(mapping, sequence(chat.get("messages"))))
    }
    records = [_record(str(name), mapping(each)) for name, each in messages.items()]
    system = text(mapping(chat.get("params")).get("system")) or text(chat.get("system"))
    tags = [
        text(mapping(tag).get("name")) or text(tag)
        for tag in sequence(mapping(source.get("meta")).get("tags"))
    ]
    return SourceConversation(
        id=first_text(source, "id") or first_text(chat, "id") or f"{values.file.base_name}{values.place}",
        title=first_text(source, "title") or first_text(chat, "title"),
        records=records,
        current=text(history.get("currentId")) or None,
        system_context=system,
        tags=tuple(filter(None, tags)),
        archived=source.get("archived") is True,
    )


def _record(name: str, message: JsonObject) -> SourceRecord:
    role = role_named(text(message.get("role")))
    return SourceRecord(
        id=name,
        parent=text(message.get("parentId")) or None,
        role=role,
        parts=tuple(_parts(message)),
        model=first_text(message, "model", "modelName") if role is Role.ASSISTANT else "",
        created_at=moment(message.get("timestamp")),
        interrupted=message.get("done") is False,
    )


def _parts(message: JsonObject) -> Iterator[Part]:
    output = [part for item in sequence(message.get("output")) for part in responses_parts(mapping(item))]
    if output:
        yield from output
        return
    content = message.get("content")
    if isinstance(content, str):
        yield from _marked(content)
    else:
        yield from content_parts(content)
    for file in map(mapping, sequence(message.get("files"))):
        if text(file.get("url")).startswith("data:image/"):
            yield image(file)
            continue
        label = first_text(file, "name", "url", "id")
        if label:
            yield Text(f"[{text(file.get('type')) or 'file'}: {label[:200]}]")


def _marked(content: str) -> Iterator[Part]:
    """Text with reasoning and tool calls in `<details>` elements."""
    at = 0
    for found in _DETAILS.finditer(content):
        attributes = {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(found.group(1))}
        kind = attributes.get("type", "")
        if kind not in {"reasoning", "tool_calls"}:
            continue
        yield from _said(content[at : found.start()])
        at = found.end()
        if kind == "reasoning":
            yield Thinking(text=_QUOTED.sub("", html.unescape(_SUMMARY.sub("", found.group(2)))).strip())
            continue
        call = attributes.get("id", "")
        name = attributes.get("name", "tool")
        yield ToolCall(id=call, name=name, arguments=arguments_of(attributes.get("arguments", "")))
        if "result" in attributes and call:
            yield ToolResult(call_id=call, content=arguments_of(attributes["result"]))
    yield from _said(content[at:])


def _said(said: str) -> Iterator[Part]:
    if said.strip():
        yield Text(said)


OPEN_WEBUI = Importer(name="open-webui", label="Open WebUI chats", matches=_matches, convert=_convert)
