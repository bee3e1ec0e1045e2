"""Which providers there are, and what becomes of one that is broken."""

import asyncio
import sys
from importlib.metadata import EntryPoint

import pytest
from tests.covers import covers
from tests.providers.asking import ask, chat

from weft.errors import ProviderError, UnavailableError
from weft.providers.base import GROUP, ProviderRegistry
from weft.providers.catalog import Catalog, Origin, known_model
from weft.testing import Scripted


def installed(**points):
    return {name: EntryPoint(name, value, GROUP) for name, value in points.items()}


@covers("provider.broken-keeps-no-others")
@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("nowhere.at.all:make", "ModuleNotFoundError"),
        ("weft.providers.local:nothing", "AttributeError"),
        ("weft.providers.keys:VARIABLES", "it is not callable"),
        ("weft.providers.base:ModelName", "TypeError"),
    ],
)
def test_a_provider_that_cannot_be_loaded_says_why_and_whose_it_is(value, why):
    registry = ProviderRegistry({"scripted": Scripted()}, installed(broken=value))
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
    catalog = Catalog(ProviderRegistry({"strange": Strange()}), folder=tmp_path)
    found = asyncio.run(catalog.models("strange"))
    assert (found.origin, found.models) == (Origin.BUNDLED, ())
    assert found.problem == "strange: cannot list models: KeyError"


@covers("provider.extra-named")
@pytest.mark.parametrize(
    ("name", "sdk", "model"),
    [
        ("anthropic", "anthropic", "claude-opus-4-5"),
        ("openai", "openai", "gpt-4o"),
        ("google", "google.genai", "gemini-2.5-flash"),
        ("compatible", "openai", "ollama/llama3.2"),
    ],
)
def test_an_sdk_that_is_not_installed_names_the_extra_that_brings_it(name, sdk, model, monkeypatch):
    vendor = "openai" if name == "compatible" else name
    monkeypatch.delitem(sys.modules, f"weft.providers.{vendor}.client", raising=False)
    monkeypatch.setitem(sys.modules, sdk, None)
    provider = ProviderRegistry.installed().provider(name)
    assert provider.profile(model)
    with pytest.raises(UnavailableError, match=f"{name} needs the package '{sdk}'") as caught:
        ask(provider, chat("Hi", model=model))
    assert caught.value.hint == "pip install 'weft-loom[providers]'"


@covers("provider.extra-named")
def test_models_are_known_without_the_table_of_prices(monkeypatch):
    known_model.cache_clear()
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    assert known_model("openai", "gpt-4o") is None
    assert ProviderRegistry.installed().provider("openai").profile("gpt-4o").prices is None
    assert Catalog(ProviderRegistry.installed()).bundled("openai").models == ()
    known_model.cache_clear()
