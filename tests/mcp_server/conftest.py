"""A grove with somebody to ask, and a connection to it."""

from collections.abc import Iterator

import pytest
from tests.mcp_server.scenario import AGENT
from tests.mcp_server.talk import Talk, talking

import weft
from weft.mcp_server.server import McpFace
from weft.tree.agent import AgentType


@pytest.fixture(scope="module")
def peopled(loom: weft.Grove) -> weft.Grove:
    loom.add_agent(AGENT, type=AgentType.MODEL, model_ref="scripted:echo")
    return loom


@pytest.fixture(scope="module")
def talk(peopled: weft.Grove) -> Iterator[Talk]:
    with talking(McpFace(peopled).server()) as talk:
        yield talk
