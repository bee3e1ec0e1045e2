"""Import conversations of other programs: each whole or not at all, and only what is new the next time."""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

import orjson
from sqlalchemy import Select, select

from weft.errors import InvalidInputError, LimitExceededError, WeftError
from weft.interop.conversation import (
    ArrangedConversation,
    ForeignNode,
    Loss,
    MediaImage,
    Picture,
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
from weft.runtime.transfer.import_report import (
    EMPTY,
    ImportedConversation,
    ImportReport,
    StrippedKeyPlace,
    counted_losses,
    kept_parts,
    models_of,
)
from weft.runtime.transfer.markdown_chats import NoteFinder
from weft.store import schema
from weft.store.lookup import find_agent
from weft.store.rows import AGENT_TYPES, NodeRow, TreeState
from weft.store.session import Session
from weft.store.transaction import GROVE
from weft.tree.agent import AgentType, Permission
from weft.tree.attempt import RawResponse
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
    with caller.reading(Permission.LOOM_WRITE, "import"):
        pass  # Refused before the files are read.
    with _opened(source) as files:
        under_way = ConversationImport(caller, files, format=format, dry_run=dry_run)
        total = under_way.read(strict=strict)
        reports: list[ImportedConversation] = []
        for each in under_way.conversations():
            reports.append(each)
            progress(len(reports), total)
    return ImportReport(dry_run=dry_run, conversations=tuple(reports))


class ConversationImport:
    """One import under way: everything is read once, then each conversation is written by itself."""

    def __init__(
        self,
        caller: Caller,
        files: Sequence[SourceFile],
        *,
        format: str | None = None,  # noqa: A002 - the word of the command line
        dry_run: bool = False,
    ) -> None:
        self._caller = caller
        self._files = files
        self._format = format
        self._dry_run = dry_run
        self._registry = ImporterRegistry.installed()

    def recognised(self) -> JsonObject:
        """What the files are, before they are read: the programs, how many files, how many pictures and others."""
        chosen = [importer for file in self._files if (importer := self._registry.chosen(file)) is not None]
        labels: list[JsonValue] = [*dict.fromkeys(importer.label for importer in chosen)]
        media = self._files[0].media.count if self._files else 0
        return {"labels": labels, "files": len(chosen), "media": media}

    def read(self, *, strict: bool = False, seen: Callable[[int], None] | None = None) -> int:
        """Read everything and write nothing; returns the number of conversations.

        A container that cannot be read raises; with `strict`, a conversation too.
        """
        total = 0
        for each in self._read():
            total += 1
            if seen is not None:
                seen(total)
            if strict and isinstance(each, UnreadableConversation):
                raise InvalidInputError(
                    f"{each.file} {each.place}".strip() + f": {each.message}",
                    hint="nothing was imported; without --strict the rest is",
                )
        return total

    def conversations(self, start: int = 0) -> Iterator[ImportedConversation]:
        """Import them one by one, from this one on; they are read again, so that one is in memory at a time."""
        known = _known_trees(self._caller)
        for each in itertools.islice(self._read(), start, None):
            yield self._imported(each, known)

    def _read(self) -> Iterator[ReadConversation | UnreadableConversation]:
        return read_files(self._files, self._registry, self._format)

    def _imported(
        self, each: ReadConversation | UnreadableConversation, known: dict[tuple[str, str], str]
    ) -> ImportedConversation:
        about = ImportedConversation(
            file=each.file, place=each.place, number=each.number, line=each.line, format=each.format
        )
        if isinstance(each, UnreadableConversation):
            return replace(about, title=each.title, error=each.message)
        arranged = each.arranged
        source = arranged.source
        about = replace(
            about,
            source=source.id,
            title=source.title or title_from(_first_words(arranged.nodes)),
            records=arranged.counts,
            nodes=len(arranged.nodes),
            models=models_of(arranged),
        )
        tree = known.get((each.format, source.id))
        try:
            planted = _planted(self._caller, each.format, arranged, tree, dry_run=self._dry_run)
        except WeftError as error:
            return replace(about, error=error.message)
        if planted.tree is not None:
            known[each.format, source.id] = planted.tree
        empty = arranged.counts.records - arranged.counts.content_records
        return replace(
            about,
            tree=planted.tree,
            is_new=tree is None,
            new_nodes=planted.nodes,
            kept={**kept_parts(arranged), **({"pictures": planted.pictures} if planted.pictures else {})},
            lost=counted_losses([*source.losses, *planted.losses, *[EMPTY] * empty]),
            keys=tuple(
                StrippedKeyPlace(
                    kind=key.kind,
                    message=key.message,
                    node=planted.written.get(arranged.places.get(key.record, "")),
                )
                for key in source.keys
            ),
        )


def _opened(source: Path | BinaryIO) -> AbstractContextManager[list[SourceFile]]:
    return opened_files(source) if isinstance(source, Path) else opened_stream(source)


@dataclass(frozen=True, slots=True)
class _Planted:
    tree: str | None
    nodes: int
    pictures: int = 0
    losses: Sequence[Loss] = ()
    written: Mapping[str, str] = field(default_factory=dict[str, str])
    """By the records' ids their nodes."""


def _planted(
    caller: Caller, name: str, arranged: ArrangedConversation, tree: str | None, *, dry_run: bool
) -> _Planted:
    written = {} if tree is None else _written(caller, tree)
    fresh = [node for node in arranged.nodes if node.id not in written]
    if dry_run or not fresh:
        pictures = sum(isinstance(part, Picture) for node in arranged.nodes for part in node.parts)
        return _Planted(tree, len(fresh), pictures, written=written)
    finder = NoteFinder(caller, ())
    items = {
        node.id: finder.items(node.record.context)
        for node in fresh
        if node.record.context and node.id == node.record.id
    }
    pictures = _Pictures(caller)
    contents = {node.id: _content(pictures, node) for node in fresh}
    operation = ImportConversation(
        format=name, arranged=arranged, tree=tree, written=written, contents=contents, items=items
    )
    planted, made = caller.perform(operation)
    missing = [Loss("attached notes", warning) for warning in dict.fromkeys(finder.warnings)]
    return _Planted(planted, len(fresh), pictures.kept, [*pictures.losses, *missing], {**written, **made})


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


def _content(pictures: "_Pictures", node: ForeignNode) -> Content:
    blocks = tuple(_block(pictures, part) for part in node.parts)
    return blocks[0] if len(blocks) == 1 else Mixed(blocks)


def _block(pictures: "_Pictures", part: Block | Picture) -> Block:
    if isinstance(part, Text):
        return part if is_storable(part.text) else Text(_storable(part.text))
    return pictures.block(part) if isinstance(part, Picture) else part


class _Pictures:
    """Keeps pictures one at a time, and counts those that are none."""

    def __init__(self, caller: Caller) -> None:
        self._blobs = caller.store.blobs
        self.kept = 0
        self.losses: list[Loss] = []

    def block(self, part: Picture) -> Block:
        name = part.file.name if isinstance(part, MediaImage) else "in the message"
        try:
            data = part.file.read() if isinstance(part, MediaImage) else part.data
        except (InvalidInputError, LimitExceededError) as error:
            return self._missing(error.message, name)
        measured = measure_picture(data)
        if measured is None:
            return self._missing("a kind of picture that is not known", name)
        self.kept += 1
        ref = self._blobs.put(data)
        return Image(ref=ref, mime_type=measured.mime_type, width=measured.width, height=measured.height)

    def _missing(self, reason: str, name: str) -> Text:
        self.losses.append(Loss("pictures", reason, name))
        return Text(f"[image that is not kept: {name}]")


def _storable(text: str) -> str:
    """The text without what no database could give back: NUL and lone surrogates become signs."""
    return text.replace("\x00", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class ImportConversation(Editing, verb="import a conversation"):
    """Plant a conversation, or add to its tree what is new, in one transaction.

    Returns the tree's id, and by the records' ids the nodes that were made.
    """

    format: str
    arranged: ArrangedConversation
    tree: str | None
    written: dict[str, str]
    contents: dict[str, Content]
    items: dict[str, list[Item]] = field(default_factory=dict[str, list[Item]])

    def apply(self, scope: Scope) -> tuple[str, dict[str, str]]:
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
        return tree, {name: row.ulid for name, row in rows.items()}

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
        times: dict[str, datetime | None] = {}
        for node in self.arranged.nodes:
            # A record without a time was written when the one above it was, as far as the file says.
            moment = node.record.created_at or times.get(node.parent or "", self.arranged.source.created_at)
            times[node.id] = moment
            if node.id not in self.contents:
                continue
            parents = [
                self._row(scope, state, rows, name) for name in (node.parent, *node.also) if name is not None
            ]
            author = authors.key(node)
            draft = Draft(
                content=self.contents[node.id],
                sources=[(row, SourceRole.PRIMARY) for row in parents or [root]],
                attachments=self.items.get(node.id, ()),
                role=node.role,
                status=Status.INTERRUPTED if node.record.interrupted else Status.COMPLETE,
                author=author,
                response=_response(node) if node.chances and authors.is_model(author) else None,
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


def _response(node: ForeignNode) -> RawResponse:
    """The probabilities of a node's tokens, in the form of a model's response."""
    tokens: JsonValue = {"content": [*node.chances]}
    body: JsonObject = {"object": "imported", "choices": [{"index": 0, "logprobs": tokens}]}
    return RawResponse(
        body=orjson.dumps(body), provider="imported", model=_plain_name(node.record.model) or "unknown"
    )


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

    def is_model(self, key: int | None) -> bool:
        return key is not None and AGENT_TYPES[self._scope.transaction.agent(key).type] is AgentType.MODEL

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
