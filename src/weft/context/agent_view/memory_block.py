"""An agent's operational memory in one tree, as values: pins, stashes, what is recalled, the trace."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

from weft.context.agent_view.action_trace import RECENT, Action, trace_lines, trace_view
from weft.context.agent_view.node_headings import escape_look_alikes
from weft.context.tokens import DEFAULT, Estimator

INLINE_TOKENS = 1_000
EXCERPT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedNode:
    node: str
    """The local id."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedDocument:
    title: str
    section: str | None = None
    words: int = 0
    text: str = ""
    """Empty: only named, with its size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedResult:
    number: int
    command: str
    text: str


Pin: TypeAlias = PinnedNode | PinnedDocument | PinnedResult


@dataclass(frozen=True, slots=True, kw_only=True)
class StashedText:
    label: str
    text: str
    source: str = ""
    """`content-of:a7x2`, `summary-of:r001-a7x2`; empty for a text of the agent's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryContents:
    """Of one agent in one tree."""

    pins: tuple[Pin, ...] = ()
    stashes: tuple[StashedText, ...] = ()
    recalled: tuple[tuple[str, int], ...] = ()
    """Labels of recalled stashes, each with the turn after which it goes."""
    trace: tuple[Action, ...] = ()

    def at_turn(self, turn: int) -> "MemoryContents":
        """As a turn begins: what was recalled for earlier turns is out of the block again."""
        return replace(self, recalled=tuple(each for each in self.recalled if each[1] >= turn))

    def without_ephemeral(self) -> "MemoryContents":
        """Nothing recalled. Pins stay."""
        return replace(self, recalled=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """How much of a memory is shown."""

    inline: int = INLINE_TOKENS
    """The most tokens of a pin that stands in full."""
    excerpt: int = EXCERPT
    """The most characters of one that does not."""
    recent: int = RECENT
    estimator: Estimator = DEFAULT


def memory_block(memory: MemoryContents, showing: Showing | None = None) -> str:
    """The block as it stands after the system prompt; empty if there is nothing to keep in mind."""
    how = showing or Showing()
    sections = list(_sections(memory, how))
    if not sections:
        return ""
    return "\n".join(["=== Operational Memory ===", "\n\n".join(sections), "==="])


def _sections(memory: MemoryContents, how: Showing) -> Iterator[str]:
    if memory.pins:
        yield "\n".join(["Pinned:", *(f"  {_pin(each, how)}" for each in memory.pins)])
    texts = {each.label: each.text for each in memory.stashes}
    recalled = [(label, texts[label]) for label, _ in memory.recalled if label in texts]
    if recalled:
        yield "\n".join(["Recalled:", *(f'  "{_line(label)}" {_quoted(text)}' for label, text in recalled)])
    if memory.trace:
        yield "\n".join(
            ["Recent actions:", *(f"  {line}" for line in trace_lines(memory.trace, recent=how.recent))]
        )
    away = [f'"{_line(each.label)}"' for each in memory.stashes if each.label not in dict(memory.recalled)]
    if away:
        yield f"Stashed (not in context): {', '.join(away)}"


def _pin(pin: Pin, how: Showing) -> str:
    if isinstance(pin, PinnedNode):
        return f"[{pin.node}] {_shown(pin.text, how)}"
    if isinstance(pin, PinnedResult):
        return f"result:{pin.number} → {_line(pin.command)} {_shown(pin.text, how)}"
    section = f" §{_line(pin.section)}" if pin.section else ""
    words = f" ({pin.words:,} word{'' if pin.words == 1 else 's'})"
    return f'doc:"{_named(pin.title)}"{section}{words}{" " + _shown(pin.text, how) if pin.text else ""}'


def _shown(text: str, how: Showing) -> str:
    """In full up to the threshold, else its beginning."""
    if how.estimator.of_text(text) <= how.inline:
        return _quoted(text)
    line = " ".join(text[: 4 * how.excerpt + 100].split())
    if len(line) > how.excerpt:
        line = line[: how.excerpt + 1].rsplit(" ", 1)[0][: how.excerpt].rstrip(" ,.;:")
    return f'"{escape_look_alikes(line)}..."'


def _quoted(text: str) -> str:
    """Further lines are set in, so that nothing in them can end the block."""
    return '"' + "\n    ".join(escape_look_alikes(text.strip()).splitlines()) + '"'


def _named(title: str) -> str:
    """A title as a command can say it again."""
    return _line(title).replace("\\", "\\\\").replace('"', '\\"')


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 100 else line[:99] + "…"


def memory_view(memory: MemoryContents, what: str, now: datetime, showing: Showing | None = None) -> str:
    """What `→ memory`, `→ memory trace` and `→ memory stashed` are answered."""
    if what == "trace":
        return trace_view(memory.trace, now)
    if what == "stashed":
        return _stashed_view(memory.stashes)
    counts = f"{_count(len(memory.pins), 'pin')} · {_stashes(len(memory.stashes))}"
    block = memory_block(memory, showing)
    return f"✓ {counts} · {_count(len(memory.trace), 'action')}" + (f"\n{block}" if block else "")


def _stashed_view(stashes: Sequence[StashedText]) -> str:
    lines = [f"✓ {_stashes(len(stashes))}"]
    for each in stashes:
        source = f" · {each.source}" if each.source else ""
        lines.append(f'  "{_line(each.label)}"{source} · {_count(len(each.text.split()), "word")}')
    return "\n".join(lines)


def _stashes(count: int) -> str:
    return f"{count:,} stash{'' if count == 1 else 'es'}"


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
