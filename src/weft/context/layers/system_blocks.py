"""L1: what stands at the beginning of every request of an agent in a tree."""

from dataclasses import dataclass

from weft.context.layers.blocks import clean, leave_open
from weft.context.manifest import EntryKind, Outcome, Run
from weft.context.settings import Instructions
from weft.context.system import SystemContext, SystemParts, build_system
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


def standing_layer(
    parts: SystemParts, standing: Standing, wanted: Instructions, estimator: Estimator, *, budget: int
) -> SystemContext:
    """The system context, then the user's memory, the project's blocks, and the addendum."""
    system = build_system(parts, wanted, estimator, budget=budget)
    segments, sizes, pieces = list(system.segments), list(system.sizes), list(system.pieces)
    for name, text in standing_blocks(standing):
        size = estimator.of_text(text) + (estimator.joint if segments else 0)
        segments.append((name, text))
        sizes.append((name, size))
        pieces.append(Run.one(EntryKind.SYSTEM, name, Outcome.KEPT, "part of every turn", size=size))
    text = JOINT.join(text for _, text in segments)
    total = sum(size for _, size in sizes)
    return SystemContext(text, total, tuple(pieces), tuple(segments), tuple(sizes))


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
