"""JSON files that only their owner reads: keys, and the addresses that keys are bound to."""

import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from weft.error_hints import Hint, HintKind
from weft.errors import StorageError

_DAMAGED = Hint(HintKind.KEY_FILE)


def read_private(path: Path, what: str) -> dict[str, Any]:
    """The object in the file; empty if there is no file. Refused if other users can read it."""
    try:
        status = path.stat()
        if os.name == "posix" and stat.S_IMODE(status.st_mode) & 0o077:
            raise StorageError(
                f"{path} is readable by other users", hint=Hint(HintKind.SETUP, text=f"chmod 600 {path}")
            )
        stored: object = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        # The error quotes the file, which may hold a key.
        raise StorageError(f"{path} cannot be read ({type(error).__name__})", hint=_DAMAGED) from None
    if not isinstance(stored, dict):
        raise damaged(path, what)
    return cast("dict[str, Any]", stored)


def damaged(path: Path, what: str) -> StorageError:
    return StorageError(f"{path} is not a {what} file", hint=_DAMAGED)


def write_private(path: Path, stored: Mapping[str, Any], what: str) -> None:
    """Replace the file, whole or not at all."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as out:
            out.write(json.dumps(dict(sorted(stored.items())), indent=1).encode() + b"\n")
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise StorageError(f"cannot write the {what} to {path}: {error.strerror}") from None
