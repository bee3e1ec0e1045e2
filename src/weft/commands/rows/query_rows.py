"""Commands that look: view, list, tree, switch, search, think, help."""

from functools import partial

from weft.commands import actions as a
from weft.commands.grammar import (
    LINES,
    RESULT,
    CommandRow,
    SlotKind,
    changed,
    choice,
    command_row,
    form,
    node,
    slot,
    text,
)
from weft.commands.vocabulary import words
from weft.tree.agent import Permission

_FULL = slot(
    SlotKind.CHOICE,
    "full",
    "in its with",
    optional=True,
    values=choice("full complete whole entire fully completely entirely in-full entirety all everything"),
    units="text content contents length thing view version of in",
    about="A node's whole text, not its summary.",
)
_ANNOTATIONS = slot(
    SlotKind.CHOICE,
    "annotations",
    "its all any together along of",
    optional=True,
    values=choice("with-annotations with-notes annotations annotation notes comments remarks"),
    names="with and including plus",
    plain="with-annotations with-notes",
    argument="with_annotations",
    about="A node's annotations too.",
)
_LISTINGS: dict[str, object] = {
    **choice("continuations continuation children replies responses branches", a.ListingKind.CONTINUATIONS),
    **choice("annotations annotation notes comments", a.ListingKind.ANNOTATIONS),
    **choice("links link connections references", a.ListingKind.LINKS),
    **choice("versions version edits revisions", a.ListingKind.VERSIONS),
}
_SHAPE = slot(
    SlotKind.CHOICE,
    "shape",
    "as in into continuous flowing running plain stitched one single separate individual distinct list of",
    option="as",
    values={**choice("prose", a.BranchShape.PROSE), **choice("nodes separately", a.BranchShape.NODES)},
    optional=True,
    always=True,
    units="form text",
    about="A branch stitched together, or node by node.",
)
_DEPTH = slot(
    SlotKind.NUMBER,
    "depth",
    "to with at of down up limited max maximum only and most top",
    optional=True,
    always=True,
    names="depth levels level deep",
    units="down only of",
    about="How many levels.",
)
_SUMMARY = slot(
    SlotKind.CHOICE,
    "summary",
    "with in as and but only",
    optional=True,
    values=choice("summary summaries summarised summarized brief briefly"),
    units="only of",
    about="Summaries, not how each node begins.",
)

_row = partial(command_row, Permission.LOOM_AWARE)
ROWS: tuple[CommandRow, ...] = (
    _row(
        "view",
        "see a node in short or in full, a branch, or a result",
        form(a.ViewCommand, "viewed", node(after="at in of on into up inside"), _FULL, _ANNOTATIONS),
        form(
            a.ViewBranchCommand,
            "viewed branch of",
            node(
                option="branch",
                bare=False,
                names="branch",
                after="at of to from up ending down leading through",
                argument="branch",
                about="The node at which a branch ends: all from the root.",
            ),
            changed(_SHAPE, optional=False),
        ),
        form(
            a.ViewBranchCommand,
            "viewed branch of",
            node(option="branch", bare=False, names="branch", after="at of to from up"),
            shown=False,
            tool=False,
        ),
        form(
            a.ViewResultCommand,
            "viewed",
            changed(RESULT, also=""),
            changed(LINES, optional=True),
            noun="result",
        ),
        tool="See one node (in short, or with `full`), a branch from the root to a node, or an earlier result.",
        verbs=(
            "show, look, look at, open, inspect, see, display, examine, peek at, peek, check, check on, check out, "
            "glance at, glance over, pull up, bring up, open up, print, take look at, have look at, have peek at, "
            "take peek at, look into, revisit, reread, zoom in on, fetch, read in full=full, read all of=full, print out, what is in"
        ),
        noise="summary brief briefly short quick text content contents details of for again what says say out",
        vocabulary="read say says said tell give get gimme look peek view want text content",
        listed="view look peek text content contents say says said",
    ),
    _row(
        "list",
        "list what hangs on a node",
        form(
            a.ListCommand,
            "listed {what} of",
            node(after="of for on to from at under in has have"),
            slot(
                SlotKind.CHOICE,
                "what",
                "all its every other different any",
                values=_LISTINGS,
                question="list what: continuations, annotations, links or versions?",
                about="What hangs on it.",
            ),
        ),
        tool="List the continuations, annotations, links or versions of a node.",
        verbs="enumerate, ls, list out, list all",
        listed=frozenset(_LISTINGS) - words("continuation annotation link version"),
        keeps=True,
        noise="all its every out exist are there",
        vocabulary="exist many",
    ),
    _row(
        "tree",
        "draw the tree; * is where you are",
        form(
            a.TreeCommand,
            "drew tree from",
            node(
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
        verb="draw the tree",
        tool="Draw a tree by indentation, with the local id of each node; * is where you are.",
        verbs="map, outline, subtree",
        listed="tree map outline structure subtree overview",
        noise="down of tree structure view whole entire full this current",
        vocabulary="shape overview draw",
        noun="",
    ),
    _row(
        "switch",
        "move to another node",
        form(
            a.SwitchCommand,
            "switched to",
            node(
                "to",
                "to at over into onto back",
                also="to",
                lead="to",
                argument="node",
                question="where to?",
                about="Where to go.",
            ),
        ),
        form(
            a.SwitchCommand,
            "switched to",
            slot(
                SlotKind.CHOICE,
                "to",
                "to over back down on",
                values={
                    **choice("next", a.SwitchDirection.NEXT),
                    **choice("previous prev", a.SwitchDirection.PREVIOUS),
                    **choice("parent up", a.SwitchDirection.PARENT),
                    **choice("leaf tip", a.SwitchDirection.LEAF),
                },
                units="one sibling level its",
                question="where to?",
                argument="direction",
                about="Or which way: a sibling, up, or down to the end.",
            ),
        ),
        tool="Move to another node of the tree: by its id, or to a sibling, the parent or the end.",
        repeatable=True,
        verbs=(
            "goto, go, move, jump, navigate, take to, cd, head, head over, travel, step, hop, bring to, "
            "move cursor, set position, move position, put at, change position, set cursor, return to, switch position"
        ),
        vocabulary="cursor position current place",
    ),
    _row(
        "search",
        "full text of this tree",
        form(
            a.SearchCommand,
            "searched",
            slot(
                SlotKind.NAME,
                "query",
                (
                    "for about word words phrase text mention mentions of anything mentioning where in "
                    "this tree nodes that contain containing"
                ),
                also=frozenset({"text"}),
                bare=True,
                notation='"query"',
                units="appears occurs mentioned used is in this tree anywhere here",
                no_names="tree grove branch whole me next",
                question="the words to look for must be in quotes",
                about="Words to look for.",
            ),
        ),
        tool="Search the full text of a tree.",
        verbs=(
            "find, grep, look for, look up, search for, query, locate, seek, hunt for, search tree for, find all, "
            "do search for, run search for, do full-text search for"
        ),
        everywhere=True,
        vocabulary="mention mentions mentioned contain contains occur occurs appear appears anywhere where",
        noun="",
    ),
    _row(
        "think",
        "a private scratchpad, up to the ←",
        form(
            a.ThinkCommand,
            "thought",
            text("text", hidden=True, about="Kept in your memory of this tree; no other agent sees it."),
            words="… ←",
        ),
        tool="Keep a thought in your private memory of a tree; no other agent is shown it.",
        noun="",
    ),
    _row(
        "help",
        "what you may do, and how",
        form(
            a.HelpCommand,
            "asked for help",
            slot(
                SlotKind.COMMAND,
                "command",
                "with on for about to of use using command",
                bare=True,
                optional=True,
                units="command",
            ),
        ),
        verbs=(
            "commands, usage, manual, man, explain, how to use, how does work, how do i use, usage of, list commands, "
            "show commands, what commands, which commands, what can i do, show permissions, get help, show help, "
            "i need help, what are permissions, what am i allowed to do"
        ),
        noise="command available all here are there do i have can use",
        vocabulary="commands available allowed permitted permissions work use options",
        noun="",
    ),
)
