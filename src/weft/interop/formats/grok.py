"""Grok exports: `prod-grok-backend.json`."""

from weft.interop.conversation import Part, SourceConversation, SourceRecord
from weft.interop.importer import FileValues, Importer, nested
from weft.interop.loose_json import first_text, mapping, moment, sequence, text
from weft.interop.message_parts import role_named
from weft.interop.source_file import SourceFile
from weft.tree.content import Text, Thinking
from weft.tree.json import JsonObject
from weft.tree.node import Role


def _matches(file: SourceFile) -> bool:
    return any(
        "responses" in mapping(each) and "conversation" in mapping(each)
        for value in file.sample
        for each in sequence(mapping(value).get("conversations"))[:3]
    )


def _convert(values: FileValues) -> SourceConversation:
    source = mapping(values.value)
    head = mapping(source.get("conversation"))
    responses = [
        mapping(mapping(each).get("response")) or mapping(each) for each in sequence(source.get("responses"))
    ]
    linked = any(text(each.get("parent_response_id")) for each in responses)
    records: list[SourceRecord] = []
    for index, response in enumerate(responses):
        name = first_text(response, "response_id", "_id") or f"response-{index}"
        chained = records[-1].id if records else None
        role = role_named(text(response.get("sender")))
        records.append(
            SourceRecord(
                id=name,
                parent=(text(response.get("parent_response_id")) or None) if linked else chained,
                role=role,
                parts=_parts(response),
                model=text(response.get("model")) if role is Role.ASSISTANT else "",
                created_at=moment(response.get("create_time")),
                interrupted=response.get("partial") is True,
            )
        )
    return SourceConversation(
        id=first_text(head, "conversation_id", "id") or f"{values.file.base_name}{values.place}",
        title=text(head.get("title")),
        records=records,
        current=text(head.get("leaf_response_id")) or None,
    )


def _parts(response: JsonObject) -> tuple[Part, ...]:
    thought, said = text(response.get("thinking_trace")), text(response.get("message"))
    parts: list[Part] = [Thinking(text=thought)] if thought else []
    return (*parts, Text(said)) if said else tuple(parts)


GROK = Importer(
    name="grok", label="Grok export", matches=_matches, split=nested("conversations"), convert=_convert
)
