"""Lists and settings of odd kinds: counted, read anew, or refused by their names."""

import copy

import pytest
from tests.covers import covers

from weft.context import fit_messages
from weft.context.message_index import Speakers
from weft.errors import ContextLimitError, InvalidInputError


@covers("tokens.callable")
@pytest.mark.parametrize("wrong", [-3, None, "7", float("nan"), True])
def test_a_callable_that_does_not_count_is_refused(wrong):
    with pytest.raises(InvalidInputError, match="counted"):
        fit_messages([{"role": "user", "content": "Hello"}], 10, estimator=lambda _: wrong)


@covers("tokens.callable", "fit.budget-never-exceeded")
def test_callables_may_count_in_fractions_and_by_their_own_lights():
    message = {"role": "user", "content": "loom " * 60}
    for count in (lambda text: len(text) / 4, lambda text: len(text) * 3 + 7, lambda text: len(text) + 6):
        for limit in range(8, 60, 4):
            try:
                found = fit_messages([message], limit, estimator=count)
            except ContextLimitError:
                continue
            assert isinstance(found.tokens, int)
            assert found.tokens <= limit


@covers("engine.fit-messages")
def test_a_content_of_no_known_shape_costs_what_it_is_long():
    found = fit_messages([{"role": "user", "content": {"type": "text", "text": "x" * 4_000}}], 2_000)
    assert found.tokens >= 1_000


@covers("fit.limit-given", "fit.marker-configurable", "fit.default-step")
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("limit", [None, "100", 100.7, float("nan"), float("inf"), True, -1]),
        ("step", [None, "0.25", float("nan"), 2, True]),
        ("window", [0, -5, "8k", 1.5, float("inf")]),
        ("minimum_recent", [None, "4", 1.5, -1]),
        ("marker", [5, b"x"]),
        ("media_tokens", [-10_000, None, 1.5]),
        ("estimator", [None, 5]),
        ("strategy", [None, []]),
        ("messages", [None, 5, [None], "abc"]),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused_by_their_name(name, values):
    for value in values:
        given = {"messages": [{"role": "user", "content": "x" * 900}], "limit": 100, name: value}
        with pytest.raises(InvalidInputError, match=name):
            fit_messages(**given)


@pytest.mark.outer
@covers("fit.budget-never-exceeded")
def test_strange_blocks_and_half_characters_are_counted_and_not_stumbled_over():
    odd = [{"role": "user", "content": [{"type": ["x"]}, {"type": "text", "text": "Hello."}]}]
    assert fit_messages(odd, 100).tokens > 2
    halves = [{"role": "user", "content": "\ud800" * 400}]
    for estimator in ("default", "openai:o200k_base"):
        assert 0 < fit_messages(halves, 100, estimator=estimator).tokens <= 100
    endless = []
    endless.append(endless)
    with pytest.raises(InvalidInputError, match="JSON"):
        fit_messages([{"role": "user", "content": [{"type": "x", "y": endless}]}], 100)
    with pytest.raises(InvalidInputError, match="messages"):
        fit_messages(odd, 100).extend(None)


def test_messages_changed_in_place_are_read_anew_by_the_next_fit():
    messages = [
        {"role": "assistant" if place % 2 else "user", "content": f"{place} " * 40} for place in range(400)
    ]
    assert fit_messages(messages, 300, strategy="rollingWindow").messages[0] is not messages[3]
    messages[3]["role"] = "system"
    messages[-1]["content"] = "Short."
    again = fit_messages(messages, 300, strategy="rollingWindow")
    assert again.messages[0] is messages[3]
    assert again.manifest == fit_messages(copy.deepcopy(messages), 300, strategy="rollingWindow").manifest
    messages[5]["role"] = "clown"
    with pytest.raises(InvalidInputError, match=r"messages\[5\]"):
        fit_messages(messages, 300, strategy="rollingWindow")


def test_system_messages_stay_wherever_they_stand():
    talk = [{"role": "assistant" if place % 2 else "user", "content": "word " * 40} for place in range(200)]
    rules = [{"role": role, "content": f"Rule {role}."} for role in ("system", "developer", "system")]
    kept = fit_messages(
        [*rules[:2], *talk[:100], rules[2], *talk[100:]], 500, strategy="rollingWindow"
    ).messages
    assert kept[:3] == rules
    assert len(kept) < 20


def test_who_speaks_is_read_from_either_end():
    answer = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "", "content": "4"}]}
    said = [{"role": "system", "content": "Count."}, {"role": "user", "content": "2 + 2?"}, answer]
    speakers = Speakers(said, 1)
    assert (len(speakers), speakers[0], speakers[-1], speakers[0:]) == (2, "user", "tool", ["user", "tool"])
    with pytest.raises(IndexError):
        speakers[-3]
