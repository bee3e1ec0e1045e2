"""The web app's page and files, and how a browser signs in."""

import pytest
from tests.covers import covers

from weft.server.routes import web_app


@pytest.fixture
def static(tmp_path, monkeypatch):
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html><title>Weft</title>")
    (tmp_path / "assets" / "index-abc.js").write_text("export {}")
    (tmp_path / "secret.js").write_text("")
    monkeypatch.setattr(web_app, "STATIC", tmp_path)
    return tmp_path


@covers("web.served", "http.strict-headers")
def test_every_address_of_the_app_is_the_same_page_without_inline_scripts(ask, static):
    for place in ("/", "/t/tree/node/compare", "/search?q=fog", "/settings/models", "/import/7"):
        page = ask(None).get(place)
        assert (page.status_code, page.text) == (200, "<!doctype html><title>Weft</title>")
        policy = page.headers["content-security-policy"]
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert page.headers["cache-control"] == "no-cache"


@covers("web.served")
def test_files_of_the_app_are_kept_by_browsers_and_nothing_else_is_served(ask, static):
    script = ask(None).get("/assets/index-abc.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert "immutable" in script.headers["cache-control"]
    for name in ("missing.js", "..%2Fsecret.js", "%2e%2e/secret.js", "index-abc.py"):
        assert ask(None).get(f"/assets/{name}").status_code == 404


@covers("web.served")
def test_without_a_built_app_the_page_says_how_to_build_it(ask, tmp_path, monkeypatch):
    monkeypatch.setattr(web_app, "STATIC", tmp_path)
    page = ask(None).get("/")
    assert page.status_code == 503
    assert "make web" in page.text
