"""Questions over HTTP: the answer as one value, or as it comes."""

import asyncio
import json
import threading

import pytest
from starlette.testclient import TestClient
from tests.covers import covers
from tests.runners.workshop import calling
from tests.server.conftest import KEY, Asker

from weft.grove.grove import open_grove
from weft.providers.base import ProviderRegistry
from weft.server import ServerSettings, create_app
from weft.testing import Gate, Reply, Scripted
from weft.tree.node import Status


@pytest.fixture(scope="module")
def tree(loom):
    loom.add_agent("Echo", model_ref="scripted:echo")
    return loom.plant("Asked")


def events(text):
    blocks = [block.split("\n") for block in text.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


@covers("ask.http")
def test_a_question_is_answered_in_one_value(owner, tree):
    answer = owner.post(f"/api/trees/{tree.id}/ask", {"text": "Why?", "agent": "Echo"}).json()
    assert answer["node"]["content"]["text"] == "You said: Why?"
    assert answer["question"]["content"]["text"] == "Why?"
    assert (answer["runner"], answer["ending"], answer["tools"]) == ("chat", "done", [])


@covers("ask.http")
def test_an_answer_is_followed_as_it_comes(owner, tree):
    body = {"text": "Why not?", "agent": "Echo", "stream": True}
    answer = owner.post(f"/api/trees/{tree.id}/ask", body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    told = events(answer.text)
    assert [name for name, _ in told if name != "text"] == ["began", "turn", "node", "finished"]
    assert "".join(each["text"] for name, each in told if name == "text") == "You said: Why not?"
    assert told[-1][1]["node"]["content"]["text"] == "You said: Why not?"


@covers("ask.http", "cache.payload-recorder")
def test_a_request_is_logged_in_layers_where_that_is_wanted(owner, tree, caplog):
    for wanted in (False, True):
        caplog.clear()
        body = {"text": "In layers?", "agent": "Echo", "recordPayload": wanted}
        assert owner.post(f"/api/trees/{tree.id}/ask", body).status_code == 200
        assert ("## L5_USER" in caplog.text) is wanted


def test_what_is_wrong_is_named_by_its_field(owner, tree):
    path = f"/api/trees/{tree.id}/ask"
    for body, field in (
        ({"text": 3}, "text"),
        ({"text": "Why?", "runner": "magic"}, "runner"),
        ({"text": "Why?", "vaults": "Notes"}, "vaults"),
        ({"text": "Why?", "colour": "red"}, "colour"),
        ({"text": "Why?", "turns": 0}, "turns"),
    ):
        answer = owner.post(path, body)
        assert (answer.status_code, answer.json().get("path")) == (400, field), answer.json()
    assert owner.post("/api/trees/nothing/ask", {"text": "Why?"}).status_code == 404


def test_who_may_only_read_is_refused_and_nothing_is_said(ask, loom):
    tree = loom.plant("Locked")
    assert ask("bob").post(f"/api/trees/{tree.id}/ask", {"text": "Why?"}).status_code == 403
    assert tree.refresh().counters.nodes == 1


@covers("ask.client-gone")
def test_a_client_that_goes_away_stops_the_turn_and_what_came_is_kept(tmp_path):
    gate = Gate(2)
    registry = ProviderRegistry({"scripted": Scripted(["One two three four"], gate=gate)})
    with open_grove(tmp_path / "grove.db", providers=registry) as grove:
        grove.add_agent("Slow", model_ref="scripted:slow")
        tree = grove.plant("Talk")
        app = create_app(grove, ServerSettings(keys=(KEY,)))
        messages = [{"type": "http.request", "body": b'{"text": "Count."}', "more_body": False}]
        sent = []

        async def receive():
            if messages:
                return messages.pop()
            await gate.reached()
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        headers = [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {KEY}".encode())]
        path = f"/api/trees/{tree.id}/ask"
        scope = {"type": "http", "method": "POST", "path": path, "headers": headers, "query_string": b""}
        asyncio.run(
            app(
                {**scope, "http_version": "1.1", "scheme": "http", "server": ("127.0.0.1", 80)}, receive, send
            )
        )
        assert tree.cursor.text == "One two"
        assert tree.cursor.status is Status.INTERRUPTED


def calls_once(request, _):
    return "It is late." if request.messages[-1].results else Reply(calls=(calling("getTimeInfo", "9"),))


@covers("approval.http")
@pytest.mark.parametrize(
    ("decision", "body", "status"),
    [("allow", {}, "ok"), ("allow", {"inTree": True}, "ok"), ("deny", None, "denied")],
)
def test_a_tool_waits_for_a_person_who_decides_over_http(tmp_path, decision, body, status):
    registry = ProviderRegistry({"scripted": Scripted(calls_once)})
    with open_grove(tmp_path / "grove.db", providers=registry) as grove:
        grove.add_agent("Teller", model_ref="scripted:teller")
        grove.tools.set_policy("getTimeInfo", "ask")
        tree = grove.plant("Talk")
        settings = ServerSettings(keys=(KEY,))
        with TestClient(create_app(grove, settings), base_url="http://127.0.0.1:7370") as client:
            owner, answers = Asker(client, KEY), []
            with grove.follow(after="now", timeout=60) as live:
                asked = {"text": "How late?", "runner": "agent"}
                path = f"/api/trees/{tree.id}/ask"
                thread = threading.Thread(target=lambda: answers.append(owner.post(path, asked).json()))
                thread.start()
                event = next(each for each in live if each.kind == "ask-approval")
            [waiting] = owner.get("/api/approvals").json()["approvals"]
            assert (waiting["id"], waiting["name"]) == (event.payload["approval"], "getTimeInfo")
            decided = owner.post(f"/api/approvals/{waiting['id']}/{decision}", body).json()
            thread.join(60)
            assert [each["status"] for each in answers[0]["tools"]] == [status]
            assert owner.get(f"/api/approvals/{waiting['id']}").json()["state"] == decided["state"]
            granted = owner.get(f"/api/trees/{tree.id}/grants").json()["grants"]
            assert [each["tools"] for each in granted] == ([["getTimeInfo"]] if body else [])
            other = "deny" if decision == "allow" else "allow"
            assert owner.post(f"/api/approvals/{waiting['id']}/{other}").status_code == 409
            assert owner.post("/api/approvals/nothing/allow").status_code == 404


@covers("ask.idempotency-key")
def test_a_question_with_a_key_is_said_once_over_http(owner, tree):
    key, path = {"Idempotency-Key": "asked-once"}, f"/api/trees/{tree.id}/ask"
    body = {"text": "Only once?", "agent": "Echo"}
    first, again = (owner.post(path, body, headers=key).json() for _ in range(2))
    assert again["node"]["id"] == first["node"]["id"]
    assert (again["run"], again["ending"]) == (first["run"], "done")
    assert owner.post(path, {**body, "text": "Twice?"}, headers=key).status_code == 409
    assert owner.post(path, body, headers={"Idempotency-Key": "k" * 300}).status_code in {400, 413}
    asked = {**body, "text": "By a field?", "idempotencyKey": "in-the-body"}
    first, again = (owner.post(path, asked).json() for _ in range(2))
    assert again["node"]["id"] == first["node"]["id"]
