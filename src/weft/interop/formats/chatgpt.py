"""ChatGPT exports: `conversations.json`, or `conversations-000.json` and further, alone or in a zip."""

from collections.abc import Iterator, Mapping

from weft.interop.conversation import Part, SourceConversation, SourceRecord, UnpairedResult
from weft.interop.importer import FileValues, Importer
from weft.interop.loose_json import arguments_of, first_text, mapping, moment, sequence, text
from weft.interop.message_parts import role_named
from weft.interop.source_file import SourceFile
from weft.tree.content import Text, Thinking, ToolCall
from weft.tree.json import JsonObject, JsonValue
from weft.tree.node import Role

_EXPORTED = {"mapping", "current_node", "conversation_id", "default_model_slug", "moderation_results"}


def _matches(file: SourceFile) -> bool:
    for value in file.sample:
        fields = mapping(value)
        if isinstance(fields.get("mapping"), Mapping):
            return True
        if fields and len(_EXPORTED & fields.keys()) >= 2:
            return True
    return False


def _convert(values: FileValues) -> SourceConversation:
    source = mapping(values.value)
    entries = {str(key): mapping(entry) for key, entry in mapping(source.get("mapping")).items()}
    notes: dict[str, None] = {}
    default = text(source.get("default_model_slug"))
    records = [_record(key, entry, default, notes) for key, entry in entries.items()]
    current = text(source.get("current_node"))
    return SourceConversation(
        id=first_text(source, "conversation_id", "id") or f"{values.file.base_name}{values.place}",
        title=text(source.get("title")),
        records=records,
        current=current if current in entries else None,
        archived=source.get("is_archived") is True,
        notes=tuple(notes),
    )


def _record(key: str, entry: JsonObject, default_model: str, notes: dict[str, None]) -> SourceRecord:
    message = mapping(entry.get("message"))
    author = mapping(message.get("author"))
    metadata = mapping(message.get("metadata"))
    role = role_named(text(author.get("role")))
    hidden = metadata.get("is_visually_hidden_from_conversation") is True or message.get("weight") == 0
    model = first_text(metadata, "model_slug", "default_model_slug") or default_model
    for attached in sequence(metadata.get("attachments")):
        notes[
            f"{key}: the attached file {first_text(mapping(attached), 'name', 'id')} is not in the export"
        ] = None
    return SourceRecord(
        id=key,
        parent=text(entry.get("parent")) or None,
        role=role,
        parts=tuple(_parts(key, message, role, notes)),
        model=model if role is Role.ASSISTANT else "",
        created_at=moment(message.get("create_time")),
        excluded=hidden,
        interrupted=text(message.get("status")) in {"in_progress", "finished_partial_completion"},
    )


def _parts(key: str, message: JsonObject, role: Role, notes: dict[str, None]) -> Iterator[Part]:
    content = mapping(message.get("content"))
    recipient = text(message.get("recipient"))
    author = text(mapping(message.get("author")).get("name"))
    if role is Role.ASSISTANT and recipient not in {"", "all"}:
        said = "".join(part.text for part in _spoken(key, content, notes) if isinstance(part, Text))
        if said.strip():
            yield ToolCall(id="", name=recipient, arguments=arguments_of(said))
        return
    parts = list(_spoken(key, content, notes))
    if role is Role.TOOL and parts:
        said = "\n".join(part.text for part in parts)
        if said.strip():
            yield UnpairedResult(name=author, content=said)
        return
    yield from parts


def _spoken(key: str, content: JsonObject, notes: dict[str, None]) -> Iterator[Text | Thinking]:
    kind = text(content.get("content_type"))
    match kind:
        case "thoughts" | "reasoning_recap":
            thoughts = [mapping(each) for each in sequence(content.get("thoughts"))]
            said = [first_text(each, name) for each in thoughts for name in ("summary", "content")]
            said = said or [text(content.get("content")), *map(text, sequence(content.get("parts")))]
            if any(said):
                yield Thinking(text="\n".join(filter(None, said)))
        case "user_editable_context":
            yield Text(
                "\n\n".join(
                    filter(None, (text(content.get("user_profile")), text(content.get("user_instructions"))))
                )
            )
        case "tether_browsing_display":
            yield Text(first_text(content, "result", "summary"))
        case _:
            parts = sequence(content.get("parts"))
            said = [_part(key, part, notes) for part in parts]
            joined = "\n".join(each for each in said if each)
            yield Text(joined or first_text(content, "text", "result", "content"))


def _part(key: str, part: JsonValue, notes: dict[str, None]) -> str:
    if isinstance(part, str):
        return part
    fields = mapping(part)
    said = first_text(fields, "text", "transcript")
    if said:
        return said
    pointer = first_text(fields, "asset_pointer") or text(
        mapping(fields.get("audio_asset_pointer")).get("asset_pointer")
    )
    if not pointer:
        return ""
    notes[f"{key}: {pointer} is kept by its name only"] = None
    kind = text(fields.get("content_type")).partition("_")[0] or "file"
    return f"[{kind}: {pointer}]"


CHATGPT = Importer(name="chatgpt", label="ChatGPT export", matches=_matches, convert=_convert)
