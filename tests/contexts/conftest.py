"""Groves with notes, for tests of what turns bring along."""

from collections.abc import Iterator

import pytest
from tests.contexts.shelves import Desk

import weft
from weft.providers.base import ProviderRegistry, installed_providers


def far_providers() -> ProviderRegistry:
    """All but the embedded model: where no agent is named, nothing is known of the model that answers."""
    installed = installed_providers()
    return ProviderRegistry({name: installed.provider(name) for name in installed.names if name != "local"})


@pytest.fixture(scope="module")
def loom(module_address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[weft.Grove]:
    """A grove on each store; tests plant trees of their own in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEFT_BLOBS", str(tmp_path_factory.mktemp("blobs")))
        with weft.open(module_address, providers=far_providers()) as grove:
            yield grove


@pytest.fixture
def own_loom(address, tmp_path, monkeypatch):
    """A grove that shares its media with no other."""
    monkeypatch.setenv("WEFT_BLOBS", str(tmp_path / "blobs"))
    with weft.open(address) as grove:
        yield grove


@pytest.fixture
def desk(loom, tmp_path) -> Desk:
    return Desk(loom, tmp_path / "vault")
