"""What is predicted of a provider's cache is what its own rule gives, pauses and all."""

import random
from dataclasses import replace

import pytest
from bench.provider_cache import SimulatedCache
from tests.context.talks import Talk
from tests.covers import covers

from weft.context.cache.controls import CacheControls, cache_controls
from weft.context.cache.prediction import CacheForecast
from weft.context.items.item_types import note
from weft.context.system import SystemParts
from weft.providers.anthropic import anthropic_profile
from weft.providers.openai import openai_profile
from weft.tree.cache_profile import CacheKind

ANTHROPIC = replace(anthropic_profile("claude-sonnet-4-5").cache, minimum=200)
EXACT = replace(openai_profile("gpt-5.6").cache, minimum=200)
KEYED = replace(openai_profile("gpt-4o").cache, minimum=200)
RULES = {"marks": (ANTHROPIC, 300), "exact": (EXACT, 1_800), "prefix": (KEYED, 3_600)}


@covers("cache.prediction", "cache.prediction-by-rule")
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(8))
def test_what_is_predicted_is_what_the_providers_rule_reads(rule, seed):
    profile, lifetime = RULES[rule]
    source, clock, cache = random.Random(seed), 0, SimulatedCache(profile, lifetime)
    talk = Talk(system=SystemParts(agent="Be careful. " * 100))
    sent = []
    reads = set()
    for turn in range(25):
        clock += source.choice([30, 100, 290, 301, 1_700, 1_801, 4_000])
        items = [note(f"n{turn}.md", "tune " * 300)] if source.random() < 0.2 else []
        envelope = talk.ask(f"Question {turn}? " * 20, *items, answer="Yes. " * source.choice([1, 50, 400]))
        controls = cache_controls(envelope, profile)
        recent = tuple(prefix for moment, prefix in sent if moment + lifetime > clock)
        forecast = CacheForecast(envelope=envelope, profile=profile, controls=controls, recent=recent)
        use = cache.send(forecast.pieces, controls, clock)
        assert forecast.prediction.cached == use.read
        reads.add(use.read)
        sent.append((clock, forecast.prefix))
    assert len(reads) > 3


@covers("cache.openai-breakpoints")
def test_exact_breakpoints_are_put_where_the_request_before_ended():
    talk = Talk(system=SystemParts(agent="Be careful. " * 100))
    first = talk.ask("One? " * 100, answer="Yes. " * 100)
    assert [(mark.message, mark.block) for mark in cache_controls(first, EXACT).marks] == [(None, 0), (0, 0)]
    second = cache_controls(talk.ask("Two? " * 100, answer="No."), EXACT)
    assert [(mark.message, mark.block) for mark in second.marks] == [(None, 0), (0, 0), (2, 0)]
    assert {str(mark.control) for mark in second.marks} == {"{'mode': 'explicit'}"}
    assert second.fields["prompt_cache_options"] == {"mode": "explicit", "ttl": "30m"}
    assert str(second.fields["prompt_cache_key"]).startswith("weft-")


@covers("cache.prediction-by-rule")
def test_an_explicit_cache_is_expected_to_be_read_as_far_as_it_goes():
    envelope = Talk(system=SystemParts(agent="Be careful. " * 100)).ask("One?")
    profile = replace(KEYED, kind=CacheKind.CONTENT)
    controls = CacheControls(cached_content={"name": "c1", "messages": 0, "tokens": 300})
    forecast = CacheForecast(envelope=envelope, profile=profile, controls=controls)
    assert forecast.prediction.cached == 300
