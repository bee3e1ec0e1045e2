"""The web app's page and files, and how a browser signs in."""

import pytest
from tests.covers import covers
from tests.server.conftest import KEY

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


@covers("web.sign-in", "security.cookies-same-site")
def test_a_browser_signs_in_with_a_token_and_out_again(client, ask, tokens):
    stranger = ask(None)
    assert stranger.post("/api/session", {"token": "wrong"}).status_code == 401
    assert stranger.post("/api/session", {"token": 7}).status_code == 400
    try:
        answer = stranger.post("/api/session", {"token": tokens["ada"]})
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert stranger.get("/api/me").json()["name"] == "ada"
        stranger.post("/api/session/end")
        assert stranger.get("/api/me").status_code == 401
        assert KEY not in answer.text
    finally:
        client.cookies.clear()
