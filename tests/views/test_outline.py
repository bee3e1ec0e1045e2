"""The outline of a tree: whole levels from the top, in a fixed number of queries."""

import random

import pytest
from tests.covers import covers
from tests.statements import statements


@pytest.mark.parametrize("limit", [1, 4, 9, 17, 40, 100])
@covers("outline.counts-what-is-not-drawn")
def test_an_outline_has_whole_levels_until_the_limit_and_counts_the_rest(loom, limit):
    chance = random.Random(7)
    tree = loom.plant(f"Levels {limit}")
    levels = [[tree.root]]
    nodes = [tree.root]
    for number in range(40):
        parent = chance.choice(nodes[-12:])
        node = parent.say(f"node {number}")
        nodes.append(node)
        if node.depth == len(levels):
            levels.append([])
        levels[node.depth].append(node)
    expected, rest = set(), list(levels)
    while rest and len(expected) < limit:
        expected |= {node.id for node in rest.pop(0)}
    rows = loom.read.outline(tree.id, limit=limit)
    assert {row.node.id for row in rows} == expected
    assert sum(row.hidden_below for row in rows) == len(nodes) - len(expected)


def test_drawing_a_deep_tree_takes_as_many_queries_as_a_flat_one(loom):
    counts = []
    for deep in (False, True):
        tree = loom.plant(f"Shape {deep}")
        node = tree.root
        for number in range(60):
            said = node.say(f"{number}")
            node = said if deep else node
        with statements(loom.caller.store, mine=True) as sent:
            assert len(loom.read.outline(tree.id)) == 61
        counts.append(len(sent))
    assert counts[0] == counts[1]
