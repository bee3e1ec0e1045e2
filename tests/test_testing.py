"""What Weft ships for its users' own tests."""

from pathlib import Path

import pytest
from tests.covers import covers

import weft
from weft import testing


@covers("testing.throwaway-grove")
@pytest.mark.long
def test_the_same_things_happen_in_every_run():
    def play(seed=0):
        with testing.grove(seed=seed) as loom:
            tree = loom.plant("Marie")
            node = tree.say("Why?").edit("Why now?")
            return tree.id, node.local_id, node.value.content_hash, node.value.created_at

    assert play() == play()
    assert play(1) != play(2)


@pytest.mark.outer
@covers("testing.throwaway-grove")
def test_a_thrown_away_grove_leaves_nothing():
    with testing.grove() as loom:
        assert isinstance(loom, weft.Grove)
        loom.plant("Marie").say("Why?")
        folder = Path(loom.name).parent
        assert folder.is_dir()
    assert not folder.exists()


@pytest.mark.outer
@covers("testing.throwaway-grove")
def test_time_passes_when_it_is_told_to():
    clock = testing.SteppingClock()
    with testing.grove(clock=clock) as loom:
        tree = loom.plant("Marie")
        first = tree.say("1")
        clock.pass_by(seconds=3_600)
        assert (tree.say("2").value.created_at - first.value.created_at).total_seconds() >= 3_600
