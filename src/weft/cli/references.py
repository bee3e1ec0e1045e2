"""Tags, links and collapsed ranges: tag, link, collapse, expand."""

from typing import TYPE_CHECKING, Annotated

from weft.cli.arguments import argument, complete_nodes, flag, option
from weft.cli.output import Column, first_words, quoted, where
from weft.cli.session import CliSession
from weft.errors import InvalidInputError, NotFoundError
from weft.tree.reference import Target, TargetKind

if TYPE_CHECKING:
    from weft.grove.document import DocumentHandle
    from weft.grove.node import NodeHandle
    from weft.grove.tree import TreeHandle

_PREFIXES = {TargetKind.NODE: "node", TargetKind.TREE: "tree", TargetKind.DOCUMENT: "doc"}
_TARGET = "A node's id, tree:TITLE or doc:TITLE."


def _typable(target: Target) -> str:
    """A target as an argument of a command."""
    return f"{_PREFIXES[target.kind]}:{target.id}"


def _named(target: "NodeHandle | TreeHandle | DocumentHandle") -> str:
    from weft.grove.document import DocumentHandle  # noqa: PLC0415 - loads with the grove
    from weft.grove.node import NodeHandle  # noqa: PLC0415 - loads with the grove

    match target:
        case NodeHandle():
            return f"[{target.local_id}] {where(target.tree.title)}"
        case DocumentHandle():
            return f"document {quoted(target.title)}"
        case _:
            return f"tree {quoted(target.title)}"


def tag(
    session: CliSession,
    what: Annotated[str | None, argument("WHAT", _TARGET, complete=complete_nodes)] = None,
    label: Annotated[str | None, argument("LABEL", "The tag; case-sensitive.")] = None,
    *,
    remove: Annotated[bool, flag("--remove", "Remove the tag.")] = False,
) -> None:
    """Tag a node, tree or document.

    Without a label: list its tags. Without arguments: list all tags of the grove.
    """
    if remove and label is None:
        raise InvalidInputError("--remove needs a label", hint="weft tag WHAT LABEL --remove")
    grove, out = session.grove, session.out
    if what is None:
        out.listing(
            grove.read.tags(),
            Column("tag", lambda each: each.label),
            Column(
                "on",
                lambda each: _named(session.target(_typable(each.target))),
                shrinks=True,
                field=lambda each: _typable(each.target),
            ),
            empty="the grove has no tags; add one: weft tag WHAT LABEL",
        )
        return
    target = session.target(what)
    if label is None:
        empty = f"no tags on {_named(target)}"
        out.listing(grove.tags(target), Column("tag", lambda each: each), empty=empty)
    elif remove:
        grove.untag(target, label)
        out.result(grove.tags(target), label, f"removed the tag {label!r} from {_named(target)}")
    else:
        made = grove.tag(target, label)
        out.result(made, made.label, f"tagged {_named(target)} with {made.label!r}")


def link(
    session: CliSession,
    one: Annotated[str, argument("WHAT", _TARGET, complete=complete_nodes)],
    other: Annotated[str | None, argument("OTHER", "The other end, named the same way.")] = None,
    *,
    note: Annotated[str, option("--note -n TEXT", "A note on the link.")] = "",
    remove: Annotated[bool, flag("--remove", "Remove the link.")] = False,
) -> None:
    """Link any two of node, tree and document.

    With one end: list its links.
    """
    if remove and other is None:
        raise InvalidInputError("--remove needs both ends", hint="weft link ONE OTHER --remove")
    here = session.target(one)
    if other is None:
        _list_links(session, here)
        return
    there = session.target(other)
    if remove:
        session.grove.unlink(here, there)
        session.out.result(None, None, f"unlinked {_named(here)} and {_named(there)}")
    else:
        made = session.grove.link(here, there, note)
        session.out.result(made, made.id, f"linked {_named(here)} and {_named(there)}")


def _list_links(session: CliSession, here: "NodeHandle | TreeHandle | DocumentHandle") -> None:
    links = session.grove.links(here)
    ends = {link.id: _typable(next(end for end in link.ends if end.id != here.id)) for link in links}
    session.out.listing(
        links,
        Column(
            "linked to",
            lambda link: _named(session.target(ends[link.id])),
            shrinks=True,
            field=lambda link: ends[link.id],
        ),
        Column("note", lambda link: link.note),
        Column("when", lambda link: link.created_at),
        empty=f"no links to {_named(here)}",
    )


def collapse(
    session: CliSession,
    first: Annotated[str | None, argument("FIRST", "The first node of the range.")] = None,
    last: Annotated[str | None, argument("LAST", "The last node of the range.")] = None,
    name: Annotated[str | None, argument("NAME", "A name for the range.")] = None,
    *,
    description: Annotated[str, option("--description -d TEXT", "The text shown in its place.")] = "",
) -> None:
    """Collapse a range of a path in what models see; the tree keeps every node.

    Without arguments: list the tree's collapsed ranges.
    """
    if first is None:
        _list_collapsed(session)
        return
    if last is None or name is None:
        raise InvalidInputError(
            "a collapsed range needs two ends and a name", hint="weft collapse FIRST LAST NAME"
        )
    top, bottom = session.node(first), session.node(last)
    made = top.tree.collapse(top, bottom, name, description)
    message = f"collapsed [{top.local_id}] to [{bottom.local_id}] as {made.name!r} {where(top.tree.title)}"
    session.out.result(made, made.name, message)


def _list_collapsed(session: CliSession) -> None:
    tree = session.tree
    groups = tree.groups
    ends = {each: tree.node(each) for group in groups for each in (group.first, group.last)}
    session.out.listing(
        groups,
        Column("name", lambda group: group.name),
        Column("first", lambda group: ends[group.first].local_id),
        Column("last", lambda group: ends[group.last].local_id),
        Column("now", lambda group: "expanded" if group.expanded else "collapsed"),
        Column(
            "about",
            lambda group: group.description or first_words(ends[group.first].value),
            shrinks=True,
        ),
        empty=f"no collapsed ranges {where(tree.title)}",
    )


def expand(
    session: CliSession,
    name: Annotated[str, argument("NAME", "The range's name.")],
    *,
    remove: Annotated[bool, flag("--remove", "Delete the range; its nodes stay.")] = False,
) -> None:
    """Show a collapsed range to models again."""
    tree = session.tree
    if all(each.name != name for each in tree.groups):
        raise NotFoundError(f"no collapsed range {name!r}", hint="weft collapse lists them")
    if remove:
        tree.uncollapse(name)
    else:
        tree.expand(name)
    done = "deleted the range" if remove else "expanded"
    after = next((each for each in tree.groups if each.name == name), None)
    session.out.result(after, name, f"{done} {name!r} {where(tree.title)}")
