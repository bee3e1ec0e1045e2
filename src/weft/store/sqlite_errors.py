"""What SQLite's errors mean, in a person's words."""

from pathlib import Path

from sqlalchemy.exc import DBAPIError

from weft.errors import StorageError, WeftError


def explained(error: BaseException, path: Path) -> WeftError:
    """The explanation, with the database's own error as its cause."""
    found = explain(error, path)
    found.__cause__ = error
    return found


def explain(error: BaseException, path: Path) -> WeftError:
    """A database error in a person's words."""
    origin = error.orig if isinstance(error, DBAPIError) else error
    name = getattr(origin, "sqlite_errorname", "") or ""
    for prefix, (message, hint) in _EXPLANATIONS.items():
        if name.startswith(prefix):
            return StorageError(message.format(path=path), hint=hint)
    return StorageError(
        f"{path}: {origin}", hint="check the disk and the file's rights; nothing was half-written"
    )


_EXPLANATIONS: dict[str, tuple[str, str]] = {
    "SQLITE_FULL": ("the disk with {path} is full", "free some space; nothing was half-written"),
    "SQLITE_READONLY": ("{path} is read-only", "change its permissions, or copy it to where you may write"),
    "SQLITE_BUSY": (
        "{path} is locked by another program",
        "close what has it open for writing, and try again",
    ),
    "SQLITE_LOCKED": ("{path} is locked by another program", "try again"),
    "SQLITE_CANTOPEN": ("cannot open {path}", "check that its folder exists and is yours to write"),
    "SQLITE_NOTADB": ("{path} is not a database", "name another file for the grove"),
    "SQLITE_CORRUPT": ("{path} is damaged", "restore a backup; the file was left as it is"),
    "SQLITE_IOERR": ("{path} cannot be read or written", "check the disk; nothing was half-written"),
}
