"""Statements handed to the driver as they are: compiled once, never piling up."""

from weft.store.session import CompiledStatement


def test_writing_on_and_on_prepares_nothing_new(loom):
    tree = loom.plant("Marie")
    for number in range(3):
        tree.say(str(number))
    before = len(CompiledStatement._known)
    for number in range(20):
        tree.say(str(number))
    assert len(CompiledStatement._known) == before
