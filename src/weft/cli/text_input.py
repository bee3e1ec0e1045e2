"""Read text from arguments, stdin, files or an editor."""

import contextlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from weft.errors import InvalidInputError, LimitExceededError, NotFoundError, UnavailableError
from weft.tree.content import CONTENT_LIMIT

if TYPE_CHECKING:
    from weft.tree.json import JsonValue

STDIN = "-"
_BYTES_LIMIT = 4 * CONTENT_LIMIT
"""No text within the limit is longer in UTF-8."""
_FILE_LIMIT = 256 * 1024 * 1024


def is_interactive() -> bool:
    """True if stdin is a terminal, so that questions can be answered."""
    return sys.stdin is not None and sys.stdin.isatty()


@contextlib.contextmanager
def text_given(words: Sequence[str] | None, *, initial: str = "", exact: bool = False) -> Generator[str]:
    """The text of a command: its words, `-` or a pipe for stdin, else an editor.

    A final line end, which shells and editors add, is removed unless `exact`. If the command fails,
    what was written in an editor is kept in its file.
    """
    if words and list(words) != [STDIN]:
        yield " ".join(words)
    elif words or not is_interactive():
        yield _checked(read_stdin(), exact=exact)
    else:
        with _edited(initial) as written:
            text = _checked(written, exact=exact)
            if text == initial:
                raise InvalidInputError("the text was not changed", hint="nothing was saved")
            yield text


def _checked(text: str, *, exact: bool) -> str:
    end = "\r\n" if text.endswith("\r\n") else "\n"
    checked = text if exact else text.removesuffix(end)
    if not checked:
        raise InvalidInputError("no text given", hint='give it as words or in a pipe; "" for an empty text')
    return checked


def read_stdin() -> str:
    """All of stdin, decoded as UTF-8."""
    if sys.stdin is None:
        return ""
    data = sys.stdin.buffer.read(_BYTES_LIMIT + 1)
    if len(data) > _BYTES_LIMIT:
        raise LimitExceededError(
            f"stdin has more than {CONTENT_LIMIT:,} characters", hint="split it into several nodes"
        )
    return _decoded(data, "stdin")


def read_text(file: str) -> str:
    """The text of a file, or of stdin for -, to the byte."""
    name = "stdin" if file == STDIN else file
    try:
        with contextlib.nullcontext(sys.stdin.buffer) if file == STDIN else Path(file).open("rb") as source:
            data = source.read(_FILE_LIMIT + 1)
    except FileNotFoundError:
        raise NotFoundError(f"no file {file!r}") from None
    except OSError as error:
        raise InvalidInputError(f"{name} cannot be read: {error.strerror}") from None
    if len(data) > _FILE_LIMIT:
        raise LimitExceededError(f"{name} has more than {_FILE_LIMIT:,} bytes")
    return _decoded(data, name)


def _decoded(data: bytes, what: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{what} is not UTF-8: byte {error.start:,} is {data[error.start]:#04x}",
            hint="convert it, for example with iconv -t UTF-8",
        ) from None


@contextlib.contextmanager
def _edited(initial: str) -> Generator[str]:
    """A text edited in the user's editor."""
    handle, name = tempfile.mkstemp(prefix="weft-", suffix=".md")
    path = Path(name)
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
        file.write(initial)
    try:
        _run_editor(path)
        yield _decoded(path.read_bytes(), "the edited text")
    except BaseException:
        with contextlib.suppress(OSError):
            if path.read_bytes().strip() not in {b"", initial.encode().strip()}:
                sys.stderr.write(f"your text is kept in {path}\n")
                raise
        path.unlink(missing_ok=True)
        raise
    path.unlink(missing_ok=True)


def _run_editor(path: Path) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        code = subprocess.run([*shlex.split(editor), str(path)], check=False).returncode  # noqa: S603 - the user's own editor
    except (OSError, ValueError) as error:
        raise UnavailableError(
            f"the editor {editor!r} cannot be started: {error}", hint="set EDITOR, or give the text as words"
        ) from None
    if code != 0:
        raise InvalidInputError(f"the editor {editor!r} exited with {code}", hint="nothing was saved")


def confirm(question: str, *, yes: bool) -> None:
    """Ask before something that cannot be undone; a script passes --yes."""
    if yes:
        return
    if not is_interactive():
        raise InvalidInputError("this cannot be undone and needs confirmation", hint="pass --yes")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        sys.stderr.write("nothing was deleted\n")
        raise typer.Exit(1)


def agrees(question: str) -> bool:
    """Ask a person, who has to type nothing but Enter to agree."""
    sys.stderr.write(f"{question} [Y/n] ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    return bool(answer) and answer.strip().lower() in {"", "y", "yes"}


def name_and_text(text: str) -> tuple[str, str]:
    """NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InvalidInputError(f"{text!r} is not NAME=VALUE", hint="for example minimumRecentNodes=2")
    return name.strip(), value


def read_setting(text: str) -> "tuple[str, JsonValue]":
    """NAME=VALUE; a value that is JSON is read as JSON."""
    name, value = name_and_text(text)
    try:
        return name, cast("JsonValue", json.loads(value))
    except ValueError:
        return name, value
