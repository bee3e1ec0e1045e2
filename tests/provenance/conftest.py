"""One timestamp authority for all these tests."""

from collections.abc import Iterator

import pytest
from tests.provenance.openssl import Authority, authority


@pytest.fixture(scope="session")
def running_authority() -> Iterator[Authority]:
    with authority() as running:
        yield running


@pytest.fixture
def tsa(running_authority: Authority) -> Authority:
    running_authority.answers.clear()
    running_authority.asked = 0
    return running_authority
