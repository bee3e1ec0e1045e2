"""Projects: project new, ls, show, change, add, remove, archive."""

from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.call import Call
from weft.cli.command import command, flag, group
from weft.cli.completing import complete_projects, complete_trees
from weft.cli.output import Column
from weft.cli.texts import STDIN, read_stdin
from weft.cli.wording import ago, quoted
from weft.errors import ConflictError, InvalidInputError, WeftError
from weft.tree.node_labels import counted
from weft.tree.project import Project, ProjectItem, ProjectItemKind

if TYPE_CHECKING:
    from weft.grove.project import ProjectHandle

__all__ = ["add_to"]

_WRITTEN = {ProjectItemKind.DOCUMENT: "doc:", ProjectItemKind.FOLDER: "folder:", ProjectItemKind.URL: ""}

ProjectName = Annotated[
    str, typer.Argument(metavar="PROJECT", help="A name or id.", autocompletion=complete_projects)
]
TreeName = Annotated[
    str | None,
    typer.Argument(
        metavar="TREE",
        help="A title or id; else the tree you were last in.",
        autocompletion=complete_trees,
    ),
]
Prompt = Annotated[
    str | None, typer.Option("--system", "-s", metavar="TEXT", help="The system prompt; - for stdin.")
]
Items = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        "-c",
        metavar="WHAT",
        help="doc:TITLE, folder:VAULT/PATH or a url; several times for several.",
    ),
]


def _prompt(given: str | None) -> str | None:
    return read_stdin() if given == STDIN else given


def _told(project: "ProjectHandle") -> str:
    return f"{quoted(project.name)} at revision {project.revision}"


def ls(
    call: Call,
    *,
    archived: Annotated[bool, flag("--archived", "-a", help="Also those put away.")] = False,
) -> None:
    """A system prompt and context for trees to share. Alone: list the projects.

    In a pipe: id, name, revision, trees and items of context, with tabs between.
    """
    projects = [each.value for each in call.grove.projects(archived=archived)]
    if call.out.as_json:
        call.out.json(projects)
        return
    if not projects:
        call.out.talk("there are no projects yet: weft project new NAME")
        return
    trees = [tree.value.project for tree in call.grove.trees()]
    call.out.table(
        (
            Column("name", gives=True),
            Column("trees", number=True),
            Column("context", number=True),
            Column("revision", number=True),
            Column("since"),
        ),
        (
            (
                each.name,
                str(trees.count(each.name)),
                str(len(each.context)),
                str(each.revision),
                "archived" if each.archived_at is not None else ago(each.created_at, call.now),
            )
            for each in projects
        ),
        (
            (each.id, each.name, str(each.revision), str(trees.count(each.name)), str(len(each.context)))
            for each in projects
        ),
    )


def new(
    call: Call,
    name: Annotated[str, typer.Argument(metavar="NAME", help="One line; no other project has it.")],
    *,
    system: Prompt = None,
    items: Items = None,
) -> None:
    """Begin a project.

    Prints its id.
    """
    made = call.grove.create_project(name, system_prompt=_prompt(system) or "", context=items or ())
    call.out.answer(made.value, made.id, f"began {_told(made)}")


def show(
    call: Call,
    project: ProjectName,
    *,
    revision: Annotated[int | None, typer.Option("--revision", "-r", min=1, help="As it was then.")] = None,
) -> None:
    """Print a project: its prompt, its context, its trees."""
    found = call.grove.project(project)
    value = found.value if revision is None else found.at(revision)
    trees = found.trees
    if call.out.as_json:
        call.out.json({"project": value, "trees": [tree.id for tree in trees]})
        return
    call.out.talk(f"{quoted(value.name)} at revision {value.revision}")
    if value.system_prompt:
        call.out.text(value.system_prompt)
    for item in value.context:
        call.out.text(_named(call, item))
    for tree in trees:
        call.out.text(f"tree:{tree.title}")


def _named(call: Call, item: ProjectItem) -> str:
    """An item as it is written; a document by its title, while it has one."""
    reference = item.reference
    if item.kind is ProjectItemKind.DOCUMENT:
        try:
            reference = call.grove.document(reference).title
        except WeftError:
            # Deleted, or not for this agent: its id still says which one it was.
            reference = item.reference
    return _WRITTEN[item.kind] + reference


def change(
    call: Call,
    project: ProjectName,
    *,
    name: Annotated[str | None, typer.Option("--name", "-n", metavar="NAME", help="Another name.")] = None,
    system: Prompt = None,
    items: Items = None,
    no_context: Annotated[bool, flag("--no-context", help="Take all context away.")] = False,
    revision: Annotated[
        int | None, typer.Option("--revision", "-r", min=1, help="The revision you started from.")
    ] = None,
) -> None:
    """Give a project another name, prompt or context; what is not given stays.

    With --revision nothing is overwritten if somebody changed it since.
    """
    if name is None and system is None and items is None and not no_context:
        raise InvalidInputError("change what?", hint="give --name, --system, --context or --no-context")
    found = call.grove.project(project)
    if revision is not None and revision != found.revision:
        raise ConflictError(
            f"{found.name!r} is at revision {found.revision}, you started from {revision}",
            hint="read it again and put your changes into the newer one",
        )
    after = found.change(
        name=name, system_prompt=_prompt(system), context=[] if no_context and not items else items
    )
    call.out.answer(after.value, str(after.revision), f"changed {_told(after)}")


def add(call: Call, project: ProjectName, tree: TreeName = None) -> None:
    """Let a tree belong to a project."""
    handle = call.tree if tree is None else call.grove.tree(tree)
    after = call.grove.project(project).add(handle)
    call.out.answer(
        after.value, after.id, f"{quoted(after.title)} belongs to {quoted(after.value.project or '')}"
    )


def remove(call: Call, project: ProjectName, tree: TreeName = None) -> None:
    """Take a tree out of a project."""
    handle = call.tree if tree is None else call.grove.tree(tree)
    found = call.grove.project(project)
    if handle.value.project != found.name:
        raise InvalidInputError(f"{quoted(handle.title)} does not belong to {quoted(found.name)}")
    after = found.remove(handle)
    call.out.answer(after.value, after.id, f"took {quoted(after.title)} out of {quoted(found.name)}")


def archive(
    call: Call,
    project: ProjectName,
    *,
    undo: Annotated[bool, flag("--undo", help="Take it out again.")] = False,
) -> None:
    """Put a project away; its trees stay in it."""
    found = call.grove.project(project)
    if undo:
        found.unarchive()
    else:
        found.archive()
    after: Project = call.grove.project(found.id).value
    trees = counted(len(found.trees), "tree")
    done = "took out" if undo else "put away"
    call.out.answer(after, after.id, f"{done} {quoted(after.name)}, with {trees}")


def add_to(app: typer.Typer) -> None:
    family = group(app, "project", ls, panel="References")
    command(family, "ls", ls)
    command(family, "new", new, creates=True)
    command(family, "show", show)
    command(family, "change", change)
    command(family, "add", add)
    command(family, "remove", remove)
    command(family, "archive", archive)
