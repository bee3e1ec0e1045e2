"""What a provider's cache is told of requests to which nothing is attached, and what is kept of them."""

import logging
from dataclasses import replace

import pytest
from tests.covers import covers

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
