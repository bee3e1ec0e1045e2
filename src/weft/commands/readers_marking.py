"""How links, tags and bookmarks are read from their pieces."""

from weft.commands import values as v
from weft.commands.lexicon import listed
from weft.commands.pieces import Pieces, Unfit

__all__ = ["read_bookmark", "read_link", "read_tag", "read_unlink", "read_untag"]


def _ends(pieces: Pieces) -> tuple[str, v.NodeTarget | v.DocumentTarget | v.TreeTarget]:
    """What a link goes from, and where to: in the order in which it is said, unless words say otherwise."""
    source, target = pieces.option_id("from"), None
    for index, item in enumerate(pieces.items):
        before = pieces.items[index - 1] if index else None
        told = before.text if before is not None and before.kind == "word" else ""
        if item.kind == "id" and told == "to" and target is None:
            target = item
    first = next((item for item in pieces.items if item.kind == "id"), None)
    others = sum(item.kind == "id" for item in pieces.items) > 1
    if source is None and target is not None and first is target and others:
        # `link to b3k9 from a7x2`
        pieces.items.remove(target)
        node = pieces.id("link which node?")
        return node, v.NodeTarget(target.text)
    node = source or pieces.id("link which node?")
    title, tree = pieces.option("doc"), pieces.option("tree")
    if title is not None:
        return node, v.DocumentTarget(title, pieces.option("section"))
    if tree is not None:
        return node, v.TreeTarget(tree)
    return node, v.NodeTarget(pieces.id('to what: a node, doc:"…" or tree:"…"?'))


def read_link(pieces: Pieces) -> v.Action:
    ids = [item.place for item in pieces.items if item.kind == "id"]
    if any(item.text == "from" and min(ids, default=0) < item.place for item in pieces.items) and not any(
        item.text == "to" for item in pieces.items
    ):
        raise Unfit("from which, and to which?", "unlink")
    node, other = _ends(pieces)
    note = pieces.maybe_string("note", "text", "label") or ""
    pieces.done("to", "with", "and", "together", "up", "between", "from", "both")
    return v.Link(node, other, note)


def read_unlink(pieces: Pieces) -> v.Action:
    node, other = _ends(pieces)
    pieces.done("from", "and", "to", "with", "between")
    return v.Unlink(node, other)


_NO_NAMES = listed(
    "everything all nothing it this that them these those not later tomorrow soon again too also first instead "
    "maybe next here there"
)


def _named(pieces: Pieces) -> tuple[str, str]:
    """A node and a tag's name, which may be bare."""
    name = pieces.maybe_string("tag", "name", "label", "as")
    if name is not None:
        return pieces.id(), name
    bare = [
        item for item in pieces.items if item.kind == "id" or (item.raw and item.text not in pieces.explained)
    ]
    bare = [
        item for item in bare if item.text not in {"with", "as", "tag", "from", "on", "to", "of", "called"}
    ]
    sure = [item for item in bare if any(letter.isdecimal() for letter in item.raw) and item.kind == "id"]
    if len(bare) != 2 or len(sure) > 1:
        raise Unfit("tag takes a node and a name")
    node = sure[0] if sure else bare[0]
    other = bare[1] if node is bare[0] else bare[0]
    if node.kind != "id" or other.kind == "range" or other.text in _NO_NAMES or other.raw.startswith("-"):
        raise Unfit("tag takes a node and a name")
    pieces.items = [item for item in pieces.items if item is not node and item is not other]
    return node.text, other.raw.lstrip("#")


def read_tag(pieces: Pieces) -> v.Action:
    node, name = _named(pieces)
    pieces.done("with", "as", "tag", "to", "on", "called")
    return v.Tag(node, name)


def read_untag(pieces: Pieces) -> v.Action:
    node, name = _named(pieces)
    pieces.done("from", "of", "tag", "on", "called")
    return v.Untag(node, name)


def read_bookmark(pieces: Pieces) -> v.Action:
    node = pieces.id()
    label = pieces.maybe_string("label", "name", "note")
    pieces.done("as", "with", "at", "label", "called", "under", "for")
    return v.Bookmark(node, label)
