"""mikupad sessions: every value is JSON text inside JSON; the prompt is a list of chunks."""

from weft.interop.conversation import SourceConversation, SourceRecord, StrippedKey
from weft.interop.importer import FileValues, Importer
from weft.interop.loose_json import (
    chance,
    first_text,
    loads,
    logarithm,
    mapping,
    secret_names,
    sequence,
    text,
)
from weft.interop.source_file import SourceFile
from weft.tree.content import Text
from weft.tree.json import JsonObject, JsonValue
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
    keys = [StrippedKey(kind=name) for name in secret_names(source) if _unpacked(source.get(name))]
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
                chances=_chances(chunk),
                # A chunk is a token of an answer: a run of them is one node.
                group=f"run-{run}",
            )
        )
    name = text(_unpacked(source.get("name"))) or text(source.get("name"))
    return SourceConversation(
        id=name or f"{values.file.base_name}{values.place}",
        title=name,
        mode=Mode.BUFFER,
        records=records,
        space_counts=True,
        keys=tuple(keys),
    )


def _chances(chunk: JsonObject) -> tuple[JsonValue, ...]:
    """The tokens of a chunk: probabilities, of which the log is kept."""
    tokens = [mapping(each) for each in sequence(chunk.get("completion_probabilities"))]
    if not tokens:
        own = logarithm(chunk.get("prob"))
        return () if own is None else (chance(text(chunk.get("content")), own, ()),)
    read: list[JsonValue] = []
    for token in tokens:
        others = [
            (first_text(each, "tok_str", "token"), _log(each))
            for each in map(mapping, sequence(token.get("probs", token.get("top_logprobs"))))
        ]
        said = first_text(token, "content", "token") or text(chunk.get("content"))
        own = dict(others).get(said)
        own = own if own is not None else _log(token) if "prob" in token else logarithm(chunk.get("prob"))
        if own is not None:
            read.append(chance(said, own, [(name, log) for name, log in others if log is not None]))
    return tuple(read)


def _log(entry: JsonObject) -> float | None:
    """The log of an entry's probability; newer files give the log itself."""
    given = entry.get("logprob")
    if isinstance(given, int | float) and not isinstance(given, bool):
        return float(given)
    return logarithm(entry.get("prob"))


MIKUPAD = Importer(name="mikupad", label="mikupad session", matches=_matches, convert=_convert)
