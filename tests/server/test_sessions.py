"""Signing in with a token in a browser, and out."""

from starlette.testclient import TestClient
from tests.covers import covers
from tests.server.conftest import KEY, Asker

from weft.server import ServerSettings, create_app


def browser(loom, scheme: str = "http") -> TestClient:
    app = create_app(loom, ServerSettings(keys=(KEY,), failures=1_000))
    return TestClient(app, base_url=f"{scheme}://localhost", follow_redirects=False)


def cookie_of(page: TestClient) -> dict[str, str]:
    return {"Cookie": f"weft={page.cookies['weft']}"}


@covers("http.sign-in", "web.sign-in", "security.cookies-same-site")
def test_a_token_is_exchanged_for_a_cookie_that_others_cannot_read(loom, tokens):
    with browser(loom) as page:
        answer = page.post("/api/session", json={"token": tokens["ada"]})
        assert (answer.status_code, answer.json()) == (200, {"user": "ada", "owner": False})
        cookie = answer.headers["set-cookie"]
        assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age="))
        assert "Secure" not in cookie
        assert tokens["ada"] not in cookie
        assert page.get("/api/session").json() == {"user": "ada", "owner": False}
        assert page.get("/api/trees").status_code == 200
    with browser(loom, "https") as page:
        assert "Secure" in page.post("/api/session", json={"token": tokens["ada"]}).headers["set-cookie"]


@covers("http.sign-in")
def test_several_browsers_sign_in_and_each_signs_out_alone(loom, tokens):
    with browser(loom) as one, browser(loom) as other, browser(loom) as owner:
        for page, token in ((one, tokens["ada"]), (other, tokens["ada"]), (owner, KEY)):
            assert page.post("/api/session", json={"token": token}).status_code == 200
        assert owner.get("/api/session").json() == {"user": None, "owner": True}
        kept = cookie_of(one)
        assert one.delete("/api/session").status_code == 200
        assert one.get("/api/trees").status_code == 401
        # The cookie is worth nothing any more, and the others go on.
        assert one.get("/api/trees", headers=kept).status_code == 401
        assert other.get("/api/trees").status_code == 200
        kept = cookie_of(owner)
        owner.delete("/api/session")
        assert owner.get("/api/trees", headers=kept).status_code == 401
        # The token itself was not ended.
        assert Asker(one, tokens["ada"]).get("/api/trees").status_code == 200
        assert Asker(one, tokens["ada"])("DELETE", "/api/session").status_code == 200
        assert Asker(one, tokens["ada"]).get("/api/trees").status_code == 200


@covers("http.sign-in")
def test_a_wrong_token_signs_nobody_in_and_another_page_cannot_sign_in(loom, tokens):
    with browser(loom) as page:
        for body in ({"token": "weft_wrong"}, {"token": ""}, {"token": 5}, {}, []):
            answer = page.post("/api/session", json=body)
            assert answer.status_code in {400, 401}
            assert "set-cookie" not in answer.headers
        foreign = {"Origin": "https://evil.example"}
        assert page.post("/api/session", json={"token": tokens["ada"]}, headers=foreign).status_code == 403


@covers("http.token-facts")
def test_a_token_says_what_it_is_for_when_it_ends_and_when_it_was_last_used(loom, client):
    loom.users.add("kim")
    secret, _ = loom.users.issue("kim", label="laptop")
    before = {token.label: token.used_at for token in loom.users.tokens("kim")}
    assert before == {"laptop": None}
    page = Asker(client, secret)
    assert page.get("/api/trees").status_code == 200
    assert page.post("/api/session", {"token": secret}).status_code == 200
    client.cookies.clear()
    after = {token.label: token for token in loom.users.tokens("kim")}
    assert after["laptop"].used_at is not None
    assert after["browser"].expires_at is not None
    assert loom.verify().findings == ()
