"""Commands that refer, mark, fold and step back: link, tag, bookmark, prune, exclude, collapse, undo."""

from functools import partial

from weft.commands import actions as a
from weft.commands.grammar import (
    CALLED,
    DOCUMENT,
    SECTION,
    WHICH,
    CommandRow,
    Either,
    SlotGroup,
    SlotKind,
    changed,
    command_row,
    form,
    node,
    slot,
    text,
)
from weft.commands.vocabulary import words
from weft.tree.agent import Permission


def _linked(after: str) -> tuple[SlotGroup, ...]:
    """A node, a document or another tree."""
    document = changed(
        DOCUMENT,
        path="to.title",
        after=after,
        argument="to_document",
        about="Or a document, by its title.",
    )
    tree = changed(
        document,
        option="tree",
        names="tree",
        argument="to_tree",
        about="Or another tree, by its title.",
    )
    other_node = node(
        "to.node",
        after,
        also="to",
        argument="to_node",
        about="A node of this tree.",
        question='to what: a node, doc:"…" or tree:"…"?',
    )
    return (
        SlotGroup((other_node,), {"to": a.NodeTarget}),
        SlotGroup((document, changed(SECTION, path="to.section", hidden=True)), {"to": a.DocumentTarget}),
        SlotGroup((tree,), {"to": a.TreeTarget}),
    )


_NOTE = text(
    "note",
    "with note saying comment and that",
    option="note",
    also="text label",
    bare=False,
    optional=True,
    about="Why.",
)

_row = partial(command_row, Permission.LOOM_WRITE)
ROWS: tuple[CommandRow, ...] = (
    _row(
        "link",
        "a reference between two things",
        form(
            a.LinkCommand,
            "linked",
            node(after="from between both", also="from", question="link which node?"),
            Either(_linked("to with and up"), "to"),
            _NOTE,
        ),
        form(
            a.LinkCommand,
            "linked",
            changed(DOCUMENT, path="to.title"),
            node(after="to with and"),
            _NOTE,
            parts={"to": a.DocumentTarget},
            shown=False,
            tool=False,
        ),
        tool="Make a reference from a node to a node, a document or another tree.",
        verbs="connect, relate, associate, cross-reference, tie, link up",
        made="link connection reference",
        noise="together",
    ),
    _row(
        "unlink",
        "take a link away",
        form(
            a.UnlinkCommand,
            "unlinked",
            node(after="from between"),
            Either(_linked("from and to with"), "from"),
        ),
        form(
            a.UnlinkCommand,
            "unlinked",
            changed(DOCUMENT, path="to.title"),
            node(after="from and"),
            parts={"to": a.DocumentTarget},
            shown=False,
            tool=False,
        ),
        verbs="disconnect",
        removed="link connection reference",
    ),
    _row(
        "tag",
        "a word to find a node by",
        form(
            a.TagCommand,
            "tagged",
            node(after="to on"),
            _name := slot(
                SlotKind.NAME,
                "name",
                "with as tag called named",
                option="tag",
                also="name label as",
                bare=True,
                units="tag",
                no_names=WHICH | words("tag tags"),
                question="tag takes a node and a name",
                about="The tag.",
            ),
        ),
        tool="Tag a node with a word to find it by.",
        repeatable=True,
        made="tag",
    ),
    _row(
        "untag",
        "take a tag away",
        form(a.UntagCommand, "untagged", node(after="from of on off"), _name),
        repeatable=True,
        removed="tag",
    ),
    _row(
        "bookmark",
        "mark a node for everybody",
        form(
            a.BookmarkCommand,
            "bookmarked",
            node(after="at on to for"),
            text(
                "label",
                f"{CALLED} and call it",
                option="label",
                also="name note",
                notation='"label"',
                optional=True,
                about="What it is remembered as.",
            ),
        ),
        repeatable=True,
        verbs="star, favourite, favorite",
        made="bookmark star favourite favorite",
    ),
    _row(
        "unbookmark",
        "take a bookmark away",
        form(a.UnbookmarkCommand, "unbookmarked", node(after="from of on off at")),
        repeatable=True,
        verbs="unstar, unfavourite, unfavorite",
        removed="bookmark star",
    ),
    _row(
        "prune",
        "fold a branch out of sight; nothing is destroyed",
        form(
            a.PruneCommand,
            "pruned",
            node(also="branch", after="branch at away off subtree starting", units="branch"),
        ),
        tool="Fold a node and all below it out of sight. Nothing is destroyed: `restore` brings it back.",
        verbs="lop off, cut off branch, trim branch",
    ),
    _row(
        "restore",
        "bring back what was pruned",
        form(
            a.RestoreCommand,
            "restored",
            node(also="branch", after="branch pruned at back subtree", units="branch"),
        ),
        verbs="unprune, undelete, revive, reinstate, bring back, put back branch",
    ),
    _row(
        "exclude",
        "leave a node out of contexts",
        form(a.ExcludeCommand, "excluded", node(units="from out of context contexts window")),
        tool="Leave a node out of what models are shown; it stays in the tree.",
        repeatable=True,
        verbs=(
            "leave out, omit, skip, ignore, mute, take out of context, remove from context, drop from context, "
            "keep out of context, hide from context, leave out of context, leave out of contexts, keep out of contexts, "
            "cut from context, exclude from all contexts"
        ),
    ),
    _row(
        "include",
        "take a node into contexts again",
        form(a.IncludeCommand, "included", node(units="in into to context contexts again back")),
        repeatable=True,
        verbs=(
            "unexclude, unmute, re-include, reinclude, stop excluding, put back in context, put back into context, "
            "take back into context, bring back into context, add back to context, add to context again"
        ),
    ),
    _row(
        "collapse",
        "fold a range under a name",
        form(
            a.CollapseCommand,
            "collapsed",
            slot(
                SlotKind.RANGE,
                "first last",
                "from range between",
                option="range",
                bare=True,
                question="which range? two ids with a dash between, such as r001-a7x2",
                argument="first last",
                about="The range's upper end.|Its lower end.",
            ),
            text(
                "name",
                f"{CALLED} into and call it",
                option="name",
                also="label as",
                notation='"name"',
                question="a collapsed range needs a name in quotes",
                about="What the range is called.",
            ),
            text(
                "description",
                "with description",
                option="description",
                also="note",
                notation='"description"',
                optional=True,
                swaps=True,
                about="What models are shown in its place.",
            ),
            noun="range",
        ),
        tool="Fold a range of a path under a name: models are shown a placeholder.",
        verbs="fold, fold up",
    ),
    _row(
        "expand",
        "unfold a collapsed range",
        form(
            a.ExpandCommand,
            "expanded",
            text(
                "name",
                "group range collapsed called named",
                option="name",
                also="label range",
                notation='"name"',
                units="again group range",
                question="a collapsed range by its name, or a continuation from a node?",
                about="What the range is called.",
            ),
            noun="range",
        ),
        verbs="unfold, uncollapse, open group, open up collapsed, open collapsed",
    ),
    _row(
        "undo",
        "take your last operation back",
        form(a.UndoCommand, "undid", noun=""),
        tool="Take back your own last operation in a tree.",
        verbs="take that back, take it back, revert last, take back, revert last operation",
        noise="that last step it action change operation this one command thing what i did",
    ),
    _row(
        "redo",
        "do again what you undid",
        form(a.RedoCommand, "redid", noun=""),
        noise="that last step it action change operation this one command thing undone what i undid",
    ),
)
