"""Google AI Studio prompts: chunks in order; a thought joins the answer after it."""

from weft.interop.conversation import Part, SourceConversation, SourceRecord
from weft.interop.importer import FileValues, Importer
from weft.interop.loose_json import first_text, mapping, moment, sequence, text
from weft.interop.message_parts import image, role_named
from weft.interop.source_file import SourceFile
from weft.tree.content import Text, Thinking
from weft.tree.json import JsonObject
from weft.tree.node import Role


def _matches(file: SourceFile) -> bool:
    return any("chunkedPrompt" in mapping(value) for value in file.sample)


def _convert(values: FileValues) -> SourceConversation:
    source = mapping(values.value)
    model = text(mapping(source.get("runSettings")).get("model")).removeprefix("models/")
    instruction = mapping(source.get("systemInstruction"))
    told = text(instruction.get("text")) or "\n".join(
        text(mapping(part).get("text")) for part in sequence(instruction.get("parts"))
    )
    records: list[SourceRecord] = []
    chunks = [mapping(each) for each in sequence(mapping(source.get("chunkedPrompt")).get("chunks"))]
    answer = 0
    for index, chunk in enumerate(chunks):
        role = role_named(text(chunk.get("role")))
        records.append(
            SourceRecord(
                id=str(index),
                parent=str(index - 1) if index else None,
                role=role,
                parts=_parts(chunk),
                model=model if role is Role.ASSISTANT else "",
                created_at=moment(chunk.get("createTime")),
                # A thought and the chunk after it are one answer; two answers in a row are two.
                group=f"answer-{answer}" if role is Role.ASSISTANT else "",
            )
        )
        answer += chunk.get("isThought") is not True
    return SourceConversation(
        id=f"{values.file.base_name}{values.place}",
        title=values.file.base_name.removesuffix(".json"),
        records=records,
        system_context=told,
    )


def _parts(chunk: JsonObject) -> tuple[Part, ...]:
    inline = mapping(chunk.get("inlineImage")) or mapping(chunk.get("inlineData"))
    if text(inline.get("data")) and text(inline.get("mimeType")).startswith("image/"):
        source = {"data": inline["data"], "media_type": inline["mimeType"]}
        said = text(chunk.get("text"))
        return (*((Text(said),) if said else ()), image({"source": source}))
    said = text(chunk.get("text")) or "".join(
        text(mapping(each).get("text")) for each in sequence(chunk.get("parts"))
    )
    for name in ("driveImage", "driveDocument", "driveVideo", "driveAudio", "inlineData", "inlineFile"):
        if name in chunk and not said:
            said = f"[{name}: {first_text(mapping(chunk.get(name)), 'id', 'mimeType')}]"
    if not said:
        return ()
    return (Thinking(text=said),) if chunk.get("isThought") is True else (Text(said),)


AI_STUDIO = Importer(name="ai-studio", label="Google AI Studio prompt", matches=_matches, convert=_convert)
