"""Anybody's list of messages: what is kept, whatever the list and the budget."""

import copy
import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.context.conversations import (
    SYSTEM,
    alternates,
    conversations,
    openai_turn,
    pairs_are_whole,
    results_of,
    tokens_of,
)
from tests.covers import covers

from weft.context import fit_messages
from weft.context.manifest_entries import Outcome
from weft.context.message_dict import carries_result
from weft.errors import ContextLimitError, InvalidInputError

CUTTING = st.sampled_from(["truncateMiddle", "rollingWindow"])
STEPS = st.sampled_from([0.0, 0.1, 0.25])


def fitted(messages, limit, **options):
    """The context, or None if the limit is too small for what may not be cut."""
    try:
        return fit_messages(messages, limit, **options)
    except ContextLimitError:
        return None


settings = st.fixed_dictionaries(
    {"strategy": CUTTING, "step": STEPS, "minimum_recent": st.integers(0, 6)},
    optional={
        "window": st.integers(1, 20_000),
        "marker": st.sampled_from(["", "…{first}…{last}", "{tokens} cut"]),
    },
)


@covers("fit.budget-never-exceeded", "engine.fit-messages")
@given(conversations(), st.integers(0, 3_000), settings)
def test_a_context_is_never_over_its_budget(messages, limit, options):
    context = fitted(messages, limit, **options)
    assume(context is not None)
    assert context.tokens <= limit
    assert tokens_of(context.messages) <= context.tokens


@covers("fit.at-least-one-message", "fit.recent-nodes-always-there")
@given(conversations(), st.integers(0, 3_000), settings)
def test_system_recent_and_last_user_messages_are_always_there(messages, limit, options):
    context = fitted(messages, limit, **options)
    assume(context is not None)
    kept = context.messages
    assert [m for m in kept if m["role"] in SYSTEM] == [m for m in messages if m["role"] in SYSTEM]
    spoken = [m for m in messages if m["role"] not in SYSTEM]
    recent = max(1, options["minimum_recent"])
    assert len([m for m in kept if m["role"] not in SYSTEM]) >= min(len(spoken), recent)
    if not context.shortened:
        # A marker may stand at the beginning of the first message after the cut, or behind the last before it.
        for message in spoken[-recent:][1:]:
            assert message in kept
        users = [m for m in spoken if m["role"] == "user" and not carries_result(m)]
        if users:
            last = said(users[-1])
            there = [said(m) for m in kept if m["role"] == "user"]
            assert any(text.endswith(last) or text.startswith(last) for text in there)


def blocks_of(message):
    return message["content"]


def said(message):
    content = message["content"]
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content or ())


@covers("fit.tool-groups-whole", "fit.straddling-group-dropped")
@given(conversations(), st.integers(0, 3_000), settings)
def test_a_tool_call_never_goes_without_its_results(messages, limit, options):
    context = fitted(messages, limit, **options)
    assume(context is not None)
    assert pairs_are_whole(context.messages)


@given(conversations(systems=False), st.integers(0, 3_000), settings)
def test_a_list_that_began_with_a_user_message_still_does(messages, limit, options):
    assume(messages and messages[0]["role"] == "user")
    context = fitted(messages, limit, **options)
    assume(context is not None)
    first = context.messages[0]
    assert first["role"] == "user"
    assert not results_of(first)


@pytest.mark.outer
@given(conversations(systems=False), st.integers(0, 3_000), settings)
def test_a_list_that_alternated_still_does(messages, limit, options):
    assume(alternates(messages) and options.get("marker") != "")
    context = fitted(messages, limit, **options)
    assume(context is not None and (context.fitted.cut.marker or options["strategy"] == "rollingWindow"))
    assert alternates(context.messages)


@given(conversations(), st.integers(0, 3_000), settings)
def test_without_a_limit_everything_is_there_again(messages, limit, options):
    before = copy.deepcopy(messages)
    fitted(messages, limit, **options)
    assert messages == before
    context = fit_messages(messages, 10**9, **options)
    assert context.messages == before
    assert not context.truncated
    assert not context.removed_nodes
    assert not context.shortened


@covers("fit.result-flags", "engine.every-decision-in-the-manifest")
@given(conversations(), st.integers(0, 3_000), settings)
def test_the_manifest_accounts_for_every_message_and_every_token(messages, limit, options):
    context = fitted(messages, limit, **options)
    assume(context is not None)
    manifest = context.manifest
    assert manifest.tokens == context.tokens == sum(entry.tokens for entry in manifest)
    assert len(manifest) == len(messages)
    levels = sorted(
        level
        for entry in manifest
        if entry.position is not None
        for level in range(entry.position, entry.position + entry.count)
    )
    assert levels == list(range(len(messages)))
    dropped = [entry for entry in manifest if entry.outcome is Outcome.CUT]
    assert context.removed_nodes == sum(entry.count for entry in dropped)
    assert context.removed_tokens == sum(entry.size for entry in dropped)
    assert all(entry.reason for entry in manifest)
    assert context.removed_tokens + sum(
        e.size for e in manifest if e.position is not None and e not in dropped
    ) == tokens_of(messages)
    shortened = {entry.position for entry in manifest if entry.outcome is Outcome.SHORTENED}
    assert shortened == set(context.shortened)


@covers("engine.extend")
@given(conversations(most=10), st.data(), settings)
def test_extending_gives_what_fitting_afresh_gives(messages, data, options):
    limit = data.draw(st.integers(50, 3_000))
    places = sorted(data.draw(st.sets(st.integers(0, len(messages)), max_size=4)))
    context = fitted(messages[: places[0]] if places else [], limit, **options)
    assume(context is not None)
    done = places[0] if places else 0
    for place in [*places[1:], len(messages)]:
        fresh = fitted(messages[:place], limit, **options)
        assume(fresh is not None)
        branch = fitted([*messages[:done], {"role": "user", "content": "elsewhere"}], limit, **options)
        if branch is not None:
            assert context.extend([{"role": "user", "content": "elsewhere"}]).messages == branch.messages
        context = context.extend(messages[done:place])
        assert context.messages == fresh.messages
        assert context.manifest == fresh.manifest
        assert (context.tokens, context.truncated) == (fresh.tokens, fresh.truncated)
        done = place


def chat(count, size=100):
    return [
        {"role": "assistant" if index % 2 else "user", "content": f"{index} ".ljust(size, "x")}
        for index in range(count)
    ]


@covers("fit.rolling-keeps-the-newest", "fit.step-zero-is-exact", "fit.rolling-marker-only-if-asked")
def test_rolling_window_keeps_the_newest_that_fit():
    messages = chat(20)
    context = fit_messages(messages, 151, strategy="rollingWindow")
    assert context.messages == messages[14:]
    assert (context.removed_nodes, context.removed_tokens) == (14, 350)
    marked = fit_messages(messages, 160, strategy="rollingWindow", marker="[{levels} gone]")
    assert marked.messages[0]["content"].startswith("[14 gone]\n\n14 ")


@covers("fit.rolling-keeps-the-newest")
def test_a_window_that_the_newest_messages_fill_to_the_last_token_holds_them():
    messages = chat(20)
    for kept in range(4, 20):
        context = fit_messages(messages, 25 * kept, strategy="rollingWindow", minimum_recent=1)
        begins = messages[20 - kept]["role"] == "user"
        # A request that would begin with an assistant gets a first word from the user, which takes room.
        assert context.messages[-kept + 1 :] == messages[-kept + 1 :]
        assert (context.messages == messages[-kept:]) == begins
        assert context.tokens == 25 * kept - (0 if begins else 25)


@covers("fit.middle-keeps-head-and-tail", "fit.middle-head-fits-half", "fit.middle-tail-newest-first")
def test_truncate_middle_keeps_both_ends_and_marks_the_middle():
    messages = [{"role": "system", "content": "Be brief."}, *chat(20)]
    context = fit_messages(messages, 253)
    assert context.messages[:5] == messages[:5]
    # Two user messages meet at the cut, and alternate no more: they become one.
    joined = f"{said(messages[5])}\n\n[11 messages left out here]\n\n{said(messages[17])}"
    assert said(context.messages[5]) == joined
    assert context.messages[-3:] == messages[-3:]
    assert context.truncated
    same_head = fit_messages([*messages, *chat(40)], 253)
    assert same_head.messages[:5] == messages[:5]


@covers("fit.middle-tail-newest-first")
@pytest.mark.parametrize(
    "marker", [None, "", "[{levels} messages of about {tokens} tokens, {first} to {last}]"]
)
def test_a_tail_takes_the_rest_of_the_budget_whatever_the_marker_was_allowed(marker):
    messages = chat(60)
    for limit in range(260, 1_400, 11):
        found = fit_messages(messages, limit, marker=marker)
        head = next(place for place in range(60) if 25 * (place + 1) > limit // 2)
        assert found.messages[:head][:-1] == messages[:head][:-1]
        assert found.tokens <= limit < found.tokens + 25


@covers("fit.recent-texts-shortened")
def test_recent_messages_that_fit_beside_the_marker_are_not_shortened():
    messages = chat(12)
    marker = "[{levels} messages left out: {first} to {last}]"
    for limit in range(112, 130):
        found = fit_messages(messages, limit, marker=marker)
        assert not found.shortened
        assert [said(message)[-100:] for message in found.messages[-4:]] == list(map(said, messages[-4:]))
        assert found.tokens <= limit


@covers("fit.middle-head-gives-way")
def test_the_head_gives_way_only_to_the_recent_messages():
    messages = [*chat(12), {"role": "user", "content": "y" * 700}]
    assert fit_messages(messages, 300, minimum_recent=1).messages[0] == messages[0]
    context = fit_messages(messages, 300, minimum_recent=4)
    assert context.messages[-1] == messages[-1]
    assert context.messages[-3:] == messages[-3:]
    assert context.tokens <= 300


@covers("fit.stop-never-cuts", "fit.stop-error-says-how-much")
def test_stop_at_limit_refuses_with_the_excess_and_the_heaviest():
    messages = chat(4)
    assert fit_messages(messages, 100, strategy="stopAtLimit").messages == messages
    messages[2]["content"] = "z" * 400
    with pytest.raises(
        ContextLimitError, match=r"needs 175 tokens, the budget is 100: 75 over \(largest: messages\[2\] 100,"
    ):
        fit_messages(messages, 100, strategy="stopAtLimit")


@covers("fit.system-never-cut")
def test_a_system_message_over_the_budget_is_refused_with_its_largest_parts():
    messages = [{"role": "system", "content": "x" * 4_000}, *chat(2)]
    with pytest.raises(
        ContextLimitError,
        match=r"needs 1,003 tokens, the budget is 900 \(messages\[0\] 1,000, the system field 3\)",
    ):
        fit_messages(messages, 900, system="Be brief.")


@covers("fit.recent-texts-shortened")
def test_recent_messages_that_do_not_fit_are_shortened_largest_first():
    messages = [
        {"role": "user", "content": "old"},
        {"role": "assistant", "content": "small answer"},
        {"role": "user", "content": "a" * 10_000 + " and the question at the end?", "name": "Ann"},
    ]
    context = fit_messages(messages, 200, minimum_recent=2)
    assert context.shortened == (2,)
    assert context.messages[-2] == messages[1]
    last = context.messages[-1]
    assert last["name"] == "Ann"
    assert last["content"].startswith("aaaa")
    assert "\n[…]\n" in last["content"]
    assert last["content"].endswith("the question at the end?")
    # Room that differs a little gives the same bytes.
    assert fit_messages(messages, 197, minimum_recent=2).messages[-1] == last


@pytest.mark.parametrize("limit", [0, 1])
def test_limits_of_nothing_and_of_one_are_refused_with_the_number_and_the_way_out(limit):
    with pytest.raises(
        ContextLimitError, match=rf"at least 4 tokens even when shortened, and {limit} are left"
    ) as told:
        fit_messages(chat(4), limit)
    assert "lower minimumRecentNodes" in told.value.hint


def test_one_token_is_enough_for_one_message():
    context = fit_messages(chat(3), 1, minimum_recent=1)
    assert context.messages == [{"role": "user", "content": "2 x…"}]
    assert (context.tokens, context.shortened, context.removed_nodes) == (1, (2,), 2)


def test_empty_lists_and_systems_alone_come_back_as_they_are():
    assert fit_messages([], 0).messages == []
    alone = [{"role": "system", "content": "Hm."}]
    assert fit_messages(alone, 1).messages == alone
    assert fit_messages(alone, 1).manifest.tokens == 1


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([{"content": "?"}], r"messages\[0\] is not a dictionary with a role"),
        (["hello"], r"messages\[0\] is not a dictionary"),
        ([{"role": "model", "content": "?"}], r"messages\[0\] has the role 'model'"),
        ([{"role": ["user"], "content": "?"}], r"messages\[0\] has the role \['user'\]"),
        ([None], r"messages\[0\]"),
    ],
)
def test_what_is_not_a_message_is_named_by_its_place(messages, words):
    with pytest.raises(InvalidInputError, match=words):
        fit_messages(messages, 100)


@pytest.mark.parametrize(
    "options", [{"strategy": "cut"}, {"step": 2}, {"minimum_recent": -1}, {"estimator": "guess"}]
)
def test_settings_without_meaning_are_refused(options):
    with pytest.raises(InvalidInputError):
        fit_messages(chat(2), 10, **options)
    with pytest.raises(InvalidInputError, match="at least 0"):
        fit_messages(chat(2), -1)


def test_a_tool_call_far_from_its_result_is_not_parted_from_it():
    far = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "far"}]},
        *chat(300),
        {"role": "tool", "tool_call_id": "far", "content": "there"},
        {"role": "assistant", "content": "There."},
    ]
    context = fit_messages(far, 300, strategy="rollingWindow", minimum_recent=1)
    assert context.messages[-1] == far[-1]
    assert not [m for m in context.messages if results_of(m)]


def test_images_count_and_are_never_cut_in_two():
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 100_000}}
    messages = [*chat(4), {"role": "user", "content": [picture, {"type": "text", "text": "w" * 9_000}]}]
    context = fit_messages(messages, 2_000, minimum_recent=1)
    assert picture in blocks_of(context.messages[-1])
    assert context.shortened == (4,)
    with pytest.raises(ContextLimitError, match=r"needs at least 1,601 tokens"):
        fit_messages(messages, 1_000, minimum_recent=1)


def test_a_document_that_is_words_costs_what_its_words_do():
    words = "w" * 40_000
    for source in (
        {"type": "text", "media_type": "text/plain", "data": words},
        {"type": "content", "content": words},
        {"type": "content", "content": [{"type": "text", "text": words}]},
    ):
        message = {"role": "user", "content": [{"type": "document", "source": source}]}
        assert fit_messages([message], 20_000).tokens == 10_000
    scanned = {"type": "document", "source": {"type": "base64", "data": words}}
    assert fit_messages([{"role": "user", "content": [scanned]}], 20_000).tokens == 1_600


def test_a_long_run_of_tools_keeps_the_task_that_began_it():
    run = [{"role": "user", "content": "Find the cat."}]
    for number in range(200):
        run.append({"role": "assistant", "content": None, "tool_calls": [{"id": f"c{number}"}]})
        run.append({"role": "tool", "tool_call_id": f"c{number}", "content": "nothing here " * 4})
    for step in (0, 0.25):
        context = fit_messages(run, 600, strategy="rollingWindow", step=step)
        assert context.messages[0] == run[0]
        assert pairs_are_whole(context.messages)
        assert context.tokens > 300
        assert any(entry.reason == "the last user message" for entry in context.manifest)


@pytest.mark.long
@covers("bar.tool-call-integrity", "bar.nothing-vital-lost")
@pytest.mark.parametrize("strategy", ["truncateMiddle", "rollingWindow"])
@pytest.mark.parametrize("step", [0, 0.25])
def test_at_every_budget_of_a_conversation_with_tools_nothing_vital_is_lost(strategy, step):
    messages = [{"role": "system", "content": "You are careful. " * 10}]
    for turn in range(16):
        pieces = (
            f"Question {turn}? " * (1 + turn % 3),
            [f"Answer {turn}. " * 9],
            ["result " * 40] * (turn % 4),
        )
        messages += openai_turn(turn, pieces)
    messages.append({"role": "user", "content": "And what follows?"})
    total = fit_messages(messages, 10**9).tokens
    for setting in range(275):
        budget = total * (setting + 14) // 288
        context = fit_messages(messages, budget, strategy=strategy, step=step)
        assert context.tokens <= budget
        assert pairs_are_whole(context.messages)
        assert context.messages[0] == messages[0]
        # At the smallest budgets even a question loses its end, and the context says so.
        assert "And what" in said(context.messages[-1])
        assert context.shortened or said(context.messages[-1]).endswith("And what follows?")
        assert len(context.messages) > 1


def test_a_million_tokens_are_fitted_and_accounted_for():
    messages = chat(4_000, size=1_000)
    context = fit_messages(messages, 100_000)
    assert context.tokens <= 100_000
    assert context.tokens + context.removed_tokens >= 1_000_000
    assert len(list(context.manifest)) < len(messages)


@covers("manifest.lazy")
def test_making_a_manifest_makes_no_entries():
    context = fit_messages(chat(100), 500)
    assert "manifest" not in vars(context)
    manifest = context.manifest
    assert manifest._pieces is None
    assert json.dumps(manifest.to_wire())
    assert manifest._pieces is not None


@covers("cost.extend-proportional-to-new")
@pytest.mark.parametrize("options", [{}, {"strategy": "rollingWindow"}, {"step": 0.25}])
def test_extending_measures_what_is_new_and_nothing_else(options):
    """Counted in what the estimator is asked, so that no clock is needed."""
    asked = []

    def estimate(text):
        asked.append(text)
        return len(text) // 4 + 1

    def turn(number):
        return [
            {"role": "user", "content": f"question {number} " * 8},
            {"role": "assistant", "content": f"answer {number} " * 8},
        ]

    context = fit_messages([], 1_500, estimator=estimate, **options)
    counts = []
    for number in range(400):
        asked.clear()
        context = context.extend(turn(number))
        assert context.messages
        counts.append(len(asked))
    assert max(counts[200:]) <= max(counts[20:100]) + 2
    assert max(counts) < 40


@covers("fit.recent-nodes-always-there", "engine.extend")
def test_the_recent_messages_are_there_however_many_they_are():
    messages = [{"role": "assistant" if n % 2 else "user", "content": "x" * 400} for n in range(200)]
    fresh = fit_messages(messages, 1_000, minimum_recent=100)
    assert len(fresh.messages) >= 100
    extended = fit_messages(messages[:-2], 1_000, minimum_recent=100).extend(messages[-2:])
    assert extended.messages == fresh.messages
    systems = [{"role": "system", "content": "s"}] * 62
    recent = fit_messages(messages[:10] + systems, 500, strategy="rollingWindow")
    assert sum(message["role"] != "system" for message in recent.messages) >= 4


@covers("fit.marker-configurable")
def test_the_marker_counts_what_was_left_out_and_not_what_stayed():
    messages = [{"role": "assistant" if n % 2 else "user", "content": "x" * 100} for n in range(40)]
    messages[5:5] = [{"role": "system", "content": "stay"}] * 3
    found = fit_messages(messages, 400)
    (marker,) = [
        message["content"] for message in found.messages if "left out here" in str(message["content"])
    ]
    assert f"[{found.removed_nodes} messages left out here]" in marker


@covers("fit.marker-configurable", "fit.result-flags")
def test_the_marker_does_not_count_the_last_user_message_that_is_kept_beside_the_cut():
    task = {"role": "user", "content": "Count the boats."}
    messages = [*chat(20), task, *({"role": "assistant", "content": "x" * 100} for _ in range(8))]
    found = fit_messages(messages, 200, marker="[{levels} gone, {tokens} tokens]")
    last = fit_messages(messages[:22], 60, marker="[{first} to {last}]", minimum_recent=1)
    assert "\n[1 to 19]\n" in said(last.messages[0])
    assert any(str(message["content"]).endswith(said(task)) for message in found.messages)
    marker = f"[{found.removed_nodes} gone, {found.removed_tokens} tokens]"
    assert sum(marker in message["content"] for message in found.messages) == 1


@covers("fit.result-flags", "fit.recent-texts-shortened")
def test_nothing_is_said_to_be_left_out_where_only_texts_were_shortened():
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Copy this."},
        {"role": "assistant", "content": "word " * 400},
    ]
    for strategy in ("truncateMiddle", "rollingWindow"):
        found = fit_messages(messages, 100, strategy=strategy, minimum_recent=1, marker="[{levels} gone]")
        assert found.messages[:2] == messages[:2]
        assert found.shortened == (2,)
        assert (found.truncated, found.removed_nodes) == (False, 0)
        assert found.tokens == tokens_of(found.messages) <= 100


@covers("dialogue.alternates")
def test_users_and_assistants_take_turns_wherever_a_system_message_stands():
    for place in range(7, 15):
        messages = chat(21, size=60)
        messages.insert(place, {"role": "system", "content": "Be brief."})
        for limit in range(60, 320, 10):
            found = fit_messages(messages, limit, minimum_recent=1)
            assert alternates(found.messages)
            places = [entry.position for entry in found.manifest if entry.position is not None]
            assert places == sorted(places)
