"""Bringing a database to the present schema, step by numbered step.

The caller holds the lock: the file lock on SQLite, an advisory lock on PostgreSQL.
"""

from pathlib import Path

from sqlalchemy import Connection, column, inspect, select, table

from weft.error_hints import Hint, HintKind
from weft.errors import StorageError

HEAD = "0024"
"""The newest file in migrations/versions."""
_FIRST = "0012"
"""The oldest: what a new grove begins with."""

_VERSION = table("alembic_version", column("version_num"))


def migrate(connection: Connection, *, read_only: bool = False) -> None:
    """Apply what is missing, all or nothing; refuse a grove that this Weft cannot bring to its schema."""
    with connection.begin():
        present = schema_version(connection)
        if present == HEAD:
            return
        if present is not None:
            require_known(present)
        if read_only:
            raise StorageError(
                f"this grove has schema {present}, and must be upgraded to {HEAD}, but it is read-only",
                hint="make the file and its folder writable, or copy it to where you may write",
            )
        _upgrade(connection)


def require_known(version: str) -> None:
    """Refuse a schema that is newer than this Weft, or older than the first that it can upgrade."""
    if version > HEAD:
        raise StorageError(
            f"this grove has schema {version}, written by a newer Weft; this one knows {HEAD}",
            hint="upgrade Weft",
        )
    if version < _FIRST:
        raise StorageError(
            f"this grove has schema {version}, from before the first release; the oldest that opens is {_FIRST}",
            hint=Hint(HintKind.EXPORT_OLD),
        )


def schema_version(connection: Connection) -> str | None:
    """The last step that was applied; None where there is no grove."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(select(_VERSION.c.version_num)).scalar_one_or_none()


def _upgrade(connection: Connection) -> None:
    # Imported when needed: opening a grove that is up to date should not pay for it.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
