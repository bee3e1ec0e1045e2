"""Jump pointers: where they lead, and how few steps they need."""

import math

from tests.covers import covers

from weft.tree.tree import jump_depth


def test_a_jump_follows_the_skew_binary_rule():
    jumps = [0]
    for depth in range(1, 3000):
        parent = depth - 1
        target = jumps[parent]
        jumps.append(jumps[target] if parent - target == target - jumps[target] else parent)
    assert [jump_depth(depth) for depth in range(3000)] == jumps


@covers("cost.head-in-log-depth")
def test_any_ancestor_is_a_logarithm_of_steps_away():
    for depth in (1, 10, 999, 1000, 65_535, 65_536, 99_999, 100_000):
        for wanted in {0, 1, depth // 3, depth // 2, depth - 1}:
            at, steps = depth, 0
            while at > wanted:
                at = jump_depth(at) if jump_depth(at) >= wanted else at - 1
                steps += 1
            assert at == wanted
            assert steps <= 3 * math.log2(depth + 2)
