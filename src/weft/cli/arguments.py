"""Arguments and options that several commands share, with shell completion."""

import contextlib
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from weft.cli.formatting import shortened, typable
from weft.cli.output import visible
from weft.cli.session import CliSession, options_of, settings_of
from weft.errors import WeftError

Offers = list[tuple[str, str]]

_NODES = 500
_HELP = 60


def flag(*names: str, help: str, panel: str | None = None) -> Any:  # noqa: A002 - typer's word
    """An option without a value."""
    # Without a metavar, help would show <bool>.
    return typer.Option(*names, help=help, metavar="", rich_help_panel=panel)


def _offers(context: typer.Context, read: Callable[[CliSession], Iterable[tuple[str, str]]]) -> Offers:
    """What `read` gives; nothing if there is no grove or no access. Completion creates no grove."""
    from weft.store.addresses import default_address, path_of  # noqa: PLC0415 - loads with the store

    session = CliSession(settings_of(context), options_of(context))
    file = path_of(str(session.address or default_address()))
    if file is None or file.exists():
        with contextlib.suppress(WeftError), session:
            return list(read(session))
    return []


def _nameable(name: str, identity: str) -> str:
    """A name, unless a shell would split it."""
    return name if name.replace("-", "").replace("_", "").isalnum() else identity


def _short(text: str) -> str:
    return visible(shortened(text, _HELP))


def complete_trees(ctx: typer.Context) -> Offers:
    return _offers(
        ctx,
        lambda session: (
            (_nameable(each.title, each.id), _short(each.title)) for each in session.grove.read.trees()
        ),
    )


def complete_agents(ctx: typer.Context) -> Offers:
    return _offers(
        ctx,
        lambda session: (
            (_nameable(each.name, each.id), each.model_ref or each.type)
            for each in session.grove.read.agents()
        ),
    )


def complete_documents(ctx: typer.Context) -> Offers:
    return _offers(
        ctx,
        lambda session: (
            (_nameable(each.title, each.id), _short(each.title)) for each in session.grove.read.documents()
        ),
    )


def complete_projects(ctx: typer.Context) -> Offers:
    return _offers(
        ctx,
        lambda session: (
            (_nameable(each.name, each.id), _short(each.system_prompt)) for each in session.grove.projects()
        ),
    )


def complete_nodes(ctx: typer.Context) -> Offers:
    return _offers(
        ctx,
        lambda session: (
            (typable(row.node.local_id), _short(row.node.text))
            for row in session.grove.read.outline(session.tree.id, limit=_NODES)
        ),
    )


def complete_places(ctx: typer.Context) -> Offers:
    """Nodes, and the steps from the current one."""
    from weft.runtime.operations.cursors import Direction  # noqa: PLC0415 - loads with the grove

    return [*((step.value, "one step") for step in Direction), *complete_nodes(ctx)]


def node_argument(help: str, *, metavar: str = "NODE") -> Any:  # noqa: A002 - typer's word
    return typer.Argument(metavar=metavar, help=help, autocompletion=complete_nodes)


def node_option(*names: str, help: str) -> Any:  # noqa: A002 - typer's word
    return typer.Option(*names, metavar="NODE", help=help, autocompletion=complete_nodes)


def agent_option(*names: str, help: str) -> Any:  # noqa: A002 - typer's word
    return typer.Option(*names, metavar="AGENT", help=help, autocompletion=complete_agents)


NodeName = Annotated[str, node_argument("a7x2, TREE/a7x2, a ULID, or . for the current node.")]
TreeName = Annotated[
    str | None, typer.Argument(metavar="TREE", help="A title or id.", autocompletion=complete_trees)
]
AgentName = Annotated[
    str, typer.Argument(metavar="AGENT", help="A name or id.", autocompletion=complete_agents)
]
Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="TEXT", help="The text; - or a pipe for stdin; default: $EDITOR."),
]
ContextNodes = Annotated[
    list[str] | None, node_option("--context", help="A further source, as context. Repeatable.")
]
InstructionNodes = Annotated[
    list[str] | None, node_option("--instruction", help="A further source, as instruction. Repeatable.")
]
SettingValues = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A preference, for this command only. Repeatable."),
]
StartingRevision = Annotated[
    int | None, typer.Option("--revision", "-r", min=1, help="The revision you started from.")
]
Archived = Annotated[bool, flag("--archived", "-a", help="Include archived ones.")]
Restore = Annotated[bool, flag("--undo", help="Restore it from the archive.")]
Yes = Annotated[bool, flag("--yes", "-y", help="Do not ask for confirmation.")]
