"""Agents and the rules of their permissions."""

import itertools

import pytest
from tests.covers import covers

from weft.errors import InvalidInputError
from weft.tree.agent import AgentType, Configuration, Permission, check_agent, parse_permissions

REQUIRES = {"loom_write": "loom_aware", "loom_generate": "loom_aware", "doc_write": "doc_read"}


@covers("permission.requirements")
@pytest.mark.parametrize("names", [c for n in range(6) for c in itertools.combinations(Permission, n)])
def test_a_permission_is_granted_only_with_its_requirement(names):
    missing = [name for name in names if REQUIRES.get(name, name) not in names]
    if missing:
        with pytest.raises(InvalidInputError, match="requires"):
            parse_permissions(names)
    else:
        assert parse_permissions(names) == frozenset(names)


def test_an_unknown_permission_is_named_with_those_there_are():
    with pytest.raises(InvalidInputError, match="'loom_wrte' is not a permission") as caught:
        parse_permissions(["loom_wrte"])
    assert "loom_write" in str(caught.value.hint)


@covers("agent.model-needs-model-ref")
@pytest.mark.parametrize("reference", [None, "", "gpt", ":gpt", "openai:"])
def test_a_model_needs_a_provider_and_a_model(reference):
    with pytest.raises(InvalidInputError, match="provider:model"):
        check_agent("Ada", AgentType.MODEL, reference, Configuration())


@covers("agent.human-has-no-model-ref")
def test_a_human_has_no_model_ref():
    with pytest.raises(InvalidInputError, match="cannot have a model_ref"):
        check_agent("Ada", AgentType.HUMAN, "openai:gpt", Configuration())


@covers("agent.configuration")
@pytest.mark.parametrize("configuration", [Configuration(temperature=-1), Configuration(max_tokens=0)])
def test_settings_without_meaning_are_refused(configuration):
    with pytest.raises(InvalidInputError):
        check_agent("Ada", AgentType.MODEL, "a:b", configuration)
