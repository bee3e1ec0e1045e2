"""A long conversation of an agent with tools, through the official clients: one tree, its histories, its caches."""

import json
from dataclasses import replace

import anthropic
import openai
import pytest
from bench.provider_cache import SimulatedCache
from tests.covers import covers
from tests.proxy.agents import Agent, AnthropicHands, OpenAIHands, converse
from tests.proxy.conversations import keys_of
from tests.proxy.proxied import UPSTREAM_KEY, Proxied, proxied
from tests.proxy.upstreams import Answer, upstream

import weft
from weft.context.cache.controls import CacheControls, PrefixMark
from weft.context.envelope import RequestBlock, sha256_of
from weft.providers.anthropic import anthropic_profile
from weft.providers.openai import openai_profile
from weft.runtime.proxy.history import canonical, read_history, without_marks
from weft.runtime.proxy.wires import Wire

TURNS = 100
"""Questions; with the results of tools, the model is asked twice as often."""
WINDOW = 10_800
"""A third of the history."""
HANDS = {Wire.CHAT: OpenAIHands, Wire.MESSAGES: AnthropicHands}


class Failing:
    """The agent's model, which is overloaded now and then."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.failed: set[str] = set()

    def __call__(self, body, number):
        name = str(len(body["messages"]))
        if len(body["messages"]) % 17 == 3 and name not in self.failed:
            self.failed.add(name)
            return Answer(status=529, headers={"retry-after-ms": "1"})
        return self.agent.script(body, number)


def client_of(wire: Wire, url: str, key: str):
    if wire is Wire.CHAT:
        return openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=2)
    return anthropic.Anthropic(base_url=url, api_key=key, max_retries=2)


def blocks_of(body) -> tuple[list[RequestBlock], CacheControls]:
    """A request as a provider's cache sees it: blocks in order, and the marks on them."""
    blocks: list[RequestBlock] = []
    marks: list[PrefixMark] = []

    def add(message, number, kind, value):
        words = canonical(without_marks(value))
        blocks.append(RequestBlock(message, number, kind, sha256_of(words), len(words) // 4))
        if isinstance(value, dict) and "cache_control" in value:
            marks.append(PrefixMark(message=message, block=number, control={}))

    add(None, 0, "tools", body.get("tools"))
    system = body.get("system") or []
    for number, each in enumerate([{"type": "text", "text": system}] if isinstance(system, str) else system):
        add(None, number + 1, "text", each)
    for index, message in enumerate(body["messages"]):
        content = message.get("content")
        listed = content if isinstance(content, list) else [{"type": "text", "text": content}]
        for number, each in enumerate(listed):
            add(index, number, str(message["role"]), each)
        if message.get("tool_calls"):
            add(index, len(listed), "calls", message["tool_calls"])
    return blocks, CacheControls(marks=tuple(marks))


def use_of(wire: Wire, bodies) -> tuple[float, float]:
    """The share that the provider's cache would read of all tokens, and the cost in tokens."""
    cache = SimulatedCache(anthropic_profile("claude-x").cache, 300)
    if wire is Wire.CHAT:
        cache = SimulatedCache(openai_profile("gpt-4o").cache, 3_600)
    read = total = cost = 0.0
    for moment, body in enumerate(bodies):
        use = cache.send(*blocks_of(body), now=moment)
        read += use.read
        total += use.read + use.written + use.plain
        cost += use.cost(read=0.1, write=1.25 if wire is Wire.MESSAGES else 1.0)
    return read / total, cost


def check_histories(proxy: Proxied, wire: Wire) -> None:
    """One tree, whose paths are exactly the histories that were sent."""
    (tree,) = proxy.grove.trees()
    nodes = {}
    for leaf in tree.leaves:
        path = proxy.grove.read.path(tree.id, leaf.id, tail=10_000).nodes
        for above, node in zip([None, *path], path, strict=False):
            nodes[node.id] = (None if above is None else above.id, keys_of(node))
    (session,) = proxy.grove.proxy.sessions()
    begins = {each.node for each in proxy.grove.proxy.compactions(tree.id)}
    assert len(begins) == 1
    requests = proxy.grove.proxy.requests(session.id, limit=1_000)
    bodies = [each.json for each in proxy.upstream.heard] if proxy.sent is None else proxy.sent
    assert len(requests) == len(bodies)
    for request, body in zip(requests, bodies, strict=True):
        keys, at = [], request.node
        while at is not None:
            above, own = nodes[at]
            keys[:0] = own
            at = None if at in begins else above
        assert keys == [part.key for part in read_history(wire, body) if part.key], request


@pytest.mark.outer
@covers("proxy.long-conversation")
@pytest.mark.parametrize("wire", HANDS)
def test_a_long_conversation_with_tools_is_one_tree_and_costs_what_going_direct_costs(tmp_path, wire):
    agent = Agent(turns=TURNS)
    with weft.open(tmp_path / "grove.db") as grove, proxied(grove, Failing(agent)) as proxy:
        with client_of(wire, proxy.url, proxy.owner_key) as client:
            converse(agent, HANDS[wire](client))
        proxy.recorded()
        check_histories(proxy, wire)
        assert grove.verify(quick=True).valid
        through = [each.body for each in proxy.upstream.heard]
    with upstream(Failing(agent)) as direct:
        with client_of(wire, direct.url, UPSTREAM_KEY) as client:
            converse(agent, HANDS[wire](client))
        alone = [each.body for each in direct.heard]
    assert through == alone
    assert use_of(wire, map(json.loads, through)) == use_of(wire, map(json.loads, alone))


@pytest.mark.outer
@covers("proxy.through-the-engine", "proxy.fit-reuses-the-cache")
@pytest.mark.parametrize("wire", HANDS)
def test_a_fitted_conversation_reuses_the_providers_cache(tmp_path, wire):
    agent = Agent(turns=TURNS)
    with weft.open(tmp_path / "grove.db") as grove, proxied(grove, agent.script) as proxy:
        grove.proxy.set_policy("owner", "fit", window=WINDOW)
        with client_of(wire, proxy.url, proxy.owner_key) as client:
            hands = HANDS[wire](client)
            converse(agent, hands, edits=False)
        history = {block.sha256: block.tokens for body in hands.sent for block in blocks_of(body)[0]}
        assert sum(history.values()) >= 3 * WINDOW
        proxy.recorded()
        check_histories(replace(proxy, sent=hands.sent), wire)
        bodies = [each.json for each in proxy.upstream.heard]
        assert max(sum(block.tokens for block in blocks_of(body)[0]) for body in bodies) < 1.2 * WINDOW
        (session,) = grove.proxy.sessions()
        requests = grove.proxy.requests(session.id, limit=1_000)
        assert any("cut" in each.changed for each in requests)
        last = next(each for each in reversed(requests) if "cut" in each.changed)
        manifest = grove.evidence.manifest(last.tree_id, last.reply)
        assert json.loads(manifest)["settings"]["proxy"] == last.changed
        reuse, _ = use_of(wire, bodies)
        assert reuse >= 0.95
