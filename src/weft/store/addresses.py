"""Which store an address means."""

import os
from pathlib import Path

from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, StorageError, UnavailableError
from weft.store.base import Store
from weft.store.blobs import BlobStore, blobs_beside


def default_address() -> str:
    """`WEFT_GROVE`, else a file in the user's data folder."""
    return os.environ.get("WEFT_GROVE") or str(_default_file())


def _default_file() -> Path:
    from platformdirs import user_data_path  # noqa: PLC0415 - 18 ms; a named grove does without

    return user_data_path("weft") / "grove.db"


def path_of(address: str) -> Path | None:
    """The file an address means; None where it means a server."""
    scheme, separator, rest = address.partition("://")
    if not separator:
        return Path(address).expanduser().absolute()
    return Path(rest[1:]).expanduser().absolute() if scheme == "sqlite" else None


def _is_encodable(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def blobs_at(address: str) -> BlobStore:
    """The blobs of a grove that need not be open."""
    path = path_of(address)
    if path is not None:
        return BlobStore(blobs_beside(path))
    from weft.store.postgres import blobs_of_server  # noqa: PLC0415 - a grove needs one of the two stores

    return blobs_of_server(address)


def open_store(address: str | Path | None = None, *, timeout: float = 30.0, create: bool = True) -> Store:
    """A SQLite file by its path (or sqlite:///path), a PostgreSQL database by its postgresql:// address.

    A file that does not exist is created, if `create`; a folder is created only for the default
    grove, since a folder that does not exist is most likely a mistake.
    """
    text = str(address) if address is not None else default_address()
    if not _is_encodable(text):
        raise InvalidInputError("address has a NUL or half a character in it", path="address")
    scheme, separator, rest = text.partition("://")
    if not separator:
        scheme, rest = "sqlite", "/" + text
    match scheme:
        case "sqlite":
            # Imported here: a grove needs one of the two stores, not both.
            from weft.store.sqlite import SqliteStore  # noqa: PLC0415

            if not rest.strip("/"):
                raise InvalidInputError("a grove needs a file name", hint="for example notes.db")
            path = Path(rest[1:])
            if not path.expanduser().parent.is_dir():
                if text != str(_default_file()):
                    raise StorageError(
                        f"there is no folder {path.parent}", hint="check the path, or create the folder first"
                    )
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            return SqliteStore(path, timeout=timeout, create=create)
        case "postgresql" | "postgres":
            try:
                from weft.store.postgres import PostgresStore  # noqa: PLC0415 - few groves need its driver
            except ModuleNotFoundError as error:
                raise UnavailableError(
                    f"PostgreSQL needs the package {error.name}",
                    hint=Hint(HintKind.SETUP, text="pip install 'weft-loom[postgres]'"),
                ) from None

            return PostgresStore("postgresql://" + rest, timeout=timeout, create=create)
        case _:
            raise InvalidInputError(
                f"{scheme}:// is not a kind of grove",
                hint="use a path, sqlite:///path or postgresql://user@host/database",
            )
