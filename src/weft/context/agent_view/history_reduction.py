"""Make a loom-aware context shorter before anything is cut, and name what was reduced.

First older conversation becomes its summaries, oldest first; then the trace is compressed;
then unpinned ephemeral content goes; and a line tells the model what it misses and how to
get it back. Pins are in the memory block, and nothing here touches them.

The states of a reduction are one sequence, each showing one summary or one node in full more
than the state before. A limit takes the last state that fits, so a larger limit never shows less.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from weft.context.agent_view.agent_context import Exchange, LoomAware
from weft.context.agent_view.loom_block import connections_line
from weft.context.agent_view.operational_memory import pin_lines
from weft.context.checks import pins_over
from weft.context.columns import Columns
from weft.context.fit import Strategy, recent_start, stepped_cut, window_of_grid
from weft.context.manifest_build import COLLAPSED
from weft.context.manifest_entries import EntryKind, Gap, Outcome, Piece, Run
from weft.context.plan import Plan
from weft.context.request import ContextRequest
from weft.context.rows import Candidate, PathOutline, Reason, columns_of, sources_beside
from weft.context.settings import LoomLayout
from weft.context.tokens import NO_LIMIT, Estimator
from weft.errors import ContextLimitError
from weft.tree.content import Text
from weft.tree.measure import measure
from weft.tree.snippet import is_extract

_OF_NODES = 3
"""Summaries take at most one part in so many of what the nodes in full take."""
_OF_WINDOW = 8
"""Where the boundary moves in steps: one part in so many of the window, which does not change as a path grows."""
_CUT = "newest results cut"
_RECENT = 3
"""How many actions stay in full when the trace is compressed."""
_COUNTED = "pruned: counted in a range"
_BACK_NODES = "→ view ID full"
Planner: TypeAlias = Callable[[ContextRequest], Plan]
"""Plans a request without reducing its history."""
_OUTCOMES = {Reason.COLLAPSED: Outcome.COLLAPSED, Reason.IN_SYSTEM: Outcome.MERGED}


def reduce(request: ContextRequest, loom: LoomAware, plan_of: Planner) -> Plan:
    """The plan of a request that does not fit as it is. Its outline is paired and masked already."""
    return _Reduction(request, loom, plan_of).plan()


def pins_over_budget(request: ContextRequest, plan_of: Planner) -> ContextLimitError | None:
    """The error that names the pins, where they are why a request does not fit."""
    loom = request.loom
    if loom is None or not loom.memory.pins:
        return None
    of_text = request.estimator.of_text
    pins = [(name, of_text(line)) for name, line in pin_lines(loom.memory.pins, loom.showing)]
    unpinned = replace(request, loom=replace(loom, memory=replace(loom.memory, pins=())))
    if sum(tokens for _, tokens in pins) <= request.budget:
        if request.preferences.truncation_strategy is Strategy.STOP_AT_LIMIT:
            return None
        try:
            plan_of(unpinned)
        except ContextLimitError:
            return None
    return pins_over(pins, request.budget)


def _fitting(plan_of: Callable[[], Plan]) -> Plan | None:
    """The plan, if all of it fits."""
    try:
        plan = plan_of()
    except ContextLimitError:
        return None
    return plan if plan.whole else None


class _Size(NamedTuple):
    """The size of a text that grows piece by piece."""

    narrow: int = 0
    wide: int = 0
    tokens: int = 0
    """The sum of the pieces, for an estimator that needs the text."""

    def plus(self, text: str, estimator: Estimator, sign: int = 1) -> "_Size":
        if not estimator.linear:
            return self._replace(tokens=self.tokens + sign * estimator.of_text(text))
        size = measure(text)
        return _Size(self.narrow + sign * size.narrow, self.wide + sign * size.wide)

    def cost(self, estimator: Estimator) -> int:
        counts = estimator.of_counts
        return self.tokens if counts is None else counts(self.narrow, self.wide)


class _State(NamedTuple):
    """Levels before `boundary` are reduced: those from `oldest` on to a summary each, earlier ones to a count.

    Both count from the first level of the outline's tail.
    """

    boundary: int
    oldest: int
    lines: _Size = _Size()


@dataclass(frozen=True, slots=True)
class _Folded:
    """The row in the place of the reduced levels."""

    levels: int
    """How many levels of the path it replaces, left out ones too."""
    label: str
    text: str
    notice: str
    extracts: tuple[str, ...]


class _Reduction:
    """The steps, each only as far as it is needed."""

    def __init__(self, request: ContextRequest, loom: LoomAware, plan_of: Planner) -> None:
        self.request = request
        self.loom = loom
        self.plan_of = plan_of
        self.done: list[str] = []
        self.back: list[str] = []
        self.pieces: list[Piece] = []
        self.history = _History(request, loom, plan_of)

    def plan(self) -> Plan:
        states = self.history.states
        floor = self.history.floor
        if states:
            plan = self._best(states[floor:])
            if plan is not None:
                return plan
        for _ in self._less():
            plan = self._try(states[floor] if states else None)
            if plan is not None:
                return plan
        return self._shortened(states[: floor + 1])

    def _best(self, states: Sequence[_State]) -> Plan | None:
        """The plan of the last state that fits: its size is computed, then checked by planning it."""
        least = self._try(states[0])
        if least is None:
            return None
        spare = least.room.free - least.cut.tokens + self.history.cost(states[0])
        fitting = (
            index for index in reversed(range(len(states))) if self.history.cost(states[index]) <= spare
        )
        at = next(fitting)
        if self.request.rules.step:
            return self._on_steps(states, at, least) or least
        plan = self._try(states[at])
        while plan is None:
            at -= 1
            plan = self._try(states[at]) if at else least
        while at + 1 < len(states) and (more := self._try(states[at + 1])) is not None:
            at, plan = at + 1, more
        return plan

    def _on_steps(self, states: Sequence[_State], at: int, least: Plan) -> Plan | None:
        """The plan at the first boundary on the grid of the cut, so that it stays while the path grows."""
        columns, latest = self.history.columns, states[0].boundary
        boundary = states[at].boundary
        by_boundary = {each.boundary: each for each in states}
        while boundary < latest:
            boundary = stepped_cut(columns, boundary, least.room, self.request.rules, latest)
            while boundary < latest and boundary not in by_boundary:
                boundary += 1
            plan = self._try(by_boundary[boundary])
            if plan is not None:
                return plan
            boundary += 1
        return None

    def _try(self, state: _State | None) -> Plan | None:
        return _fitting(lambda: self._planned(state))

    def _planned(self, state: _State | None, *, held_back: int = 0) -> Plan:
        folded = None if state is None else self.history.folded(state)
        done, back, loom, request = self.done, self.back, self.loom, self.request
        if folded is not None:
            done, back = [folded.notice, *done], [_BACK_NODES, *back]
            request = self.history.reduced(folded)
        if done:
            ways = ", ".join(dict.fromkeys(back))
            loom = replace(loom, notice=f"Pruned: {' · '.join(done)} · get back with {ways}")
        plan = self.plan_of(replace(request, loom=loom, held_back=request.held_back + held_back))
        plan.pruned = tuple(self.pieces)
        if folded is not None and state is not None:
            plan.pruned = (*self.history.pieces(state), *self.pieces)
            plan.unsummarised = folded.extracts
        return plan

    def _less(self) -> Iterator[None]:
        """What goes after older conversation: most of the trace, then results and recalled stashes."""
        if len(self.loom.memory.trace) > _RECENT:
            self.loom = replace(self.loom, showing=replace(self.loom.showing, recent=_RECENT))
            self._tell("action trace compressed", "→ memory trace")
            self._account("action trace", "pruned: older actions told as counts", Outcome.SHORTENED)
            yield
        exchanges, memory = self.loom.exchanges, self.loom.memory
        gone = [number for each in exchanges[:-1] for number in each.numbers]
        labels = [label for label, _ in memory.recalled]
        if gone:
            earlier = (_without_results(each) for each in exchanges[:-1])
            self.loom = replace(self.loom, exchanges=(*earlier, exchanges[-1]))
            self._tell(f"results {', '.join(map(str, gone))}", "→ view result:N")
            for number in gone:
                self._account(f"result:{number}", "pruned: not pinned", Outcome.CUT)
        if labels:
            self.loom = replace(self.loom, memory=memory.without_ephemeral())
            self._tell(f"recalled {', '.join(map(_quoted, labels))}", '→ recall "label"')
            for label in labels:
                self._account(f"stash:{label}", "pruned: recalled, not pinned", Outcome.CUT)
        if gone or labels:
            yield

    def _tell(self, done: str, back: str) -> None:
        self.done.append(done)
        self.back.append(back)

    def _account(self, name: str, reason: str, outcome: Outcome) -> None:
        run = Run(kind=EntryKind.FILTER, outcome=outcome, reason=reason, ids=(name,), sizes=(0,))
        self.pieces.append(run)

    def _shortened(self, states: Sequence[_State]) -> Plan:
        """The recent nodes shortened, beside as many summaries as their share holds."""
        if not states:
            return self._behind(None)
        plan = self._behind(states[0])
        tail, free = plan.sketch.tail, plan.room.free
        least, floor_of = tail.sums[-1], plan.sketch.floor_of
        if floor_of is not None:
            least = sum(min(live, floor_of(level)) for level, live in enumerate(tail.lives) if live)
        bare, *costs = map(self.history.row_cost, states)
        costs = [0, *(cost - bare for cost in costs)]
        # Set aside whether summaries fill it or not: so the nodes' room only grows with the limit.
        share = min(max(free // _OF_WINDOW, free - tail.sums[-1]), free - least, costs[-1])
        at = max(index for index, cost in enumerate(costs) if cost <= share)
        try:
            return self._planned(states[at], held_back=share - costs[at]) if share > 0 else plan
        except ContextLimitError:
            # The sizes of some estimators do not add up.
            return plan

    def _behind(self, state: _State | None) -> Plan:
        """What is left. Behind a document no strategy cuts: there the newest results give way."""
        try:
            return self._planned(state)
        except ContextLimitError:
            if self.request.dialogue or not self.loom.exchanges:
                raise
        *before, newest = self.loom.exchanges
        self._tell(_CUT, "→ view result:N")
        for number in newest.numbers:
            self._account(f"result:{number}", "pruned: no room for all of it", Outcome.SHORTENED)
        loom, best = self.loom, None
        low, high = 0, len(newest.results)
        while low <= high:
            middle = (low + high) // 2
            self.loom = replace(loom, exchanges=(*before, _beginning_of(newest, middle)))
            try:
                best, low = self._planned(state), middle + 1
            except ContextLimitError:
                high = middle - 1
        # Another line of the notice may need some more room.
        self.loom = loom
        return best or self._planned(state)


class _History:
    """The path before the recent nodes, as what it can be reduced to."""

    def __init__(self, request: ContextRequest, loom: LoomAware, plan_of: Planner) -> None:
        # Sizes that depend on no limit: the states are the same for all of them.
        grid = window_of_grid(request.budget, request.window)
        ample = plan_of(replace(request, budget=NO_LIMIT, window=grid))
        self.request = request
        self.loom = loom
        self.outline = request.outline
        self.columns: Columns = ample.sketch.tail
        self.rows = ample.rows.tail
        self.prices = ample.prices
        self.reasons = ample.reasons
        levels = len(self.outline.tail)
        unread = 0
        if self.outline.between is not None:
            unread = sum(level not in self.reasons for level in range(len(self.outline.head)))
            unread += self.outline.between.levels
        live = (self._live(index) for index in range(levels))
        self.counts = list(accumulate(live, initial=unread))
        """How many nodes there are before each level, counting those that were not read."""
        self.tails = self._tails()
        self.states: list[_State] = []
        self.floor = 0
        """The state with as many summaries as there may be beside the recent nodes alone."""
        run = 2 * len(loom.exchanges) if request.dialogue else 0
        minimum = request.preferences.minimum_recent_nodes
        latest = recent_start(self.columns, minimum, len(self.columns) - run)
        latest = min(latest, len(self.outline.tail))
        if self.counts[latest]:
            self._find_states(latest)

    def _tails(self) -> list[_Size]:
        """What the nodes from each level on add to the tail block, which names their connections."""
        sizes = [_Size()] * (len(self.rows) + 1)
        if self.request.preferences.loom_layout is LoomLayout.CACHE:
            for index in reversed(range(len(self.rows))):
                facts = self.loom.facts.get(self.rows[index].id)
                line = "" if facts is None or not self._live(index) else connections_line(facts)
                sizes[index] = sizes[index + 1].plus(line, self.request.estimator)
        return sizes

    def _find_states(self, boundary: int) -> None:
        """Every state that could fit, from the recent nodes and a count on."""
        estimator, columns, oldest, lines = self.request.estimator, self.columns, boundary, _Size()
        self.states.append(_State(boundary, oldest, lines))
        while True:
            while oldest:
                more = lines.plus(self._line(oldest - 1), estimator)
                if more.cost(estimator) > self._share(boundary):
                    break
                oldest, lines = oldest - 1, more
                self.states.append(_State(boundary, oldest, lines))
            if not self.floor:
                self.floor = len(self.states) - 1
            upper, boundary = boundary, self._below(boundary)
            if boundary < 0 or not self.counts[boundary] or columns.after(boundary) > self.request.budget:
                break
            for index in range(max(boundary, oldest), upper):
                lines = lines.plus(self._line(index), estimator, -1)
            oldest = min(oldest, boundary)
            self.states.append(_State(boundary, oldest, lines))

    def _below(self, boundary: int) -> int:
        """The next earlier level at which nodes in full may begin."""
        boundary -= 1
        while boundary > 0 and (self.columns.bound[boundary] or not self.columns.live(boundary)):
            boundary -= 1
        return boundary

    def _share(self, boundary: int) -> int:
        """The most that summaries may take beside the nodes from a boundary on."""
        if not self.request.rules.step:
            return self.columns.after(boundary) // _OF_NODES
        return window_of_grid(self.request.budget, self.request.window) // _OF_WINDOW

    def cost(self, state: _State) -> int:
        """What the row, the nodes in full after it and the tail block cost."""
        index = state.boundary
        near = self.rows[index : index + 2]
        # The first node in full follows the row instead of a node.
        row = Candidate(COLLAPSED, COLLAPSED, "user", 1, 0)
        rows = [row, *near]
        beside = sources_beside(rows, self.request.pending.sources) if self.request.dialogue else {}
        joined, _ = columns_of(rows, self.prices, beside)
        nodes = joined.sums[2] - 1 + self.columns.after(index + 1) if near else 0
        return self.row_cost(state) + nodes

    def row_cost(self, state: _State) -> int:
        """What the row and the tail block cost, as far as the state makes a difference."""
        estimator = self.request.estimator
        text, notice = self._frame(state)
        text = text.removesuffix("\n") if self.request.dialogue else text
        tail = self.tails[state.boundary].plus(notice, estimator).cost(estimator)
        return state.lines.plus(text, estimator).cost(estimator) + tail

    def folded(self, state: _State) -> _Folded:
        text, notice = self._frame(state)
        shown = range(state.oldest, state.boundary)
        text += "".join(map(self._line, shown))
        return _Folded(
            levels=self.outline.first + state.boundary,
            label=self._range(state.boundary).replace("[", "").replace("]", ""),
            # In a document nothing separates two texts: its first words are not the last summary's.
            text=text.removesuffix("\n") if self.request.dialogue else text,
            notice=notice,
            extracts=tuple(
                self.rows[index].id
                for index in shown
                if self._live(index) and is_extract(self.loom.summaries.get(self.rows[index].id, ""))
            ),
        )

    def _frame(self, state: _State) -> tuple[str, str]:
        """The row's text without the summaries, and what the notice says."""
        every, counted = self.counts[state.boundary], self.counts[state.oldest]
        ids = self._range(state.boundary)
        head = f"(collapsed {ids}: {every:,} {_nodes(every)}"
        notice = f"{every:,} older {_nodes(every)} {ids}"
        if not counted:
            return f"{head}, in summary)\n", f"{notice} to summaries"
        if counted == every:
            return f"{head})\n", f"{notice} to a count"
        line = f"  {self._range(state.oldest)}: {counted:,} {_nodes(counted)}"
        summaries = every - counted
        return (
            f"{head}, {summaries:,} in summary)\n{line}\n",
            f"{notice} to {_counted(summaries)} and a count",
        )

    def _live(self, index: int) -> bool:
        return self.outline.first + index not in self.reasons

    def _line(self, index: int) -> str:
        """One line of a node that is reduced; nothing of one that is left out for a reason of its own."""
        if not self._live(index):
            return ""
        row = self.rows[index]
        said = " ".join(self.loom.summaries.get(row.id, "").split())
        return f"  [{row.local_id}] {said}".rstrip() + "\n"

    def _range(self, end: int) -> str:
        """The ids of the first and the last node before a level."""
        outline = self.outline
        known = [row.local_id for level, row in enumerate(outline.head) if level not in self.reasons]
        between = [] if outline.between is None else [outline.between.first, outline.between.last]
        start = next((index for index in range(end) if self._live(index)), end)
        stop = next((index for index in reversed(range(end)) if self._live(index)), -1)
        ids = [
            *known[:1],
            *between,
            *([self.rows[start].local_id, self.rows[stop].local_id] if stop >= 0 else []),
        ]
        return f"[{ids[0]}]" if ids[0] == ids[-1] else f"[{ids[0]}]-[{ids[-1]}]"

    def reduced(self, folded: _Folded) -> ContextRequest:
        """The request with the row in the place of the reduced levels."""
        request, outline, cut = self.request, self.outline, folded.levels
        tail = outline.tail[cut - outline.first :]
        tokens = max(1, request.estimator.of_text(folded.text))
        ruler = self.columns.ruler[cut - outline.first]
        # It is never shortened.
        row = Candidate(COLLAPSED, folded.label, "user", tokens, ruler, least=tokens)
        return replace(
            request,
            outline=PathOutline(tail=[row, *tail], start=0),
            folded=cut,
            offset=cut - 1,
            own={**request.own, COLLAPSED: Text(folded.text)},
        )

    def pieces(self, state: _State) -> list[Piece]:
        """What became of the reduced levels."""
        outline = self.outline
        rows = list(enumerate(outline.head)) if outline.between is not None else []
        pieces: list[Piece] = [self._piece(level, row, _COUNTED) for level, row in rows]
        if outline.between is not None:
            between = outline.between
            pieces.append(
                Gap(
                    kind=EntryKind.NODE,
                    outcome=Outcome.COLLAPSED,
                    reason=_COUNTED,
                    position=len(outline.head),
                    count=between.levels,
                    first=between.first,
                    last=between.last,
                    measure=between.end - between.start,
                )
            )
        for index in range(state.boundary):
            reason = _COUNTED if index < state.oldest else "pruned: replaced by its summary"
            pieces.append(self._piece(outline.first + index, self.outline.tail[index], reason))
        return pieces

    def _piece(self, level: int, row: Candidate, reason: str) -> Run:
        own = self.reasons.get(level)
        return Run(
            kind=EntryKind.NODE,
            outcome=Outcome.COLLAPSED if own is None else _OUTCOMES.get(own, Outcome.EXCLUDED),
            reason=reason if own is None else own.value,
            ids=[row.local_id],
            sizes=[row.tokens + row.hidden],
            position=level,
        )


def _beginning_of(each: Exchange, length: int) -> Exchange:
    return replace(each, results=f"{each.results[:length].rstrip()}\n({_CUT})".lstrip())


def _without_results(each: Exchange) -> Exchange:
    numbers = ", ".join(f"result:{number}" for number in each.numbers)
    return replace(each, results=f"({numbers} left out)") if each.numbers else each


def _quoted(label: str) -> str:
    return f'"{label}"'


def _counted(summaries: int) -> str:
    return f"{summaries:,} {'summary' if summaries == 1 else 'summaries'}"


def _nodes(count: int) -> str:
    return "node" if count == 1 else "nodes"
