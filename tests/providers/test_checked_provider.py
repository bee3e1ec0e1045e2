"""Provider plug-ins that misbehave: a sentence that names them, never a traceback."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from tests.cli.desk import run_weft
from tests.covers import covers

import weft
from weft.errors import ProviderError
from weft.providers.base import ModelProfile, ProviderRegistry
from weft.providers.catalog import Catalog, Origin
from weft.providers.events import TextDelta

SECRET = "sk-proj-" + "Ab1Cd2" * 6


class Plugin:
    """A provider of another package, with one fault."""

    name = "plugin"
    fault = ""

    def profile(self, model: str) -> Any:
        del model
        if self.fault == "profile":
            raise KeyError(f"no model {SECRET}")
        return None if self.fault == "no profile" else ModelProfile()

    def stream(self, request: object) -> Any:
        del request
        if self.fault == "stream":
            raise ValueError("nothing to say")
        return None if self.fault == "no stream" else self._events()

    async def _events(self) -> AsyncIterator[Any]:
        yield TextDelta("Half ", 0)
        if self.fault == "junk":
            yield "words"
        raise AttributeError("later")

    async def models(self) -> Any:
        match self.fault:
            case "models":
                raise TypeError("wrong")
            case "junk":
                return ["a", 3]
            case "no stream":
                return None
            case _:
                return []

    async def close(self) -> None:
        raise OSError("cannot be closed")


def registry_with(fault: str) -> ProviderRegistry:
    Plugin.fault = fault
    point = EntryPoint("plugin", f"{__name__}:Plugin", "weft.providers")
    return ProviderRegistry(installed={"plugin": point})


@covers("cli.plugin-errors")
@pytest.mark.parametrize("fault", ["profile", "no profile", "stream", "no stream", "junk", "later"])
def test_a_fault_of_a_plug_in_is_a_sentence_that_names_it(fault: str, tmp_path: Path) -> None:
    with weft.open(str(tmp_path / "g.db"), providers=registry_with(fault), background=False) as grove:
        grove.add_agent("Odd", model_ref="plugin:x")
        node = grove.plant("Tea", "Which pot?").root
        with pytest.raises(ProviderError, match="the provider 'plugin' failed while") as refused:
            node.generate()
        assert SECRET not in str(refused.value)
        assert grove.verify().verdict == "valid"


@covers("cli.plugin-errors", "provider.catalog-cached")
@pytest.mark.parametrize("fault", ["models", "junk", "no stream"])
def test_a_list_that_is_none_is_a_problem_of_the_listing(fault: str, tmp_path: Path) -> None:
    registry = registry_with(fault)
    listing = asyncio.run(Catalog(registry, folder=tmp_path).models("plugin"))
    assert (listing.models, listing.problem) == ((), "plugin: cannot list models: TypeError")
    asyncio.run(registry.close())


@covers("provider.catalog-cached")
def test_an_empty_list_is_not_kept_for_a_day(tmp_path: Path) -> None:
    catalog = Catalog(registry_with(""), folder=tmp_path)
    assert asyncio.run(catalog.models("plugin")).origin is Origin.PROVIDER
    assert list(tmp_path.iterdir()) == []
    # A list that an older version kept is not used either.
    (tmp_path / "plugin.json").write_text('{"version": 1, "listedAt": 9000000000000000, "models": []}')
    assert asyncio.run(catalog.models("plugin")).origin is Origin.PROVIDER


@pytest.mark.outer
@covers("cli.plugin-errors")
def test_the_command_line_shows_the_sentence_and_no_traceback(tmp_path: Path) -> None:
    package = tmp_path / "site"
    (package / "odd-1.0.dist-info").mkdir(parents=True)
    (package / "odd_provider.py").write_text(
        "class Odd:\n    def __init__(self):\n        raise RuntimeError('no')\n"
    )
    (package / "odd-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n"
    )
    (package / "odd-1.0.dist-info" / "entry_points.txt").write_text(
        "[weft.providers]\nodd = odd_provider:Odd\n"
    )
    env = {"PYTHONPATH": os.pathsep.join([str(package), *sys.path])}
    grove = tmp_path / "g.db"
    run_weft("new", "Tea", grove=grove, env=env)
    run_weft("agents", "add", "Odd", "--model", "odd:x", grove=grove, env=env)
    ended = run_weft("gen", "Hello", grove=grove, env=env)
    assert b"the provider 'odd' (odd_provider:Odd) cannot be loaded: RuntimeError: no" in ended.stderr
    assert b"update or uninstall the package odd" in ended.stderr
    assert b"Traceback" not in ended.stderr
