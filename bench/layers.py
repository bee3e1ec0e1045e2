"""Layers and a provider's cache: what a long conversation with attachments costs, laid out in three ways.

The cache that is simulated: a request is read from the cache up to the first character in
which it differs from every earlier one of its conversation, in whole steps of 128 tokens,
if that is 1,024 tokens or more. What is read costs 0.1 of a token, everything else is
written to the cache at 1.25. Nothing is evicted, and a request may be read as soon as it
was sent. Tokens are characters ÷ 4.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from bench.provider_cache import SimulatedCache
from bench.report import Section, Table, at_least, at_most, number
from bench.scene import Scene, sample_texts
from weft.context.cache.controls import cache_controls
from weft.context.cache.prediction import CacheForecast
from weft.context.conversation import (
    Conversation,
    ConversationTurn,
    PromptContextRequest,
    assemble_turn,
)
from weft.context.envelope import Envelope
from weft.context.items.blocks import render_item
from weft.context.items.item_types import SEPARATOR, ContextItem, note
from weft.context.request import Profile
from weft.context.settings import LayerSettings, Placement, Preferences
from weft.context.system import SystemParts
from weft.context.tokens import CHARS
from weft.tree.cache_profile import CacheKind, CacheProfile

__all__ = ["run"]

_SMALLEST, _GRAIN, _READ, _WRITE = 1_024, 128, 0.1, 1.25
_BUDGETS = (8_000, 32_000, 128_000)
_TURNS = 300
_SIBLINGS = 4
_NAIVE, _SYSTEM, _INLINE = "naive resend", "the seed's layout", "inline"
_LAYOUTS = (_NAIVE, _SYSTEM, _INLINE)
_HOST = "You are a patient host who answers from the notes that are attached. " * 12


class _Asked(NamedTuple):
    """A request of the workload: the turns before it, and what it brings."""

    before: tuple[ConversationTurn, ...]
    text: str
    items: tuple[ContextItem, ...]
    times: int = 1
    """How often it is sent: once for each sibling that is wanted."""


def run(scene: Scene) -> Section:
    turns = scene.size(_TURNS, 60)
    section = Section(
        "Layers and the provider's cache",
        f"A conversation of {turns:,} turns with attachments, and one in which every third question is put to "
        f"{_SIBLINGS} siblings and a person goes on from any of them. The cache reads prefixes of at least "
        f"{_SMALLEST:,} tokens in steps of {_GRAIN}, at {_READ}; the rest is written at {_WRITE}. Naive resend puts "
        "what is attached into every message in full. Cost is in thousands of tokens at the full price.",
    )
    for workload in ("linear", "branching"):
        asked = list(_workload(workload, turns))
        rows: list[tuple[str, ...]] = []
        for budget in _BUDGETS:
            found = dict(_uses(asked, budget))
            rows += [_row(budget, layout, step, use) for (layout, step), use in found.items()]
            _hold(section, workload, budget, found)
        header = (
            "budget",
            "layout",
            "step",
            "reused %",
            "cost, thousands",
            "cost ÷ uncached",
            "mean request",
        )
        section.tables.append(Table(f"{workload}, {len(asked):,} requests", header, rows))
    _rules(section, list(_workload("linear", turns)))
    return section


_RULES = {
    "longest prefix, steps of 128": (CacheProfile(kind=CacheKind.KEY, grain=128), 3_600.0),
    "marks, 20 blocks of look-back, 5 minutes": (
        CacheProfile(kind=CacheKind.MARKS, lifetimes=("5m",)),
        300.0,
    ),
    "exact marks, 30 minutes": (
        CacheProfile(kind=CacheKind.MARKS, look_back=1, marks_answers=False, lifetimes=("30m",)),
        1_800.0,
    ),
}


def _rules(section: Section, asked: Sequence[_Asked]) -> None:
    """Each provider's own rule, with pauses between turns: what is read, and what was predicted."""
    rows: list[tuple[str, ...]] = []
    for name, (profile, lifetime) in _RULES.items():
        cache, clock, source = SimulatedCache(profile, lifetime), 0.0, random.Random(7)
        sent: list[tuple[float, bytes]] = []
        read = written = total = cost = exact = 0.0
        for each in asked:
            clock += source.choice([20, 40, 60, 120, 240, 900, 2_400])
            envelope = _envelope(each, _INLINE, 0.25, _BUDGETS[1])
            controls = cache_controls(envelope, profile)
            recent = tuple(prefix for moment, prefix in sent if moment + lifetime > clock)
            forecast = CacheForecast(envelope=envelope, profile=profile, controls=controls, recent=recent)
            use = cache.send(forecast.pieces, controls, clock)
            sent.append((clock, forecast.prefix))
            exact += forecast.prediction.cached == use.read
            read, written, total = read + use.read, written + use.written, total + sum(use)
            cost += use.cost(read=_READ, write=_WRITE if profile.kind is CacheKind.MARKS else 1)
        shares = (read / total, written / total, cost / total, exact / len(asked))
        rows.append((name, *(number(100 * share) for share in shares)))
        section.hold(at_least(f"{name}: predicted as it was read", 100 * exact / len(asked), 100, " %"))
        section.hold(at_most(f"{name}: cost ÷ uncached", cost / total, 1))
    header = ("rule", "read %", "written %", "cost ÷ uncached, %", "predicted exactly %")
    title = f"each provider's own rule, {len(asked):,} requests with pauses of 20 seconds to 40 minutes"
    section.tables.append(Table(title, header, rows))


def _hold(section: Section, workload: str, budget: int, found: "dict[tuple[str, float], _Use]") -> None:
    best = found[_INLINE, 0.25]
    if budget > 8_000:
        what = f"{workload}, {budget:,}: inline and stepped, input reused"
        section.hold(at_least(what, 100 * best.reused, 95, " %"))
    other = min(use.cost for key, use in found.items() if key != (_INLINE, 0.25))
    what = f"{workload}, {budget:,}: inline and stepped, cost ÷ the cheapest other"
    section.hold(at_most(what, best.cost / other, 1))


class _Use(NamedTuple):
    reused: float
    cost: float
    uncached: float
    mean: float
    cut: bool
    """Whether any request was."""


def _uses(asked: Sequence[_Asked], budget: int) -> Iterator[tuple[tuple[str, float], _Use]]:
    for layout in _LAYOUTS:
        exact = _simulated(asked, layout, 0.0, budget)
        yield (layout, 0.0), exact
        # Where nothing is cut, a step makes no difference.
        yield (layout, 0.25), _simulated(asked, layout, 0.25, budget) if exact.cut else exact


def _row(budget: int, layout: str, step: float, use: _Use) -> tuple[str, ...]:
    return (
        f"{budget:,}",
        layout,
        number(step),
        number(100 * use.reused),
        number(use.cost / 1000),
        number(use.cost / use.uncached),
        number(use.mean),
    )


@dataclass(slots=True)
class _Cache:
    """Every prefix that was sent, as a tree of texts."""

    roots: "dict[str, _Cache]" = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)

    def read(self, request: Sequence[str]) -> int:
        """The characters of a request that were sent before, and remember the rest."""
        place, shared = self, 0
        for index, text in enumerate(request):
            after = place.roots.get(text)
            if after is None:
                shared += max((_common(text, other) for other in place.texts), default=0)
                for rest in request[index:]:
                    place.texts.append(rest)
                    place = place.roots.setdefault(rest, _Cache())
                break
            shared += len(text)
            place = after
        return shared


def _common(one: str, other: str) -> int:
    """Length of the common beginning, by halving."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _simulated(asked: Sequence[_Asked], layout: str, step: float, budget: int) -> _Use:
    cache = _Cache()
    reused = cost = total = count = 0.0
    cut = False
    for each in asked:
        envelope = _envelope(each, layout, step, budget)
        cut = cut or envelope.truncated
        request = [envelope.system, *(f"{message.role}: {message.text}" for message in envelope.messages)]
        size = sum(len(text) for text in request) / 4
        for _ in range(each.times):
            shared = cache.read(request) / 4
            cached = shared // _GRAIN * _GRAIN if shared >= _SMALLEST else 0
            reused += cached
            total += size
            count += 1
            cost += cached * _READ + (size - cached) * _WRITE
    return _Use(reused / total, cost, total, total / count, cut)


def _envelope(asked: _Asked, layout: str, step: float, budget: int) -> Envelope:
    before, text, items = asked.before, asked.text, asked.items
    if layout == _NAIVE:
        before = tuple(replace(turn, text=_baked(str(turn.text), turn.items), items=()) for turn in before)
        text, items = _baked(text, items), ()
    conversation = Conversation(
        id="bench",
        turns=before,
        system=SystemParts(agent=_HOST),
        settings=LayerSettings(library=Placement.INLINE if layout == _INLINE else Placement.SYSTEM),
        preferences=Preferences(truncation_step=step),
        profile=Profile(prefix_cache=True),
        estimator=CHARS,
        window=budget,
    )
    request = PromptContextRequest(user_text=text, attachments=items, budget=budget - 1_024)
    return assemble_turn(conversation, request)


def _baked(text: str, items: Sequence[ContextItem]) -> str:
    return "\n\n".join([*(render_item(item) for item in items), SEPARATOR + text]) if items else text


def _workload(name: str, turns: int) -> Iterator[_Asked]:
    """People keep a note attached for some turns, come back to old ones, and now and then open a new one."""
    source, texts = random.Random(7), sample_texts(97, 12_000)
    path: tuple[ConversationTurn, ...] = ()
    notes: list[ContextItem] = []
    kept: dict[str, ContextItem] = {}
    branches: list[tuple[ConversationTurn, ...]] = []
    for number_ in range(turns):
        if name == "branching" and branches and source.random() < 0.2:
            path = source.choice(branches[-3:])
        if source.random() < 0.15 or not notes:
            size = min(12_000, max(600, int(source.lognormvariate(7.8, 0.7))))
            notes.append(note(f"notes/{number_:03}.md", f"# Note {number_}\n{texts[number_ % 97][:size]}"))
            kept[notes[-1].id] = notes[-1]
        elif source.random() < 0.06:
            again = source.choice(notes)
            kept[again.id] = again
        items = tuple(kept.values())
        text = f"{number_} {texts[(number_ * 5) % 97][: min(2_000, int(source.lognormvariate(5.0, 0.8)))]}"
        siblings = _SIBLINGS if name == "branching" and number_ % 3 == 0 else 1
        yield _Asked(path, text, items, siblings)
        answers = [
            f"{number_}.{index} {texts[(number_ * 7 + index) % 97][: min(4_000, int(source.lognormvariate(6.6, 0.6)))]}"
            for index in range(siblings)
        ]
        turn = ConversationTurn(id=f"t{number_}", text=text, items=items)
        branches += [
            (*path, replace(turn, id=f"{turn.id}.{index}", answer=answer))
            for index, answer in enumerate(answers)
        ]
        path = branches[-siblings + source.randrange(siblings)]
        kept = {each.id: each for each in kept.values() if source.random() < 0.7}
