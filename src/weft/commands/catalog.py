"""All commands in one table: reading, writing, help, the trace and the MCP tools follow from these rows."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from weft.commands import actions as a
from weft.commands.grammar import Either, Form, Group, Kind, Row, Slot
from weft.commands.vocabulary import words
from weft.errors import PermissionDeniedError
from weft.tree.agent import Permission

__all__ = ["CATALOG", "ROWS", "refusal"]

_AWARE, _WRITE, _GENERATE = Permission.LOOM_AWARE, Permission.LOOM_WRITE, Permission.LOOM_GENERATE


def _verbs(text: str) -> tuple[str, ...]:
    return tuple(verb.strip() for verb in text.split(","))


def _choice(text: str, value: object = "") -> dict[str, object]:
    """Words that all stand for one value: True, if none is given."""
    return dict.fromkeys(text.split(), True if value == "" else value)


def _node(path: str = "node", after: str = "", **more: object) -> Slot:
    slot = Slot(
        path=path,
        kind=Kind.NODE,
        option="id",
        bare=True,
        after=words(after),
        question="which node?",
        about="A node's local id, such as a7x2.",
    )
    return _with(slot, more)


def _text(path: str, after: str = "", **more: object) -> Slot:
    slot = Slot(
        path=path,
        kind=Kind.TEXT,
        option="text",
        bare=True,
        after=words(after),
        question="the text must be in quotes",
        about="The text.",
    )
    return _with(slot, more)


def _with(slot: Slot, more: Mapping[str, object]) -> Slot:
    changed = {
        name: words(value) if name in _WORDS and isinstance(value, str) else value
        for name, value in more.items()
    }
    return replace(slot, **changed)  # pyright: ignore[reportArgumentType] - the fields of a slot, by name


_WHICH = words("new another other same first second third last next previous current existing parent")
_PLACES = words("beginning start top bottom front end home line lines section doc document text")
_WORDS = frozenset({"after", "also", "names", "units", "requires", "plain"})

_CALLED = "as under called named labelled labeled label name titled with"
_SAYING = "with saying that text words message following note comment remark annotation stating reading"

_DOCUMENT = Slot(
    path="document",
    kind=Kind.TEXT,
    option="doc",
    names=words("doc document docs"),
    after=words("of in from to into called named titled"),
    question='which document? doc:"…"',
    about="The document, by its title or id.",
)
_SECTION = Slot(
    path="section",
    kind=Kind.NAME,
    option="section",
    notation="…",
    optional=True,
    no_names=_WHICH | _PLACES | words("whole entire full"),
    names=words("section"),
    after=words("called named from in of at"),
    about="A section of it, by its heading.",
)
_LINES = Slot(
    path="part",
    kind=Kind.LINES,
    option="lines",
    names=words("lines line"),
    after=words("only number numbers between of"),
    argument="lines",
    about="Only these, the first and the last.",
)
_RESULT = Slot(
    path="number",
    kind=Kind.NUMBER,
    option="result",
    also=frozenset({"pin"}),
    names=words("result"),
    after=words("number no nr rest of in at"),
    question="which result?",
    argument="result",
    about="The number of an earlier result.",
)
_FULL = Slot(
    path="full",
    kind=Kind.CHOICE,
    optional=True,
    values=_choice("full complete whole entire fully completely entirely in-full entirety all everything"),
    after=words("in its with"),
    units=words("text content contents length thing view version of in"),
    about="A node's whole text, not its summary.",
)
_ANNOTATIONS = Slot(
    path="annotations",
    kind=Kind.CHOICE,
    optional=True,
    values=_choice("with-annotations with-notes annotations annotation notes comments remarks"),
    names=words("with and including plus"),
    plain=words("with-annotations with-notes"),
    after=words("its all any together along of"),
    argument="with_annotations",
    about="A node's annotations too.",
)
_LISTINGS: dict[str, object] = {
    **_choice("continuations continuation children replies responses branches", a.Listing.CONTINUATIONS),
    **_choice("annotations annotation notes comments", a.Listing.ANNOTATIONS),
    **_choice("links link connections references", a.Listing.LINKS),
    **_choice("versions version edits revisions", a.Listing.VERSIONS),
}
_SHAPE = Slot(
    path="shape",
    kind=Kind.CHOICE,
    option="as",
    values={**_choice("prose", a.Shape.PROSE), **_choice("nodes separately", a.Shape.NODES)},
    optional=True,
    always=True,
    after=words(
        "as in into continuous flowing running plain stitched one single separate individual distinct list of"
    ),
    units=words("form text"),
    about="A branch stitched together, or node by node.",
)
_DEPTH = Slot(
    path="depth",
    kind=Kind.NUMBER,
    option="depth",
    optional=True,
    always=True,
    names=words("depth levels level deep"),
    after=words("to with at of down up limited max maximum only and most top"),
    units=words("down only of"),
    about="How many levels.",
)
_SUMMARY = Slot(
    path="summary",
    kind=Kind.CHOICE,
    optional=True,
    values=_choice("summary summaries summarised summarized brief briefly"),
    after=words("with in as and but only"),
    units=words("only of"),
    about="Summaries, not how each node begins.",
)
_CONTEXT = Slot(
    path="context",
    kind=Kind.NODES,
    option="context",
    notation="ID,…",
    optional=True,
    names=words("context"),
    after=words("with using given taking as and of from"),
    units=words("as"),
    about="Other nodes that it was written from.",
)

_LOOKING = (
    Row(
        name="view",
        forms=(
            Form(a.View, (_node(after="at in of on into up inside"), _FULL, _ANNOTATIONS), "viewed"),
            Form(
                a.ViewBranch,
                (
                    _node(
                        option="branch",
                        bare=False,
                        names="branch",
                        after="at of to from up ending down leading through",
                        argument="branch",
                        about="The node at which a branch ends: all from the root.",
                    ),
                    replace(_SHAPE, optional=False),
                ),
                "viewed branch of",
            ),
            Form(
                a.ViewBranch,
                (_node(option="branch", bare=False, names="branch", after="at of to from up"),),
                "viewed branch of",
                shown=False,
                tool=False,
            ),
            Form(a.ViewResult, (replace(_RESULT, also=frozenset()),), "viewed", noun="result"),
        ),
        permission=_AWARE,
        help="see a node in short or in full, a branch, or a result",
        tool="See one node (in short, or with `full`), a branch from the root to a node, or an earlier result.",
        verbs=_verbs(
            "show, look, look at, open, inspect, see, display, examine, peek at, peek, check, check on, check out, "
            "glance at, glance over, pull up, bring up, open up, print, take look at, have look at, have peek at, "
            "take peek at, look into, revisit, reread, zoom in on, fetch, read in full=full, read all of=full, print out, what is in"
        ),
        noise=words(
            "summary brief briefly short quick text content contents details of for again what says say out"
        ),
        vocabulary=words("read say says said tell give get gimme look peek view want text content"),
        listed=words("view look peek text content contents say says said"),
    ),
    Row(
        name="list",
        forms=(
            Form(
                a.List,
                (
                    _node(after="of for on to from at under in has have"),
                    Slot(
                        path="what",
                        kind=Kind.CHOICE,
                        values=_LISTINGS,
                        after=words("all its every other different any"),
                        question="list what: continuations, annotations, links or versions?",
                        about="What hangs on it.",
                    ),
                ),
                "listed {what} of",
            ),
        ),
        permission=_AWARE,
        help="list what hangs on a node",
        tool="List the continuations, annotations, links or versions of a node.",
        verbs=_verbs("enumerate, ls, list out, list all"),
        listed=frozenset(_LISTINGS) - words("continuation annotation link version"),
        keeps=True,
        noise=words("all its every out exist are there"),
        vocabulary=words("exist many"),
    ),
    Row(
        name="tree",
        forms=(
            Form(
                a.Tree,
                (
                    _node(
                        "start",
                        "from at under below of starting rooted beginning",
                        option="from",
                        bare=False,
                        optional=True,
                        argument="from",
                        about="Where to begin; else at the root.",
                    ),
                    _DEPTH,
                    _SUMMARY,
                ),
                "drew tree from",
                noun="",
            ),
        ),
        permission=_AWARE,
        verb="draw the tree",
        help="draw the tree; * is where you are",
        tool="Draw a tree by indentation, with the local id of each node; * is where you are.",
        verbs=_verbs("map, outline, subtree"),
        listed=words("tree map outline structure subtree overview"),
        noise=words("down of tree structure view whole entire full this current"),
        vocabulary=words("shape overview draw"),
    ),
    Row(
        name="switch",
        forms=(
            Form(
                a.Switch,
                (
                    _node(
                        "to",
                        "to at over into onto back",
                        also="to",
                        lead="to",
                        argument="node",
                        question="where to?",
                        about="Where to go.",
                    ),
                ),
                "switched to",
            ),
            Form(
                a.Switch,
                (
                    Slot(
                        path="to",
                        kind=Kind.CHOICE,
                        values={
                            **_choice("next", a.Direction.NEXT),
                            **_choice("previous prev", a.Direction.PREVIOUS),
                            **_choice("parent up", a.Direction.PARENT),
                            **_choice("leaf tip", a.Direction.LEAF),
                        },
                        after=words("to over back down on"),
                        units=words("one sibling level its"),
                        question="where to?",
                        argument="direction",
                        about="Or which way: a sibling, up, or down to the end.",
                    ),
                ),
                "switched to",
            ),
        ),
        permission=_AWARE,
        help="move to another node",
        tool="Move to another node of the tree: by its id, or to a sibling, the parent or the end.",
        repeatable=True,
        verbs=_verbs(
            "goto, go, move, jump, navigate, take to, cd, head, head over, travel, step, hop, bring to, "
            "move cursor, set position, move position, put at, change position, set cursor, return to, switch position"
        ),
        noise=frozenset(),
        vocabulary=words("cursor position current place"),
    ),
    Row(
        name="search",
        forms=(
            Form(
                a.Search,
                (
                    Slot(
                        path="query",
                        kind=Kind.NAME,
                        option="query",
                        also=frozenset({"text"}),
                        bare=True,
                        notation='"query"',
                        after=words(
                            "for about word words phrase text mention mentions of anything mentioning where in "
                            "this tree nodes that contain containing"
                        ),
                        units=words("appears occurs mentioned used is in this tree anywhere here"),
                        no_names=words("tree grove branch whole me next"),
                        question="the words to look for must be in quotes",
                        about="Words to look for.",
                    ),
                ),
                "searched",
                noun="",
            ),
        ),
        permission=_AWARE,
        help="full text of this tree",
        tool="Search the full text of a tree.",
        verbs=_verbs(
            "find, grep, look for, look up, search for, query, locate, seek, hunt for, search tree for, find all, "
            "do search for, run search for, do full-text search for"
        ),
        everywhere=True,
        vocabulary=words(
            "mention mentions mentioned contain contains occur occurs appear appears anywhere where"
        ),
    ),
    Row(
        name="think",
        forms=(
            Form(
                a.Think,
                (_text("text", hidden=True, about="Kept in your memory of this tree; nobody else sees it."),),
                "thought",
                noun="",
                words="… ←",
            ),
        ),
        permission=_AWARE,
        help="a private scratchpad, up to the ←",
        tool="Keep a thought in your private memory of a tree; nobody else is shown it.",
    ),
    Row(
        name="help",
        forms=(
            Form(
                a.Help,
                (
                    Slot(
                        path="command",
                        kind=Kind.COMMAND,
                        bare=True,
                        optional=True,
                        after=words("with on for about to of use using command"),
                        units=words("command"),
                    ),
                ),
                "asked for help",
                noun="",
            ),
        ),
        permission=_AWARE,
        help="what you may do, and how",
        verbs=_verbs(
            "commands, usage, manual, man, explain, how to use, how does work, how do i use, usage of, list commands, "
            "show commands, what commands, which commands, what can i do, show permissions, get help, show help, "
            "i need help, what are permissions, what am i allowed to do"
        ),
        noise=words("command available all here are there do i have can use"),
        vocabulary=words("commands available allowed permitted permissions work use options"),
    ),
)

_MEMORY = (
    Row(
        name="pin",
        forms=(
            Form(
                a.Pin,
                (_node("target.node", "on to in for", units="to in memory block", argument="node"),),
                "pinned",
                {"target": a.NodeTarget},
                noun="pin",
            ),
            Form(
                a.Pin,
                (
                    replace(
                        _DOCUMENT,
                        path="target.title",
                        argument="document",
                        about="A document, by its title or id.",
                    ),
                    replace(_SECTION, path="target.section"),
                ),
                "pinned",
                {"target": a.DocumentTarget},
                noun="pin",
            ),
            Form(
                a.Pin,
                (replace(_RESULT, path="target.number", also=frozenset()),),
                "pinned",
                {"target": a.ResultTarget},
                noun="pin",
            ),
        ),
        everywhere=True,
        permission=_AWARE,
        help="keep in your memory block, whatever is pruned",
        tool="Keep a node, a document, a section or a result in your memory of a tree.",
        repeatable=True,
        verbs=_verbs("pin down, keep pinned, keep in memory, hold in memory"),
        made=words("pin"),
    ),
    Row(
        name="stash",
        forms=(
            Form(
                a.Stash,
                (
                    _label := _text(
                        "label",
                        f"{_CALLED} stash",
                        option="label",
                        also="name as",
                        notation='"label"',
                        question="a stash needs a label in quotes",
                        about="What it is called.",
                    ),
                    _text(
                        "what.text",
                        "with saying containing text content words phrase sentence line following idea note this",
                        notation='"text"',
                        question="stash what: a text in quotes, content-of: or summary-of:?",
                        about="A text of your own.",
                        swaps=True,
                    ),
                ),
                "stashed",
                {"what": a.Literal},
                noun="",
            ),
            Form(
                a.Stash,
                (
                    _label,
                    _node(
                        "what.node",
                        "content contents text of with from",
                        option="content-of",
                        bare=False,
                        argument="content_of",
                        about="Or what a node says.",
                    ),
                ),
                "stashed",
                {"what": a.ContentOf},
                noun="",
            ),
            Form(
                a.Stash,
                (
                    _label,
                    Slot(
                        path="what.first what.last",
                        kind=Kind.RANGE,
                        option="summary-of",
                        names=words("summary summaries"),
                        after=words("of with from"),
                        argument="summary_of",
                        about="Or a range in short: its first and its last node.",
                    ),
                ),
                "stashed",
                {"what": a.SummaryOf},
                noun="",
            ),
        ),
        permission=_AWARE,
        help="keep for later, out of the context",
        tool="Keep a text under a label for later.",
        verbs=_verbs("put aside, set aside, lay aside, stash away, squirrel away"),
        made=words("stash"),
        keeps=True,
        noise=words("this away"),
    ),
    Row(
        name="recall",
        forms=(
            Form(
                a.Recall,
                (
                    _text(
                        "label",
                        "stash stashed called named from up",
                        option="stash",
                        also="label name",
                        notation='"label"',
                        units="stash back",
                        question="which stash? its label must be in quotes",
                        about="What it is called.",
                    ),
                ),
                "recalled",
                noun="",
            ),
        ),
        permission=_AWARE,
        help="bring a stash into your memory block",
        tool="Bring a stash back into your memory.",
        verbs=_verbs("unstash, retrieve, fetch, bring back, get back, load, give back"),
        listed=words("stash"),
        vocabulary=words("stash stashed put"),
    ),
    Row(
        name="drop",
        forms=(
            Form(
                a.Drop,
                (
                    _node(
                        "target.node",
                        "on from of off for at",
                        option="pin",
                        bare=False,
                        names="pin pins pinned",
                        argument="node",
                        question='drop what: pin:ID or stash:"…"?',
                    ),
                ),
                "dropped",
                {"target": a.NodeTarget},
                noun="",
            ),
            Form(
                a.Drop,
                (
                    replace(
                        _DOCUMENT,
                        path="target.title",
                        argument="document",
                        requires=words("pin pinned"),
                        after=words("of from on"),
                        about="A document, by its title or id.",
                    ),
                    replace(_SECTION, path="target.section"),
                ),
                "dropped",
                {"target": a.DocumentTarget},
                noun="",
                words="pin",
            ),
            Form(
                a.Drop,
                (
                    replace(
                        _RESULT,
                        path="target.number",
                        requires=words("pin pinned"),
                        after=words("of from on number"),
                    ),
                ),
                "dropped",
                {"target": a.ResultTarget},
                noun="",
                words="pin",
            ),
            Form(
                a.Drop,
                (
                    _text(
                        "target.label",
                        "called named of",
                        option="stash",
                        bare=False,
                        names="stash stashed",
                        argument="stash",
                        question="which stash?",
                        about="A stash, by its label.",
                    ),
                ),
                "dropped stash",
                {"target": a.StashTarget},
                noun="",
            ),
        ),
        permission=_AWARE,
        help="let a pin or a stash go",
        tool="Let a pin or a stash go.",
        verbs=_verbs("unpin=pin, stop pinning=pin"),
        removed=words("pin stash"),
        keeps=True,
    ),
    Row(
        name="memory",
        forms=(
            Form(
                a.Memory,
                (
                    Slot(
                        path="view",
                        kind=Kind.CHOICE,
                        values={
                            **_choice("trace actions history errors", a.MemoryView.TRACE),
                            **_choice("stashed stashes stash", a.MemoryView.STASHED),
                        },
                        optional=True,
                        after=words("of recent action in"),
                        about="All of it, what you did, or what you stashed.",
                    ),
                ),
                "looked at memory",
                noun="",
            ),
        ),
        permission=_AWARE,
        verb="look",
        help="what you keep, what you did, what you stashed",
        tool="What you pinned, stashed and did in a tree.",
        verbs=_verbs("mem"),
        listed=words("memory trace actions stashes stashed"),
        keeps=True,
        noise=words("memory block of recent operational all"),
        vocabulary=words("remember pinned stashed"),
    ),
)


def _document_item(title: str) -> str:
    return f"doc:{title}"


_MAKING = (
    Row(
        name="respond",
        forms=(
            Form(
                a.Respond,
                (
                    _node(after="to under at on below for after", also="to"),
                    _text("text", _SAYING),
                    _CONTEXT,
                    replace(
                        _CONTEXT,
                        path="instruction",
                        option="instruction",
                        names=words("instruction instructions"),
                        about="Nodes that instruct it.",
                    ),
                ),
                "responded to",
            ),
        ),
        permission=_WRITE,
        help="answer a node; you move to your answer",
        tool="Say something below a node, as a new node; you move to it.",
        verbs=_verbs("reply, say, answer, write back, tell"),
        made=words("reply response answer"),
    ),
    Row(
        name="annotate",
        forms=(
            Form(
                a.Annotate,
                (_node(after="on to at for about beside"), _text("text", f"{_SAYING} as", also="note")),
                "annotated",
            ),
        ),
        permission=_WRITE,
        help="a note beside a node",
        tool="Put a note beside a node, outside of the conversation.",
        verbs=_verbs("note, comment, remark, jot down"),
        made=words("note comment annotation remark"),
    ),
    Row(
        name="edit",
        forms=(
            Form(
                a.Edit,
                (
                    _node(after="text content contents wording of in"),
                    _text(
                        "text",
                        "to as with say saying so that it says reads read into text new wording",
                        about="All of the new text.",
                    ),
                ),
                "edited",
            ),
        ),
        permission=_WRITE,
        help="a version in a buffer, a branch in a dialogue",
        tool="Write a node anew: as a branch beside it in a dialogue, as a version in a buffer. The old text stays.",
        verbs=_verbs(
            "change, revise, rewrite, reword, modify, update, amend, rephrase, correct, alter, make say, make read, "
            "let say, replace text of, replace content of, replace contents of, set text of"
        ),
        made=words("version revision"),
    ),
    Row(
        name="merge",
        forms=(
            Form(
                a.Merge,
                (
                    Slot(
                        path="nodes",
                        kind=Kind.NODES,
                        option="id",
                        bare=True,
                        least=2,
                        after=words("of both together"),
                        question="merge takes two nodes or more",
                        about="The nodes it comes from.",
                    ),
                    _text("text", "into as to with saying one single new together text"),
                ),
                "merged",
            ),
        ),
        permission=_WRITE,
        help="one node out of several",
        tool="Write one node that comes from several, such as the best of two branches.",
        verbs=_verbs(
            "combine, unite, synthesise, synthesize, blend, fuse, merge together, bring together, put together, "
            "make one out of"
        ),
    ),
    Row(
        name="split",
        forms=(
            Form(
                a.Split,
                (
                    _node(units="in into two parts up apart off"),
                    _text(
                        "at",
                        "at before words word phrase where it says right point just",
                        option="at",
                        bare=False,
                        units="begins starts",
                        question='split where? at:"…" takes the words it is split before',
                        about="The words with which the second half begins.",
                    ),
                ),
                "split",
            ),
        ),
        permission=_WRITE,
        help="two nodes out of one, before these words",
        tool="Make two nodes out of one, as a branch beside it.",
        verbs=_verbs("divide, break, break up, split up, cut, cut up, break apart, cut apart, make two of"),
    ),
    Row(
        name="join",
        forms=(
            Form(
                a.Join,
                (
                    _node(
                        units="with to and onto next following one after it what follows successor its that"
                    ),
                ),
                "joined",
            ),
        ),
        permission=_WRITE,
        help="a node with the one after it",
        tool="Make one node out of a node and the one after it, as a branch beside it.",
        verbs=_verbs("unsplit, glue, join up"),
    ),
    Row(
        name="attach",
        forms=(
            Form(
                a.Attach,
                (
                    _node(after="to onto on", units="as"),
                    _text(
                        "item",
                        "item file image picture photo attachment with",
                        also="item",
                        notation='"item"',
                        units="as attachment item",
                        question="attach what? its name must be in quotes",
                        about='A note of a vault, doc:"Title", or a node as [a7x2].',
                    ),
                ),
                "attached to",
            ),
            Form(
                a.Attach,
                (_node(after="to onto on"), replace(_DOCUMENT, path="item.title")),
                "attached to",
                {"item": _document_item},
                shown=False,
                tool=False,
            ),
        ),
        everywhere=True,
        permission=_WRITE,
        help="an item to a node",
        tool="Attach a note, a document or another node to a node, for models to see with it.",
        made=words("attachment"),
    ),
)


def _linked(after: str) -> tuple[Group, ...]:
    """A node, a document or another tree."""
    document = replace(
        _DOCUMENT,
        path="to.title",
        after=words(after),
        argument="to_document",
        about="Or a document, by its title.",
    )
    tree = replace(
        document,
        option="tree",
        names=words("tree"),
        argument="to_tree",
        about="Or another tree, by its title.",
    )
    node = _node(
        "to.node",
        after,
        also="to",
        argument="to_node",
        about="A node of this tree.",
        question='to what: a node, doc:"…" or tree:"…"?',
    )
    return (
        Group((node,), {"to": a.NodeTarget}),
        Group((document, replace(_SECTION, path="to.section", hidden=True)), {"to": a.DocumentTarget}),
        Group((tree,), {"to": a.TreeTarget}),
    )


_NOTE = _text(
    "note",
    "with note saying comment and that",
    option="note",
    also="text label",
    bare=False,
    optional=True,
    about="Why.",
)

_MARKING = (
    Row(
        name="link",
        forms=(
            Form(
                a.Link,
                (
                    _node(after="from between both", also="from", question="link which node?"),
                    Either(_linked("to with and up"), "to"),
                    _NOTE,
                ),
                "linked",
            ),
            Form(
                a.Link,
                (replace(_DOCUMENT, path="to.title"), _node(after="to with and"), _NOTE),
                "linked",
                {"to": a.DocumentTarget},
                shown=False,
                tool=False,
            ),
        ),
        permission=_WRITE,
        help="a reference between two things",
        tool="Make a reference from a node to a node, a document or another tree.",
        verbs=_verbs("connect, relate, associate, cross-reference, tie, link up"),
        made=words("link connection reference"),
        noise=words("together"),
    ),
    Row(
        name="unlink",
        forms=(
            Form(
                a.Unlink,
                (_node(after="from between"), Either(_linked("from and to with"), "from")),
                "unlinked",
            ),
            Form(
                a.Unlink,
                (replace(_DOCUMENT, path="to.title"), _node(after="from and")),
                "unlinked",
                {"to": a.DocumentTarget},
                shown=False,
                tool=False,
            ),
        ),
        permission=_WRITE,
        help="take a link away",
        verbs=_verbs("disconnect"),
        removed=words("link connection reference"),
    ),
    Row(
        name="tag",
        forms=(
            Form(
                a.Tag,
                (
                    _node(after="to on"),
                    _name := Slot(
                        path="name",
                        kind=Kind.NAME,
                        option="tag",
                        also=words("name label as"),
                        bare=True,
                        after=words("with as tag called named"),
                        units=words("tag"),
                        no_names=_WHICH | words("tag tags"),
                        question="tag takes a node and a name",
                        about="The tag.",
                    ),
                ),
                "tagged",
            ),
        ),
        permission=_WRITE,
        help="a word to find a node by",
        tool="Tag a node with a word to find it by.",
        repeatable=True,
        made=words("tag"),
    ),
    Row(
        name="untag",
        forms=(Form(a.Untag, (_node(after="from of on off"), _name), "untagged"),),
        permission=_WRITE,
        help="take a tag away",
        repeatable=True,
        removed=words("tag"),
    ),
    Row(
        name="bookmark",
        forms=(
            Form(
                a.Bookmark,
                (
                    _node(after="at on to for"),
                    _text(
                        "label",
                        f"{_CALLED} and call it",
                        option="label",
                        also="name note",
                        notation='"label"',
                        optional=True,
                        about="What it is remembered as.",
                    ),
                ),
                "bookmarked",
            ),
        ),
        permission=_WRITE,
        help="mark a node for everybody",
        repeatable=True,
        verbs=_verbs("star, favourite, favorite"),
        made=words("bookmark star favourite favorite"),
    ),
    Row(
        name="unbookmark",
        forms=(Form(a.Unbookmark, (_node(after="from of on off at"),), "unbookmarked"),),
        permission=_WRITE,
        help="take a bookmark away",
        repeatable=True,
        verbs=_verbs("unstar, unfavourite, unfavorite"),
        removed=words("bookmark star"),
    ),
    Row(
        name="prune",
        forms=(
            Form(
                a.Prune,
                (_node(also="branch", after="branch at away off subtree starting", units="branch"),),
                "pruned",
            ),
        ),
        permission=_WRITE,
        help="fold a branch out of sight; nothing is destroyed",
        tool="Fold a node and all below it out of sight. Nothing is destroyed: `restore` brings it back.",
        verbs=_verbs("lop off, cut off branch, trim branch"),
    ),
    Row(
        name="restore",
        forms=(
            Form(
                a.Restore,
                (_node(also="branch", after="branch pruned at back subtree", units="branch"),),
                "restored",
            ),
        ),
        permission=_WRITE,
        help="bring back what was pruned",
        verbs=_verbs("unprune, undelete, revive, reinstate, bring back, put back branch"),
    ),
    Row(
        name="exclude",
        forms=(Form(a.Exclude, (_node(units="from out of context contexts window"),), "excluded"),),
        permission=_WRITE,
        help="leave a node out of contexts",
        tool="Leave a node out of what models are shown; it stays in the tree.",
        repeatable=True,
        verbs=_verbs(
            "leave out, omit, skip, ignore, mute, take out of context, remove from context, drop from context, "
            "keep out of context, hide from context, leave out of context, leave out of contexts, keep out of contexts, "
            "cut from context, exclude from all contexts"
        ),
    ),
    Row(
        name="include",
        forms=(Form(a.Include, (_node(units="in into to context contexts again back"),), "included"),),
        permission=_WRITE,
        help="take a node into contexts again",
        repeatable=True,
        verbs=_verbs(
            "unexclude, unmute, re-include, reinclude, stop excluding, put back in context, put back into context, "
            "take back into context, bring back into context, add back to context, add to context again"
        ),
    ),
    Row(
        name="collapse",
        forms=(
            Form(
                a.Collapse,
                (
                    Slot(
                        path="first last",
                        kind=Kind.RANGE,
                        option="range",
                        bare=True,
                        after=words("from range between"),
                        question="which range? two ids with a dash between, such as r001-a7x2",
                        argument="first last",
                        about="The range's upper end.|Its lower end.",
                    ),
                    _text(
                        "name",
                        f"{_CALLED} into and call it",
                        option="name",
                        also="label as",
                        notation='"name"',
                        question="a collapsed range needs a name in quotes",
                        about="What the range is called.",
                    ),
                    _text(
                        "description",
                        "with description",
                        option="description",
                        also="note",
                        notation='"description"',
                        optional=True,
                        swaps=True,
                        about="What stands in its place.",
                    ),
                ),
                "collapsed",
                noun="range",
            ),
        ),
        permission=_WRITE,
        help="fold a range under a name",
        tool="Fold a range of a path under a name: models are shown a placeholder.",
        verbs=_verbs("fold, fold up"),
    ),
    Row(
        name="expand",
        forms=(
            Form(
                a.Expand,
                (
                    _text(
                        "name",
                        "group range collapsed called named",
                        option="name",
                        also="label range",
                        notation='"name"',
                        units="again group range",
                        question="a collapsed range by its name, or a continuation from a node?",
                        about="What the range is called.",
                    ),
                ),
                "expanded",
                noun="range",
            ),
        ),
        permission=_WRITE,
        help="unfold a collapsed range",
        verbs=_verbs("unfold, uncollapse, open group, open up collapsed, open collapsed"),
    ),
    Row(
        name="undo",
        forms=(Form(a.Undo, (), "undid", noun=""),),
        permission=_WRITE,
        help="take your last operation back",
        tool="Take back your own last operation in a tree.",
        verbs=_verbs("take that back, take it back, revert last, take back, revert last operation"),
        noise=words("that last step it action change operation this one command thing what i did"),
    ),
    Row(
        name="redo",
        forms=(Form(a.Redo, (), "redid", noun=""),),
        permission=_WRITE,
        help="do again what you undid",
        noise=words("that last step it action change operation this one command thing undone what i undid"),
    ),
)

_COUNTED = words("continuations continuation times completions samples variants alternatives options n")

_OTHERS = (
    Row(
        name="continue",
        forms=(
            Form(
                a.Continue,
                (
                    _node(
                        "start",
                        "from at on after of for",
                        option="from",
                        lead="from",
                        values={"here": None},
                        optional=True,
                        argument="from",
                        about="Else where you are.",
                    ),
                    Slot(
                        path="n",
                        kind=Kind.NUMBER,
                        option="n",
                        optional=True,
                        names=_COUNTED,
                        plain=words("twice once"),
                        after=words("with and ="),
                        about="How many continuations.",
                    ),
                    Slot(
                        path="tokens",
                        kind=Kind.NUMBER,
                        option="tokens",
                        optional=True,
                        names=words("tokens token"),
                        after=words(
                            "up to at most max maximum with in for limit limited of and no more than using"
                        ),
                        units=words("each long max"),
                        about="At most so many each.",
                    ),
                    Slot(
                        path="temperature",
                        kind=Kind.DECIMAL,
                        option="temp",
                        optional=True,
                        names=words("temperature temp"),
                        after=words("at with and using in of to set is"),
                    ),
                    Slot(
                        path="stop",
                        kind=Kind.TEXTS,
                        option="stop",
                        notation='"…"',
                        optional=True,
                        names=words("stop stopping until till"),
                        after=words(
                            "at on before with sequence word words when it says reaches you see and then"
                        ),
                        about="Words at which it stops.",
                    ),
                    Slot(
                        path="agent",
                        kind=Kind.NAME,
                        option="agent",
                        lead="using",
                        notation='"…"',
                        optional=True,
                        capital=True,
                        names=words("agent model using"),
                        after=words("with by via through as called named"),
                        about="Who writes; else the grove's default.",
                    ),
                ),
                "continued from",
            ),
        ),
        permission=_GENERATE,
        verb="generate",
        help="let another agent go on from a node; n is at most 10",
        tool="Have a model agent of the grove write what comes next, as one or more new nodes. May cost money.",
        verbs=_verbs(
            "generate, extend, complete, carry on, keep going, write on, sample, go on, proceed, expand=from, roll, "
            "continue on"
        ),
        made=words("continuation continuations completions samples variants"),
        keeps=True,
        noise=words("continuation continuations"),
    ),
    Row(
        name="read",
        forms=(
            Form(
                a.Read,
                (
                    replace(
                        _DOCUMENT,
                        names=words("doc document docs of in from"),
                        after=words("up called named titled"),
                    ),
                    Either(
                        (
                            Group(
                                (
                                    Slot(
                                        path="part",
                                        kind=Kind.CHOICE,
                                        values=_choice(
                                            "summary summarised summarized briefly", a.SummaryOnly()
                                        ),
                                        units=words("of only"),
                                        after=words("in only but"),
                                        argument="summary",
                                        about="In short.",
                                    ),
                                )
                            ),
                            Group((_LINES,)),
                            Group(
                                (
                                    replace(
                                        _SECTION,
                                        path="part.section",
                                        optional=False,
                                        about="Only this one, by its heading.",
                                    ),
                                ),
                                {"part": a.SectionOf},
                            ),
                        ),
                        optional=True,
                    ),
                ),
                "read",
                noun="document",
            ),
        ),
        everywhere=True,
        permission=Permission.DOC_READ,
        help="a document that is linked to this tree or its nodes",
        tool="Read a document that is linked to the tree or its nodes, or part of it.",
        verbs=_verbs("read out, consult, open, show, view, see, look at, print, display, what is in"),
        noise=words("full whole entire complete out only all"),
    ),
    Row(
        name="write",
        forms=(
            Form(
                a.Write,
                (
                    _place_doc := replace(_DOCUMENT, after=words("to in into of from called named titled")),
                    Slot(
                        path="place",
                        kind=Kind.CHOICE,
                        values=_choice("append appending end bottom", a.Append()),
                        after=words("at to"),
                        units=words("of to"),
                        argument="append",
                        about="At the end.",
                        question="write where: append, at:… or replace:…?",
                    ),
                    _place_text := _text(
                        "text", "with text following sentence line this by", about="What is put there."
                    ),
                ),
                "wrote",
                noun="document",
            ),
            Form(
                a.Write,
                (
                    _place_doc,
                    Slot(
                        path="place.place",
                        kind=Kind.NUMBER,
                        option="at",
                        number=True,
                        also=words("lines"),
                        names=words("line"),
                        requires=words("at before"),
                        argument="at_line",
                        about="Or before this line.",
                    ),
                    _place_text,
                ),
                "wrote",
                {"place": a.At},
                noun="document",
                shown=False,
            ),
            Form(
                a.Write,
                (
                    _place_doc,
                    Slot(
                        path="place.place",
                        kind=Kind.NAME,
                        option="at",
                        notation="…",
                        number=False,
                        no_names=_WHICH | _PLACES,
                        names=words("section at"),
                        after=words("end of to in under into bottom"),
                        argument="at_section",
                        about="Or at the end of this section.",
                    ),
                    _place_text,
                ),
                "wrote",
                {"place": a.At},
                noun="document",
            ),
            Form(
                a.Write,
                (
                    _place_doc,
                    Slot(
                        path="place.what",
                        kind=Kind.LINES,
                        option="replace",
                        also=words("lines"),
                        names=words("lines line"),
                        after=words("replace replacing overwrite overwriting"),
                        requires=words("replace replacing overwrite overwriting"),
                        argument="replace_lines",
                        about="Or in the place of these lines.",
                    ),
                    _place_text,
                ),
                "wrote",
                {"place": a.Replace},
                noun="document",
                shown=False,
            ),
            Form(
                a.Write,
                (
                    _place_doc,
                    Slot(
                        path="place.what",
                        kind=Kind.NAME,
                        option="replace",
                        also=words("section"),
                        notation="…",
                        no_names=_WHICH | _PLACES,
                        names=words("section"),
                        after=words("replace replacing overwrite overwriting"),
                        requires=words("replace replacing overwrite overwriting"),
                        argument="replace_section",
                        about="Or in the place of this section.",
                    ),
                    _place_text,
                ),
                "wrote",
                {"place": a.Replace},
                noun="document",
            ),
        ),
        everywhere=True,
        permission=Permission.DOC_WRITE,
        help="change a document by line or section; at:12, at:motivation, replace:12-20",
        tool="Change a document that is linked to the tree: at its end, at a line or section, or in their place.",
        verbs=(
            *_verbs("append=append, insert, add, put"),
            *(
                f"{verb} {part}=replace {part}"
                for verb in ("replace", "overwrite", "rewrite", "change")
                for part in ("lines", "line", "section")
            ),
        ),
    ),
)

ROWS: tuple[Row, ...] = (*_LOOKING, *_MEMORY, *_MAKING, *_MARKING, *_OTHERS)
CATALOG: Mapping[str, Row] = MappingProxyType({row.name: row for row in ROWS})


def refusal(row: Row, permissions: Iterable[Permission]) -> PermissionDeniedError | None:
    """The refusal that an agent with these permissions would get; None if it would not be refused."""
    if row.permission in frozenset(permissions):
        return None
    return PermissionDeniedError(
        f"{row.permission} not enabled",
        hint=f"request elevated permissions or ask the human to {row.verb or row.name}",
    )
