"""The trace of an agent's actions: recent ones in full, older ones as counts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from weft.context.agent_view.node_headings import ago

RECENT = 12
"""How many actions are told in full."""


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


def recent_actions(actions: Sequence[Action]) -> str:
    """`viewed a7x2, b3k9 · annotated b3k9 · continued from b3k9 (2 results)`."""
    said: list[str] = []
    for (verb, plain), group in groupby(actions, key=_likeness):
        members = list(group)
        if plain:
            targets = ", ".join(action.target for action in members if action.target)
            said.append(f"{verb} {targets}".rstrip())
        else:
            said += [_told(action) for action in members]
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
        lines.append(f"  {_told(action, errors=False)}{when}{mark}")
    return "\n".join(lines)


def _likeness(action: Action) -> tuple[str, bool]:
    return action.verb, not action.detail and not action.error


def _told(action: Action, *, errors: bool = True) -> str:
    detail = f" ({action.detail})" if action.detail else ""
    code = action.error.partition(":")[0]
    mark = f" (✗ {code})" if code and errors else ""
    return f"{action.verb} {action.target}".rstrip() + detail + mark
