"""Events without their inverse, as another program may have written them: undone or refused, never a crash."""

import pytest
from sqlalchemy import select, update
from tests.covers import covers
from tests.snapshot import snapshot
from tests.undo.scenes import PLAYS, Case, Scene

from weft.errors import ConflictError
from weft.store import schema
from weft.tree.tree import Mode

pytestmark = pytest.mark.long

EVENTS = schema.events


@pytest.fixture(scope="module")
def scenes(loom):
    set_up = {mode: Scene(loom, mode, number) for number, mode in enumerate(Mode)}
    for scene in set_up.values():
        scene.begin()
    return set_up


def last_event(loom, chain):
    with loom.caller.executor.store.read() as session:
        own = select(EVENTS).where(EVENTS.c.tree == chain).order_by(EVENTS.c.ordinal.desc()).limit(1)
        return session.execute(own).one()


def rewrite(loom, event, inverse):
    here = EVENTS.c.tree == event.tree, EVENTS.c.ordinal == event.ordinal
    loom.caller.executor.store.write(
        lambda transaction: transaction.execute(update(EVENTS).where(*here).values(inverse=inverse))
    )


@covers("op.undo-conflict")
@pytest.mark.parametrize(("case", "mode"), PLAYS, ids=[f"{c.kind.__name__} {c.name} {m}" for c, m in PLAYS])
def test_an_operation_recorded_without_its_inverse_is_undone_or_refused(loom, scenes, case: Case, mode: Mode):
    scene = scenes[mode]
    if case.before is not None:
        case.before(scene)
    loom.perform(case.act(scene))
    event = last_event(loom, 0 if case.in_grove else scene.key)
    before = snapshot(loom, scene.id, "human", "mira")
    rewrite(loom, event, "{}")
    handle = loom if case.in_grove else scene.tree
    try:
        handle.undo()
    except ConflictError as error:
        assert "was recorded without" in error.message  # noqa: PT017 - undoing it is fine too
        assert snapshot(loom, scene.id, "human", "mira") == before
    else:
        handle.redo()
    rewrite(loom, event, event.inverse)
    handle.undo()
    undone = last_event(loom, event.tree)
    before = snapshot(loom, scene.id, "human", "mira")
    rewrite(loom, undone, "{}")
    try:
        handle.redo()
    except ConflictError as error:
        assert "was recorded without" in error.message  # noqa: PT017 - as above
        assert snapshot(loom, scene.id, "human", "mira") == before
    scene.rewind()
