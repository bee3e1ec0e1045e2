"""Commands that make nodes: respond, annotate, edit, merge, split, join, attach."""

from dataclasses import replace

from weft.commands import actions as a
from weft.commands.grammar import (
    CONTEXT,
    DOCUMENT,
    SAYING,
    WRITE,
    CommandRow,
    Form,
    Slot,
    SlotKind,
    node,
    text,
    verbs,
)
from weft.commands.vocabulary import words


def _document_item(title: str) -> str:
    return f"doc:{title}"


ROWS: tuple[CommandRow, ...] = (
    CommandRow(
        name="respond",
        forms=(
            Form(
                a.RespondCommand,
                (
                    node(after="to under at on below for after", also="to"),
                    text("text", SAYING),
                    CONTEXT,
                    replace(
                        CONTEXT,
                        path="instruction",
                        option="instruction",
                        names=words("instruction instructions"),
                        about="Nodes that instruct it.",
                    ),
                ),
                "responded to",
            ),
        ),
        permission=WRITE,
        help="answer a node; you move to your answer",
        tool="Say something below a node, as a new node; you move to it.",
        verbs=verbs("reply, say, answer, write back, tell"),
        made=words("reply response answer"),
    ),
    CommandRow(
        name="annotate",
        forms=(
            Form(
                a.AnnotateCommand,
                (node(after="on to at for about beside"), text("text", f"{SAYING} as", also="note")),
                "annotated",
            ),
        ),
        permission=WRITE,
        help="a note beside a node",
        tool="Put a note beside a node, outside of the conversation.",
        verbs=verbs("note, comment, remark, jot down"),
        made=words("note comment annotation remark"),
    ),
    CommandRow(
        name="edit",
        forms=(
            Form(
                a.EditCommand,
                (
                    node(after="text content contents wording of in"),
                    text(
                        "text",
                        "to as with say saying so that it says reads read into text new wording",
                        about="All of the new text.",
                    ),
                ),
                "edited",
            ),
        ),
        permission=WRITE,
        help="a version in a buffer, a branch in a dialogue",
        tool="Rewrite a node: as a branch beside it in a dialogue, as a version in a buffer. The old text stays.",
        verbs=verbs(
            "change, revise, rewrite, reword, modify, update, amend, rephrase, correct, alter, make say, make read, "
            "let say, replace text of, replace content of, replace contents of, set text of"
        ),
        made=words("version revision"),
    ),
    CommandRow(
        name="merge",
        forms=(
            Form(
                a.MergeCommand,
                (
                    Slot(
                        path="nodes",
                        kind=SlotKind.NODES,
                        option="id",
                        bare=True,
                        least=2,
                        after=words("of both together"),
                        question="merge takes two nodes or more",
                        about="The nodes it comes from.",
                    ),
                    text("text", "into as to with saying one single new together text"),
                ),
                "merged",
            ),
        ),
        permission=WRITE,
        help="one node out of several",
        tool="Write one node that comes from several, such as the best of two branches.",
        verbs=verbs(
            "combine, unite, synthesise, synthesize, blend, fuse, merge together, bring together, put together, "
            "make one out of"
        ),
    ),
    CommandRow(
        name="split",
        forms=(
            Form(
                a.SplitCommand,
                (
                    node(units="in into two parts up apart off"),
                    text(
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
        permission=WRITE,
        help="two nodes out of one, before these words",
        tool="Make two nodes out of one, as a branch beside it.",
        verbs=verbs("divide, break, break up, split up, cut, cut up, break apart, cut apart, make two of"),
    ),
    CommandRow(
        name="join",
        forms=(
            Form(a.JoinCommand, (node(),), "joined"),
            Form(
                a.JoinCommand,
                (
                    node(
                        requires="next following after follows successor",
                        units="with to and onto one it what its that next following after follows successor",
                    ),
                ),
                "joined",
                shown=False,
                tool=False,
            ),
        ),
        permission=WRITE,
        help="a node with the one after it",
        tool="Make one node out of a node and the one after it, as a branch beside it.",
        verbs=verbs("unsplit, glue, join up"),
    ),
    CommandRow(
        name="attach",
        forms=(
            Form(
                a.AttachCommand,
                (
                    node(after="to onto on", units="as"),
                    text(
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
                a.AttachCommand,
                (node(after="to onto on"), replace(DOCUMENT, path="item.title")),
                "attached to",
                {"item": _document_item},
                shown=False,
                tool=False,
            ),
        ),
        everywhere=True,
        permission=WRITE,
        help="an item to a node",
        tool="Attach a note, a document or another node to a node, for models to see with it.",
        made=words("attachment"),
    ),
)
