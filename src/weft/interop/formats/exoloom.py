"""exoloom trees."""

from collections.abc import Mapping

from weft.interop.conversation import SourceConversation, SourceRecord
from weft.interop.importer import FileValues, Importer
from weft.interop.loose_json import first_text, mapping, moment, sequence, text
from weft.tree.content import Text
from weft.tree.json import JsonValue
from weft.tree.node import Role
from weft.tree.tree import Mode


def _convert(values: FileValues) -> SourceConversation:
    source = mapping(values.value)
    tree, lens = mapping(source.get("tree")), mapping(source.get("lens"))
    bookmarks = {_id_in(each) for each in sequence(lens.get("bookmarks"))}
    pruned = {_id_in(each) for each in sequence(lens.get("prunedNodes"))}
    records = [
        SourceRecord(
            id=key,
            parent=text(node.get("parentId")) or None,
            role=Role.USER
            if text(node.get("authorType")).upper() in {"USER", "HUMAN", ""}
            else Role.ASSISTANT,
            parts=(Text(text(node.get("content"))),),
            author=text(node.get("authorName")),
            model=text(node.get("model")),
            created_at=moment(node.get("createdAt")),
            bookmarked=key in bookmarks,
            pruned=key in pruned,
        )
        for key, node in ((key, mapping(each)) for key, each in mapping(tree.get("nodes")).items())
    ]
    return SourceConversation(
        id=first_text(tree, "id", "uuid") or f"{values.file.base_name}{values.place}",
        title=text(tree.get("title")),
        mode=Mode.BUFFER,
        records=records,
        current=text(lens.get("currentNodeId")) or None,
    )


def _id_in(value: JsonValue) -> str:
    return text(value.get("nodeId")) if isinstance(value, Mapping) else str(value)


EXOLOOM = Importer(
    name="exoloom",
    label="exoloom tree",
    matches=lambda file: any(text(mapping(value).get("loomType")) == "Exoloom" for value in file.sample),
    convert=_convert,
)
