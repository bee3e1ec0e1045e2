"""Making nodes: say, edit, merge, annotate, split, join."""

from typing import Annotated

import typer

from weft.cli.attaching import read_attachments
from weft.cli.call import Call
from weft.cli.command import command
from weft.cli.completing import complete_agents, complete_nodes
from weft.cli.sources import ContextNodes, InstructionNodes
from weft.cli.texts import text_given
from weft.cli.wording import where
from weft.errors import InvalidInputError
from weft.tree.tree import Mode

__all__ = ["NodeName", "Words", "add_to"]

_PANEL = "Writing"

NodeName = Annotated[
    str,
    typer.Argument(
        metavar="NODE", help="a7x2, TREE/a7x2, a ULID, or . for here.", autocompletion=complete_nodes
    ),
]
Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="TEXT", help="The text; - or a pipe for stdin; else $EDITOR opens."),
]


def say(
    call: Call,
    text: Words = None,
    *,
    under: Annotated[
        str | None,
        typer.Option(
            "--under",
            "-u",
            metavar="NODE",
            help="Under this node, not where you stand.",
            autocompletion=complete_nodes,
        ),
    ] = None,
    beside: ContextNodes = None,
    instruction: InstructionNodes = None,
    author: Annotated[
        str | None,
        typer.Option(
            "--author",
            metavar="AGENT",
            help="The model whose words these are.",
            autocompletion=complete_agents,
        ),
    ] = None,
    attach: Annotated[
        list[str] | None,
        typer.Option(
            "--attach",
            "-a",
            metavar="WHAT",
            help="A note, #tag, folder:…, doc:… or [node]. Repeat it for more.",
        ),
    ] = None,
) -> None:
    """Say something where you stand.

    You stand at it afterwards. Prints the new node's id.
    """
    parent = None if under is None else call.node(under)
    tree = call.tree if parent is None else parent.tree
    place = tree if parent is None else parent
    context = [call.node(each) for each in beside or ()]
    instructions = [call.node(each) for each in instruction or ()]
    items = read_attachments(call, attach or (), tree.id)
    with text_given(text) as words:
        made = place.say(words, context=context, instructions=instructions, author=author, attachments=items)
    call.out.answer(made.value, made.local_id, f"said {where(tree.title)} as [{made.local_id}]")


def edit(call: Call, reference: NodeName, text: Words = None) -> None:
    """Write a node anew.

    A branch in a dialogue; in a buffer a version at the same place, what follows kept.
    """
    node = call.node(reference)
    tree = node.tree
    with text_given(text, initial=node.text) as words:
        made = node.edit(words)
    kind = "version" if tree.mode is Mode.BUFFER else "branch"
    told = f"created {kind} [{made.local_id}] from [{node.local_id}] {where(tree.title)}"
    call.out.answer(made.value, made.local_id, told)


def merge(
    call: Call,
    references: Annotated[
        list[str],
        typer.Argument(
            metavar="NODE NODE...", help="Two nodes of one tree, or more.", autocompletion=complete_nodes
        ),
    ],
    *,
    text: Annotated[
        str | None, typer.Option("--text", "-t", help="The text; - or a pipe for stdin; else $EDITOR opens.")
    ] = None,
) -> None:
    """Say something that comes from several nodes.

    It stands under the first of them.
    """
    nodes = [call.node(reference) for reference in references]
    if len(nodes) < 2:
        raise InvalidInputError("a merge needs two different places", hint="name at least two nodes")
    tree = nodes[0].tree
    with text_given(None if text is None else [text]) as words:
        made = tree.merge(nodes, words)
    names = " and ".join(f"[{node.local_id}]" for node in nodes)
    call.out.answer(made.value, made.local_id, f"merged {names} into [{made.local_id}] {where(tree.title)}")


def annotate(call: Call, reference: NodeName, text: Words = None) -> None:
    """Put a note on a node.

    Notes stay out of what models see, unless asked for.
    """
    node = call.node(reference)
    with text_given(text) as words:
        made = node.annotate(words)
    told = f"annotated [{node.local_id}] {where(node.tree.title)} as [{made.local_id}]"
    call.out.answer(made.value, made.local_id, told)


def split(
    call: Call,
    reference: NodeName,
    at: Annotated[
        str, typer.Argument(metavar="AT", help="An offset, or the words the second half begins with.")
    ],
) -> None:
    """Make two nodes of one, as a branch beside it."""
    node = call.node(reference)
    halves = node.split(int(at) if at.isascii() and at.isdigit() else at)
    names = " and ".join(f"[{half.local_id}]" for half in halves)
    call.out.answer(
        [half.value for half in halves],
        "\n".join(half.local_id for half in halves),
        f"split [{node.local_id}] into {names} {where(node.tree.title)}",
    )


def join(
    call: Call,
    reference: NodeName,
    following: Annotated[
        str | None,
        typer.Argument(metavar="NEXT", help="Which of those that follow it.", autocompletion=complete_nodes),
    ] = None,
) -> None:
    """Make one node of two that follow each other, as a branch beside them."""
    node = call.node(reference)
    made = node.join(None if following is None else call.node(following))
    told = f"joined [{node.local_id}] and what follows into [{made.local_id}] {where(node.tree.title)}"
    call.out.answer(made.value, made.local_id, told)


def add_to(app: typer.Typer) -> None:
    for function in (say, edit, merge, annotate, split, join):
        command(app, function.__name__, function, panel=_PANEL)
