"""Searching: how fast the index is made, what it costs writers, and how long a query takes."""

import random
from collections.abc import Sequence
from functools import partial

from sqlalchemy import text
from tests.growing import grow

import weft
from bench.crowd import in_threads
from bench.report import Section, Table, number
from bench.scene import STORES, Scene, place_of, sample_texts
from bench.timing import medians, seconds_of
from weft.grove.tree import TreeHandle
from weft.runtime.search.indexer import follow_index, reindex
from weft.store.base import Store
from weft.store.transaction import Transaction

__all__ = ["run"]

_WRITERS = 16
_VOCABULARY = 20_000
_QUERIES = (
    ("a rare word (1 node in 1,000)", "rareword", "%rareword%"),
    ("a common word (every second node)", "common", "%common%"),
    ("both", "common rareword", "%rareword%"),
    ("a phrase", '"common rareword"', "%common rareword%"),
)


def run(scene: Scene) -> Section:
    sizes = [scene.size(1_000, 100), scene.size(10_000, 500), scene.size(100_000, 2_000)]
    section = Section(
        "Searching",
        "One tree with texts of 35 words. Indexing: the whole index made anew. Searching: from the query to 20 "
        "hits with snippets, index checked for news first; the peer is a scan with `LIKE '%…%'` that ranks and "
        "shows nothing. Writing: nodes a second with and without the thread that follows them.",
    )
    indexing: list[tuple[str, ...]] = []
    asking: list[tuple[str, ...]] = []
    writing: list[tuple[str, ...]] = []
    for store in STORES:
        for size in sizes:
            scene.say(f"  {store}, {size:,} nodes")
            with scene.grove(store) as grove:
                _fill(grove, size)
                took = seconds_of(partial(reindex, grove.read.store))
                indexing.append((f"{store}, {size:,} nodes", number(took), number(size / took)))
                for what, query, pattern in _QUERIES:
                    runs = [partial(grove.search, query), partial(_scan, grove.read.store, pattern)]
                    found, scanned = (
                        1000 * (taken or 0.0) for taken in medians(runs, budget=scene.size(2, 1), most=40)
                    )
                    row = f"{store}, {size:,} nodes: {what}", number(found), number(scanned)
                    asking.append((*row, number(scanned / found)))
        writing.append(_writing(scene, store))
    section.tables.append(Table("Making the index", ("", "seconds", "nodes/s"), indexing))
    section.tables.append(
        Table("Asking", ("milliseconds", "search", "peer: LIKE scan", "times faster"), asking)
    )
    section.tables.append(Table("Writing", ("nodes/s", "not indexed", "indexed meanwhile", "ratio"), writing))
    return section


def _fill(grove: weft.Grove, size: int) -> None:
    store = grove.read.store
    tree = grove.plant("Bench")
    follow_index(store).stop()
    key, root = place_of(store, tree)
    grow(store, key, root, size)
    chance = random.Random(3)
    words = [
        "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=3 + rank % 7)) for rank in range(_VOCABULARY)
    ]

    def vary(transaction: Transaction) -> None:
        rows: list[dict[str, object]] = []
        for node in range(2, size + 2):
            chosen = [words[min(_VOCABULARY - 1, int(chance.expovariate(1 / 800)))] for _ in range(35)]
            chosen += ["common"] if node % 2 == 0 else []
            chosen += ["rareword"] if node % 1000 == 0 or node == 50 else []
            rows.append({"node": node, "content": " ".join(chosen)})
        statement = text(f"UPDATE texts SET content = :content WHERE tree = {key} AND node = :node")
        transaction.execute_many(statement, rows)

    store.write(vary)


def _scan(store: Store, pattern: str) -> None:
    with store.read() as session:
        statement = text("SELECT node FROM texts WHERE content LIKE :pattern ORDER BY node DESC LIMIT 20")
        everything = text("SELECT count(*) FROM texts WHERE content LIKE :pattern")
        session.execute(everything, {"pattern": pattern}).scalar_one()
        session.execute(statement, {"pattern": pattern}).all()


def _writing(scene: Scene, store: str) -> tuple[str, ...]:
    """The same nodes by the same threads; in one of the two runs nobody is woken to index them."""
    count = scene.size(4_000, 400)
    rates: list[float] = []
    for indexed in (False, True):
        with scene.grove(store) as grove:
            if not indexed:
                follow_index(grove.read.store).stop()
            texts = sample_texts(count)
            trees = [grove.plant(f"Bench {writer}") for writer in range(_WRITERS)]
            works = [partial(_say_all, tree, texts[writer::_WRITERS]) for writer, tree in enumerate(trees)]
            rates.append(count / in_threads(works))
    return store, *(number(rate) for rate in rates), number(rates[1] / rates[0])


def _say_all(tree: TreeHandle, texts: Sequence[str]) -> None:
    for words in texts:
        tree.say(words)
