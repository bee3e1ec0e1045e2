"""The account of an assembly: what became of every level, source and addition."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

from weft.context.assemble import INPUT, Plan
from weft.context.dialogue import CLOSING, OPENING, Composed, Joined, Part
from weft.context.manifest import ABSENT, EntryKind, Gap, Outcome, Piece, Run
from weft.context.reference import frame_tokens
from weft.context.select import Candidate, ExtraSource, Reason
from weft.context.system import Instruction
from weft.tree.json import JsonValue, camel
from weft.tree.json_names import to_wire

_ONLY_NODES = "a document is made of its nodes alone"
_WITHOUT_HALVES = "without a tool's call or result that has no other half"
_NO_SYSTEM = "the document goes without its system context"


@dataclass(slots=True)
class RenderedSource:
    """A further source as it was rendered."""

    extra: ExtraSource
    part: Part
    tokens: int
    """With its frame."""
    shortened: bool


@dataclass(slots=True)
class KeptLevel:
    """One kept level: its parts in the order in which they stand."""

    number: int
    row: Candidate
    parts: list[Part] = field(default_factory=list[Part])
    tokens: int = 0
    """Of its own content, as it is sent."""
    shortened: bool = False
    references: list[RenderedSource] = field(default_factory=list[RenderedSource])


def account_for(
    plan: Plan,
    levels: Sequence[KeptLevel],
    composed: Composed | None,
    marker: Part | None,
    preface: Part | None = None,
) -> list[Piece]:
    return _Account(plan, composed, preface).pieces(levels, marker)


def settings_of(plan: Plan) -> dict[str, JsonValue]:
    """All that a context was made with, so that it can be made again."""
    request = plan.request
    found = {
        camel(each.name): to_wire(getattr(request.preferences, each.name))
        for each in fields(request.preferences)
    }
    found |= {"window": request.window, "mode": request.mode.value, "estimator": request.estimator.name}
    found["truncationStep"] = request.rules.step
    found["prefill"] = request.profile.prefill
    return found


class _Account:
    def __init__(self, plan: Plan, composed: Composed | None, preface: Part | None = None) -> None:
        self.plan = plan
        self.composed = composed
        self.preface = preface
        joined = () if composed is None else composed.joined
        self.by_level = {each.part.level: each for each in joined if each.part.level is not None}
        self.by_part = {id(each.part): each for each in joined}

    def pieces(self, levels: Sequence[KeptLevel], marker: Part | None) -> list[Piece]:
        runs, gaps = _Runs(), self._gaps()
        sources: list[Piece] = []
        added: list[Piece] = []
        for level in levels:
            while gaps and level.number > gaps[0].position:
                runs.close(gaps.pop(0))
            entry = self._entry(level)
            if level.row.instead is not None and entry[0] not in ABSENT:
                added.append(self._stand_in(level, entry))
                entry = Outcome.COLLAPSED, Reason.COLLAPSED.value, 0, level.row.instead.tokens
            runs.add(level, *entry)
            sources += [self._reference(each) for each in level.references]
        runs.close(*gaps)
        sources += self._sources_left_out({level.number for level in levels})
        return [*self.plan.system.pieces, *runs.pieces, *sources, *added, *self._additions(marker)]

    def _stand_in(self, level: KeptLevel, entry: tuple[Outcome, str, int, int]) -> Run:
        """The placeholder of a folded range: nobody wrote it, and the node in whose place it stands is folded."""
        name = "" if level.row.instead is None else level.row.instead.group
        _, _, tokens, size = entry
        return Run(
            kind=EntryKind.MESSAGE,
            outcome=Outcome.ADDED,
            reason=f"stands for the folded range {name}",
            ids=(name,),
            sizes=(size,),
            tokens=(tokens,),
            position=level.number,
        )

    def _sources_left_out(self, kept: set[int]) -> list[Piece]:
        """Sources that were known and are not there, each with its reason."""
        plan = self.plan
        found: list[Piece] = []
        for number, beside in plan.beside.items():
            for each in beside:
                if each.left_out is not None or not each.tokens:
                    found.append(_left_out(each, (each.left_out or Reason.EMPTY).value))
                elif not plan.request.dialogue:
                    found.append(_left_out(each, _ONLY_NODES))
                elif number not in kept:
                    found.append(_left_out(each, "its message is over the budget"))
        if not plan.system.pieces:
            found += [_left_out(each, _NO_SYSTEM) for each in plan.request.pending.instructions]
        return found

    def _entry(self, level: KeptLevel) -> tuple[Outcome, str, int, int]:
        """Outcome, reason, tokens in the request, tokens in full."""
        reason = self.plan.reasons.get(level.number)
        if reason is Reason.IN_SYSTEM:
            return Outcome.MERGED, reason.value, 0, 0
        if reason is not None:
            gone = Outcome.COLLAPSED if reason is Reason.COLLAPSED else Outcome.DROPPED
            return gone, reason.value, 0, level.row.tokens
        joined = self.by_level.get(level.number)
        if self.composed is not None and joined is None:
            return Outcome.DROPPED, Reason.UNPAIRED.value, 0, level.row.tokens
        added = self._joint(joined) if self.composed is not None else self._boundary(level)
        tokens, size = level.tokens + added, level.row.tokens + level.row.unpaired + added
        if level.shortened:
            return Outcome.SHORTENED, "recent, and too large for the room", tokens, size
        why = self._why(level.number)
        if level.row.unpaired:
            why = f"{why}, {_WITHOUT_HALVES}"
        if joined is not None and joined.merged:
            return Outcome.MERGED, f"{why}, in one message with its neighbour", tokens, size
        return Outcome.KEPT, why, tokens, size

    def _boundary(self, level: KeptLevel) -> int:
        said = self.plan.request.headings.get(level.row.id, "")
        estimator = self.plan.request.estimator
        return self.plan.prices.seam + (estimator.of_text(said) + estimator.seam if said else 0)

    def _why(self, number: int) -> str:
        found = self.plan.fit
        if not found.truncated:
            return "fits"
        if number == found.anchor:
            return "the last user message"
        if number < found.head:
            return "part of the beginning"
        return "recent" if number >= found.recent else "fits"

    def _joint(self, joined: Joined | None) -> int:
        """What a blank line and a heading add to a part."""
        if joined is None:
            return 0
        estimator = self.plan.request.estimator
        heading = estimator.of_text(joined.heading) + estimator.seam if joined.heading else 0
        return heading + (self.plan.prices.joint if joined.joint else 0)

    def _reference(self, each: RenderedSource) -> Run:
        added = self._joint(self.by_part.get(id(each.part)))
        frame = frame_tokens(each.extra.local_id, self.plan.request.estimator)
        reason = f"{each.extra.role.value} source, before its message"
        if each.shortened:
            capped = self.plan.prices.capped(each.extra) < each.extra.tokens
            reason = (
                "over its share of the budget"
                if capped
                else "beside a recent node, and too large for the room"
            )
        return Run(
            kind=EntryKind.SOURCE,
            outcome=Outcome.SHORTENED if each.shortened else Outcome.KEPT,
            reason=reason,
            ids=(each.extra.local_id,),
            sizes=(max(each.tokens, each.extra.tokens + frame) + added,),
            tokens=(each.tokens + added,),
        )

    def _additions(self, marker: Part | None) -> list[Piece]:
        of_text, found = self.plan.request.estimator.of_text, self.plan.fit
        pieces: list[Piece] = []
        if marker is not None:
            joined = self.by_part.get(id(marker))
            tokens = (
                found.marker_tokens
                if not self.plan.request.dialogue
                else of_text(found.marker) + self._joint(joined)
            )
            pieces.append(_added("marker", tokens, "stands for what was left out"))
        if self.preface is not None:
            tokens = of_text(self.plan.request.preface) + self._joint(self.by_part.get(id(self.preface)))
            pieces.append(_added("loom context", tokens, "before the current turn"))
        if self.composed is not None and self.composed.opened:
            pieces.append(_added("opening", of_text(OPENING), "a request starts with a user message"))
        if self.composed is not None and self.composed.closed:
            pieces.append(_added("closing", of_text(CLOSING), "a request ends with a user message"))
        return pieces

    def _gaps(self) -> list[Gap]:
        found, sketch = self.plan.fit, self.plan.sketch
        spans = [(found.head, found.tail)]
        if found.anchor is not None:
            spans = [(found.head, found.anchor), (found.anchor + 1, found.tail)]
        return [
            Gap(
                kind=EntryKind.NODE,
                outcome=Outcome.DROPPED,
                reason="over the budget",
                position=start,
                count=stop - start,
                first=sketch.id_at(start),
                last=sketch.id_at(stop - 1),
                measure=sketch.ruler_at(stop) - sketch.ruler_at(start),
            )
            for start, stop in spans
            if start < stop
        ]


class _Runs:
    """Entries gathered into runs of one outcome and one reason."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self._open: list[tuple[KeptLevel, int, int]] = []
        self._key: tuple[Outcome, str] | None = None

    def add(self, level: KeptLevel, outcome: Outcome, reason: str, tokens: int, size: int) -> None:
        last = self._open[-1][0].number if self._open else -1
        if (outcome, reason) != self._key or level.number != last + 1 or level.row.id == INPUT:
            self.close()
        self._key = (outcome, reason)
        self._open.append((level, tokens, size))

    def close(self, *after: Piece) -> None:
        """End the run that is open, and put pieces behind it."""
        if self._open and self._key is not None:
            first = self._open[0][0]
            pending = first.row.id == INPUT
            self.pieces.append(
                Run(
                    kind=EntryKind.BUFFER if pending else EntryKind.NODE,
                    outcome=self._key[0],
                    reason=self._key[1],
                    ids=[level.row.local_id for level, _, _ in self._open],
                    sizes=[size for _, _, size in self._open],
                    tokens=[tokens for _, tokens, _ in self._open],
                    position=None if pending else first.number,
                )
            )
        self.pieces += after
        self._open, self._key = [], None


def _left_out(source: ExtraSource | Instruction, reason: str) -> Run:
    size = source.tokens if isinstance(source, ExtraSource) else 0
    return Run(
        kind=EntryKind.SOURCE, outcome=Outcome.DROPPED, reason=reason, ids=(source.local_id,), sizes=(size,)
    )


def _added(name: str, tokens: int, reason: str) -> Run:
    return Run(kind=EntryKind.MESSAGE, outcome=Outcome.ADDED, reason=reason, ids=(name,), sizes=(tokens,))
