"""Operations and views over HTTP: each has a route, and does there what it does everywhere."""

import base64
from array import array

import pytest
from tests.covers import covers


@pytest.fixture
def tree(owner) -> str:
    return owner.post("/api/trees", {"title": "Harbour", "text": "The lamp."}).json()["id"]


@pytest.fixture
def root(owner, tree) -> str:
    return owner.get(f"/api/trees/{tree}").json()["root"]


@covers("http.every-operation", "http.every-view")
def test_a_conversation_is_written_changed_and_read_over_http(owner, tree, root):
    said = owner.post(f"/api/trees/{tree}/nodes", {"content": "Who lights it?", "parent": root}).json()
    edited = owner.post(
        f"/api/trees/{tree}/nodes/{said['id']}/edit", {"content": "Who lights the lamp?"}
    ).json()
    assert edited["editedFrom"] == said["id"]
    siblings = owner.get(f"/api/trees/{tree}/nodes/{said['localId']}/siblings").json()["nodes"]
    assert {node["id"] for node in siblings} >= {edited["id"]}
    merged = owner.post(
        f"/api/trees/{tree}/merge", {"nodes": [said["id"], edited["id"]], "content": "Both."}
    ).json()
    assert [source["node"] for source in merged["edge"]["sources"]] == [said["id"], edited["id"]]
    place = f"/api/trees/{tree}/nodes/{merged['id']}"
    assert owner.post(f"{place}/exclude").json()["excluded"] is True
    assert owner.post(f"{place}/bookmark", {"label": "her voice"}).json()["bookmarkLabel"] == "her voice"
    assert owner.post(f"{place}/annotate", {"content": "Keep."}).status_code == 200
    assert len(owner.get(f"{place}/annotations").json()["nodes"]) == 1
    assert owner.post(f"{place}/prune").json() == {"count": 2}
    assert owner.post(f"{place}/restore").json() == {"count": 2}
    assert owner.post(f"/api/trees/{tree}/switch", {"to": "parent"}).status_code == 200
    assert [step["kind"] for step in owner.post(f"/api/trees/{tree}/undo").json()["steps"]] == ["switch"]
    history = owner.get(f"/api/trees/{tree}/history").json()["entries"]
    assert [entry["kind"] for entry in history][-4:-2] == ["prune", "restore"]


@covers("http.every-operation")
def test_bad_fields_are_refused_by_name_and_change_nothing(owner, tree, root):
    nodes = f"/api/trees/{tree}/nodes"
    for body, path in (
        ({"content": 5}, "content"),
        ({}, "content"),
        ({"content": "x", "colour": "red"}, "colour"),
        ({"content": "x", "sources": [{"node": root, "role": "boss"}]}, "sources[0].role"),
        ({"content": {"type": "image"}}, "content"),
    ):
        refused = owner.post(nodes, body)
        assert (refused.status_code, refused.json()["code"]) == (400, "INVALID_INPUT"), refused.text
        assert path in refused.json().get("path", "") or path in refused.json()["error"]
    assert owner.get(f"/api/trees/{tree}").json()["counters"]["nodes"] == 1
    long = owner.get(f"/api/trees/{'x' * 2_000}")
    assert long.status_code == 400
    assert "x" * 50 not in long.text


@covers("http.tree-skeleton")
def test_the_skeleton_has_the_shape_of_the_tree_in_columns(owner, tree, root):
    first = owner.post(f"/api/trees/{tree}/nodes", {"content": "One", "parent": root}).json()
    owner.post(f"/api/trees/{tree}/nodes", {"content": "Two", "parent": root})
    owner.post(f"/api/trees/{tree}/nodes/{first['id']}/exclude")
    skeleton = owner.get(f"/api/trees/{tree}/skeleton").json()
    assert skeleton["nodes"] == 3
    assert list(array("i", base64.b64decode(skeleton["parents"]))) == [0, 1, 1]
    assert list(base64.b64decode(skeleton["flags"])) == [0, 1, 0]
    assert skeleton["positions"] == ""
    assert skeleton["ids"].split()[1] == first["localId"]
    assert skeleton["numbers"] == ""
    rest = owner.get(f"/api/trees/{tree}/skeleton?first=3").json()
    assert (rest["nodes"], rest["ids"]) == (1, skeleton["ids"].split()[2])
    assert owner.get(f"/api/trees/{tree}/skeleton?first=9").json()["nodes"] == 0
    read = owner.get(f"/api/trees/{tree}/nodes?first=2&last=3").json()["nodes"]
    assert [node["content"]["text"] for node in read] == ["One", "Two"]
    assert owner.get(f"/api/trees/{tree}/nodes?first=1&last=2000").status_code == 400
    owner.post(f"/api/trees/{tree}/nodes/{first['id']}/bookmark", {"label": "salt"})
    (bookmarked,) = owner.get(f"/api/trees/{tree}/bookmarks").json()["nodes"]
    assert bookmarked["metadata"]["bookmarkLabel"] == "salt"


@covers("http.every-operation", "http.every-view")
def test_documents_projects_agents_and_settings_over_http(owner):
    document = owner.post("/api/documents", {"title": "Harbour notes", "content": "Fog."}).json()
    place = f"/api/documents/{document['id']}"
    saved = owner("PUT", place, json={"revision": 1, "content": "Thick fog."})
    assert saved.json()["revision"] == 2
    assert owner("PUT", place, json={"revision": 1, "content": "Sun."}).status_code == 409
    assert owner.get(f"{place}?revision=1").json()["content"] == "Fog."
    assert len(owner.get(f"{place}/revisions").json()["revisions"]) == 2
    agent = owner.post("/api/agents", {"name": "Ada of HTTP", "type": "human"}).json()
    assert owner.get(f"/api/agents/{agent['id']}").json()["name"] == "Ada of HTTP"
    project = owner.post("/api/projects", {"name": "Harbour of HTTP"}).json()
    assert owner.get(f"/api/projects/{project['id']}").json()["name"] == "Harbour of HTTP"
    assert owner("PATCH", "/api/preferences", json={"settings": {"minimumRecentNodes": 3}}).status_code == 200
    assert owner.get("/api/preferences").json()["preferences"]["minimumRecentNodes"] == 3
    assert owner.get("/api/search?query=thick").status_code == 200
    owner("PATCH", "/api/preferences", json={"settings": {"minimumRecentNodes": None}})


@covers("http.every-operation")
def test_rights_are_checked_inside_the_operations(ask, owner, tree, root):
    reader = ask("bob")
    refused = reader.post(f"/api/trees/{tree}/nodes/{root}/edit", {"content": "mine"})
    assert refused.status_code == 403
    assert ask("eve").get(f"/api/trees/{tree}").status_code in {403, 404}
    assert reader("PATCH", "/api/preferences", json={"settings": {}}).status_code == 403


@covers("http.tags-of-the-grove")
def test_without_a_name_all_tags_of_the_grove_are_listed(owner):
    tree = owner.post("/api/trees", {"title": "Tagged"}).json()
    owner.post("/api/tags", {"target": {"kind": "tree", "name": tree["id"]}, "label": "harbour"})
    tags = owner.get("/api/tags").json()["tags"]
    assert {"label": "harbour", "target": {"kind": "tree", "id": tree["id"]}} in tags
