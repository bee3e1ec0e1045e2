"""The cut, on light columns: where it falls, that it stays, and that half a path is enough to find it."""

from bisect import bisect_right
from itertools import accumulate, pairwise

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tests.covers import covers

from weft.context import fit_messages
from weft.context.columns import Columns, Sketch, SkippedRange
from weft.context.fit import Marker, Room, Rules, Strategy, fit, head_reach
from weft.context.settings import DIALOGUE_MARKER
from weft.errors import ContextLimitError

MIDDLE, ROLLING = Strategy.TRUNCATE_MIDDLE, Strategy.ROLLING_WINDOW


class Road:
    """A path of (role, size, excluded, bound) levels, with a ruler that counts the excluded too."""

    def __init__(self, levels):
        self.levels = levels

    def columns(self, start=0, stop=None):
        part = self.levels[start:stop]
        before = self.levels[:start]
        sizes = [level[1] for level in self.levels]
        offset = sum(sizes[:start])
        return Columns(
            sums=[0, *accumulate(0 if out else size for _, size, out, _ in part)],
            roles=[role for role, *_ in part],
            bound=bytes(bound for *_, bound in part),
            ids=[f"n{index}" for index in range(len(before), len(before) + len(part))],
            ruler=[offset, *(offset + end for end in accumulate(level[1] for level in part))],
        )

    def sketch(self):
        return Sketch(tail=self.columns(), last_user=self.last_user())

    def last_user(self):
        for index in range(len(self.levels) - 1, -1, -1):
            role, size, out, bound = self.levels[index]
            if role == "user" and not out and not bound:
                return index, size
        return None

    def halves(self, room, rules):
        """What planning reads: the head one level past its reach, the tail one level past the room."""
        reach, on_ruler = head_reach(room, rules)
        whole = self.columns()
        scale = whole.ruler if on_ruler else whole.sums
        head = min(bisect_right(scale, scale[0] + reach), len(whole))
        tail = next((i for i in range(len(whole), -1, -1) if whole.after(i) > max(0, room.free)), 0)
        recent = 0
        for index in range(len(whole) - 1, -1, -1):
            recent += whole.live(index) > 0
            if recent >= max(1, rules.minimum_recent) and not whole.bound[index]:
                tail = min(tail, index)
                break
        else:
            tail = 0
        user = self.last_user()
        if user is not None:
            tail = min(tail, user[0])
        while tail > 0 and whole.bound[tail]:
            tail -= 1
        if tail - head < 1:
            return self.sketch()
        ruler = whole.ruler
        between = SkippedRange(
            levels=tail - head, first=f"n{head}", last=f"n{tail - 1}", start=ruler[head], end=ruler[tail]
        )
        return Sketch(head=self.columns(0, head), between=between, tail=self.columns(tail), last_user=user)


@st.composite
def roads(draw, *, most=60, tools=True, excluded=True):
    levels = []
    sizes = st.one_of(st.integers(1, 30), st.integers(1, 200))
    for _ in range(draw(st.integers(1, most))):
        role = draw(st.sampled_from(["user", "assistant", "assistant"]))
        out = excluded and draw(st.integers(0, 9)) == 0
        levels.append((role, draw(sizes), out, False))
        if tools and role == "assistant" and not out and draw(st.integers(0, 4)) == 0:
            levels += [("tool", draw(sizes), False, True) for _ in range(draw(st.integers(1, 3)))]
    return Road(levels)


@st.composite
def scenes(draw, *, stepped):
    window = draw(st.integers(200, 2_000))
    budget = window - draw(st.integers(0, window // 4))
    room = Room(
        budget=budget,
        system=draw(st.integers(0, 50)),
        reserve=draw(st.integers(0, 5)),
        opening=1,
        joints=draw(st.sampled_from([0, 2])),
        window=window,
    )
    rules = Rules(
        strategy=draw(st.sampled_from([MIDDLE, ROLLING])),
        step=draw(st.sampled_from([0.1, 0.25])) if stepped else 0.0,
        minimum_recent=draw(st.integers(0, 5)),
        marker=Marker(draw(st.sampled_from(["", DIALOGUE_MARKER, "[{levels}]"]))),
        dialogue=draw(st.booleans()),
    )
    return room, rules


any_scene = st.one_of(scenes(stepped=False), scenes(stepped=True))


def attempt(sketch, room, rules):
    try:
        return fit(sketch, room, rules)
    except ContextLimitError:
        return None


@covers("fit.budget-never-exceeded", "step.room-leaves-a-marker-allowance")
@given(roads(), any_scene)
def test_what_is_kept_fits_whatever_the_path(road, scene):
    room, rules = scene
    found = attempt(road.sketch(), room, rules)
    assume(found is not None)
    whole = road.columns()
    kept = {*range(found.head), *range(found.tail, found.levels)} | ({found.anchor} - {None})
    cost = sum(min(whole.live(level), found.shortened.get(level, 10**9)) for level in kept)
    assert cost + found.marker_tokens == found.tokens
    assert found.tokens <= room.free
    if found.truncated and not found.marker and not any(whole.live(level) for level in range(found.head)):
        spoken = [level for level in sorted(kept) if whole.live(level)]
        if whole.roles[spoken[0]] != "user":
            assert found.tokens <= room.free - room.opening


@covers("cost.removed-stretches-are-ranges", "step.stateless")
@given(roads(), any_scene)
def test_both_ends_of_a_path_are_enough(road, scene):
    room, rules = scene
    assert attempt(road.halves(room, rules), room, rules) == attempt(road.sketch(), room, rules)


@covers("fit.tool-groups-whole")
@given(roads(), any_scene)
def test_neither_cut_parts_a_tool_group(road, scene):
    room, rules = scene
    found = attempt(road.sketch(), room, rules)
    assume(found is not None and found.truncated)
    bound = [level[3] for level in road.levels]
    assert not bound[found.tail]
    assert not bound[found.head]


@covers("step.cut-never-into-recent-nodes", "fit.recent-nodes-always-there")
@given(roads(), any_scene)
def test_the_recent_nodes_are_kept(road, scene):
    room, rules = scene
    found = attempt(road.sketch(), room, rules)
    assume(found is not None)
    live = [level for level in range(found.levels) if not road.levels[level][2]]
    assume(live)
    assert found.tail <= live[-min(len(live), max(1, rules.minimum_recent))]


@covers("step.monotone")
@given(roads(tools=False), scenes(stepped=True))
def test_a_cut_never_moves_back_as_a_path_grows(road, scene):
    room, rules = scene
    cuts = []
    for length in range(1, len(road.levels) + 1):
        found = attempt(Road(road.levels[:length]).sketch(), room, rules)
        if found is None or found.anchor is not None:
            # The last user message takes room of its own while the window has no other.
            cuts.append(None)
            continue
        cuts.append(found.tail)
    assert all(one <= other for one, other in pairwise(cut for cut in cuts if cut is not None))


@pytest.mark.outer
@covers("step.head-on-a-grid", "step.head-ends-on-assistant", "step.cut-on-a-user-message")
@given(roads(), scenes(stepped=True))
def test_a_stepped_head_ends_on_an_assistant_and_stays_put(road, scene):
    room, rules = scene
    found = attempt(road.sketch(), room, rules)
    assume(found is not None and found.head and found.truncated)
    reach, on_ruler = head_reach(room, rules)
    assert on_ruler
    assert reach % max(1, room.window // 16) == 0
    assert reach <= (room.budget - room.system - rules.marker.allowance) / 2
    assert road.columns().ruler[found.head] <= reach
    if rules.dialogue:
        assert road.levels[found.head - 1][0] == "assistant"
    longer = Road([*road.levels, ("user", 1, False, False)])
    again = attempt(longer.sketch(), room, rules)
    if again is not None and again.head != found.head:
        # One of the two heads gave way to recent nodes.
        assert found.tail == found.recent or again.tail == again.recent


def talk(count, size=25):
    return Road([("assistant" if index % 2 else "user", size, False, False) for index in range(count)])


@covers("step.cut-on-a-grid", "step.share-of-the-model-window", "step.exact-cut-by-live-tokens")
def test_a_stepped_cut_stands_on_the_grid_of_the_window():
    room = Room(budget=1_000, window=1_600)
    rules = Rules(strategy=ROLLING, step=0.25, minimum_recent=2)
    seen = set()
    for count in range(41, 120):
        found = fit(talk(count).sketch(), room, rules)
        assert found.tail * 25 % 400 == 0
        exact = fit(talk(count).sketch(), room, Rules(strategy=ROLLING, minimum_recent=2))
        assert 0 <= found.tail - exact.tail < 16
        seen.add(found.tail)
    assert seen == {16, 32, 48, 64, 80}
    smaller = fit(talk(60).sketch(), Room(budget=900, system=10, window=1_600), rules)
    assert smaller.tail * 25 % 400 == 0


@covers("step.cut-on-a-user-message")
def test_a_stepped_cut_falls_on_a_user_message_where_messages_are_longer_than_a_step():
    room = Room(budget=1_000, window=1_000)
    rules = Rules(strategy=ROLLING, step=0.1, minimum_recent=2)
    for size in (105, 130, 160):
        cuts = [fit(talk(count, size).sketch(), room, rules).tail for count in range(10, 60)]
        assert all(cut % 2 == 0 for cut in cuts)
        assert cuts == sorted(cuts)


def test_a_head_that_weighs_more_than_the_ruler_says_leaves_the_tail_its_half():
    """Else the cut would stand right before the recent nodes, and move with every turn."""
    room = Room(budget=1_600, window=1_600)
    rules = Rules(step=0.25, minimum_recent=4)
    seen, heads = set(), set()
    for count in range(107, 187):
        plain = talk(count, size=10).columns()
        heavy = Columns(
            sums=[each * 3 // 2 for each in plain.sums],
            roles=plain.roles,
            bound=plain.bound,
            ids=plain.ids,
            ruler=plain.ruler,
        )
        found = fit(Sketch(tail=heavy, last_user=(count - 1 - (count - 1) % 2, 15)), room, rules)
        assert heavy.sums[found.head] <= room.budget // 2
        heads.add(found.head)
        seen.add(found.tail)
    assert heads == {50}
    assert len(seen) <= 3


@covers("fit.recent-texts-shortened")
@pytest.mark.parametrize("strategy", [MIDDLE, ROLLING])
def test_recent_nodes_that_just_fit_are_not_shortened(strategy):
    rules = Rules(strategy=strategy, minimum_recent=4)
    for budget in range(100, 110):
        found = fit(talk(21).sketch(), Room(budget=budget, joints=2), rules)
        assert not found.shortened
        assert found.tokens <= budget


@covers("step.one-grid-for-all-branches")
@given(roads(tools=False, excluded=False), roads(tools=False, excluded=False), scenes(stepped=True))
def test_branches_of_one_path_are_cut_at_the_same_places(one, other, scene):
    room, rules = scene
    shared = talk(80).levels
    found = [attempt(Road([*shared, *road.levels]).sketch(), room, rules) for road in (one, other)]
    step = max(1, int(rules.step * room.window))
    for each in found:
        if each is not None and each.truncated and each.tail < each.recent and each.tail < len(shared):
            start = each.tail * 25
            line = start // step * step
            # Nothing between the line and the cut could have been cut at.
            assert start - line < 50 or not rules.dialogue or start - line < 25


@covers("step.marker-says-nothing-live")
@given(roads(), scenes(stepped=True), st.data())
def test_the_marker_depends_on_the_cut_only(road, scene, data):
    room, rules = scene
    found = attempt(road.sketch(), room, rules)
    assume(found is not None and found.marker)
    assert found is not None
    middle = data.draw(st.integers(found.head, found.tail - 1))
    role, size, out, bound = road.levels[middle]
    changed = [*road.levels]
    changed[middle] = (role, size, not out, bound)
    again = attempt(Road(changed).sketch(), room, rules)
    if again is not None and again[1:3] == found[1:3] and again.anchor == found.anchor:
        assert again.marker == found.marker
    if rules.marker.template == DIALOGUE_MARKER:
        removed = sum(level[1] for level in road.levels[found.head : found.tail])
        levels = found.tail - found.head
        first, last = found.head, found.tail - 1
        if found.anchor is not None:
            removed, levels = removed - road.levels[found.anchor][1], levels - 1
            first, last = first + (first == found.anchor), last - (last == found.anchor)
        assert found.marker == (
            f"[{levels:,} earlier messages, about {removed:,} tokens, left out: n{first} to n{last}]"
        )


@pytest.mark.long
@covers("fit.middle-head-fits-half")
@given(roads(tools=False, excluded=False), scenes(stepped=False))
@example(talk(60), (Room(budget=500), Rules(minimum_recent=2)))
def test_an_exact_head_is_the_longest_that_fits_half(road, scene):
    room, rules = scene
    assume(rules.strategy is MIDDLE)
    found = attempt(road.sketch(), room, rules)
    assume(found is not None and found.truncated and found.tail < found.recent)
    half = (room.budget - room.system) // 2
    sums = road.columns().sums
    assert sums[found.head] <= half < sums[found.head + 1]


def test_stopping_at_a_limit_counts_what_was_not_read_by_the_ruler():
    room, rules = Room(budget=100), Rules(strategy=Strategy.STOP_AT_LIMIT)
    sketch = talk(40).halves(room, rules)
    assert sketch.between is not None
    with pytest.raises(ContextLimitError, match=r"needs at least 1,000 tokens, the budget is 100: 900 over"):
        fit(sketch, room, rules)


@covers("fit.marker-configurable", "fit.middle-keeps-head-and-tail")
def test_a_marker_without_room_gives_way_to_a_short_one_and_not_the_messages():
    messages = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"{n:3} " * 10} for n in range(41)]
    plain = fit_messages(messages, 200, marker="[…]")
    vast = fit_messages(messages, 200, marker="left out here " * 100)
    assert vast.messages == plain.messages
    assert not vast.shortened
    # Where not even that has room, there is none.
    assert fit_messages(messages, 4, marker="left out here " * 8, minimum_recent=1).tokens <= 4


@covers("step.share-of-the-model-window")
def test_in_a_window_far_larger_than_the_budget_a_step_is_no_longer_than_what_is_kept():
    room = Room(budget=1_000, window=100_000)
    for strategy in (ROLLING, MIDDLE):
        cuts = []
        for count in range(60, 200):
            found = fit(talk(count).sketch(), room, Rules(strategy=strategy, step=0.25, minimum_recent=2))
            assert found.tokens >= room.budget // 3
            cuts.append(found.tail)
        assert len(set(cuts)) < len(cuts) / 4
