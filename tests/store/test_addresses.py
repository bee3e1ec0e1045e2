"""Which grove an address means, and what is created for it."""

from pathlib import Path

import pytest
from tests.covers import covers

import weft
from weft.errors import StorageError


@covers("grove.creates-no-folder", "grove.created-on-first-use")
def test_a_file_is_created_but_no_folder(tmp_path: Path) -> None:
    weft.open(tmp_path / "new.db").close()
    assert (tmp_path / "new.db").exists()
    with pytest.raises(StorageError, match="there is no folder .*typo"):
        weft.open(tmp_path / "typo" / "new.db")
    assert not (tmp_path / "typo").exists()


@covers("grove.creates-no-folder")
def test_the_default_grove_is_created_with_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WEFT_GROVE", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    weft.open().close()
    assert (tmp_path / "data" / "weft" / "grove.db").exists()
