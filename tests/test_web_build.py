"""The web app is built again exactly when its sources changed."""

import importlib.util
import shutil
from pathlib import Path

import pytest
from tests.covers import covers

ROOT = Path(__file__).resolve().parent.parent
_spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
hatch_build = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(hatch_build)


@pytest.fixture
def checkout(tmp_path):
    """Sources of an app, and the files that were built from them."""
    (tmp_path / "web" / "src").mkdir(parents=True)
    (tmp_path / "web" / "src" / "main.ts").write_text("one")
    static = tmp_path / "src" / "weft" / "server" / "static"
    static.mkdir(parents=True)
    (static / ".sources").write_text(hatch_build.source_hash(tmp_path))
    return tmp_path


@covers("web.built-into-the-package")
def test_a_changed_source_is_built_again_and_a_test_or_an_installed_package_is_no_change(checkout):
    assert hatch_build.is_built(checkout)
    (checkout / "web" / "src" / "main.test.ts").write_text("a test")
    (checkout / "web" / "node_modules").mkdir()
    (checkout / "web" / "node_modules" / "x.js").write_text("installed")
    assert hatch_build.is_built(checkout)
    (checkout / "web" / "src" / "main.ts").write_text("two")
    assert not hatch_build.is_built(checkout)


@covers("web.built-into-the-package")
def test_what_is_built_already_needs_no_node(checkout, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(hatch_build, "find_spec", lambda name: None)  # no packaged Node either
    hatch_build.build(checkout)
    shutil.rmtree(checkout / "src")
    with pytest.raises(SystemExit, match="needs Node"):
        hatch_build.build(checkout)
