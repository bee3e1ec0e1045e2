"""Records, trees and events over HTTP."""

import json
import random

import pytest
from tests.covers import covers

from weft.errors import NotFoundError


@covers("endpoint.records")
def test_records_are_appended_and_listed_by_user_session_name_and_time(ask):
    ada = ask("ada")
    said = [
        {"name": "messages", "sessionId": "r", "id": f"m{n}", "createTime": n, "value": {"n": n}, "cost": n}
        for n in range(5)
    ]
    kept = ada.post("/api/records", {"records": said})
    assert kept.status_code == 200, kept.text
    assert [each["userId"] for each in kept.json()["records"]] == ["ada"] * 5
    listed = ada.get("/api/records?name=messages&sessionId=r&begin=1&end=3").json()["records"]
    assert [each["document"]["value"]["n"] for each in listed] == [2, 3]
    assert listed[0] == kept.json()["records"][2]
    newest = ada.get("/api/records?name=messages&sessionId=r&newest=true&limit=2").json()["records"]
    assert [each["id"] for each in newest] == ["m4", "m3"]
    more = ada.get("/api/records?name=messages&sessionId=r&after=m2&limit=1").json()["records"]
    assert [each["id"] for each in more] == ["m3"]
    assert ada.get("/api/records?name=messages&sessionId=other").json() == {"records": []}
    (stream,) = ada.get("/api/records/streams?sessionId=r").json()["streams"]
    assert (stream["stream"], stream["records"]) == ("messages", 5)
    assert ask("service").get("/api/records?name=messages&sessionId=r&userId=ada").json()["records"]
    assert ask("bob").get("/api/records?name=messages&sessionId=r&userId=ada").status_code == 403
    again = ada.post("/api/records", {"records": said})
    assert again.json() == kept.json()
    other = ada.post("/api/records", {"records": [{**said[0], "value": "other"}]})
    assert (other.status_code, other.json()["code"]) == (409, "CONFLICT")


@covers("records.fallback", "endpoint.records")
def test_what_a_user_has_not_is_listed_from_what_belongs_to_nobody_where_that_is_requested(ask, loom):
    loom.records.append("notes", "nobody's", session="shared", create_time=1.0)
    ada = ask("ada")
    asked = "/api/records?name=notes&sessionId=shared"
    assert ada.get(asked).json() == {"records": []}
    (found,) = ada.get(f"{asked}&fallback=true").json()["records"]
    assert (found.get("userId"), found["document"]["value"]) == (None, "nobody's")


@covers("endpoint.records", "endpoint.bad-input")
@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "records"),
        ({"records": []}, "records"),
        ({"records": [5]}, "records[0]"),
        ({"records": [{"value": 1}]}, "records[0].name"),
        ({"records": [{"name": "a"}]}, "records[0].value"),
        ({"records": [{"name": "a", "value": 1}, {"name": 5, "value": 1}]}, "records[1].name"),
        ({"records": [{"name": "a", "value": 1, "more": 2}]}, "records[0].more"),
        ({"records": [{"name": "a", "value": 1, "createTime": "x"}]}, "records[0].createTime"),
        ({"records": [{"name": "a", "value": 1, "createTime": 1e300}]}, "records[0].createTime"),
        ({"records": [{"name": "a", "document": 5}]}, "records[0].document"),
        ({"records": [{"name": "a", "value": 1, "id": "\u0000"}]}, "records[0].id"),
        ({"records": [{"name": "a", "value": 1, "topicId": "t", "sessionId": "s"}]}, "records[0].topicId"),
    ],
)
def test_a_bad_record_is_named_with_its_field(owner, body, path):
    answer = owner.post("/api/records", body)
    assert (answer.status_code, answer.json().get("path")) == (400, path), answer.text


@covers("endpoint.records", "endpoint.bad-input")
@pytest.mark.parametrize(
    ("query", "path"),
    [("", "name"), ("name=a&limit=0", "limit"), ("name=a&begin=x", "begin"), ("name=a&end=nan", "end")],
)
def test_a_bad_query_is_named_with_its_field(owner, query, path):
    answer = owner.get(f"/api/records?{query}")
    assert (answer.status_code, answer.json()["path"]) == (400, path), answer.text


def test_nobody_writes_another_users_records(ask):
    said = {"name": "n", "value": 1}
    answer = ask("ada").post("/api/records", {"records": [{**said, "userId": "bob"}]})
    assert answer.status_code == 403
    assert "records[0].userId" in answer.json()["error"]
    assert ask("service").post("/api/records", {"userId": "bob", "records": [said]}).status_code == 200
    many = {"records": [said] * 1_001}
    assert ask("ada").post("/api/records", many).status_code == 413


@covers("http.rest-and-openapi")
def test_a_tree_is_planted_said_to_and_read(owner):
    tree = owner.post("/api/trees", {"title": "Marie", "text": "Why?", "systemContext": "Be brief."}).json()
    path = f"/api/trees/{tree['id']}/nodes"
    node = owner.post(f"{path}/{tree['root']}/children", {"content": "Because."}).json()
    content = {"type": "text", "text": "Or not."}
    other = owner.post(f"{path}/{node['localId']}/children", {"content": content}).json()
    told = owner.get(f"{path}/{other['id']}/path").json()["nodes"]
    assert [each["content"]["text"] for each in told] == ["Why?", "Because.", "Or not."]
    assert len(owner.get(f"{path}/{other['id']}/path?tail=1").json()["nodes"]) == 1
    context = owner.get(f"{path}/{other['id']}/context?limit=50").json()
    assert context["system"] == "Be brief."
    assert context["budget"] == 50
    assert any(each["id"] == tree["id"] for each in owner.get("/api/trees").json()["trees"])
    for body, field in [
        ({}, "content"),
        ({"content": 5}, "content"),
        ({"content": {"type": "x"}}, "content"),
    ]:
        answer = owner.post(f"{path}/{node['id']}/children", body)
        assert (answer.status_code, answer.json()["path"]) == (400, field)
    assert owner.post("/api/trees", {"title": 5}).json()["path"] == "title"
    assert owner.post("/api/trees", {"mode": "neither"}).status_code == 400
    assert owner.get(f"{path}/{node['id']}/context?limit=1").status_code == 422
    assert owner.get(f"{path}/{node['id']}/context?strategy=none").status_code == 400


@covers("http.rest-and-openapi")
def test_the_document_describes_every_route_that_takes_json(client, owner):
    document = owner.get("/openapi.json").json()
    assert set(document["paths"]) >= {"/context/topicContextYoj/run", "/api/records", "/api/events"}
    for methods in document["paths"].values():
        for told in methods.values():
            assert told["summary"]
            assert "400" in told["responses"]
            if "requestBody" in told:
                assert all("schema" in each for each in told["requestBody"]["content"].values())


@covers("collapse.range-of-a-path")
def test_a_range_is_folded_opened_and_forgotten(owner):
    tree = owner.post("/api/trees", {"title": "Folded", "text": "Why?"}).json()
    path = f"/api/trees/{tree['id']}"
    node = owner.post(f"{path}/nodes/{tree['root']}/children", {"content": "Because."}).json()
    made = owner.post(f"{path}/groups", {"first": tree["root"], "last": tree["root"], "name": "asked"}).json()
    assert made["description"] == "1 node: “Why?”"

    def seen():
        return owner.get(f"{path}/nodes/{node['id']}/context").json()["messages"][0]["content"]

    assert "collapsed_group" in seen()
    opened = owner.post(f"{path}/groups/expand", {"name": "asked"}).json()["groups"]
    assert [group["expanded"] for group in opened] == [True]
    assert seen() == "Why?\n\nBecause."
    assert owner.post(f"{path}/groups/expand", {"name": "asked", "remove": True}).json() == {"groups": []}
    assert owner.get(f"{path}/groups").json() == {"groups": []}
    assert owner.post(f"{path}/groups/expand", {"name": "asked"}).status_code == 404
    for body, field in [
        ({}, "first"),
        ({"first": "a", "last": 5}, "last"),
        ({"name": "x", "remove": 1}, "remove"),
    ]:
        place = "groups/expand" if "remove" in body else "groups"
        assert owner.post(f"{path}/{place}", body).json()["path"] == field


@covers("endpoint.records", "endpoint.bad-input")
def test_names_that_are_too_long_to_be_found_by_are_refused(owner):
    numbers = random.Random(1)
    long = "".join(chr(numbers.randint(0x4E00, 0x9FFF)) for _ in range(1_000))
    fits = {"name": "notes", "sessionId": long[:400], "id": long[400:800], "value": 1}
    assert owner.post("/api/records", {"records": [fits]}).status_code == 200
    for names in ({"id": long}, {"sessionId": long[:500], "projectId": long[500:]}):
        refused = owner.post("/api/records", {"records": [fits, {"name": "notes", "value": 1, **names}]})
        assert (refused.status_code, refused.json()["path"]) == (400, "records[1]"), refused.text
    for session, member in ((long, "m"), ("s", long)):
        group = {"name": "g", "items": [{"type": "message", "id": member}]}
        body = {"sessionId": session, "responseId": "r", "groups": [group]}
        refused = owner.post("/jobs/context/collapse/indexer/run", body)
        assert (refused.status_code, refused.json()["path"]) == (400, "groups"), refused.text


@covers("collapse.range-of-a-path", "endpoint.bad-input")
@pytest.mark.parametrize("name", ["\ud83d", "a\x00b"], ids=["half", "nul"])
def test_a_range_whose_name_cannot_be_kept_is_refused_and_not_found(loom, owner, name):
    tree = loom.plant("Folded", "Why?")
    ends = {"first": tree.root.id, "last": tree.root.id}
    for place, more in [("groups", {**ends, "name": name}), ("groups/expand", {"name": name})]:
        answer = owner.post(f"/api/trees/{tree.id}/{place}", content=json.dumps(more))
        assert (answer.status_code, answer.json()["path"]) == (400, "name")
    for act in (tree.expand, tree.uncollapse):
        with pytest.raises(NotFoundError):
            act(name)
