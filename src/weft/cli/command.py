"""Register functions as commands: global options, the grove closed at the end, broken pipes."""

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Concatenate

import typer

from weft.cli.arguments import complete_agents, complete_trees, flag
from weft.cli.output import discard_output
from weft.cli.session import CliSession, options_of, settings_of
from weft.errors import StorageError

__all__ = ["command", "group", "with_global_options"]

_PANEL = "Everywhere"
_BROKEN_PIPE = 141
"""The exit code of a program that wrote to a closed pipe."""


def _global_options(
    *,
    in_grove: Annotated[
        str | None,
        typer.Option(
            "--grove",
            metavar="PATH|URL",
            help="The grove: a file, or postgresql://… (or WEFT_GROVE).",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    create_grove: Annotated[
        bool, flag("--create", help="Create the grove if it does not exist.", panel=_PANEL)
    ] = False,
    as_agent: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="AGENT",
            help="Act as this agent.",
            autocompletion=complete_agents,
            rich_help_panel=_PANEL,
        ),
    ] = None,
    in_tree: Annotated[
        str | None,
        typer.Option(
            "--tree",
            metavar="TREE",
            help="The tree, by title or id; default: the last one used.",
            autocompletion=complete_trees,
            rich_help_panel=_PANEL,
        ),
    ] = None,
    accept_clock: Annotated[
        bool, flag("--accept-clock", help="Write even if the clock was set back.", panel=_PANEL)
    ] = False,
    as_json: Annotated[bool, flag("--json", help="Print one JSON value.", panel=_PANEL)] = False,
) -> None:
    """Only its signature is used: every command has these options."""


_GLOBAL = inspect.signature(_global_options).parameters


def command(
    app: typer.Typer,
    name: str,
    function: Callable[Concatenate[CliSession, ...], None],
    *,
    panel: str | None = None,
    creates: bool = False,
) -> None:
    """Register a function as a command. `creates`: it creates a named grove that does not exist."""

    def run(context: typer.Context, **given: Any) -> None:
        own = {key: value for key, value in given.items() if key not in _GLOBAL}
        _run(context, function, own, creates=creates)

    own = list(inspect.signature(function).parameters.values())[1:]
    app.command(name, help=inspect.getdoc(function), rich_help_panel=panel)(with_global_options(run, own))


def group(app: typer.Typer, name: str, default: Callable[[CliSession], None], *, panel: str) -> typer.Typer:
    """A group of commands under one name; the name alone runs `default`, whose docstring is the group's help."""
    commands = typer.Typer(name=name)

    def run(context: typer.Context, **_: Any) -> None:
        if context.invoked_subcommand is None:
            _run(context, default, {})

    commands.callback(invoke_without_command=True, help=inspect.getdoc(default))(with_global_options(run))
    app.add_typer(commands, rich_help_panel=panel)
    return commands


def _run(
    context: typer.Context,
    function: Callable[Concatenate[CliSession, ...], None],
    own: dict[str, Any],
    *,
    creates: bool = False,
) -> None:
    try:
        with CliSession(settings_of(context), options_of(context), creates=creates) as session:
            function(session, **own)
            session.out.flush()
    except BrokenPipeError:
        discard_output()
        raise typer.Exit(_BROKEN_PIPE) from None
    except OSError as error:
        # Most likely a full disk behind stdout.
        discard_output()
        place = "" if error.filename is None else f" {error.filename}"
        raise StorageError(
            f"cannot read or write{place}: {error.strerror or error}", hint="check free space and permissions"
        ) from error


def with_global_options(
    run: Callable[..., None], own: Sequence[inspect.Parameter] = ()
) -> Callable[..., None]:
    """Give a function the signature that typer reads: the context, its own parameters, the global ones."""
    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    rest = (each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*own, *_GLOBAL.values()))
    signature = inspect.Signature([context, *rest])
    run.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess] - where inspect looks for it
    return run
