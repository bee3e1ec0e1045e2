"""The core set of tools, and agents that are made for a connection; with the official client on both transports."""

import json

import pytest
from mcp import MCPError
from tests.covers import covers
from tests.mcp_server.talk import OverHttp, over_pipes, talking

import weft
from weft.context.tokens import DEFAULT
from weft.mcp_server.server import McpFace
from weft.mcp_server.tools import CORE_TOOLS, TOOLS
from weft.tree.agent import AgentType, Permission


@covers("mcp.core-tools")
def test_the_core_set_is_small_and_enough_to_read_write_branch_search_and_see_a_context():
    listed = [each.listed().model_dump(by_alias=True, exclude_none=True) for each in CORE_TOOLS.values()]
    assert len(listed) <= 15
    assert DEFAULT.of_text(json.dumps(listed, ensure_ascii=False)) <= 4_000
    assert {"view", "respond", "edit", "continue", "search", "context", "read", "write"} <= CORE_TOOLS.keys()
    assert CORE_TOOLS.keys() < TOOLS.keys()


def use(talk) -> None:
    """What an assistant does, with the core tools alone."""
    tree = talk.do("new_tree", title="Harbour", text="Why does she hesitate?")
    said = talk.do("respond", tree=tree["id"], node=tree["root"], text="Because of the fog.")
    edited = talk.do("edit", tree=tree["id"], node=said["nodes"][0], text="Because of the storm.")
    assert "storm" in talk.do("view", tree=tree["id"], node=edited["nodes"][0])["reply"]
    assert talk.do("search", tree=tree["id"], query="storm")["reply"]
    assert talk.do("context", tree=tree["id"])["tokens"] > 0
    assert "offered here: trees" in talk("help").text
    names = {each.name for each in talk.ask("list_tools").tools}
    assert names == set(CORE_TOOLS)
    with pytest.raises(MCPError, match="--tools all"):
        talk("merge", tree=tree["id"], nodes=["a", "b"], text="x")


@pytest.mark.outer
@covers("mcp.core-tools", "mcp.agent-is-made", "mcp.transports")
def test_over_pipes_the_core_set_is_offered_and_a_new_agent_has_the_connections_rights(tmp_path):
    path = str(tmp_path / "grove.db")
    with over_pipes(path, "--tools", "core", "--agent", "Claude") as talk:
        use(talk)
    for more in (["--read-only"], ["--allow", "loom_aware,loom_write"]):
        with over_pipes(path, "--agent", more[-1], *more) as talk:
            assert {each.name for each in talk.ask("list_tools").tools} == set(TOOLS)
    # An agent that exists is taken as it is.
    with over_pipes(path, "--agent", "Claude", "--read-only") as talk:
        assert not talk("trees").refused
    with weft.open(path) as grove:
        agents = {each.name: each for each in grove.agents()}
        assert agents["Claude"].type is AgentType.MODEL
        assert agents["Claude"].permissions == grove.me.permissions
        assert agents["--read-only"].permissions == {Permission.LOOM_AWARE, Permission.DOC_READ}
        assert agents["loom_aware,loom_write"].permissions == {Permission.LOOM_AWARE, Permission.LOOM_WRITE}
        (tree,) = grove.trees()
        assert {line.node.author_id for line in grove.read.outline(tree.id)} == {agents["Claude"].id}
        # Its model is never called: it does not become the one that answers.
        assert len([each for each in grove.agents() if each.name == "Claude"]) == 1


@pytest.mark.outer
@covers("mcp.core-tools", "mcp.agent-is-made", "mcp.transports")
def test_over_http_the_core_set_is_offered_and_the_named_agent_is_the_author(tmp_path):
    path = tmp_path / "grove.db"
    started = OverHttp(str(path), "--tools", "core", "--agent", "Claude")
    try:
        with started.talk() as talk:
            use(talk)
    finally:
        started.stop()
    with weft.open(path) as grove:
        (tree,) = grove.trees()
        assert grove.read.agent("Claude").id in {line.node.author_id for line in grove.read.outline(tree.id)}


@covers("mcp.prompts")
def test_comparing_a_node_without_siblings_says_that_there_is_nothing_to_compare(peopled):
    tree = peopled.plant("T", "one")
    alone = tree.root.say("two")
    with talking(McpFace(peopled).server()) as talk:
        for node in (alone, tree.root):
            with pytest.raises(MCPError, match="nothing to compare"):
                talk.ask("get_prompt", "compare-siblings", {"tree": tree.id, "node": node.local_id})
        tree.root.say("three")
        prompt = talk.ask("get_prompt", "compare-siblings", {"tree": tree.id, "node": alone.local_id})
        assert len(prompt.messages) == 3
