"""The system context: the agent's prompt, the tree's, instructions on the path, and the blocks of L1."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from weft.context.items.blocks import clean, leave_open
from weft.context.manifest_entries import ABSENT, EntryKind, Outcome, Piece, Run
from weft.context.rows import Reason
from weft.context.settings import Instructions
from weft.context.tokens import JOINT, Estimator


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """A node that instructs: the source of an edge, or a node that an imported history calls system."""

    id: str
    local_id: str
    text: str
    edge: str = ""
    """The node whose edge has it as a source; instructions of one edge have the same."""
    left_out: Reason | None = None

    @property
    def own(self) -> bool:
        """Whether it is a message of the history itself: no newer instruction takes its place."""
        return self.edge == self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemParts:
    """What a system context is made of, in this order. Instructions stand in path order."""

    agent: str = ""
    tree: str = ""
    instructions: tuple[Instruction, ...] = ()
    memory: str = ""
    """A loom-aware agent's, which changes most often and so stands last."""


@dataclass(frozen=True, slots=True)
class SystemContext:
    text: str
    tokens: int
    pieces: tuple[Piece, ...]
    segments: tuple[tuple[str, str], ...] = ()
    """Names and texts, in order."""
    sizes: tuple[tuple[str, int], ...] = ()
    """Tokens of each, with the blank line before it."""

    def left_out(self) -> Iterator[Run]:
        """What of it a document goes without, for the manifest."""
        for piece in self.pieces:
            if isinstance(piece, Run):
                absent = piece.outcome in ABSENT
                reason = piece.reason if absent else "the document goes without its system context"
                yield replace(piece, outcome=Outcome.EXCLUDED, reason=reason, tokens=None)


def build_system(parts: SystemParts, wanted: Instructions, estimator: Estimator) -> SystemContext:
    """Normalise white space, skip empty parts, join by a blank line."""
    segments: list[tuple[str, str]] = []
    sizes: list[tuple[str, int]] = []
    pieces: list[Piece] = []

    def take(name: str, text: str) -> int:
        size = estimator.of_text(text) + (estimator.joint if segments else 0)
        segments.append((name, text))
        sizes.append((name, size))
        return size

    for name, given in (("agent", parts.agent), ("tree", parts.tree)):
        if text := clean(given).strip():
            pieces.append(_kept(name, take(name, text), "system context is never cut"))
    newest = _newest_edge(parts.instructions) if wanted is Instructions.LAST else None
    for each in parts.instructions:
        text = clean(each.text).strip()
        used = _counts(each) and (newest is None or each.own or each.edge == newest)
        size = take(f"[{each.local_id}]", text) if used else estimator.of_text(text)
        outcome = Outcome.KEPT if used else Outcome.EXCLUDED
        pieces.append(Run.one(EntryKind.SOURCE, each.local_id, outcome, _reason(each, used=used), size=size))
    if memory := clean(parts.memory).strip():
        pieces.append(_kept("memory", take("memory", memory), "operational memory is never cut"))
    total = sum(size for _, size in sizes)
    text = JOINT.join(text for _, text in segments)
    return SystemContext(text, total, tuple(pieces), tuple(segments), tuple(sizes))


def _counts(each: Instruction) -> bool:
    return each.left_out is None and bool(each.text.strip())


def _newest_edge(instructions: Sequence[Instruction]) -> str | None:
    edges = [each.edge for each in instructions if _counts(each) and not each.own]
    return edges[-1] if edges else None


def _kept(name: str, size: int, reason: str) -> Run:
    return Run.one(EntryKind.SYSTEM, name, Outcome.KEPT, reason, size=size)


def _reason(each: Instruction, *, used: bool) -> str:
    if used:
        return "instruction: part of the system context, a new one changes the prefix"
    if each.left_out is not None:
        return each.left_out.value
    if not each.text.strip():
        return Reason.EMPTY.value
    return "an older instruction, and only the last is wanted"


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
    parts: SystemParts, standing: Standing, wanted: Instructions, estimator: Estimator
) -> SystemContext:
    """The system context, then the user's memory, the project's blocks, and the addendum."""
    system = build_system(parts, wanted, estimator)
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
    blocks = [
        ("memory", _tagged("user_memory", standing.memory)),
        ("project_system_prompt", _tagged("project_system_prompt", standing.project_prompt)),
        ("project_context", _tagged("project_context", standing.project_context)),
        ("addendum", clean(standing.addendum or "").strip()),
    ]
    return [(name, text) for name, text in blocks if text]


def _tagged(name: str, text: str | None) -> str:
    text = clean(text or "").strip()
    return f"<{name}>\n{leave_open(text, name)}\n</{name}>" if text else ""
