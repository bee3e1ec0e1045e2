"""What you see is what is sent: the request of a context is the body that a provider's server receives."""

import itertools
import json
import os
import random
from datetime import UTC, datetime, timedelta

import pytest
from tests.covers import covers
from tests.generation.test_vendors import serving
from tests.providers.houses import (
    DONE,
    HOUSES,
    anthropic_text,
    chunk,
    completion,
    connect,
    delta,
    gemini,
    response_text,
)
from tests.providers.loopback import plain, streamed
from tests.soundness import check_sound

import weft
from weft.context.items.blocks import ToolOutput
from weft.errors import ConflictError, InvalidInputError, LimitExceededError, NotFoundError, WeftError
from weft.providers.base import ProviderRegistry
from weft.providers.compatible import Compatible
from weft.runtime.coordination.background import model_loop
from weft.runtime.operations.nodes import AppendHistory
from weft.tree.agent import COLLABORATOR
from weft.tree.content import Image, Mixed, Text, Thinking, ToolCall, ToolResult
from weft.tree.item import Item
from weft.tree.node import Role

PROVE = bool(os.environ.get("WEFT_PROVE"))
TREES = 25 if PROVE else 3
"""Of each part. With ten parts on two stores and four cases for each tree: 2,000."""
CASES = 4
PICTURE = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (3).to_bytes(4) + (4).to_bytes(4)
CACHE = "cachedContents/kept1"
MODELS = {
    "anthropic": "claude-opus-4-5",
    "openai-chat": "gpt-4o",
    "openai-responses": "gpt-5.1",
    "openai-completions": "davinci-002",
    "google": "gemini-2.5-flash",
    "compatible": "vllm/meta-llama/Llama-3.1-8B",
}


async def answer(heard, writer):
    """Any provider's server, by the path."""
    body, target = json.loads(heard.body), heard.target
    count = range(body.get("n") or 1)
    if target.endswith("/messages"):
        pieces = anthropic_text(["Yes."])
    elif target.endswith("/responses"):
        pieces = response_text(["Yes."])
    elif target.endswith("/chat/completions"):
        pieces = [*(chunk(delta(each, content="Yes.")) for each in count)]
        pieces += [*(chunk(delta(each, reason="stop")) for each in count), DONE]
    elif target.endswith("/completions"):
        pieces = [*(completion("Yes.", "stop", each) for each in count), DONE]
    elif "cachedContents" in target:
        await plain(200, json.dumps({"name": CACHE, "model": "models/x"}).encode())(heard, writer)
        return
    else:
        count = range(body.get("generationConfig", {}).get("candidateCount") or 1)
        pieces = [gemini({"text": "Yes."}, reason="STOP", index=each) for each in count]
    await streamed(*pieces)(heard, writer)


@pytest.fixture(scope="module")
def server():
    with serving(answer) as listening:
        yield listening


@pytest.fixture
def grove(address, server):
    def at(name, base=""):
        return connect(server.url + base, name)

    providers = {
        "anthropic": HOUSES["anthropic"].make(at("anthropic")),
        "openai": HOUSES["chat"].make(at("openai", "/v1")),
        "google": HOUSES["google"].make(at("google")),
        "compatible": Compatible(environment={}, connections={"vllm": at("compatible", "/v1")}),
    }
    with weft.open(address, providers=ProviderRegistry(providers)) as opened:
        for name, model in MODELS.items():
            reference = f"{name.partition('-')[0]}:{model}"
            opened.add_agent(name, model_ref=reference)
        yield opened
    for provider in providers.values():
        model_loop().submit(provider.close()).result()


def sent_by(server, generate):
    """The bodies that reach the server meanwhile."""
    before = len(server.heard)
    generate()
    return [heard.body for heard in server.heard[before:]]


def outcome(make):
    try:
        return make(), None
    except WeftError as error:
        return None, error


class Wild:
    """Random trees, agents and options, the same for the same seed."""

    def __init__(self, grove, seed):
        self.grove = grove
        self.dice = random.Random(seed)
        self.seed = seed
        self.numbers = itertools.count()
        self.agents = self._agents()
        self.tree = self._tree()
        self.nodes = [self.tree.root]
        for _ in range(self.dice.randrange(2, 12)):
            # What a tree refuses, such as a branch beside its root, it goes without.
            outcome(self._grow)

    def words(self, most=30):
        dice = self.dice
        text = " ".join(
            dice.choice(
                ["tea", "river", "— ja", "雨が降る", "🌊", "\r\nline", "  two", "\ttab", "a<b>", "x" * 40]
            )
            for _ in range(dice.randrange(1, most))
        )
        return dice.choice(["", " ", "\n", "\r\n"]) + text + dice.choice(["", "", " ", "\n\n", "\r\n "])

    def maybe(self, chance, value):
        return value() if self.dice.random() < chance else None

    def _agents(self):
        dice, agents = self.dice, []
        for name in dice.sample(list(MODELS), 3):
            settings = {
                "system_prompt": self.maybe(0.6, self.words),
                "temperature": self.maybe(0.3, lambda: dice.choice([0.0, 0.5, 1.0])),
                "max_tokens": self.maybe(0.3, lambda: dice.randrange(16, 400)),
                "stop_sequences": self.maybe(0.2, lambda: ("END",)),
                "custom": {
                    **(self.maybe(0.3, lambda: {"contextWindow": dice.randrange(1_500, 9_000)}) or {}),
                    **(self.maybe(0.3, lambda: {"loomLayout": "cache"}) or {}),
                },
                "permissions": self.maybe(0.35, lambda: list(COLLABORATOR)),
            }
            given = {key: value for key, value in settings.items() if value is not None}
            model = f"{name.partition('-')[0]}:{MODELS[name]}"
            agents.append(self.grove.add_agent(f"{name} {self.seed}", model_ref=model, **given).name)
        return agents

    def _tree(self):
        dice = self.dice
        tree = self.grove.plant(
            f"Wild {self.seed}",
            self.maybe(0.8, self.words) or "",
            mode=dice.choice(["dialogue", "dialogue", "buffer"]),
            system_context=self.maybe(0.6, self.words) or "",
            buffer_mode_system_context=dice.random() < 0.5,
        )
        if dice.random() < 0.3:
            project = self.grove.create_project(f"Project {self.seed}", system_prompt=self.words())
            self.grove.write_document(f"Facts {self.seed}", content=self.words())
            project.change(context=[f"doc:Facts {self.seed}"])
            project.add(tree)
        if dice.random() < 0.2:
            self.grove.remember(self.words(8))
        preferences = {
            "truncationStrategy": self.maybe(0.4, lambda: dice.choice(["rollingWindow", "truncateMiddle"])),
            "truncationStep": self.maybe(0.3, lambda: dice.choice([0, 0.1, 0.5])),
            "minimumRecentNodes": self.maybe(0.3, lambda: dice.randrange(0, 5)),
            "nameAuthors": self.maybe(0.3, lambda: True),
            "library": self.maybe(0.3, lambda: dice.choice(["inline", "system"])),
            "changed": self.maybe(0.3, lambda: dice.choice(["append", "refresh"])),
            "stripTurns": self.maybe(0.1, lambda: dice.randrange(0, 3)),
            "cacheLifetime": self.maybe(0.2, lambda: dice.choice(["5m", "1h"])),
            "instructions": self.maybe(0.2, lambda: "last"),
        }
        return tree.prefer(**{key: value for key, value in preferences.items() if value is not None})

    def _grow(self):
        dice = self.dice
        here = dice.choice([self.nodes[-1], self.nodes[-1], dice.choice(self.nodes)])
        made = dice.choice(GROWTH)(self, here)
        if made is not None:
            self.nodes.append(made)
        if dice.random() < 0.25:
            item = Item(id=f"note{dice.randrange(3)}.md", type="note", content=self.words())
            # Not to what was generated from, and not twice to one node.
            outcome(lambda: self.nodes[-1].attach(item))

    def any_node(self):
        return self.dice.choice(self.nodes)

    def use_a_tool(self, here):
        call = ToolCall(id=f"c{next(self.numbers)}", name="look", arguments={"at": self.words(4)})
        made = here.say(Mixed((Thinking(text="Hm."), Text("So."), call)), author=self.agents[0])
        if self.dice.random() < 0.8:
            result = ToolResult(call_id=call.id, content=self.dice.choice([self.words(), 42, {"rows": [1]}]))
            operation = AppendHistory(tree=self.tree.id, parent=made.id, content=result, role=Role.TOOL)
            made = self.tree.node(self.grove.perform(operation).id)
        return made

    def show_a_picture(self, here):
        ref = self.grove.put_blob(PICTURE)
        return here.say(Mixed((Text("See."), Image(ref=ref, mime_type="image/png", width=3, height=4))))

    def options(self):
        dice = self.dice
        given = {
            "agent": dice.choice(self.agents),
            "limit": self.maybe(0.35, lambda: dice.randrange(40, 600)),
            "window": self.maybe(0.2, lambda: dice.randrange(1_500, 5_000)),
            "max_tokens": self.maybe(0.3, lambda: dice.randrange(16, 300)),
            "temperature": self.maybe(0.3, lambda: dice.choice([0.0, 0.3, 1.0])),
            "top_p": self.maybe(0.2, lambda: 0.5),
            "seed": self.maybe(0.2, lambda: 7),
            "n": self.maybe(0.15, lambda: 2),
            "stop": self.maybe(0.15, lambda: ["STOP"]),
            "logprobs": self.maybe(0.1, lambda: 2),
            "strategy": self.maybe(0.2, lambda: "rollingWindow"),
            "step": self.maybe(0.2, lambda: 0.25),
            "prefill": self.maybe(0.1, lambda: False),
            "annotations": self.maybe(0.1, lambda: True),
            "context": self.maybe(0.2, lambda: [dice.choice(self.nodes)]),
            "instructions": self.maybe(0.2, lambda: [dice.choice(self.nodes)]),
            "tool_outputs": self.maybe(0.2, lambda: [ToolOutput(name="localSearch", content=self.words())]),
            "addendum": self.maybe(0.1, self.words),
            "tool_descriptions": self.maybe(0.1, self.words),
            "summary": self.maybe(0.05, self.words),
            "fresh": self.maybe(0.1, lambda: False),
        }
        if dice.random() < 0.15:
            del given["agent"]
        return {name: value for name, value in given.items() if value is not None}

    def change_something(self):
        """The tree goes on while a context waits to be sent."""
        node = self.dice.choice(self.nodes)
        self.dice.choice([node.exclude, node.include, lambda: node.say("Meanwhile."), lambda: None])()


def as_named(body):
    """With the name that the server gives to a cache that is created."""
    name = body.get("cachedContent")
    return body.data if name is None else body.data.replace(name.encode(), CACHE.encode())


GROWTH = [
    *[lambda wild, here: here.say(wild.words(), author=wild.dice.choice([None, *wild.agents]))] * 5,
    lambda wild, here: here.say(wild.words(), context=[wild.any_node()]),
    lambda wild, here: here.say(wild.words(), instructions=[wild.any_node()]),
    lambda wild, here: here.merge(wild.any_node(), content=wild.words()),
    lambda wild, here: here.edit(wild.words()),
    lambda wild, here: here.annotate(wild.words()) and None,
    lambda wild, _: wild.any_node().exclude() and None,
    Wild.use_a_tool,
    Wild.show_a_picture,
]


def check_case(wild, server, moment):
    """The preview of a place is what is sent from there, or both are refused alike."""
    dice, node = wild.dice, wild.dice.choice(wild.nodes)
    options = {**wild.options(), "as_of": moment}
    if wild.tree.mode == "buffer" and dice.random() < 0.4:
        node.switch()
        wild.tree.type(wild.words(6))
    for sends_prepared in (True, False):
        told = f"seed {wild.seed}: {node!r} {options} {sends_prepared}"
        context, refusal = outcome(lambda: node.context(**options))
        if context is None:
            _, error = outcome(lambda: node.generate(**options))
            assert type(error) is type(refusal), told
            continue
        requests = context.requests
        if sends_prepared and not wild.tree.refresh().working_buffer:
            wild.change_something()
        given = {"prepared": context} if sends_prepared else options
        grown = []
        if context.request.why:
            heard = sent_by(server, lambda given=given: outcome(lambda: node.generate(**given)))
            assert heard == [], told
            continue
        heard = sent_by(server, lambda given=given, grown=grown: grown.extend(node.generate(**given)))
        assert sorted(heard) == sorted(map(as_named, requests)), told
        wild.nodes += dice.sample(grown, 1)


@pytest.mark.long
@pytest.mark.parametrize("part", range(10 if PROVE else 2))
@covers("preview.is-the-request", "preview.prepared-sends-exactly")
def test_the_request_of_a_context_is_what_the_server_receives(grove, server, part):
    moment = datetime(2030, 1, 1, tzinfo=UTC)
    for number in range(TREES):
        wild = Wild(grove, 1_000 * part + number)
        for _ in range(CASES):
            moment += timedelta(minutes=3)
            check_case(wild, server, moment)


@pytest.fixture
def talk(grove):
    """A node of a dialogue, with an agent that answers where none is named."""
    grove.add_agent("Far", model_ref="anthropic:claude-opus-4-5", system_prompt="Be brief.", max_tokens=64)
    return grove.plant("Tea", "Which pot?\r\n", system_context="Kind. \r\n").say("The green one.")


@covers("preview.is-the-request")
def test_without_an_agent_the_preview_is_that_of_the_agent_that_would_answer(grove, talk, server):
    grove.generations.choose_default("Far")
    context = talk.context()
    assert (context.agent.name, context.request["model"]) == ("Far", "claude-opus-4-5")
    assert context.request["max_tokens"] == 64
    (heard,) = sent_by(server, talk.generate)
    assert heard == context.request.data
    assert json.loads(heard) == context.request


@covers("preview.is-the-request")
def test_the_embedded_model_is_previewed_before_there_is_an_agent(address):
    with weft.open(address) as loom:
        node = loom.plant("Tea", "Which pot?")
        assert json.loads(json.dumps(node.context().request))["messages"][-1]["content"] == "Which pot?"
        assert loom.agents() == [each for each in loom.agents() if each.type == "human"]


@covers("preview.no-body-has-a-reason")
def test_a_request_without_a_body_says_why(grove, talk):
    grove.add_agent("Nowhere", model_ref="nowhere:x")
    missing = talk.context(agent="Nowhere")
    assert missing.messages
    assert missing.request == {}
    assert "nowhere" in missing.request.why
    assert missing.request.why in repr(missing.request)
    refused = talk.context(agent="Far", max_tokens=150_000)
    assert "the model gives at most" in refused.request.why
    with pytest.raises(InvalidInputError, match="the model gives at most"):
        talk.generate(prepared=refused)
    with pytest.raises(LimitExceededError, match="continuations at once"):
        talk.context(n=101)
    blind = talk.say(
        Mixed((Text("See."), Image(ref=grove.put_blob(PICTURE), mime_type="image/png", width=3, height=4)))
    )
    assert "does not accept images" in blind.context(agent="openai-completions").request.why


@covers("preview.prepared-sends-exactly")
def test_a_prepared_context_is_sent_whatever_happened_since(grove, talk, server):
    context = talk.context(agent="Far", n=2, temperature=0.5)
    talk.tree.root.exclude()
    talk.tree.describe(system_context="Unkind.")
    heard = sent_by(server, lambda: talk.generate(prepared=context))
    assert heard == [context.request.data] * 2
    assert talk.context(agent="Far").request != context.request
    check_sound(grove)


@covers("preview.prepared-sends-exactly")
def test_a_context_of_another_place_is_not_sent(grove, talk, server, tmp_path):
    context = talk.context()
    other = grove.plant("Coffee", "Well?")
    for place in (other.root, talk.tree.root):
        with pytest.raises(InvalidInputError, match="the prepared context is of another"):
            place.generate(prepared=context)
    with weft.open(tmp_path / "other.db") as elsewhere:
        node = elsewhere.plant("Tea", "Which pot?")
        with pytest.raises(InvalidInputError, match="another grove"):
            node.generate(prepared=context)
    for name, value in {
        "temperature": 0.5,
        "n": 2,
        "agent": "Far",
        "limit": 50,
        "as_of": "2026-01-01",
    }.items():
        with pytest.raises(InvalidInputError, match=f"{name} cannot be given with prepared"):
            talk.generate(prepared=context, **{name: value})
    with pytest.raises(InvalidInputError, match="not a node yet"):
        talk.generate(prepared=talk.context(text="And?"))
    talk.prune()
    with pytest.raises((ConflictError, NotFoundError, InvalidInputError)):
        talk.generate(prepared=context)
    talk.tree.delete(confirm=talk.tree.id)
    with pytest.raises(NotFoundError):
        talk.generate(prepared=context)


@covers("preview.prepared-sends-exactly")
def test_typed_text_that_changed_since_is_not_sent(grove, server):
    tree = grove.plant("Story", "Once", mode="buffer")
    tree.type(" upon")
    context = tree.context(agent="openai-completions")
    assert context.request["prompt"] == "Once upon"
    tree.type(" under")
    with pytest.raises(ConflictError, match="uncommitted text has changed"):
        tree.generate(prepared=context)
    tree.type(" upon")
    (heard,) = sent_by(server, lambda: tree.generate(prepared=context))
    assert heard == context.request.data


@covers("preview.one-moment")
def test_relative_times_are_told_from_one_moment(grove, server):
    grove.add_agent("Muse", model_ref="anthropic:claude-opus-4-5", permissions=list(COLLABORATOR))
    node = grove.plant("Tea", "Which pot?").say("The green one.")
    early, late = datetime(2031, 1, 1, tzinfo=UTC), datetime(2033, 1, 3, tzinfo=UTC)
    contexts = [node.context(agent="Muse", as_of=each) for each in (early, late, early.isoformat())]
    assert [each.as_of for each in contexts] == [early, late, early]
    assert contexts[0].request == contexts[2].request != contexts[1].request
    assert contexts[0].snapshot == contexts[1].snapshot
    heard = sent_by(server, lambda: node.generate(agent="Muse", as_of=late))
    assert heard == [contexts[1].request.data]
    assert node.context().snapshot != contexts[0].snapshot


@covers("preview.cache-as-two-requests")
def test_a_cache_that_would_be_created_is_a_request_of_its_own(grove, server):
    tree = grove.plant("Tea", "Which pot? " * 3_000, system_context="Be kind. " * 3_000)
    tree.prefer(cacheLifetime="5m")
    node = tree.say("Well?", author="google").say("And now?")
    context = node.context(agent="google")
    cache, request = context.requests
    assert (cache.purpose, request.purpose) == ("cache", "generate")
    assert "systemInstruction" in cache
    assert "systemInstruction" not in request
    heard = sent_by(server, lambda: node.generate(agent="google"))
    assert heard[0] == cache.data
    named = json.loads(heard[1])
    assert {**named, "cachedContent": request["cachedContent"]} == request
    # It is there now: the next request uses it.
    assert [each["cachedContent"] for each in node.context(agent="google").requests] == [
        "cachedContents/kept1"
    ]
