"""Statements handed to the driver as they are: compiled once, never piling up."""

from weft.store.prepared import Prepared


def test_writing_on_and_on_prepares_nothing_new(loom):
    tree = loom.plant("Marie")
    for number in range(3):
        tree.say(str(number))
    before = len(Prepared._known)
    for number in range(20):
        tree.say(str(number))
    assert len(Prepared._known) == before
