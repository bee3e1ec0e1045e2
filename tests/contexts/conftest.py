"""Groves with notes, for tests of what turns bring along."""

import pytest
from tests.contexts.shelves import Desk

import weft


@pytest.fixture
def own_loom(address, tmp_path, monkeypatch):
    """A grove that shares its media with no other."""
    monkeypatch.setenv("WEFT_BLOBS", str(tmp_path / "blobs"))
    with weft.open(address) as grove:
        yield grove


@pytest.fixture
def desk(loom, tmp_path) -> Desk:
    return Desk(loom, tmp_path / "vault")
