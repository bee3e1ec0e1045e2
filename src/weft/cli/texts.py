"""Texts coming in: said on the line, piped, or written in an editor."""

import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from pathlib import Path

from weft.errors import InvalidInputError, LimitExceededError, NotFoundError, UnavailableError
from weft.tree.content import CONTENT_LIMIT

__all__ = ["STDIN", "is_answered", "person_is_there", "read_stdin", "read_text", "text_given"]

STDIN = "-"
_BYTES_LIMIT = 4 * CONTENT_LIMIT
"""No text within the limit is longer in UTF-8."""


def person_is_there() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin is not None and sys.stdin.isatty()


@contextlib.contextmanager
def text_given(words: Sequence[str] | None, *, initial: str = "", exact: bool = False) -> Generator[str]:
    """The text of a command: its words, `-` or a pipe for stdin, else an editor.

    Shells and editors end what they write with a line end; it is not part of the text,
    unless it is wanted `exact`. What was written in an editor is kept if the work with it fails.
    """
    if words and list(words) != [STDIN]:
        yield " ".join(words)
    elif words or not person_is_there():
        yield _wanted(read_stdin(), exact=exact)
    else:
        with _edited(initial) as written:
            text = _wanted(written, exact=exact)
            if text == initial:
                raise InvalidInputError("the text was left as it was", hint="nothing was changed")
            yield text


def _wanted(text: str, *, exact: bool) -> str:
    end = "\r\n" if text.endswith("\r\n") else "\n"
    kept = text if exact else text.removesuffix(end)
    if not kept:
        raise InvalidInputError("there is no text", hint='give it as words, in a pipe, or "" to mean none')
    return kept


def read_stdin() -> str:
    """All of stdin, as the UTF-8 it must be."""
    if sys.stdin is None:
        return ""
    data = sys.stdin.buffer.read(_BYTES_LIMIT + 1)
    if len(data) > _BYTES_LIMIT:
        raise LimitExceededError(
            f"stdin has more than {CONTENT_LIMIT:,} characters", hint="split it into several nodes"
        )
    return _decoded(data, "stdin")


def read_text(file: str) -> str:
    """A file's text, or stdin's for -."""
    if file == STDIN:
        return read_stdin()
    try:
        return Path(file).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFoundError(f"no file {file!r}") from None
    except OSError as error:
        raise InvalidInputError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{file} is not UTF-8 at byte {error.start}") from None


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
    """A text through the person's editor."""
    handle, name = tempfile.mkstemp(prefix="weft-", suffix=".md")
    path = Path(name)
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
        file.write(initial)
    try:
        _run_editor(path)
        yield _decoded(path.read_bytes(), "what the editor wrote")
    except BaseException:
        if _differs(path, initial):
            sys.stderr.write(f"what you wrote is kept in {path}\n")
        else:
            path.unlink(missing_ok=True)
        raise
    path.unlink(missing_ok=True)


def _differs(path: Path, initial: str) -> bool:
    try:
        return path.read_bytes().strip() not in {b"", initial.encode().strip()}
    except OSError:
        return False


def _run_editor(path: Path) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        ended = subprocess.run([*shlex.split(editor), str(path)], check=False).returncode  # noqa: S603 - the person's own editor
    except (OSError, ValueError) as error:
        raise UnavailableError(
            f"the editor {editor!r} cannot be started: {error}", hint="set EDITOR, or give the text as words"
        ) from None
    if ended != 0:
        raise InvalidInputError(f"the editor {editor!r} ended with {ended}", hint="nothing was changed")


def is_answered(question: str) -> bool:
    """Ask a person yes or no; anything but yes is no."""
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
