"""`Idempotency-Key` on every route that writes."""

import contextlib
import threading

import pytest
from tests.covers import covers
from tests.server.live import LiveServer

from weft.grove.grove import open_grove
from weft.providers.base import ProviderRegistry
from weft.server.app import ROUTERS
from weft.server.idempotency import KeyedRoute
from weft.testing import Gate, Scripted


@pytest.fixture
def tree(owner) -> dict:
    return owner.post("/api/trees", {"title": "Harbour", "text": "The lamp."}).json()


@covers("http.idempotency-key")
def test_a_repeated_request_gets_the_first_answer_and_does_nothing(owner, ask, tree):
    path = f"/api/trees/{tree['id']}/nodes"
    key = {"Idempotency-Key": f"say-{tree['id']}"}
    first = owner.post(path, {"content": "One"}, headers=key)
    again = owner.post(path, {"content": "One"}, headers=key)
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers["idempotency-replayed"] == "true"
    assert owner.get(f"/api/trees/{tree['id']}").json()["counters"]["nodes"] == 2
    other = owner.post(path, {"content": "Two"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (409, "CONFLICT")
    mine = ask("ada").post(path, {"content": "One"}, headers=key)
    assert mine.json()["id"] != first.json()["id"]
    bookmarked = owner.post(f"{path}/{first.json()['id']}/bookmark", {"label": "x"}, headers=key)
    assert bookmarked.status_code == 200


@covers("http.idempotency-key")
def test_a_refusal_is_repeated_and_a_bad_key_is_refused(owner, tree):
    path = f"/api/trees/{tree['id']}/nodes"
    key = {"Idempotency-Key": f"bad-{tree['id']}"}
    refused = [owner.post(path, {"content": 5}, headers=key) for _ in range(2)]
    assert [answer.status_code for answer in refused] == [400, 400]
    assert owner.post(path, {"content": "x"}, headers={"Idempotency-Key": "k" * 300}).status_code == 413
    assert owner.post(path, {"content": "x"}, headers={"Idempotency-Key": " "}).status_code in {200, 400}


@covers("http.idempotency-key")
def test_the_answers_about_a_deleted_tree_are_gone(owner, loom, tree):
    path = f"/api/trees/{tree['id']}/nodes"
    key = {"Idempotency-Key": f"gone-{tree['id']}"}
    assert owner.post(path, {"content": "A secret of the harbour"}, headers=key).status_code == 200
    assert owner.post("/api/trees/" + tree["id"] + "/delete", {"confirm": tree["id"]}).status_code == 200
    again = owner.post(path, {"content": "A secret of the harbour"}, headers=key)
    assert again.status_code in {404, 409}
    from weft.store import schema

    with loom.caller.store.read() as session:
        kept = session.execute(schema.kept_answers.select()).all()
    assert not any(b"A secret of the harbour" in row.body for row in kept)


SECRET_ANSWERS = {"/api/session", "/api/users/{user}/tokens"}
"""Routes that answer with a secret, which is never stored: they take no key."""


@covers("http.idempotency-key")
def test_every_route_under_api_that_writes_takes_a_key_unless_it_answers_with_a_secret():
    for router in ROUTERS:
        for route in router.routes:
            if route.path.startswith("/api/") and route.methods & {"POST", "PUT", "PATCH", "DELETE"}:
                assert isinstance(route, KeyedRoute) == (route.path not in SECRET_ANSWERS), route.path


@covers("http.idempotency-key", "idempotency.claimed-before-the-call", "proof.same-key-fifty-times")
def test_the_same_generation_fifty_times_at_once_is_one_call(address):
    gate = Gate(0)
    model = Scripted(["One two"], gate=gate)
    with open_grove(address, providers=ProviderRegistry({"scripted": model})) as grove:
        grove.add_agent("Slow", model_ref="scripted:slow")
        tree = grove.plant("Talk", "Count.")
        server = LiveServer(grove)
        answers = []

        def ask() -> None:
            path = f"/api/trees/{tree.id}/nodes/{tree.root.id}/generate"
            answers.append(server.ask("POST", path, {"n": 1}, Idempotency_Key="once"))

        with contextlib.closing(server):
            threads = [threading.Thread(target=ask) for _ in range(50)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert {status for status, _ in answers} == {202}
            assert len({answer["run"]["id"] for _, answer in answers}) == 1
            with server.follow() as stream:
                gate.open()
                stream.until("run", status="complete")
            assert len(model.requests) == 1
            assert tree.refresh().counters.nodes == 2
