"""Claude exports: the bulk archive, and the single conversation of the web application."""

from collections.abc import Iterator

from weft.interop.conversation import (
    Loss,
    MediaImage,
    Part,
    SourceConversation,
    SourceRecord,
    UnpairedResult,
)
from weft.interop.importer import FileValues, Importer
from weft.interop.loose_json import first_text, mapping, moment, sequence, text
from weft.interop.media_files import MediaFiles
from weft.interop.message_parts import content_parts, role_named
from weft.interop.source_file import SourceFile
from weft.tree.content import Text, Thinking, ToolCall
from weft.tree.json import JsonObject
from weft.tree.node import Role

_MISSING = "the export names them but does not contain them; the node says which"
_NOT_SAID = {"token_budget", "flag", "voice_note_marker"}
"""Blocks for the program itself."""
_NO_PARENT = "00000000-0000-4000-8000-000000000000"


def _matches(file: SourceFile) -> bool:
    return any("chat_messages" in mapping(value) for value in file.sample)


def _convert(values: FileValues) -> SourceConversation:
    source = mapping(values.value)
    messages = [mapping(each) for each in sequence(source.get("chat_messages"))]
    linked = any("parent_message_uuid" in each for each in messages)
    losses: dict[str, Loss] = {}
    records: list[SourceRecord] = []
    for index, message in enumerate(messages):
        chained = records[-1].id if records else None
        parent = text(message.get("parent_message_uuid")) if linked else chained
        role = role_named(text(message.get("sender")))
        name = text(message.get("uuid")) or f"message-{index}"
        records.append(
            SourceRecord(
                id=name,
                parent=None if parent in {None, "", _NO_PARENT} else parent,
                role=role,
                parts=tuple(_parts(name, message, values.file.media, losses)),
                model=first_text(message, "model") or first_text(source, "model")
                if role is Role.ASSISTANT
                else "",
                created_at=moment(message.get("created_at")),
                interrupted=text(message.get("stop_reason")) == "user_canceled",
            )
        )
    return SourceConversation(
        id=text(source.get("uuid")) or f"{values.file.base_name}{values.place}",
        title=text(source.get("name")),
        records=records,
        current=text(source.get("current_leaf_message_uuid")) or None,
        losses=tuple(losses.values()),
    )


def _parts(name: str, message: JsonObject, media: MediaFiles, losses: dict[str, Loss]) -> Iterator[Part]:
    parts = list(_blocks(message))
    if (
        not any(isinstance(part, Text) and part.text.strip() for part in parts)
        and text(message.get("text")).strip()
    ):
        parts.append(Text(text(message.get("text"))))
    for attachment in map(mapping, sequence(message.get("attachments"))):
        extracted = text(attachment.get("extracted_content"))
        label = first_text(attachment, "file_name", "id") or "attachment"
        parts.append(Text(f"[{label}]\n{extracted}" if extracted else f"[{label}]"))
    for file in map(mapping, [*sequence(message.get("files")), *sequence(message.get("files_v2"))]):
        label = first_text(file, "file_name", "file_uuid")
        picture = media.find(text(file.get("file_uuid")), text(file.get("file_name")))
        if picture is not None:
            parts.append(MediaImage(picture))
        elif label and f"{name}: {label}" not in losses:
            losses[f"{name}: {label}"] = Loss("attached files", _MISSING, f"{name}: {label}")
            parts.append(Text(f"[file: {label}]"))
    yield from parts


def _blocks(message: JsonObject) -> Iterator[Part]:
    last = ""
    for block in map(mapping, sequence(message.get("content"))):
        if text(block.get("type")) in _NOT_SAID:
            continue
        if text(block.get("type")) == "thinking":
            summaries = [text(mapping(each).get("summary")) for each in sequence(block.get("summaries"))]
            said = text(block.get("thinking")) or "\n".join(filter(None, summaries))
            if said:
                yield Thinking(text=said)
            continue
        for part in content_parts([block]):
            if isinstance(part, ToolCall):
                last = part.name
            # A result without an id answers the call before it.
            if isinstance(part, UnpairedResult) and not part.name:
                yield UnpairedResult(name=last, content=part.content, is_error=part.is_error)
            else:
                yield part


CLAUDE = Importer(name="claude", label="Claude export", matches=_matches, convert=_convert)
