"""The items of a path: everything that its turns brought along, each as it was attached, and as it is now."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, cast

from weft.context.items.item_types import EXPANDED, ContextItem, document, node, note, query, selection, url
from weft.context.items.library import Attached, attached_twice
from weft.context.items.note_lookup import ListedNote
from weft.context.rows import Annotations, reason_to_leave_out
from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, StorageError
from weft.knowledge.notes import Mounted
from weft.runtime.operations.attachments import Attach
from weft.runtime.operations.executor import Caller, Editing
from weft.runtime.operations.node_values import metadata_of
from weft.runtime.operations.projects import mounted_in
from weft.runtime.operations.scope import Scope
from weft.runtime.search.vault_status import list_notes
from weft.runtime.views.reader import Opened, Reader
from weft.store.packed_bodies import bodies_of
from weft.store.path_queries import attaching, attachments_on
from weft.store.rows import EDGE_TYPES, Flag, NodeRow
from weft.tree.edge import EdgeType
from weft.tree.item import Item, about_item
from weft.tree.progress import Progress, silent

_ANNOTATION = EDGE_TYPES.index(EdgeType.ANNOTATION)


def item_of(shown: ContextItem) -> Item:
    """A context item in the form that is stored on a node."""
    return Item(
        id=shown.id,
        type=shown.type,
        content=shown.content,
        recoverable=shown.recoverable,
        title=shown.title,
        created=shown.created,
        modified=shown.modified,
        images=shown.images,
    )


def shown_item(item: Item) -> ContextItem:
    """An item as layers see it."""
    return ContextItem(
        item=item, title=item.title, created=item.created, modified=item.modified, images=item.images
    )


def attached_on_path(opened: Opened, end: NodeRow, annotations: Annotations) -> list[Attached]:
    """Every item on the path to a node, in the order of the path; a text that came often is read once."""
    session, tree = opened.session, opened.key
    if opened.is_dialogue and end.near_attachments is None:
        return []
    rows = attaching(session, tree, end.position)
    held = attachments_on(session, tree, [row.key for row in rows if row.flags & Flag.HAS_ATTACHMENTS])
    digests = {bytes(item.sha256) for listed in held.values() for item in listed}
    bodies = bodies_of(session, tree, digests)
    known: dict[tuple[Any, ...], ContextItem] = {}
    attached: list[Attached] = []
    for row in rows:
        reason = reason_to_leave_out(
            metadata_of(row),
            annotation=row.edge_type == _ANNOTATION,
            node=row.ulid,
            annotations=annotations,
        )
        for item in held.get(row.key, ()):
            if item.type in EXPANDED:
                continue
            key = (item.id, item.type, bytes(item.sha256), item.recoverable, item.about)
            if key not in known:
                known[key] = _item(item, bodies.get(bytes(item.sha256)))
            shown = known[key]
            attached.append(Attached(row.depth, shown, pinned=shown.item.pinned, left_out=reason))
    return attached


def _item(row: Any, body: bytes | None) -> ContextItem:
    if body is None:
        raise StorageError(
            f"the content of {row.id[:200]!r} is not there any more", hint=Hint(HintKind.VERIFY)
        )
    item = Item(
        id=row.id,
        type=row.type,
        content=body.decode("utf-8", "surrogatepass"),
        recoverable=row.recoverable,
        **cast("dict[str, Any]", about_item(row.about)),
    )
    return shown_item(item)


_LINES = re.compile(r"#L(\d{1,9})(?:-L?(\d{1,9}))?\Z")
_QUERY = "#query:"
_WEB = ("http://", "https://")


class Attachable(NamedTuple):
    """Items ready to be attached, and what could not be read."""

    items: Sequence[Item]
    warnings: Sequence[str]


def read_items(
    caller: Caller, references: Iterable[str], *, tree: str | None = None, progress: Progress = silent
) -> Attachable:
    """What references stand for, read now, each id once; what is named as the open note too stays the open one.

    `PATH` or `VAULT:PATH` is a note, `PATH#L3-L9` lines of it, `active:PATH` the note that is open
    with its pictures, `folder:VAULT/PATH` and `#tag` their notes, `doc:TITLE` a document, and
    `[a7x2]` a node (of `tree`, or of whichever tree alone has it).
    """
    mounted = mounted_in(caller)
    by_name: dict[str, Item] = {}
    for reference in references:
        read = _read(caller, mounted, reference, tree, progress)
        for each in read:
            _add(by_name, item_of(each))
        marker = _marker(reference.strip(), read)
        if marker is not None:
            by_name[marker.id] = marker
    return Attachable(list(by_name.values()), mounted.warnings)


def _add(by_name: dict[str, Item], item: Item) -> None:
    before = by_name.get(item.id)
    if before is not None:
        item = item_of(attached_twice(shown_item(before), shown_item(item)))
    by_name[item.id] = item


def _marker(reference: str, notes: Sequence[ContextItem]) -> Item | None:
    """A tag or folder itself, with the ids of its notes: so that a chat can say what was attached."""
    kind = "tag" if reference.startswith("#") else "folder" if reference.startswith("folder:") else None
    if kind is None:
        return None
    return Item(id=reference, type=kind, content="\n".join(each.id for each in notes))


def notes_tagged(
    caller: Caller, mounted: Mounted, tag: str, progress: Progress = silent
) -> list[ContextItem]:
    """The notes with a tag, by the index of the vaults; a warning names each file that is not indexed."""
    listings: dict[str, Sequence[ListedNote]] = {}
    for vault in mounted.vaults:
        listings[vault.id], warnings = list_notes(caller.store, vault, progress)
        mounted.warnings += warnings
    return mounted.with_tag(tag, listings)


def _read(
    caller: Caller, mounted: Mounted, reference: str, tree: str | None, progress: Progress
) -> Sequence[ContextItem]:
    read = Reader.of(caller)
    text = reference.strip()
    kind, _, rest = text.partition(":")
    if not text:
        raise InvalidInputError("name what to attach", hint="a note's path, folder:, #tag, doc:, [node]")
    if text.startswith("#"):
        return notes_tagged(caller, mounted, text, progress)
    if kind == "folder":
        return mounted.in_folder(rest)
    if kind in {"doc", "document"}:
        stored = read.document(rest)
        return [document(stored.id, stored.content, title=stored.title)]
    if kind == "active":
        return [mounted.active_note(rest, caller.store.blobs.put)]
    if text.lower().startswith(_WEB):
        raise InvalidInputError(
            f"{text[:200]} is not fetched when it is attached",
            hint=Hint(HintKind.GIVE_TEXT, type="url"),
        )
    if _QUERY in text:
        raise InvalidInputError("queries are not run here", hint=Hint(HintKind.GIVE_TEXT, type="query"))
    if text.startswith("[") and text.endswith("]"):
        name = text[1:-1]
        said = read.node(tree, name) if tree is not None else read.find(name)
        return [node(said.local_id, said.text)]
    return [mounted.selection(text) if _LINES.search(text) else mounted.note(text)]


def attach_all(caller: Caller, tree: str, node: str, items: Iterable[Item | str]) -> int:
    """Hang all of them on a turn, or none; a text is read as `read_items` reads it. Returns how many."""
    order: list[Item | str] = []
    named: dict[str, Item] = {}
    there = {item.id for item in Reader.of(caller).node(tree, node).attachments}
    for each in cast("Iterable[object]", items):
        if isinstance(each, Item):
            order.append(each)
            continue
        if not isinstance(each, str):
            raise InvalidInputError(
                f"{each!r} cannot be attached",
                hint="give an Item, or the name of a note, document, node, tag or folder",
            )
        # A tag or folder adds what is missing of it.
        several = each.strip().startswith(("#", "folder:"))
        for item in read_items(caller, [each], tree=tree).items:
            if several and item.id in there:
                continue
            if item.id not in named:
                order.append(item.id)
            _add(named, item)
    chosen = [named[each] if isinstance(each, str) else each for each in order]
    if chosen:
        caller.perform(AttachAll(tree=tree, node=node, items=chosen))
    return len(chosen)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachAll(Editing):
    """Several attachments in one transaction; each is recorded, and undone, by itself."""

    verb: ClassVar[str] = "attach"
    tree: str
    node: str
    items: Sequence[Item]

    def apply(self, scope: Scope) -> None:
        for item in self.items:
            Attach(tree=self.tree, node=self.node, item=item).apply(scope)


def given_item(reference: str, content: str) -> Item:
    """Something whose text comes in the call: nothing is fetched, and no query is run.

    A page by its address, a note by its path, `PATH#L3-L9` lines of one, and `PATH#query: QUESTION`
    what a query block of it gave.
    """
    text = reference.strip()
    if not text:
        raise InvalidInputError("name what the text belongs to", hint="an address or a path")
    if text.lower().startswith(_WEB):
        return item_of(url(text, content))
    path, asked, question = text.partition(_QUERY)
    if asked:
        if not path or not question.strip():
            raise InvalidInputError("a query needs the path of a note", hint="PATH#query: QUESTION")
        return item_of(query(path, question, content))
    lines = _LINES.search(text)
    if lines is not None:
        start, end = (int(each) for each in (lines[1], lines[2] or lines[1]))
        return item_of(selection(text[: lines.start()], start, end, content))
    return item_of(note(text, content))
