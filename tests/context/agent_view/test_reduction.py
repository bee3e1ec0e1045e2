"""Older conversation as summaries: nothing unaccounted for, nothing wasted, nothing lost by a larger limit."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context.agent_view.test_assembly import EXCHANGES, loom_of, sent, talk, whole_text
from tests.context.stories import Story
from tests.covers import covers

from weft.context.agent_view.operational_memory import Action, MemoryContents, PinnedNode, StashedText
from weft.context.columns import SkippedRange
from weft.context.engine import plan_context, write_context
from weft.context.manifest_entries import EntryKind, Outcome
from weft.context.request import Profile
from weft.context.rows import PathOutline, Reason
from weft.context.tokens import DEFAULT
from weft.errors import ContextLimitError
from weft.tree.tree import Mode

COUNTED, SUMMARY, SHORT, FULL = range(4)
LEFT_OUT = {"excluded", "empty", "its tool call or result is left out"}
_RANGE = re.compile(r"\[(\w+)\](?:-\[(\w+)\])?: ([\d,]+) nodes?")
_LINE = re.compile(r"^  \[(\w+)\] s+$", re.MULTILINE)


def shown(story, context):
    """How each node is shown, by its level, as the messages have it and the manifest agrees."""
    entries = {}
    for entry in context.manifest:
        if entry.kind is EntryKind.NODE and ":" not in entry.id:
            for position in range(entry.position, entry.position + entry.count):
                assert position not in entries
                entries[position] = entry
    assert sorted(entries) == list(range(len(story.rows)))
    live = {level for level, entry in entries.items() if entry.outcome is not Outcome.EXCLUDED}
    assert all(entries[level].reason in LEFT_OUT for level in entries.keys() - live)
    folded = {level for level in live if entries[level].outcome is Outcome.COLLAPSED}
    summarised = _summarised(story, context, folded)
    short = {level for level in live if story.rows[level].local_id in context.shortened}
    return {
        level: (SUMMARY if level in summarised else COUNTED)
        if level in folded
        else SHORT
        if level in short
        else FULL
        for level in live
    }


def _summarised(story, context, folded):
    """The levels with a line of their own. All others that are reduced are counted in a line with their range."""
    if not folded:
        assert "(collapsed [" not in whole_text(context)
        return set()
    places = {row.local_id: level for level, row in enumerate(story.rows)}
    block = context.messages[0].text.partition("\n\n")[0]
    head, *counted = (
        (places[first], places[last or first], int(count)) for first, last, count in _RANGE.findall(block)
    )
    lines = {places[name] for name in _LINE.findall(block)}
    assert head == (min(folded), max(folded), len(folded))
    if lines and lines < folded:
        older = folded - lines
        assert counted == [(min(older), max(older), len(older))]
        assert max(older) < min(lines)
    else:
        assert not counted
    return lines


@st.composite
def chats(draw, most=40):
    story = Story()
    for _ in range(draw(st.integers(1, most))):
        left_out = draw(st.sampled_from([None] * 6 + [Reason.EXCLUDED]))
        kind = draw(st.sampled_from(["user", "assistant", "assistant", "tool"]))
        if kind == "tool":
            story.use_tool("r" * draw(st.integers(1, 300)), left_out=left_out)
        else:
            story.say("x" * draw(st.integers(0, 500)), kind, left_out=left_out)
    story.say("And now?")
    return story


def with_summaries(loom, lengths):
    names = list(loom.summaries)
    texts = {name: "s" * lengths[index % len(lengths)] for index, name in enumerate(names)}
    return replace(loom, summaries=texts)


lengths = st.lists(st.integers(1, 160), min_size=1, max_size=5)
masks = st.sampled_from([{}, {"maskToolResults": 1, "maskAbove": 20}])
"""Tool results are masked before the history is reduced."""


def reduced(story, loom, limit, **options):
    try:
        return sent(story, loom, limit, **options)
    except ContextLimitError:
        return None


@covers("memory.every-reduced-node-accounted", "memory.pruning-in-the-manifest")
@given(
    chats(),
    lengths,
    st.integers(350, 4_000),
    st.sampled_from([0, 0.25]),
    st.sampled_from(["spec", "cache"]),
    masks,
)
def test_every_node_is_in_full_a_summary_or_counted_and_the_budget_holds(
    story, sizes, limit, step, layout, mask
):
    loom = with_summaries(loom_of(story), sizes)
    context = reduced(story, loom, limit, preferences={"truncationStep": step, "loomLayout": layout, **mask})
    if context is None:
        return
    assert context.tokens <= limit
    assert not context.truncated
    shown(story, context)


@covers("memory.larger-limit-never-shows-less")
@given(chats(), lengths, st.integers(350, 4_000), st.integers(1, 400), masks)
def test_a_larger_limit_never_shows_less(story, sizes, limit, more, mask):
    loom, preferences = with_summaries(loom_of(story), sizes), {"truncationStep": 0, **mask}
    less, larger = (reduced(story, loom, each, preferences=preferences) for each in (limit, limit + more))
    if less is None:
        return
    assert larger is not None
    before, after = shown(story, less), shown(story, larger)
    assert all(after[index] >= how for index, how in before.items())


@covers("memory.no-further-node-would-fit")
@given(chats(), lengths, st.integers(350, 4_000))
def test_without_steps_no_further_node_would_fit_newest_first(story, sizes, limit):
    loom = with_summaries(loom_of(story), sizes)
    context = reduced(story, loom, limit, preferences={"truncationStep": 0})
    if context is None or "(collapsed" not in whole_text(context):
        return
    seen = shown(story, context)
    if SHORT in seen.values():
        return
    reduced_levels = [level for level, how in seen.items() if how < SHORT]
    newest = story.rows[max(reduced_levels)]
    if newest.role == "tool" or newest.kind != "text":
        # A group comes whole.
        return
    line = DEFAULT.of_text(f"  [{newest.local_id}] {loom.summaries[newest.id]}\n")
    heading = DEFAULT.of_text(f"[{newest.local_id}] human · 3m ago · 1 continuation\n")
    free = limit - context.tokens
    counted = [level for level, how in seen.items() if how == COUNTED]
    upgrade = (
        newest.tokens + heading + DEFAULT.joint - (line - 1 if seen[max(reduced_levels)] == SUMMARY else 0)
    )
    if counted:
        oldest = story.rows[max(counted)]
        more = DEFAULT.of_text(f"  [{oldest.local_id}] {loom.summaries[oldest.id]}\n")
        upgrade = max(upgrade, more + 10)
    # A joint is set aside after each tool's message.
    assert free < upgrade + 4 + sum(row.role == "tool" for row in story.rows)


@covers("memory.boundary-on-steps")
@given(
    st.integers(0, 60),
    st.lists(st.tuples(st.integers(20, 500), st.integers(20, 300)), min_size=4, max_size=12),
    lengths,
    st.integers(1_500, 4_000),
)
def test_the_boundary_stays_between_steps_as_the_path_grows(turns, further, sizes, limit):
    story, before = talk(turns, 40), None
    options = {"profile": Profile(prefix_cache=True), "preferences": {"loomLayout": "cache"}}
    for asked, answered in further:
        context = reduced(story, with_summaries(loom_of(story), sizes), limit, **options)
        seen = shown(story, context)
        boundary = max((level for level, how in seen.items() if how < SHORT), default=-1)
        if before is not None and boundary == before[0]:
            sent_before = before[1].messages[:-1]
            assert context.messages[: len(sent_before)] == sent_before
        elif before is not None:
            assert boundary > before[0]
            marks = [story.rows[level].ruler // int(0.25 * limit) for level in (max(before[0], 0), boundary)]
            recent = len(story.rows) - boundary - 1 <= 4
            assert before[0] < 0 or marks[1] > marks[0] or recent
        before = boundary, context
        story.say("w" * answered, "assistant")
        story.say("w" * asked)


@covers("memory.every-reduced-node-accounted")
def test_levels_that_were_not_read_are_counted_in_the_range():
    story = talk(40)
    between = SkippedRange(20, "n5", "n24", story.rows[4].ruler, story.rows[24].ruler)
    outline = PathOutline(head=story.rows[:5], between=between, tail=story.rows[25:])
    request = replace(story.request(1_500), outline=outline)
    plan = plan_context(replace(request, loom=loom_of(story)))
    text = write_context(plan, story.contents).messages[0].text
    lines = re.findall(r"^  \[n(\d+)\] In short", text, re.MULTILINE)
    counted = int(lines[0])
    total = int(lines[-1]) + 1
    assert text.startswith(
        f"(collapsed [n0]-[n{total - 1}]: {total} nodes, {len(lines)} in summary)\n  [n0]-[n{counted - 1}]: {counted} nodes\n"
    )
    assert [int(line) for line in lines] == list(range(counted, total))


@covers("memory.every-reduced-node-accounted", "memory.prune-told")
def test_summaries_that_are_too_many_are_counted_beside_those_that_fit():
    story = talk(121, 20)
    context = sent(story, with_summaries(loom_of(story), [120]), 1_800, preferences={"truncationStep": 0})
    seen = list(shown(story, context).values())
    assert seen == sorted(seen)
    assert min(map(seen.count, (COUNTED, SUMMARY, FULL))) > 3
    assert SHORT not in seen
    reduced_levels = seen.count(COUNTED) + seen.count(SUMMARY)
    notice = f"Pruned: {reduced_levels} older nodes [n0]-[n{reduced_levels - 1}] to {seen.count(SUMMARY)} summaries"
    assert f"{notice} and a count · get back with → view ID full" in context.messages[-1].text


@covers("memory.strategy-keeps-summaries")
@pytest.mark.parametrize("strategy", ["truncateMiddle", "rollingWindow"])
@pytest.mark.parametrize("mode", list(Mode))
def test_where_the_recent_nodes_are_too_large_they_are_shortened_beside_the_summaries(strategy, mode):
    story = talk(9, 2_000)
    context = sent(story, loom_of(story), 2_000, mode=mode, preferences={"truncationStrategy": strategy})
    assert context.tokens <= 2_000
    assert context.shortened
    assert not context.truncated
    assert "  [n0] In short n0.\n  [n1] In short n1." in context.messages[0].text


@covers("memory.only-stored-summaries")
def test_nodes_without_a_summary_are_shown_by_an_extract_and_named():
    story = talk(21)
    loom = loom_of(story)
    loom = replace(loom, summaries={**loom.summaries, "N1": "[extract] Turn 1: word"})
    plan = plan_context(replace(story.request(1_200), loom=loom))
    assert plan.unsummarised == ("N1",)
    assert "\n  [n1] [extract] Turn 1: word\n" in write_context(plan, story.contents).messages[0].text


@covers("memory.larger-limit-never-shows-less", "memory.prune-trace-then-ephemeral")
def test_what_goes_after_the_summaries_comes_back_before_them():
    story = talk(30, 30)
    memory = MemoryContents(
        stashes=(StashedText(label="theme", text="loss " * 60),),
        trace=tuple(Action(verb="viewed", target=f"n{number}", detail="old") for number in range(12)),
        recalled=(("theme", 2),),
    )
    loom = with_summaries(loom_of(story, memory=memory, exchanges=EXCHANGES), [40])
    before = {}
    for limit in range(500, 2_600, 10):
        context = reduced(story, loom, limit, preferences={"truncationStep": 0})
        if context is None:
            continue
        text = whole_text(context)
        seen = shown(story, context) | {
            "trace": "action trace compressed" not in text,
            "stash": "loss loss" in text,
            "result": "old old" in text,
        }
        assert all(seen[name] >= how for name, how in before.items())
        before = seen
    assert set(before.values()) == {FULL, True}


@covers("memory.pins-over-the-budget")
@pytest.mark.parametrize("strategy", ["truncateMiddle", "rollingWindow", "stopAtLimit"])
def test_pins_that_leave_no_room_are_named(strategy):
    story = talk(9)
    pins = tuple(PinnedNode(node=name, text="truth " * 300) for name in ("a7x2", "b3k9", "c4m2", "d5n6"))
    loom = loom_of(story, memory=MemoryContents(pins=pins))
    with pytest.raises(ContextLimitError) as raised:
        sent(story, loom, 1_500, preferences={"truncationStrategy": strategy})
    assert all(f"[{pin.node}] 45" in raised.value.message for pin in pins)


def test_pins_are_not_blamed_for_what_would_not_fit_without_them():
    story = talk(9)
    loom = loom_of(story, memory=MemoryContents(pins=(PinnedNode(node="a7x2", text="Yes."),)))
    with pytest.raises(ContextLimitError) as raised:
        sent(story, loom, 150)
    assert "a7x2" not in raised.value.message
