"""A path read from both ends: what lies between is not read, and is accounted for all the same."""

import pytest
from sqlalchemy import select, update
from tests.covers import covers
from tests.growing import grow

from weft.context.manifest import Outcome
from weft.context.rows import Reason
from weft.store import schema
from weft.store.lookup import find_tree
from weft.store.rows import Flag
from weft.store.tree_queries import node_row


@covers("fit.removed-is-what-the-cut-removed")
@pytest.mark.parametrize(
    ("levels", "every", "strategy"),
    [(2_400, 3, "truncateMiddle"), (2_400, 3, "rollingWindow"), (9_000, 15, "truncateMiddle")],
    ids=["many", "many at the end", "few on a long path"],
)
def test_any_number_of_excluded_nodes_in_a_removed_range_keep_their_reason(loom, levels, every, strategy):
    tree, store, nodes = loom.plant("Long", "It begins."), loom.caller.store, schema.nodes
    with store.read() as session:
        key = find_tree(session, tree.id)
        root = node_row(session, key, 1)
    leaf = grow(store, key, root, levels)
    here = (nodes.c.tree == key) & (nodes.c.depth % every == 1) & (nodes.c.depth < levels - 100)
    exclude = update(nodes).where(here).values(flags=nodes.c.flags.op("|")(int(Flag.EXCLUDED)))
    store.write(lambda transaction: transaction.execute(exclude))
    with store.read() as session:
        excluded = set(session.execute(select(nodes.c.local_id).where(here)).scalars())
    context = tree.node(leaf.ulid).context(limit=400, strategy=strategy, estimator="chars/4")
    entries = [entry for entry in context.manifest if entry.position is not None]
    assert {entry.id for entry in entries if entry.reason == Reason.EXCLUDED} == excluded
    kept = [entry for entry in entries if entry.outcome in {Outcome.KEPT, Outcome.MERGED}]
    assert context.removed_nodes == levels + 1 - len(excluded) - len(kept)
