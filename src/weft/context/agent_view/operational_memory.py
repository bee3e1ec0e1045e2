"""An agent's operational memory in one tree, as values: pins, stashes, what is recalled, the trace."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import TypeAlias

from weft.context.agent_view.loom_block import ago, escape_look_alikes
from weft.context.tokens import DEFAULT, Estimator

RECENT = 12
"""How many actions are listed in full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing that an agent did, or tried to."""

    verb: str
    """In the past: `viewed`, `continued from`."""
    target: str = ""
    noun: str = "node"
    """What its targets are counted as."""
    detail: str = ""
    """`2 results`."""
    error: str = ""
    """`NOT_FOUND: node [xyz999] does not exist in this tree`."""
    at: datetime | None = None


INLINE_TOKENS = 1_000
EXCERPT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedNode:
    node: str
    """The local id."""
    text: str | None
    """None: the node is excluded or pruned, and only its id is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedDocument:
    title: str
    section: str | None = None
    words: int | None = None
    """Of its text, without the section's heading and marks; None where it cannot be read."""
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
    """The most tokens of a pin that is shown in full."""
    excerpt: int = EXCERPT
    """The most characters of one that does not."""
    recent: int = RECENT
    estimator: Estimator = DEFAULT


def memory_block(memory: MemoryContents, showing: Showing | None = None) -> str:
    """The block after the system prompt; empty if the memory is."""
    how = showing or Showing()
    sections = list(_sections(memory, how))
    if not sections:
        return ""
    return "\n".join(["=== Operational Memory ===", "\n\n".join(sections), "==="])


def _sections(memory: MemoryContents, how: Showing) -> Iterator[str]:
    if memory.pins:
        yield "\n".join(["Pinned:", *(f"  {line}" for _, line in pin_lines(memory.pins, how))])
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


def pin_lines(pins: Iterable[Pin], how: Showing) -> Iterator[tuple[str, str]]:
    """The name of each pin, and its line."""
    for pin in pins:
        match pin:
            case PinnedNode():
                name, said = f"[{pin.node}]", "(excluded)" if pin.text is None else _shown(pin.text, how)
            case PinnedResult():
                name, said = f"result:{pin.number}", f"→ {_line(pin.command)} {_shown(pin.text, how)}"
            case PinnedDocument():
                name = f'doc:"{_named(pin.title)}"' + (f" §{_line(pin.section)}" if pin.section else "")
                said = "(not available)" if pin.words is None else f"({_count(pin.words, 'word')})"
                said += f"\n    {_shown(pin.text, how)}" if pin.text else ""
        yield name, f"{name} {said}"


def _shown(text: str, how: Showing) -> str:
    """In full up to the threshold, else its beginning, where that is shorter."""
    whole = _quoted(text)
    if how.estimator.of_text(text) <= how.inline:
        return whole
    line = " ".join(text[: 4 * how.excerpt + 100].split())
    if len(line) > how.excerpt:
        line = line[: how.excerpt + 1].rsplit(" ", 1)[0][: how.excerpt].rstrip(" ,.;:")
    excerpt = f'"{escape_look_alikes(line)}..."'
    return excerpt if len(excerpt) < len(whole) else whole


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


def recent_actions(actions: Sequence[Action]) -> str:
    """`viewed a7x2, b3k9 · annotated b3k9 · continued from b3k9 (2 results)`."""
    said: list[str] = []
    for (verb, plain), group in groupby(actions, key=_likeness):
        members = list(group)
        if plain:
            targets = ", ".join(action.target for action in members if action.target)
            said.append(f"{verb} {targets}".rstrip())
        else:
            said += [_acted(action) for action in members]
    return " · ".join(said)


def compressed(actions: Iterable[Action]) -> str:
    """`viewed 12 nodes · annotated 2`: a noun is said once."""
    counts: dict[tuple[str, str], int] = {}
    failed = 0
    for action in actions:
        failed += bool(action.error)
        if not action.error:
            key = (action.verb, action.noun)
            counts[key] = counts.get(key, 0) + 1
    said: list[str] = []
    named: set[str] = set()
    for (verb, noun), count in counts.items():
        plural = noun if count == 1 else f"{noun}s"
        said.append(f"{verb} {count:,}" if noun in named or not noun else f"{verb} {count:,} {plural}")
        named.add(noun)
    if failed:
        said.append(f"{failed:,} failed")
    return " · ".join(said)


def trace_lines(actions: Sequence[Action], *, recent: int = RECENT) -> list[str]:
    """The trace as the memory block has it, oldest first."""
    cut = max(0, len(actions) - recent)
    lines = [f"earlier: {compressed(actions[:cut])}"] if cut else []
    return lines + ([recent_actions(actions[cut:])] if actions[cut:] else [])


def trace_view(actions: Sequence[Action], now: datetime, *, recent: int = 4 * RECENT) -> str:
    """What `→ memory trace` shows: each recent action on a line, errors in full, older ones counted."""
    if not actions:
        return "✓ no actions yet"
    cut = max(0, len(actions) - recent)
    failed = sum(1 for action in actions if action.error)
    count = f"{len(actions):,} action{'' if len(actions) == 1 else 's'}"
    lines = [f"✓ {count}{f' · {failed:,} failed' if failed else ''}"]
    if cut:
        lines.append(f"  earlier: {compressed(actions[:cut])}")
    for action in actions[cut:]:
        when = f" · {ago(action.at, now)}" if action.at is not None else ""
        mark = f" · ✗ {action.error}" if action.error else ""
        lines.append(f"  {_acted(action, errors=False)}{when}{mark}")
    return "\n".join(lines)


def _likeness(action: Action) -> tuple[str, bool]:
    return action.verb, not action.detail and not action.error


def _acted(action: Action, *, errors: bool = True) -> str:
    detail = f" ({action.detail})" if action.detail else ""
    code = action.error.partition(":")[0]
    mark = f" (✗ {code})" if code and errors else ""
    return f"{action.verb} {action.target}".rstrip() + detail + mark
