"""From what people write to what can be attached: notes, lines, folders, tags, documents, nodes."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from weft.context.layers.items import ContextItem, document, node, note, query, selection, url
from weft.context.layers.library import attached_twice
from weft.errors import InvalidInputError
from weft.knowledge.notes import Mounted
from weft.runtime.attached import shown_item
from weft.runtime.operations.base import Editing
from weft.runtime.operations.items import Attach
from weft.runtime.scope import Scope
from weft.runtime.vaults import item_of, mounted_in
from weft.tree.item import Item
from weft.tree.progress import Progress, silent

if TYPE_CHECKING:
    from weft.runtime.grove import Grove

__all__ = ["AttachAll", "Attachable", "attach_all", "given_item", "read_items"]

_LINES = re.compile(r"#L(\d{1,9})(?:-L?(\d{1,9}))?\Z")
_QUERY = "#query:"
_WEB = ("http://", "https://")


class Attachable(NamedTuple):
    """Items ready to be attached, and what could not be read."""

    items: Sequence[Item]
    warnings: Sequence[str]


def read_items(
    grove: "Grove", references: Iterable[str], *, tree: str | None = None, progress: Progress = silent
) -> Attachable:
    """What references stand for, read now, each id once; what is named as the open note too stays the open one.

    `PATH` or `VAULT:PATH` is a note, `PATH#L3-L9` lines of it, `active:PATH` the note that is open
    with its pictures, `folder:VAULT/PATH` and `#tag` their notes, `doc:TITLE` a document, and
    `[a7x2]` a node (of `tree`, or of whichever tree alone has it).
    """
    mounted = mounted_in(grove.read)
    found: dict[str, Item] = {}
    for reference in references:
        read = _read(grove, mounted, reference, tree, progress)
        for each in read:
            _add(found, item_of(each))
        marker = _marker(reference.strip(), read)
        if marker is not None:
            found[marker.id] = marker
    return Attachable(list(found.values()), mounted.warnings)


def _add(found: dict[str, Item], item: Item) -> None:
    before = found.get(item.id)
    if before is not None:
        item = item_of(attached_twice(shown_item(before), shown_item(item)))
    found[item.id] = item


def _marker(reference: str, notes: Sequence[ContextItem]) -> Item | None:
    """A tag or folder itself, with the ids of its notes: so that a chat can say what was attached."""
    kind = "tag" if reference.startswith("#") else "folder" if reference.startswith("folder:") else None
    if kind is None:
        return None
    return Item(id=reference, type=kind, content="\n".join(each.id for each in notes))


def _read(
    grove: "Grove", mounted: Mounted, reference: str, tree: str | None, progress: Progress
) -> Sequence[ContextItem]:
    text = reference.strip()
    kind, _, rest = text.partition(":")
    if not text:
        raise InvalidInputError("attach what?", hint="a note's path, folder:, #tag, doc:, [node]")
    if text.startswith("#"):
        return mounted.with_tag(text, progress)
    if kind == "folder":
        return mounted.in_folder(rest)
    if kind in {"doc", "document"}:
        found = grove.read.document(rest)
        return [document(found.id, found.content, title=found.title)]
    if kind == "active":
        return [mounted.active_note(rest, grove.put_blob)]
    if text.lower().startswith(_WEB):
        raise InvalidInputError(
            f"{text[:200]} is not fetched: nothing leaves the machine unasked",
            hint="give its text with it: --text, or an item of type url",
        )
    if _QUERY in text:
        raise InvalidInputError(
            "queries are not run here", hint="give what it gave with it: --text, or an item of type query"
        )
    if text.startswith("[") and text.endswith("]"):
        name = text[1:-1]
        said = grove.read.node(tree, name) if tree is not None else grove.read.find(name)
        return [node(said.local_id, said.text)]
    return [mounted.selection(text) if _LINES.search(text) else mounted.note(text)]


def attach_all(grove: "Grove", tree: str, node: str, items: Iterable[Item | str]) -> int:
    """Hang all of them on a turn, or none; a text is read as `read_items` reads it. Returns how many."""
    order: list[Item | str] = []
    named: dict[str, Item] = {}
    there = {item.id for item in grove.read.node(tree, node).attachments}
    for each in cast("Iterable[object]", items):
        if isinstance(each, Item):
            order.append(each)
            continue
        if not isinstance(each, str):
            raise InvalidInputError(f"{each!r} cannot be attached", hint="an item, or the name of something")
        # A tag or folder adds what is missing of it.
        several = each.strip().startswith(("#", "folder:"))
        for item in read_items(grove, [each], tree=tree).items:
            if several and item.id in there:
                continue
            if item.id not in named:
                order.append(item.id)
            _add(named, item)
    found = [named[each] if isinstance(each, str) else each for each in order]
    if found:
        grove.perform(AttachAll(tree=tree, node=node, items=found))
    return len(found)


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
    """Something whose text comes in the call: nothing is fetched, and nobody's query is run.

    A page by its address, a note by its path, `PATH#L3-L9` lines of one, and `PATH#query: QUESTION`
    what a query block of it gave.
    """
    text = reference.strip()
    if not text:
        raise InvalidInputError("what is the text of?", hint="an address or a path")
    if text.lower().startswith(_WEB):
        return item_of(url(text, content))
    path, asked, question = text.partition(_QUERY)
    if asked:
        if not path or not question.strip():
            raise InvalidInputError("a query is asked in a note", hint="PATH#query: QUESTION")
        return item_of(query(path, question, content))
    lines = _LINES.search(text)
    if lines is not None:
        start, end = (int(each) for each in (lines[1], lines[2] or lines[1]))
        return item_of(selection(text[: lines.start()], start, end, content))
    return item_of(note(text, content))
