"""A desk for every test: a grove of its own that no command has made yet."""

import shutil
from pathlib import Path

import pytest
from tests.cli.desk import Desk


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests do not depend on what the person who runs them likes."""
    for name in ("WEFT_GROVE", "NO_COLOR", "FORCE_COLOR", "VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(str(tmp_path / "grove.db"))


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
