"""Places to move groves to: a database for each asking."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests import postgres
from tests.contexts.shelves import Desk

import weft

Places = Callable[[str], str]


@pytest.fixture
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Places]:
    """`places("sqlite")` is a new address each time."""
    with contextlib.ExitStack() as stack:
        count = iter(range(100))

        def place(store: str) -> str:
            if store == "sqlite":
                return str(tmp_path / f"grove-{next(count)}.db")
            server = request.getfixturevalue("postgres_server")
            return stack.enter_context(postgres.database(server))

        yield place


@pytest.fixture(autouse=True)
def own_blobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL groves of a test keep their blobs in its folder."""
    monkeypatch.setenv("WEFT_BLOBS", str(tmp_path / "blobs"))
    os.environ.pop("WEFT_GROVE", None)


@pytest.fixture
def desk(loom: weft.Grove, tmp_path: Path) -> Desk:
    return Desk(loom, tmp_path / "vault")
