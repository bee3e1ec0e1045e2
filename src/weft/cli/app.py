"""The app: every command family, the root options, and what becomes of errors."""

import inspect
import io
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any, TextIO, cast

import typer
from typer.core import TyperGroup

from weft import __version__
from weft.cli import (
    agents,
    attaching,
    collaborating,
    commanding,
    contexts,
    documents,
    events,
    generating,
    history,
    marking,
    mcp,
    models,
    moving,
    places,
    projects,
    provenance,
    reading,
    recipes,
    records,
    references,
    searching,
    serving,
    stats,
    tools,
    trees,
    users,
    vaults,
    writing,
)
from weft.cli.call import choices_of, settings_of
from weft.cli.command import flag, with_common
from weft.cli.output import Output, hush, tell_error
from weft.cli.settings import Settings
from weft.errors import InvalidSyntaxError, WeftError

__all__ = ["Settings", "app", "run"]

_INTERRUPTED = 130


class _Commands(TyperGroup):
    """The root: errors are told on stderr in one shape, and the exit code is their class's."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002 - typer's signature
        windows_expand_args: bool = True,  # noqa: FBT001, FBT002
        **extra: Any,
    ) -> Any:
        code = 0
        try:
            ended = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
            code = ended if isinstance(ended, int) else 0
        except (WeftError, typer.TyperException) as error:
            told = error if isinstance(error, WeftError) else _as_syntax_error(error)
            code = told.row.exit
            try:
                tell_error(told)
            except BrokenPipeError:
                hush()
        if standalone_mode:
            sys.exit(code)
        return code


def _as_syntax_error(error: typer.TyperException) -> InvalidSyntaxError:
    """What typer could not read, in our words."""
    message = error.format_message().strip().removesuffix(".")
    context = cast("typer.Context | None", getattr(error, "ctx", None))
    path = "weft" if context is None else context.command_path
    return InvalidSyntaxError(message[:1].lower() + message[1:], hint=f"see {path} --help")


app = typer.Typer(
    name="weft",
    cls=_Commands,
    help="A loom: branching conversations and texts as trees.",
    epilog="stdout is data, stderr is talk; - reads stdin. Begin with: weft new “A title”",
    context_settings={"help_option_names": ["--help", "-h"]},
    pretty_exceptions_enable=False,
)


def _root(
    context: typer.Context,
    *,
    version: Annotated[bool, flag("--version", help="Say which Weft this is.")] = False,
    **_: Any,
) -> None:
    if context.invoked_subcommand is not None:
        return
    if version:
        choices = choices_of(context)
        out = Output(settings_of(context), as_json=choices.json)
        if choices.json:
            out.json({"version": __version__})
        else:
            out.text(f"weft {__version__}")
    else:
        typer.echo(context.get_help())


app.callback(invoke_without_command=True)(
    with_common(_root, [inspect.signature(_root).parameters["version"]])
)
for family in (
    trees,
    reading,
    places,
    writing,
    generating,
    commanding,
    collaborating,
    marking,
    attaching,
    references,
    searching,
    contexts,
    stats,
    history,
    documents,
    vaults,
    tools,
    projects,
    agents,
    models,
    events,
    provenance,
    moving,
    records,
    recipes,
    serving,
    mcp,
    users,
):
    family.add_to(app)


def run() -> None:
    """The whole program, as the shell starts it."""
    _open_streams()
    try:
        app(prog_name="weft")
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def _open_streams() -> None:
    """UTF-8 in every locale, and somewhere to write even where the shell closed a stream."""
    # A closed 0, 1 or 2 would be the number of the next file that is opened, such as the grove's.
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    for name in ("stdout", "stderr"):
        stream: TextIO | None = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - as long as the program
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
