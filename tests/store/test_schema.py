"""Migrations, and what a store refuses to open."""

import sqlite3
import threading
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, text
from tests import postgres
from tests.covers import covers
from tests.soundness import check_sound

import weft
from weft.errors import StorageError
from weft.runtime.transfer.doctor import examine
from weft.store import schema
from weft.store.base import HealthLevel
from weft.store.migrate import HEAD
from weft.store.sqlite_file import APPLICATION_ID

SCHEMA_OF_THE_STEPS = Path(__file__).parent.parent / "data" / "schema-0012.sql"
"""What the twelve steps that are now one file made in SQLite."""
TREE_TABLES = [table for table in schema.metadata.sorted_tables if "tree" in table.primary_key.columns]


def engine_of(address):
    if address.startswith("postgresql"):
        return create_engine(address.replace("postgresql://", "postgresql+psycopg://", 1))
    return create_engine(f"sqlite:///{address}")


@covers("postgres.same-schema-and-tests")
def test_migrations_make_exactly_the_schema(address):
    weft.open(address).close()
    engine = engine_of(address)
    with engine.connect() as connection:
        # The table of words is each database's own kind, and not one that metadata can describe.
        described = {
            "include_name": lambda name, *_: not (name or "").startswith(("search_terms", "vault_terms"))
        }
        context = MigrationContext.configure(connection, opts={"compare_type": True, **described})
        assert compare_metadata(context, [schema.metadata, schema.derived]) == []
    engine.dispose()


@covers("postgres.tree-id-leads")
def test_the_tree_leads_every_key_of_what_belongs_to_a_tree():
    assert len(TREE_TABLES) > 15
    for table in TREE_TABLES:
        assert table.primary_key.columns.keys()[0] == "tree", table.name
        for index in table.indexes:
            first = index.columns.keys()[0]
            # Following all events and runs, finding these by their ids, and an agent's latest place look
            # across trees by nature.
            assert first == "tree" or index.name in {
                "ix_events_transaction_number",
                "ix_cursors_agent_updated_at",
                "ix_run_records_run",
                "ix_run_records_ended_at",
                "ix_run_attempts_ulid",
            }, index.name


@covers("store.migrations-under-a-lock", "grove.created-on-first-use")
def test_many_who_come_first_at_once_make_one_grove(address):
    owners: list[str] = []

    def enter():
        with weft.open(address) as grove:
            owners.append(grove.me.id)

    threads = [threading.Thread(target=enter) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(owners) == 8
    assert len(set(owners)) == 1


def test_a_grove_from_the_future_is_refused(address):
    weft.open(address).close()
    engine = engine_of(address)
    with engine.begin() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == HEAD
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(StorageError, match="written by a newer Weft") as caught:
        weft.open(address)
    assert caught.value.hint == "upgrade Weft"


def test_somebody_elses_database_is_not_written_into(tmp_path):
    path = tmp_path / "theirs.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(StorageError, match="but not a grove"):
        weft.open(path)
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]
    connection.close()


def test_a_file_that_is_no_database_is_refused(tmp_path):
    path = tmp_path / "letter.txt"
    path.write_text("Dear Marie, " * 100)
    with pytest.raises(StorageError, match="is not a database"):
        weft.open(path)
    assert path.read_text().startswith("Dear Marie")
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(StorageError, match="is a folder"):
        weft.open(tmp_path)


def test_reading_does_not_create_a_grove(tmp_path):
    with pytest.raises(StorageError, match="there is no grove at"):
        weft.open(tmp_path / "none.db", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_postgres_database_without_a_grove_is_not_filled_by_reading(postgres_server):
    with postgres.database(postgres_server, empty=True) as address:
        with pytest.raises(StorageError, match="there is no grove in"):
            weft.open(address, create=False)
        with psycopg.connect(address) as connection:
            count = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"
            assert connection.execute(count).fetchone() == (0,)


def test_a_password_is_never_in_a_name_or_an_error(postgres_server):
    secret = "hunter2-canary"
    for address in (
        f"postgresql://nobody:{secret}@127.0.0.1:1/x",
        f"postgresql://nobody:{secret}@host:port/x",
    ):
        with pytest.raises(weft.WeftError) as caught:
            weft.open(address, timeout=2)
        shown = f"{caught.value!r} {caught.value} {caught.value.__cause__!r} {caught.value.__context__!r}"
        assert secret not in shown


def test_the_server_is_a_real_one(postgres_server):
    with psycopg.connect(postgres_server) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_grove_that_the_replaced_steps_made_opens(tmp_path):
    path = tmp_path / "grove.db"
    engine = engine_of(str(path))
    with engine.begin() as connection:
        for statement in SCHEMA_OF_THE_STEPS.read_text().split(";\n"):
            connection.exec_driver_sql(statement)
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.exec_driver_sql(
            "INSERT INTO jobs (tree, kind, target, payload, state, attempts, run_after, created_at) "
            "VALUES (7, 'summarise-node', 1, '{}', 0, 0, 1, 1), (7, 'summarise-tree', 0, '{}', 2, 1, 1, 1)"
        )
    engine.dispose()
    with weft.open(path) as grove:
        assert {(job.kind, job.target) for job in grove.jobs.all()} == {("summarise", 1), ("summarise", None)}
        assert grove.summaries.work_off() == 2
        grove.plant("Marie").say("the lamp")
        check_sound(grove)
        assert len(grove.search("lamp").hits) == 1
    test_migrations_make_exactly_the_schema(str(path))


@pytest.mark.parametrize("version", ["0001", "0011"])
def test_a_grove_from_before_the_first_schema_is_refused(address, version):
    weft.open(address).close()
    engine = engine_of(address)
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE alembic_version SET version_num = '{version}'"))
    engine.dispose()
    with pytest.raises(StorageError, match="from before the first release") as caught:
        weft.open(address)
    assert "export it with the Weft that made it" in caught.value.hint
    if not address.startswith("postgresql"):
        assert [
            finding.about for finding in examine(address).findings if finding.level is HealthLevel.WRONG
        ] == ["schema"]
