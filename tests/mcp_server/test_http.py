"""Over HTTP: who gets in, by which name, from which page, with how much."""

import json
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient
from tests.covers import covers
from tests.mcp_server.scenario import AGENT
from tests.mcp_server.talk import OverHttp

import weft
from weft.mcp_server.server import McpFace
from weft.mcp_server.transports import PATH, create_mcp_app
from weft.server import ServerSettings
from weft.tree.agent import AgentType

KEY = "the-owners-key"
LIMIT = 100_000
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def begin(version: str = "2025-11-25") -> dict:
    client = {"name": "test", "version": "1"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


@pytest.fixture
def client(fresh_loom: weft.Grove) -> Iterator[TestClient]:
    settings = ServerSettings(keys=(KEY,), body_limit=LIMIT, origins=("https://ours.example",))
    with TestClient(
        create_mcp_app(fresh_loom, McpFace(None), settings), base_url="http://127.0.0.1:7371"
    ) as asked:
        yield asked


def post(client: TestClient, body: object = None, token: str | None = KEY, **headers: str):
    sent = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json", **headers}
    if token is not None:
        sent["Authorization"] = f"Bearer {token}"
    raw = body if isinstance(body, bytes) else json.dumps(begin() if body is None else body)
    return client.post(
        PATH, content=raw, headers={name.replace("_", "-"): value for name, value in sent.items()}
    )


@covers("mcp.host-and-origin")
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
def test_strangers_names_and_pages_are_refused(client, method):
    for headers in (
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "localhost.evil.example:7371"},
        {"Host": ""},
        {"Origin": "null"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:7370"},
        {"Origin": "http://localhost:7371"},
        {"Origin": "file://"},
    ):
        sent = {"Authorization": f"Bearer {KEY}", "Accept": "text/event-stream", **headers}
        answer = client.request(method, PATH, headers=sent)
        assert answer.status_code == 403, (headers, answer.text)


@covers("mcp.host-and-origin")
def test_our_own_page_and_those_named_may_ask(client):
    assert post(client).status_code == 200
    for origin in ("http://127.0.0.1:7371", "https://ours.example"):
        assert post(client, Origin=origin).status_code == 200
    for host in ("localhost", "[::1]:5", "127.0.0.1:9"):
        assert post(client, Host=host).status_code == 200


@covers("mcp.token")
def test_nobody_gets_in_without_a_token(client):
    for token in (None, "wrong", "weft_" + "x" * 43, KEY + "x", KEY[:-1], ""):
        for body in (begin(), LIST, b"nonsense"):
            answer = post(client, body, token=token)
            assert answer.status_code == 401, token
            assert answer.headers["www-authenticate"] == "Bearer"
            assert answer.json()["code"] == "UNAUTHENTICATED"
    for method in ("GET", "DELETE"):
        assert client.request(method, PATH, headers={"Accept": "text/event-stream"}).status_code == 401


@covers("mcp.token")
def test_a_session_belongs_to_the_token_that_began_it(client, fresh_loom):
    fresh_loom.users.add("ada", role="editor")
    token, _ = fresh_loom.users.issue("ada")
    begun = post(client)
    session = begun.headers["mcp-session-id"]
    version = "2025-11-25"
    assert post(client, LIST, mcp_session_id=session, mcp_protocol_version=version).status_code == 200
    stolen = post(client, LIST, token=token, mcp_session_id=session, mcp_protocol_version=version)
    assert stolen.status_code == 404


@covers("mcp.bounded")
def test_what_is_too_large_or_no_message_is_refused(client):
    assert post(client, b"x" * (LIMIT + 1)).status_code == 413
    for body in (
        b"",
        b"{",
        b"[]",
        b'"x"',
        b"\xff",
        b"[" * 20_000,
        b'{"jsonrpc":"2.0","id":1,"method":"nope"}',
    ):
        for version in ("2025-11-25", "2026-07-28", "1", "x" * 1_000):
            answer = post(client, body, mcp_protocol_version=version)
            assert 400 <= answer.status_code < 500, (body[:20], version, answer.status_code)
    assert post(client, Content_Type="text/plain").status_code == 400


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[tuple[OverHttp, weft.Grove]]:
    path = tmp_path_factory.mktemp("http") / "grove.db"
    with weft.open(path) as grove:
        grove.add_agent(AGENT, type=AgentType.MODEL, model_ref="scripted:echo")
        started = OverHttp(str(path), "--allow", "loom_aware,loom_write,doc_read")
        yield started, grove
        started.stop()


@covers("mcp.permissions", "mcp.transports")
def test_each_user_does_what_they_may_and_no_more_than_the_connection_allows(server):
    started, grove = server
    tree, other = grove.plant("Shared", "one"), grove.plant("Closed", "two")
    users = grove.users
    for name, role in (("ada", "editor"), ("bob", "reader"), ("eve", None)):
        users.add(name, role=role)
    users.set_role("eve", "editor", tree=tree.id)
    tokens = {name: users.issue(name)[0] for name in ("ada", "bob", "eve")}
    may = {}
    for name, token in tokens.items():
        with started.talk(token=token) as talk:
            may[name] = [
                not talk(tool, **given).refused
                for tool, given in (
                    ("tree", {"tree": tree.id}),
                    ("respond", {"tree": tree.id, "node": tree.root.local_id, "text": "x"}),
                    ("tree", {"tree": other.id}),
                    ("respond", {"tree": other.id, "node": other.root.local_id, "text": "x"}),
                    ("continue", {"tree": tree.id, "agent": AGENT}),
                    ("new_document", {"title": f"By {name}"}),
                )
            ]
            seen = {each["title"] for each in talk.do("trees")["trees"]}
            assert ("Closed" in seen) == (name != "eve")
    assert may == {
        "ada": [True, True, True, True, False, False],
        "bob": [True, False, True, False, False, False],
        "eve": [True, True, False, False, False, False],
    }
    assert len({line.node.author_id for line in grove.read.outline(tree.id)}) == 3


@covers("mcp.token")
def test_a_token_that_is_revoked_is_refused_at_the_next_request(server):
    started, grove = server
    grove.users.add("zoe", role="reader")
    token, made = grove.users.issue("zoe")
    with started.talk(token=token) as talk:
        assert not talk("trees").refused
        grove.users.revoke(made.id)
        with pytest.raises(Exception, match="401|Unauthorized|nobody|closed|error"):
            talk("trees")


@covers("mcp.orderly-end", "mcp.listening")
def test_a_server_that_ends_tells_those_who_listen(tmp_path):
    started = OverHttp(str(tmp_path / "grove.db"))

    async def story(client):
        async with client.listen(resources_list_changed=True) as stream:
            started.process.terminate()
            return [event async for event in stream]

    with started.talk() as talk:
        assert talk.portal.call(story, talk.client) == []
        assert started.stop()[0] == 0
