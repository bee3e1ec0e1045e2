"""SillyTavern chats: a header line, then messages whose swipes are siblings; a branch is a file of its own."""

import hashlib

from weft.interop.conversation import Part, SourceConversation, SourceRecord
from weft.interop.importer import FileValues, Importer, all_values
from weft.interop.loose_json import NOTHING, mapping, moment, sequence, text
from weft.interop.source_file import SourceFile
from weft.tree.content import Text, Thinking
from weft.tree.json import JsonObject
from weft.tree.node import Role


def _matches(file: SourceFile) -> bool:
    fields = [mapping(value) for value in file.sample]
    head = bool(fields) and (
        "chat_metadata" in fields[0] or {"user_name", "character_name"} <= fields[0].keys()
    )
    return head or any({"is_user", "mes"} <= each.keys() for each in fields[:3])


def _convert(values: FileValues) -> SourceConversation:
    lines = [mapping(value) for value in values.values]
    head = lines[0] if lines and "mes" not in lines[0] else NOTHING
    records: list[SourceRecord] = []
    parent: str | None = None
    prefix = ""
    for line in lines:
        if "mes" not in line:
            continue
        swipes = [text(each) for each in sequence(line.get("swipes"))] or [text(line.get("mes"))]
        chosen = line.get("swipe_id")
        at = chosen if isinstance(chosen, int) and 0 <= chosen < len(swipes) else 0
        if line.get("swipes") and text(line.get("mes")):
            swipes[at] = text(line.get("mes"))
        # Files of one chat share their beginning: a record's name is its place and its words.
        names = [_name(prefix, line, swipe) for swipe in swipes]
        records += [_record(names[i], parent, line, swipe, i) for i, swipe in enumerate(swipes)]
        parent = prefix = names[at]
    metadata = mapping(head.get("chat_metadata"))
    name = values.file.base_name.removesuffix(".jsonl")
    main = text(metadata.get("main_chat"))
    speaker = next((text(line.get("name")) for line in lines if line.get("is_user") is False), "")
    return SourceConversation(
        id=text(metadata.get("integrity")) or main or name,
        title=name or speaker,
        records=records,
        current=parent,
    )


def _name(prefix: str, line: JsonObject, swipe: str) -> str:
    told = f"{prefix}\0{line.get('is_user')}\0{text(line.get('name'))}\0{swipe}"
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _record(name: str, parent: str | None, line: JsonObject, swipe: str, index: int) -> SourceRecord:
    infos = sequence(line.get("swipe_info"))
    info = mapping(infos[index]) if index < len(infos) else NOTHING
    extra = mapping(info.get("extra")) or mapping(line.get("extra"))
    by_user = line.get("is_user") is True
    thought = text(extra.get("reasoning"))
    parts: list[Part] = [Thinking(text=thought)] if thought else []
    return SourceRecord(
        id=name,
        parent=parent,
        role=Role.USER if by_user else Role.ASSISTANT,
        parts=(*parts, Text(swipe)) if swipe else tuple(parts),
        author=text(line.get("name")),
        model="" if by_user else text(extra.get("model")),
        created_at=moment(info.get("send_date")) or moment(line.get("send_date")),
        excluded=line.get("is_system") is True,
    )


SILLY_TAVERN = Importer(
    name="silly-tavern",
    label="SillyTavern chat",
    matches=_matches,
    split=all_values,
    convert=_convert,
    gathers=True,
)
