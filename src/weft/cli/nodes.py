"""Create and flag nodes, and move the cursor: say, edit, merge, switch, bookmark, prune and others."""

from typing import TYPE_CHECKING, Annotated

from weft.cli.arguments import (
    ContextNodes,
    InstructionNodes,
    NodeName,
    Words,
    argument,
    complete_nodes,
    complete_places,
    flag,
    option,
)
from weft.cli.output import first_words, where
from weft.cli.session import HERE, CliSession
from weft.cli.text_input import text_given
from weft.errors import InvalidInputError
from weft.ids import typable
from weft.tree.node import counted
from weft.tree.tree import Mode

if TYPE_CHECKING:
    from weft.grove.node import NodeHandle


def switch(
    session: CliSession,
    to: Annotated[
        str | None,
        argument("TO", "A node; a tree; or next, previous, parent, child, leaf.", complete=complete_places),
    ] = None,
) -> None:
    """Go to another node, or show the current one.

    Prints the id of the current node.
    """
    from weft.runtime.operations.cursors import Direction  # noqa: PLC0415 - loads with the grove

    if to == HERE or (to is None and session.options.tree is None):
        tree, at = session.tree, session.tree.cursor
    elif to in set(Direction):
        tree = session.tree
        at = tree.switch(Direction(to))
    else:
        tree, node = session.place(to)
        at = tree.switch(tree.cursor if node is None else node)
    message = f"at [{at.local_id}] {where(tree.title)}: {first_words(at.value)}"
    session.out.result(at.value, at.local_id, message)


def say(
    session: CliSession,
    text: Words = None,
    *,
    under: Annotated[
        str | None, option("--under -u NODE", "Write under this node, not the current one.")
    ] = None,
    beside: ContextNodes = None,
    instruction: InstructionNodes = None,
    author: Annotated[str | None, option("--author AGENT", "The model that wrote the text.")] = None,
    attach: Annotated[
        list[str] | None, option("--attach -a WHAT", "A note, #tag, folder:…, doc:… or [node]. Repeatable.")
    ] = None,
) -> None:
    """Write a node under the current one.

    The new node becomes the current one. Prints its id.
    """
    from weft.cli.knowledge import read_attachments  # noqa: PLC0415 - its group of commands loads on use

    parent = None if under is None else session.node(under)
    tree = session.tree if parent is None else parent.tree
    place = tree if parent is None else parent
    context = [session.node(each) for each in beside or ()]
    instructions = [session.node(each) for each in instruction or ()]
    items = read_attachments(session, attach, tree.id) if attach else []
    with text_given(text) as words:
        made = place.say(words, context=context, instructions=instructions, author=author, attachments=items)
    session.out.result(made.value, made.local_id, f"wrote [{made.local_id}] {where(tree.title)}")


def edit(session: CliSession, reference: NodeName, text: Words = None) -> None:
    """Rewrite a node.

    In a dialogue this makes a branch; in a buffer a version at the same place, with what follows kept.
    """
    node = session.node(reference)
    tree = node.tree
    with text_given(text, initial=node.text) as words:
        if words == node.text:
            same = f"[{node.local_id}] has this text already: nothing was written"
            session.out.result(node.value, node.local_id, same)
            return
        made = node.edit(words)
    kind = "version" if tree.mode is Mode.BUFFER else "branch"
    message = f"created {kind} [{made.local_id}] from [{node.local_id}] {where(tree.title)}"
    session.out.result(made.value, made.local_id, message)


def merge(
    session: CliSession,
    references: Annotated[
        list[str], argument("NODE NODE...", "Two or more nodes of one tree.", complete=complete_nodes)
    ],
    *,
    text: Annotated[
        str | None, option("--text -t", "The text; - or a pipe for stdin; default: $EDITOR.")
    ] = None,
) -> None:
    """Write a node that comes from several nodes.

    It is placed under the first of them.
    """
    nodes = [session.node(reference) for reference in references]
    if len(nodes) < 2:
        raise InvalidInputError("a merge needs two different nodes", hint="name at least two nodes")
    tree = nodes[0].tree
    with text_given(None if text is None else [text]) as words:
        made = tree.merge(nodes, words)
    names = " and ".join(f"[{node.local_id}]" for node in nodes)
    message = f"merged {names} into [{made.local_id}] {where(tree.title)}"
    session.out.result(made.value, made.local_id, message)


def annotate(session: CliSession, reference: NodeName, text: Words = None) -> None:
    """Add a note to a node.

    Models do not see notes unless you include them.
    """
    node = session.node(reference)
    with text_given(text) as words:
        made = node.annotate(words)
    message = f"annotated [{node.local_id}] {where(node.tree.title)} as [{made.local_id}]"
    session.out.result(made.value, made.local_id, message)


def split(
    session: CliSession,
    reference: NodeName,
    at: Annotated[str, argument("AT", "An offset, or the first words of the second half.")],
) -> None:
    """Split a node in two, as a new branch."""
    node = session.node(reference)
    halves = node.split(int(at) if at.isascii() and at.isdigit() else at)
    names = " and ".join(f"[{half.local_id}]" for half in halves)
    session.out.result(
        [half.value for half in halves],
        "\n".join(half.local_id for half in halves),
        f"split [{node.local_id}] into {names} {where(node.tree.title)}",
    )


def join(
    session: CliSession,
    reference: NodeName,
    following: Annotated[str | None, argument("NEXT", "Which of its children.")] = None,
) -> None:
    """Join a node and the next one, as a new branch."""
    node = session.node(reference)
    made = node.join(None if following is None else session.node(following))
    message = f"joined [{node.local_id}] and the next into [{made.local_id}] {where(node.tree.title)}"
    session.out.result(made.value, made.local_id, message)


def type_(
    session: CliSession,
    text: Words = None,
    *,
    replace: Annotated[bool, flag("--replace", 'Replace what is uncommitted; "" clears it.')] = False,
) -> None:
    """Add to the uncommitted text at a buffer's end."""
    tree = session.tree
    before = "" if replace else tree.working_buffer
    with text_given(text, initial=tree.working_buffer if replace else "") as given:
        words = before + given
        tree.type(words)
    if session.out.as_json:
        session.out.json({"treeId": tree.id, "workingBuffer": words})
    session.out.message(
        f"{counted(len(words), 'character')} uncommitted {where(tree.title)}; weft commit makes a node of it"
        if words
        else f"no uncommitted text {where(tree.title)}"
    )


def commit(session: CliSession) -> None:
    """Make a node of a buffer's uncommitted text."""
    tree = session.tree
    made = tree.commit()
    if made is None:
        session.out.result(None, None, f"nothing to commit {where(tree.title)}")
    else:
        session.out.result(made.value, made.local_id, f"committed [{made.local_id}] {where(tree.title)}")


def bookmark(
    session: CliSession,
    reference: NodeName,
    label: Annotated[list[str] | None, argument("LABEL", "A label for it.")] = None,
    *,
    remove: Annotated[bool, flag("--remove", "Remove the bookmark.")] = False,
) -> None:
    """Bookmark a node."""
    if remove and label:
        raise InvalidInputError("--remove takes no label")
    node = session.node(reference)
    after = node.unbookmark() if remove else node.bookmark(" ".join(label) if label else None)
    _show_flagged(session, after, "removed the bookmark of" if remove else "bookmarked")


def exclude(session: CliSession, reference: NodeName) -> None:
    """Exclude a node from what models see; people still see it."""
    _show_flagged(session, session.node(reference).exclude(), "excluded")


def include(session: CliSession, reference: NodeName) -> None:
    """Include an excluded node again."""
    _show_flagged(session, session.node(reference).include(), "included")


def _show_flagged(session: CliSession, node: "NodeHandle", done: str) -> None:
    session.out.result(node.value, node.local_id, f"{done} [{node.local_id}] {where(node.tree.title)}")


def prune(session: CliSession, reference: NodeName) -> None:
    """Hide a node and everything below it.

    Of several versions, only that one. Prints the number of nodes hidden.
    """
    node = session.node(reference)
    hidden = node.prune()
    below = "" if hidden == 1 else f" and {hidden - 1:,} below it"
    message = f"pruned [{node.local_id}]{below} {where(node.tree.title)}"
    message += f"; weft restore {typable(node.local_id)} undoes it"
    session.out.result({"node": node.refresh().value, "nodes": hidden}, str(hidden), message)


def restore(session: CliSession, reference: NodeName) -> None:
    """Restore exactly what one prune hid.

    Prints the number of nodes restored.
    """
    node = session.node(reference)
    shown = node.restore()
    message = f"restored {counted(shown, 'node')} {where(node.tree.title)}"
    session.out.result({"node": node.refresh().value, "nodes": shown}, str(shown), message)
