"""Paths at depth 1,000 and 100,000: what should not depend on depth must not."""

import itertools
import math
import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from sqlalchemy import TextClause, text
from tests.growing import grow

import weft
from bench.crowd import in_threads
from bench.report import Bar, Section, Table, at_least, at_most, number
from bench.scene import STORES, Scene, place_of
from bench.timing import counted, medians
from weft.runtime.contexts.options import ContextOptions
from weft.runtime.operations.node_values import contents_of
from weft.store.base import Store
from weft.store.path_queries import ancestor_at_depth, walk_up
from weft.store.rows import NodeRow
from weft.store.transaction import Transaction
from weft.store.tree_queries import node_rows

__all__ = ["run"]

_SHAPES = ("straight", "zigzag")
_COUNT = 50
_LIMIT = 2_000
"""Tokens of a context."""
_THREADS = 8
_TABLES = ("nodes", "texts", "plain")

_PLAIN_TABLE = (
    "CREATE TABLE plain (tree integer, key integer, parent integer, ulid text, role integer, author integer, "
    "created_at bigint, content text, PRIMARY KEY (tree, key))"
)
_PLAIN_ROWS = (
    "INSERT INTO plain SELECT n.tree, n.key, n.parent, n.ulid, n.role, n.author, n.created_at, t.content "
    "FROM nodes n JOIN texts t ON t.tree = n.tree AND t.node = n.key"
)
_PLAIN_UP = (
    "WITH RECURSIVE up (key, parent, step) AS ("
    "SELECT key, parent, 1 FROM plain WHERE tree = :tree AND key = :key UNION ALL "
    "SELECT p.key, p.parent, up.step + 1 FROM up JOIN plain p ON p.tree = :tree AND p.key = up.parent {limit}) "
    "SELECT p.* FROM (SELECT key, step FROM up ORDER BY step {order} LIMIT 50) chosen "
    "JOIN plain p ON p.tree = :tree AND p.key = chosen.key ORDER BY chosen.step DESC"
)
_PLAIN_TAIL = text(_PLAIN_UP.format(limit="WHERE up.step < 50", order="ASC"))
_PLAIN_HEAD = text(_PLAIN_UP.format(limit="", order="DESC"))


class Spot(NamedTuple):
    """A node on the path, where everything is asked."""

    grove: weft.Grove
    tree: str
    row: NodeRow

    @property
    def store(self) -> Store:
        return self.grove.read.store


class Place(NamedTuple):
    """The same by name, while the grove is closed."""

    tree: str
    row: NodeRow


Question: TypeAlias = Callable[[Spot], object]
Figures: TypeAlias = list[float | None]
Places: TypeAlias = dict[str, list[Place]]
"""By shape, one for each depth."""


def run(scene: Scene) -> Section:
    depths = (100, 1_000, 10_000) if scene.quick else (1_000, 10_000, 100_000)
    section = Section(
        "Paths",
        f"Milliseconds, medians of many runs, asked at the end of a path {depths[0]:,}, {depths[1]:,} and "
        f"{depths[2]:,} deep, each in a tree of its own. The straight path has one child everywhere; the zigzag "
        "one goes through the youngest of two or three at every step. “Nodes” are whole values through the "
        "grove; “rows” are rows and texts from the store, which is what the plain layout gives too: the same "
        "data in the same database with nothing but parent pointers, where a head is found only by walking all "
        "the way up.",
    )
    for store in STORES:
        with scene.address(store) as address:
            places = _build(scene, address, store, depths)
            before = _ask_all(scene, address, places, f"{store}, no statistics")
            _tell(address, "ANALYZE")
            after = _ask_all(scene, address, places, f"{store}, after ANALYZE")
            for shape in _SHAPES:
                table = _table(section, f"{store}, {shape}", depths, (before[shape], after[shape]))
                section.tables.append(table)
            if store == "PostgreSQL":
                section.tables.append(_rates(scene, section, address, places["zigzag"][-1]))
    return section


def _build(scene: Scene, address: str, store: str, depths: Sequence[int]) -> Places:
    scene.say(f"  {store}: growing")
    places: Places = {shape: [] for shape in _SHAPES}
    with weft.open(address) as grove:
        kept = grove.read.store
        for shape, depth in itertools.product(_SHAPES, depths):
            tree = grove.plant(f"{shape} {depth}", "root")
            key, root = place_of(kept, tree)
            end = grow(kept, key, root, depth, zigzag=shape == "zigzag")
            # One more step, so that there are children to ask for.
            grow(kept, key, end, 1, zigzag=shape == "zigzag")
            places[shape].append(Place(tree.id, end))
    _tell(address, _PLAIN_TABLE, _PLAIN_ROWS)
    if store == "PostgreSQL":
        # Statistics come when the bench says so.
        _tell(address, *(f"ALTER TABLE {name} SET (autovacuum_enabled = off)" for name in _TABLES))
    return places


def _tell(address: str, *statements: str) -> None:
    """Run statements, and open the grove anew afterwards, so that all connections plan with what is there."""

    def work(transaction: Transaction) -> None:
        for statement in statements:
            transaction.execute(text(statement))

    with weft.open(address) as grove:
        grove.read.store.write(work)


def _ask_all(scene: Scene, address: str, places: Places, words: str) -> dict[str, dict[str, Figures]]:
    """Seconds by shape, question and depth."""
    scene.say(f"  {words}")
    found: dict[str, dict[str, Figures]] = {}
    with weft.open(address) as grove:
        for shape, ends in places.items():
            spots = [Spot(grove, *place) for place in ends]
            found[shape] = {
                name: medians([partial(ask, spot) for spot in spots], budget=scene.size(8, 4) / 10)
                for name, ask in _QUESTIONS.items()
            }
    return found


def _rows_below(spot: Spot, position: int) -> object:
    with spot.store.read() as session:
        rows = walk_up(session, spot.row.tree, position, _COUNT)
        return contents_of(session, spot.row.tree, rows)


def _tail_rows(spot: Spot) -> object:
    return _rows_below(spot, spot.row.position)


def _head_rows(spot: Spot) -> object:
    with spot.store.read() as session:
        first = ancestor_at_depth(session, spot.row.tree, spot.row.position, _COUNT - 1)
    return _rows_below(spot, first)


def _plain(statement: TextClause, spot: Spot) -> object:
    with spot.store.read() as session:
        rows = session.execute(statement, {"tree": spot.row.tree, "key": spot.row.key}).all()
    if len(rows) != _COUNT:
        raise RuntimeError(f"the plain layout gave {len(rows)} rows")
    return rows


def _context(strategy: str, spot: Spot) -> object:
    """What a model would see, with nothing at hand from the time before."""
    contexts = spot.grove.contexts
    contexts.cache.clear()
    options = ContextOptions(limit=_LIMIT, strategy=strategy)
    return contexts.at(spot.tree, spot.row.ulid, options)


_QUESTIONS: dict[str, Question] = {
    "tail of 50, nodes": lambda spot: spot.grove.read.path(spot.tree, spot.row.ulid, tail=_COUNT),
    "tail of 50, rows": _tail_rows,
    "plain: tail of 50": partial(_plain, _PLAIN_TAIL),
    "head of 50, nodes": lambda spot: spot.grove.read.path(spot.tree, spot.row.ulid, head=_COUNT),
    "head of 50, rows": _head_rows,
    "plain: head of 50": partial(_plain, _PLAIN_HEAD),
    "context, truncateMiddle": partial(_context, "truncateMiddle"),
    "context, rollingWindow": partial(_context, "rollingWindow"),
    "children": lambda spot: spot.grove.read.children(spot.tree, spot.row.ulid),
    "siblings": lambda spot: spot.grove.read.siblings(spot.tree, spot.row.ulid),
    "whole path": lambda spot: spot.grove.read.path(spot.tree, spot.row.ulid),
}
_PEERS = {"tail of 50, rows": "plain: tail of 50", "head of 50, rows": "plain: head of 50"}
_FLAT = 1.5
_STATISTICS = ("none", "ANALYZE")


def _table(
    section: Section, caption: str, depths: Sequence[int], asked: tuple[dict[str, Figures], ...]
) -> Table:
    """All questions of one shape; the summary gets the steepest that ought to be flat."""
    ends = f"{depths[-1]:,} ÷ {depths[0]:,}"
    rows: list[tuple[str, ...]] = []
    held: list[tuple[float, Bar]] = []
    for name, (statistics, figures) in itertools.product(_QUESTIONS, zip(_STATISTICS, asked, strict=True)):
        small, *_, large = figures[name]
        ratio = None if small is None or large is None else large / small
        bar, verdict = "—", "—"
        if name.startswith(("tail", "head", "context")):
            what = f"{caption}: {name} (statistics: {statistics}), the steepest of all, {ends}"
            found = at_most(what, ratio, _FLAT)
            held.append((math.inf if ratio is None else ratio, found))
            bar, verdict = found.bar, found.verdict
        peer = figures[_PEERS[name]][-1] if name in _PEERS else None
        gain = None if peer is None or large is None else peer / large
        milliseconds = [number(None if figure is None else 1000 * figure) for figure in figures[name]]
        rows.append((name, statistics, *milliseconds, number(ratio), number(gain), bar, verdict))
    section.hold(max(held, key=lambda each: each[0])[1])
    columns = [f"{depth:,}" for depth in depths]
    gain_at = f"plain ÷ ours at {depths[-1]:,}"
    return Table(caption, ("ms", "statistics", *columns, ends, gain_at, "bar", "verdict"), rows)


def _rates(scene: Scene, section: Section, address: str, place: Place) -> Table:
    """How many tails one Python process gets out of PostgreSQL."""
    seconds = scene.size(3, 1)
    with weft.open(address) as grove:
        keys = random.Random(3).sample(range(place.row.key // 2, place.row.key), 1_000)
        with grove.read.store.read() as session:
            spots = [
                Spot(grove, place.tree, row) for row in node_rows(session, place.row.tree, keys).values()
            ]
        rates: list[tuple[str, float]] = []
        for name in ("tail of 50, rows", "tail of 50, nodes", "plain: tail of 50"):
            rates.append((name, _rate(_QUESTIONS[name], spots, seconds)))
            scene.say(f"  PostgreSQL, {name}: {rates[-1][1]:,.0f} a second")
    (_, plain), ours = rates[-1], rates[:-1]
    rows: list[tuple[str, ...]] = []
    for name, rate in ours:
        bar, verdict = "—", "—"
        if name.endswith("rows"):
            held = section.hold(at_least("PostgreSQL, tails of 50 a second through one process", rate, 1_000))
            bar, verdict = held.bar, held.verdict
        rows.append((name, number(rate), number(plain), number(rate / plain), bar, verdict))
    caption = f"Tails a second: PostgreSQL, one process, {_THREADS} threads, random nodes of the zigzag tree"
    return Table(caption, ("what", "ours", "plain", "ratio", "bar", "verdict"), rows)


def _rate(ask: Question, spots: Sequence[Spot], seconds: float) -> float:
    done: list[int] = []

    def work(share: Sequence[Spot]) -> None:
        turn = itertools.cycle(share)
        done.append(counted(lambda: ask(next(turn)), seconds))

    took = in_threads([partial(work, spots[index::_THREADS]) for index in range(_THREADS)])
    return sum(done) / took
