"""Bonsai looms: nodes and edges; a node with several parents is a merge."""

from weft.interop.conversation import SourceConversation, SourceRecord
from weft.interop.importer import FileValues, Importer
from weft.interop.loose_json import first_text, mapping, read_chances, sequence, text
from weft.tree.content import Text
from weft.tree.node import Role
from weft.tree.tree import Mode


def _convert(values: FileValues) -> SourceConversation:
    source = mapping(values.value)
    nodes = [mapping(each) for each in sequence(source.get("nodes"))]
    edges: dict[str, list[str]] = {}
    for edge in map(mapping, sequence(source.get("edges"))):
        if text(edge.get("relation")) in {"", "parentId"}:
            edges.setdefault(text(edge.get("to")), []).append(text(edge.get("from")))
    records: list[SourceRecord] = []
    for index, node in enumerate(nodes):
        name = text(node.get("id")) or f"node-{index}"
        parents = [text(each) for each in sequence(node.get("parentIds"))] or edges.get(name, [])
        settings = mapping(node.get("generationSettings"))
        tags = [text(each) or text(mapping(each).get("name")) for each in sequence(node.get("tags"))]
        generated = bool(settings) or bool(node.get("logprobs"))
        records.append(
            SourceRecord(
                id=name,
                parent=parents[0] if parents else None,
                also=tuple(parents[1:]),
                role=Role.ASSISTANT if generated else Role.USER,
                parts=(Text(text(node.get("text"))),),
                model=text(settings.get("model")) if generated else "",
                chances=read_chances(node.get("logprobs")),
                bookmarked="bookmark" in [tag.lower() for tag in tags],
            )
        )
    return SourceConversation(
        id=first_text(source, "id") or f"{values.file.base_name}{values.place}",
        title=text(source.get("name")),
        mode=Mode.BUFFER,
        records=records,
        current=text(source.get("focusedId")) or None,
    )


BONSAI = Importer(
    name="bonsai",
    label="Bonsai loom",
    matches=lambda file: any(
        "focusedId" in mapping(value) and isinstance(mapping(value).get("nodes"), list)
        for value in file.sample
    ),
    convert=_convert,
)
