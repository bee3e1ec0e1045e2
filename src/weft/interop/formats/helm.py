"""Helm trees."""

from weft.interop.conversation import SourceConversation, SourceRecord
from weft.interop.importer import FileValues, Importer
from weft.interop.loose_json import mapping, moment, sequence, text
from weft.tree.content import Text
from weft.tree.node import Role
from weft.tree.tree import Mode


def _convert(values: FileValues) -> SourceConversation:
    source = mapping(values.value)
    bookmarks = {text(each) for each in sequence(source.get("bookmarkedNodeIds"))}
    records = [
        SourceRecord(
            id=text(node.get("id")) or f"node-{index}",
            parent=text(node.get("parentId")) or None,
            role=Role.USER
            if node.get("locked") is True or not text(node.get("parentId"))
            else Role.ASSISTANT,
            parts=(Text(text(node.get("text"))),),
            model=text(node.get("model")),
            created_at=moment(node.get("createdAt")),
            bookmarked=text(node.get("id")) in bookmarks,
        )
        for index, node in enumerate(map(mapping, sequence(source.get("nodes"))))
    ]
    return SourceConversation(
        id=text(source.get("id")) or f"{values.file.base_name}{values.place}",
        title=text(source.get("name")),
        mode=Mode.BUFFER,
        records=records,
        current=text(source.get("currentNodeId")) or None,
    )


HELM = Importer(
    name="helm",
    label="Helm tree",
    matches=lambda file: any(
        {"rootId", "nodes"} <= mapping(value).keys() and isinstance(mapping(value).get("nodes"), list)
        for value in file.sample
    ),
    convert=_convert,
)
