"""Commands that make nodes: respond, annotate, edit, merge, split, join, attach."""

from functools import partial

from weft.commands import actions as a
from weft.commands.grammar import (
    CONTEXT,
    DOCUMENT,
    SAYING,
    CommandRow,
    SlotKind,
    changed,
    command_row,
    form,
    node,
    slot,
    text,
)
from weft.tree.agent import Permission


def _document_item(title: str) -> str:
    return f"doc:{title}"


_row = partial(command_row, Permission.LOOM_WRITE)
ROWS: tuple[CommandRow, ...] = (
    _row(
        "respond",
        "answer a node; you move to your answer",
        form(
            a.RespondCommand,
            "responded to",
            node(after="to under at on below for after", also="to"),
            text("text", SAYING),
            CONTEXT,
            changed(
                CONTEXT,
                path="instruction",
                option="instruction",
                names="instruction instructions",
                about="Nodes that instruct it.",
            ),
        ),
        tool="Say something below a node, as a new node; you move to it.",
        verbs="reply, say, answer, write back, tell",
        made="reply response answer",
    ),
    _row(
        "annotate",
        "a note beside a node",
        form(
            a.AnnotateCommand,
            "annotated",
            node(after="on to at for about beside"),
            text("text", f"{SAYING} as", also="note"),
        ),
        tool="Put a note beside a node, outside of the conversation.",
        verbs="note, comment, remark, jot down",
        made="note comment annotation remark",
    ),
    _row(
        "edit",
        "a version in a buffer, a branch in a dialogue",
        form(
            a.EditCommand,
            "edited",
            node(after="text content contents wording of in"),
            text(
                "text",
                "to as with say saying so that it says reads read into text new wording",
                about="All of the new text.",
            ),
        ),
        tool="Rewrite a node: as a branch beside it in a dialogue, as a version in a buffer. The old text stays.",
        verbs=(
            "change, revise, rewrite, reword, modify, update, amend, rephrase, correct, alter, make say, make read, "
            "let say, replace text of, replace content of, replace contents of, set text of"
        ),
        made="version revision",
    ),
    _row(
        "merge",
        "one node out of several",
        form(
            a.MergeCommand,
            "merged",
            slot(
                SlotKind.NODES,
                "nodes",
                "of both together",
                option="id",
                bare=True,
                least=2,
                question="merge takes two nodes or more",
                about="The nodes it comes from.",
            ),
            text("text", "into as to with saying one single new together text"),
        ),
        tool="Write one node that comes from several, such as the best of two branches.",
        verbs=(
            "combine, unite, synthesise, synthesize, blend, fuse, merge together, bring together, put together, "
            "make one out of"
        ),
    ),
    _row(
        "split",
        "two nodes out of one, before these words",
        form(
            a.SplitCommand,
            "split",
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
        tool="Make two nodes out of one, as a branch beside it.",
        verbs="divide, break, break up, split up, cut, cut up, break apart, cut apart, make two of",
    ),
    _row(
        "join",
        "a node with the one after it",
        form(a.JoinCommand, "joined", node()),
        form(
            a.JoinCommand,
            "joined",
            node(
                requires="next following after follows successor",
                units="with to and onto one it what its that next following after follows successor",
            ),
            shown=False,
            tool=False,
        ),
        tool="Make one node out of a node and the one after it, as a branch beside it.",
        verbs="unsplit, glue, join up",
    ),
    _row(
        "attach",
        "an item to a node",
        form(
            a.AttachCommand,
            "attached to",
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
        form(
            a.AttachCommand,
            "attached to",
            node(after="to onto on"),
            changed(DOCUMENT, path="item.title"),
            parts={"item": _document_item},
            shown=False,
            tool=False,
        ),
        everywhere=True,
        tool="Attach a note, a document or another node to a node, for models to see with it.",
        made="attachment",
    ),
)
