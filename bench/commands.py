"""Commands in a model's output: how fast the longest lines are read, how well people are understood.

And what a provider's cache would save of a collaborator's session in each of the two layouts.
"""

import contextlib
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from tests.commands.phrases import phrases, tally

from bench.report import Section, Table, at_least, at_most, number
from bench.scene import Scene, sample_texts
from bench.timing import medians
from weft.commands.parse import parse, parse_found
from weft.commands.scan import scan
from weft.context.assemble import ContextRequest, Pending, Profile
from weft.context.loomaware.assembly import Exchange, LoomAware, render_loom
from weft.context.loomaware.headings import NodeFacts
from weft.context.loomaware.memory import Memory, PinnedNode
from weft.context.loomaware.place import Place
from weft.context.loomaware.pruning import plan_loomaware
from weft.context.loomaware.trace import Action
from weft.context.select import Candidate, Outline
from weft.context.settings import LoomLayout, Preferences
from weft.context.system import SystemParts
from weft.context.tokens import CHARS
from weft.errors import WeftError
from weft.tree.agent import COLLABORATOR
from weft.tree.content import Content, Text
from weft.tree.tree import Mode

__all__ = ["run"]

_MEGABYTE = 1_000_000
_SMALLEST, _GRAIN, _READ, _WRITE = 1_024, 128, 0.1, 1.25
_START = datetime(2026, 1, 1, tzinfo=UTC)


def run(scene: Scene) -> Section:
    section = Section(
        "Commands",
        "Scanning and parsing lines of a megabyte, whatever they are made of; phrases that people use, with "
        "what was meant by them (a wrong execution is one with another effect than meant; asking back is "
        "none); and a collaborator's session of several turns with the provider's cache simulated.",
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
            parse_found(found)


def _phrases(section: Section) -> None:
    rows: list[tuple[str, ...]] = []
    wrong = 0
    for name in ("phrases.txt", "unseen.txt"):
        said = phrases(name)
        found = tally(said)
        wrong += len(found.wrong)
        share = 100 * found.right / len(said)
        rows.append((name, f"{len(said):,}", number(share), str(len(found.refused)), str(len(found.wrong))))
    header = ("list", "phrases", "right %", "asked back", "wrong executions")
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
    """A person asks, the model looks at two nodes, sees the results, and answers."""
    source, texts = random.Random(11), sample_texts(97, 1_600)
    rows: list[Candidate] = []
    contents: dict[str, Content] = {}
    facts: dict[str, NodeFacts] = {}
    memory = Memory(pins=(PinnedNode(node="a7x2", text=texts[0][:300]),))
    now = _START

    def say(text: str, role: str) -> None:
        name = f"N{len(rows)}"
        tokens = CHARS.of_text(text)
        rows.append(
            Candidate(name, f"n{len(rows):03}", role, tokens, (rows[-1].ruler if rows else 0) + tokens)
        )
        contents[name] = Text(text)
        facts[name] = NodeFacts(
            local_id=rows[-1].local_id, author="Muse" if role == "assistant" else "human", created_at=now
        )
        if len(rows) > 1:
            before = rows[-2].id
            facts[before] = NodeFacts(
                local_id=rows[-2].local_id,
                author=facts[before].author,
                created_at=facts[before].created_at,
                continuations=1,
                annotations=source.choice((0, 0, 1)),
            )

    for turn in range(turns):
        now += timedelta(minutes=source.randint(1, 9))
        say(f"{turn} {texts[turn % 97][: source.randint(80, 600)]}", "user")
        seen = "\n\n".join(f"[result:{each}] → view n{each:03}\n✓ {texts[each][:700]}" for each in (1, 2))
        exchanges = (Exchange(said="→ view n001\n→ view n002", results=seen, numbers=(1, 2)),)
        for made in ((), exchanges):
            loom = LoomAware(
                permissions=COLLABORATOR,
                place=Place(
                    title="Session",
                    mode=Mode.DIALOGUE,
                    nodes=len(rows),
                    branches=1,
                    depth=len(rows),
                    path=[row.local_id for row in rows[-3:]],
                    longer=True,
                ),
                now=now,
                facts=facts,
                memory=memory,
                exchanges=made,
                summaries=dict.fromkeys(contents, "What was said, in short."),
            )
            request = ContextRequest(
                mode=Mode.DIALOGUE,
                outline=Outline(tail=list(rows)),
                budget=31_000,
                window=32_000,
                system=SystemParts(agent="You are a collaborator."),
                preferences=Preferences(loom_layout=layout),
                estimator=CHARS,
                profile=Profile(prefix_cache=True),
                pending=Pending(),
            )
            found = render_loom(plan_loomaware(request, loom), contents)
            yield "\n".join([found.system, *(f"{each.role}: {each.text}" for each in found.messages)])
        memory = memory.act(Action(verb="viewed", target="n001"), Action(verb="viewed", target="n002"))
        now += timedelta(minutes=1)
        say(f"{turn} {texts[(turn * 7) % 97][: source.randint(200, 1_400)]}", "assistant")
