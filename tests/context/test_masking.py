"""Old tool results as one line each: which, when, and that every guarantee of a context holds with them."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from bench import masking as sessions_bench
from bench.scene import Scene
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.context.conversations import alternates, conversations, pairs_are_whole, texts, tokens_of
from tests.context.stories import Story, stories
from tests.covers import covers

from weft.context import fit_messages
from weft.context.columns import SkippedRange
from weft.context.engine import assemble, plan_context, write_context
from weft.context.manifest_entries import Outcome
from weft.context.recipes import FilterError, run_filters
from weft.context.rows import PathOutline, tokens_of_content
from weft.context.settings import resolve_preferences
from weft.context.tokens import DEFAULT
from weft.errors import ContextLimitError, InvalidInputError
from weft.tree.content import Mixed, Text, Thinking, ToolCall, ToolResult, blocks_of

masking = st.fixed_dictionaries(
    {
        "truncationStrategy": st.sampled_from(["truncateMiddle", "rollingWindow"]),
        "truncationStep": st.sampled_from([0, 0.1, 0.25]),
        "minimumRecentNodes": st.integers(0, 5),
        "maskToolResults": st.integers(0, 4),
        "maskAbove": st.sampled_from([0, 20, 200]),
    },
)


@st.composite
def sessions(draw, most=25):
    """An agent at work: what is asked, then call after call with small and large results."""
    story = Story().say(draw(texts))
    for _ in range(draw(st.integers(1, most))):
        kind = draw(st.integers(0, 9))
        if kind == 0:
            story.answer(draw(texts)).say(draw(texts))
        elif kind == 1:
            two(story, draw(texts), draw(texts))
        else:
            story.use_tool(draw(texts))
    return story


def two(story, *results):
    """Parallel calls, answered in one message."""
    ids = [f"p{len(story.rows)}-{index}" for index in range(len(results))]
    opaque = Thinking(text="Both.", opaque={"signature": "s" * 300})
    story.answer(Mixed((opaque, *(ToolCall(id=each, name="read", arguments={}) for each in ids))))
    blocks = [ToolResult(call_id=each, content=text) for each, text in zip(ids, results, strict=True)]
    return story.say(Mixed(tuple(blocks)), "tool")


def results_of(context):
    return [
        block for message in context.messages for block in message.blocks if isinstance(block, ToolResult)
    ]


def lines(context):
    return [block.content for block in results_of(context) if str(block.content).startswith("[result of")]


@covers("mask.one-line", "mask.newest-stay-whole", "manifest.outcomes")
def test_older_results_become_one_line_that_names_tool_size_and_node():
    story = Story().say("Find the fault.")
    for size in (4_000, 400, 6_000, 2_000):
        story.use_tool("x" * size)
    settings = {"maskToolResults": 1, "truncationStep": 0}
    context = assemble(story.request(10_000, preferences=settings), story.contents)
    assert [str(block.content)[:44] for block in results_of(context)] == [
        "[result of look, 1,000 tokens, node n2]",
        "x" * 44,
        "[result of look, 1,500 tokens, node n6]",
        "x" * 44,
    ]
    assert context.masked == ("n2", "n6")
    told = {entry.id: entry for entry in context.manifest}
    assert told["n2"].outcome is Outcome.MASKED
    assert told["n2"].reason == "older than the newest tool result"
    assert (told["n2"].tokens, told["n2"].size) == (10, 1_000)
    assert told["n8"].outcome is Outcome.KEPT
    assert context.tokens == context.manifest.tokens
    off = assemble(story.request(10_000, preferences={"maskToolResults": "off"}), story.contents)
    assert not off.masked
    assert not lines(off)
    assert "maskToolResults" not in off.manifest.facts.settings
    assert context.manifest.facts.settings["maskToolResults"] == 1


@covers("mask.newest-stay-whole")
def test_of_parallel_results_as_many_stay_whole_as_are_asked_for():
    story = two(Story().say("Read both."), "x" * 4_000, "y" * 4_000)
    for newest, masked in ((0, 2), (1, 1), (2, 0)):
        settings = {"maskToolResults": newest, "truncationStep": 0}
        context = assemble(story.request(10_000, preferences=settings), story.contents)
        assert len(lines(context)) == masked
        assert [block.call_id for block in results_of(context)] == ["p1-0", "p1-1"]
        assert str(results_of(context)[-1].content).startswith("y") == (newest > 0)


@covers("mask.opaque-untouched")
@given(sessions(), st.integers(200, 3_000), masking)
def test_nothing_but_results_is_masked_and_calls_keep_their_results(story, budget, settings):
    context = assembled(story, story.request(budget, window=budget, preferences=settings))
    assume(context is not None and not context.shortened)
    said = [block for content in story.contents.values() for block in blocks_of(content) if not result(block)]
    called, answered = [], []
    for message in context.messages:
        for block in message.blocks:
            if isinstance(block, Thinking | ToolCall):
                assert block in said
            called += [block.id] if isinstance(block, ToolCall) else []
            answered += [block.call_id] if result(block) else []
    assert called == answered


def result(block):
    return isinstance(block, ToolResult)


def assembled(story, request):
    try:
        return assemble(request, story.contents)
    except (ContextLimitError, InvalidInputError):
        return None


@covers("fit.budget-never-exceeded", "mask.newest-stay-whole", "mask.above")
@given(st.one_of(sessions(), stories()), st.integers(50, 3_000), masking)
def test_a_context_with_masks_is_within_its_budget_and_keeps_the_newest_whole(story, budget, settings):
    context = assembled(story, story.request(budget, window=budget, preferences=settings))
    assume(context is not None)
    said = sum(tokens_of_content(Mixed(message.blocks), DEFAULT) for message in context.messages)
    assert said <= context.tokens <= budget
    assert context.tokens == context.manifest.tokens
    sizes = {
        each.call_id: DEFAULT.of_text(str(each.content))
        for content in story.contents.values()
        for each in blocks_of(content)
        if result(each)
    }
    for index, each in enumerate(reversed([] if context.shortened else results_of(context))):
        if str(each.content).startswith("[result of"):
            # A head is old, whatever lies between it and the newest.
            assert index >= settings["maskToolResults"] or context.truncated
            assert sizes[each.call_id] > settings["maskAbove"]
            assert DEFAULT.of_text(each.content) < sizes[each.call_id]


@covers("mask.stepped", "step.monotone")
@given(
    sessions(),
    st.integers(300, 3_000),
    st.sampled_from([0.1, 0.25]),
    st.integers(0, 4),
    st.sampled_from(["truncateMiddle", "rollingWindow"]),
)
def test_neither_cut_nor_masks_move_back_as_a_path_grows(story, window, step, newest, strategy):
    settings = {
        "truncationStep": step,
        "maskToolResults": newest,
        "maskAbove": 20,
        "truncationStrategy": strategy,
    }
    # What closes a request that does not end with a user's words takes tokens, so each kind of end is looked at alone.
    cuts, masks = {True: [0], False: [0]}, set()
    for length in range(1, len(story.rows) + 1):
        part = Story()
        part.rows, part.contents = story.rows[:length], story.contents
        try:
            plan = plan_context(part.request(window, window=window, preferences=settings))
        except (ContextLimitError, InvalidInputError):
            continue
        now = {row.id for row in plan.rows.tail if row.hidden}
        assert masks <= now
        masks = now
        if plan.cut.anchor is None and not plan.cut.shortened:
            cuts[part.rows[-1].role == "user"].append(plan.cut.tail)
    assert all(one <= other for listed in cuts.values() for one, other in pairwise(listed))


@covers("mask.stepped", "step.prefix-stable-between-jumps")
@given(
    sessions(),
    st.integers(500, 3_000),
    st.integers(1, 4),
    st.sampled_from(["truncateMiddle", "rollingWindow"]),
)
def test_between_two_jumps_a_request_with_masks_begins_with_the_one_before(story, window, newest, strategy):
    settings = {"truncationStep": 0.25, "maskToolResults": newest, "truncationStrategy": strategy}
    before, place = None, None
    for length in range(1, len(story.rows) + 1):
        if story.rows[length - 1].role == "assistant":
            continue
        part = Story()
        part.rows, part.contents = story.rows[:length], story.contents
        try:
            plan = plan_context(part.request(window, window=window, preferences=settings))
        except ContextLimitError:
            continue
        context = write_context(plan, story.contents)
        now = (plan.cut.head, plan.cut.tail, plan.cut.anchor, context.masked)
        if now == place and not context.shortened and not before.shortened:
            assert context.messages[: len(before.messages)] == before.messages
        before, place = context, now


@covers("mask.stepped", "cost.removed-stretches-are-ranges")
@given(sessions(most=40), st.integers(300, 2_000), masking)
def test_both_ends_of_a_path_are_enough_to_mask_it(story, window, settings):
    whole = story.request(window, window=window, preferences=settings)
    try:
        expected = plan_context(whole)
    except (ContextLimitError, InvalidInputError):
        assume(False)
    assume(expected.cut.truncated and not expected.cut.shortened and expected.cut.anchor is None)
    head, tail = expected.cut.head + 3, expected.cut.tail - 3 * (settings["maskToolResults"] + 2) - 1
    while tail > 0 and story.rows[tail].role != "assistant":
        tail -= 1
    assume(head < tail)
    rows = story.rows
    between = SkippedRange(
        levels=tail - head,
        first=rows[head].local_id,
        last=rows[tail - 1].local_id,
        start=rows[head - 1].ruler,
        end=rows[tail - 1].ruler,
    )
    outline = PathOutline(head=rows[:head], between=between, tail=rows[tail:])
    part = plan_context(replace(whole, outline=outline))
    if not settings["truncationStep"] and part.cut[1:3] != expected.cut[1:3]:
        return
    assert part.cut[1:3] == expected.cut[1:3]
    assert write_context(part, story.contents).messages == write_context(expected, story.contents).messages


@covers("mask.before-anything-is-cut")
def test_results_are_masked_before_anything_is_cut():
    story = Story().say("Find the fault.")
    for _ in range(20):
        story.use_tool("x" * 4_000)
    settings = {"truncationStep": 0, "truncationStrategy": "rollingWindow"}
    cut = assemble(story.request(4_000, preferences=settings), story.contents)
    masked = assemble(story.request(4_000, preferences={**settings, "maskToolResults": 2}), story.contents)
    assert cut.truncated
    assert not masked.truncated
    assert len(results_of(masked)) == 20
    assert len(lines(masked)) == 18


@pytest.mark.parametrize("value", [-1, 1.5, True, "all", "5"])
@covers("mask.setting")
def test_a_setting_that_is_neither_off_nor_a_count_is_refused(value):
    with pytest.raises(InvalidInputError, match=r"maskToolResults must be off or a whole number"):
        resolve_preferences({"maskToolResults": value})
    assert resolve_preferences({"maskToolResults": 3}, {"maskToolResults": "off"}).mask_tool_results is None


@covers("mask.opaque-untouched")
def test_a_masked_result_keeps_its_place_its_call_and_whether_it_failed():
    story = Story().say("Try.")
    story.answer(ToolCall(id="c", name="run\nit", arguments={}))
    story.say(ToolResult(call_id="c", content={"log": "z" * 4_000}, is_error=True), "tool")
    story.use_tool("ok")
    settings = {"maskToolResults": 1, "truncationStep": 0}
    context = assemble(story.request(5_000, preferences=settings), story.contents)
    first = results_of(context)[0]
    assert first == ToolResult(
        call_id="c", content="[result of run it, 1,003 tokens, node n2]", is_error=True
    )
    assert Text("Try.") in context.messages[0].blocks


options = st.fixed_dictionaries(
    {
        "strategy": st.sampled_from(["truncateMiddle", "rollingWindow"]),
        "step": st.sampled_from([0, 0.1, 0.25]),
        "minimum_recent": st.integers(0, 5),
        "mask_tool_results": st.integers(0, 3),
        "mask_above": st.sampled_from([0, 20, 200]),
    },
    optional={"marker": st.sampled_from(["", "[{levels} {tokens}]"])},
)


def fitted(messages, limit, given):
    try:
        return fit_messages(messages, limit, **given)
    except ContextLimitError:
        return None


def call(number, name="look"):
    function = {"name": name, "arguments": "{}"}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": number, "function": function}]}


def tool(number, size):
    return {"role": "tool", "tool_call_id": number, "content": "x" * size}


@covers("mask.lists", "mask.one-line")
def test_in_a_list_a_line_names_the_call_by_which_the_result_is_known():
    messages = [
        {"role": "user", "content": "Find it."},
        call("a"),
        tool("a", 4_000),
        call("b"),
        tool("b", 400),
    ]
    context = fit_messages(messages, 2_000, mask_tool_results=1)
    assert context.messages[2] == {**messages[2], "content": "[result of look, 1,000 tokens, call a]"}
    assert context.messages[3:] == messages[3:]
    assert context.masked == (2,)
    entry = list(context.manifest)[2]
    assert (entry.outcome, entry.id, entry.tokens, entry.size) == (Outcome.MASKED, "2", 11, 1_001)
    assert context.tokens == context.manifest.tokens == tokens_of(context.messages)
    assert messages[2]["content"] == "x" * 4_000
    assert context.manifest.facts.settings["maskToolResults"] == 1
    old = [
        {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}},
        {"role": "function", "name": "look", "content": "x" * 4_000},
    ]
    assert fit_messages(old, 2_000, mask_tool_results=0).messages[1]["content"] == (
        "[result of look, 1,000 tokens]"
    )


@covers("mask.opaque-untouched", "mask.lists")
def test_what_only_a_provider_understands_is_left_as_it_is():
    signed = {"type": "thinking", "thinking": "t" * 4_000, "signature": "s" * 4_000}
    sealed = {"type": "redacted_thinking", "data": "d" * 4_000}
    compacted = {"type": "compaction", "content": "c" * 4_000}
    found = {
        "type": "web_search_tool_result",
        "tool_use_id": "w",
        "content": [{"encrypted_content": "e" * 4_000}],
    }
    use = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
    plain = {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "x" * 4_000}]}
    odd = {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "sealed", "data": "y" * 4_000}]}
    messages = [
        {"role": "user", "content": "Find it."},
        {"role": "assistant", "content": [compacted, signed, sealed, found, use, {**use, "id": "b"}]},
        {"role": "user", "content": [plain, odd]},
    ]
    context = fit_messages(messages, 50_000, mask_tool_results=0)
    assert context.messages[1] is messages[1]
    assert context.messages[2]["content"] == [
        {**plain, "content": "[result of read, 1,000 tokens, call a]"},
        odd,
    ]
    for limit in (9_000, 4_000, 2_000):
        short = fit_messages([*messages, {"role": "user", "content": "z" * 4_000}], limit, minimum_recent=1)
        assert [each for each in short.messages if each["role"] == "assistant"] in ([], [messages[1]])


@covers("fit.budget-never-exceeded", "mask.lists", "fit.tool-groups-whole", "mask.newest-stay-whole")
@given(conversations(), st.integers(0, 3_000), options)
def test_a_list_with_masks_keeps_every_promise_of_fitting(messages, limit, given):
    context = fitted(messages, limit, given)
    assume(context is not None)
    assert tokens_of(context.messages) <= context.tokens <= limit
    assert context.manifest.tokens == context.tokens
    assert len(context.manifest) == len(messages)
    assert pairs_are_whole(context.messages)
    assert context.masked == tuple(
        entry.position for entry in context.manifest if entry.outcome is Outcome.MASKED
    )
    whole = fit_messages(messages, 10**9, **{**given, "mask_tool_results": None})
    assert whole.messages == messages
    unlimited = fit_messages(messages, 10**9, **given)
    assert len(unlimited.messages) == len(messages)
    assert alternates(messages) == alternates(unlimited.messages)


@covers("mask.lists", "mask.stepped", "engine.extend")
@given(conversations(most=10), st.data(), options)
def test_extending_with_masks_gives_what_fitting_afresh_gives(messages, data, given):
    limit = data.draw(st.integers(100, 3_000))
    start = data.draw(st.integers(0, len(messages)))
    context = fitted(messages[:start], limit, given)
    assume(context is not None)
    place = start
    while place < len(messages):
        more = data.draw(st.integers(1, 4))
        fresh = fitted(messages[: place + more], limit, given)
        assume(fresh is not None)
        earlier, context = context, context.extend(messages[place : place + more])
        place += more
        assert context.messages == fresh.messages
        assert (context.tokens, context.masked, context.shortened) == (
            fresh.tokens,
            fresh.masked,
            fresh.shortened,
        )
        again = fitted(messages[: place - more], limit, given)
        # A context stays what it was when others go on from it.
        assert again is None or (earlier.messages, earlier.manifest) == (again.messages, again.manifest)
        assert context.manifest == fresh.manifest


@covers("mask.filter")
@given(conversations(), options)
def test_the_filter_masks_what_fitting_masks(messages, given):
    settings = {
        "maskToolResults": given["mask_tool_results"],
        "maskAbove": given["mask_above"],
        "truncationStep": given["step"],
        "window": 2_000,
    }
    found = run_filters(messages, [{"name": "toolResultMasker", "options": settings}])
    same = fit_messages(messages, 10**9, window=2_000, **given)
    assert found.messages == same.messages
    marks = found.steps[0].marks
    assert tuple(mark.position for mark in marks) == same.masked
    assert {mark.outcome for mark in marks} <= {Outcome.MASKED}


@covers("mask.filter")
def test_the_filter_has_a_default_and_refuses_what_is_no_count():
    messages = [each for index in range(12) for each in (call(f"c{index}"), tool(f"c{index}", 4_000))]
    found = run_filters(messages, ["toolResultMasker"])
    assert [mark.position for mark in found.steps[0].marks] == [1, 3]
    for options in ({"maskToolResults": "few"}, {"maskAbove": -1}, {"window": 1.5}, {"truncationStep": "x"}):
        with pytest.raises(FilterError, match=next(iter(options))):
            run_filters(messages, [{"name": "toolResultMasker", "options": options}])
    limited = {"limit": 3_500, "maskToolResults": 2}
    fitted = run_filters(messages, [{"name": "fit", "options": limited}])
    assert len(fitted.messages) == 25
    assert sum(mark.outcome is Outcome.MASKED for mark in fitted.steps[0].marks) == 10


@pytest.mark.outer
@covers("bar.masking")
def test_masking_shows_twice_the_session_at_little_more_than_half_the_cost():
    section = sessions_bench.run(Scene(Path(), "", quick=True))
    assert len(section.bars) == 4
    assert all(bar.met for bar in section.bars), [(bar.what, bar.figure) for bar in section.bars]
