"""MiniLoom trees: a node's text is the patches applied from the root."""

from collections.abc import Mapping, Sequence

from weft.errors import InvalidInputError
from weft.interop.conversation import Loss, SourceConversation, SourceRecord
from weft.interop.importer import FileValues, Importer
from weft.interop.loose_json import mapping, moment, sequence, text
from weft.tree.content import Text
from weft.tree.json import JsonObject, JsonValue
from weft.tree.node import Role
from weft.tree.tree import Mode

_BY_MODEL = {"gen", "rewrite"}
_TEXT_LIMIT = 64 * 1024 * 1024
"""Characters of all the texts that are put together at once."""


def _convert(values: FileValues) -> SourceConversation:
    source = mapping(values.value)
    nodes = {
        str(key): mapping(each)
        for key, each in mapping(mapping(source.get("loomTree")).get("nodeStore")).items()
    }
    texts = _Texts(nodes)
    records: list[SourceRecord] = []
    for key, node in nodes.items():
        parent = text(node.get("parent")) or None
        above = texts.of(parent) if parent in nodes else ""
        whole = texts.of(key)
        follows = whole.startswith(above)
        kind = text(node.get("type"))
        own = whole[len(above) :] if follows else whole
        records.append(
            SourceRecord(
                id=key,
                parent=parent,
                role=Role.ASSISTANT if kind in _BY_MODEL else Role.USER,
                parts=(Text(own),) if own else (),
                model=text(node.get("model")) if kind in _BY_MODEL else "",
                created_at=moment(node.get("timestamp")),
                bookmarked=node.get("rating") is True,
                pruned=node.get("rating") is False,
                stands_alone=not follows,
            )
        )
    alone = sum(record.stands_alone for record in records)
    moved = Loss("places of rewritten texts", "they change what came before them, so they begin at the root")
    focus = mapping(source.get("focus"))
    return SourceConversation(
        id=f"{values.file.base_name}{values.place}",
        title=values.file.base_name.removesuffix(".json"),
        mode=Mode.BUFFER,
        records=records,
        current=text(focus.get("id")) or None,
        losses=(moved,) * alone,
    )


class _Texts:
    """The whole text at each node, put together once."""

    def __init__(self, nodes: Mapping[str, JsonObject]) -> None:
        self._nodes = nodes
        self._texts: dict[str, str] = {}
        self._total = 0

    def of(self, name: str | None) -> str:
        path: list[str] = []
        here = name
        while here is not None and here in self._nodes and here not in self._texts:
            if here in path[-1_000:] or len(path) > len(self._nodes):
                raise InvalidInputError(f"its messages are their own ancestors: {here}")
            path.append(here)
            here = text(self._nodes[here].get("parent")) or None
        whole = self._texts.get(here or "", "")
        for each in reversed(path):
            whole = _applied(whole, sequence(self._nodes[each].get("patch")))
            self._total += len(whole)
            if self._total > _TEXT_LIMIT:
                raise InvalidInputError(f"its texts have more than {_TEXT_LIMIT:,} characters together")
            self._texts[each] = whole
        return whole


def _applied(before: str, patches: Sequence[JsonValue]) -> str:
    """A text with exact patches applied: they were made from this very text."""
    whole = before
    for patch in map(mapping, patches):
        start = patch.get("start2", patch.get("start1", 0))
        at = start if isinstance(start, int) else 0
        for operation, words in map(_diff, sequence(patch.get("diffs"))):
            if operation == 1:
                whole = whole[:at] + words + whole[at:]
                at += len(words)
            elif whole[at : at + len(words)] != words:
                raise InvalidInputError(f"a patch does not fit the text at character {at:,}")
            elif operation == 0:
                at += len(words)
            else:
                whole = whole[:at] + whole[at + len(words) :]
    return whole


def _diff(value: JsonValue) -> tuple[int, str]:
    """An operation and its words: a pair, or an object with the keys 0 and 1."""
    pair = [value.get("0"), value.get("1")] if isinstance(value, Mapping) else list(sequence(value))
    operation = pair[0] if pair else None
    if len(pair) < 2 or not isinstance(operation, int) or operation not in {-1, 0, 1}:
        raise InvalidInputError("a patch has an operation that is not -1, 0 or 1")
    return operation, text(pair[1])


MINILOOM = Importer(
    name="miniloom",
    label="MiniLoom tree",
    matches=lambda file: any("nodeStore" in mapping(mapping(value).get("loomTree")) for value in file.sample),
    convert=_convert,
)
