"""mikupad sessions: every value is JSON text inside JSON; the prompt is a list of chunks."""

from weft.interop.conversation import SourceConversation, SourceRecord
from weft.interop.importer import FileValues, Importer
from weft.interop.loose_json import loads, mapping, secret_names, sequence, text
from weft.interop.source_file import SourceFile
from weft.tree.content import Text
from weft.tree.json import JsonValue
from weft.tree.node import Role
from weft.tree.tree import Mode


def _unpacked(value: JsonValue) -> JsonValue:
    return loads(value) if isinstance(value, str) else value


def _matches(file: SourceFile) -> bool:
    for value in file.sample:
        chunks = sequence(_unpacked(mapping(value).get("prompt")))
        if chunks and isinstance(mapping(chunks[0]).get("content"), str) and "role" not in mapping(chunks[0]):
            return True
    return False


def _convert(values: FileValues) -> SourceConversation:
    source = mapping(values.value)
    notes = [
        f"the key in {name} was not kept" for name in secret_names(source) if _unpacked(source.get(name))
    ]
    chunks = [mapping(each) for each in sequence(_unpacked(source.get("prompt")))]
    model = text(_unpacked(source.get("endpointModel")))
    records: list[SourceRecord] = []
    run = 0
    for index, chunk in enumerate(chunks):
        typed = text(chunk.get("type")) == "user"
        if index and typed is not (text(chunks[index - 1].get("type")) == "user"):
            run += 1
        records.append(
            SourceRecord(
                id=str(index),
                parent=str(index - 1) if index else None,
                role=Role.USER if typed else Role.ASSISTANT,
                parts=(Text(text(chunk.get("content"))),) if text(chunk.get("content")) else (),
                model="" if typed else model,
                # A chunk is a token of an answer: a run of them is one node.
                group=f"run-{run}",
            )
        )
    if any("completion_probabilities" in chunk or "prob" in chunk for chunk in chunks):
        notes.append("probabilities of tokens are not kept")
    name = text(_unpacked(source.get("name"))) or text(source.get("name"))
    return SourceConversation(
        id=name or f"{values.file.base_name}{values.place}",
        title=name,
        mode=Mode.BUFFER,
        records=records,
        space_counts=True,
        notes=tuple(notes),
    )


MIKUPAD = Importer(name="mikupad", label="mikupad session", matches=_matches, convert=_convert)
