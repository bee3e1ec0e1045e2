"""Who gets in: tokens, names, pages, sizes; every route of them."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from fastapi.routing import APIRoute
from tests.covers import covers
from tests.server.conftest import KEY, LIMIT, Asker

from weft.errors import ConflictError, InvalidInputError, NotFoundError, PermissionDeniedError
from weft.runtime.operations.access import admit, digest_of_token
from weft.runtime.operations.executor import Caller
from weft.server import ServerSettings
from weft.server.app import ROUTERS
from weft.server.routes import web_app
from weft.store import schema

OPEN = {
    ("GET", "/api/health"),
    ("GET", "/enter"),
    ("POST", "/api/session"),
    *(("HEAD", base) for base in ("/", "/v1")),
    *(("GET", address) for address in (*web_app.ADDRESSES, "/assets/{name}", "/favicon.svg")),
}
"""Routes that ask for no token: the web app's page contains nothing of the grove."""


def routes(listed) -> Iterator[tuple[str, str]]:
    for route in listed:
        if isinstance(route, APIRoute):
            yield from ((method, route.path) for method in route.methods or ())
        else:
            yield from routes(route.original_router.routes)


ROUTES = set(routes(route for router in ROUTERS for route in router.routes))
"""Every route of the server: a new one is in the matrix by itself."""


@covers("http.every-route-guarded", "security.route-matrix-complete")
def test_every_route_is_in_the_matrix(client):
    assert set(routes(client.app.routes)) == ROUTES
    assert len(ROUTES) > 90


@covers("http.every-route-guarded", "http.strict-headers", "security.host-and-origin")
@pytest.mark.parametrize(("method", "path"), sorted(ROUTES), ids=lambda part: part)
def test_strangers_are_refused_everywhere(client, ask, owner, method, path):
    place = re.sub(r"{[\w:]+}", "X", path)
    for headers in (
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": ""},
        {"Origin": "null"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:7371"},
        {"Origin": "file://"},
        {"Origin": "http://["},
        {"Origin": "http://127.0.0.1:7370@evil.example"},
        {"Origin": "http://127.0.0.1:99999999"},
        {"Origin": b"http://\xff\xfe"},
        {"Origin": ""},
        {"Host": "127.0.0.1:7370@evil.example"},
        {"Host": "127.0.0.1:x"},
        {"Host": "[::1"},
        {"Host": "[::1]evil"},
        {"Host": "localhost."},
        {"Host": "ⅼocalhost".encode()},
    ):
        answer = owner(method, place, headers=headers)
        assert answer.status_code == 403, (headers, answer.text)
    for twice in ("Host", "Origin", "Content-Length", "Authorization"):
        # Sent as a list of pairs, because a mapping holds each name once.
        pairs = [
            *owner.headers.items(),
            *[(twice, "127.0.0.1:7370")] * (1 if twice == "Authorization" else 2),
        ]
        doubled = client.request(method, place, headers=pairs, follow_redirects=False)
        assert doubled.status_code == 400, (twice, doubled.text)
    if (method, path) not in OPEN:
        for token in (None, "wrong", "weft_" + "x" * 43, "é", KEY + "x", KEY[:-1]):
            asker = Asker(client, token)
            if token == "é":
                asker.headers = {"Authorization": "Bearer é".encode()}
            assert asker(method, place).status_code == 401, token
        if method == "GET" and not path.startswith("/api"):
            assert owner(method, place, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403


@covers("http.every-route-guarded", "http.caps-before-allocation")
@pytest.mark.parametrize(("method", "path"), sorted(ROUTES - OPEN), ids=lambda part: part)
def test_the_body_of_a_stranger_is_not_read(client, method, path):
    answers: list[int] = []

    async def receive():
        raise AssertionError("the body was read")

    async def send(message):
        if message["type"] == "http.response.start":
            answers.append(message["status"])

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": re.sub(r"{[\w:]+}", "X", path),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1"), (b"authorization", b"Bearer wrong"), (b"content-length", b"9")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
        "state": {},
    }
    client.portal.call(client.app, scope, receive, send)
    assert answers == [401]


@covers("http.strict-headers")
def test_our_own_page_and_those_named_may_ask(owner):
    for origin in ("http://127.0.0.1:7370", "https://ours.example"):
        assert owner.get("/api/trees", headers={"Origin": origin}).status_code == 200
    for host in ("localhost", "LOCALHOST:1", "[::1]:5", "127.0.0.1"):
        assert owner.get("/api/trees", headers={"Host": host}).status_code == 200


@covers("http.strict-headers")
def test_every_answer_says_what_a_browser_may_do_with_it(owner, ask):
    for answer in (owner.get("/api/trees"), ask(None).get("/api/trees"), owner.get("/nothing")):
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
    page = owner.get("/docs")
    assert page.status_code == 200
    assert "script" not in page.text
    assert "http" not in page.text.replace("HTTP", "")
    assert page.headers["content-security-policy"].count("'self'") == 4
    assert owner.get("/docs/style.css").headers["content-type"].startswith("text/css")
    assert "/context/topicContextYoj/run" in page.text


@covers("http.one-time-link", "security.cookies-same-site")
def test_the_link_opens_once_and_the_cookie_stays(client, ask):
    stranger = ask(None)
    assert stranger.get("/enter?key=guess").status_code == 401
    assert stranger.get("/enter").status_code == 400
    opened = stranger.get("/enter?key=once")
    assert (opened.status_code, opened.headers["location"]) == (303, "/")
    cookie = opened.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    try:
        assert stranger.get("/api/trees").status_code == 200
        assert stranger.get("/enter?key=once").status_code == 401
    finally:
        client.cookies.clear()
    assert stranger.get("/api/trees").status_code == 401


@covers("http.body-limit")
def test_a_large_body_is_refused_before_it_is_read(owner):
    read = []

    def parts():
        for _ in range(100):
            read.append(1)
            yield b" " * 20_000

    answer = owner.post("/api/records", content=b"x" * (LIMIT + 1))
    assert (answer.status_code, answer.json()["code"]) == (413, "LIMIT_EXCEEDED")
    assert owner.post("/api/records", content=parts()).status_code == 413
    declared = owner.post("/api/records", content=b"{}", headers={"Content-Length": str(10**12)})
    assert declared.status_code == 413
    assert owner.post("/api/records", content=b" " * LIMIT).status_code == 400


@covers("http.hashed-tokens")
def test_only_the_hash_of_a_token_is_kept(loom, tokens):
    with loom.read.store.read() as session:
        for table in schema.metadata.sorted_tables:
            assert not any(secret in str(session.execute(table.select()).all()) for secret in tokens.values())
        kept = {row.hash for row in session.execute(schema.tokens.select())}
    assert {digest_of_token(secret) for secret in tokens.values()} <= kept
    assert all(secret.startswith("weft_") and len(secret) > 45 for secret in tokens.values())


@covers("http.hashed-tokens", "http.team-mode")
def test_a_token_ends_when_it_is_revoked_or_over_or_its_user_is_shut_out(loom, client):
    users = loom.users
    users.add("guest", role="reader")
    kept, made = users.issue("guest", label="phone")
    asker = Asker(client, kept)
    over = Asker(client, users.issue("guest", expires_at=datetime(2020, 1, 1, tzinfo=UTC))[0])
    assert (asker.get("/api/trees").status_code, over.get("/api/trees").status_code) == (200, 401)
    users.archive("guest")
    assert asker.get("/api/trees").status_code == 401
    with pytest.raises(ConflictError, match="is archived"):
        users.issue("guest")
    users.archive("guest", restore=True)
    assert asker.get("/api/trees").status_code == 200
    users.revoke(made.id)
    users.revoke(made.id)
    assert asker.get("/api/trees").status_code == 401
    assert [token.label for token in users.tokens("guest") if token.revoked_at] == ["phone"]
    assert admit(loom.caller.executor, users.issue("guest")[0]).name == "guest"


@covers("http.team-mode")
def test_roles_decide_what_users_may_do(loom, ask):
    tree = loom.plant("Shared", "hello")
    path = f"/api/trees/{tree.id}/nodes/{tree.root.id}"
    said = {"content": "hi"}
    assert ask("ada").post(f"{path}/children", said).status_code == 200
    assert ask("bob").get(f"{path}/path").status_code == 200
    assert ask("bob").post(f"{path}/children", said).status_code == 403
    assert ask("bob").post("/api/trees", {"title": "mine"}).status_code == 403
    assert ask("bob").post("/api/records", {"records": [{"name": "n", "value": 1}]}).status_code == 403
    assert ask("eve").get("/api/trees").json() == {"trees": []}
    assert ask("eve").get(f"{path}/path").status_code == 404
    loom.users.set_role("eve", "reader", tree=tree.id)
    assert [each["id"] for each in ask("eve").get("/api/trees").json()["trees"]] == [tree.id]
    assert ask("eve").get(f"{path}/context").status_code == 200
    assert ask("eve").get("/api/records/streams").status_code == 403
    assert [(each.tree_id, each.role) for each in loom.users.roles("eve")] == [(tree.id, "reader")]
    loom.users.set_role("eve", None, tree=tree.id)
    assert ask("eve").get(f"{path}/path").status_code == 404


@covers("http.team-mode")
def test_only_owners_let_others_in(loom, client, tokens):
    from weft.grove.grove import Grove

    ada = Grove(Caller(loom.caller.executor, admit(loom.caller.executor, tokens["ada"]).actor))
    for attempt in (
        lambda: ada.users.add("mallory"),
        lambda: ada.users.issue("ada"),
        lambda: ada.users.set_role("ada", "owner"),
        ada.users.tokens,
        lambda: ada.users.archive("bob"),
    ):
        with pytest.raises(PermissionDeniedError):
            attempt()
    with pytest.raises(ConflictError, match="there is a user"):
        loom.users.add("ADA")
    with pytest.raises(InvalidInputError, match="is not a name"):
        loom.users.add(" \n ")
    with pytest.raises(NotFoundError, match="no user 'nobody'"):
        loom.users.issue("nobody")
    with pytest.raises(NotFoundError, match="no token"):
        loom.users.revoke("nothing")


def test_what_is_not_there_is_a_404_and_a_wrong_method_a_405(owner):
    assert owner.get("/nothing").json()["code"] == "NOT_FOUND"
    wrong = owner("DELETE", "/api/trees")
    assert (wrong.status_code, wrong.json()["code"]) == (405, "NOT_FOUND")
    assert owner.get("/api/trees/none/nodes/x/path").status_code == 404


def test_our_own_mistakes_are_told_without_their_insides(loom, monkeypatch):
    from starlette.testclient import TestClient

    from weft.server import ServerSettings, create_app

    def broken(self, **_):
        raise RuntimeError("secret insides")

    monkeypatch.setattr(type(loom.read), "trees", broken)
    app = create_app(loom, ServerSettings(keys=(KEY,)))
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as asked:
        answer = asked.get("/api/trees", headers={"Authorization": f"Bearer {KEY}"})
    assert answer.status_code == 500
    assert "secret" not in answer.text


@covers("http.named-origins")
def test_a_page_that_was_let_in_by_name_may_read_answers_and_no_other_may(owner, ask):
    asker, friend = owner, "https://ours.example"
    wanted = {"Origin": friend, "Access-Control-Request-Method": "POST"}
    before = ask(None).client.options("/api/records", headers=wanted)
    assert (before.status_code, before.content) == (204, b"")
    assert before.headers["access-control-allow-origin"] == friend
    assert "authorization" in before.headers["access-control-allow-headers"]
    answer = asker.get("/api/trees", headers={"Origin": friend})
    assert answer.headers["access-control-allow-origin"] == friend
    assert answer.headers["vary"] == "Origin"
    assert "access-control-allow-credentials" not in answer.headers
    assert asker.get("/api/trees").headers.get("access-control-allow-origin") is None
    for origin in ("https://theirs.example", "null", "http://ours.example", "https://ours.example.evil"):
        refused = ask(None).client.options("/api/records", headers={**wanted, "Origin": origin})
        assert refused.status_code == 403
        assert "access-control-allow-origin" not in refused.headers
    # A page of ours asks nobody before it calls; without a token nothing else is told.
    assert ask(None).get("/api/trees", headers={"Origin": friend}).status_code == 401


@covers("http.named-origins")
@pytest.mark.parametrize("origin", ["*", "null", "example.org", "https://", "https://a.b/c", "https://a b"])
def test_only_a_pages_origin_can_be_let_in(origin):
    with pytest.raises(InvalidInputError, match="is not an origin"):
        ServerSettings(origins=[origin])
