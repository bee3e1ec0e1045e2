"""Which providers there are, and what becomes of one that is broken."""

import asyncio
from importlib.metadata import EntryPoint

import pytest
from tests.covers import covers

from weft.errors import ProviderError
from weft.providers.catalog import Catalog, Origin
from weft.providers.registry import GROUP, Registry
from weft.testing import Scripted


def installed(**points):
    return {name: EntryPoint(name, value, GROUP) for name, value in points.items()}


@covers("provider.broken-keeps-no-others")
@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("nowhere.at.all:make", "ModuleNotFoundError"),
        ("weft.providers.local:nothing", "AttributeError"),
        ("weft.providers.keys:VARIABLES", "it cannot be called"),
        ("weft.providers.base:ModelName", "TypeError"),
    ],
)
def test_a_provider_that_cannot_be_loaded_says_why_and_whose_it_is(value, why):
    registry = Registry({"scripted": Scripted()}, installed(broken=value))
    with pytest.raises(ProviderError, match="the provider 'broken'") as caught:
        registry.model("broken:x")
    assert why in str(caught.value)
    assert "uninstall" in caught.value.hint
    assert registry.model("scripted:x")[1] == "x"


class Strange(Scripted):
    async def models(self):
        raise KeyError("sk-canary-0123456789")


@covers("provider.broken-keeps-no-others", "provider.keys-never-shown")
def test_a_provider_that_fails_as_it_is_asked_for_its_models_is_marked(tmp_path):
    catalog = Catalog(Registry({"strange": Strange()}), folder=tmp_path)
    found = asyncio.run(catalog.models("strange"))
    assert (found.origin, found.models) == (Origin.BUNDLED, ())
    assert found.problem == "strange failed as it was asked for its models: KeyError"
