"""What points across: tag, link; and ranges folded in context: collapse, expand."""

from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.call import Call
from weft.cli.command import command, flag
from weft.cli.completing import complete_nodes
from weft.cli.drawing import first_words
from weft.cli.output import Column
from weft.cli.wording import ago, quoted, where
from weft.errors import InvalidInputError, NotFoundError
from weft.tree.json_names import iso
from weft.tree.reference import Target, TargetKind

if TYPE_CHECKING:
    from weft.grove.document import DocumentHandle
    from weft.grove.node import NodeHandle
    from weft.grove.tree import TreeHandle

__all__ = ["add_to"]

_PANEL = "References"
_PREFIXES = {TargetKind.NODE: "node", TargetKind.TREE: "tree", TargetKind.DOCUMENT: "doc"}

TargetName = Annotated[
    str,
    typer.Argument(
        metavar="WHAT", help="A node's id, tree:TITLE or doc:TITLE.", autocompletion=complete_nodes
    ),
]


def _typable(target: Target) -> str:
    """A target as this command line reads it again."""
    return f"{_PREFIXES[target.kind]}:{target.id}"


def _named(thing: "NodeHandle | TreeHandle | DocumentHandle") -> str:
    from weft.grove.document import DocumentHandle  # noqa: PLC0415 - loads when it is used
    from weft.grove.node import NodeHandle  # noqa: PLC0415 - loads when it is used

    match thing:
        case NodeHandle():
            return f"[{thing.local_id}] {where(thing.tree.title)}"
        case DocumentHandle():
            return f"document {quoted(thing.title)}"
        case _:
            return f"tree {quoted(thing.title)}"


def tag(
    call: Call,
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="WHAT", help="A node's id, tree:TITLE or doc:TITLE.", autocompletion=complete_nodes
        ),
    ] = None,
    label: Annotated[str | None, typer.Argument(metavar="LABEL", help="The tag; capitals count.")] = None,
    *,
    remove: Annotated[bool, flag("--remove", help="Take the tag off.")] = False,
) -> None:
    """Put a tag on something.

    Without a label: list the tags on it. Without anything: every tag of the grove and what it is on.
    """
    if remove and label is None:
        raise InvalidInputError("which tag?", hint="weft tag WHAT LABEL --remove")
    if what is None:
        _list_all_tags(call)
        return
    thing = call.target(what)
    if label is not None and remove:
        call.grove.untag(thing, label)
        call.out.answer(call.grove.tags(thing), label, f"took {label!r} off {_named(thing)}")
    elif label is not None:
        made = call.grove.tag(thing, label)
        call.out.answer(made, made.label, f"tagged {_named(thing)} with {made.label!r}")
    else:
        labels = call.grove.tags(thing)
        if call.out.as_json:
            call.out.json(labels)
            return
        for each in labels:
            call.out.text(each)
        if not labels:
            call.out.talk(f"no tags on {_named(thing)}")


def _list_all_tags(call: Call) -> None:
    tags = call.grove.read.tags()
    if call.out.as_json:
        call.out.json(tags)
        return
    if not tags:
        call.out.talk("there are no tags yet: weft tag WHAT LABEL")
        return
    call.out.table(
        (Column("tag"), Column("on", gives=True)),
        ((each.label, _named(call.target(_typable(each.target)))) for each in tags),
        ((each.label, _typable(each.target)) for each in tags),
    )


def link(
    call: Call,
    one: TargetName,
    other: Annotated[
        str | None,
        typer.Argument(metavar="OTHER", help="The same for the other end.", autocompletion=complete_nodes),
    ] = None,
    *,
    note: Annotated[str, typer.Option("--note", "-n", metavar="TEXT", help="Why.")] = "",
    remove: Annotated[bool, flag("--remove", help="Take the link away.")] = False,
) -> None:
    """Link any two of node, tree and document.

    With one end: list what it is linked to.
    """
    if remove and other is None:
        raise InvalidInputError("which link?", hint="weft link ONE OTHER --remove")
    here = call.target(one)
    if other is None:
        _list_links(call, here)
        return
    there = call.target(other)
    if remove:
        call.grove.unlink(here, there)
        call.out.answer(None, None, f"unlinked {_named(here)} and {_named(there)}")
    else:
        made = call.grove.link(here, there, note)
        call.out.answer(made, made.id, f"linked {_named(here)} and {_named(there)}")


def _list_links(call: Call, here: "NodeHandle | TreeHandle | DocumentHandle") -> None:
    links = call.grove.links(here)
    if call.out.as_json:
        call.out.json(links)
        return
    if not links:
        call.out.talk(f"nothing is linked to {_named(here)}")
        return
    ends = [next(end for end in link.ends if end.id != here.id) for link in links]
    call.out.table(
        (Column("linked to", gives=True), Column("note"), Column("when")),
        (
            (_named(call.target(_typable(end))), link.note, ago(link.created_at, call.now))
            for link, end in zip(links, ends, strict=True)
        ),
        ((_typable(end), link.note, iso(link.created_at)) for link, end in zip(links, ends, strict=True)),
    )


def collapse(
    call: Call,
    first: Annotated[
        str | None,
        typer.Argument(metavar="FIRST", help="The range's upper end.", autocompletion=complete_nodes),
    ] = None,
    last: Annotated[
        str | None, typer.Argument(metavar="LAST", help="Its lower end.", autocompletion=complete_nodes)
    ] = None,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="What the fold is called.")] = None,
    *,
    description: Annotated[
        str, typer.Option("--description", "-d", metavar="TEXT", help="What stands in its place.")
    ] = "",
) -> None:
    """Fold a range of a path in what models see; the tree keeps every node.

    Without anything: list the folds of the tree.
    """
    if first is None:
        _list_folds(call)
        return
    if last is None or name is None:
        raise InvalidInputError("a fold has two ends and a name", hint="weft collapse FIRST LAST NAME")
    top, bottom = call.node(first), call.node(last)
    made = top.tree.collapse(top, bottom, name, description)
    told = f"folded [{top.local_id}] to [{bottom.local_id}] as {made.name!r} {where(top.tree.title)}"
    call.out.answer(made, made.name, told)


def _list_folds(call: Call) -> None:
    tree = call.tree
    folds = tree.groups
    if call.out.as_json:
        call.out.json(folds)
        return
    if not folds:
        call.out.talk(f"nothing is folded {where(tree.title)}")
        return
    ends = {each: tree.node(each) for fold in folds for each in (fold.first, fold.last)}
    rows = [
        (
            fold.name,
            ends[fold.first].local_id,
            ends[fold.last].local_id,
            "expanded" if fold.expanded else "folded",
            fold.description or first_words(ends[fold.first].value),
        )
        for fold in folds
    ]
    columns = (Column("name"), Column("first"), Column("last"), Column("now"), Column("about", gives=True))
    call.out.table(columns, rows, rows)


def expand(
    call: Call,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The fold's name.")],
    *,
    remove: Annotated[bool, flag("--remove", help="Forget the fold altogether.")] = False,
) -> None:
    """Show a folded range to models again."""
    tree = call.tree
    fold = next((each for each in tree.groups if each.name == name), None)
    if fold is None:
        raise NotFoundError(f"no folded range {name!r}", hint="weft collapse lists them")
    if remove:
        tree.uncollapse(name)
    else:
        tree.expand(name)
    done = "forgot the fold" if remove else "expanded"
    after = next((each for each in tree.groups if each.name == name), None)
    call.out.answer(after, name, f"{done} {name!r} {where(tree.title)}")


def add_to(app: typer.Typer) -> None:
    for function in (tag, link, collapse, expand):
        command(app, function.__name__, function, panel=_PANEL)
