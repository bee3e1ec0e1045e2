"""What an import did: of every conversation what was kept and what was not, and of all of them together."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from weft.interop.conversation import ArrangedConversation, Loss, RecordCounts
from weft.tree.content import Thinking, ToolCall, ToolResult
from weft.tree.json import JsonObject, JsonValue
from weft.tree.json_names import to_wire
from weft.tree.node import Role

_PLACES = 5
"""Places that are named of each thing that was not kept."""
_LISTED = 1_000
"""Keys and refused conversations that are listed; the counts are of all."""
_SHOWN = 3
EMPTY = Loss("empty messages", "no text; their replies hang on the message above")
KEPT: Mapping[str, tuple[str, str]] = {
    "messages": ("messages", "nodes with author, model and time"),
    "siblings": ("edits and regenerated answers", "sibling branches"),
    "tool_calls": ("tool calls", "tool content"),
    "tool_results": ("tool results", "tool content, paired with their calls"),
    "reasoning": ("reasoning", "thinking content"),
    "hidden": ("hidden messages", "nodes, excluded from context"),
    "pictures": ("pictures", "pictures in their nodes"),
    "instructions": ("system prompts", "system text of their trees"),
    "probabilities": ("tokens with probabilities", "the raw response of their nodes"),
    "bookmarks": ("bookmarks", "bookmarks"),
    "pruned": ("pruned branches", "pruned nodes"),
    "titles": ("titles", "titles of trees"),
    "tags": ("tags", "tags of trees"),
}
"""Of each thing that is counted, its name in a file and what it becomes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossCount:
    """Things of one kind that were not kept for one reason."""

    what: str
    reason: str
    count: int
    places: tuple[str, ...] = ()
    """The first of them."""

    def __str__(self) -> str:
        named = "; ".join(self.places) + (" …" if self.count > len(self.places) else "")
        return f"{self.what}: {self.count:,} not kept: {self.reason}" + (f" ({named})" if self.places else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class StrippedKeyPlace:
    """Where an API key was: the key itself is kept nowhere."""

    kind: str
    """The provider it belongs to, or the field of the settings that held it."""
    message: int | None = None
    """The number of the message in its conversation; None: it was beside the messages."""
    node: str | None = None
    """The node that says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedConversation:
    """What became of one conversation of a file."""

    file: str
    place: str
    number: int = 1
    """Which conversation of its file it is."""
    line: int = 1
    """The line of the file where it begins."""
    format: str = ""
    source: str = ""
    title: str = ""
    tree: str | None = None
    """The tree that holds it; None if nothing was written."""
    is_new: bool = False
    """True if the tree was planted by this import."""
    records: RecordCounts | None = None
    """The records of the file, counted as the file has them."""
    nodes: int = 0
    """Nodes that it makes, the empty root aside."""
    new_nodes: int = 0
    """Of these, the nodes that were not there before."""
    models: tuple[str, ...] = ()
    kept: Mapping[str, int] = field(default_factory=dict[str, int])
    lost: tuple[LossCount, ...] = ()
    keys: tuple[StrippedKeyPlace, ...] = ()
    error: str | None = None
    """Why nothing of it was imported."""


def kept_parts(arranged: ArrangedConversation) -> dict[str, int]:
    """What a conversation holds, by the names of `KEPT`; what it has none of is left out."""
    nodes, source = arranged.nodes, arranged.source
    children = Counter(node.parent for node in nodes if node.parent is not None)
    parts = [part for node in nodes for part in node.parts]
    heads = [node.record for node in nodes if node.id == node.record.id]
    counts = {
        "messages": len(heads),
        "siblings": sum(count - 1 for count in children.values()),
        "tool_calls": sum(isinstance(part, ToolCall) for part in parts),
        "tool_results": sum(isinstance(part, ToolResult) for part in parts),
        "reasoning": sum(isinstance(part, Thinking) for part in parts),
        "hidden": sum(record.excluded for record in heads),
        "instructions": int(bool(source.system_context.strip())),
        "probabilities": sum(len(node.chances) for node in nodes),
        "bookmarks": sum(record.bookmarked for record in heads),
        "pruned": sum(record.pruned for record in heads),
        "titles": int(bool(source.title.strip())),
        "tags": len(set(source.tags)),
    }
    return {name: count for name, count in counts.items() if count}


def models_of(arranged: ArrangedConversation) -> tuple[str, ...]:
    """The models that answered, those with most answers first."""
    named = Counter(
        node.record.model for node in arranged.nodes if node.role is Role.ASSISTANT and node.record.model
    )
    return tuple(name for name, _ in named.most_common())


def counted_losses(losses: Iterable[Loss]) -> tuple[LossCount, ...]:
    """Losses of one kind and reason as one line."""
    places: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    counts: Counter[tuple[str, str]] = Counter()
    for loss in losses:
        key = loss.what, loss.reason
        counts[key] += 1
        if loss.where and len(places[key]) < _PLACES:
            places[key].append(loss.where)
    return tuple(
        LossCount(what=what, reason=reason, count=count, places=tuple(places[what, reason]))
        for (what, reason), count in counts.items()
    )


class ImportTotals:
    """The report on all conversations, as they come: what the pages and the command line show."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._kept: Counter[str] = Counter()
        self._lost: dict[tuple[str, str], LossCount] = {}
        self._formats: Counter[str] = Counter()
        self._keys: list[JsonObject] = []
        self._refused: list[JsonObject] = []
        self._latest: list[JsonObject] = []
        self._largest: list[JsonObject] = []

    def add(self, conversation: ImportedConversation | JsonObject) -> JsonObject:
        """Count a conversation; returns it as JSON."""
        value = cast(
            "dict[str, Any]",
            conversation if isinstance(conversation, Mapping) else to_wire(conversation),
        )
        place = {name: value.get(name) for name in ("file", "number", "line", "title", "place")}
        if value.get("format"):
            self._formats[value["format"]] += 1
        if value.get("error") is not None:
            self._counts["refused"] += 1
            if len(self._refused) < _LISTED:
                self._refused.append({**place, "error": value["error"]})
            return value
        self._counts["conversations"] += 1
        self._counts["nodes"] += value["nodes"]
        self._counts["new_nodes"] += value["newNodes"]
        self._counts[_change(value)] += 1
        self._kept.update(value["kept"])
        for loss in value["lost"]:
            self._lose(loss)
        for key in value["keys"]:
            self._counts["keys"] += 1
            if len(self._keys) < _LISTED:
                self._keys.append({**place, "tree": value["tree"], **key})
        shown = {name: value.get(name) for name in ("title", "tree", "nodes", "newNodes", "models", "file")}
        shown["branches"] = 0 if value["records"] is None else value["records"]["leaves"]
        self._latest = [shown, *self._latest][:_SHOWN]
        self._largest = sorted([*self._largest, shown], key=lambda each: -cast("int", each["nodes"]))[:_SHOWN]
        return value

    def _lose(self, loss: Mapping[str, Any]) -> None:
        key = loss["what"], loss["reason"]
        before = self._lost.get(key)
        places = (*(before.places if before else ()), *loss["places"])[:_PLACES]
        count = (before.count if before else 0) + loss["count"]
        self._lost[key] = LossCount(what=key[0], reason=key[1], count=count, places=places)

    @property
    def losses(self) -> Sequence[LossCount]:
        return list(self._lost.values())

    def to_wire(self) -> JsonObject:
        kept: list[JsonValue] = [
            {"what": what, "count": self._kept[name], "as": become}
            for name, (what, become) in KEPT.items()
            if self._kept[name]
        ]
        names = {
            "conversations": "imported",
            "refused": "refused",
            "nodes": "nodes",
            "new_nodes": "newNodes",
            "new": "newTrees",
            "changed": "changedTrees",
            "same": "unchangedTrees",
            "keys": "keysFound",
        }
        return {
            **{wire: self._counts[name] for name, wire in names.items()},
            "formats": [name for name, _ in self._formats.most_common()],
            "kept": kept,
            "lost": to_wire(self.losses),
            "keys": self._keys,
            "refusedConversations": self._refused,
            "latest": self._latest,
            "largest": self._largest,
        }


def _change(value: Mapping[str, Any]) -> str:
    if value["isNew"]:
        return "new"
    return "changed" if value["newNodes"] else "same"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What was imported, conversation by conversation."""

    dry_run: bool
    conversations: tuple[ImportedConversation, ...]

    @property
    def trees(self) -> list[str]:
        return list(dict.fromkeys(each.tree for each in self.conversations if each.tree is not None))

    @property
    def new_nodes(self) -> int:
        return sum(each.new_nodes for each in self.conversations)

    @property
    def failed(self) -> list[ImportedConversation]:
        return [each for each in self.conversations if each.error is not None]

    @property
    def losses(self) -> Sequence[LossCount]:
        """What was not kept of all of them."""
        totals = ImportTotals()
        for each in self.conversations:
            totals.add(each)
        return totals.losses
