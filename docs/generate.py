# ruff: noqa: INP001 - cog imports it from the repository's root; docs is a folder of pages, not a package
"""Generate what the pages show: real sessions, real help, real signatures. `make docs` writes them.

Clock, ids, width and colours are fixed, so that a page changes only if Weft does.
"""

import ast
import atexit
import contextlib
import dataclasses
import inspect
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import cast, get_args, get_origin

from typer.main import get_command

import weft
from weft import errors
from weft.argument_checks import Options
from weft.cli.app import app
from weft.cli.session import Settings
from weft.errors import CODES, WeftError
from weft.grove.grove import open_grove
from weft.grove.handle import Handle
from weft.ids import Clock
from weft.runtime.generation.stream import EventStream
from weft.sample.harbour import plant_samples, sample_entropy

__all__ = [
    "Session",
    "class_reference",
    "command_paths",
    "command_reference",
    "error_table",
    "exit_code_table",
    "function_reference",
    "option_table",
    "run_weft",
    "value_reference",
]

_EVENING = 1_767_292_200_000_000
"""1 January 2026, 18:30 UTC, in microseconds: when samples are planted."""
_MINUTE = 60 * 1_000_000
_NIGHT = 14 * 60 * _MINUTE
_WIDTH = 80
_EVERYWHERE = re.compile(r"╭─ Everywhere .*?╯\s*\n", re.DOTALL)
"""The options that every command has."""
_NO_KEYS = dict.fromkeys(
    ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"), ""
)
# What a small model makes of a text is not the same on every machine.
os.environ["WEFT_SUMMARIES"] = "off"
_PLAIN = {
    "COLUMNS": str(_WIDTH),
    "NO_COLOR": "1",
    "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
    "TERM": "dumb",
    "WEFT_CACHE": "cache",
    "WEFT_KEYS": "keys.json",
    "WEFT_OFFLINE": "1",
    **_NO_KEYS,
}


class Session:
    """A session at a prompt, in an empty folder, with a grove that gives the same ids every time.

    With `sample=True` the grove is the sample as `make run` plants it.
    """

    def __init__(self, *, sample: bool = False) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._names: dict[str, object] = {"__name__": "__main__"}
        self._now = _EVENING
        self.entropy = sample_entropy()
        self._opened = contextlib.ExitStack()
        atexit.register(self._end)
        self._grove = self.folder / "grove.db"
        if sample:
            with open_grove(self._grove, clock=self.clock, entropy=self.entropy) as grove:
                plant_samples(grove)
        self._now += _NIGHT

    def clock(self) -> int:
        return self._now

    @property
    def folder(self) -> Path:
        return Path(self._folder.name)

    def python(self, source: str) -> str:
        """Statements at Python's prompt, each with its output."""
        lines = source.strip("\n").splitlines()
        shown: list[str] = []
        done = 0
        with self._here():
            for statement in ast.parse("\n".join(lines)).body:
                end = statement.end_lineno or statement.lineno
                self._now += _MINUTE
                typed = [line for line in lines[done:end] if line.strip()]
                shown += [(">>> " if _starts(line) else "... ") + line for line in typed]
                shown += self._run(statement)
                done = end
        return _fence("pycon", "\n".join(shown))

    def answered(self, tree: str) -> str:
        """The local id of a tree's first node that a model's server gave."""
        with open_grove(self._grove, create=False) as grove:
            nodes = [row.node for row in grove.read.outline(grove.tree(tree).id)]
            evidence = grove.evidence
            return next(node.local_id for node in nodes if evidence.raw_response(node.tree_id, node.id))

    def shell(self, *commands: str) -> str:
        """`weft` commands in a terminal, each with the screen's output."""
        shown: list[str] = []
        for command in commands:
            self._now += _MINUTE
            settings = Settings(
                address=self._grove,
                create=True,
                clock=self.clock,
                entropy=self.entropy,
                width=_WIDTH,
                terminal=True,
            )
            with self._here():
                output = run_weft(shlex.split(command)[1:], settings)
            shown += [f"$ {command}", *self._without_folder(output)]
        return _fence("console", "\n".join(shown))

    def pipe(self, *pipelines: str) -> str:
        """Shell lines with `weft` in a pipe, each with its output."""
        shown: list[str] = []
        scripts = str(Path(sys.executable).parent)
        environment = os.environ | {
            "PATH": scripts + os.pathsep + os.environ["PATH"],
            "WEFT_GROVE": str(self._grove),
        }
        for pipeline in pipelines:
            ended = subprocess.run(  # noqa: S603 - the pages' own examples
                ["/bin/sh", "-c", pipeline], env=environment, check=True, capture_output=True, text=True
            )
            shown += [f"$ {pipeline}", *self._without_folder(ended.stdout)]
        return _fence("console", "\n".join(shown))

    def _run(self, statement: ast.stmt) -> list[str]:
        printed = io.StringIO()
        code = compile(ast.Interactive([statement]), "<docs>", "single")
        with contextlib.redirect_stdout(printed):
            try:
                exec(code, self._names)  # noqa: S102 - the pages' own examples
            except WeftError as error:
                printed.write(f"{type(error).__module__}.{type(error).__name__}: {error}")
        return self._without_folder(printed.getvalue())

    def _without_folder(self, output: str) -> list[str]:
        lines = output.replace(str(self.folder) + os.sep, "").splitlines()
        return [line.rstrip() for line in lines]

    def _open(self, address: str | Path | None = None, *, clock: Clock | None = None) -> weft.Grove:
        """Replaces `weft.open`."""
        # Background work would run at random moments between two statements.
        grove = open_grove(address, clock=clock or self.clock, entropy=self.entropy, background=False)
        return self._opened.enter_context(grove)

    def _end(self) -> None:
        """Close the groves before their folder is removed."""
        self._opened.close()
        self._folder.cleanup()

    @contextlib.contextmanager
    def _here(self) -> Generator[None]:
        """Work in the session's folder, where `weft.open` opens groves with fixed ids and times."""
        real, before = weft.open, Path.cwd()
        weft.open = self._open
        os.chdir(self.folder)
        try:
            yield
        finally:
            os.chdir(before)
            weft.open = real


def _starts(line: str) -> bool:
    """True if a line begins a statement."""
    return not line.startswith((" ", ")", "]", "}"))


def _fence(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```\n"


class _Screen(io.StringIO):
    """What a terminal shows, in order."""

    def isatty(self) -> bool:
        return True


def run_weft(arguments: Sequence[str], settings: Settings) -> str:
    """Run the command line as the `weft` script does, on a screen of its own."""
    screen = _Screen()
    with _environment(_PLAIN), contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
        app(arguments, prog_name="weft", standalone_mode=False, obj=settings)
    return screen.getvalue()


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Generator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def command_reference() -> str:
    """The help of `weft` and of every command; the options that all have are shown once."""
    root = get_command(app)
    sections = [_fence("text", _help_of())]
    sections += [
        f"### weft {' '.join(path)}\n\n{_fence('text', _help_of(*path))}" for path in command_paths(root)
    ]
    return "\n".join(sections)


def command_paths(command: object, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command by its words, groups before their commands."""
    children: Mapping[str, object] = getattr(command, "commands", {})
    for name, child in children.items():
        yield (*above, name)
        yield from command_paths(child, (*above, name))


def _help_of(*path: str) -> str:
    printed = run_weft([*path, "--help"], Settings())
    text = _EVERYWHERE.sub("", printed) if path else printed
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")


def function_reference(name: str, function: Callable[..., object]) -> str:
    """A function with its signature and its whole docstring."""
    written = _written(function)
    parameters = "".join(f"    {each},\n" for each in _parameters(written.args))
    shown = f"def {name}(\n{parameters}) -> {_annotation(written.returns)}: ..."
    return _fence("python", shown) + f"\n{inspect.getdoc(function) or ''}\n"


def class_reference(*classes: type) -> str:
    """Classes with methods, in the order of the source."""
    return "\n".join(_class_section(cls) for cls in classes)


def value_reference(*classes: type) -> str:
    """Classes of values, with their fields."""
    return "".join(f"- **`{cls.__name__}`** {_value_line(cls)}\n" for cls in classes)


def option_table(options: type[Options], *, without: type[Options] | None = None) -> str:
    """Every option with its default and its description; without those of another table."""
    written, shown = _option_fields(options), {} if without is None else without.specs()
    defaults = {each.name: each.default for each in dataclasses.fields(options)}
    rows = ["| option | type | default | |", "|---|---|---|---|"]
    for name, spec in options.specs().items():
        if name not in shown:
            kind = written[name].replace("|", "\\|")
            default = "" if defaults[name] is dataclasses.MISSING else f"`{defaults[name]!r}`"
            rows.append(f"| `{name}` | `{kind}` | {default} | {spec.help} |")
    return "\n".join(rows) + "\n"


def error_table() -> str:
    """Every error with its code, retry rule and exit code."""
    rows = ["| error | code | when | try again | exit code |", "|---|---|---|---|---|"]
    for name in errors.__all__:
        error = getattr(errors, name)
        if isinstance(error, type) and issubclass(error, WeftError) and error is not WeftError:
            row = CODES[error.code]
            rows.append(f"| `{name}` | `{error.code}` | {inspect.getdoc(error)} | {row.retry} | {row.exit} |")
    return "\n".join(rows) + "\n"


def exit_code_table() -> str:
    """The meaning of each exit code of the command line."""
    codes: dict[int, list[str]] = {}
    for code, row in CODES.items():
        codes.setdefault(row.exit, []).append(f"`{code}`")
    rows = ["| exit code | |", "|---|---|", "| 0 | done |"]
    rows += [f"| {number} | {', '.join(codes[number])} |" for number in sorted(codes)]
    return "\n".join(rows) + "\n"


def _class_section(cls: type) -> str:
    lines = [f"### {cls.__name__}", "", inspect.getdoc(cls) or "", ""]
    filled = _filled_types(cls)
    lines += [_member_line(name, member, filled) for name, member in _members(cls)]
    return "\n".join(lines) + "\n"


def _members(cls: type) -> Iterator[tuple[str, object]]:
    handles = [base for base in cls.__bases__ if base is Handle]
    streams = [base for base in cls.__bases__ if base is EventStream]
    for part in (*handles, cls, *streams):
        for name, member in vars(part).items():
            if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                yield name, member


def _filled_types(cls: type) -> dict[str, str]:
    """The types of a class's inherited type variables."""
    filled: dict[str, str] = {}
    for base in getattr(cls, "__orig_bases__", ()):
        values = get_args(base)
        variables = getattr(get_origin(base), "__parameters__", ())
        filled |= {
            variable.__name__: value.__name__
            for variable, value in zip(variables, values, strict=False)
            if isinstance(value, type)
        }
    return filled


def _member_line(name: str, member: object, filled: Mapping[str, str]) -> str:
    doc = " ".join((inspect.getdoc(member) or "").split())
    function = member.fget if isinstance(member, property) else member
    written = _written(function)
    returned = _annotation(written.returns)
    returned = filled.get(returned, returned)
    options = _options_of(function, written)
    given = ", ".join(_parameters(written.args) if options is None else _option_parameters(options))
    shown = f"{name}: {returned}" if isinstance(member, property) else f"{name}({given}) -> {returned}"
    return f"- `{shown}`" + (f"<br>{doc}" if doc else "")


def _written(function: object) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """The function as written in the source, where types have their own names."""
    assert inspect.isfunction(function)  # noqa: S101 - the pages name functions and methods only
    found = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef)  # noqa: S101 - see above
    return found


def _options_of(function: object, written: ast.FunctionDef | ast.AsyncFunctionDef) -> type[Options] | None:
    """The options that a method takes as keywords."""
    for decorator in written.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "takes_options":
            return inspect.unwrap(cast("FunctionType", function)).__globals__[ast.unparse(decorator.args[0])]
    return None


def _option_parameters(options: type[Options]) -> Iterator[str]:
    written = _option_fields(options)
    ordered = sorted(dataclasses.fields(options), key=lambda each: bool(each.kw_only))
    for index, each in enumerate(ordered):
        if each.kw_only and (index == 0 or not ordered[index - 1].kw_only):
            yield "*"
        default = "" if each.default is dataclasses.MISSING else f" = {each.default!r}"
        yield f"{each.name}: {written[each.name]}{default}"


def _option_fields(options: type[Options]) -> dict[str, str]:
    """The types of options as the source names them."""
    bases = [base for base in options.__mro__[::-1] if issubclass(base, Options)]
    bodies = [ast.parse(textwrap.dedent(inspect.getsource(base))).body[0] for base in bases]
    return {
        ast.unparse(line.target): _annotation(line.annotation)
        for body in bodies
        if isinstance(body, ast.ClassDef)
        for line in body.body
        if isinstance(line, ast.AnnAssign)
    }


def _parameters(arguments: ast.arguments) -> Iterator[str]:
    positional = [*arguments.posonlyargs, *arguments.args]
    required = len(positional) - len(arguments.defaults)
    for each, default in zip(positional, [*[None] * required, *arguments.defaults], strict=True):
        if each.arg != "self":
            yield _parameter(each, default)
    if arguments.vararg is not None:
        yield "*" + _parameter(arguments.vararg, None)
    elif arguments.kwonlyargs:
        yield "*"
    for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(each, default)


def _parameter(parameter: ast.arg, default: ast.expr | None) -> str:
    shown = f"{parameter.arg}: {_annotation(parameter.annotation)}"
    return shown if default is None else f"{shown} = {ast.unparse(default)}"


def _annotation(annotation: ast.expr | None) -> str:
    return "None" if annotation is None else ast.unparse(_Unquoted().visit(annotation))


class _Unquoted(ast.NodeTransformer):
    """Remove the quotes of forward references."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return ast.parse(node.value, mode="eval").body if isinstance(node.value, str) else node


def _value_line(cls: type) -> str:
    doc = " ".join((inspect.getdoc(cls) or "").split())
    # Without a docstring, dataclasses and tuples have their signature there.
    doc = "" if doc.startswith(f"{cls.__name__}(") else doc + " "
    fields: Sequence[str] = getattr(cls, "__match_args__", ())
    names = [field.name for field in dataclasses.fields(cls)] if dataclasses.is_dataclass(cls) else fields
    return doc + ", ".join(f"`{name}`" for name in names)
