"""Requests of each runner: as layered views, and as bodies at the servers of all providers."""

import json

import pytest
from tests.covers import covers
from tests.runners.golden import FOLDER, PROVIDERS, bodies, views

from weft.runtime.runners.options import Runner


@pytest.mark.outer
@covers("runner.golden")
@pytest.mark.parametrize("runner", Runner)
def test_a_runners_requests_are_what_they_were(runner):
    """Where a difference is meant: `python -m tests.runners.golden`, and look at it."""
    assert views(runner) == (FOLDER / f"{runner}.txt").read_text()


@covers("runner.golden")
@pytest.mark.long
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("runner", Runner)
def test_the_bodies_that_a_server_gets_are_what_they_were(runner, provider):
    assert bodies(provider, runner) == (FOLDER / f"{runner}.{provider}.json").read_text()


def test_every_fixture_is_of_a_runner_and_a_provider():
    names = {f"{runner}.txt" for runner in Runner}
    names |= {f"{runner}.{provider}.json" for runner in Runner for provider in PROVIDERS}
    assert {path.name for path in FOLDER.iterdir()} == names


@covers("runner.system-is-two-layers")
@pytest.mark.parametrize("runner", Runner)
def test_the_system_message_is_two_layers_and_what_tools_gave_is_before_the_question(runner):
    sent = json.loads((FOLDER / f"{runner}.anthropic.json").read_text())
    asked = [each for each in sent if "You choose the tools" not in json.dumps(each["system"])]
    system = [block["text"] for block in asked[-1]["system"]]
    assert "You keep the harbour's log." in system[0]
    assert system[1].startswith("## Context Library")
    assert len(system) == 2
    question = next(each for each in reversed(asked[-1]["messages"]) if "lamp burn" in json.dumps(each))
    content = question["content"]
    text = content if isinstance(content, str) else "".join(block["text"] for block in content)
    assert text.endswith("What does the lamp burn?")
    assert text.index("Ideas.md") < text.index("ninety seconds")
