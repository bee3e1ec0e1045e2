"""A grove on each store, with a scripted model to be asked."""

from collections.abc import Iterator

import pytest
from tests.collaboration.commands.workplace import Workplace, open_with

import weft


@pytest.fixture(scope="module")
def grove(module_address: str) -> Iterator[weft.Grove]:
    with open_with(module_address) as loom:
        yield loom


@pytest.fixture
def work(grove: weft.Grove) -> Workplace:
    return Workplace(grove)
