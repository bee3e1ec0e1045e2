"""Rules that no database has a say in are shown on a file alone: making a PostgreSQL database takes a second."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def file_address(tmp_path: Path, empty_tables: Path) -> str:
    return shutil.copy(empty_tables, str(tmp_path / "grove.db"))
