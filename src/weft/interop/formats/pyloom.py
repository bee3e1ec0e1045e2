"""pyloom trees: nested nodes; a hoisted tree keeps its hidden head apart."""

from collections.abc import Iterator

from weft.interop.conversation import Loss, SourceConversation, SourceRecord
from weft.interop.importer import FileValues, Importer
from weft.interop.loose_json import (
    chance,
    first_text,
    mapping,
    moment,
    number_of,
    read_chances,
    sequence,
    text,
)
from weft.interop.source_file import SourceFile
from weft.tree.content import Text
from weft.tree.json import JsonObject, JsonValue
from weft.tree.node import Role
from weft.tree.tree import Mode

_BY_MODEL = {"AI", "mixed"}


def _matches(file: SourceFile) -> bool:
    return any(
        _is_node(mapping(mapping(value).get("root"))) or _is_node(mapping(value)) for value in file.sample
    )


def _is_node(node: JsonObject) -> bool:
    return isinstance(node.get("text"), str) and isinstance(node.get("children"), list)


def _convert(values: FileValues) -> SourceConversation:
    source = mapping(values.value)
    root = mapping(source.get("root")) or source
    responses = mapping(source.get("model_responses")) or _responses_beside(values.file)
    losses: dict[Loss, None] = {}
    records = [_record(name, above, node, responses, losses) for name, above, node in _walk(root)]
    return SourceConversation(
        id=text(root.get("id")) or values.file.base_name,
        title=values.file.base_name.removesuffix(".json"),
        mode=Mode.BUFFER,
        records=records,
        current=text(source.get("selected_node_id")) or None,
        space_counts=True,
        losses=tuple(losses),
    )


def _responses_beside(file: SourceFile) -> JsonObject:
    """What models answered, from the files that pyloom writes beside a tree."""
    responses: dict[str, JsonValue] = {}
    for other in file.beside:
        if other.base_name.startswith("model_responses") and other.is_json:
            for value in other.sample:
                responses.update(mapping(value))
    return responses


def _walk(root: JsonObject) -> Iterator[tuple[str, str, JsonObject]]:
    """Every node with its parent's id, in reading order; a hidden head comes first."""
    head = mapping(root.get("masked_head"))
    pending: list[tuple[JsonObject, str]] = [(root, "")]
    if head:
        below = text(root.get("tail_id")) or text(head.get("id"))
        pending = [
            *((mapping(child), below) for child in reversed(sequence(root.get("children")))),
            (head, ""),
        ]
    number = 0
    while pending:
        node, above = pending.pop()
        name = text(node.get("id")) or f"node-{number}"
        number += 1
        yield name, above, node
        pending.extend((mapping(child), name) for child in reversed(sequence(node.get("children"))))


def _record(
    name: str, above: str, node: JsonObject, responses: JsonObject, losses: dict[Loss, None]
) -> SourceRecord:
    meta = mapping(node.get("meta"))
    generation = mapping(node.get("generation")) or mapping(meta.get("generation"))
    response = mapping(responses.get(text(generation.get("id"))))
    by_model = (
        text(meta.get("source")) in _BY_MODEL
        or text(meta.get("origin")).lower() == "generated"
        or bool(generation)
    )
    if text(mapping(node.get("text_attributes")).get("active_append")):
        losses[Loss("texts shown after a node", "active_append is for the screen only", name)] = None
    tags: list[JsonValue] = list(sequence(node.get("tags")))
    return SourceRecord(
        id=name,
        parent=above or first_text(node, "parent_id", "parentId") or None,
        role=Role.ASSISTANT if by_model else Role.USER,
        parts=(Text(text(node.get("text"))),) if text(node.get("text")) else (),
        model=first_text(response, "model") or first_text(generation, "model") if by_model else "",
        created_at=moment(meta.get("creation_timestamp")),
        chances=_chances(generation, response),
        bookmarked="bookmark" in tags or node.get("bookmark") is True,
        excluded="hidden" in tags,
    )


def _chances(generation: JsonObject, response: JsonObject) -> tuple[JsonValue, ...]:
    """Of the completion that became the node; older files keep them with the node itself."""
    old = read_chances(generation.get("logprobs"))
    if old:
        return old
    completions = sequence(response.get("completions"))
    index = generation.get("index")
    at = index if isinstance(index, int) and 0 <= index < len(completions) else 0
    tokens = sequence(mapping(completions[at]).get("tokens")) if completions else ()
    read: list[JsonValue] = []
    for token in map(mapping, tokens):
        own = mapping(token.get("generatedToken"))
        log = number_of(own.get("logprob"))
        others = mapping(token.get("counterfactuals"))
        if log is not None:
            logs = ((other, number_of(each)) for other, each in others.items())
            read.append(
                chance(
                    text(own.get("token")), log, [(other, each) for other, each in logs if each is not None]
                )
            )
    return tuple(read)


PYLOOM = Importer(name="pyloom", label="pyloom tree", matches=_matches, convert=_convert, rank=1)
