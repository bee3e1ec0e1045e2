"""ChatGPT exports: `conversations.json`, or `conversations-000.json` and further, alone or in a zip."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from weft.interop.conversation import (
    Loss,
    MediaImage,
    Part,
    SourceConversation,
    SourceRecord,
    UnpairedResult,
)
from weft.interop.importer import FileValues, Importer
from weft.interop.loose_json import arguments_of, first_text, mapping, moment, sequence, text
from weft.interop.media_files import MediaFiles
from weft.interop.message_parts import role_named
from weft.interop.source_file import SourceFile
from weft.tree.content import Text, Thinking, ToolCall
from weft.tree.json import JsonObject
from weft.tree.node import Role

_EXPORTED = {"mapping", "current_node", "conversation_id", "default_model_slug", "moderation_results"}
_MARK = re.compile("\ue200[^\ue201\n]{0,500}\ue201|[\ue200-\ue206]")
"""A citation, or a sign of one that was cut."""
_MISSING = "the export names them but does not contain them; the node says which"


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
    # A file may say who the children are, and not who the parent is.
    above = {
        text(child): key
        for key, entry in entries.items()
        for child in sequence(entry.get("children"))
        if "parent" not in mapping(entries.get(text(child)))
    }
    entries = {
        key: {"parent": above[key], **entry} if key in above else entry for key, entry in entries.items()
    }
    losses: list[Loss] = []
    default = text(source.get("default_model_slug"))
    records = [
        _Message(key, mapping(entry.get("message")), values.file.media, losses).record(entry, default)
        for key, entry in entries.items()
    ]
    current = text(source.get("current_node"))
    return SourceConversation(
        id=first_text(source, "conversation_id", "id") or f"{values.file.base_name}{values.place}",
        title=text(source.get("title")),
        records=records,
        current=current if current in entries else None,
        archived=source.get("is_archived") is True,
        created_at=moment(source.get("create_time")),
        losses=tuple(losses),
    )


@dataclass(slots=True)
class _Message:
    """Reads one message."""

    key: str
    message: JsonObject
    media: MediaFiles
    losses: list[Loss]
    shown: set[str] = field(default_factory=set[str])
    """Ids of the files that its parts show."""

    def record(self, entry: JsonObject, default_model: str) -> SourceRecord:
        metadata = mapping(self.message.get("metadata"))
        role = role_named(text(mapping(self.message.get("author")).get("role")))
        hidden = (
            metadata.get("is_visually_hidden_from_conversation") is True or self.message.get("weight") == 0
        )
        model = first_text(metadata, "model_slug", "default_model_slug") or default_model
        return SourceRecord(
            id=self.key,
            parent=text(entry.get("parent")) or None,
            role=role,
            parts=tuple(self._parts(role)),
            model=model if role is Role.ASSISTANT else "",
            created_at=moment(self.message.get("create_time")),
            excluded=hidden,
            interrupted=text(self.message.get("status")) in {"in_progress", "finished_partial_completion"},
        )

    def _parts(self, role: Role) -> Iterator[Part]:
        recipient = text(self.message.get("recipient"))
        parts = [*self._content(mapping(self.message.get("content"))), *self._attachments()]
        said = "\n".join(part.text for part in parts if isinstance(part, Text) and part.text.strip())
        if role is Role.ASSISTANT and recipient not in {"", "all"} and said:
            yield ToolCall(id="", name=recipient, arguments=arguments_of(said))
            yield from (part for part in parts if not isinstance(part, Text))
        elif role is Role.TOOL and parts:
            pictures = [part for part in parts if isinstance(part, MediaImage)]
            thoughts = "\n".join(part.text for part in parts if isinstance(part, Thinking))
            if said or thoughts or pictures:
                author = text(mapping(self.message.get("author")).get("name"))
                yield UnpairedResult(name=author, content=said or thoughts or "[picture]")
            yield from pictures
        else:
            yield from parts

    def _content(self, content: JsonObject) -> Iterator[Text | Thinking | MediaImage]:
        match text(content.get("content_type")):
            case "thoughts" | "reasoning_recap":
                thoughts = [mapping(each) for each in sequence(content.get("thoughts"))]
                said = [first_text(each, name) for each in thoughts for name in ("summary", "content")]
                said = said or [text(content.get("content")), *map(text, sequence(content.get("parts")))]
                if any(said):
                    yield Thinking(text="\n".join(filter(None, said)))
            case "user_editable_context":
                about = (text(content.get("user_profile")), text(content.get("user_instructions")))
                yield Text("\n\n".join(filter(None, about)))
            case "tether_browsing_display":
                yield Text(first_text(content, "result", "summary"))
            case _:
                yield from self._spoken(content)

    def _spoken(self, content: JsonObject) -> Iterator[Text | MediaImage]:
        """Texts beside each other are one."""
        said: list[str] = []
        for part in sequence(content.get("parts")):
            read = self._uncited(part) if isinstance(part, str) else self._object(mapping(part))
            if isinstance(read, MediaImage):
                if any(said):
                    yield Text("\n".join(filter(None, said)))
                said = []
                yield read
            else:
                said.append(read)
        joined = "\n".join(filter(None, said))
        if joined or not sequence(content.get("parts")):
            yield Text(joined or self._uncited(first_text(content, "text", "result", "content")))

    def _object(self, fields: JsonObject) -> str | MediaImage:
        said = first_text(fields, "text", "transcript", "content")
        sound = mapping(fields.get("audio_asset_pointer"))
        pointer = first_text(fields, "asset_pointer") or text(sound.get("asset_pointer"))
        kind = text(fields.get("content_type")).partition("_")[0] or "file"
        if not pointer:
            return self._uncited(said)
        if sound or kind in {"audio", "real"}:
            self.losses.append(
                Loss("voice recordings", "audio is not kept; the transcript is", f"{self.key}: {pointer}")
            )
            return said or f"[{kind}: {pointer}]"
        file = self.media.find(pointer, text(fields.get("name")))
        self.shown.add(pointer.rpartition("/")[2])
        if file is not None:
            return MediaImage(file)
        self.losses.append(Loss("pictures", _MISSING, f"{self.key}: {pointer}"))
        return said or f"[{kind}: {pointer}]"

    def _attachments(self) -> Iterator[Text | MediaImage]:
        """Files that were uploaded with the message, but for those that its parts show."""
        metadata = mapping(self.message.get("metadata"))
        for attached in map(mapping, sequence(metadata.get("attachments"))):
            name, identity = text(attached.get("name")), text(attached.get("id"))
            if identity in self.shown or not (name or identity):
                continue
            is_picture = first_text(attached, "mime_type", "mimeType").startswith("image/")
            file = self.media.find(identity, name) if is_picture else None
            if file is not None:
                yield MediaImage(file)
                continue
            kept = "only pictures are kept" if self.media.find(identity, name) else _MISSING
            self.losses.append(Loss("attached files", kept, f"{self.key}: {name or identity}"))
            yield Text(f"[file: {name or identity}]")

    def _uncited(self, said: str) -> str:
        """The text with its links in place of private characters, which mean nothing elsewhere."""
        if "\ue200" not in said:
            return said
        metadata = mapping(self.message.get("metadata"))
        for reference in map(mapping, sequence(metadata.get("content_references"))):
            matched = text(reference.get("matched_text"))
            if "\ue200" in matched:
                said = said.replace(matched, _links(reference))
        marks = len(_MARK.findall(said))
        reason = "private characters without meaning outside ChatGPT; links that the file has are kept"
        self.losses += [Loss("citation marks", reason)] * marks
        return _MARK.sub("", said)


def _links(reference: JsonObject) -> str:
    """A citation as Markdown."""
    alternative = text(reference.get("alt"))
    if alternative.strip() and "\ue200" not in alternative:
        return alternative
    sources = [mapping(each) for each in sequence(reference.get("items"))]
    links = [
        f"[{text(each.get('title')) or text(each.get('url'))}]({text(each.get('url'))})"
        for each in sources
        if text(each.get("url"))
    ]
    urls = [text(each) for each in sequence(reference.get("safe_urls"))]
    shown = links or [f"<{url}>" for url in urls if url]
    return f" ({', '.join(shown)})" if shown else ""


CHATGPT = Importer(name="chatgpt", label="ChatGPT export", matches=_matches, convert=_convert)
