"""Acknowledged writes a second: every node durable, with its event, before the caller goes on."""

import statistics
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import NamedTuple

from sqlalchemy import func, select

import weft
from bench.crowd import Start, in_processes, in_threads
from bench.plain import Change, Writer, changes_of, moved, postgres_writer, sqlite_writer
from bench.report import Section, Table, at_least, number
from bench.scene import Scene, place_of, sample_texts
from bench.timing import percentile, seconds_of_a_sync
from weft.grove.tree import TreeHandle
from weft.store import group_commit as writer
from weft.store import schema

__all__ = ["run"]

_PRODUCERS = 100
_PROCESSES = 8
_CONNECTIONS = 16
_PROCESSES_BAR = 0.6
_CONNECTIONS_BAR = 0.8
_TEXTS = sample_texts(64)


class Measured(NamedTuple):
    """How much was acknowledged in how long, and what single callers waited."""

    nodes: int
    seconds: float
    waits: Sequence[float] = ()

    @property
    def rate(self) -> float:
        return self.nodes / self.seconds


class Stand(NamedTuple):
    """Trees that are written to, and for each a copy that the peer writes to."""

    trees: Sequence[TreeHandle]
    copies: Sequence[TreeHandle]


class Round(NamedTuple):
    """Ours, the peer and the bare disk, one right after the other."""

    ours: Measured
    plain: Measured
    sync: float
    alone: Measured | None = None
    """The same calls, each in a commit of its own."""

    @property
    def ratio(self) -> float:
        return self.ours.rate / self.plain.rate

    @property
    def gain(self) -> float | None:
        return None if self.alone is None else self.ours.rate / self.alone.rate


def run(scene: Scene) -> Section:
    section = Section(
        "Acknowledged writes",
        "Each node is one `say` of 200 characters in its producer's own tree, durable with its event when the "
        f"call returns. {_PRODUCERS} threads share one grove on SQLite (synchronous = FULL). “Each alone” is the "
        "same writer with the same calls, but each in a commit of its own: that is the peer of the bar. "
        "“Bare SQL” is a floor: one thread that has nothing to check, name or hash puts finished rows into the "
        "same file by sqlite3, one commit for each node. "
        f"{_PROCESSES} processes have a grove each on one file; bare SQL is {_PROCESSES} plain ones. On "
        f"PostgreSQL {_CONNECTIONS} threads share one grove; bare SQL is {_CONNECTIONS} threads with a psycopg "
        "connection each. “Sync” is the disk's floor in that round: 4 KiB appended and synced. Bars are held "
        "against the median round.",
    )
    cases = [
        (f"SQLite, {_PRODUCERS} threads", [_sqlite_threads(scene) for _ in range(scene.size(5, 1))]),
        (f"SQLite, {_PROCESSES} processes", [_sqlite_processes(scene) for _ in range(scene.size(5, 1))]),
        (f"PostgreSQL, {_CONNECTIONS} threads", [_postgres(scene) for _ in range(scene.size(5, 1))]),
    ]
    threads = cases[0][1]
    gain = statistics.median(each.gain or 0 for each in threads)
    rate = statistics.median(each.ours.rate for each in threads)
    by_ratio = section.hold(at_least("SQLite writes ÷ a writer that commits each", gain, 4))
    by_rate = section.hold(at_least("SQLite writes a second, with events", rate, 5_000))
    least = dict(zip((what for what, _ in cases[1:]), (_PROCESSES_BAR, _CONNECTIONS_BAR), strict=True))
    rows: list[tuple[str, ...]] = []
    for what, rounds in cases:
        ours = statistics.median(each.ours.rate for each in rounds)
        plain = statistics.median(each.plain.rate for each in rounds)
        middle = statistics.median(each.ratio for each in rounds)
        alone, more = None, None
        if rounds is threads:
            alone = statistics.median(each.alone.rate for each in rounds if each.alone)
            more, bar = gain, (by_ratio.bar, by_ratio.verdict)
        else:
            held = section.hold(at_least(f"{what}: writes ÷ bare SQL", middle, least[what]))
            bar = held.bar, held.verdict
        figures = (ours, alone, more, plain, middle)
        rows.append((what, *map(number, figures), *bar))
    rows.insert(1, (f"{cases[0][0]}, as such", number(rate), *["—"] * 4, by_rate.bar, by_rate.verdict))
    header = (
        "nodes a second, median round",
        "ours",
        "each alone",
        "ours ÷ that",
        "bare SQL",
        "ours ÷ that",
        "bar",
        "verdict",
    )
    section.tables.append(Table("Nodes a second", header, rows))
    section.tables.append(_rounds_table(cases))
    return section


def _rounds_table(cases: Sequence[tuple[str, Sequence[Round]]]) -> Table:
    rows: list[tuple[str, ...]] = []
    for what, rounds in cases:
        for each in rounds:
            waits = [1000 * wait for wait in each.ours.waits]
            rows.append(
                (
                    what,
                    number(each.ours.rate),
                    number(None if each.alone is None else each.alone.rate),
                    number(each.plain.rate),
                    number(1000 * each.sync),
                    number(statistics.median(waits) if waits else None),
                    number(percentile(waits, 0.99) if waits else None),
                )
            )
    header = ("round", "ours", "each alone", "bare SQL", "sync, ms", "a caller waits, ms", "p99, ms")
    return Table("Each round", header, rows)


def _sqlite_threads(scene: Scene) -> Round:
    with scene.address("SQLite") as path, weft.open(path) as grove:
        stand = _plant(grove, _PRODUCERS)
        ours = _say(grove, stand.trees, scene.size(100, 10))
        others = [grove.plant(f"Alone {index}") for index in range(_PRODUCERS)]
        with _each_alone():
            alone = _say(grove, others, scene.size(15, 3))
        sync = seconds_of_a_sync(scene.folder)
        shares = _shares(grove, stand, scene.size(8, 3))
        turns = [change for turn in zip(*shares, strict=True) for change in turn]
        with sqlite_writer(path) as write:
            plain = _commit_each([write], [turns])
    return _told(scene, "SQLite, threads", Round(ours, plain, sync, alone))


@contextmanager
def _each_alone() -> Generator[None]:
    """Commit whatever comes next one by one."""
    kept = writer._GROUP_LIMIT  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - a bench compares
    writer._GROUP_LIMIT = 1  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    try:
        yield
    finally:
        writer._GROUP_LIMIT = kept  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def _sqlite_processes(scene: Scene) -> Round:
    """Processes with a grove each on one file; then as many plain writers on it."""
    each = scene.size(50, 20)
    with scene.address("SQLite") as path:
        with weft.open(path) as grove:
            stand = _plant(grove, _PROCESSES)
        seconds = in_processes([partial(_say_alone, path, tree.id, each) for tree in stand.trees])
        ours = Measured(_PROCESSES * each, seconds)
        sync = seconds_of_a_sync(scene.folder)
        with weft.open(path) as grove:
            _check(grove, stand.trees, each)
            shares = _shares(grove, stand, each)
        seconds = in_processes([partial(_write_alone, path, share) for share in shares])
    return _told(scene, "SQLite, processes", Round(ours, Measured(_PROCESSES * each, seconds), sync))


def _postgres(scene: Scene) -> Round:
    each = scene.size(50, 20)
    with scene.address("PostgreSQL") as address, weft.open(address) as grove:
        stand = _plant(grove, _CONNECTIONS)
        ours = _say(grove, stand.trees, each)
        sync = seconds_of_a_sync(scene.folder)
        shares = _shares(grove, stand, each)
        with ExitStack() as stack:
            writers = [stack.enter_context(postgres_writer(address)) for _ in shares]
            plain = _commit_each(writers, shares)
    return _told(scene, "PostgreSQL", Round(ours, plain, sync))


def _told(scene: Scene, what: str, found: Round) -> Round:
    alone = "" if found.alone is None else f", each alone {found.alone.rate:,.0f}"
    scene.say(f"  {what}: {found.ours.rate:,.0f} a second{alone}, bare SQL {found.plain.rate:,.0f}")
    return found


def _plant(grove: weft.Grove, count: int) -> Stand:
    trees = [grove.plant(f"Tree {index}") for index in range(count)]
    return Stand(trees, [grove.plant(f"Copy {index}") for index in range(count)])


def _say(grove: weft.Grove, trees: Sequence[TreeHandle], each: int) -> Measured:
    """Say `each` nodes in every tree, a thread a tree."""
    waits: list[list[float]] = [[] for _ in trees]

    def produce(tree: TreeHandle, waited: list[float]) -> None:
        for index in range(each):
            start = time.perf_counter()
            tree.say(_TEXTS[index % len(_TEXTS)])
            waited.append(time.perf_counter() - start)

    works = [partial(produce, tree, waited) for tree, waited in zip(trees, waits, strict=True)]
    seconds = in_threads(works)
    _check(grove, trees, each)
    return Measured(len(trees) * each, seconds, [wait for waited in waits for wait in waited])


def _say_alone(path: str, tree: str, each: int, start: Start) -> None:
    with weft.open(path, create=False) as grove:
        handle = grove.tree(tree)
        start()
        for index in range(each):
            handle.say(_TEXTS[index % len(_TEXTS)])


def _write_alone(path: str, share: Sequence[Change], start: Start) -> None:
    with sqlite_writer(path) as write:
        start()
        for change in share:
            write(change)


def _commit_each(writers: Sequence[Writer], shares: Sequence[Sequence[Change]]) -> Measured:
    def work(write: Writer, share: Sequence[Change]) -> None:
        for change in share:
            write(change)

    seconds = in_threads([partial(work, *each) for each in zip(writers, shares, strict=True)])
    return Measured(sum(map(len, shares)), seconds)


def _shares(grove: weft.Grove, stand: Stand, each: int) -> list[list[Change]]:
    """What was written to each tree, addressed to its copy."""
    store = grove.read.store
    keys = [
        (place_of(store, tree)[0], place_of(store, copy)[0])
        for tree, copy in zip(stand.trees, stand.copies, strict=True)
    ]
    return [moved(changes_of(store, tree, each), copy) for tree, copy in keys]


def _check(grove: weft.Grove, trees: Sequence[TreeHandle], each: int) -> None:
    """A figure counts only if every node and every event is there."""
    store = grove.read.store
    keys = [place_of(store, tree)[0] for tree in trees]
    with store.read() as session:
        kept = [
            session.execute(select(func.count()).where(table.c.tree.in_(keys))).scalar_one()
            for table in (schema.nodes, schema.texts, schema.events)
        ]
    if set(kept) != {len(trees) * (each + 1)}:
        raise RuntimeError(f"nodes, texts, events kept: {kept}; said: {each} in each of {len(trees)} trees")
