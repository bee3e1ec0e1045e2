"""A collaborator's requests in layers: kept with their turns, predicted, watched, and counted."""

import logging
from dataclasses import replace

import pytest
from tests.collaboration.stage import MUSE, run, words, workshop
from tests.covers import covers

from weft.context.items.item_types import LayerId
from weft.providers.scripted import PROFILE
from weft.tree.cache_profile import CacheKind, CacheProfile
from weft.tree.item import Item
from weft.tree.json import JsonObject

LAMP = Item(id="https://a.b/lamp", type="url", content="The lamp is green. " * 40)


def told(request) -> list[JsonObject]:
    return [{"role": message.role.value, "text": message.text} for message in request.messages]


@covers("loom.kept-in-layers", "envelope.stored-per-user-turn")
def test_the_first_request_of_a_run_is_kept_with_its_turn_byte_for_byte(address):
    with workshop(address, ["→ tree\n", "Fine.", "Better."]) as (loom, tree, model):
        tree.say("See this.", attachments=[LAMP]).say("I see.", author=MUSE)
        found = run(loom, tree, "[a7x2] human · just now\nLook around.").result()
        question = tree.node(found.reply.path[-2].id)
        sent = question.sent()
        first = model.requests[0]
        assert tuple(first.system) == (*sent.system_blocks, *filter(None, [sent.memory_block]))
        assert [{"role": each.role.value, "text": each.text} for each in sent.messages] == told(first)
        assert "The lamp is green." in sent.layer(LayerId.LIBRARY).text
        assert sent.layer(LayerId.USER).text == "[a7x2] human · just now\nLook around."
        # What the run sent after it belongs to the run.
        assert "[result:1]" in words(model.requests[1])
        assert question.sent(0) == sent
        stats = tree.stats()
        assert stats.requests.count == 1
        assert stats.requests.in_layer(LayerId.LIBRARY.value) > 100
        (kid,) = question.generate(agent=MUSE)
        assert kid.text == "Better."
        assert tree.stats().requests.count == 2


@covers("loom.kept-in-layers", "cache.prediction", "cache.monitor")
def test_in_the_layout_for_it_most_of_the_next_run_is_expected_to_be_cached(address, caplog):
    keyed = replace(PROFILE, cache=CacheProfile(kind=CacheKind.KEY))
    with workshop(address, ["Fine.", "Fine.", "Fine."], profile=keyed) as (loom, tree, model):
        tree.prefer(loom_layout="cache")
        tree.say("See this. " * 1_000, attachments=[LAMP])
        with caplog.at_level(logging.WARNING, logger="weft.layers"):
            for _ in range(3):
                run(loom, tree).result()
        assert caplog.records == []
        stats = tree.stats()
        assert stats.requests.count == 3
        # The first is new, and the second has in its library what the first had in its turn.
        assert stats.requests.predicted_share > 0.3
        assert stats.unstable == ()
        assert model.requests[1].system[0] == model.requests[0].system[0]


@covers("cache.payload-recorder")
def test_in_debug_every_request_of_a_run_is_logged_in_layers(file_address, caplog):
    with workshop(file_address, ["→ tree\n", "Fine."]) as (loom, tree, model):
        with caplog.at_level(logging.DEBUG, logger="weft.layers"):
            run(loom, tree).result()
        assert len(model.requests) == 2
        assert [record.message.count("## L1_SYSTEM") for record in caplog.records] == [1, 1]
        assert "[result:1]" in caplog.records[1].message


@covers("loom.kept-in-layers")
@pytest.mark.parametrize("options", [{}, {"library": "inline"}, {"limit": 2_000}])
def test_a_nodes_envelope_for_a_loom_aware_agent_is_what_its_context_says(file_address, options):
    with workshop(file_address, []) as (_, tree, _model):
        node = tree.say("See this.", attachments=[LAMP]).say("I see.", author=MUSE)
        for _ in range(4):
            node = node.say("And this? " * 60).say("I see. " * 60, author=MUSE)
        node = node.say("Well?", attachments=[LAMP])
        envelope = node.envelope(agent=MUSE, **options)
        preferences = {name: value for name, value in options.items() if name == "library"}
        limits = {name: value for name, value in options.items() if name == "limit"}
        context = node.context(agent=MUSE, preferences=preferences, **limits)
        assert context.messages == envelope.messages
        assert context.layers == envelope.layers
        assert "=== Loom Context ===" in envelope.processed_user_text
        assert context.tokens == envelope.tokens
        prepared = node.prepare(agent=MUSE, **options)
        assert prepared.envelope.messages == envelope.messages
        assert prepared.turn == (node.id,)
