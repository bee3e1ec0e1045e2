"""What was read for a request, and the envelope that it becomes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from weft.context.layers.envelope import Envelope
from weft.context.layers.render import render_layers
from weft.context.render import measured
from weft.context.request import ContextRequest, Plan
from weft.context.rows import Candidate, PathOutline
from weft.context.settings import LayerSettings, Placement
from weft.runtime.contexts.path_reader import PathReader
from weft.runtime.contexts.system_blocks import Stood
from weft.store.rows import NodeRow
from weft.tree.content import Content, Text


@dataclass(frozen=True, slots=True)
class Assembly:
    """An envelope, with what it was made from."""

    envelope: Envelope
    plan: Plan
    end: NodeRow
    settings: LayerSettings
    stood: Stood


@dataclass(frozen=True, slots=True)
class ContextInputs:
    """What was read for a request, before anything is decided."""

    request: ContextRequest
    reader: PathReader
    legacy: dict[str, str]
    stood: Stood
    warnings: tuple[str, ...] = ()

    def contents(self, names: Iterable[str]) -> dict[str, Content]:
        """The words of these nodes; what was sent for them, where only that is known."""
        wanted = list(names)
        sent: dict[str, Content] = {name: Text(self.legacy[name]) for name in wanted if name in self.legacy}
        return contents_for(wanted, self.reader) | sent

    def written(self, plan_of: Callable[[ContextRequest], Plan]) -> Assembly:
        """Plan and render, within the budget for certain: an exact count of the whole may pass that of its parts."""
        request = self.request
        while True:
            plan = plan_of(request)
            envelope = render_layers(plan, self.contents(plan.wanted))
            over = measured(envelope, request.estimator) - request.budget if request.estimator.seam else 0
            if over <= 0:
                return self.assembly(plan, envelope)
            request = replace(request, held_back=request.held_back + over)

    def assembly(self, plan: Plan, envelope: Envelope) -> Assembly:
        """An envelope of it, with what could not be read."""
        warnings = tuple(dict.fromkeys([*envelope.warnings, *self.warnings]))
        envelope = replace(envelope, warnings=warnings)
        return Assembly(envelope, plan, self.reader.end, self.request.settings, self.stood)

    @property
    def way(self) -> tuple[Placement, float]:
        """Where items stand, and how far a cut moves at a time."""
        return self.request.settings.library, self.request.rules.step

    def with_way(self, library: Placement, step: float) -> "ContextInputs":
        """The same with other settings; only what the cut asks for is read again."""
        request = replace(self.request, settings=replace(self.request.settings, library=library))
        if step != request.rules.step:
            request = replace(request, preferences=replace(request.preferences, truncation_step=step))
            outline = with_legacy(self.reader.outline(request), self.reader, self.legacy)
            request = replace(request, outline=outline)
        return replace(self, request=request)


def with_legacy(outline: PathOutline, reader: PathReader, legacy: dict[str, str]) -> PathOutline:
    """Levels at the size of what was sent for them, where that was saved."""
    if not legacy:
        return outline
    of_text = reader.estimator.of_text

    def sized(row: Candidate) -> Candidate:
        text = legacy.get(row.id)
        return row if text is None else row._replace(tokens=of_text(text), kind="text")

    return replace(
        outline, head=[sized(row) for row in outline.head], tail=[sized(row) for row in outline.tail]
    )


def contents_for(wanted: Iterable[str], reader: PathReader) -> dict[str, Content]:
    """The texts of what is kept, in one query for all that is not at hand."""
    rows = {ulid: reader.seen[ulid] for ulid in wanted}
    contents = reader.cache.contents(reader.tree.session, reader.tree.key, rows.values())
    return {ulid: contents[row.key] for ulid, row in rows.items()} | reader.folds.texts
