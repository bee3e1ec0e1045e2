"""Commands about what the agent keeps in mind: pin, stash, recall, drop, memory."""

from dataclasses import replace

from weft.commands import actions as a
from weft.commands.grammar import (
    AWARE,
    CALLED,
    DOCUMENT,
    RESULT,
    SECTION,
    CommandRow,
    Form,
    Slot,
    SlotKind,
    choice,
    node,
    text,
    verbs,
)
from weft.commands.vocabulary import words

ROWS: tuple[CommandRow, ...] = (
    CommandRow(
        name="pin",
        forms=(
            Form(
                a.PinCommand,
                (node("target.node", "on to in for", units="to in memory block", argument="node"),),
                "pinned",
                {"target": a.NodeTarget},
                noun="pin",
            ),
            Form(
                a.PinCommand,
                (
                    replace(
                        DOCUMENT,
                        path="target.title",
                        argument="document",
                        about="A document, by its title or id.",
                    ),
                    replace(SECTION, path="target.section"),
                ),
                "pinned",
                {"target": a.DocumentTarget},
                noun="pin",
            ),
            Form(
                a.PinCommand,
                (replace(RESULT, path="target.number", also=frozenset()),),
                "pinned",
                {"target": a.ResultTarget},
                noun="pin",
            ),
        ),
        everywhere=True,
        permission=AWARE,
        help="keep in your memory block, whatever is pruned",
        tool="Keep a node, a document, a section or a result in your memory of a tree.",
        repeatable=True,
        verbs=verbs("pin down, keep pinned, keep in memory, hold in memory"),
        made=words("pin"),
    ),
    CommandRow(
        name="stash",
        forms=(
            Form(
                a.StashCommand,
                (
                    _label := text(
                        "label",
                        f"{CALLED} stash",
                        option="label",
                        also="name as",
                        notation='"label"',
                        question="a stash needs a label in quotes",
                        about="What it is called.",
                    ),
                    text(
                        "what.text",
                        "with saying containing text content words phrase sentence line following idea",
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
                a.StashCommand,
                (
                    _label,
                    node(
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
                a.StashCommand,
                (
                    _label,
                    Slot(
                        path="what.first what.last",
                        kind=SlotKind.RANGE,
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
        permission=AWARE,
        help="keep for later, out of the context",
        tool="Keep a text under a label for later.",
        verbs=verbs("put aside, set aside, lay aside, stash away, squirrel away"),
        made=words("stash"),
        keeps=True,
        noise=words("this away note"),
    ),
    CommandRow(
        name="recall",
        forms=(
            Form(
                a.RecallCommand,
                (
                    text(
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
        permission=AWARE,
        help="bring a stash into your memory block",
        tool="Bring a stash back into your memory.",
        verbs=verbs("unstash, retrieve, fetch, bring back, get back, load, give back"),
        listed=words("stash"),
        vocabulary=words("stash stashed put"),
    ),
    CommandRow(
        name="drop",
        forms=(
            Form(
                a.DropCommand,
                (
                    node(
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
                a.DropCommand,
                (
                    replace(
                        DOCUMENT,
                        path="target.title",
                        argument="document",
                        requires=words("pin pinned"),
                        after=words("of from on"),
                        about="A document, by its title or id.",
                    ),
                    replace(SECTION, path="target.section"),
                ),
                "dropped",
                {"target": a.DocumentTarget},
                noun="",
                words="pin",
            ),
            Form(
                a.DropCommand,
                (
                    replace(
                        RESULT,
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
                a.DropCommand,
                (
                    text(
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
        permission=AWARE,
        help="let a pin or a stash go",
        tool="Let a pin or a stash go.",
        verbs=verbs("unpin=pin, stop pinning=pin"),
        removed=words("pin stash"),
        keeps=True,
    ),
    CommandRow(
        name="memory",
        forms=(
            Form(
                a.MemoryCommand,
                (
                    Slot(
                        path="view",
                        kind=SlotKind.CHOICE,
                        values={
                            **choice("trace actions history errors", a.MemoryView.TRACE),
                            **choice("stashed stashes stash", a.MemoryView.STASHED),
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
        permission=AWARE,
        verb="look",
        help="what you keep, what you did, what you stashed",
        tool="What you pinned, stashed and did in a tree.",
        verbs=verbs("mem"),
        listed=words("memory trace actions stashes stashed"),
        keeps=True,
        noise=words("memory block of recent operational all"),
        vocabulary=words("remember pinned stashed"),
    ),
)
