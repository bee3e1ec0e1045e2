"""The context engine: plain lists, a growing chat, tool calls at every budget, what a provider's cache would save."""

import math
import random
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from bench.peers import Peer, missing_note, peers, tokens_of
from bench.report import Section, Table, at_least, at_most, number
from bench.scene import Scene, sample_texts
from bench.timing import medians, seconds_of
from weft.context import ListContext, fit_messages

__all__ = ["Plain", "chat_messages", "run"]

Plain: TypeAlias = Mapping[str, Any]
_ROLLING, _MIDDLE = "rollingWindow", "truncateMiddle"
_TURNS = 2_000
_CHAT_LIMIT = 8_000
_WINDOW = 32_000
_SETTINGS = 275
_CHAT_RUNS = 3
_SMALLEST, _GRAIN, _READ, _WRITE = 1_024, 128, 0.1, 1.25
"""A provider's cache: prefixes of at least so many tokens, in steps, and what reading and writing cost."""


def run(scene: Scene) -> Section:
    others = peers()
    peer = next((each for each in others if each.quick), None)
    section = Section(
        "The context engine",
        "Lists of plain messages, counted by characters ÷ 4. Ours is `fit_messages` with its defaults except "
        "where a strategy is named; the list of messages is read each time. The floor is a bare loop over the "
        "end of the list. Peers are asked with their best settings: "
        + ("; ".join(f"{each.name}, {each.settings}" for each in others) or "none is installed")
        + ".",
    )
    note = missing_note(others)
    if note is not None:
        section.notes.append(note)
    _lists(scene, section, others)
    _chat(scene, section, peer)
    _integrity(section, others)
    _reuse(scene, section)
    _import_time(section)
    return section


def chat_messages(count: int) -> list[Plain]:
    source = random.Random(11)
    texts = sample_texts(499, 400)
    return [
        {
            "role": "assistant" if index % 2 else "user",
            "content": texts[index % 499][: source.randint(20, 400)],
        }
        for index in range(count)
    ]


def _floor(messages: Sequence[Plain], limit: int) -> list[Plain]:
    start, total = len(messages), 0
    while start:
        total += (len(messages[start - 1]["content"]) + 3) >> 2
        if total > limit:
            break
        start -= 1
    return list(messages[start:])


def _ours(messages: Sequence[Plain], limit: int, strategy: str = _ROLLING) -> list[Plain]:
    return list(fit_messages(messages, limit, strategy=strategy, estimator="chars/4").messages)


def _lists(scene: Scene, section: Section, others: Sequence[Peer]) -> None:
    peer = next((each for each in others if each.quick), None)
    counts = (1_000, 10_000) if scene.quick else (1_000, 10_000, 100_000)
    rows: list[tuple[str, ...]] = []
    found: dict[str, list[float]] = {}
    for count in counts:
        messages = chat_messages(count)
        limit = sum(tokens_of(message["content"]) for message in messages) // 4
        runs = {
            "floor": partial(_floor, messages, limit),
            _ROLLING: partial(_ours, messages, limit),
            _MIDDLE: partial(_ours, messages, limit, _MIDDLE),
        }
        if peer is not None:
            runs[peer.name] = partial(peer.fit, peer.convert(messages), limit)
        took = medians(list(runs.values()), budget=scene.size(6, 2))
        for name, seconds in zip(runs, took, strict=True):
            found.setdefault(name, []).append(math.inf if seconds is None else seconds)
    for name, seconds in found.items():
        rows.append((name, *(number(1000 * each) for each in seconds), number(_exponent(seconds))))
    slow = [each for each in others if not each.quick]
    messages = chat_messages(10_000)
    for each in slow:
        took = [_once(each, messages[:count]) for count in (1_000, 10_000)]
        blank = ["—"] * (len(counts) - 2)
        rows.append((each.name, *(number(1000 * one) for one in took), *blank, "—"))
    header = ("ms", *(f"{count:,}" for count in counts), f"exponent {counts[-2]:,} → {counts[-1]:,}")
    section.tables.append(Table("A list fitted to a quarter of its tokens", header, rows))
    if peer is not None:
        ratio = found[peer.name][1] / found[_ROLLING][1]
        section.hold(at_least(f"10,000 messages, rollingWindow: {peer.name} ÷ ours", ratio, 5))
    bar = _exponent(found["floor"]) + 0.1
    section.hold(
        at_most(
            "growth exponent of rollingWindow, against the floor's + 0.1", _exponent(found[_ROLLING]), bar
        )
    )


def _once(peer: Peer, messages: Sequence[Plain]) -> float:
    limit = sum(tokens_of(message["content"]) for message in messages) // 4
    theirs = peer.convert(messages)
    return seconds_of(partial(peer.fit, theirs, limit))


def _exponent(seconds: Sequence[float]) -> float:
    return math.log10(seconds[-1] / seconds[-2])


def _chat(scene: Scene, section: Section, peer: Peer | None) -> None:
    turns = scene.size(_TURNS, 500)
    messages = chat_messages(2 * turns)

    def refit() -> None:
        for turn in range(1, turns + 1):
            _ours(messages[: 2 * turn], _CHAT_LIMIT)

    def extend() -> None:
        context = fit_messages([], _CHAT_LIMIT, strategy=_ROLLING, estimator="chars/4")
        for turn in range(turns):
            context = context.extend(messages[2 * turn : 2 * turn + 2])
            _ = context.messages

    afresh, extended, theirs = list[float](), list[float](), list[float]()
    listed: list[Any] = [] if peer is None else peer.convert(messages)
    # One after the other, the best of each: what else the machine does meets both alike.
    for _ in range(_CHAT_RUNS):
        afresh.append(seconds_of(refit))
        extended.append(seconds_of(extend))
        if peer is not None:
            theirs.append(seconds_of(partial(_refit_peer, peer, listed, turns)))
    took = {"fitted afresh": min(afresh), "extended": min(extended)}
    if peer is not None:
        took[peer.name] = min(theirs)
        for name, bar in (("fitted afresh", 8), ("extended", 50)):
            what = f"a chat of {turns:,} turns, {name}: {peer.name} ÷ ours"
            section.hold(at_least(what, took[peer.name] / took[name], bar))
    rows = [(name, number(1000 * seconds), number(1e6 * seconds / turns)) for name, seconds in took.items()]
    caption = f"A chat that grows to {turns:,} turns in a window of {_CHAT_LIMIT:,} tokens"
    section.tables.append(Table(caption, ("", "ms in all", "µs a turn"), rows))


def _refit_peer(peer: Peer, theirs: list[Any], turns: int) -> None:
    for turn in range(1, turns + 1):
        peer.fit(theirs[: 2 * turn], _CHAT_LIMIT)


def _mixed() -> list[Plain]:
    """A conversation with tools, several at once, long and short results."""
    source, texts = random.Random(5), sample_texts(40, 1_200)
    messages: list[Plain] = [{"role": "system", "content": "You are a careful assistant. " * 6}]
    for turn in range(18):
        messages.append({"role": "user", "content": texts[turn][: source.randint(20, 300)]})
        for round_ in range(source.choice([0, 1, 1, 2])):
            ids = [f"call-{turn}-{round_}-{index}" for index in range(source.randint(1, 3))]
            calls = [
                {"id": each, "type": "function", "function": {"name": "search", "arguments": '{"q": "loom"}'}}
                for each in ids
            ]
            messages.append({"role": "assistant", "content": "", "tool_calls": calls})
            messages += [
                {
                    "role": "tool",
                    "tool_call_id": each,
                    "content": texts[turn + 20][: source.randint(10, 1_200)],
                }
                for each in ids
            ]
        messages.append({"role": "assistant", "content": texts[turn + 1][: source.randint(40, 500)]})
    messages.append({"role": "user", "content": "And what follows from all this?"})
    return messages


class _Faults(NamedTuple):
    broken: int = 0
    empty: int = 0
    system: int = 0
    user: int = 0
    over: int = 0
    refused: int = 0


def _integrity(section: Section, others: Sequence[Peer]) -> None:
    messages = _mixed()
    total = fit_messages(messages, 10**9, estimator="chars/4").tokens
    budgets = [total * (index + 14) // (_SETTINGS + 13) for index in range(_SETTINGS)]
    rows: list[tuple[str, ...]] = []
    worst = 0
    for strategy in (_ROLLING, _MIDDLE):
        for step in (0.0, 0.25):
            faults = _Faults()
            for budget in budgets:
                context = fit_messages(messages, budget, strategy=strategy, step=step, estimator="chars/4")
                over = context.tokens > budget
                faults = _added(faults, _faults_of(context.messages, messages, over=over))
            worst = max(worst, sum(faults))
            rows.append((f"ours, {strategy}, step {step}", *(str(each) for each in faults)))
    for peer in others:
        faults, theirs = _Faults(), peer.convert(messages)
        for budget in budgets:
            try:
                kept = peer.plain(peer.fit(theirs, budget))
            except ValueError:
                faults = _added(faults, _Faults(refused=1))
                continue
            faults = _added(faults, _faults_of(kept, messages, over=False))
        rows.append((peer.name, *(str(each) for each in faults)))
    header = ("of each", "broken pairs", "empty", "lost system", "lost last user", "over budget", "refused")
    caption = f"A conversation with tools at {_SETTINGS} budgets, from 5 % of it to all"
    section.tables.append(Table(caption, header, rows))
    section.hold(at_most("faults of ours over all budgets of the conversation with tools", worst, 0.5))


def _added(one: _Faults, other: _Faults) -> _Faults:
    return _Faults(*(a + b for a, b in zip(one, other, strict=True)))


def _faults_of(kept: Sequence[Plain], messages: Sequence[Plain], *, over: bool) -> _Faults:
    called = [call["id"] for message in kept for call in message.get("tool_calls") or ()]
    answered = [message["tool_call_id"] for message in kept if message["role"] == "tool"]
    last = messages[-1]["content"]
    return _Faults(
        broken=sorted(called) != sorted(answered),
        empty=not any(message["role"] != "system" for message in kept),
        system=messages[0]["content"] not in [message["content"] for message in kept],
        user=not any(message["role"] == "user" and last in str(message["content"]) for message in kept),
        over=over,
    )


class _Use(NamedTuple):
    reuse: float
    cost: float
    filled: float


def _reuse(scene: Scene, section: Section) -> None:
    turns = scene.size(600, 250)
    rows: list[tuple[str, ...]] = []
    bars = {_MIDDLE: (95, 0.15, {"linear": 84, "branching": 80}), _ROLLING: (92, 0.19, {"linear": 83})}
    for workload in ("linear", "branching"):
        for strategy in (_MIDDLE, _ROLLING):
            for step in (0.0, 0.25):
                found = _simulated(_requests(workload, turns, strategy, step))
                cells = (number(100 * found.reuse), number(found.cost), number(100 * found.filled))
                rows.append((workload, strategy, number(step), *cells))
                if not step:
                    continue
                reuse, cost, filled = bars[strategy]
                what = f"{workload}, {strategy}, step 0.25"
                if workload == "linear":
                    section.hold(at_least(f"{what}: prefix reused", 100 * found.reuse, reuse, " %"))
                    section.hold(at_most(f"{what}: cost ÷ uncached", found.cost, cost))
                if workload in filled:
                    section.hold(at_least(f"{what}: window used", 100 * found.filled, filled[workload], " %"))
    header = ("workload", "strategy", "step", "prefix reused %", "cost ÷ uncached", "window used %")
    words = f"{turns:,} turns, window {_WINDOW:,}, after it is full"
    caption = (
        f"What a provider's cache would save ({words}; cache of {_SMALLEST:,} at least, in steps of {_GRAIN})"
    )
    section.tables.append(Table(caption, header, rows))


def _requests(workload: str, turns: int, strategy: str, step: float) -> Iterator[ListContext]:
    """A request for every turn; on the branching one a person often goes back and tries again."""
    source = random.Random(3)
    texts = sample_texts(97, 4_000)
    path: list[Plain] = []
    for turn in range(turns):
        if workload == "branching" and turn > 150 and source.random() < 0.15:
            del path[-2 * source.randint(1, 12) :]
        asked = min(4_000, int(source.lognormvariate(5.3, 0.8)))
        path.append({"role": "user", "content": f"{turn} {texts[turn % 97][:asked]}"})
        yield fit_messages(
            path,
            _WINDOW - 1_024,
            strategy=strategy,
            step=step,
            window=_WINDOW,
            estimator="chars/4",
            system="You are a patient host. " * 40,
        )
        answered = min(4_000, int(source.lognormvariate(6.6, 0.7)))
        path.append({"role": "assistant", "content": f"{turn} {texts[(turn * 7) % 97][:answered]}"})


def _simulated(requests: Iterator[ListContext]) -> _Use:
    """Longest common prefix with the requests before, as a provider's cache would find it."""
    seen: list[list[Plain]] = []
    reused, costs, filled = list[float](), list[float](), list[float]()
    for context in requests:
        messages: list[Plain] = list(context.messages)
        if context.truncated:
            total = context.tokens
            system = total - sum(tokens_of(message["content"]) for message in messages)
            shared = max(system + _shared(messages, other) for other in seen)
            cached = shared // _GRAIN * _GRAIN if shared >= _SMALLEST else 0
            reused.append(cached / total)
            costs.append((cached * _READ + (total - cached) * _WRITE) / total)
            filled.append(total / (_WINDOW - 1_024))
        seen = [*seen[-40:], messages]
    return _Use(*(statistics.mean(each) for each in (reused, costs, filled)))


def _shared(messages: Sequence[Plain], other: Sequence[Plain]) -> int:
    tokens = 0
    for mine, theirs in zip(messages, other, strict=False):
        if mine is not theirs and mine != theirs:
            break
        tokens += tokens_of(mine["content"])
    return tokens


def _import_time(section: Section) -> None:
    script = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    rows: list[tuple[str, str]] = []
    for name in ("weft.context", "langchain_core.messages"):
        took: list[float] = []
        for _ in range(7):
            done = subprocess.run(
                [sys.executable, "-c", script.format(name)], capture_output=True, text=True, check=False
            )
            if done.returncode == 0:
                took.append(1000 * float(done.stdout))
        if took:
            rows.append((name, number(statistics.median(took))))
        if name == "weft.context":
            section.hold(at_most("import weft.context", statistics.median(took), 60, " ms"))
    section.tables.append(Table("Importing", ("module", "ms"), rows))
