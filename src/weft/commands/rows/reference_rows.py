"""Commands that refer, mark, fold and step back: link, tag, bookmark, prune, exclude, collapse, undo."""

from dataclasses import replace

from weft.commands import actions as a
from weft.commands.grammar import (
    CALLED,
    DOCUMENT,
    SECTION,
    WHICH,
    WRITE,
    CommandRow,
    Either,
    Form,
    Slot,
    SlotGroup,
    SlotKind,
    node,
    text,
    verbs,
)
from weft.commands.vocabulary import words


def _linked(after: str) -> tuple[SlotGroup, ...]:
    """A node, a document or another tree."""
    document = replace(
        DOCUMENT,
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
        SlotGroup((document, replace(SECTION, path="to.section", hidden=True)), {"to": a.DocumentTarget}),
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

ROWS: tuple[CommandRow, ...] = (
    CommandRow(
        name="link",
        forms=(
            Form(
                a.LinkCommand,
                (
                    node(after="from between both", also="from", question="link which node?"),
                    Either(_linked("to with and up"), "to"),
                    _NOTE,
                ),
                "linked",
            ),
            Form(
                a.LinkCommand,
                (replace(DOCUMENT, path="to.title"), node(after="to with and"), _NOTE),
                "linked",
                {"to": a.DocumentTarget},
                shown=False,
                tool=False,
            ),
        ),
        permission=WRITE,
        help="a reference between two things",
        tool="Make a reference from a node to a node, a document or another tree.",
        verbs=verbs("connect, relate, associate, cross-reference, tie, link up"),
        made=words("link connection reference"),
        noise=words("together"),
    ),
    CommandRow(
        name="unlink",
        forms=(
            Form(
                a.UnlinkCommand,
                (node(after="from between"), Either(_linked("from and to with"), "from")),
                "unlinked",
            ),
            Form(
                a.UnlinkCommand,
                (replace(DOCUMENT, path="to.title"), node(after="from and")),
                "unlinked",
                {"to": a.DocumentTarget},
                shown=False,
                tool=False,
            ),
        ),
        permission=WRITE,
        help="take a link away",
        verbs=verbs("disconnect"),
        removed=words("link connection reference"),
    ),
    CommandRow(
        name="tag",
        forms=(
            Form(
                a.TagCommand,
                (
                    node(after="to on"),
                    _name := Slot(
                        path="name",
                        kind=SlotKind.NAME,
                        option="tag",
                        also=words("name label as"),
                        bare=True,
                        after=words("with as tag called named"),
                        units=words("tag"),
                        no_names=WHICH | words("tag tags"),
                        question="tag takes a node and a name",
                        about="The tag.",
                    ),
                ),
                "tagged",
            ),
        ),
        permission=WRITE,
        help="a word to find a node by",
        tool="Tag a node with a word to find it by.",
        repeatable=True,
        made=words("tag"),
    ),
    CommandRow(
        name="untag",
        forms=(Form(a.UntagCommand, (node(after="from of on off"), _name), "untagged"),),
        permission=WRITE,
        help="take a tag away",
        repeatable=True,
        removed=words("tag"),
    ),
    CommandRow(
        name="bookmark",
        forms=(
            Form(
                a.BookmarkCommand,
                (
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
                "bookmarked",
            ),
        ),
        permission=WRITE,
        help="mark a node for everybody",
        repeatable=True,
        verbs=verbs("star, favourite, favorite"),
        made=words("bookmark star favourite favorite"),
    ),
    CommandRow(
        name="unbookmark",
        forms=(Form(a.UnbookmarkCommand, (node(after="from of on off at"),), "unbookmarked"),),
        permission=WRITE,
        help="take a bookmark away",
        repeatable=True,
        verbs=verbs("unstar, unfavourite, unfavorite"),
        removed=words("bookmark star"),
    ),
    CommandRow(
        name="prune",
        forms=(
            Form(
                a.PruneCommand,
                (node(also="branch", after="branch at away off subtree starting", units="branch"),),
                "pruned",
            ),
        ),
        permission=WRITE,
        help="fold a branch out of sight; nothing is destroyed",
        tool="Fold a node and all below it out of sight. Nothing is destroyed: `restore` brings it back.",
        verbs=verbs("lop off, cut off branch, trim branch"),
    ),
    CommandRow(
        name="restore",
        forms=(
            Form(
                a.RestoreCommand,
                (node(also="branch", after="branch pruned at back subtree", units="branch"),),
                "restored",
            ),
        ),
        permission=WRITE,
        help="bring back what was pruned",
        verbs=verbs("unprune, undelete, revive, reinstate, bring back, put back branch"),
    ),
    CommandRow(
        name="exclude",
        forms=(Form(a.ExcludeCommand, (node(units="from out of context contexts window"),), "excluded"),),
        permission=WRITE,
        help="leave a node out of contexts",
        tool="Leave a node out of what models are shown; it stays in the tree.",
        repeatable=True,
        verbs=verbs(
            "leave out, omit, skip, ignore, mute, take out of context, remove from context, drop from context, "
            "keep out of context, hide from context, leave out of context, leave out of contexts, keep out of contexts, "
            "cut from context, exclude from all contexts"
        ),
    ),
    CommandRow(
        name="include",
        forms=(Form(a.IncludeCommand, (node(units="in into to context contexts again back"),), "included"),),
        permission=WRITE,
        help="take a node into contexts again",
        repeatable=True,
        verbs=verbs(
            "unexclude, unmute, re-include, reinclude, stop excluding, put back in context, put back into context, "
            "take back into context, bring back into context, add back to context, add to context again"
        ),
    ),
    CommandRow(
        name="collapse",
        forms=(
            Form(
                a.CollapseCommand,
                (
                    Slot(
                        path="first last",
                        kind=SlotKind.RANGE,
                        option="range",
                        bare=True,
                        after=words("from range between"),
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
                ),
                "collapsed",
                noun="range",
            ),
        ),
        permission=WRITE,
        help="fold a range under a name",
        tool="Fold a range of a path under a name: models are shown a placeholder.",
        verbs=verbs("fold, fold up"),
    ),
    CommandRow(
        name="expand",
        forms=(
            Form(
                a.ExpandCommand,
                (
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
                ),
                "expanded",
                noun="range",
            ),
        ),
        permission=WRITE,
        help="unfold a collapsed range",
        verbs=verbs("unfold, uncollapse, open group, open up collapsed, open collapsed"),
    ),
    CommandRow(
        name="undo",
        forms=(Form(a.UndoCommand, (), "undid", noun=""),),
        permission=WRITE,
        help="take your last operation back",
        tool="Take back your own last operation in a tree.",
        verbs=verbs("take that back, take it back, revert last, take back, revert last operation"),
        noise=words("that last step it action change operation this one command thing what i did"),
    ),
    CommandRow(
        name="redo",
        forms=(Form(a.RedoCommand, (), "redid", noun=""),),
        permission=WRITE,
        help="do again what you undid",
        noise=words("that last step it action change operation this one command thing undone what i undid"),
    ),
)
