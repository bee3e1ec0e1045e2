"""What a client works with over HTTP: opening, drafts, read marks, plans, media, exports, keys, spending."""

import base64
import json
import os

import pytest
from sqlalchemy import select
from tests.covers import covers
from tests.growing import grow

from weft.store import schema
from weft.store.tree_queries import node_row

_STEPS = 40_000 if os.environ.get("WEFT_PROVE") else 4_000
"""Of a path with two and a half nodes a step; fewer than the whole tell its size as well."""


@pytest.fixture
def tree(owner) -> dict:
    return owner.post("/api/trees", {"title": "Harbour", "text": "The lamp."}).json()


def say(owner, tree, parent, text, **more):
    path = f"/api/trees/{tree['id']}/nodes"
    answer = owner.post(path, {"content": text, "parent": parent, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


@covers("http.open-a-tree")
def test_a_tree_is_opened_in_one_request(owner, tree):
    first = say(owner, tree, tree["root"], "One")
    say(owner, tree, tree["root"], "Two")
    last = say(owner, tree, first["id"], "Three")
    opened = owner.get(f"/api/trees/{tree['id']}/open?tail=2&node={last['id']}").json()
    assert opened["tree"]["counters"]["nodes"] == 4
    assert [node["content"]["text"] for node in opened["nodes"]] == ["One", "Three"]
    assert opened["places"][0] == {
        "node": first["id"],
        "depth": 1,
        "sibling": 1,
        "siblings": 2,
        "children": 1,
        "annotations": 0,
    }
    assert opened["cursor"]["nodeId"] == last["id"]
    assert owner.get(f"/api/trees/{tree['id']}/open?tail=0").status_code == 400


@covers("draft.per-agent-and-node")
def test_a_draft_is_kept_at_its_node_for_its_writer_until_it_is_said_or_committed(owner, ask, tree):
    place = f"/api/trees/{tree['id']}/nodes/{tree['root']}"
    assert owner("PUT", f"{place}/draft", json={"text": "Who li"}).json() == {"text": "Who li"}
    assert owner.get(f"{place}/draft").json() == {"text": "Who li"}
    assert ask("ada").get(f"{place}/draft").json() == {"text": ""}
    assert ask("bob")("PUT", f"{place}/draft", json={"text": "x"}).status_code == 403
    assert owner.get(f"/api/trees/{tree['id']}/open").json()["draft"] == "Who li"
    assert [each["node"] for each in owner.get(f"/api/trees/{tree['id']}/drafts").json()["drafts"]] == [
        tree["root"]
    ]
    assert owner.get(f"/api/trees/{tree['id']}").json()["counters"]["nodes"] == 1
    node = owner.post(f"{place}/draft/commit").json()["node"]
    assert node["content"]["text"] == "Who li"
    assert owner.get(f"{place}/draft").json() == {"text": ""}
    assert owner.post(f"{place}/draft/commit").json() == {"node": None}
    owner("PUT", f"{place}/draft", json={"text": "Again"})
    say(owner, tree, tree["root"], "Again", draft=True)
    assert owner.get(f"{place}/draft").json() == {"text": ""}


@covers("draft.working-buffer")
def test_at_the_end_of_a_document_the_draft_is_the_working_buffer(owner):
    tree = owner.post("/api/trees", {"title": "Page", "text": "It was", "mode": "buffer"}).json()
    place = f"/api/trees/{tree['id']}/nodes/{tree['root']}/draft"
    owner("PUT", place, json={"text": " late."})
    assert owner.get(f"/api/trees/{tree['id']}/buffer").json() == {"text": " late."}
    assert owner.get(place).json() == {"text": " late."}
    assert owner.post(f"{place}/commit").json()["node"]["content"]["text"] == " late."


@covers("draft.generate-makes-it-a-node")
def test_generating_makes_the_draft_a_node_and_answers_it(owner, loom):
    if not any(agent.name == "Echo" for agent in loom.agents()):
        loom.add_agent("Echo", model_ref="scripted:echo")
    tree = loom.plant("Asked", "Hello.")
    loom.drafts.keep(tree.id, tree.root.id, "Why?")
    plan = owner.get(f"/api/trees/{tree.id}/nodes/{tree.root.id}/context?agent=Echo").json()
    assert "Why?" in json.dumps(plan["messages"])
    answer = tree.root.generate(agent="Echo")[0]
    assert [node.text for node in answer.path][1:] == ["Why?", answer.text]
    assert loom.drafts.read(tree.id, tree.root.id) == ""


@covers("read-marks.per-person")
def test_what_a_person_has_not_read_is_known(owner, ask, tree):
    path = f"/api/trees/{tree['id']}/read"
    first = say(owner, tree, tree["root"], "One")
    assert owner.get(path).json()["unread"] == 0
    ada = ask("ada")
    assert ada.get(path).json()["unread"] == 2
    assert ada.post(path, {"nodes": [first["id"]]}).json()["unread"] == 1
    bits = base64.b64decode(ada.get(path).json()["read"])
    numbers = [n for n in range(8 * len(bits)) if bits[n // 8] >> n % 8 & 1]
    assert len(numbers) == 1
    assert ada.post(path, {}).json()["unread"] == 0
    assert ada.post(path, {"nodes": [first["id"]], "read": False}).json()["unread"] == 1
    assert ask("bob").post(path, {}).json()["unread"] == 0


@covers("http.etags")
def test_what_a_client_has_already_is_not_sent_again(owner, tree):
    place = f"/api/trees/{tree['id']}/skeleton"
    first = owner.get(place)
    again = owner.get(place, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    say(owner, tree, tree["root"], "One")
    assert owner.get(place, headers={"If-None-Match": first.headers["etag"]}).status_code == 200
    document = owner.post("/api/documents", {"title": f"Notes {tree['id']}", "content": "Fog."}).json()
    path = f"/api/documents/{document['id']}"
    assert owner.get(path).headers["etag"] == '"1"'
    saved = owner("PUT", path, json={"content": "Sun."}, headers={"If-Match": '"1"'})
    assert saved.json()["revision"] == 2
    late = owner("PUT", path, json={"content": "Rain."}, headers={"If-Match": '"1"'})
    assert (late.status_code, late.json()["code"]) == (409, "CONFLICT")
    assert owner("PUT", path, json={"content": "x"}, headers={"If-Match": "old"}).status_code == 400


@covers("http.plan")
def test_a_request_is_planned_with_live_settings_priced_and_compared(owner, loom):
    if not any(agent.name == "Echo" for agent in loom.agents()):
        loom.add_agent("Echo", model_ref="scripted:echo")
    tree = loom.plant("Planned", "Hello " * 50)
    node = tree.say("Why? " * 100)
    place = f"/api/trees/{tree.id}/nodes/{node.id}"
    plan = owner.get(f"{place}/plan?agent=Echo&price=true&rows=1").json()
    assert plan["tokens"] > 0
    assert len(plan["rows"]) == 1
    assert plan["price"]["dollars"] == "0"
    assert [each["agent"] for each in plan["price"]["agents"]] == ["Echo"]
    second = owner.get(f"{place}/plan?agent=Echo&first=1&rows=10").json()
    assert second["rows"][0] != plan["rows"][0]
    small = owner.get(f"{place}/plan?agent=Echo&limit=200").json()
    assert small["tokens"] < plan["tokens"]
    other = json.dumps({"limit": 200})
    diff = owner.get(f"{place}/context/diff", params={"agent": "Echo", "otherSettings": other}).json()
    assert diff["changes"]
    assert owner.get(f"{place}/context/diff?other={tree.root.id}").json()["tokens"][0] > 0


@covers("http.media")
def test_media_are_uploaded_once_shown_by_a_node_and_read_only_there(owner, ask, tree):
    data = b"\x89PNG not really"
    ref = owner.post("/api/media", content=data).json()["ref"]
    assert ask("bob").post("/api/media", content=data).status_code == 403
    path = f"/api/trees/{tree['id']}/media/{ref}"
    assert owner.get(path).status_code == 404
    image = {"type": "image", "ref": ref, "mimeType": "image/png", "width": 1, "height": 1}
    say(owner, tree, tree["root"], image)
    shown = owner.get(path)
    assert (shown.content, shown.headers["content-disposition"]) == (data, "attachment")
    assert owner.get(path, headers={"If-None-Match": shown.headers["etag"]}).status_code == 304
    assert owner.post("/api/media", content=b"").status_code == 400
    assert owner.post("/api/media", content=b"x" * 300_000).status_code == 413


@covers("http.export-streams")
def test_a_tree_is_exported_as_a_stream_in_any_format(owner, ask, tree):
    say(owner, tree, tree["root"], "Who lights it?")
    path = f"/api/trees/{tree['id']}/export"
    assert "Who lights it?" in owner.get(f"{path}?format=markdown").text
    whole = json.loads(owner.get(f"{path}?format=weft").text)
    assert whole["format"]
    assert owner.get(f"{path}?format=papyrus").status_code == 400
    assert owner.get(f"{path}?format=weft&node={tree['root']}").status_code == 400
    assert owner.get("/api/trees/nothing/export?format=weft").status_code == 404
    assert ask("eve").get(path).status_code == 404


def test_spending_jobs_default_agent_and_commands_over_http(owner, ask, tree):
    capped = owner("PUT", "/api/spend/caps", json={"dollars": "2.50", "period": "day"}).json()
    assert capped["caps"] == [{"whose": "grove", "period": "day", "dollars": "2.50"}]
    assert owner("PUT", "/api/spend/caps", json={"dollars": None, "period": "day"}).json()["caps"] == []
    assert owner("PUT", "/api/spend/caps", json={"dollars": "much"}).status_code == 400
    assert ask("bob")("PUT", "/api/spend/caps", json={"dollars": "1"}).status_code == 403
    assert owner.get("/api/jobs?status=failed").json() == {"jobs": []}
    assert owner.get("/api/jobs?status=lost").status_code == 400
    assert owner.post("/api/jobs/77/retry").status_code == 404
    assert owner.post("/api/jobs/x/cancel").status_code == 400
    done = owner.post(f"/api/trees/{tree['id']}/do", {"text": "→ help"}).json()["results"]
    assert [each["ok"] for each in done] == [True]
    assert owner.get(f"/api/trees/{tree['id']}/stats").status_code == 200
    assert "agent" in owner.get("/api/default-agent").json()


@covers("http.plant-needs-a-body")
def test_a_tree_is_planted_from_an_empty_object_and_not_from_nothing(owner):
    refused = owner("POST", "/api/trees")
    assert (refused.status_code, refused.json()["code"]) == (400, "INVALID_INPUT")
    assert owner.post("/api/trees", {}).json()["title"] == "Untitled"


@covers("http.skeleton-size")
def test_the_skeleton_of_a_hundred_thousand_nodes_is_one_answer_of_at_most_one_and_a_half_megabytes(
    owner, loom, figure
):
    tree = loom.plant("Large", "Root.")
    store = loom.caller.store
    with store.read() as session:
        key = session.execute(select(schema.trees.c.key).where(schema.trees.c.ulid == tree.id)).scalar_one()
        root = node_row(session, key, 1)
    # A number that no node has, as after a call of a model.
    store.write(lambda transaction: transaction.take_key(transaction.tree_state(key)))
    grow(store, key, root, _STEPS, zigzag=True)
    answer = owner.get(f"/api/trees/{tree.id}/skeleton", headers={"Accept-Encoding": "gzip"})
    size = int(answer.headers["content-length"]) * 100_000 // answer.json()["nodes"]
    assert size <= 1_500_000
    figure("bytes of the skeleton of 100,000 nodes", f"{size:,}")
