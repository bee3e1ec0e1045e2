"""The system context: who the model is, what the tree wants, what was asked along the way."""

from dataclasses import dataclass

from weft.context.limits import system_over
from weft.context.manifest import Kind, Outcome, Piece, Run
from weft.context.marker import JOINT
from weft.context.select import Reason
from weft.context.settings import Instructions
from weft.context.tokens import Estimator

__all__ = ["Instruction", "SystemContext", "SystemParts", "build_system"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """A node that instructs: the source of an edge, or a node that an imported history calls system."""

    id: str
    local_id: str
    text: str
    edge: str = ""
    """The node whose edge has it as a source; instructions of one edge have the same."""
    left_out: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemParts:
    """What a system context is made of, in this order. Instructions stand in path order."""

    agent: str = ""
    tree: str = ""
    instructions: tuple[Instruction, ...] = ()


@dataclass(frozen=True, slots=True)
class SystemContext:
    text: str
    tokens: int
    pieces: tuple[Piece, ...]


def build_system(
    parts: SystemParts, wanted: Instructions, estimator: Estimator, *, budget: int
) -> SystemContext:
    """Trim, skip what is empty, join by a blank line; never cut, so too much of it is an error."""
    chosen = [each for each in parts.instructions if each.left_out is None and each.text.strip()]
    if wanted is Instructions.LAST and chosen:
        chosen = [each for each in chosen if each.edge == chosen[-1].edge]
    named = [
        ("agent", parts.agent),
        ("tree", parts.tree),
        *((f"[{each.local_id}]", each.text) for each in chosen),
    ]
    texts = [(name, text.strip()) for name, text in named if text.strip()]
    joint = estimator.of_text(JOINT)
    sizes = [
        (name, estimator.of_text(text) + (joint if index else 0)) for index, (name, text) in enumerate(texts)
    ]
    total = sum(size for _, size in sizes)
    if total > budget:
        raise system_over(total, budget, sizes)
    pieces = [
        _kept(name, size, "system context is never cut") for name, size in sizes if not name.startswith("[")
    ]
    counted = dict(sizes)
    pieces += [
        _source(each, counted.get(f"[{each.local_id}]", 0), each in chosen) for each in parts.instructions
    ]
    return SystemContext(JOINT.join(text for _, text in texts), total, tuple(pieces))


def _kept(name: str, size: int, reason: str) -> Run:
    return Run(kind=Kind.SYSTEM, outcome=Outcome.KEPT, reason=reason, ids=(name,), sizes=(size,))


def _source(each: Instruction, size: int, used: bool) -> Run:  # noqa: FBT001 - said where it is called
    if used:
        reason = "instruction: part of the system context, a new one changes the prefix"
    elif each.left_out is not None:
        reason = each.left_out.value
    else:
        reason = (
            Reason.EMPTY.value
            if not each.text.strip()
            else "an older instruction, and only the last is wanted"
        )
    return Run(
        kind=Kind.SOURCE,
        outcome=Outcome.KEPT if used else Outcome.DROPPED,
        reason=reason,
        ids=(each.local_id,),
        sizes=(size,),
    )
