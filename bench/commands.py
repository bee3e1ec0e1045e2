"""Commands in a model's output: how fast the longest lines are read, how well people are understood.

And what a provider's cache would save of a collaborator's session in each of the two layouts.
"""

import contextlib
import random
from collections.abc import Iterator, Sequence
from functools import partial

from tests.commands.phrases import LISTS, phrases, tally

from bench.report import Section, Table, at_least, at_most, number
from bench.scene import Scene, sample_texts
from bench.timing import medians
from weft.commands.parse import parse, parse_scanned
from weft.commands.scanner import scan
from weft.context.settings import LoomLayout
from weft.errors import WeftError
from weft.providers.base import Request
from weft.testing import Scripted, SteppingClock, grove
from weft.tree.agent import Permission

__all__ = ["run"]

_MEGABYTE = 1_000_000
_BARS = {"phrases.txt": 80, "unseen.txt": 75, "heldout.txt": 75, "fresh.txt": 60, "heldout2.txt": 65}
_SMALLEST, _GRAIN, _READ, _WRITE = 1_024, 128, 0.1, 1.25


def run(scene: Scene) -> Section:
    section = Section(
        "Commands",
        "Scanning and parsing lines of a megabyte, whatever they are made of; phrases that people use, with "
        "what was meant by them (a wrong execution is one with another effect than meant; asking back is "
        "none); and a collaborator's session of several turns, through the loop and a grove, with the provider's "
        "cache simulated.",
    )
    _lines(section)
    _phrases(section)
    _layouts(section, scene.size(100, 20))
    return section


def _lines(section: Section) -> None:
    shapes = {
        "one string": '→ annotate a7x2 "' + "x" * _MEGABYTE + '"',
        "a string that never ends": '→ annotate a7x2 "' + "x" * _MEGABYTE,
        "escaped quotation marks": '→ annotate a7x2 "' + '\\"' * (_MEGABYTE // 2) + '"',
        "open strings": "→ " + '"a ' * (_MEGABYTE // 3),
        "options": "→ " + 'a:"b" ' * (_MEGABYTE // 6),
        "words": "→ " + "word " * (_MEGABYTE // 5),
        "one word": "→ view " + "a" * _MEGABYTE,
        "blanks": "→ " + " " * _MEGABYTE + "view a7x2",
        "arrows": "→ " * (_MEGABYTE // 2),
        "prose": "word " * (_MEGABYTE // 5),
        "backslashes": '→ annotate a7x2 "' + "\\" * _MEGABYTE + '"',
        "ids with commas": "→ merge " + "a7x2," * (_MEGABYTE // 5) + ' "x"',
        "marks of two kinds": "→ annotate a7x2 " + '"“' * (_MEGABYTE // 2),
        "prose of ticks": "x`" * (_MEGABYTE // 2),
        "prose of signs": "< " * (_MEGABYTE // 2),
    }
    took = medians([partial(_read, line) for line in shapes.values()], budget=6, most=9)
    rows = [
        (name, number(None if each is None else each * 1_000))
        for name, each in zip(shapes, took, strict=True)
    ]
    section.tables.append(Table("A line of 1 MB, scanned and parsed", ("made of", "ms"), rows))
    worst = None if None in took else 1_000 * max(each or 0.0 for each in took)
    section.hold(at_most("the slowest line of 1 MB", worst, 50, " ms"))


def _read(line: str) -> None:
    for found in scan(line).commands:
        with contextlib.suppress(WeftError):
            parse_scanned(found)


def _phrases(section: Section) -> None:
    rows: list[tuple[str, ...]] = []
    wrong = 0
    for name in LISTS:
        listed = phrases(name)
        counts = tally(listed)
        wrong += len(counts.wrong)
        share = 100 * counts.run / counts.meant
        asked = (str(counts.hinted), str(len(counts.asked) - counts.hinted))
        rows.append((name, f"{len(listed):,}", number(share), *asked, str(len(counts.wrong))))
        section.hold(at_least(f"{name}: run at once as meant", share, _BARS[name], " %"))
    header = (
        "list",
        "phrases",
        "run at once %",
        "asked, right form in the hint",
        "asked",
        "wrong executions",
    )
    section.tables.append(Table("Phrases understood", header, rows))
    section.hold(at_most("wrong executions", wrong, 0))
    some = [phrase.said for phrase in phrases("phrases.txt")]
    (took,) = medians([partial(_parse_all, some)], budget=4, most=5)
    section.notes.append(
        f"Reading one phrase takes {number(None if took is None else 1_000 * took / len(some))} ms."
    )


def _parse_all(said: Sequence[str]) -> None:
    for text in said:
        with contextlib.suppress(WeftError):
            parse(text)


def _layouts(section: Section, turns: int) -> None:
    rows: list[tuple[str, ...]] = []
    for layout in (LoomLayout.SPEC, LoomLayout.CACHE):
        reused, cost = _simulated(_session(layout, turns))
        rows.append((layout, number(100 * reused), number(cost)))
        if layout is LoomLayout.CACHE:
            section.hold(at_least(f"{turns} turns, layout cache: input reused", 100 * reused, 90, " %"))
    header = ("layout", "input reused %", "cost ÷ uncached")
    section.tables.append(Table(f"A collaborator's session of {turns} turns", header, rows))


def _simulated(requests: Iterator[str]) -> tuple[float, float]:
    """The common beginning with the requests before, as a provider's cache would find it."""
    seen: list[str] = []
    reused = total = cost = 0.0
    for request in requests:
        size = len(request) / 4
        shared = max((_common(request, other) / 4 for other in seen), default=0.0)
        cached = shared // _GRAIN * _GRAIN if shared >= _SMALLEST else 0
        reused, total = reused + cached, total + size
        cost += cached * _READ + (size - cached) * _WRITE
        seen = [*seen[-2:], request]
    return reused / total, cost / total


def _common(one: str, other: str) -> int:
    """Length of the common beginning, by halving."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one.startswith(other[:middle]):
            low = middle
        else:
            high = middle - 1
    return low


def _session(layout: LoomLayout, turns: int) -> Iterator[str]:
    """A person asks, the model looks at two nodes, sees the results, and answers: the real loop, over a grove."""
    chance, texts, clock = random.Random(11), sample_texts(97, 1_600), SteppingClock()

    def say(request: Request, _choice: int) -> str:
        if "[result:" in request.messages[-1].text:
            return f"{len(model.requests)} {chance.choice(texts)[: chance.randint(200, 1_400)]}"
        return f"→ view {seen[0]} full\n→ view {seen[1]} full\n"

    model = Scripted(say)
    with grove(clock=clock, model=model) as loom:
        loom.add_agent(
            "Muse",
            model_ref="scripted:muse",
            permissions=list(Permission),
            system_prompt="You are a collaborator.",
            custom={"loomLayout": layout.value},
        )
        tree = loom.plant("Session")
        seen = [tree.root.annotate(texts[number][:700]).local_id for number in (1, 2)]
        tree.do(f"→ pin {tree.say(texts[0][:300]).local_id}", agent="Muse")
        for turn in range(turns):
            clock.pass_by(seconds=60 * chance.randint(1, 9))
            asked = f"{turn} {texts[turn % 97][: chance.randint(80, 600)]}"
            tree.collaborate("Muse", asked, limit=31_000, seconds=3_600)
            if chance.random() < 1 / 3:
                tree.cursor.annotate("Yes.")
            for request in model.requests:
                yield "\n".join(
                    [*request.system, *(f"{each.role}: {each.text}" for each in request.messages)]
                )
            model.requests.clear()
