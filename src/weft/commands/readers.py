"""How each command is read from its pieces."""

from collections.abc import Callable, Mapping

from weft.commands import values as v
from weft.commands.lexicon import listed, verbs
from weft.commands.pieces import WHOLE, Pieces, Unfit, node_id
from weft.commands.readers_documents import read_document, write_document
from weft.commands.readers_marking import read_bookmark, read_link, read_tag, read_unlink, read_untag

__all__ = ["READERS", "Reader"]

Reader = Callable[[Pieces], v.Action]

_LISTINGS = {
    **dict.fromkeys(
        ("continuations", "continuation", "children", "replies", "responses", "branches"), "continuations"
    ),
    **dict.fromkeys(("annotations", "annotation", "notes", "comments"), "annotations"),
    **dict.fromkeys(("links", "connections", "references"), "links"),
    **dict.fromkeys(("versions", "edits", "revisions"), "versions"),
}
_DIRECTIONS = {
    "next": "next",
    "previous": "previous",
    "prev": "previous",
    "parent": "parent",
    "up": "parent",
    "leaf": "leaf",
    "tip": "leaf",
}
_OF = ("of", "for", "on", "to", "from", "at", "under", "all", "its", "out", "that", "has")


def _view(pieces: Pieces) -> v.Action:
    if "doc" in pieces.options:
        return read_document(pieces)
    result = pieces.number("result", "result")
    if result is not None:
        pieces.word(*WHOLE)
        pieces.done("at", "of", "in", "rest", "all", "everything")
        return v.ViewResult(result)
    if "branch" in pieces.options or any(item.text == "branch" for item in pieces.items):
        return _view_branch(pieces)
    if _listing_before_id(pieces):
        return _list(pieces)
    node = pieces.id()
    if any(item.text in _LISTINGS for item in pieces.items) and not any(
        i.text == "with" for i in pieces.items
    ):
        raise Unfit("the node with them, or a list of them?", "list")
    full = pieces.word(*WHOLE)
    annotations = pieces.word("with-annotations", "with-notes")
    if not annotations and any(item.text == "with" for item in pieces.items):
        annotations = (
            pieces.one_of({name: "y" for name, what in _LISTINGS.items() if what == "annotations"}) == "y"
        )
        if annotations:
            pieces.word("with")
    if not full:
        pieces.word("summary", "brief", "briefly", "short", "summarised")
    pieces.done("at", "in", "and", "its")
    return v.View(node, full=full, annotations=annotations)


def _listing_before_id(pieces: Pieces) -> bool:
    """Whether "show the annotations of a7x2" was said, which is a list; "view a7x2 annotations" might be either."""
    named = [item.place for item in pieces.items if item.kind == "word" and item.text in _LISTINGS]
    ids = [item.place for item in pieces.items if item.kind == "id"]
    small = any(item.kind == "word" and item.text in _OF for item in pieces.items)
    owned = any(item.kind == "id" and item.raw.endswith(("'s", "’s")) for item in pieces.items)
    return bool(named) and bool(ids) and (owned or (max(named) < min(ids) and small))


def _view_branch(pieces: Pieces) -> v.Action:
    node = pieces.option_id("branch")
    if node is None:
        pieces.word("branch")
        node = pieces.id()
    shape = pieces.option("as") or pieces.one_of(
        {"prose": "prose", "separate": "nodes", "separately": "nodes"}
    )
    pieces.done("as", "to", "at", "up", "of", "in")
    try:
        return v.ViewBranch(node, v.Shape((shape or "prose").lower()))
    except ValueError:
        raise Unfit("a branch is shown as:prose or as:nodes") from None


def _list(pieces: Pieces) -> v.Action:
    node = pieces.id()
    what = pieces.one_of(_LISTINGS)
    if what is None:
        raise Unfit("list what: continuations, annotations, links or versions?")
    pieces.done(*_OF)
    return v.List(node, v.Listing(what))


def _tree(pieces: Pieces) -> v.Action:
    start = pieces.option_id("from") or pieces.maybe_id()
    depth = pieces.number("depth", "depth", "levels", "level", "deep")
    summary = pieces.word("summary", "summaries", "summarised", "summarized", "brief", "briefly")
    pieces.done("from", "at", "under", "below", "with", "of", "to", "as", "in", "starting", "down", "only")
    return v.Tree(start, v.Tree().depth if depth is None else depth, summary)


def _switch(pieces: Pieces) -> v.Action:
    way = pieces.one_of(_DIRECTIONS)
    if way is not None:
        pieces.done("to", "one", "sibling", "level", "its", "my")
        return v.Switch(v.Direction(way))
    node = pieces.id("where to?")
    pieces.done("to", "at", "over", "into")
    return v.Switch(node)


_NOT_SOUGHT = listed(
    "tree grove branch everything anything something nothing it this that them these those all here again nodes "
    "not whole"
)


def _search(pieces: Pieces) -> v.Action:
    query = pieces.maybe_string("query", "text")
    if query is None and not pieces.verb:
        raise Unfit("the words to look for must be in quotes")
    if query is None:
        words = [item for item in pieces.items if item.kind in {"word", "id", "number"}]
        pieces.items = [item for item in pieces.items if item not in words]
        if words and words[0].text in {"for", "about"}:
            words.pop(0)
        if len(words) > 1:
            raise Unfit("several words to look for must be in quotes")
        if words and (
            words[0].text in _NOT_SOUGHT or (words[0].kind == "id" and pieces.verb[:1] == ("look",))
        ):
            raise Unfit("the words to look for must be in quotes", "view")
        query = " ".join(item.raw or item.text for item in words)
    if not query.strip():
        raise Unfit("what for?")
    pieces.done(
        "for", "about", "text", "words", "word", "phrase", "mentions", "of", "anything", "mentioning", "where"
    )
    return v.Search(query)


def _think(_: Pieces) -> v.Action:
    # A thought is told by its beginning, before there are any pieces.
    raise Unfit("a thought begins with the word think")


def _help(pieces: Pieces) -> v.Action:
    if not pieces.verb:
        pieces.done()
        return v.Help()
    words = [
        item.text for item in pieces.items if item.text not in {"with", "on", "for", "about", "command", "to"}
    ]
    if len(words) > 1 or pieces.options:
        raise Unfit("with one command, or with all")
    if not words:
        return v.Help()
    name = verbs().get((words[0],))
    if name is None:
        raise Unfit(f"there is no command {words[0][:40]!r}")
    return v.Help(name)


def _target(pieces: Pieces) -> v.NodeTarget | v.DocumentTarget | v.ResultTarget:
    title = pieces.option("doc")
    if title is not None:
        return v.DocumentTarget(title, pieces.option("section"))
    result = pieces.number("result", "result")
    if result is not None:
        return v.ResultTarget(result)
    return v.NodeTarget(pieces.id('pin what: a node, doc:"…" or result:N?'))


def _pin(pieces: Pieces) -> v.Action:
    target = _target(pieces)
    pieces.done("in", "to", "of", "from", "memory", "block", "number", "document", "doc")
    return v.Pin(target)


_LABELS = ("as", "under", "called", "named", "labelled", "labeled", "label", "name", "titled")
_TEXTS = (
    "text",
    "containing",
    "saying",
    "content",
    "words",
    "phrase",
    "sentence",
    "line",
    "following",
    "idea",
)


def _stash(pieces: Pieces) -> v.Action:
    label = pieces.option("label") or pieces.option("name") or pieces.option("as")
    if label is None:
        label = pieces.string_after(*_LABELS)
    text = pieces.option("text")
    if text is None:
        text = pieces.string_after(*_TEXTS)
    what = v.Literal(text) if text is not None else _stashed_of(pieces, named=label is not None)
    if label is None:
        if what is None and pieces.words_between_strings():
            raise Unfit("which is the label, and which the text?")
        label = pieces.string(what="a stash needs a label in quotes")
    if what is None:
        what = v.Literal(pieces.string(what="stash what: a text in quotes, content-of: or summary-of:?"))
    pieces.done("of", "with", "this", "note", "away", "and", "full", "from", "as", "under")
    return v.Stash(label, what)


def _stashed_of(pieces: Pieces, *, named: bool) -> v.ContentOf | v.SummaryOf | None:
    """What is stashed if it is of nodes: the content of one, or the summary of a range."""
    node, between = pieces.option_id("content-of"), pieces.range("summary-of")
    if between is not None and node is not None:
        raise Unfit("content-of: or summary-of:, not both")
    if between is None and node is None:
        if pieces.word("content", "contents", "text"):
            node = pieces.id()
        elif pieces.word("summary", "summaries"):
            between = pieces.range() or _two_ids(pieces)
        elif named or pieces.word("from", "of"):
            node = pieces.maybe_id()
    if between is not None:
        return v.SummaryOf(*between)
    return None if node is None else v.ContentOf(node)


def _two_ids(pieces: Pieces) -> tuple[str, str]:
    said = {item.text for item in pieces.items if item.kind == "word"}
    # `a7x2 and b3k9` are two nodes; what lies between them is meant only if it is said so.
    if not said & {"to", "through", "until", "between"}:
        raise Unfit("a range is two ids with a dash between, such as r001-a7x2")
    pieces.word("to", "through", "until", "and")
    return pieces.id(), pieces.id()


def _recall(pieces: Pieces) -> v.Action:
    label = pieces.string("stash", "label", "name", what="which stash? its label must be in quotes")
    pieces.done("stash", "stashed", "from", "memory", "my", "called", "back", "up")
    return v.Recall(label)


def _drop(pieces: Pieces) -> v.Action:
    target: v.NodeTarget | v.DocumentTarget | v.ResultTarget | v.StashTarget
    label = pieces.option("stash")
    if label is None and ("stash" in pieces.verb or pieces.word("stash", "stashed")):
        label = pieces.string("label", "name")
    unpinning = (
        "unpin" in pieces.verb or "pin" in pieces.verb or pieces.word("pin", "pins", "pinned", "pinning")
    )
    if label is not None and unpinning:
        raise Unfit("a pin, or a stash?")
    if label is not None:
        target = v.StashTarget(label)
    elif "pin" in pieces.options:
        value = pieces.option("pin") or ""
        if value.lower().rstrip(":") in {"doc", "document"}:
            return _unpinned_document(pieces)
        number = value.lower().removeprefix("result:")
        is_result = number != value.lower() and number.isdecimal() and len(number) < 10
        target = v.ResultTarget(int(number)) if is_result else v.NodeTarget(node_id(value))
    elif unpinning:
        target = _target(pieces)
    else:
        raise Unfit('drop what: pin:ID or stash:"…"?')
    pieces.done("of", "called", "my", "on", "for", "from", "memory")
    return v.Drop(target)


def _unpinned_document(pieces: Pieces) -> v.Action:
    """`pin:doc:"…"`, whose title stands apart."""
    target = v.DocumentTarget(pieces.string(what="which document?"), pieces.option("section"))
    pieces.done("from", "memory")
    return v.Drop(target)


def _memory(pieces: Pieces) -> v.Action:
    view = pieces.one_of(
        {
            **dict.fromkeys(("trace", "actions", "history", "errors"), "trace"),
            **dict.fromkeys(("stashed", "stashes", "stash"), "stashed"),
        }
    )
    if view is None and "trace" in pieces.verb:
        view = "trace"
    pieces.done("of", "my", "recent", "all", "in")
    return v.Memory(v.MemoryView(view or "all"))


def _check_after(pieces: Pieces) -> None:
    """`after a7x2` is a place; any other `after` puts it off."""
    if any(item.text == "after" for item in pieces.items) and not _leads_to_id(pieces, "after"):
        raise Unfit("after what?")


def _check_by(pieces: Pieces, *words: str) -> None:
    """`reply to a7x2 by "Base"` tells who is to write, and not what."""
    pairs = zip(pieces.items, pieces.items[1:], strict=False)
    if any(one.kind == "word" and one.text in words and other.kind == "string" for one, other in pairs):
        raise Unfit("the text, or whose it is?", "continue")


def _respond(pieces: Pieces) -> v.Action:
    _check_after(pieces)
    _check_by(pieces, "by", "from", "for")
    context, instruction = pieces.option_ids("context"), pieces.option_ids("instruction")
    node = pieces.id()
    text = pieces.string("text")
    pieces.done("to", "with", "saying", "under", "at", "on", "from", "by", "after")
    return v.Respond(node, text, context, instruction)


def _annotate(pieces: Pieces) -> v.Action:
    _check_by(pieces, "by", "from", "for")
    if any(item.text == "says" for item in pieces.items) and not any(
        item.text in {"that", "which"} for item in pieces.items
    ):
        raise Unfit("to say it, or is it said there already?", "list")
    node = pieces.id()
    text = pieces.string("text", "note")
    pieces.done("with", "on", "to", "saying", "at", "that", "says")
    return v.Annotate(node, text)


def _edit(pieces: Pieces) -> v.Action:
    _check_by(pieces, "by", "from", "for")
    places = [item.place for item in pieces.items if item.kind == "id"]
    if any(item.text == "replace" and item.place > min(places, default=0) for item in pieces.items):
        raise Unfit("the whole text, or a part of it?")
    node = pieces.id()
    text = pieces.string("text")
    pieces.done(
        "to", "as", "with", "say", "saying", "so", "it", "says", "reads", "read", "text", "of", "into", "by"
    )
    return v.Edit(node, text)


def _merge(pieces: Pieces) -> v.Action:
    if _leads_to_id(pieces, "into"):
        raise Unfit("one node into another, or both into a new one?", "respond")
    nodes = pieces.ids()
    if len(nodes) < 2:
        raise Unfit("merge takes two nodes or more")
    text = pieces.string("text")
    pieces.done("and", "with", "into", "as", "to", "together", "both", "saying")
    return v.Merge(nodes, text)


def _leads_to_id(pieces: Pieces, word: str) -> bool:
    pairs = zip(pieces.items, pieces.items[1:], strict=False)
    return any(one.text == word and other.kind == "id" for one, other in pairs)


def _split(pieces: Pieces) -> v.Action:
    pairs = zip(pieces.items, [*pieces.items[1:], None], strict=False)
    if any(one.text == "before" and (other is None or other.kind == "id") for one, other in pairs):
        raise Unfit("before which words?")
    node = pieces.id()
    at = pieces.string("at", what='split where? at:"…" takes the words it is split before')
    pieces.done(
        "at",
        "before",
        "up",
        "apart",
        "off",
        "in",
        "into",
        "two",
        "parts",
        "words",
        "word",
        "phrase",
        "where",
        "it",
        "says",
        "right",
        "point",
        "begins",
        "starts",
        "just",
    )
    if not at:
        raise Unfit('split where? at:"…" takes the words it is split before')
    return v.Split(node, at)


def _join(pieces: Pieces) -> v.Action:
    node = pieces.id()
    pieces.done()
    return v.Join(node)


def _attach(pieces: Pieces) -> v.Action:
    node = pieces.id()
    document = pieces.option("doc")
    item = pieces.string("item", "text") if document is None else f"doc:{document}"
    pieces.done("to", "item", "with", "onto")
    return v.Attach(node, item)


def _only_node(make: Callable[[str], v.Action], *small: str) -> Reader:
    def read(pieces: Pieces) -> v.Action:
        node = pieces.option_id("branch") if "branch" in small else None
        node = node or pieces.id()
        pieces.done(*small)
        return make(node)

    return read


def _restore(pieces: Pieces) -> v.Action:
    if any(item.kind == "string" for item in pieces.items) and "bring" in pieces.verb:
        return _recall(pieces)
    return _only_node(v.Restore, "branch", "back")(pieces)


def _collapse(pieces: Pieces) -> v.Action:
    between = pieces.range("range") or pieces.range() or _two_ids(pieces)
    name = pieces.option("as") or pieces.string_after(*_LABELS)
    if name is None:
        name = pieces.string("name", "label", what="a collapsed range needs a name in quotes")
    description = pieces.maybe_string("description", "note") or ""
    pieces.done("from", "as", "into", "called", "to", "under", "range", "between", "with")
    return v.Collapse(*between, name, description)


def _expand(pieces: Pieces) -> v.Action:
    name = pieces.maybe_string("name", "label", "range")
    if name is None and "expand" in pieces.verb and any(item.kind == "id" for item in pieces.items):
        return _continue(pieces)
    if name is None:
        raise Unfit("a collapsed range by its name, or a continuation from a node?", "continue")
    pieces.done("group", "range", "called", "again", "collapsed")
    return v.Expand(name)


def _step(action: v.Action) -> Reader:
    def read(pieces: Pieces) -> v.Action:
        pieces.done(
            "that", "last", "step", "it", "action", "change", "operation", "my", "this", "one", "command"
        )
        return action

    return read


_COUNTED = (
    "times",
    "continuations",
    "continuation",
    "completions",
    "samples",
    "variants",
    "alternatives",
    "options",
)


def _continue(pieces: Pieces) -> v.Action:
    _check_after(pieces)
    start = pieces.option_id("from") or pieces.maybe_id()
    n, tokens = pieces.number("n", *_COUNTED), pieces.number("tokens", "tokens")
    temperature = _temperature(pieces.option("temp"))
    stop, agent = pieces.values("stop"), pieces.option("agent")
    if agent is None and pieces.word("using"):
        agent = pieces.string("agent", what='which agent? using agent:"…"')
    pieces.done("from", "at", "on", "after", "with", "using", "by", "and", "of", "here", "agent", *_COUNTED)
    return v.Continue(start, 1 if n is None else n, tokens, temperature, stop, agent)


def _temperature(value: str | None) -> float | None:
    if value is None:
        return None
    try:
        found = float(value) if len(value) < 12 else -1.0
    except ValueError:
        found = -1.0
    if not 0 <= found <= 10:
        raise Unfit("temp: is a number between 0 and 10")
    return found


READERS: Mapping[str, Reader] = {
    "view": _view,
    "list": _list,
    "tree": _tree,
    "switch": _switch,
    "search": _search,
    "think": _think,
    "help": _help,
    "pin": _pin,
    "stash": _stash,
    "recall": _recall,
    "drop": _drop,
    "memory": _memory,
    "respond": _respond,
    "annotate": _annotate,
    "edit": _edit,
    "merge": _merge,
    "split": _split,
    "join": _join,
    "attach": _attach,
    "link": read_link,
    "unlink": read_unlink,
    "tag": read_tag,
    "untag": read_untag,
    "bookmark": read_bookmark,
    "unbookmark": _only_node(v.Unbookmark, "from", "bookmark", "of", "on"),
    "prune": _only_node(v.Prune, "branch", "at", "off"),
    "restore": _restore,
    "exclude": _only_node(v.Exclude, "from", "context"),
    "include": _only_node(v.Include, "in", "context", "again", "back"),
    "collapse": _collapse,
    "expand": _expand,
    "undo": _step(v.Undo()),
    "redo": _step(v.Redo()),
    "continue": _continue,
    "read": read_document,
    "write": write_document,
}
