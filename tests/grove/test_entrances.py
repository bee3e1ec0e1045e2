"""Everyday types: importable from five modules, listed by `dir()`, loaded when they are used."""

import subprocess
import sys
from importlib import import_module

import pytest
from tests.covers import covers
from tests.generation.stage import grove_with

from weft.context import Manifest
from weft.testing import Scripted

ENTRANCES = ["weft", "weft.content", "weft.events", "weft.providers", "weft.context"]


@covers("face.everyday-types")
@pytest.mark.parametrize("name", ENTRANCES)
def test_each_entrance_lists_its_names_and_gives_them(name):
    module = import_module(name)
    assert {each for each in dir(module) if not each.startswith("__")} == set(module.__all__) - {
        "__version__"
    }
    for each in module.__all__:
        assert getattr(module, each) is getattr(module, each)
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nosuch'"):
        module.nosuch  # noqa: B018 - reading it is the test


@covers("face.everyday-types")
@pytest.mark.parametrize("name", ENTRANCES)
def test_listing_an_entrance_loads_no_database_and_no_vendor(name):
    script = f"import sys, {name}; dir({name}); print(sorted({{'sqlalchemy', 'httpx', 'anthropic'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@covers("face.everyday-types")
def test_the_manifest_of_a_nodes_provenance_is_a_manifest(tmp_path):
    with grove_with(str(tmp_path / "grove.db"), Scripted(lambda *_: "Yes.")) as grove:
        asked = grove.plant("Marie").say("Well?")
        (kid,) = asked.generate()
        manifest = kid.provenance().manifest
        assert isinstance(manifest, Manifest)
        assert manifest == grove.generations.sent(kid.tree_id, kid.id).manifest
        assert [entry.id for entry in manifest if entry.kind == "node"][-1] == asked.local_id
        assert asked.provenance().manifest is None
