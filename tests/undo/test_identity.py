"""Every operation is taken back and done again, and nothing is left of either step but history."""

import importlib
import inspect
import itertools
import pkgutil

import pytest
from tests.covers import covers
from tests.snapshot import snapshot
from tests.soundness import check_sound
from tests.undo.scenes import CASES, PLAYS, Case, Scene

from weft.runtime import operations
from weft.runtime.operations.documents import DeleteDocument
from weft.runtime.operations.history import Redo, Undo
from weft.runtime.operations.trees import DeleteTree
from weft.store import schema
from weft.tree.tree import Mode

NOT_UNDOABLE = {DeleteTree, DeleteDocument, Undo, Redo}
"""Deleting destroys for good; a step is not itself stepped over."""

numbers = itertools.count(1)


def all_operations():
    """Every class in the operations' modules that can be performed."""
    for found in pkgutil.iter_modules(operations.__path__):
        module = importlib.import_module(f"{operations.__name__}.{found.name}")
        for name, each in inspect.getmembers(module, inspect.isclass):
            if each.__module__ == module.__name__ and hasattr(each, "apply") and not name.startswith("_"):
                yield each


@covers("op.undo-every-operation")
def test_every_operation_is_tried_here_or_known_to_be_final():
    known = {case.kind for case in CASES} | NOT_UNDOABLE
    everything = {each for each in all_operations() if not getattr(each, "_is_protocol", False)}
    assert everything == known


@covers("op.undo-every-operation", "op.undo-hides-creations", "proof.undo-is-identity")
@pytest.mark.parametrize(("case", "mode"), PLAYS, ids=[f"{c.kind.__name__} {c.name} {m}" for c, m in PLAYS])
def test_undo_takes_back_exactly_what_was_done_and_redo_does_it_again(loom, case: Case, mode: Mode):
    scene = Scene(loom, mode, next(numbers))
    if case.before is not None:
        case.before(scene)
    try:
        step_back_and_forth(loom, scene, case)
        check_sound(loom)
    finally:
        scene.clear()


def step_back_and_forth(loom, scene: Scene, case: Case) -> None:
    handle = loom if case.in_grove else scene.tree
    before = snapshot(loom, "human", "mira")
    loom.perform(case.act(scene))
    after = snapshot(loom, "human", "mira")
    assert after != before
    handle.undo()
    assert snapshot(loom, "human", "mira") == before
    handle.redo()
    assert snapshot(loom, "human", "mira") == after
    handle.undo()
    assert snapshot(loom) == {name: rows for name, rows in before.items() if name in schema.metadata.tables}
