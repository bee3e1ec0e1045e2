"""Questions over HTTP: the answer as one value, or as it comes."""

import json

import pytest
from tests.covers import covers


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
