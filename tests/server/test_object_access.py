"""Every route × role × foreign id: what may not be read is not there, what may not be changed stays."""

import re

import pytest
from tests.covers import covers
from tests.server.conftest import SECRET, Asker
from tests.server.test_doors import OPEN, ROUTES

ABSENT = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
"""An id that nothing has."""


@pytest.fixture(scope="module")
def examples(client) -> dict[tuple[str, str], object]:
    """The body that the document shows for each route."""
    shown = {}
    for path, methods in client.app.openapi()["paths"].items():
        for method, about in methods.items():
            content = about.get("requestBody", {}).get("content", {}).get("application/json", {})
            shown[method.upper(), path] = content.get("example", {})
    return shown


def at(path: str, ids: dict[str, str]) -> str:
    return re.sub(r"{(\w+)(?::\w+)?}", lambda found: ids.get(found[1], ids["tree"]), path)


def endless(path: str) -> bool:
    return path == "/api/events"


@covers("security.object-access", "security.unreadable-is-absent")
@pytest.mark.parametrize(("method", "path"), sorted(ROUTES - OPEN), ids=lambda part: part)
def test_a_user_without_a_role_learns_nothing_and_changes_nothing(loom, ask, foreign, examples, method, path):
    eve = ask("eve")
    body = {} if method == "GET" else {"json": examples.get((method, path), {})}
    before = loom.events(after="now").cursor
    if endless(path):
        answer = eve(method, f"{path}?tree={foreign['tree']}")
        assert answer.status_code in {403, 404}
    else:
        answer = eve(method, at(path, foreign), **body)
        assert answer.status_code < 500, answer.text
    assert SECRET not in answer.text
    assert loom.events(after="now").cursor == before
    if "{tree}" not in path:
        return
    # A tree that may not be read is answered exactly like one that does not exist.
    absent = eve(method, at(path, foreign | {"tree": ABSENT}), **body)
    assert answer.status_code == absent.status_code
    assert answer.text.replace(foreign["tree"], ABSENT) == absent.text


@covers("security.object-access")
@pytest.mark.parametrize(
    ("method", "path"), sorted(each for each in ROUTES - OPEN if each[0] != "GET"), ids=lambda part: part
)
def test_a_reader_changes_nothing_that_is_not_the_readers_own(loom, ask, foreign, examples, method, path):
    before = loom.events(after="now").cursor
    answer = ask("bob")(method, at(path, foreign), json=examples.get((method, path), {}))
    assert answer.status_code < 500, answer.text
    batch = loom.events(after=before)
    # Where one looks and what one has typed is a reader's own, too.
    assert {event.kind for event in batch.events} <= {"switch", "type"}


@covers("security.object-access", "security.only-companions")
def test_who_may_read_one_tree_sees_the_agents_and_users_of_that_tree_only(loom, client, foreign):
    shared = loom.plant("Shared", "hello")
    loom.users.add("ivo", role=None)
    loom.users.add("uma", role=None)
    loom.users.set_role("ivo", "reader", tree=shared.id)
    loom.users.set_role("uma", "editor", tree=shared.id)
    ivo = Asker(client, loom.users.issue("ivo")[0])
    names = {each["name"] for each in ivo.get("/api/agents").json()["agents"]}
    assert {"ivo", "uma", loom.me.name} <= names
    assert f"{SECRET} agent" not in names
    assert ivo.get(f"/api/agents/{foreign['agent']}").status_code == 404
    users = {each["name"] for each in ivo.get("/api/users").json()["users"]}
    assert {"ivo", "uma", "ada", "bob"} <= users
    assert "eve" not in users
    loom.acting_as(f"{SECRET} agent").tree(shared.id).root.say("I was here.")
    names = {each["name"] for each in ivo.get("/api/agents").json()["agents"]}
    assert f"{SECRET} agent" in names


@covers("security.unreadable-is-absent")
def test_an_ambiguous_title_names_only_trees_that_may_be_read(loom, client):
    one, other = loom.plant("Twin", "a"), loom.plant("Twin", "b")
    loom.users.add("odo", role=None)
    loom.users.set_role("odo", "reader", tree=one.id)
    odo = Asker(client, loom.users.issue("odo")[0])
    assert odo.get("/api/trees/Twin").json()["id"] == one.id
    assert odo.get(f"/api/trees/{other.id}").status_code == 404
    # A node of the other tree is not said to be there, either.
    missing = odo.get(f"/api/trees/{one.id}/nodes/{other.root.id}")
    assert (missing.status_code, missing.json()["code"]) == (404, "NOT_FOUND")


@covers("http.long-ids-refused")
@pytest.mark.parametrize(
    ("method", "path"), sorted(each for each in ROUTES - OPEN if "{" in each[1]), ids=lambda part: part
)
def test_an_overlong_id_is_refused_without_a_path_in_the_message(owner, examples, method, path):
    body = {} if method == "GET" else {"json": examples.get((method, path), {})}
    for long in ("x" * 501, "y" * 5_000, "ü" * 600):
        place = re.sub(r"{(\w+)(?::\w+)?}", long, path)
        answer = owner(method, place, **body)
        assert answer.status_code == 400, (method, path, answer.text)
        assert long[:50] not in answer.text
        assert "/" not in answer.json()["error"]
