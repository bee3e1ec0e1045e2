"""The health of a PostgreSQL server, as far as a grove depends on it. Only looks."""

import contextlib
from collections.abc import Generator, Iterator

import psycopg
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool

from weft.errors import InvalidInputError
from weft.store.health import HealthCheck, good, note, wrong
from weft.store.postgres import PostgresDialect, explain
from weft.store.session import Session

_LOSES = {
    "fsync": "the server does not wait for the disk: a power cut may destroy the whole database",
    "full_page_writes": "a power cut may leave half-written pages behind",
    "synchronous_commit": "a write that was acknowledged may be lost when the server stops",
}
_OLDEST = 13
_SKEW = 60


@contextlib.contextmanager
def look_inside(url: str) -> Generator[Session]:
    """A session that cannot write, in one snapshot."""
    try:
        address = make_url(url).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):
        raise InvalidInputError("that is not a PostgreSQL address") from None
    engine = create_engine(address, poolclass=NullPool, connect_args={"connect_timeout": 10})
    name = address._replace(drivername="postgresql", password=None).render_as_string()
    try:
        with engine.connect() as connection:
            options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
            yield Session(connection.execution_options(**options), PostgresDialect())
    except (DBAPIError, psycopg.Error) as error:
        raise explain(error, name) from error
    finally:
        engine.dispose()


def look_at_server(session: Session, now: int) -> Iterator[HealthCheck]:
    """Version, settings that decide whether a write is kept, broken indexes, the clock."""
    version = _setting(session, "server_version")
    number = int(_setting(session, "server_version_num"))
    if number // 10_000 < _OLDEST:
        yield wrong("PostgreSQL", f"PostgreSQL {version} is too old", f"upgrade to {_OLDEST} or newer")
    else:
        yield good("PostgreSQL", f"PostgreSQL {version}")
    lost = 0
    for setting, consequence in _LOSES.items():
        if _setting(session, setting) == "off":
            lost += 1
            yield wrong("durability", f"{setting} is off: {consequence}", f"set {setting} = on")
    if not lost:
        yield good("durability", f"{', '.join(_LOSES)} are on")
    if session.execute(text("SELECT pg_is_in_recovery()")).scalar_one():
        yield note("server", "this server is a replica: the grove can be read here, not changed")
    broken = session.execute(
        text("SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid")
    ).scalars()
    for index in broken:
        yield wrong("indexes", f"index {index} is not valid", f"REINDEX INDEX {index}")
    there = session.execute(text("SELECT extract(epoch FROM clock_timestamp())::float8")).scalar_one()
    if abs(there - now / 1_000_000) > _SKEW:
        yield note(
            "clock", f"the server's clock and this machine's are {abs(there - now / 1e6):,.0f} s apart"
        )


def _setting(session: Session, name: str) -> str:
    return str(session.execute(text("SELECT current_setting(:name)"), {"name": name}).scalar_one())
