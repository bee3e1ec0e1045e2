"""The official client drives every tool, over every transport; what it grows is what Python grows."""

from pathlib import Path

import pytest
from tests.covers import covers
from tests.mcp_server.scenario import AGENT, looks, through_mcp, through_python
from tests.mcp_server.talk import OverHttp, over_pipes, talking
from tests.soundness import check_sound

import weft
from weft.commands.catalog import CATALOG
from weft.mcp_server.server import McpFace
from weft.mcp_server.tools import TOOLS
from weft.tree.agent import AgentType


def peopled(path: Path) -> weft.Grove:
    grove = weft.open(path)
    grove.add_agent(AGENT, type=AgentType.MODEL, model_ref="scripted:echo")
    return grove


@pytest.fixture(scope="module")
def grown(tmp_path_factory) -> dict:
    """What Python makes of the story."""
    with peopled(tmp_path_factory.mktemp("python") / "grove.db") as grove:
        return looks(grove, through_python(grove))


@covers("mcp.every-command")
def test_every_command_is_a_tool():
    assert CATALOG.keys() <= TOOLS.keys()
    flagged = {name for name, tool in TOOLS.items() if "everywhere" in tool.taken.model_fields}
    assert flagged == {row.name for row in CATALOG.values() if row.everywhere}


@covers("mcp.tools-and-resources", "mcp.same-tree")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_tree_built_in_process_equals_one_built_through_python(fresh_loom, grown, mode):
    fresh_loom.add_agent(AGENT, type=AgentType.MODEL, model_ref="scripted:echo")
    with talking(McpFace(fresh_loom).server(), mode=mode) as talk:
        tree, used = through_mcp(talk)
    assert used == set(TOOLS)
    assert looks(fresh_loom, tree) == grown
    assert fresh_loom.verify().valid
    check_sound(fresh_loom)


@covers("mcp.transports", "mcp.same-tree")
def test_a_tree_built_over_pipes_equals_one_built_through_python(tmp_path, grown):
    peopled(tmp_path / "grove.db").close()
    with over_pipes(str(tmp_path / "grove.db")) as talk:
        tree, used = through_mcp(talk)
    assert used == set(TOOLS)
    with weft.open(tmp_path / "grove.db") as grove:
        assert looks(grove, tree) == grown


@covers("mcp.transports", "mcp.same-tree", "mcp.orderly-end")
def test_a_tree_built_over_http_equals_one_built_through_python(tmp_path, grown):
    peopled(tmp_path / "grove.db").close()
    server = OverHttp(str(tmp_path / "grove.db"))
    with server.talk() as talk:
        tree, used = through_mcp(talk)
    with server.talk(mode="legacy") as talk:
        assert "Fog and fear." in talk.do("tree", tree=tree)["reply"]
        assert tree in talk.ask("read_resource", f"weft://tree/{tree}").contents[0].uri
    assert server.stop() == (
        0,
        "serving MCP; send the token as Authorization: Bearer; stop with Ctrl-C\nstopped\n",
    )
    assert used == set(TOOLS)
    with weft.open(tmp_path / "grove.db") as grove:
        assert looks(grove, tree) == grown
