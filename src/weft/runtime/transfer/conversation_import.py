"""Import conversations of other programs: each whole or not at all, and only what is new the next time."""

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from sqlalchemy import Select, select

from weft.errors import InvalidInputError, WeftError
from weft.interop.conversation import (
    ArrangedConversation,
    EmbeddedImage,
    ForeignNode,
    RecordCounts,
    SourceRecord,
)
from weft.interop.importer import (
    ImporterRegistry,
    ReadConversation,
    UnreadableConversation,
    read_files,
)
from weft.interop.source_file import SourceFile, opened_files, opened_stream
from weft.knowledge.folder import measure_picture
from weft.runtime.operations.agents import AddAgent
from weft.runtime.operations.cursors import move_cursor, undo_cursor
from weft.runtime.operations.executor import Caller, Editing
from weft.runtime.operations.metadata import Bookmark, Exclude, Prune
from weft.runtime.operations.node_writer import Draft, write_node
from weft.runtime.operations.references import TagTarget, TargetRef
from weft.runtime.operations.scope import Scope
from weft.runtime.operations.trees import ORIGIN, Archive, Plant
from weft.runtime.transfer.markdown_chats import NoteFinder
from weft.store import schema
from weft.store.lookup import find_agent
from weft.store.rows import AGENT_TYPES, NodeRow, TreeState
from weft.store.session import Session
from weft.store.transaction import GROVE
from weft.tree.agent import AgentType, Permission
from weft.tree.content import Block, Content, Image, Mixed, Text, is_storable
from weft.tree.edge import SourceRole
from weft.tree.event_kinds import EventKind
from weft.tree.item import Item
from weft.tree.json import JsonObject, JsonValue
from weft.tree.json_names import to_microseconds
from weft.tree.node import Role, Status
from weft.tree.progress import Progress, silent
from weft.tree.reference import TargetKind
from weft.tree.tree import title_from

_events = schema.events
_CHUNK = 500
"""Nodes that one event records."""
_TITLE_LIMIT = 500
_NAME_LIMIT = 200
_IMPORTED = "Imported"
_UNKNOWN_MODEL = "imported:unknown"
_NAMELESS = {"", "user", "you", "human", "me", "unused"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedConversation:
    """What became of one conversation of a file."""

    file: str
    place: str
    format: str = ""
    source: str = ""
    title: str = ""
    tree: str | None = None
    """The tree that holds it; None if nothing was written."""
    records: RecordCounts | None = None
    """The records of the file, counted as the file has them."""
    nodes: int = 0
    """Nodes that it makes, the empty root aside."""
    new_nodes: int = 0
    """Of these, the nodes that were not there before."""
    notes: tuple[str, ...] = ()
    """What could not be kept."""
    error: str | None = None
    """Why nothing of it was imported."""


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


def import_conversations(
    caller: Caller,
    source: Path | BinaryIO,
    *,
    format: str | None = None,  # noqa: A002 - the word of the command line
    dry_run: bool = False,
    strict: bool = False,
    progress: Progress = silent,
) -> ImportReport:
    """Import every conversation of a file, a folder, a zip or a stream.

    The whole source is read once before anything is written: a container that cannot be read
    imports nothing. A conversation that cannot be read is reported, and the others are imported;
    with `strict` it stops all of them.
    """
    registry = ImporterRegistry.installed()
    with caller.reading(Permission.LOOM_WRITE, "import"):
        pass  # Refused before the files are read.
    with _opened(source) as files:
        found = _Reader(files, registry, format)
        total = 0
        for each in found:
            total += 1
            if strict and isinstance(each, UnreadableConversation):
                raise InvalidInputError(
                    f"{_where(each)}: {each.message}",
                    hint="nothing was imported; without --strict the rest is",
                )
        known = _known_trees(caller)
        reports: list[ImportedConversation] = []
        for done, each in enumerate(found):
            reports.append(_imported(caller, each, known, dry_run=dry_run))
            progress(done + 1, total)
    return ImportReport(dry_run=dry_run, conversations=tuple(reports))


@dataclass(frozen=True, slots=True)
class _Reader:
    """The conversations of the files, read again each time, so that one is in memory at a time."""

    files: Sequence[SourceFile]
    registry: ImporterRegistry
    format: str | None

    def __iter__(self) -> Iterator[ReadConversation | UnreadableConversation]:
        return read_files(self.files, self.registry, self.format)


def _opened(source: Path | BinaryIO) -> AbstractContextManager[list[SourceFile]]:
    return opened_files(source) if isinstance(source, Path) else opened_stream(source)


def _where(each: UnreadableConversation) -> str:
    return f"{each.file} {each.place}".strip()


def _imported(
    caller: Caller,
    each: ReadConversation | UnreadableConversation,
    known: dict[tuple[str, str], str],
    *,
    dry_run: bool,
) -> ImportedConversation:
    if isinstance(each, UnreadableConversation):
        return ImportedConversation(file=each.file, place=each.place, error=each.message)
    arranged = each.arranged
    about = ImportedConversation(
        file=each.file,
        place=each.place,
        format=each.format,
        source=arranged.source.id,
        title=arranged.source.title,
        records=arranged.counts,
        nodes=len(arranged.nodes),
        notes=arranged.source.notes,
    )
    tree = known.get((each.format, arranged.source.id))
    try:
        done = _planted(caller, each.format, arranged, tree, dry_run=dry_run)
    except WeftError as error:
        return replace(about, error=error.message)
    if done.tree is not None:
        known[each.format, arranged.source.id] = done.tree
    return replace(about, tree=done.tree, new_nodes=done.nodes, notes=(*about.notes, *done.notes))


@dataclass(frozen=True, slots=True)
class _Planted:
    tree: str | None
    nodes: int
    notes: Sequence[str] = ()


def _planted(
    caller: Caller, name: str, arranged: ArrangedConversation, tree: str | None, *, dry_run: bool
) -> _Planted:
    written = {} if tree is None else _written(caller, tree)
    fresh = [node for node in arranged.nodes if node.id not in written]
    if dry_run or not fresh:
        return _Planted(tree, len(fresh))
    finder = NoteFinder(caller, ())
    items = {
        node.id: finder.items(node.record.context)
        for node in fresh
        if node.record.context and node.id == node.record.id
    }
    contents = {node.id: _content(caller, node) for node in fresh}
    operation = ImportConversation(
        format=name, arranged=arranged, tree=tree, written=written, contents=contents, items=items
    )
    planted = caller.perform(operation)
    notes = [*dict.fromkeys(finder.warnings)] if items else []
    return _Planted(planted, len(fresh), notes)


def _known_trees(caller: Caller) -> dict[tuple[str, str], str]:
    """By format and id the trees that earlier imports planted, as far as they are still there."""
    planted = select(_events.c.payload).where(
        _events.c.tree == GROVE, _events.c.kind == EventKind.PLANT.value
    )
    known: dict[tuple[str, str], str] = {}
    with caller.reading() as session:
        live = set(
            session.execute(select(schema.trees.c.ulid).where(schema.trees.c.hidden.is_(None))).scalars()
        )
        for payload in _payloads(session, planted.order_by(_events.c.ordinal)):
            origin, tree = payload[ORIGIN], str(payload["tree"])
            if tree in live:
                known[str(origin["format"]), str(origin["source"])] = tree
    return known


def _written(caller: Caller, tree: str) -> dict[str, str]:
    """By the records' ids the nodes that earlier imports wrote in a tree."""
    written: dict[str, str] = {}
    with caller.reading() as session:
        key = session.execute(select(schema.trees.c.key).where(schema.trees.c.ulid == tree)).scalar_one()
        kinds = _events.c.kind == EventKind.APPEND.value
        events = select(_events.c.payload).where(_events.c.tree == key, kinds).order_by(_events.c.ordinal)
        for payload in _payloads(session, events):
            for record, node in zip(payload[ORIGIN]["records"], payload["nodes"], strict=True):
                written[str(record)] = str(node)
    return written


def _payloads(session: Session, statement: Select[str]) -> Iterator[Any]:
    """Payloads that tell of an import."""
    for payload in session.execute(statement).scalars():
        if f'"{ORIGIN}"' in payload:
            read = json.loads(payload)
            if isinstance(read.get(ORIGIN), dict):
                yield read


def _content(caller: Caller, node: ForeignNode) -> Content:
    blocks = tuple(_block(caller, part) for part in node.parts)
    return blocks[0] if len(blocks) == 1 else Mixed(blocks)


def _block(caller: Caller, part: Block | EmbeddedImage) -> Block:
    if isinstance(part, Text):
        return part if is_storable(part.text) else Text(_storable(part.text))
    if not isinstance(part, EmbeddedImage):
        return part
    measured = measure_picture(part.data)
    if measured is None:
        return Text(f"[image of an unknown kind, {len(part.data):,} bytes]")
    ref = caller.store.blobs.put(part.data)
    return Image(ref=ref, mime_type=measured.mime_type, width=measured.width, height=measured.height)


def _storable(text: str) -> str:
    """The text without what no database could give back: NUL and lone surrogates become signs."""
    return text.replace("\x00", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class ImportConversation(Editing, verb="import a conversation"):
    """Plant a conversation, or add to its tree what is new, in one transaction. Returns the tree's id."""

    format: str
    arranged: ArrangedConversation
    tree: str | None
    written: dict[str, str]
    contents: dict[str, Content]
    items: dict[str, list[Item]] = field(default_factory=dict[str, list[Item]])

    def apply(self, scope: Scope) -> str:
        # The grove is locked before the tree, as in every operation that needs both.
        scope.open_grove()
        source = self.arranged.source
        authors = _Authors(scope)
        for node in self.arranged.nodes:
            if node.id in self.contents:
                authors.key(node)
        tree = self.tree or self._plant(scope)
        state = scope.open_tree(tree)
        before = undo_cursor(scope, state)
        rows = self._write(scope, state, authors)
        here = self.arranged.places.get(source.current or "")
        last = rows.get(here or "") or rows[next(reversed(rows))]
        move_cursor(scope, state, last.key)
        self._record(scope, state, rows, before)
        self._mark(scope, tree, rows)
        if self.tree is None:
            for tag in dict.fromkeys(source.tags):
                TagTarget(target=TargetRef(TargetKind.TREE, tree), label=tag).apply(scope)
            if source.archived:
                Archive(tree=tree).apply(scope)
        return tree

    def _plant(self, scope: Scope) -> str:
        source = self.arranged.source
        words = _first_words(self.arranged.nodes)
        title = " ".join(_storable(source.title).split())[:_TITLE_LIMIT] or title_from(words)
        return (
            Plant(
                title=title,
                mode=source.mode,
                system_context=_storable(source.system_context),
                origin={"format": self.format, "source": source.id},
            )
            .apply(scope)
            .id
        )

    def _write(self, scope: Scope, state: TreeState, authors: "_Authors") -> dict[str, NodeRow]:
        root = scope.transaction.node(state.key, state.root)
        rows: dict[str, NodeRow] = {}
        for node in self.arranged.nodes:
            if node.id not in self.contents:
                continue
            parents = [
                self._row(scope, state, rows, name) for name in (node.parent, *node.also) if name is not None
            ]
            moment = node.record.created_at
            draft = Draft(
                content=self.contents[node.id],
                sources=[(row, SourceRole.PRIMARY) for row in parents or [root]],
                attachments=self.items.get(node.id, ()),
                role=node.role,
                status=Status.INTERRUPTED if node.record.interrupted else Status.COMPLETE,
                author=authors.key(node),
                written_at=scope.now if moment is None else to_microseconds(moment),
            )
            rows[node.id] = write_node(scope, state, draft).row
        return rows

    def _row(self, scope: Scope, state: TreeState, rows: dict[str, NodeRow], name: str) -> NodeRow:
        return rows[name] if name in rows else scope.node(state, self.written[name])

    def _record(self, scope: Scope, state: TreeState, rows: dict[str, NodeRow], before: JsonValue) -> None:
        names = list(rows)
        for start in range(0, len(names), _CHUNK):
            records: list[JsonValue] = [*names[start : start + _CHUNK]]
            made: list[JsonValue] = [rows[name].ulid for name in names[start : start + _CHUNK]]
            origin: JsonObject = {
                "format": self.format,
                "source": self.arranged.source.id,
                "records": records,
            }
            inverse: JsonObject = {"hide": made, "cursor": before, "buffer": None}
            scope.record(state, EventKind.APPEND.value, {"nodes": made, ORIGIN: origin}, inverse)

    def _mark(self, scope: Scope, tree: str, rows: dict[str, NodeRow]) -> None:
        """What is hidden from the model is excluded; bookmarks and pruned branches are kept."""
        for node in self.arranged.nodes:
            if node.id not in rows:
                continue
            record, reference = node.record, rows[node.id].ulid
            if record.excluded:
                Exclude(tree=tree, node=reference).apply(scope)
            if node.id != record.id:
                continue
            if record.bookmarked:
                Bookmark(tree=tree, node=reference).apply(scope)
            if record.pruned:
                Prune(tree=tree, node=reference).apply(scope)


def _first_words(nodes: Sequence[ForeignNode]) -> str:
    """What a person said first, else the first text."""
    spoken = sorted(nodes, key=lambda node: node.role is not Role.USER)
    return next((part.text for node in spoken for part in node.parts if isinstance(part, Text)), "")


class _Authors:
    """The agents of a history: the importing person, people whom the file names, and one agent a model."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._keys: dict[tuple[AgentType, str], int | None] = {}

    def key(self, node: ForeignNode) -> int | None:
        """The author of a node; None: the importing person."""
        record = node.record
        if node.role in {Role.ASSISTANT, Role.TOOL}:
            return self._found(AgentType.MODEL, _name(record), record.model)
        name = _plain_name(record.author)
        return None if name.lower() in _NAMELESS else self._found(AgentType.HUMAN, name, "")

    def _found(self, kind: AgentType, name: str, model: str) -> int | None:
        known = kind, name
        if known not in self._keys:
            self._keys[known] = self._agent(kind, name, model)
        return self._keys[known]

    def _agent(self, kind: AgentType, name: str, model: str) -> int | None:
        """The agent of that name and type; where another has the name, one with an addition to it."""
        scope = self._scope
        for each in (name, f"{name} (imported)"):
            try:
                key = find_agent(scope.transaction, each)
            except WeftError:
                reference = (
                    None if kind is AgentType.HUMAN else f"imported:{model}" if model else _UNKNOWN_MODEL
                )
                made = AddAgent(name=each, type=kind, model_ref=reference).apply(scope)
                return find_agent(scope.transaction, made.id)
            if AGENT_TYPES[scope.transaction.agent(key).type] is kind:
                return key
        return None


def _name(record: SourceRecord) -> str:
    return _plain_name(record.author) or _plain_name(record.model) or _IMPORTED


def _plain_name(name: str) -> str:
    return " ".join(_storable(name).split())[:_NAME_LIMIT]
