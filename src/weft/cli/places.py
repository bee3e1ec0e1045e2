"""Moving about, and the uncommitted text of a buffer: switch, type, commit."""

from typing import Annotated

import typer

from weft.cli.call import HERE, Call
from weft.cli.command import command
from weft.cli.completing import complete_places
from weft.cli.drawing import first_words
from weft.cli.texts import text_given
from weft.cli.wording import where
from weft.cli.writing import Words
from weft.tree.node_labels import counted

__all__ = ["add_to"]


def switch(
    call: Call,
    to: Annotated[
        str | None,
        typer.Argument(
            metavar="TO",
            help="A node; a tree; or next, previous, parent, child, leaf.",
            autocompletion=complete_places,
        ),
    ] = None,
) -> None:
    """Go somewhere, or see where you are.

    Prints the id of the node you stand at.
    """
    from weft.runtime.operations.cursors import Direction  # noqa: PLC0415 - the runtime loads when it is used

    if to == HERE or (to is None and call.choices.tree is None):
        tree, at = call.tree, call.tree.cursor
    elif to in set(Direction):
        tree = call.tree
        at = tree.switch(Direction(to))
    else:
        tree, node = call.place(to)
        at = tree.switch(tree.cursor if node is None else node)
    told = f"you stand at [{at.local_id}] {where(tree.title)}: {first_words(at.value)}"
    call.out.answer(at.value, at.local_id, told)


def type_text(call: Call, text: Words = None) -> None:
    """Keep uncommitted text at a buffer's end.

    It takes the place of what was typed there before; "" clears it.
    """
    tree = call.tree
    with text_given(text, initial=tree.working_buffer) as words:
        tree.type(words)
    if call.out.as_json:
        call.out.json({"treeId": tree.id, "workingBuffer": words})
    call.out.talk(
        f"kept {counted(len(words), 'character')} uncommitted {where(tree.title)}; weft commit makes a node of it"
        if words
        else f"nothing is uncommitted {where(tree.title)} now"
    )


def commit(call: Call) -> None:
    """Make a node of a buffer's uncommitted text."""
    tree = call.tree
    made = tree.commit()
    if made is None:
        if call.out.as_json:
            call.out.json(None)
        call.out.talk(f"there is nothing to commit {where(tree.title)}")
        return
    call.out.answer(made.value, made.local_id, f"committed {where(tree.title)} as [{made.local_id}]")


def add_to(app: typer.Typer) -> None:
    command(app, "switch", switch, panel="Trees")
    command(app, "type", type_text, panel="Writing")
    command(app, "commit", commit, panel="Writing")
