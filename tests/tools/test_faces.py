"""Tools on the command line and over HTTP."""

import json
import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.cli.desk import Desk
from tests.covers import covers

import weft
from weft.server import ServerSettings, create_app

HARBOUR = [sys.executable, str(Path(__file__).parents[1] / "data" / "mcp" / "harbour.py")]


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_KEYS", str(tmp_path / "config" / "keys.json"))
    desk = Desk(str(tmp_path / "grove.db"))
    desk.ok("new", "Marie")
    return desk


@pytest.mark.outer
@covers("toolcall.mcp-servers", "toolcall.approval-prompt")
def test_a_server_is_added_listed_run_and_removed_on_the_command_line(desk, tmp_path, monkeypatch):
    assert "BELL is not set" in desk.fail(
        "UNAVAILABLE", "tools", "add", "mcp", "harbour", "--secret", "BELL", "--", *HARBOUR
    )
    monkeypatch.setattr("weft.providers.keys.system_ring", lambda: None)
    desk("tools", "secret", "harbour", "BELL", stdin=str(tmp_path / "bell"))
    added = desk("tools", "add", "mcp", "harbour", "--secret", "BELL", "--", *HARBOUR)
    assert added.err == "added harbour with 7 tools\n"
    assert added.out.splitlines()[0] == "harbour.depth"
    listed = {each["name"]: each for each in json.loads(desk.ok("tools", "--json"))}
    ring = listed["harbour.ring"]
    assert (ring["effects"], ring["policy"], ring["permission"], ring["off"]) == (
        True,
        "ask",
        "loom_aware",
        None,
    )
    assert "harbour.depth\tplace,metres?\tallow\tThe depth of the water." in desk.ok("tools")
    assert "Quay: 2 m" in desk.ok("tools", "run", "harbour.depth", "Quay", "metres=2")
    assert "needs the approval of a person" in desk.fail(
        "PERMISSION_DENIED", "tools", "run", "harbour.ring", "times=1"
    )
    assert not (tmp_path / "bell").exists()
    desk.ok("tools", "run", "harbour.ring", "times=1", "--yes")
    assert (tmp_path / "bell").read_text() == "ding\n"
    assert desk("tools", "remove", "harbour").err == "removed harbour\n"
    assert "harbour" not in desk.ok("tools")
    assert "there is no server 'harbour'" in desk.fail("NOT_FOUND", "tools", "remove", "harbour")


@covers("toolcall.policies", "toolcall.read-url")
def test_policies_and_addresses_are_set_on_the_command_line(desk):
    desk.ok("tools", "policy", "getTimeInfo", "deny")
    assert "getTimeInfo\ttimeRange?,zone?\tdeny\toff: its policy is deny" in desk.ok("tools")
    assert "getTimeInfo is not allowed here" in desk.fail("PERMISSION_DENIED", "tools", "run", "getTimeInfo")
    desk.ok("tools", "policy", "getTimeInfo", "default")
    desk.ok("tools", "run", "getTimeInfo")
    assert "off: reading addresses is off" in desk.ok("tools")
    desk.ok("tools", "urls", "public")
    assert "off: reading addresses is off" not in desk.ok("tools")


@covers("toolcall.approval-prompt")
def test_a_person_at_a_terminal_is_asked(desk, monkeypatch):
    desk.ok("tools", "policy", "getTimeInfo", "ask")
    monkeypatch.setattr("weft.cli.answer_display.is_interactive", lambda: True)
    agreed = desk("tools", "run", "getTimeInfo", stdin="y\n")
    assert agreed.out.startswith("<getTimeInfo>")
    assert "wants to run getTimeInfo() [y/N]" in agreed.err
    assert "a person refused getTimeInfo" in desk("tools", "run", "getTimeInfo", stdin="n\n").err


@covers("toolcall.http")
def test_tools_are_listed_and_run_over_http(tmp_path):
    with weft.open(tmp_path / "grove.db") as loom:
        turn = loom.plant("Marie").say("Why?")
        app = create_app(loom, ServerSettings(keys=("key",)))
        with TestClient(
            app, base_url="http://127.0.0.1:7370", headers={"Authorization": "Bearer key"}
        ) as client:
            tools = {each["name"]: each for each in client.get("/api/tools").json()["tools"]}
            assert tools["localSearch"]["parameters"]["required"] == ["query"]
            assert tools["webSearch"]["off"].startswith("no provider is configured")
            body = {"arguments": {"query": "why"}, "at": turn.id}
            ran = client.post("/api/tools/localSearch/run", json=body).json()
            assert ran["rendered"].startswith("<localSearch>")
            assert ran["sources"] == []
            for path, given, status in (
                ("localSearch", {"arguments": {}}, 400),
                ("localSearch", {"arguments": []}, 400),
                ("localSearch", {"arguments": {"query": "x"}, "at": 7}, 400),
                ("localSearch", {"arguments": {"query": "x"}, "at": "zzzz"}, 404),
                ("nothing", {}, 404),
                ("webSearch", {"arguments": {"query": "x"}}, 503),
            ):
                assert client.post(f"/api/tools/{path}/run", json=given).status_code == status, path
            assert client.put("/api/tools/localSearch/policy", json={"policy": "ask"}).status_code == 200
            assert client.post("/api/tools/localSearch/run", json=body).status_code == 403
            assert client.put("/api/tools/localSearch/policy", json={"policy": "no"}).status_code == 400
            assert client.put("/api/tool-urls", json={"urls": "public"}).status_code == 200
            assert client.get(f"/api/trees/{turn.tree.id}/results/100001").status_code == 404
            assert client.get(f"/api/trees/{turn.tree.id}/results/x").status_code == 400
