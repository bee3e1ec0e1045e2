"""A desk for every test: a grove of its own that no command has made yet."""

import shutil
from pathlib import Path

import pytest
from tests.cli.desk import Desk

from weft.store.opening import open_store


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests do not depend on what the person who runs them likes."""
    for name in ("WEFT_GROVE", "NO_COLOR", "FORCE_COLOR", "VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(str(tmp_path / "grove.db"))


@pytest.fixture(scope="session")
def empty_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with tables and nothing in them: copied faster than made."""
    path = tmp_path_factory.mktemp("tables") / "grove.db"
    open_store(path).close()
    return path


@pytest.fixture
def marie(desk: Desk, empty_tables: Path) -> Desk:
    """A grove with one conversation in it."""
    shutil.copy(empty_tables, desk.address)
    desk.ok("new", "Marie")
    return desk


@pytest.fixture
def story(desk: Desk, empty_tables: Path) -> Desk:
    """A grove with one text in it."""
    shutil.copy(empty_tables, desk.address)
    desk.ok("new", "Story", "--mode", "buffer", "--text", "Once upon a time")
    return desk
