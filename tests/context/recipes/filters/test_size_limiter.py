"""The newest messages that a budget has room for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context.recipes.filters.chats import chats
from tests.covers import covers

from weft.context.manifest_entries import Outcome
from weft.context.recipes import apply_filters, run_filters
from weft.context.recipes.js_compat import json_units
from weft.errors import InvalidInputError


def limited(messages, **options):
    return apply_filters(messages, [{"name": "sizeLimiter", "options": options}])


def said(role, content="x"):
    return {"role": role, "content": content}


def cost(message, overhead=8):
    return -(-json_units(message) // 4) + overhead


OPTIONS = st.fixed_dictionaries(
    {"maxTokens": st.integers(0, 300)},
    optional={
        "perMessageOverhead": st.integers(0, 20),
        "prioritizeSystem": st.booleans(),
        "prioritizeUser": st.booleans(),
        "preserveAtLeastOneSystem": st.booleans(),
        "maxContentChars": st.integers(0, 12),
    },
)


def by_hand(messages, options):
    """The chapter's rule, with nothing done cleverly."""
    longest = options.get("maxContentChars", 50_000) or 50_000
    cut = []
    for message in messages:
        content = message["content"]
        if isinstance(content, str) and len(content.encode("utf-16-le", "surrogatepass")) // 2 > longest:
            units = content.encode("utf-16-le", "surrogatepass")[: 2 * longest]
            content = units.decode("utf-16-le", "surrogatepass")
        cut.append({**message, "content": content})
    prices = [cost(message, options.get("perMessageOverhead", 8)) for message in cut]
    budget = options["maxTokens"]
    order = list(reversed(range(len(cut))))
    queues = [[], [], []]
    for place in order:
        role = cut[place]["role"]
        first = role == "system" and options.get("prioritizeSystem", False)
        second = role == "user" and options.get("prioritizeUser", True)
        queues[0 if first else 1 if second else 2].append(place)
    taken = []
    for place in [place for queue in queues for place in queue]:
        if sum(prices[other] for other in taken) + prices[place] <= budget:
            taken.append(place)
    systems = [place for place in order if cut[place]["role"] == "system"]
    if options.get("preserveAtLeastOneSystem", True) and systems and not set(systems) & set(taken):
        taken.sort()
        while taken and sum(prices[other] for other in taken) + prices[systems[0]] > budget:
            taken.pop(0)
        taken.append(systems[0])
    return [cut[place] for place in sorted(taken)]


@covers("filter.size-greedy", "filter.size-priorities", "filter.size-original-order", "filter.size-pre-cut")
@given(chats(), OPTIONS)
def test_the_rule_holds_for_any_messages_and_options(messages, options):
    assert limited(messages, **options) == by_hand(messages, options)


@covers("filter.size-keeps-a-system", "filter.size-message-tokens")
@given(chats(), OPTIONS)
def test_the_budget_is_never_exceeded_but_by_one_preserved_system_message(messages, options):
    found = limited(messages, **options)
    prices = [cost(message, options.get("perMessageOverhead", 8)) for message in found]
    if sum(prices) > options["maxTokens"]:
        assert [message["role"] for message in found] == ["system"]
        assert options.get("preserveAtLeastOneSystem", True)


@covers("filter.size-message-tokens")
@pytest.mark.parametrize(
    "message",
    [
        said("user", "日本語テスト😀🚀👩‍💻"),
        said("user", '\x01\u2028\x7f"\\'),
        said("user", "half \ud83d"),
        {"role": "user", "content": "n", "cost": 1e-7, "big": 2**64, "list": [1.0, -0.0, 1e21]},
        {"role": "tool", "tool_call_id": "c", "content": None},
        {},
        [],
        5,
    ],
)
def test_a_message_costs_a_quarter_of_its_json_and_eight(message):
    price = cost(message)
    assert limited([message], maxTokens=price, preserveAtLeastOneSystem=False) == [message]
    assert limited([message], maxTokens=price - 1, preserveAtLeastOneSystem=False) == []


@covers("filter.size-message-tokens")
def test_what_is_no_object_costs_its_own_text_or_nothing():
    for message, price in [(None, 8), ("", 8), (0, 8), (False, 8), ("abcde", 10), (True, 9)]:
        assert limited([message], maxTokens=price) == [message]
        assert limited([message], maxTokens=price - 1) == []


@covers("filter.size-pre-cut")
@pytest.mark.parametrize("longest", [0, -3, None, "5", True, float("nan")])
def test_what_is_no_number_above_zero_cuts_no_content(longest):
    message = said("user", "0123456789")
    assert limited([message], maxTokens=100, maxContentChars=longest) == [message]
    assert limited([message], maxTokens=100, maxContentChars=2.7) == [said("user", "01")]


@covers("filter.size-defaults")
def test_without_options_it_is_as_the_chapter_says():
    long = said("assistant", "a" * 50_001)
    system, user = said("system", "s" * 40_000), said("user", "u" * 40_000)
    found = apply_filters([user, system, long], ["sizeLimiter"])
    # The user's message is taken first, then the newest of the rest, cut. That leaves no room for a
    # system message, so it is put in and the oldest gives way.
    short = said("assistant", "a" * 50_000)
    assert found == [system, short]
    assert cost(user) + cost(short) <= 24_000 < cost(user) + cost(short) + cost(system)
    assert apply_filters([user, system], ["sizeLimiter"]) == [user, system]
    room = cost(user) + cost(short)
    assert limited([user, long], maxTokens=room) == [user, short]
    assert limited([user, long], maxTokens=room - 1) == [user]


@covers("filter.size-keeps-a-system")
def test_the_newest_system_message_is_put_in_and_the_oldest_others_give_way():
    messages = [
        said("system", "old"),
        said("system", "new"),
        said("user", "1"),
        said("user", "2"),
        said("user", "3"),
    ]
    room = sum(cost(message) for message in messages[2:])
    found = run_filters(messages, [{"name": "sizeLimiter", "options": {"maxTokens": room}}])
    assert found.messages == [said("system", "new"), said("user", "3")]
    assert {mark.outcome for mark in found.steps[0].marks} == {Outcome.CUT}
    assert limited(messages, maxTokens=1) == [said("system", "new")]
    assert limited(messages, maxTokens=1, preserveAtLeastOneSystem=False) == []
    assert limited([said("developer"), said("user")], maxTokens=1) == []


@covers("filter.size-priorities")
def test_system_goes_before_user_before_the_rest():
    messages = [said("system"), said("user"), said("assistant"), said("tool")]
    price = max(cost(message) for message in messages)
    one = {"maxTokens": price, "preserveAtLeastOneSystem": False}
    assert limited(messages, **one) == [said("user")]
    assert limited(messages, **one, prioritizeSystem=True) == [said("system")]
    assert limited(messages, **one, prioritizeUser=False) == [said("tool")]


@covers("filter.size-tokenizer")
def test_tokens_may_be_counted_by_a_callable_or_an_estimator_of_ours():
    seen = []

    def ten(text):
        seen.append(text)
        return 10

    messages = [said("user", "é"), said("user", "b")]
    assert limited(messages, maxTokens=18, tokenizer=ten) == messages[1:]
    assert sorted(seen, reverse=True) == ['{"role":"user","content":"é"}', '{"role":"user","content":"b"}']
    assert limited(messages, maxTokens=100, tokenizer="chars/4") == messages
    with pytest.raises(InvalidInputError, match="tokenizer"):
        limited(messages, tokenizer=5)


@covers("filter.size-tokenizer")
def test_a_tokenizer_counts_what_is_no_message_too_and_in_fractions():
    odd = [None, "", 0, False]
    for message in odd:
        assert limited([message], maxTokens=18, tokenizer=lambda _: 10) == [message]
        assert limited([message], maxTokens=17, tokenizer=lambda _: 10) == []
    seen = []
    limited(odd, maxTokens=100, tokenizer=lambda text: seen.append(text) or 1)
    assert seen == ["false", "0", "", ""]
    messages = [said("user", "a"), said("user", "b")]
    assert limited(messages, maxTokens=21, tokenizer=lambda _: 2.5) == messages
    assert limited(messages, maxTokens=20.9, tokenizer=lambda _: 2.5) == messages[1:]


@covers("filter.size-pre-cut")
def test_only_texts_are_cut_and_an_emoji_may_be_halved():
    blocks = [{"type": "text", "text": "a long text"}]
    messages = [said("user", "😀😀"), said("user", blocks), said("user", None), {"role": "user"}]
    found = run_filters(messages, [{"name": "sizeLimiter", "options": {"maxContentChars": 3}}])
    assert found.messages == [said("user", "😀\ud83d"), *messages[1:]]
    assert [mark.outcome for mark in found.steps[0].marks] == [Outcome.SHORTENED]
    assert found.messages[1] is messages[1]


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"maxTokens": "100"}, 2),
        ({"maxTokens": None}, 0),
        ({"maxTokens": "many"}, 0),
        ({"maxTokens": [32]}, 2),
        ({"maxTokens": [32, 1]}, 0),
        ({"maxTokens": [], "perMessageOverhead": -8}, 2),
        ({"maxTokens": -5}, 0),
        ({"maxTokens": 32.5}, 2),
        ({"maxTokens": 32, "perMessageOverhead": 8.5}, 1),
        ({"maxContentChars": "many"}, 2),
    ],
)
def test_options_are_compared_as_javascript_compares(options, kept):
    messages = [said("user", "aaaa"), said("user", "bbbb")]
    assert cost(messages[0]) == 16
    assert len(limited(messages, **options)) == kept


def test_what_is_no_message_is_carried_along_and_counted():
    messages = [None, "text", 5, [], said("user")]
    assert limited(messages, maxTokens=1_000) == messages
