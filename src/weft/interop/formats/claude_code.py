"""Claude Code sessions: one record a line, a tree by `parentUuid`; an answer is spread over several lines."""

from dataclasses import replace

from weft.interop.conversation import SourceConversation, SourceRecord
from weft.interop.importer import FileValues, Importer, all_values
from weft.interop.loose_json import mapping, moment, text
from weft.interop.message_parts import content_parts, role_named
from weft.interop.source_file import SourceFile
from weft.tree.json import JsonObject
from weft.tree.node import Role

_SPOKEN = {"user", "assistant"}


def _matches(file: SourceFile) -> bool:
    return any(
        {"uuid", "sessionId"} <= mapping(value).keys() and "type" in mapping(value) for value in file.sample
    )


def _convert(values: FileValues) -> SourceConversation:
    lines = [mapping(value) for value in values.values]
    records = [_record(line) for line in lines if text(line.get("uuid"))]
    # The first record after a boundary goes on where the compacted path ended.
    boundaries = {text(line.get("uuid")): text(line.get("logicalParentUuid")) for line in lines}
    titles = [text(line.get("summary")) for line in lines if line.get("type") == "summary"]
    titles += [text(line.get("customTitle")) for line in lines if line.get("type") == "custom-title"]
    session = next((text(line.get("sessionId")) for line in lines if text(line.get("sessionId"))), "")
    return SourceConversation(
        id=session or values.file.base_name,
        title=next(filter(None, reversed(titles)), ""),
        records=[_continued(record, boundaries) for record in records],
    )


def _record(line: JsonObject) -> SourceRecord:
    message = mapping(line.get("message"))
    kind = text(line.get("type"))
    role = role_named(text(message.get("role")) or kind)
    content = message.get("content") if message else line.get("message")
    return SourceRecord(
        id=text(line.get("uuid")),
        parent=text(line.get("parentUuid")) or None,
        role=role,
        parts=content_parts(content) if kind in _SPOKEN else (),
        model=text(message.get("model")) if role is Role.ASSISTANT else "",
        created_at=moment(line.get("timestamp")),
        excluded=line.get("isMeta") is True,
        group=text(message.get("id")) if kind == "assistant" else "",
    )


def _continued(record: SourceRecord, boundaries: dict[str, str]) -> SourceRecord:
    logical = boundaries.get(record.id) or boundaries.get(record.parent or "")
    if not logical:
        return record
    return replace(record, logical_parent=logical)


CLAUDE_CODE = Importer(
    name="claude-code",
    label="Claude Code session",
    matches=_matches,
    split=all_values,
    convert=_convert,
    gathers=True,
)
