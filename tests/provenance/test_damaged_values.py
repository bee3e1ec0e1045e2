"""A value of a wrong type, anywhere in the database, is a finding that names its row: never a traceback."""

import contextlib
import os
import random
import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Boolean, Float, Integer, LargeBinary
from tests.cli.desk import Desk
from tests.covers import covers
from tests.provenance.damage import SPARED, SPARED_TABLES, Place, Vandal, rows_of
from tests.provenance.openssl import Authority
from tests.provenance.small import fill
from tests.provenance.test_every_byte import name_of

import weft
from weft.errors import CODES, NotFoundError, StorageError
from weft.provenance.findings import Report, Verdict
from weft.store import schema

PROVE = bool(os.environ.get("WEFT_PROVE"))
SAMPLE = 40
WRONG: list[Any] = [
    None,
    7,
    -1,
    2**62,
    -(2**63),
    2.5,
    "",
    "x",
    '{"nodes": ',
    '{"facts": 5, "item": {"ordinal": "x"}, "nodes": [5, null], "node": [], "pruned": {}, "tree": []}',
    '{"images": [5], "heads": [["x"]], "kind": "append", "nodes": 5, "marks": {"x": 5}}',
    b"\xff\xfe text",  # a text that is not UTF-8
    bytearray(b"\xff\x00"),  # a blob, in any column
    bytearray(b""),
]


def damaged_values(grove: weft.Grove) -> Iterator[tuple[Place, Any]]:
    """Every column of every table, with each value that does not belong there."""
    for table in schema.metadata.sorted_tables:
        for key, row in rows_of(grove, table):
            for column in table.columns:
                stored = getattr(row, column.name)
                for value in WRONG:
                    if not is_stored_alike(column, stored, value):
                        yield Place(table, key, column.name, stored, 0), value


def is_stored_alike(column: Any, stored: Any, value: Any) -> bool:
    """True if the database would turn the value into the one that is there."""
    if isinstance(column.type, LargeBinary | Boolean | Float | Integer) or stored is None:
        return type(stored) is type(value) and stored == value
    return str(value) == stored


def deepest(node: Any) -> Any:
    """A node with a long path above it."""
    return deepest(node.children[0]) if node.children else node


def verify_parts(grove: weft.Grove, leaf: Any) -> None:
    """A tree, a path and a node of it. That the tree or the node cannot be found is an answer too."""
    for verify in (
        lambda: grove.evidence.verify_tree(leaf.value.tree_id),
        lambda: leaf.verify(path=True),
        leaf.verify,
    ):
        with contextlib.suppress(NotFoundError, StorageError):
            verify()


def report_of(address: str) -> Report | StorageError:
    """What a person is given who opens the grove and verifies it."""
    try:
        with weft.open(address) as grove:
            return grove.verify(quick=True)
    except StorageError as error:
        return error


@pytest.mark.long
@covers("verify.damage-is-a-finding")
def test_a_value_of_a_wrong_type_is_a_finding_that_names_its_row(
    address: str, tsa: Authority, figure: Callable[[str, str], None]
) -> None:
    chance = random.Random(2026)
    with weft.open(address) as grove:
        fill(grove)
        grove.set_authorities({tsa.url: tsa.certificate})
        grove.tree("A talk").root.timestamp()
        grove.timestamp()
        grove.fetch_timestamps(everything=True)
        leaf = deepest(grove.tree("A talk").root)
        vandal = Vandal(address)
        vandal.drop_constraints()
        assert grove.verify(quick=True).findings == ()
        by_column: dict[tuple[str, str], list[tuple[Place, Any]]] = defaultdict(list)
        for place, value in damaged_values(grove):
            by_column[place.table.name, place.column].append((place, value))
        chosen = [
            each for listed in by_column.values() for each in chance.sample(listed, min(len(listed), 25))
        ]
        tried = 0
        for place, value in chosen if PROVE else chance.sample(chosen, SAMPLE):
            with grove.caller.executor.store.read() as session:
                name = name_of(session, place) if place.table.name not in SPARED_TABLES else ""
            with vandal.change(place, value) as changed:
                if not changed:
                    continue
                damage = f"{place} became {value!r}"
                try:
                    reports = [report_of(address), grove.verify(quick=True)]
                    verify_parts(grove, leaf)
                except Exception as error:
                    raise AssertionError(damage) from error
            tried += 1
            if place.table.name in SPARED_TABLES or (place.table.name, place.column) in SPARED:
                continue
            for report in reports:
                if isinstance(report, StorageError):
                    # Opening the grove already says that its own row, or its owner, cannot be read.
                    assert place.table.name in {"grove", "agents"}, damage
                    continue
                assert report.findings, f"not found: {damage}"
                keys = {*place.table.primary_key.columns.keys(), "ulid", "label", "sha256"}
                lines = [str(finding) for finding in report.findings]
                # A row without an id is named by its key.
                names = name, f"/{place.key[-1]}:"
                named = any(each in line for each in names for line in lines)
                assert place.column in keys or named, (damage, name, lines)
        vandal.close()
        figure("values of a wrong type that end in a traceback", f"0 of {tried:,}")
        assert grove.verify(quick=True).findings == ()


@covers("verify.damage-is-a-finding")
def test_damage_in_the_schema_is_reported_without_a_traceback(tmp_path: Path, empty_tables: Path) -> None:
    chance = random.Random(2026)
    original = Path(shutil.copy(empty_tables, tmp_path / "grove.db"))
    with weft.open(original) as grove:
        grove.plant("T", "one").root.say("two")
    stored = original.read_bytes()
    places = schema_bytes(original, stored)
    for number in range(1_000 if PROVE else 12):
        damaged = bytearray(stored)
        place = chance.choice(places)
        damaged[place] ^= 0x80 if number % 2 else chance.randrange(1, 256)
        path = tmp_path / f"damaged-{number}.db"
        path.write_bytes(damaged)
        report = report_of(str(path))
        answer = Desk(str(path))("verify")
        assert answer.code in {0, *(code.exit for code in CODES.values())}, answer
        assert isinstance(report, StorageError) or report.verdict in set(Verdict)
        assert "Traceback" not in answer.err


def schema_bytes(path: Path, stored: bytes) -> list[int]:
    """Where the definitions of tables and indexes are in the file."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        texts = [row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE sql NOT NULL")]
    starts = [(stored.find(text.encode()[:100]), len(text)) for text in texts]
    return [at for start, length in starts if start >= 0 for at in range(start, start + min(length, 1_000))]
