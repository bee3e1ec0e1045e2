"""What a provider's cache is told of requests to which nothing is attached, and what is kept of them."""

import json
import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from tests.covers import covers
from tests.generation.test_vendors import grove_of
from tests.providers.houses import HOUSES
from tests.providers.loopback import serving, streamed

from weft.providers.scripted import PROFILE
from weft.testing import Scripted, grove
from weft.tree.cache_profile import CacheKind, CacheProfile


@covers(
    "cache.openai", "cache.payload-recorder", "envelope.stored-per-user-turn", "stats.per-tree-and-branch"
)
def test_a_request_without_attachments_names_its_cache_too_and_is_kept_and_logged(caplog):
    profile = replace(PROFILE, cache=CacheProfile(kind=CacheKind.KEY))
    model = Scripted(["Yes."] * 2, name="openai", profile=profile)
    with grove(model=model) as loom:
        agent = loom.add_agent("Muse", model_ref="openai:gpt", system_prompt="Be brief.")
        question = loom.plant("Talk").say("Is it?")
        with caplog.at_level(logging.DEBUG, logger="weft.layers"):
            answer = question.generate(agent=agent.name)[0]
        assert list(model.requests[0].cache.fields) == ["prompt_cache_key"]
        assert "## L1_SYSTEM · System & Policies" in caplog.text
        assert question.sent().layer("L1_SYSTEM").text == "Be brief."
        assert question.context(agent=agent.name).messages == question.sent().messages
        again = answer.say("Really?")
        again.generate(agent=agent.name)
        keys = {str(request.cache.fields["prompt_cache_key"]) for request in model.requests}
        assert len(keys) == 1
        assert loom.tree("Talk").stats().requests.count == 2


@covers("cache.none")
@pytest.mark.parametrize("kind", [CacheKind.NONE, CacheKind.PREFIX])
def test_a_cache_that_is_told_nothing_leaves_requests_as_they_are_and_keeps_them(kind):
    model = Scripted(["Yes."], profile=replace(PROFILE, cache=CacheProfile(kind=kind)))
    with grove(model=model) as loom:
        agent = loom.add_agent("Muse", model_ref="scripted:m")
        question = loom.plant("Talk").say("Is it?")
        question.generate(agent=agent.name)
        assert (tuple(model.requests[0].cache.marks), dict(model.requests[0].cache.fields)) == ((), {})
        assert question.context(agent=agent.name).messages == question.sent().messages
        assert loom.tree("Talk").stats().requests.count == 1


@covers("cache.openai-breakpoints", "cache.prediction-by-rule", "cache.prediction-compared")
def test_a_conversation_with_breakpoints_is_expected_where_the_request_before_ended_while_it_lives(
    file_address,
):
    house = replace(HOUSES["responses"], model="gpt-5.6")
    with serving(streamed(*house.text(["Yes."]))) as server, grove_of(file_address, house, server) as loom:
        tree = loom.plant("Talk", system_context="Be careful. " * 500)
        asked = tree.say("Is it? " * 200)
        assert asked.context().prediction.cached == 0
        preview = asked.context()
        asked.generate()
        assert preview.request.data == server.heard[-1].body
        body = json.loads(server.heard[-1].body)
        assert body["prompt_cache_options"] == {"mode": "explicit", "ttl": "30m"}
        assert [item["content"][-1]["prompt_cache_breakpoint"] for item in body["input"]] == [
            {"mode": "explicit"}
        ] * 2
        later = tree.say("Really?")
        context = later.context()
        assert context.prediction.cached == sum(each.tokens for each in context.envelope.blocks()[:2])
        after = datetime.now(UTC) + timedelta(minutes=31)
        assert later.context(as_of=after).prediction.cached == 0
        later.generate()
        second = json.loads(server.heard[-1].body)
        assert second["input"][:2] == body["input"], (
            "what was sent before is the beginning of what is sent now"
        )
