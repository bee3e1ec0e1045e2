"""LibreChat conversations: flat with parents, or nested in `children`."""

from collections.abc import Iterator

from weft.interop.conversation import Part, SourceConversation, SourceRecord
from weft.interop.importer import FileValues, Importer
from weft.interop.loose_json import first_text, mapping, moment, sequence, text
from weft.interop.message_parts import content_parts, tool_call
from weft.interop.source_file import SourceFile
from weft.tree.content import Text, ToolResult
from weft.tree.json import JsonObject
from weft.tree.node import Role

_NO_PARENT = "00000000-0000-0000-0000-000000000000"


def _matches(file: SourceFile) -> bool:
    return any(
        "messageId" in mapping(message) or "messageTree" in mapping(value)
        for value in file.sample
        for message in [
            *sequence(mapping(value).get("messages"))[:3],
            *sequence(mapping(value).get("messageTree"))[:3],
        ]
    )


def _convert(values: FileValues) -> SourceConversation:
    source = mapping(values.value)
    options = mapping(source.get("options"))
    records: list[SourceRecord] = []
    messages = [*sequence(source.get("messages")), *sequence(source.get("messageTree"))]
    linked = any(
        text(mapping(each).get("parentMessageId")) or sequence(mapping(each).get("children"))
        for each in messages
    )
    pending = [(mapping(each), "") for each in reversed(messages)]
    while pending:
        message, above = pending.pop()
        name = text(message.get("messageId")) or f"message-{len(records)}"
        parent = above or text(message.get("parentMessageId"))
        if not linked and records:
            parent = records[-1].id
        records.append(_record(name, parent, message))
        pending.extend((mapping(child), name) for child in reversed(sequence(message.get("children"))))
    return SourceConversation(
        id=text(source.get("conversationId")) or f"{values.file.base_name}{values.place}",
        title=text(source.get("title")),
        records=records,
        system_context=first_text(options, "promptPrefix", "system"),
    )


def _record(name: str, parent: str, message: JsonObject) -> SourceRecord:
    by_user = message.get("isCreatedByUser") is True or text(message.get("sender")).lower() == "user"
    return SourceRecord(
        id=name,
        parent=None if parent in {"", _NO_PARENT} else parent,
        role=Role.USER if by_user else Role.ASSISTANT,
        parts=tuple(_parts(message)),
        author="" if by_user else text(message.get("sender")),
        model="" if by_user else text(message.get("model")),
        created_at=moment(message.get("createdAt")),
        interrupted=message.get("unfinished") is True,
    )


def _parts(message: JsonObject) -> Iterator[Part]:
    blocks = [mapping(each) for each in sequence(message.get("content"))]
    for block in blocks:
        inner = mapping(block.get("tool_call"))
        if inner:
            call = tool_call(inner)
            yield call
            if inner.get("output") is not None and call.id:
                yield ToolResult(call_id=call.id, content=inner["output"])
        elif isinstance(block.get("text"), dict):
            yield Text(text(mapping(block.get("text")).get("value")))
        else:
            yield from content_parts([block])
    if not blocks and text(message.get("text")):
        yield Text(text(message.get("text")))
    for file in map(mapping, sequence(message.get("files"))):
        yield Text(f"[file: {first_text(file, 'filename', 'file_id')}]")


LIBRECHAT = Importer(name="librechat", label="LibreChat conversation", matches=_matches, convert=_convert)
