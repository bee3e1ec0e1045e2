"""Make a loom-aware context shorter before anything is cut, and say so.

First older conversation becomes its summaries, oldest first; then the trace is told in
short; then what is only passing goes; and a line tells the model what it misses and how to
get it back. Pins are in the memory block, and nothing here touches them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from weft.context.agent_view.agent_context import Exchange, LoomAware, plan_loom
from weft.context.fit import Strategy, window_of_grid
from weft.context.manifest import EntryKind, Gap, Outcome, Piece, Run
from weft.context.manifest_build import COLLAPSED
from weft.context.request import ContextRequest, Plan
from weft.context.rows import Candidate, PathOutline, bound_of, left_out_of
from weft.errors import ContextLimitError
from weft.tree.content import Text

_SHARE = 4
"""Summaries may take one part in so many of the budget."""
_CUT = "newest results cut"
_RECENT = 3
"""What is left of the trace in full when it is compressed."""


@dataclass(frozen=True, slots=True)
class _Folded:
    """The oldest levels as one, with their summaries."""

    levels: int
    first: str
    last: str
    text: str

    @property
    def label(self) -> str:
        return self.first if self.levels == 1 else f"{self.first}-{self.last}"


def plan_loomaware(request: ContextRequest, loom: LoomAware) -> Plan:
    """Plan what a loom-aware agent is sent; where it does not fit, prune before any strategy cuts.

    With `stopAtLimit` nothing is pruned: it says by how much it is too long.
    """
    if request.preferences.truncation_strategy is Strategy.STOP_AT_LIMIT:
        return plan_loom(request, loom)
    whole = _tried(request, loom, None)
    if whole is not None:
        return whole
    return _Pruning(request, loom).plan()


def _tried(request: ContextRequest, loom: LoomAware, folded: _Folded | None) -> Plan | None:
    """The plan, if all of it fits."""
    try:
        found = _planned(request, loom, folded)
    except ContextLimitError:
        return None
    fits = not found.fit.truncated and not found.fit.shortened
    return found if fits else None


def _planned(request: ContextRequest, loom: LoomAware, folded: _Folded | None) -> Plan:
    if folded is None:
        return plan_loom(request, loom)
    return plan_loom(_folded_request(request, folded), loom)


def _folded_request(request: ContextRequest, folded: _Folded) -> ContextRequest:
    outline = request.outline
    cut = folded.levels
    rest = [outline.at(level) for level in range(cut, outline.first + len(outline.tail))]
    _, ruler = _end_before(outline, cut)
    tokens = max(1, request.estimator.of_text(folded.text))
    row = Candidate(COLLAPSED, folded.label, "user", tokens, ruler)
    return replace(
        request,
        outline=PathOutline(tail=[row, *rest], start=0),
        folded=cut,
        offset=cut - 1,
        own={**request.own, COLLAPSED: Text(folded.text)},
    )


class _Pruning:
    """The steps, each only as far as it is needed."""

    def __init__(self, request: ContextRequest, loom: LoomAware) -> None:
        self.request = request
        self.loom = loom
        self.folded: _Folded | None = None
        self.done: list[str] = []
        self.back: list[str] = []
        self.pieces: list[Piece] = []

    def plan(self) -> Plan:
        for step in (self._fold, self._compress, self._let_go):
            found = step()
            if found is not None:
                return self._accounted(found)
        # All that can be pruned is pruned; the rest is the strategy's to cut.
        found = self._rest()
        if not found.fit.truncated:
            return self._accounted(found)
        if self.folded is not None and found.fit.head == 0:
            # The summaries would be cut too: then there is no use for them.
            self.folded = None
            self.done, self.back = self.done[1:], self.back[1:]
        self.done.append("older nodes left out")
        self.back.append("→ tree, → view ID full")
        return self._accounted(self._rest())

    def _rest(self) -> Plan:
        """What is left, whether it fits or not. Behind a document no strategy cuts: there the newest results give way."""
        try:
            return _planned(self.request, self._noticed(), self.folded)
        except ContextLimitError:
            if self.request.dialogue or not self.loom.exchanges:
                raise
        return self._shorten_newest()

    def _shorten_newest(self) -> Plan:
        """The newest results as far as there is room for them, with the way to the rest."""
        *before, newest = self.loom.exchanges
        if _CUT not in self.done:
            self.done.append(_CUT)
            self.back.append("→ view result:N")
            self.pieces += [
                _step(f"result:{number}", "pruned: no room for all of it", Outcome.SHORTENED)
                for number in newest.numbers
            ]
        loom, best = self.loom, None
        low, high = 0, len(newest.results)
        while low <= high:
            middle = (low + high) // 2
            self.loom = replace(loom, exchanges=(*before, _beginning_of(newest, middle)))
            try:
                best, low = _planned(self.request, self._noticed(), self.folded), middle + 1
            except ContextLimitError:
                high = middle - 1
        # Another line of the notice may need some more room.
        self.loom = loom
        return best or _planned(self.request, self._noticed(), self.folded)

    def _accounted(self, found: Plan) -> Plan:
        return replace(found, pruned=(*self._folded_pieces(), *self.pieces))

    def _noticed(self) -> LoomAware:
        if not self.done:
            return self.loom
        notice = f"Pruned: {' · '.join(self.done)} · get back with {', '.join(dict.fromkeys(self.back))}"
        return replace(self.loom, notice=notice)

    def _try(self) -> Plan | None:
        return _tried(self.request, self._noticed(), self.folded)

    def _fold(self) -> Plan | None:
        """As few of the oldest levels as will do, at places where a cut may fall."""
        cuts = self._cuts()
        low, high = 0, len(cuts)
        best: Plan | None = None
        while low < high:
            middle = (low + high) // 2
            self._use(cuts[middle])
            found = self._try()
            if found is None:
                low = middle + 1
            else:
                best, high = found, middle
        if cuts:
            self._use(cuts[min(low, len(cuts) - 1)])
        return best

    def _use(self, cut: int) -> None:
        self.folded = self._summaries(cut)
        ids = f"[{self.folded.first}]" + ("" if cut == 1 else f"-[{self.folded.last}]")
        self.done = [f"{cut:,} older node{'' if cut == 1 else 's'} {ids} to summaries"]
        self.back = ["→ view ID full"]

    def _cuts(self) -> list[int]:
        """Levels before which the summaries may end: none of the recent, none inside a tool's group.

        Where the provider keeps a prefix, only those at steps of the ruler, so that the
        summaries stay as they are for many turns.
        """
        request, outline = self.request, self.request.outline
        rows = outline.tail
        keep = max(1, request.preferences.minimum_recent_nodes)
        last = newest = len(rows) - keep
        while last > 0 and rows[last].role == "user" and rows[last - 1].role == "user":
            last -= 1
        # Where nobody answers, all of it is one turn, and may be parted.
        last = last if last > 0 else newest
        bound = bound_of(rows)
        least = 1 if outline.between is None else 0
        found = [index for index in range(least, last + 1) if index < len(rows) and not bound[index]]
        step = request.rules.step
        grid = int(step * window_of_grid(request.budget, request.window)) if step else 0
        if grid > 1:
            stepped: dict[int, int] = {}
            for index in found:
                ruler = rows[index - 1].ruler if index else 0
                stepped.setdefault(ruler // grid, index)
            found = [index for mark, index in sorted(stepped.items()) if mark] or found[-1:]
        return [outline.first + index for index in found if outline.first + index > 0]

    def _summaries(self, cut: int) -> _Folded:
        """The newest summaries that fit their share; of what is older, the ids alone."""
        outline, of_text = self.request.outline, self.request.estimator.of_text
        known = [row for level, row in _known(outline) if level < cut]
        first, (last, _) = _first_of(outline), _end_before(outline, cut)
        room = self.request.budget // _SHARE
        lines: list[str] = []
        for row in reversed(known):
            said = " ".join(self.loom.summaries.get(row.id, "").split())
            line = f"  [{row.local_id}] {said}".rstrip()
            room -= of_text(line) + 1
            if room < 0:
                break
            if row.left_out is None:
                lines.append(line)
        ids = f"[{first}]" if cut == 1 else f"[{first}]-[{last}]"
        head = f"(collapsed {ids}: {cut:,} node{'' if cut == 1 else 's'}, in summary)"
        # In a document nothing stands between two texts: the first words of it are not the last summary's.
        end = [] if self.request.dialogue else [""]
        return _Folded(cut, first, last, "\n".join([head, *reversed(lines), *end]))

    def _compress(self) -> Plan | None:
        trace = self.loom.memory.trace
        if len(trace) <= _RECENT:
            return None
        self.loom = replace(self.loom, showing=replace(self.loom.showing, recent=_RECENT))
        self.done.append("action trace compressed")
        self.back.append("→ memory trace")
        self.pieces.append(_step("action trace", "pruned: older actions told as counts", Outcome.SHORTENED))
        return self._try()

    def _let_go(self) -> Plan | None:
        """Results of earlier turns of this run, and what was recalled."""
        exchanges, memory = self.loom.exchanges, self.loom.memory
        gone = [number for each in exchanges[:-1] for number in each.numbers]
        if gone:
            kept = tuple(_without_results(each) for each in exchanges[:-1])
            self.loom = replace(self.loom, exchanges=(*kept, *exchanges[-1:]))
            self.done.append(f"results {', '.join(map(str, gone))}")
            self.back.append("→ view result:N")
            self.pieces += [_step(f"result:{number}", "pruned: not pinned", Outcome.CUT) for number in gone]
        if memory.recalled:
            self.loom = replace(self.loom, memory=memory.without_ephemeral())
            labels = [label for label, _ in memory.recalled]
            self.done.append(f"recalled {', '.join(_quoted(label) for label in labels)}")
            self.back.append('→ recall "label"')
            self.pieces += [
                _step(f"stash:{label}", "pruned: recalled, not pinned", Outcome.CUT) for label in labels
            ]
        return self._try() if gone or memory.recalled else None

    def _folded_pieces(self) -> list[Piece]:
        if self.folded is None:
            return []
        outline, cut = self.request.outline, self.folded.levels
        reasons = left_out_of(outline.tail, bound_of(outline.tail))
        pieces: list[Piece] = []
        head = list(outline.head)[:cut] if outline.between is not None else []
        if head:
            pieces.append(_collapsed_run(head, 0))
        if outline.between is not None:
            between = outline.between
            pieces.append(
                Gap(
                    kind=EntryKind.NODE,
                    outcome=Outcome.COLLAPSED,
                    reason="pruned: collapsed with its neighbours",
                    position=len(outline.head),
                    count=between.levels,
                    first=between.first,
                    last=between.last,
                    measure=between.end - between.start,
                )
            )
        for level in range(outline.first, cut):
            row, reason = outline.at(level), reasons[level - outline.first]
            pieces.append(_collapsed_run([row], level, None if reason is None else reason.value))
        return pieces


def _first_of(outline: PathOutline) -> str:
    """The id of the path's first node, read or not."""
    if outline.between is not None and not outline.head:
        return outline.between.first
    return outline.at(0).local_id


def _end_before(outline: PathOutline, cut: int) -> tuple[str, int]:
    """The id of the last node before a level, and where it ends on the ruler: where the tail begins it was not read."""
    if outline.between is not None and cut == outline.first:
        return outline.between.last, outline.between.end
    row = outline.at(cut - 1)
    return row.local_id, row.ruler


def _known(outline: PathOutline) -> list[tuple[int, Candidate]]:
    head = outline.head if outline.between is not None else ()
    return [*enumerate(head), *enumerate(outline.tail, outline.first)]


def _beginning_of(each: Exchange, length: int) -> Exchange:
    return replace(each, results=f"{each.results[:length].rstrip()}\n({_CUT})".lstrip())


def _without_results(each: Exchange) -> Exchange:
    numbers = ", ".join(f"result:{number}" for number in each.numbers)
    return replace(each, results=f"({numbers} left out)") if each.numbers else each


def _quoted(label: str) -> str:
    return f'"{label}"'


def _collapsed_run(rows: Sequence[Candidate], position: int, reason: str | None = None) -> Run:
    return Run(
        kind=EntryKind.NODE,
        outcome=Outcome.COLLAPSED if reason is None else Outcome.EXCLUDED,
        reason=reason or "pruned: replaced by its summary",
        ids=[row.local_id for row in rows],
        sizes=[row.tokens for row in rows],
        position=position,
    )


def _step(name: str, reason: str, outcome: Outcome) -> Run:
    return Run(kind=EntryKind.FILTER, outcome=outcome, reason=reason, ids=(name,), sizes=(0,))
