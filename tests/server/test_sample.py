"""The sample tree over HTTP."""

import pytest
from tests.covers import covers

pytestmark = pytest.mark.outer


@covers("sample.on-request")
def test_a_reader_plants_no_sample_and_changes_nothing(ask, owner):
    before = owner.get("/api/agents").json()
    assert ask("bob").post("/api/sample", {}).status_code == 403
    assert owner.get("/api/agents").json() == before


@covers("sample.on-request")
def test_the_sample_tree_is_planted_once(owner):
    first = owner.post("/api/sample", {})
    assert first.status_code == 200
    assert owner.post("/api/sample", {}).json()["id"] == first.json()["id"]
    path = owner.get(f"/api/trees/{first.json()['id']}/nodes/{first.json()['root']}/path")
    assert "Lowmoor" not in path.text
    assert "flooded" in path.text
