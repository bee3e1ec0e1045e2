"""Opening a grove and listing its trees, with ten trees and with ten thousand."""

from collections.abc import Callable
from functools import partial

from sqlalchemy import func, select
from tests.growing import grow_forest

import weft
from bench.report import Section, Table, number
from bench.scene import STORES, Scene
from bench.timing import medians
from weft.runtime.operations.permissions import agent_row
from weft.store import schema
from weft.store.lookup import find_agent

__all__ = ["run"]

_FEW = 10
_NODES = 10


def run(scene: Scene) -> Section:
    many = scene.size(10_000, 1_000)
    section = Section(
        "A grove with many trees",
        f"`weft.open` and the list of trees, {_FEW} trees against {many:,} ({_NODES} nodes each), in a process "
        "that has opened groves before. The peer lists the same rows but counts nodes and depth in the table "
        "of nodes, as it must where no counters are kept.",
    )
    rows: list[tuple[str, ...]] = []
    for store in STORES:
        scene.say(f"  {store}")
        with scene.address(store) as small, scene.address(store) as large:
            _fill(small, _FEW)
            _fill(large, many)
            for what, look in _LOOKS:
                runs = [partial(look, small), partial(look, large)]
                few, lots = (taken or 0.0 for taken in medians(runs, budget=scene.size(3, 1), most=60))
                figures = number(1000 * few), number(1000 * lots), number(lots / few)
                rows.append((f"{store}: {what}", *figures))
    header = ("ms", f"{_FEW} trees", f"{many:,} trees", "ratio")
    section.tables.append(Table("Opening and listing", header, rows))
    return section


def _fill(address: str, trees: int) -> None:
    with weft.open(address) as grove:
        store = grove.read.store
        with store.read() as session:
            author = agent_row(session, find_agent(session, grove.me.id))
        grow_forest(store, author, trees, nodes=_NODES)


def _open(address: str) -> None:
    weft.open(address).close()


def _list_latest(address: str) -> None:
    with weft.open(address) as grove:
        grove.read.trees(limit=50)


def _list_all(address: str) -> None:
    with weft.open(address) as grove:
        grove.trees()


def _list_rows(address: str) -> None:
    trees = schema.trees
    columns = trees.c.ulid, trees.c.title, trees.c.updated_at, trees.c.nodes, trees.c.depth
    with weft.open(address) as grove, grove.read.store.read() as session:
        session.execute(select(*columns).order_by(trees.c.updated_at.desc())).all()


def _list_counting(address: str) -> None:
    trees, nodes = schema.trees, schema.nodes
    counted = (
        select(nodes.c.tree, func.count().label("nodes"), func.max(nodes.c.depth).label("depth"))
        .where(nodes.c.pruned.is_(None), nodes.c.hidden.is_(None))
        .group_by(nodes.c.tree)
        .subquery()
    )
    statement = (
        select(trees.c.ulid, trees.c.title, trees.c.updated_at, counted.c.nodes, counted.c.depth)
        .join(counted, counted.c.tree == trees.c.key)
        .order_by(trees.c.updated_at.desc())
    )
    with weft.open(address) as grove, grove.read.store.read() as session:
        session.execute(statement).all()


_LOOKS: tuple[tuple[str, Callable[[str], None]], ...] = (
    ("open", _open),
    ("open, list the 50 latest", _list_latest),
    ("open, list all", _list_all),
    ("open, list all as rows", _list_rows),
    ("peer: open, list all as rows, counting", _list_counting),
)
