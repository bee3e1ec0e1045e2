"""Commands that ask another agent, and those on documents: continue, read, write."""

from dataclasses import replace

from weft.commands import actions as a
from weft.commands.grammar import (
    DOCUMENT,
    LINES,
    PLACES,
    SECTION,
    WHICH,
    CommandRow,
    Either,
    Form,
    Slot,
    SlotGroup,
    SlotKind,
    choice,
    node,
    text,
    verbs,
)
from weft.commands.vocabulary import words
from weft.tree.agent import Permission

_COUNTED = words("continuations continuation times completions samples variants alternatives options n")

ROWS: tuple[CommandRow, ...] = (
    CommandRow(
        name="continue",
        forms=(
            Form(
                a.ContinueCommand,
                (
                    node(
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
                        kind=SlotKind.NUMBER,
                        option="n",
                        optional=True,
                        names=_COUNTED,
                        plain=words("twice once"),
                        after=words("with and ="),
                        about="How many continuations.",
                    ),
                    Slot(
                        path="tokens",
                        kind=SlotKind.NUMBER,
                        option="tokens",
                        optional=True,
                        names=words("tokens token"),
                        after=words("up to at most max maximum with in for limit limited of and using"),
                        units=words("each long max"),
                        about="At most so many each.",
                    ),
                    Slot(
                        path="temperature",
                        kind=SlotKind.DECIMAL,
                        option="temp",
                        optional=True,
                        names=words("temperature temp"),
                        after=words("at with and using in of to set is"),
                    ),
                    Slot(
                        path="stop",
                        kind=SlotKind.TEXTS,
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
                        kind=SlotKind.NAME,
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
        permission=Permission.LOOM_GENERATE,
        verb="generate",
        help="let another agent go on from a node; n is at most 10",
        tool="Have a model agent of the grove write what comes next, as one or more new nodes. May cost money.",
        verbs=verbs(
            "generate, extend, complete, carry on, keep going, write on, sample, go on, proceed, expand=from, roll, "
            "continue on"
        ),
        made=words("continuation continuations completions samples variants"),
        keeps=True,
        noise=words("continuation continuations"),
    ),
    CommandRow(
        name="read",
        forms=(
            Form(
                a.ReadCommand,
                (
                    replace(
                        DOCUMENT,
                        names=words("doc document docs of in from"),
                        after=words("up called named titled"),
                    ),
                    Either(
                        (
                            SlotGroup(
                                (
                                    Slot(
                                        path="part",
                                        kind=SlotKind.CHOICE,
                                        values=choice(
                                            "summary summarised summarized briefly", a.SummaryOnly()
                                        ),
                                        units=words("of only"),
                                        after=words("in only but"),
                                        argument="summary",
                                        about="In short.",
                                    ),
                                )
                            ),
                            SlotGroup((LINES,)),
                            SlotGroup(
                                (
                                    replace(
                                        SECTION,
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
        verbs=verbs("read out, consult, open, show, view, see, look at, print, display, what is in"),
        noise=words("full whole entire complete out only all"),
    ),
    CommandRow(
        name="write",
        forms=(
            Form(
                a.WriteCommand,
                (
                    _place_doc := replace(DOCUMENT, after=words("to in into of from called named titled")),
                    Slot(
                        path="place",
                        kind=SlotKind.CHOICE,
                        values=choice("append appending end bottom", a.AtEnd()),
                        after=words("at to"),
                        units=words("of to"),
                        argument="append",
                        about="At the end.",
                        question="write where: append, at:… or replace:…?",
                    ),
                    _place_text := text(
                        "text", "with text following sentence line this", about="What is put there."
                    ),
                ),
                "wrote",
                noun="document",
            ),
            Form(
                a.WriteCommand,
                (
                    _place_doc,
                    Slot(
                        path="place.place",
                        kind=SlotKind.NUMBER,
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
                a.WriteCommand,
                (
                    _place_doc,
                    Slot(
                        path="place.place",
                        kind=SlotKind.NAME,
                        option="at",
                        notation="…",
                        number=False,
                        no_names=WHICH | PLACES,
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
                a.WriteCommand,
                (
                    _place_doc,
                    Slot(
                        path="place.what",
                        kind=SlotKind.LINES,
                        option="replace",
                        also=words("lines"),
                        names=words("lines line"),
                        after=words("replace replacing overwrite overwriting"),
                        requires=words("replace replacing overwrite overwriting"),
                        argument="replace_lines",
                        about="Or in the place of these lines.",
                    ),
                    replace(_place_text, after=_place_text.after | {"by"}),
                ),
                "wrote",
                {"place": a.Replace},
                noun="document",
                shown=False,
            ),
            Form(
                a.WriteCommand,
                (
                    _place_doc,
                    Slot(
                        path="place.what",
                        kind=SlotKind.NAME,
                        option="replace",
                        also=words("section"),
                        notation="…",
                        no_names=WHICH | PLACES,
                        names=words("section"),
                        after=words("replace replacing overwrite overwriting"),
                        requires=words("replace replacing overwrite overwriting"),
                        argument="replace_section",
                        about="Or in the place of this section.",
                    ),
                    replace(_place_text, after=_place_text.after | {"by"}),
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
            *verbs("append=append, insert, add, put"),
            *(
                f"{verb} {part}=replace {part}"
                for verb in ("replace", "overwrite", "rewrite", "change")
                for part in ("lines", "line", "section")
            ),
        ),
    ),
)
