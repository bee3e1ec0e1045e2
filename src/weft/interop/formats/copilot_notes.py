"""Chats as Markdown notes: Obsidian Copilot's, and those that `weft export --chat` writes."""

import re

from weft.interop.chat_file import read_chat
from weft.interop.conversation import Loss, SourceConversation, SourceRecord
from weft.interop.importer import FileValues, Importer, text_file
from weft.interop.loose_json import moment, text
from weft.interop.message_parts import role_named
from weft.interop.source_file import SourceFile
from weft.tree.content import Text
from weft.tree.node import Role

_MESSAGE = re.compile(r"^(?:#{1,6} +)?\*\*(?:user|ai|assistant|system)\*\*:", re.IGNORECASE | re.MULTILINE)
_FIELD = re.compile(r"^(epoch|modelKey): *(.+?) *$", re.MULTILINE)


def _matches(file: SourceFile) -> bool:
    return not file.is_json and _MESSAGE.search(file.head) is not None


def _convert(values: FileValues) -> SourceConversation:
    note = text(values.value)
    chat = read_chat(note)
    front = note.partition("\n---")[0] if note.startswith("---") else ""
    fields = {name: value.strip("\"'") for name, value in _FIELD.findall(front)}
    model = fields.get("modelKey", "").partition("|")[0]
    records: list[SourceRecord] = []
    for index, message in enumerate(chat.messages):
        role = role_named(message.role)
        records.append(
            SourceRecord(
                id=message.id or str(index),
                parent=records[-1].id if records else None,
                role=role,
                parts=(Text(message.text),),
                model=model if role is Role.ASSISTANT else "",
                created_at=moment(message.time),
                context=message.context or None,
            )
        )
    return SourceConversation(
        id=fields.get("epoch") or values.file.base_name,
        title=chat.title,
        records=records,
        losses=tuple(Loss("parts of a note", warning) for warning in chat.warnings),
    )


COPILOT_NOTES = Importer(
    name="copilot-notes",
    label="Markdown chat",
    matches=_matches,
    split=text_file,
    convert=_convert,
    rank=9,
)
