"""LM Studio conversations: a list of messages whose versions are siblings."""

from collections.abc import Iterator

from weft.interop.conversation import Part, SourceConversation, SourceRecord
from weft.interop.importer import FileValues, Importer
from weft.interop.loose_json import first_text, mapping, moment, sequence, text
from weft.interop.message_parts import content_parts, role_named
from weft.interop.source_file import SourceFile
from weft.tree.content import Text, Thinking
from weft.tree.json import JsonObject
from weft.tree.node import Role


def _matches(file: SourceFile) -> bool:
    return any(
        "versions" in mapping(message)
        for value in file.sample
        for message in sequence(mapping(value).get("messages"))[:3]
    )


def _convert(values: FileValues) -> SourceConversation:
    source = mapping(values.value)
    records: list[SourceRecord] = []
    parent: str | None = None
    for index, message in enumerate(map(mapping, sequence(source.get("messages")))):
        versions = [mapping(each) for each in sequence(message.get("versions"))]
        for number, version in enumerate(versions):
            role = role_named(text(version.get("role")))
            records.append(
                SourceRecord(
                    id=f"{index}.{number}",
                    parent=parent,
                    role=role,
                    parts=tuple(_parts(version)),
                    model=_model(version) if role is Role.ASSISTANT else "",
                    author=text(mapping(version.get("senderInfo")).get("senderName")),
                )
            )
        if versions:
            chosen = message.get("currentlySelected")
            number = chosen if isinstance(chosen, int) and 0 <= chosen < len(versions) else len(versions) - 1
            parent = f"{index}.{number}"
    created = moment(source.get("createdAt"))
    return SourceConversation(
        id=f"{values.file.base_name}{values.place}:{'' if created is None else created.isoformat()}",
        title=text(source.get("name")),
        records=records,
        system_context=text(source.get("systemPrompt")),
        current=parent,
    )


def _parts(version: JsonObject) -> Iterator[Part]:
    yield from content_parts(version.get("content"))
    for step in map(mapping, sequence(version.get("steps"))):
        if text(step.get("type")) != "contentBlock":
            continue
        thinks = text(mapping(step.get("style")).get("type")) == "thinking"
        for part in content_parts(step.get("content")):
            yield Thinking(text=part.text) if thinks and isinstance(part, Text) else part


def _model(version: JsonObject) -> str:
    for step in map(mapping, sequence(version.get("steps"))):
        info = mapping(step.get("genInfo"))
        name = first_text(info, "identifier", "indexedModelIdentifier") or text(
            mapping(info.get("model")).get("name")
        )
        if name:
            return name
    return ""


LM_STUDIO = Importer(name="lm-studio", label="LM Studio conversation", matches=_matches, convert=_convert)
