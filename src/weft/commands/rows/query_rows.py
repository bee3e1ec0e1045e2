"""Commands that look: view, list, tree, switch, search, think, help."""

from dataclasses import replace

from weft.commands import actions as a
from weft.commands.grammar import AWARE, RESULT, CommandRow, Form, Slot, SlotKind, choice, node, text, verbs
from weft.commands.vocabulary import words

_FULL = Slot(
    path="full",
    kind=SlotKind.CHOICE,
    optional=True,
    values=choice("full complete whole entire fully completely entirely in-full entirety all everything"),
    after=words("in its with"),
    units=words("text content contents length thing view version of in"),
    about="A node's whole text, not its summary.",
)
_ANNOTATIONS = Slot(
    path="annotations",
    kind=SlotKind.CHOICE,
    optional=True,
    values=choice("with-annotations with-notes annotations annotation notes comments remarks"),
    names=words("with and including plus"),
    plain=words("with-annotations with-notes"),
    after=words("its all any together along of"),
    argument="with_annotations",
    about="A node's annotations too.",
)
_LISTINGS: dict[str, object] = {
    **choice("continuations continuation children replies responses branches", a.ListingKind.CONTINUATIONS),
    **choice("annotations annotation notes comments", a.ListingKind.ANNOTATIONS),
    **choice("links link connections references", a.ListingKind.LINKS),
    **choice("versions version edits revisions", a.ListingKind.VERSIONS),
}
_SHAPE = Slot(
    path="shape",
    kind=SlotKind.CHOICE,
    option="as",
    values={**choice("prose", a.BranchShape.PROSE), **choice("nodes separately", a.BranchShape.NODES)},
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
    kind=SlotKind.NUMBER,
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
    kind=SlotKind.CHOICE,
    optional=True,
    values=choice("summary summaries summarised summarized brief briefly"),
    after=words("with in as and but only"),
    units=words("only of"),
    about="Summaries, not how each node begins.",
)

ROWS: tuple[CommandRow, ...] = (
    CommandRow(
        name="view",
        forms=(
            Form(a.ViewCommand, (node(after="at in of on into up inside"), _FULL, _ANNOTATIONS), "viewed"),
            Form(
                a.ViewBranchCommand,
                (
                    node(
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
                a.ViewBranchCommand,
                (node(option="branch", bare=False, names="branch", after="at of to from up"),),
                "viewed branch of",
                shown=False,
                tool=False,
            ),
            Form(a.ViewResultCommand, (replace(RESULT, also=frozenset()),), "viewed", noun="result"),
        ),
        permission=AWARE,
        help="see a node in short or in full, a branch, or a result",
        tool="See one node (in short, or with `full`), a branch from the root to a node, or an earlier result.",
        verbs=verbs(
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
    CommandRow(
        name="list",
        forms=(
            Form(
                a.ListCommand,
                (
                    node(after="of for on to from at under in has have"),
                    Slot(
                        path="what",
                        kind=SlotKind.CHOICE,
                        values=_LISTINGS,
                        after=words("all its every other different any"),
                        question="list what: continuations, annotations, links or versions?",
                        about="What hangs on it.",
                    ),
                ),
                "listed {what} of",
            ),
        ),
        permission=AWARE,
        help="list what hangs on a node",
        tool="List the continuations, annotations, links or versions of a node.",
        verbs=verbs("enumerate, ls, list out, list all"),
        listed=frozenset(_LISTINGS) - words("continuation annotation link version"),
        keeps=True,
        noise=words("all its every out exist are there"),
        vocabulary=words("exist many"),
    ),
    CommandRow(
        name="tree",
        forms=(
            Form(
                a.TreeCommand,
                (
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
                "drew tree from",
                noun="",
            ),
        ),
        permission=AWARE,
        verb="draw the tree",
        help="draw the tree; * is where you are",
        tool="Draw a tree by indentation, with the local id of each node; * is where you are.",
        verbs=verbs("map, outline, subtree"),
        listed=words("tree map outline structure subtree overview"),
        noise=words("down of tree structure view whole entire full this current"),
        vocabulary=words("shape overview draw"),
    ),
    CommandRow(
        name="switch",
        forms=(
            Form(
                a.SwitchCommand,
                (
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
                "switched to",
            ),
            Form(
                a.SwitchCommand,
                (
                    Slot(
                        path="to",
                        kind=SlotKind.CHOICE,
                        values={
                            **choice("next", a.SwitchDirection.NEXT),
                            **choice("previous prev", a.SwitchDirection.PREVIOUS),
                            **choice("parent up", a.SwitchDirection.PARENT),
                            **choice("leaf tip", a.SwitchDirection.LEAF),
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
        permission=AWARE,
        help="move to another node",
        tool="Move to another node of the tree: by its id, or to a sibling, the parent or the end.",
        repeatable=True,
        verbs=verbs(
            "goto, go, move, jump, navigate, take to, cd, head, head over, travel, step, hop, bring to, "
            "move cursor, set position, move position, put at, change position, set cursor, return to, switch position"
        ),
        noise=frozenset(),
        vocabulary=words("cursor position current place"),
    ),
    CommandRow(
        name="search",
        forms=(
            Form(
                a.SearchCommand,
                (
                    Slot(
                        path="query",
                        kind=SlotKind.NAME,
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
        permission=AWARE,
        help="full text of this tree",
        tool="Search the full text of a tree.",
        verbs=verbs(
            "find, grep, look for, look up, search for, query, locate, seek, hunt for, search tree for, find all, "
            "do search for, run search for, do full-text search for"
        ),
        everywhere=True,
        vocabulary=words(
            "mention mentions mentioned contain contains occur occurs appear appears anywhere where"
        ),
    ),
    CommandRow(
        name="think",
        forms=(
            Form(
                a.ThinkCommand,
                (
                    text(
                        "text", hidden=True, about="Kept in your memory of this tree; no other agent sees it."
                    ),
                ),
                "thought",
                noun="",
                words="… ←",
            ),
        ),
        permission=AWARE,
        help="a private scratchpad, up to the ←",
        tool="Keep a thought in your private memory of a tree; no other agent is shown it.",
    ),
    CommandRow(
        name="help",
        forms=(
            Form(
                a.HelpCommand,
                (
                    Slot(
                        path="command",
                        kind=SlotKind.COMMAND,
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
        permission=AWARE,
        help="what you may do, and how",
        verbs=verbs(
            "commands, usage, manual, man, explain, how to use, how does work, how do i use, usage of, list commands, "
            "show commands, what commands, which commands, what can i do, show permissions, get help, show help, "
            "i need help, what are permissions, what am i allowed to do"
        ),
        noise=words("command available all here are there do i have can use"),
        vocabulary=words("commands available allowed permitted permissions work use options"),
    ),
)
