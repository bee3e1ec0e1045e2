"""Conversations of other programs: the records of a file, their tree, and the nodes they become."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

from weft.errors import InvalidInputError
from weft.interop.chat_file import ChatContext
from weft.interop.media_files import MediaFile
from weft.tree.content import Block, Text, ToolCall, ToolResult
from weft.tree.json import JsonValue
from weft.tree.node import Role
from weft.tree.tree import Mode

_ANY = ""
"""A result that names no tool answers the nearest call of any."""
_NAMED = 5
"""How many ids of a cycle are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpairedResult:
    """A tool's result without the id of its call: it answers the nearest earlier call of that name."""

    name: str
    content: JsonValue
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedImage:
    """A picture whose bytes are in the file."""

    data: bytes
    mime_type: str


@dataclass(frozen=True, slots=True)
class MediaImage:
    """A picture in a file of its own beside the conversation."""

    file: MediaFile


Picture: TypeAlias = EmbeddedImage | MediaImage
Part: TypeAlias = Block | UnpairedResult | Picture


@dataclass(frozen=True, slots=True)
class Loss:
    """Something of a file that a tree does not hold."""

    what: str
    """In the plural, as a table names it: attached files."""
    reason: str
    where: str = ""
    """The record, or the thing's own name."""

    def __str__(self) -> str:
        return f"{self.what}: {self.reason}" + (f" ({self.where})" if self.where else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class StrippedKey:
    """An API key that is in a file and not in the tree."""

    kind: str
    """Its provider, or the field of the settings that holds it."""
    record: str = ""
    message: int | None = None
    """The number of the message in its conversation, from 1; None: it is in the settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord:
    """One message record of a file."""

    id: str
    parent: str | None = None
    role: Role = Role.USER
    parts: tuple[Part, ...] = ()
    author: str = ""
    """The writer's name, where the file has one."""
    model: str = ""
    created_at: datetime | None = None
    excluded: bool = False
    """Hidden from the model in the program that wrote the file."""
    pruned: bool = False
    bookmarked: bool = False
    interrupted: bool = False
    also: tuple[str, ...] = ()
    """Further parents, of a merge."""
    group: str = ""
    """Neighbours on a path with the same group are one node."""
    context: ChatContext | None = None
    """Notes, urls, tags and folders that it had attached."""
    counted: bool = True
    """False for what the format does not count as a message."""
    stands_alone: bool = False
    """Its text is the whole text up to here, not what follows its parent's: it hangs from the root."""
    chances: tuple[JsonValue, ...] = ()
    """The tokens of its text with their probabilities, as OpenAI writes them: token, logprob, top_logprobs."""
    logical_parent: str | None = None
    """Where it goes on after a compaction; it counts as a root of the file all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceConversation:
    """One conversation of a file."""

    id: str
    records: Sequence[SourceRecord]
    title: str = ""
    mode: Mode = Mode.DIALOGUE
    system_context: str = ""
    current: str | None = None
    """The record where its reader was."""
    tags: tuple[str, ...] = ()
    archived: bool = False
    created_at: datetime | None = None
    """For records that have no time of their own."""
    space_counts: bool = False
    """True where white space is text: only the empty string is empty."""
    losses: tuple[Loss, ...] = ()
    """What could not be kept."""
    keys: tuple[StrippedKey, ...] = ()
    """Keys that were in its settings and messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordCounts:
    """What a file holds of a conversation, counted on its own records."""

    records: int
    content_records: int
    roots: int
    branch_points: int
    leaves: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignNode:
    """A node to be made."""

    id: str
    parent: str | None
    role: Role
    parts: tuple[Block | Picture, ...]
    record: SourceRecord
    """The record it comes from, or the first of several."""
    chances: tuple[JsonValue, ...] = ()
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrangedConversation:
    """A conversation as it would be planted: parents before children."""

    source: SourceConversation
    counts: RecordCounts
    nodes: Sequence[ForeignNode]
    places: Mapping[str, str]
    """The last node of each record that became one."""


def arrange(source: SourceConversation) -> ArrangedConversation:
    """Count the records and make the nodes; a cycle is refused with the ids on it."""
    records: dict[str, SourceRecord] = {}
    for record in source.records:
        # Of two records with one id the later counts, unless it is empty.
        if record.id not in records or not _is_empty(record, space_counts=source.space_counts):
            records[record.id] = record
    order = list(records.values())
    parents = {each.id: each.parent if each.parent in records else None for each in order}
    _require_no_cycle(parents)
    kept = {each.id for each in order if not _is_empty(each, space_counts=source.space_counts)}
    above = _nearest_kept(parents, kept)
    content = [record for record in order if record.id in kept]
    counts = _counts(order, kept, parents)
    for record in content:
        logical = record.logical_parent
        if above[record.id] is None and logical in records and logical != record.id:
            above[record.id] = logical if logical in kept else above[logical]
        if record.stands_alone:
            above[record.id] = None
    _require_no_cycle({record.id: above[record.id] for record in content})
    nodes, places = _Nodes(content, above, joined=source.mode is Mode.BUFFER).made()
    return ArrangedConversation(source=source, counts=counts, nodes=nodes, places=places)


def merged(conversations: Sequence[SourceConversation]) -> SourceConversation:
    """One conversation from several files that hold parts of it."""
    first = min(conversations, key=lambda each: (not each.title, len(each.title)))
    records = {record.id: record for each in reversed(conversations) for record in reversed(each.records)}
    order = dict.fromkeys(record.id for each in conversations for record in each.records)
    losses = dict.fromkeys(loss for each in conversations for loss in each.losses)
    keys = dict.fromkeys(key for each in conversations for key in each.keys)
    return replace(first, records=[records[name] for name in order], losses=tuple(losses), keys=tuple(keys))


def _is_empty(record: SourceRecord, *, space_counts: bool) -> bool:
    return all(
        isinstance(part, Text) and not (part.text if space_counts else part.text.strip())
        for part in record.parts
    )


def _require_no_cycle(parents: Mapping[str, str | None]) -> None:
    done: set[str] = set()
    for start in parents:
        path: dict[str, None] = {}
        here: str | None = start
        while here is not None and here not in done:
            if here in path:
                cycle = list(path)[list(path).index(here) :]
                shown = ", ".join(cycle[:_NAMED]) + (" …" if len(cycle) > _NAMED else "")
                raise InvalidInputError(f"its messages are their own ancestors: {shown}")
            path[here] = None
            here = parents.get(here)
        done.update(path)


def _nearest_kept(parents: Mapping[str, str | None], kept: set[str]) -> dict[str, str | None]:
    """For every record the nearest ancestor that is kept."""
    above: dict[str, str | None] = {}
    for start in parents:
        path: list[str] = []
        here: str | None = start
        while here is not None and here not in above:
            path.append(here)
            here = parents[here]
        for name in reversed(path):
            parent = parents[name]
            above[name] = parent if parent is None or parent in kept else above[parent]
    return above


def _counts(order: Sequence[SourceRecord], kept: set[str], parents: Mapping[str, str | None]) -> RecordCounts:
    counted = {record.id for record in order if record.counted}
    content = counted & kept
    above = _nearest_kept(parents, content)
    children: defaultdict[str, int] = defaultdict(int)
    for name in content:
        parent = above[name]
        if parent is not None:
            children[parent] += 1
    return RecordCounts(
        records=len(counted),
        content_records=len(content),
        roots=sum(above[name] is None for name in content),
        branch_points=sum(count > 1 for count in children.values()),
        leaves=sum(name not in children for name in content),
    )


class _Nodes:
    """Makes nodes of records: joins groups, parts results from what was said, pairs results with calls."""

    def __init__(
        self, content: Sequence[SourceRecord], above: Mapping[str, str | None], *, joined: bool
    ) -> None:
        self._joined = joined
        self._records = {record.id: record for record in content}
        self._above = above
        self._head = self._heads(content)
        self._parts: defaultdict[str, list[Part]] = defaultdict(list)
        self._chances: defaultdict[str, list[JsonValue]] = defaultdict(list)
        self._children: defaultdict[str | None, list[str]] = defaultdict(list)
        for record in content:
            head = self._head[record.id]
            self._parts[head].extend(record.parts)
            self._chances[head].extend(record.chances)
            if head == record.id:
                parent = above[head]
                self._children[None if parent is None else self._head[parent]].append(head)
        self._last: dict[str, str] = {}
        self._calls: defaultdict[str, list[str]] = defaultdict(list)

    def _heads(self, content: Sequence[SourceRecord]) -> dict[str, str]:
        """The first record of each record's group."""
        heads: dict[str, str] = {}
        for record in content:
            path: list[str] = []
            here = record.id
            while here not in heads:
                path.append(here)
                parent = self._above[here]
                mine = self._records[here].group
                if not mine or parent is None or self._records[parent].group != mine:
                    heads[here] = here
                    break
                here = parent
            for name in path:
                heads[name] = heads[here]
        return heads

    def made(self) -> tuple[list[ForeignNode], dict[str, str]]:
        nodes: list[ForeignNode] = []
        pending: list[tuple[str, list[str] | None]] = [
            (name, None) for name in reversed(self._children[None])
        ]
        while pending:
            name, opened = pending.pop()
            if opened is not None:
                for call in opened:
                    for each in {call, _ANY}:
                        self._calls[each].pop()
                continue
            said, called = self._nodes_of(self._records[name])
            nodes += said
            if called:
                pending.append((name, called))
            pending.extend((child, None) for child in reversed(self._children[name]))
        places = {name: self._last[head] for name, head in self._head.items()}
        return _after_sources(nodes, places), places

    def _nodes_of(self, record: SourceRecord) -> tuple[list[ForeignNode], list[str]]:
        above = self._above[record.id]
        parent = None if above is None else self._last[self._head[above]]
        nodes: list[ForeignNode] = []
        called: list[str] = []
        for are_results, parts in _runs(self._parts[record.id]):
            blocks = tuple(self._block(record.id, part, called) for part in parts)
            if self._joined and all(isinstance(block, Text) for block in blocks):
                blocks = (Text("".join(block.text for block in blocks if isinstance(block, Text))),)
            role = Role.TOOL if are_results else record.role
            if role is Role.TOOL and not are_results:
                # What a tool shows beside its result, such as a picture.
                role = Role.ASSISTANT
            name = record.id if not nodes else f"{record.id}#{len(nodes) + 1}"
            chances = () if nodes else tuple(self._chances[record.id])
            nodes.append(
                ForeignNode(id=name, parent=parent, role=role, parts=blocks, record=record, chances=chances)
            )
            parent = name
        self._last[record.id] = nodes[-1].id
        return nodes, called

    def _block(self, record: str, part: Part, called: list[str]) -> Block | Picture:
        if isinstance(part, ToolCall):
            call = part if part.id else replace(part, id=f"{record}-{len(called) + 1}")
            called.append(call.name)
            for name in {call.name, _ANY}:
                self._calls[name].append(call.id)
            return call
        if isinstance(part, UnpairedResult):
            calls = self._calls[part.name or _ANY]
            call_id = calls[-1] if calls else f"{record}-result"
            return ToolResult(call_id=call_id, content=part.content, is_error=part.is_error)
        return part


def _after_sources(nodes: Sequence[ForeignNode], places: Mapping[str, str]) -> list[ForeignNode]:
    """The nodes with their further parents, each after all of them."""
    ordered: list[ForeignNode] = []
    done: set[str] = set()
    waiting: defaultdict[str, list[ForeignNode]] = defaultdict(list)
    for node in nodes:
        also = tuple(
            places[each] for each in node.record.also if each in places and node.id == node.record.id
        )
        pending = [replace(node, also=also) if also else node]
        while pending:
            ready = pending.pop()
            missing = next((each for each in (ready.parent, *ready.also) if each and each not in done), None)
            if missing is not None:
                waiting[missing].append(ready)
                continue
            ordered.append(ready)
            done.add(ready.id)
            pending.extend(reversed(waiting.pop(ready.id, [])))
    if waiting:
        raise InvalidInputError(f"its merges come from themselves: {', '.join(list(waiting)[:_NAMED])}")
    return ordered


def _runs(parts: Sequence[Part]) -> Iterator[tuple[bool, list[Part]]]:
    """Runs of results, and of everything else; blank text beside something else is left out."""
    spoken = [part for part in parts if not (isinstance(part, Text) and not part.text.strip())] or list(parts)
    run: list[Part] = []
    for part in spoken:
        is_result = isinstance(part, ToolResult | UnpairedResult)
        if run and isinstance(run[-1], ToolResult | UnpairedResult) is not is_result:
            yield not is_result, run
            run = []
        run.append(part)
    yield isinstance(run[-1], ToolResult | UnpairedResult), run
