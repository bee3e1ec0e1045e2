"""Generating through MCP: told as it comes, stopped when nobody waits, kept either way."""

import anyio
import pytest
from tests.covers import covers
from tests.mcp_server.talk import talking

import weft
from weft.mcp_server.server import McpFace
from weft.providers.base import ProviderRegistry
from weft.testing import Gate, Scripted
from weft.tree.agent import AgentType


def with_model(address: str, model: Scripted) -> weft.Grove:
    grove = weft.open(address, providers=ProviderRegistry({model.name: model}))
    grove.add_agent("Muse", type=AgentType.MODEL, model_ref="scripted:muse")
    return grove


@covers("mcp.progress")
def test_a_generation_tells_how_far_it_is(address):
    with with_model(address, Scripted(["one two three", "four five six"])) as grove:
        tree = grove.plant("T", "Why?")
        told = []

        async def heard(progress, total, message):
            told.append((progress, message))

        for mode in ("auto", "legacy"):
            with talking(McpFace(grove).server(), mode=mode) as talk:
                made = talk.ask(
                    "call_tool", "continue", {"tree": tree.id, "agent": "Muse"}, progress_callback=heard
                ).structured_content
            assert made["nodes"]
        amounts = [amount for amount, _ in told]
        assert told
        assert all(message.partition(" of ")[0] in {"0", "1"} for _, message in told)
        half = next((n for n in range(1, len(amounts)) if amounts[n] < amounts[n - 1]), len(amounts))
        assert amounts[:half] == sorted(set(amounts[:half]))


@covers("mcp.cancelling")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_call_that_is_given_up_stops_the_generation_and_keeps_what_came(address, mode):
    with with_model(address, Scripted(["one two three four"], gate=Gate(2))) as grove:
        tree = grove.plant("T", "Why?")

        async def give_up(client):
            with anyio.CancelScope() as scope:

                async def heard(progress, total, message):
                    scope.cancel()

                given = {"tree": tree.id, "agent": "Muse"}
                await client.call_tool("continue", given, progress_callback=heard)

        with talking(McpFace(grove).server(), mode=mode) as talk:
            talk.portal.call(give_up, talk.client)
            # The same connection goes on.
            talk.do("tree", tree=tree.id)
        # Nobody holds the place any more.
        tree.root.say("Never mind.")
        kept = [node for node in tree.root.children if node.value.author_type == "model"]
        assert [node.value.status for node in kept] == ["interrupted"]
        assert kept[0].text.startswith("one")


@covers("mcp.cancelling")
def test_other_calls_go_on_while_a_model_speaks(address):
    gate = Gate()
    with with_model(address, Scripted(["one two"], gate=gate)) as grove:
        tree = grove.plant("T", "Why?")

        async def both(client):
            made, seen = [], []

            async def ask():
                made.append(await client.call_tool("continue", {"tree": tree.id, "agent": "Muse"}))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask)
                seen += [await client.call_tool("tree", {"tree": tree.id}) for _ in range(12)]
                gate.open()
            return made, seen

        with talking(McpFace(grove).server()) as talk:
            made, seen = talk.portal.call(both, talk.client)
        assert not made[0].is_error
        assert all(not each.is_error for each in seen)
