"""Projects: project new, ls, show, change, add, remove, archive."""

import contextlib
from typing import TYPE_CHECKING, Annotated

from weft.cli.arguments import Archived, Restore, StartingRevision, argument, flag, option
from weft.cli.output import Column, quoted
from weft.cli.session import CliSession
from weft.cli.text_input import STDIN, read_stdin
from weft.errors import ConflictError, InvalidInputError, WeftError
from weft.tree.node import counted
from weft.tree.reference import ProjectItem, ProjectItemKind

if TYPE_CHECKING:
    from weft.grove.project import ProjectHandle

_PREFIXES = {ProjectItemKind.DOCUMENT: "doc:", ProjectItemKind.FOLDER: "folder:", ProjectItemKind.URL: ""}

_ProjectName = Annotated[str, argument("PROJECT", "A name or id.")]
_TreeName = Annotated[str | None, argument("TREE", "A title or id; default: the current tree.")]
_Prompt = Annotated[str | None, option("--system -s TEXT", "The system prompt; - for stdin.")]
_Items = Annotated[
    list[str] | None, option("--context -c WHAT", "doc:TITLE, folder:VAULT/PATH or a url. Repeatable.")
]


def _prompt(given: str | None) -> str | None:
    return read_stdin() if given == STDIN else given


def _described(project: "ProjectHandle") -> str:
    return f"{quoted(project.name)} at revision {project.revision}"


def project_ls(session: CliSession, *, archived: Archived = False) -> None:
    """A system prompt and context for several trees. Alone: list the projects.

    In a pipe: id, name, revision, trees and items of context, separated by tabs.
    """
    projects = [each.value for each in session.grove.projects(archived=archived)]
    trees = [tree.value.project for tree in session.grove.trees()] if projects else []
    session.out.listing(
        projects,
        Column(None, lambda project: project.id),
        Column("name", lambda project: project.name, shrinks=True),
        Column(None, lambda project: project.revision),
        Column("trees", lambda project: trees.count(project.name), number=True),
        Column("context", lambda project: len(project.context), number=True),
        Column("revision", lambda project: project.revision, number=True, piped=False),
        Column(
            "since",
            lambda project: project.created_at if project.archived_at is None else "archived",
            piped=False,
        ),
        empty="the grove has no projects; create one: weft project new NAME",
    )


def project_new(
    session: CliSession,
    name: Annotated[str, argument("NAME", "One line; unique among projects.")],
    *,
    system: _Prompt = None,
    items: _Items = None,
) -> None:
    """Create a project.

    Prints its id.
    """
    made = session.grove.create_project(name, system_prompt=_prompt(system) or "", context=items or ())
    session.out.result(made.value, made.id, f"created {_described(made)}")


def project_show(
    session: CliSession,
    reference: _ProjectName,
    *,
    revision: Annotated[int | None, option("--revision -r", "An earlier revision.", min=1)] = None,
) -> None:
    """Print a project: its prompt, its context, its trees."""
    project = session.grove.project(reference)
    value = project.value if revision is None else project.at(revision)
    trees = project.trees
    if session.out.as_json:
        session.out.json({"project": value, "trees": [tree.id for tree in trees]})
        return
    session.out.message(f"{quoted(value.name)} at revision {value.revision}")
    if value.system_prompt:
        session.out.text(value.system_prompt)
    for item in value.context:
        session.out.text(_named(session, item))
    for tree in trees:
        session.out.text(f"tree:{tree.title}")


def _named(session: CliSession, item: ProjectItem) -> str:
    """An item as an argument; a document by its title, if it can be read."""
    reference = item.reference
    if item.kind is ProjectItemKind.DOCUMENT:
        # Deleted, or not for this agent: its id still says which one it was.
        with contextlib.suppress(WeftError):
            reference = session.grove.document(reference).title
    return _PREFIXES[item.kind] + reference


def project_change(
    session: CliSession,
    reference: _ProjectName,
    *,
    name: Annotated[str | None, option("--name -n NAME", "A new name.")] = None,
    system: _Prompt = None,
    items: _Items = None,
    no_context: Annotated[bool, flag("--no-context", "Remove all context.")] = False,
    revision: StartingRevision = None,
) -> None:
    """Change a project's name, prompt or context; options not given stay as they are.

    With --revision nothing is overwritten if the project changed since.
    """
    if name is None and system is None and items is None and not no_context:
        raise InvalidInputError("nothing to change", hint="give --name, --system, --context or --no-context")
    project = session.grove.project(reference)
    if revision is not None and revision != project.revision:
        raise ConflictError(
            f"{project.name!r} is at revision {project.revision}; you started from {revision}",
            hint="read it again and apply your changes to the new revision",
        )
    after = project.change(
        name=name, system_prompt=_prompt(system), context=[] if no_context and not items else items
    )
    session.out.result(after.value, str(after.revision), f"changed {_described(after)}")


def project_add(session: CliSession, reference: _ProjectName, tree: _TreeName = None) -> None:
    """Add a tree to a project."""
    handle = session.tree_or_current(tree)
    after = session.grove.project(reference).add(handle)
    message = f"added {quoted(after.title)} to {quoted(after.value.project or '')}"
    session.out.result(after.value, after.id, message)


def project_remove(session: CliSession, reference: _ProjectName, tree: _TreeName = None) -> None:
    """Remove a tree from a project."""
    handle = session.tree_or_current(tree)
    project = session.grove.project(reference)
    if handle.value.project != project.name:
        raise InvalidInputError(f"{quoted(handle.title)} is not in {quoted(project.name)}")
    after = project.remove(handle)
    session.out.result(after.value, after.id, f"removed {quoted(after.title)} from {quoted(project.name)}")


def project_archive(session: CliSession, reference: _ProjectName, *, undo: Restore = False) -> None:
    """Archive a project; its trees stay in it."""
    project = session.grove.project(reference)
    (project.unarchive if undo else project.archive)()
    after = session.grove.project(project.id).value
    trees = counted(len(project.trees), "tree")
    done = "restored" if undo else "archived"
    session.out.result(after, after.id, f"{done} {quoted(after.name)} with {trees}")
