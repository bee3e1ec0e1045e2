"""Chats as Markdown files, from and to the command line."""

import sys
from collections.abc import Sequence
from pathlib import Path

from weft.cli.call import Call
from weft.cli.texts import STDIN
from weft.cli.wording import quoted
from weft.errors import ConflictError, InvalidInputError, LimitExceededError, NotFoundError, StorageError
from weft.tree.node_labels import counted

__all__ = ["export_chat", "import_chat"]

_SIZE_LIMIT = 256 * 1024 * 1024


def export_chat(call: Call, names: Sequence[str], out: str, *, force: bool) -> None:
    """One path as a chat, to a file or to stdout."""
    if len(names) > 1:
        raise InvalidInputError("a chat is one path", hint="name one node, or one tree")
    tree, node = call.place(names[0] if names else None)
    text = tree.chat() if node is None else node.chat()
    if out == STDIN:
        if call.out.as_json:
            call.out.json({"chat": text})
        else:
            call.out.exact(text)
        return
    path = Path(out)
    if path.exists() and not force:
        raise ConflictError(f"{out} is there already", hint="overwrite it with --force")
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise StorageError(f"cannot write {out}: {error.strerror}") from error
    call.out.answer({"file": out}, out, f"wrote the chat {quoted(tree.title)} to {out}")


def import_chat(call: Call, file: str, agent: str | None) -> None:
    """A new tree from a chat; what could not be found is told."""
    from weft.runtime.transfer.markdown_chats import (  # noqa: PLC0415 - the runtime loads when it is used
        load_chat,
    )

    done = load_chat(call.grove.caller, _read(file), agent=agent)
    for warning in done.warnings:
        call.out.talk(f"note: {warning}")
    told = f"imported {quoted(done.tree.title)} with {counted(done.messages, 'message')}"
    call.out.answer(done, done.tree.id, told)


def _read(file: str) -> str:
    try:
        data = sys.stdin.buffer.read(_SIZE_LIMIT + 1) if file == STDIN else _bytes(Path(file))
    except FileNotFoundError:
        raise NotFoundError(f"there is no file {file}") from None
    except OSError as error:
        raise StorageError(f"cannot read {file}: {error.strerror}") from error
    if len(data) > _SIZE_LIMIT:
        raise LimitExceededError(f"a chat has at most {_SIZE_LIMIT:,} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInputError(f"{file} is not UTF-8 text") from None


def _bytes(path: Path) -> bytes:
    with path.open("rb") as opened:
        return opened.read(_SIZE_LIMIT + 1)
