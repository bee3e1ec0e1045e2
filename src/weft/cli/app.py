"""The app: commands by module, root options, and errors as output and exit codes."""

import importlib
import inspect
import io
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TextIO, cast

import typer
from typer.main import get_group

from weft import __version__
from weft.cli.arguments import flag
from weft.cli.command import CommandGroup, add_command, with_global_options
from weft.cli.output import discard_output, write_error
from weft.cli.session import CliSession, Settings, options_of, settings_of
from weft.errors import InvalidSyntaxError, WeftError

if TYPE_CHECKING:
    from typer import _click as click  # typer's own copy: nothing public names its commands' type

__all__ = ["Settings", "app", "run"]

_INTERRUPTED = 130
_PANELS: Mapping[str, Mapping[str, str]] = {
    "Trees": {
        "trees": "new ls archive delete",
        "views": "tree read compare versions bookmarks search",
        "nodes": "switch",
    },
    "Context": {"views": "diff", "context": "context prefer stats"},
    "Writing": {
        "nodes": "say edit merge annotate split join type commit",
        "knowledge": "attach detach",
    },
    "References": {
        "knowledge": "vault remember",
        "tools": "tools",
        "references": "tag link collapse expand",
        "documents": "doc",
        "projects": "project",
    },
    "Models": {"ask": "ask", "generation": "gen chat summarise spend", "collaboration": "do collaborate"},
    "Flags": {"nodes": "bookmark exclude include prune restore"},
    "History": {"history": "undo redo history events jobs"},
    "Agents": {
        "agents": "agents",
        "approvals": "approvals",
        "models": "models keys",
        "endpoints": "endpoints",
    },
    "Trust": {"provenance": "verify provenance timestamp authority"},
    "Moving": {"transfer": "export import backup migrate doctor"},
    "Records and recipes": {"records": "records recipe"},
    "Serving": {"servers": "serve mcp telemetry", "proxy": "proxy", "users": "users"},
}
"""The commands of each panel of the help, by module: only the module of the command in use is imported."""
_PLACES = {
    name: (panel, module)
    for panel, modules in _PANELS.items()
    for module, names in modules.items()
    for name in names.split()
}


_ALIASES = {"log": "read", "show": "read", "branch": "edit", "generate": "gen"}
"""Other names of commands, which the help does not list."""
_MEANINGS = {
    "new": "create init plant start",
    "ls": "list trees",
    "delete": "rm remove destroy",
    "read": "cat print view open text",
    "search": "find grep query",
    "switch": "checkout goto go cd move select",
    "say": "add append write reply respond message",
    "edit": "fork rewrite change amend revise",
    "gen": "continue complete sample expand regenerate retry",
    "annotate": "comment note remark",
    "bookmark": "star favourite favorite mark",
    "prune": "hide cut trim drop",
    "restore": "unprune unhide",
    "undo": "revert back rollback",
    "context": "prompt window preview request",
    "prefer": "config settings set preferences options",
    "spend": "cost price usage budget",
    "keys": "key login auth token secret",
    "models": "model",
    "agents": "agent persona character",
    "serve": "server web ui start-server http",
    "doctor": "status check health fix repair",
    "export": "save dump download",
    "import": "load upload migrate-in",
    "compare": "siblings alternatives branches choices",
    "versions": "revisions edits",
    "bookmarks": "stars favourites marks",
    "doc": "document docs file",
    "vault": "notes folder mount",
}
"""Words that people try, by the command that they mean."""


class _LazyCommands(Mapping[str, "click.Command"]):
    """Commands by name, each imported when it is looked up."""

    def __init__(self) -> None:
        self._commands: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> "click.Command":
        name = _ALIASES.get(name, name)
        if name not in self._commands:
            panel, module = _PLACES[name]
            only = typer.Typer()
            add_command(only, name, vars(importlib.import_module(f"weft.cli.{module}")), panel)
            self._commands |= get_group(only).commands
        return self._commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


class _Root(CommandGroup):
    """The root: errors go to stderr in one form, and their class decides the exit code."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = cast("dict[str, click.Command]", _LazyCommands())

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
        given = list(sys.argv[1:] if args is None else args)
        if given[:1] == ["help"]:
            # What people type before they know --help.
            args = [*given[1:], "--help"]
        try:
            result = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
            code = result if isinstance(result, int) else 0
        except (WeftError, typer.TyperException) as error:
            shown = error if isinstance(error, WeftError) else _as_syntax_error(error)
            code = shown.row.exit
            try:
                write_error(shown)
            except BrokenPipeError:
                discard_output()
        if standalone_mode:
            sys.exit(code)
        return code


def _as_syntax_error(error: typer.TyperException) -> InvalidSyntaxError:
    """An error of typer's parser in the form of ours."""
    message, question, suggestion = error.format_message().strip().partition(" Did you mean ")
    context = cast("typer.Context | None", getattr(error, "ctx", None))
    path = "weft" if context is None else context.command_path
    hint = f"see {path} --help"
    tried = re.fullmatch(r"No such command '(.+)'\.?", message)
    meant = _meant(tried[1]) if tried and path == "weft" else None
    if meant is not None:
        hint = f"did you mean weft {meant}? {hint}"
    elif question:
        names = suggestion.replace("'", "").replace(", ", " or ")
        hint = f"did you mean {names} {hint}"
    message = message.removesuffix(".")
    return InvalidSyntaxError(message[:1].lower() + message[1:], hint=hint)


def _meant(word: str) -> str | None:
    """The command that a word stands for."""
    return next((name for name, words in _MEANINGS.items() if word.lower() in words.split()), None)


app = typer.Typer(
    name="weft",
    cls=_Root,
    help="A loom: branching conversations and texts as trees.",
    epilog="Data goes to stdout, messages to stderr; - reads stdin. Begin with: weft ask 'Why is the sky blue?'",
    context_settings={"help_option_names": ["--help", "-h"]},
    pretty_exceptions_enable=False,
)


def _root(
    context: typer.Context,
    *,
    version: Annotated[bool, flag("--version", "Show the version.")] = False,
    **_: Any,
) -> None:
    if context.invoked_subcommand is not None:
        return
    with CliSession(settings_of(context), options_of(context), creates=True) as session:
        if version and session.out.as_json:
            session.out.json({"version": __version__})
        elif version:
            session.out.text(f"weft {__version__}")
        elif session.out.terminal:
            from weft.cli.servers import start  # noqa: PLC0415 - only where no command is given

            start(session)
        else:
            # A program that gives no command wants to know what there is.
            typer.echo(context.get_help())


app.callback(invoke_without_command=True)(
    with_global_options(_root, [inspect.signature(_root).parameters["version"]])
)


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
