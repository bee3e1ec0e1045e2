"""Notes of mounted vaults over HTTP: what is indexed, and passages about a question."""

from tests.covers import covers


@covers("retrieval.passages", "vault-index.progress")
def test_notes_are_found_and_the_index_tells_how_far_it_is(owner, loom, tmp_path):
    (tmp_path / "tower.md").write_text("# Stairs\nNinety.\n\n# Lamp\nLit at dusk.\n")
    (tmp_path / "binary.md").write_bytes(b"\0")
    vault = owner.post("/api/vaults", {"path": str(tmp_path), "name": "Tower"}).json()
    found = owner.get("/api/passages", params={"query": "When is the lamp lit?", "vault": "Tower"}).json()
    best = found["passages"][0]
    assert (best["id"], best["path"], best["headings"]) == ("tower.md#L4-L5", "tower.md", ["Lamp"])
    assert (best["startLine"], best["endLine"], best["text"]) == (4, 5, "# Lamp\nLit at dusk.")
    assert found["warnings"] == []
    status = owner.get(f"/api/vaults/{vault['id']}").json()
    assert (status["notes"], status["passages"], status["behind"]) == (1, 2, 0)
    assert status["skipped"] == [{"path": "binary.md", "reason": "it is binary"}]
    one = owner.get("/api/passages", params={"query": "When is the lamp lit?", "limit": 1}).json()["passages"]
    assert one == [best]
    assert owner.get("/api/passages", params={"query": "capital of Mongolia"}).json()["passages"] == []
    assert owner.get("/api/passages", params={"query": "?"}).status_code == 400
    assert owner.get("/api/passages", params={"query": "lamp", "vault": "Moon"}).status_code == 404
    loom.vaults["Tower"].unmount()
