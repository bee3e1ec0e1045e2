"""Deep trees: a bounded number of queries and bounded work, whatever the depth and the shape."""

import sys

import pytest
from sqlalchemy import select, text
from tests.covers import covers
from tests.growing import grow
from tests.statements import statements

import weft
from weft.runtime.contexts.options import ContextOptions
from weft.runtime.operations.node_values import heading_of, node_values
from weft.store import schema
from weft.store.path_queries import (
    _head_to,
    _tail_to,
    ancestor_at_depth,
    head_to,
    instructing,
    tail_to,
    walk_up,
)
from weft.store.sqlite import SqliteStore
from weft.store.sqlite_dialect import driver_of
from weft.store.tree_queries import children, node_row, origins_of, versions_at

DEPTH = 100_000

pytestmark = pytest.mark.xdist_group("deep")
"""Its trees take long to grow: once is enough."""


class Deep:
    """A grove with deep trees in it: {(depth, zigzag): (tree id, leaf id)}."""

    def __init__(self, grove: weft.Grove) -> None:
        self.grove = grove
        self.store = grove.caller.executor.store
        self.places: dict[tuple[int, bool], tuple[str, str]] = {}
        for depth in (1_000, DEPTH):
            for zigzag in (False, True):
                tree = grove.plant(f"{depth} {zigzag}")
                with self.store.read() as session:
                    trees = schema.trees
                    key = session.execute(select(trees.c.key).where(trees.c.ulid == tree.id)).scalar_one()
                    root = node_row(session, key, 1)
                leaf = grow(self.store, key, root, depth, zigzag=zigzag)
                self.places[depth, zigzag] = tree.id, leaf.ulid

    def engine(self):
        return self.store._file._readers if isinstance(self.store, SqliteStore) else self.store._engine


@pytest.fixture(scope="module")
def deep(loom) -> Deep:
    return Deep(loom)


def queries_of(deep: Deep, action) -> int:
    """What this thread asks; others index meanwhile."""
    with statements(deep.store, mine=True) as said:
        action()
    return len(said)


@covers(
    "cost.path-queries-bounded",
    "cost.head-in-log-depth",
    "cost.flat-in-depth",
    "path.root-to-node",
    "path.siblings-and-leaves",
)
@pytest.mark.long
@pytest.mark.parametrize("zigzag", [False, True], ids=["straight", "zigzag"])
def test_looking_at_a_deep_node_takes_as_many_queries_as_at_a_shallow_one(deep, zigzag):
    read = deep.grove.read
    limit = sys.getrecursionlimit()
    counts = {}
    sys.setrecursionlimit(250)
    try:
        for depth in (1_000, DEPTH):
            tree, leaf = deep.places[depth, zigzag]
            looks = {
                "tail": lambda tree=tree, leaf=leaf: read.path(tree, leaf, tail=50),
                "head": lambda tree=tree, leaf=leaf: read.path(tree, leaf, head=50),
                "children": lambda tree=tree, leaf=leaf: read.children(tree, leaf),
                "siblings": lambda tree=tree, leaf=leaf: read.siblings(tree, leaf),
                "node": lambda tree=tree, leaf=leaf: read.node(tree, leaf),
                "context": lambda tree=tree, leaf=leaf: _context(deep, tree, leaf),
                "stepped context": lambda tree=tree, leaf=leaf: _context(deep, tree, leaf, step=0.25),
            }
            for name, look in looks.items():
                counts.setdefault(name, []).append(queries_of(deep, look))
    finally:
        sys.setrecursionlimit(limit)
    for name, numbers in counts.items():
        assert len(set(numbers)) == 1, (name, numbers)
        assert numbers[0] <= (30 if "context" in name else 14), (name, numbers)


def _context(deep, tree, leaf, **options):
    deep.grove.caller.executor.contents.clear()
    found = deep.grove.contexts.at(tree, leaf, ContextOptions(**{"limit": 400, **options}))
    assert found.tokens <= 400
    assert found.removed_nodes > 900


@covers("path.root-to-node")
@pytest.mark.long
@pytest.mark.parametrize("zigzag", [False, True], ids=["straight", "zigzag"])
def test_head_and_tail_are_the_ends_of_the_path(deep, zigzag):
    read = deep.grove.read
    tree, leaf = deep.places[DEPTH, zigzag]
    found = []
    assert queries_of(deep, lambda: found.append(read.path(tree, leaf))) <= 14
    (path,) = found
    assert [node.depth for node in path] == list(range(DEPTH + 1))
    assert [node.id for node in read.path(tree, leaf, head=50)] == [node.id for node in path[:50]]
    assert [node.id for node in read.path(tree, leaf, tail=50)] == [node.id for node in path[-50:]]
    assert path[-1].id == leaf
    assert read.path(tree, leaf, head=0).nodes == read.path(tree, leaf, tail=0).nodes == ()
    assert len(read.path(tree, leaf, head=DEPTH + 5)) == DEPTH + 1


@covers("cost.path-work-flat-in-depth", "cost.flat-in-depth")
@pytest.mark.long
@pytest.mark.parametrize("analysed", [False, True], ids=["as made", "after ANALYZE"])
@pytest.mark.parametrize("zigzag", [False, True], ids=["straight", "zigzag"])
def test_the_work_does_not_grow_with_the_depth(deep, zigzag, analysed):
    """Counted in steps of SQLite's machine, and in rows and pages PostgreSQL's plans touch."""
    if isinstance(deep.store, SqliteStore):
        if analysed:
            deep.store.write(lambda transaction: transaction.execute(text("ANALYZE")))
        shallow, steep = (_sqlite_steps(deep, *deep.places[depth, zigzag]) for depth in (1_000, DEPTH))
    else:
        if analysed:
            deep.store.write(lambda transaction: transaction.execute(text("ANALYZE")))
        shallow, steep = (_postgres_buffers(deep, *deep.places[depth, zigzag]) for depth in (1_000, DEPTH))
    assert steep["tail"] <= 1.5 * shallow["tail"] + 50
    # The head adds O(log depth) steps to its fifty.
    assert steep["head"] <= 1.5 * shallow["head"] + 500
    assert steep["context"] <= 1.5 * shallow["context"] + 500


def _place(session, tree, leaf):
    trees, nodes = schema.trees, schema.nodes
    key = session.execute(select(trees.c.key).where(trees.c.ulid == tree)).scalar_one()
    row = session.execute(select(nodes.c.position).where(nodes.c.tree == key, nodes.c.ulid == leaf)).one()
    return key, row.position


def _sqlite_steps(deep, tree, leaf):
    """Thousands of virtual machine instructions are reported by the progress handler, one by one."""
    with deep.store.read() as session:
        key, position = _place(session, tree, leaf)
        driver = driver_of(session._connection)
        found = {}
        for name in ("tail", "head", "context"):
            steps = [0]

            def count(steps=steps):
                steps[0] += 1

            driver.set_progress_handler(count, 10)
            try:
                if name == "context":
                    _read_ends(session, key, position)
                    continue
                start = position if name == "tail" else ancestor_at_depth(session, key, position, 49)
                assert (
                    len(node_values(session, key, walk_up(session, key, start, 50), heading_of(session, key)))
                    == 50
                )
                assert len(children(session, key, start)) <= 3
                assert versions_at(session, key, [start]) == {}
                assert [row.key for row, _ in origins_of(session, key, start)] == [start]
            finally:
                driver.set_progress_handler(None, 0)
                found[name] = steps[0]
        return found


def _read_ends(session, key, position):
    """What planning a context reads of a path."""
    end = node_row(session, key, position)
    rows = tail_to(session, key, position, floor=end.ruler - 200, least=5, limit=1_000)
    assert 5 <= len(rows) < 200
    rows = head_to(session, key, position, 200)
    assert [row.depth for row in rows] == list(range(len(rows)))
    assert rows[-2].ruler <= 200 < rows[-1].ruler
    assert len(rows) < 200
    assert instructing(session, key, position) == []


def _postgres_buffers(deep, tree, leaf):
    from sqlalchemy.dialects import postgresql

    from weft.store.tree_statements import ANCESTOR_AT_DEPTH, TAIL

    with deep.store.read() as session:
        key, position = _place(session, tree, leaf)
        top = ancestor_at_depth(session, key, position, 49)
        found = {}
        end = node_row(session, key, position)
        near = {"floor": end.ruler - 200, "least": 5, "limit": 1_000}
        far = {"amount": 200, "limit": 1_000}
        for name, statement, values in (
            ("near end", _tail_to(), {"in_tree": key, "at_position": position, **near}),
            ("far end", _head_to(), {"in_tree": key, "at_position": position, **far}),
            ("tail", TAIL, {"in_tree": key, "at_position": position, "limit": 50}),
            ("head", ANCESTOR_AT_DEPTH, {"in_tree": key, "at_position": position, "at_depth": 49}),
        ):
            compiled = str(
                statement.params(**values).compile(
                    dialect=postgresql.dialect(), compile_kwargs={"literal_binds": True}
                )
            )
            plan = session.execute(text("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + compiled)).scalar_one()
            top_node = plan[0]["Plan"]
            found[name] = top_node["Shared Hit Blocks"] + top_node["Shared Read Blocks"]
        assert top
        return {**found, "context": found["near end"] + found["far end"]}
