"""How a function becomes a command: the common options, the grove closed, a broken pipe unseen."""

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Concatenate

import typer

from weft.cli.call import Call, choices_of, settings_of
from weft.cli.completing import complete_agents, complete_trees
from weft.cli.output import hush
from weft.errors import StorageError

__all__ = ["command", "flag", "group", "with_common"]

_EVERYWHERE = "Everywhere"
_BROKEN_PIPE = 141
"""What a shell reports of a program that wrote to a pipe nobody reads."""


def flag(*names: str, help: str, panel: str | None = None) -> Any:  # noqa: A002 - typer's word
    """An option that is there or not."""
    # Without a name for its value: help would call it <bool>.
    return typer.Option(*names, help=help, metavar="", rich_help_panel=panel)


def _common(
    *,
    in_grove: Annotated[
        str | None,
        typer.Option(
            "--grove",
            metavar="PATH|URL",
            help="The grove: a file, or postgresql://… (or WEFT_GROVE).",
            rich_help_panel=_EVERYWHERE,
        ),
    ] = None,
    as_agent: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="AGENT",
            help="Act as this agent.",
            autocompletion=complete_agents,
            rich_help_panel=_EVERYWHERE,
        ),
    ] = None,
    in_tree: Annotated[
        str | None,
        typer.Option(
            "--tree",
            metavar="TREE",
            help="The tree, by title or id; else the one you were last in.",
            autocompletion=complete_trees,
            rich_help_panel=_EVERYWHERE,
        ),
    ] = None,
    accept_clock: Annotated[
        bool,
        flag(
            "--accept-clock",
            help="Write although the clock went back.",
            panel=_EVERYWHERE,
        ),
    ] = False,
    as_json: Annotated[bool, flag("--json", help="Answer with one JSON value.", panel=_EVERYWHERE)] = False,
) -> None:
    """Only its signature is used: these options stand in every command's."""


_COMMON = inspect.signature(_common).parameters


def command(
    app: typer.Typer,
    name: str,
    function: Callable[Concatenate[Call, ...], None],
    *,
    panel: str | None = None,
    creates: bool = False,
) -> None:
    """Register a function as a command. `creates`: it may begin a grove that is not there yet."""

    def run(context: typer.Context, **given: Any) -> None:
        own = {key: value for key, value in given.items() if key not in _COMMON}
        _carry_out(context, function, own, creates=creates)

    own = list(inspect.signature(function).parameters.values())[1:]
    app.command(name, help=inspect.getdoc(function), rich_help_panel=panel)(with_common(run, own))


def group(app: typer.Typer, name: str, default: Callable[[Call], None], *, panel: str) -> typer.Typer:
    """A family of commands under one name; the name alone does `default`, whose docstring is the family's."""
    family = typer.Typer(name=name)

    def run(context: typer.Context, **_: Any) -> None:
        if context.invoked_subcommand is None:
            _carry_out(context, default, {})

    told = inspect.getdoc(default)
    family.callback(invoke_without_command=True, help=told)(with_common(run))
    app.add_typer(family, rich_help_panel=panel)
    return family


def _carry_out(
    context: typer.Context,
    function: Callable[Concatenate[Call, ...], None],
    own: dict[str, Any],
    *,
    creates: bool = False,
) -> None:
    try:
        with Call(settings_of(context), choices_of(context), creates=creates) as call:
            function(call, **own)
            call.out.flush()
    except BrokenPipeError:
        hush()
        raise typer.Exit(_BROKEN_PIPE) from None
    except OSError as error:
        # Whatever else could not be read or written: a full disk behind stdout, most likely.
        hush()
        place = "" if error.filename is None else f" {error.filename}"
        raise StorageError(
            f"cannot read or write{place}: {error.strerror or error}", hint="check free space and permissions"
        ) from error


def with_common(run: Callable[..., None], own: Sequence[inspect.Parameter] = ()) -> Callable[..., None]:
    """Let typer read these parameters from a function: the context, its own, the common ones."""
    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    rest = (each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*own, *_COMMON.values()))
    signature = inspect.Signature([context, *rest])
    run.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess] - where inspect looks for it
    return run
