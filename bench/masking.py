"""Masked tool results: what an agent's long session costs, and how much of it a window shows.

Sessions are generated, in the shapes of coding sessions: a task, then calls with short
arguments, whose results have 100 to 20,000 tokens, most of them few. Half of the sessions
choose the setting, the other half is reported. The cache that is simulated is that of the
layers' bench: prefixes of 1,024 tokens or more, in steps of 128, read at 0.1; all else is
written at 1.25. Tokens are characters ÷ 4.
"""

import random
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from bench.report import Section, Table, at_least, at_most, number
from bench.scene import Scene, sample_texts
from weft.context import ListContext, fit_messages
from weft.context.message_dict import Measurer
from weft.context.tokens import CHARS

__all__ = ["run"]

Plain: TypeAlias = Mapping[str, Any]
_SMALLEST, _GRAIN, _READ, _WRITE = 1_024, 128, 0.1, 1.25
_SESSIONS = 8
_HISTORIES = (400_000, 800_000)
"""Tokens of a session, about: every other one is long enough to be cut although it is masked."""
_WINDOW, _RESPONSE = 128_000, 4_096
_STEP = 0.25
_DEAR = 0.5
"""The most that a setting may cost, against everything, to be chosen."""
_SMALLEST_RESULT, _LARGEST_RESULT = 100, 20_000
_NEWEST = (3, 5, 10, 20)
"""The settings that are tried on the first half of the sessions."""
_COLUMNS = ("calls in view", "prefix reused %", "cost, k tokens", "masked %")
_TOOLS = (("read_file", 7.2, 1.1), ("grep", 6.2, 0.9), ("run_tests", 7.0, 1.3), ("edit_file", 5.2, 0.5))
"""Name, and the logarithms of the size in tokens: middle and spread."""
_SYSTEM = "You are a careful engineer. Read before you write, and run the tests. " * 60


class _Session(NamedTuple):
    steps: Sequence[Sequence[Plain]]
    """The messages that come before each request."""
    tokens: int


class _Seen(NamedTuple):
    """What the requests of a session were like."""

    turns: float
    """Calls with their results in view, where cutting alone had to cut."""
    reuse: float
    cost: float
    masked: float


def run(scene: Scene) -> Section:
    count, window = scene.size(_SESSIONS, 2), _WINDOW
    sessions = [_session(seed, _HISTORIES[seed % 2]) for seed in range(count)]
    tuning, reported = sessions[: count // 2], sessions[count // 2 :]
    section = Section(
        "Masking of old tool results",
        f"{count} generated sessions of a coding agent, of about {' and '.join(f'{each:,}' for each in _HISTORIES)} "
        f"tokens, with results of {_SMALLEST_RESULT} to {_LARGEST_RESULT:,}, in a window of {window:,}; a request "
        f"before every call. `maskToolResults` is chosen on one half: the most results whole at which masking costs "
        f"at most {_DEAR} of everything. The other half is reported. Cutting alone and masking have the same budget "
        f"and step ({_STEP}, rollingWindow); sending everything has no limit. All three are cached alike.",
    )
    chosen = _tuned(section, tuning, window)
    _report(section, reported, window, chosen)
    return section


def _session(seed: int, history: int) -> _Session:
    source = random.Random(1_000 + seed)
    texts = sample_texts(61, 4 * _LARGEST_RESULT)
    steps: list[list[Plain]] = []
    pending: list[Plain] = [{"role": "user", "content": f"Task {seed}: {texts[seed % 61][:1_200]}"}]
    measured = Measurer(CHARS, 0)
    total = number_ = 0
    while total < history:
        steps.append(pending)
        total += sum(measured.shape(each, 0).tokens for each in pending)
        name, middle, spread = source.choices(_TOOLS, weights=(4, 3, 2, 2))[0]
        written = min(6_000, int(source.lognormvariate(5.6 if name == "edit_file" else 4.4, 0.8)))
        arguments = f'{{"at": "{texts[number_ % 61][:written]}"}}'
        call = {
            "id": f"call_{number_}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        said = texts[(number_ * 7) % 61][: int(source.lognormvariate(5.3, 0.7))]
        size = min(_LARGEST_RESULT, max(_SMALLEST_RESULT, int(source.lognormvariate(middle, spread))))
        result = f"{number_} {texts[(number_ * 13) % 61]}"[: 4 * size]
        pending = [
            {"role": "assistant", "content": said, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": result},
        ]
        if source.random() < 0.03:
            pending += [
                {"role": "assistant", "content": texts[number_ % 61][: source.randint(400, 2_400)]},
                {"role": "user", "content": texts[(number_ + 9) % 61][: source.randint(40, 900)]},
            ]
        number_ += 1
    return _Session(steps, total)


def _tuned(section: Section, sessions: Sequence[_Session], window: int) -> int:
    rows: list[tuple[str, ...]] = []
    whole = [_followed(each, None, None) for each in sessions]
    chosen = _NEWEST[0]
    for newest in _NEWEST:
        seen = [_followed(each, window, newest) for each in sessions]
        ratio = max(one.cost / other.cost for one, other in zip(seen, whole, strict=True))
        chosen = newest if ratio <= _DEAR else chosen
        rows.append((str(newest), *_cells(seen), number(ratio)))
    header = ("maskToolResults", *_COLUMNS, "cost ÷ everything, worst")
    section.tables.append(Table("The half that chooses the setting", header, rows))
    return chosen


def _report(section: Section, sessions: Sequence[_Session], window: int, newest: int) -> None:
    masked = [_followed(each, window, newest) for each in sessions]
    cut = [_followed(each, window, None) for each in sessions]
    whole = [_followed(each, None, None) for each in sessions]
    named = ((f"masking, newest {newest}", masked), ("cutting alone", cut), ("everything", whole))
    rows = [(name, *_cells(seen)) for name, seen in named]
    section.tables.append(Table("The half that is reported", ("", *_COLUMNS), rows))
    turns = min(one.turns / other.turns for one, other in zip(masked, cut, strict=True))
    cost = max(one.cost / other.cost for one, other in zip(masked, whole, strict=True))
    share = max(window / each.tokens for each in sessions)
    section.hold(at_least("masking: calls in view ÷ cutting alone, worst session", turns, 2))
    section.hold(at_most("masking: cost ÷ everything, both cached, worst session", cost, 0.6))
    reuse = 100 * min(each.reuse for each in masked)
    section.hold(at_least("masking: prefix reused, worst session", reuse, 90, " %"))
    section.hold(at_most("masking: window ÷ history, longest window", share, 1 / 3))


def _cells(seen: Sequence[_Seen]) -> tuple[str, ...]:
    turns, reuse, cost, masked = (statistics.mean(column) for column in zip(*seen, strict=True))
    return number(turns), number(100 * reuse), number(cost / 1_000), number(100 * masked)


def _followed(session: _Session, window: int | None, newest: int | None) -> _Seen:
    """Every request of a session, as a provider's cache would meet it."""
    before: Sequence[Plain] = ()
    shown, reused, masked, cost, length = list[int](), list[float](), list[float](), 0.0, 0
    sizes = _Sizes()
    limit = 10**9 if window is None else window - _RESPONSE
    for context, steps in _requests(session, limit, window, newest):
        messages: Sequence[Plain] = context.messages
        shared = context.tokens - sum(map(sizes.of, messages))
        for mine, theirs in zip(messages, before, strict=False):
            if mine is not theirs and mine != theirs:
                break
            shared += sizes.of(mine)
        cached = shared // _GRAIN * _GRAIN if before and shared >= _SMALLEST else 0
        cost += cached * _READ + (context.tokens - cached) * _WRITE
        length += steps
        if length > (window or _WINDOW):
            results = sum(message["role"] == "tool" for message in messages)
            shown.append(results)
            reused.append(cached / context.tokens)
            masked.append(len(context.masked) / max(1, results))
        before = messages
    return _Seen(statistics.mean(shown), statistics.mean(reused), cost, statistics.mean(masked))


def _requests(
    session: _Session, limit: int, window: int | None, newest: int | None
) -> Iterator[tuple[ListContext, int]]:
    sizes = _Sizes()
    context = fit_messages(
        [],
        limit,
        strategy="rollingWindow",
        step=_STEP,
        window=window,
        estimator="chars/4",
        system=_SYSTEM,
        mask_tool_results=newest,
    )
    for step in session.steps:
        context = context.extend(step)
        yield context, sum(map(sizes.of, step))


class _Sizes:
    """Tokens of messages, measured once."""

    def __init__(self) -> None:
        self._measurer = Measurer(CHARS, 0)
        self._known: dict[int, tuple[Plain, int]] = {}

    def of(self, message: Plain) -> int:
        found = self._known.get(id(message))
        if found is None:
            found = self._known[id(message)] = (message, self._measurer.shape(message, 0).tokens)
        return found[1]
