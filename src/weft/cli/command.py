"""Register functions as commands: global options, the grove closed at the end, broken pipes."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Concatenate, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from weft.cli.arguments import flag, option
from weft.cli.output import discard_output
from weft.cli.session import CliSession, options_of, settings_of
from weft.errors import StorageError

_Function = Callable[Concatenate[CliSession, ...], None]
_PANEL = "Everywhere"
_CREATING = {"ask", "new", "import"}
"""Commands that create a named grove that does not exist."""
_NUMBERS: Mapping[object, str] = {int: "a whole number", float: "a number"}
_BROKEN_PIPE = 141
"""The exit code of a program that wrote to a closed pipe."""


class _PlainValue:
    """Converts the values of one option or argument: texts, numbers and paths.

    typer would import pydantic for it and build an adapter for every option, used or not, which takes
    as long as reading a grove's trees. Other types are still typer's.
    """

    def __init__(self, parameter: Any, typer_value: Callable[[], Any]) -> None:
        self._type = parameter.type_descriptor
        self._typer_value = typer_value

    def coerce(self, value: Any, param: Any, ctx: typer.Context) -> Any:
        many = param.multiple or param.nargs == -1
        if value is None:
            return () if many else None
        kind = get_args(self._type.annotation)[0] if self._type.is_list else self._type.annotation
        if kind is str:
            return value
        if kind is Path:
            return Path(value)
        if kind not in _NUMBERS or many:
            return self._typer_value().coerce(value, param=param, ctx=ctx)
        try:
            number = kind(value)
        except ValueError:
            raise typer.BadParameter(f"{value!r} is not {_NUMBERS[kind]}", ctx=ctx, param=param) from None
        least, most = self._type.parameter_info.min, self._type.parameter_info.max
        if least is not None and number < least:
            raise typer.BadParameter(f"{number} is less than {least}", ctx=ctx, param=param)
        if most is not None and number > most:
            raise typer.BadParameter(f"{number} is more than {most}", ctx=ctx, param=param)
        return number


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _converted_plainly(super().get_params(ctx))


class CommandGroup(TyperGroup):
    """A group whose own options are converted without pydantic."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _converted_plainly(super().get_params(ctx))


def _converted_plainly(parameters: list[Any]) -> list[Any]:
    """These parameters of a command, which convert their values without pydantic from now on."""
    for parameter in parameters:
        if "get_runtime_param" not in vars(parameter):
            parameter.get_runtime_param = partial(_PlainValue, parameter, parameter.get_runtime_param)
    return parameters


def _global_options(
    *,
    in_grove: Annotated[
        str | None,
        option("--grove PATH|URL", "The grove: a file, or postgresql://… (or WEFT_GROVE).", panel=_PANEL),
    ] = None,
    create_grove: Annotated[
        bool, flag("--create", "Create the grove if it does not exist.", panel=_PANEL)
    ] = False,
    as_agent: Annotated[str | None, option("--as AGENT", "Act as this agent.", panel=_PANEL)] = None,
    in_tree: Annotated[
        str | None,
        option("--tree TREE", "The tree, by title or id; default: the last one used.", panel=_PANEL),
    ] = None,
    accept_clock: Annotated[
        bool, flag("--accept-clock", "Write even if the clock was set back.", panel=_PANEL)
    ] = False,
    as_json: Annotated[bool, flag("--json", "Print one JSON value.", panel=_PANEL)] = False,
) -> None:
    """Only its signature is used: every command has these options."""


_GLOBAL = inspect.signature(_global_options).parameters


def add_command(app: typer.Typer, name: str, functions: Mapping[str, Any], panel: str) -> None:
    """Add a command of a module: the function of that name, or `name_` where Python has the word.

    Functions `name_sub` are its subcommands: `name` alone runs the function `name`, else `name_ls`.
    """
    subcommands = {
        key.removeprefix(f"{name}_"): function
        for key, function in functions.items()
        if key.startswith(f"{name}_") and key != f"{name}_"
    }
    if not subcommands:
        function = functions.get(name) or functions[f"{name}_"]
        _add(app, name, function, panel=panel, creates=name in _CREATING)
        return
    alone = functions.get(name) or subcommands["ls"]
    group = typer.Typer(name=name, cls=CommandGroup)

    def run(context: typer.Context, **_: Any) -> None:
        if context.invoked_subcommand is None:
            _run(context, alone, {})

    group.callback(invoke_without_command=True, help=inspect.getdoc(alone))(with_global_options(run))
    for subcommand, function in subcommands.items():
        _add(group, subcommand, function)
    app.add_typer(group, rich_help_panel=panel)


def _add(
    app: typer.Typer, name: str, function: _Function, *, panel: str | None = None, creates: bool = False
) -> None:
    def run(context: typer.Context, **given: Any) -> None:
        own = {key: value for key, value in given.items() if key not in _GLOBAL}
        _run(context, function, own, creates=creates)

    own = list(inspect.signature(function).parameters.values())[1:]
    app.command(name, cls=_Command, help=inspect.getdoc(function), rich_help_panel=panel)(
        with_global_options(run, own)
    )


def _run(context: typer.Context, function: _Function, own: dict[str, Any], *, creates: bool = False) -> None:
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
