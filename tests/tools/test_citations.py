"""Citations of answers: kept with the node, marked if unknown, shown on every face."""

import json
import shutil

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient
from tests.citing import cite
from tests.cli.desk import Desk
from tests.covers import covers
from tests.mcp_server.talk import talking

import weft
from weft.mcp_server.server import McpFace
from weft.providers.base import ProviderRegistry
from weft.providers.scripted import Scripted
from weft.runtime.generation.recovery import _catalog
from weft.server import ServerSettings, create_app
from weft.store import schema
from weft.store.lookup import find_tree
from weft.store.request_records import manifest_of
from weft.tree.citation import CitedSource


@pytest.fixture
def cited(address, tmp_path):
    """A grove whose model cites a note, and a number that no source has."""
    notes = tmp_path / "Notes"
    notes.mkdir()
    (notes / "tower.md").write_text("The lamp is in the tower.")
    model = Scripted(["In the tower [1], says `x[1]`; or the cellar [^7].", "No tools [1]."])
    with weft.open(address, providers=ProviderRegistry({"scripted": model})) as loom:
        loom.vaults.mount(notes)
        loom.add_agent("Muse", model_ref="scripted:m")
        question = loom.plant("Lamp").say("Where is the lamp?")
        outputs = [loom.tools.run("localSearch", at=question, query="lamp")]
        yield loom, question, question.generate(agent="Muse", tool_outputs=outputs)[0]


@covers("citation.kept", "citation.unknown-marked")
def test_an_answers_citations_are_kept_with_it_and_verified(cited):
    loom, question, answer = cited
    known, unknown = answer.citations
    assert (known.number, known.source, answer.text[known.start : known.end]) == (1, "tower.md", "[1]")
    assert (unknown.number, unknown.source, unknown.is_known) == (7, None, False)
    again = loom.tree("Lamp").node(answer.local_id)
    assert again.citations == answer.citations
    assert question.citations == ()
    assert loom.verify().findings == ()
    plain = question.generate(agent="Muse")[0]
    assert plain.citations == ()


@covers("citation.kept")
def test_sources_beside_those_of_tools_can_be_cited(cited):
    _, question, _ = cited
    answer = question.generate(agent="Muse", citable=[CitedSource(1, "seen.md")])[0]
    assert [each.source for each in answer.citations] == ["seen.md"]


@covers("citation.kept")
def test_citations_travel_with_an_export(cited, tmp_path):
    loom, _, answer = cited
    loom.export(tmp_path / "lamp.json")
    with weft.open(tmp_path / "other.db") as other:
        other.import_(tmp_path / "lamp.json")
        moved = other.tree("Lamp").node(answer.local_id)
        assert moved.citations == answer.citations
        assert other.verify().findings == ()
    record = next(
        each
        for each in json.loads((tmp_path / "lamp.json").read_text())["records"]
        if each["record"] == "node" and each["localId"] == answer.local_id
    )
    assert record["citations"][0] == {"number": 1, "source": "tower.md", "start": 13, "end": 16}


@covers("citation.faces")
def test_citations_are_shown_on_every_face(tmp_path, empty_tables):
    address = shutil.copy(empty_tables, tmp_path / "grove.db")
    with weft.open(address) as loom:
        tree = loom.plant("Lamp")
        asked = tree.say("Where is the lamp?")
        cite(loom, tree.id, asked.id)
        answer = asked.children[0]
        app = create_app(loom, ServerSettings(keys=("key",)))
        with TestClient(app, base_url="http://127.0.0.1:7370") as client:
            path = f"/api/trees/{tree.id}/nodes/{answer.id}/path"
            nodes = client.get(path, headers={"Authorization": "Bearer key"}).json()["nodes"]
        with talking(McpFace(loom).server()) as talk:
            viewed = talk("view", tree=tree.id, node=answer.local_id, full=True).text
    assert nodes[-1]["citations"] == [
        {"number": 1, "source": "tower.md", "title": "Tower", "start": 10, "end": 13},
        {"number": 9, "source": None, "title": "", "start": 22, "end": 25},
    ]
    assert viewed.endswith("  cites [1] tower.md (Tower) · [9] unknown source")
    desk = Desk(str(address))
    read = desk("read", answer.id, "--headings").out
    assert "2 citations · unknown source [9]" in read
    assert read.endswith("It is lit [1], or not [9].\n  [1] tower.md (Tower)\n  [9] unknown source\n")
    assert desk.json("read", answer.id)["nodes"][-1]["citations"] == nodes[-1]["citations"]
    shown = desk.ok("provenance", answer.id)
    assert "cites       [1] tower.md (Tower)\n            [9] unknown source" in shown
    assert desk.json("provenance", answer.id)["citations"] == nodes[-1]["citations"]


@covers("citation.kept")
def test_the_sources_of_a_call_are_written_down_with_its_request_for_who_closes_it_after_a_crash(cited):
    loom, question, _ = cited
    with loom.caller.store.read() as session:
        tree = find_tree(session, question.value.tree_id)
        attempt = session.execute(
            select(schema.attempts.c.key).where(schema.attempts.c.tree == tree)
        ).scalar_one()
        assert [each.id for each in _catalog(manifest_of(session, tree, attempt))] == ["tower.md"]
    assert _catalog(None) == ()
