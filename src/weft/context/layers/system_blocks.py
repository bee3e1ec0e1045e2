"""L1: what stands at the beginning of every request of an agent in a tree."""

from dataclasses import dataclass, replace

from weft.context.layers.blocks import clean, leave_open
from weft.context.manifest import EntryKind, Outcome, Piece, Run
from weft.context.settings import Instructions
from weft.context.system import SystemParts, build_system
from weft.context.tokens import JOINT, Estimator


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What follows the system context in L1. None, or nothing but space, leaves a block out."""

    memory: str | None = None
    """The user's own document."""
    project_prompt: str | None = None
    project_context: str | None = None
    """None also while it is still being read."""
    addendum: str | None = None
    """A loom-aware agent's."""


@dataclass(frozen=True, slots=True)
class StandingLayer:
    segments: tuple[tuple[str, str], ...]
    """Names and texts, in order."""
    sizes: tuple[tuple[str, int], ...]
    """Tokens of each, with the blank line before it."""
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        return JOINT.join(text for _, text in self.segments)


def standing_layer(
    parts: SystemParts, standing: Standing, wanted: Instructions, estimator: Estimator, *, budget: int
) -> StandingLayer:
    """The system context, then the user's memory, the project's blocks, and the addendum."""
    parts = _cleaned(parts)
    system = build_system(parts, wanted, estimator, budget=budget)
    named = [(name, text) for name, text in (("agent", parts.agent), ("tree", parts.tree)) if text]
    used = [
        piece.outcome is Outcome.KEPT
        for piece in system.pieces[len(system.pieces) - len(parts.instructions) :]
    ]
    named += [
        (f"[{each.local_id}]", each.text)
        for each, kept in zip(parts.instructions, used if parts.instructions else (), strict=True)
        if kept
    ]
    blocks = standing_blocks(standing)
    joint = estimator.joint
    sizes = [
        (name, estimator.of_text(text) + (joint if index else 0))
        for index, (name, text) in enumerate([*named, *blocks])
    ]
    pieces = [
        Run(
            kind=EntryKind.SYSTEM,
            outcome=Outcome.KEPT,
            reason="part of every turn",
            ids=(name,),
            sizes=(size,),
        )
        for name, size in sizes[len(named) :]
    ]
    return StandingLayer((*named, *blocks), tuple(sizes), (*system.pieces, *pieces))


def _cleaned(parts: SystemParts) -> SystemParts:
    return SystemParts(
        agent=clean(parts.agent).strip(),
        tree=clean(parts.tree).strip(),
        instructions=tuple(replace(each, text=clean(each.text).strip()) for each in parts.instructions),
    )


def standing_blocks(standing: Standing) -> list[tuple[str, str]]:
    """What follows the system context: names and texts, in order; what is absent is not among them."""
    found = [
        ("memory", _tagged("user_memory", standing.memory)),
        ("project_system_prompt", _tagged("project_system_prompt", standing.project_prompt)),
        ("project_context", _tagged("project_context", standing.project_context)),
        ("addendum", clean(standing.addendum or "").strip()),
    ]
    return [(name, text) for name, text in found if text]


def _tagged(name: str, text: str | None) -> str:
    text = clean(text or "").strip()
    return f"<{name}>\n{leave_open(text, name)}\n</{name}>" if text else ""
