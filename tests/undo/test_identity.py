"""Every operation is taken back and done again, and nothing is left of either step but history."""

import importlib
import inspect
import pkgutil

import pytest
from tests.attempts import RecordAttempt
from tests.covers import covers
from tests.snapshot import snapshot
from tests.soundness import check_sound
from tests.undo.scenes import CASES, PLAYS, Case, Scene

from weft.runtime import operations
from weft.runtime.evidence.timestamps import Certify, RequestTimestamp, SetAuthorities
from weft.runtime.operations.access import AddToken, AddUser, ArchiveUser, RevokeToken, SetRole
from weft.runtime.operations.agent_memory import KeepThought, RecallStash
from weft.runtime.operations.approvals import AllowApproval, AskApproval, CloseApproval, DenyApproval
from weft.runtime.operations.documents import DeleteDocument
from weft.runtime.operations.envelopes import KeepEnvelope, ReportCached
from weft.runtime.operations.grants import Grant
from weft.runtime.operations.settings import Calibrate
from weft.runtime.operations.tool_results import KeepResult
from weft.runtime.operations.trees import DeleteTree
from weft.runtime.records.group_index import ForgetGroups, IndexGroups, OpenGroup
from weft.runtime.records.streams import DeleteRecords
from weft.runtime.undo.undo import Redo, Undo
from weft.tree.attempt import AttemptOutcome
from weft.tree.tree import Mode

NOT_UNDOABLE = {DeleteTree, DeleteDocument, DeleteRecords, Undo, Redo} | {
    KeepEnvelope,
    KeepResult,
    ReportCached,
    RequestTimestamp,
    Certify,
    SetAuthorities,
    Calibrate,
    *(KeepThought, RecallStash),
    *(AddUser, ArchiveUser, SetRole, AddToken, RevokeToken),
    *(IndexGroups, OpenGroup, ForgetGroups),
    *(AskApproval, AllowApproval, DenyApproval, CloseApproval, Grant),
}
"""Deleting destroys for good; a step is not itself stepped over; evidence is, and stays; so do doors.

An index is made again by indexing again; what a person allowed has been done, and a grant is revoked.
"""


def all_operations():
    """Every class in the operations' modules that can be performed."""
    names = [f"{operations.__name__}.{found.name}" for found in pkgutil.iter_modules(operations.__path__)]
    others = [each.__module__ for each in (Undo, SetAuthorities, IndexGroups, DeleteRecords)]
    for module in map(importlib.import_module, [*names, *others]):
        for name, each in inspect.getmembers(module, inspect.isclass):
            if each.__module__ == module.__name__ and hasattr(each, "apply") and not name.startswith("_"):
                yield each


@covers("op.undo-every-operation")
def test_every_operation_is_tried_here_or_known_to_be_final():
    known = {case.kind for case in CASES} | NOT_UNDOABLE
    everything = {each for each in all_operations() if not getattr(each, "_is_protocol", False)}
    assert everything == known


@pytest.fixture(scope="module")
def scenes(loom):
    """One scene for each mode; every test leaves it as it was."""
    set_up = {mode: Scene(loom, mode, number) for number, mode in enumerate(Mode)}
    for scene in set_up.values():
        scene.begin()
    return set_up


@covers("op.undo-every-operation", "op.undo-hides-creations", "proof.undo-is-identity")
@pytest.mark.parametrize(("case", "mode"), PLAYS, ids=[f"{c.kind.__name__} {c.name} {m}" for c, m in PLAYS])
@pytest.mark.long
def test_undo_takes_back_exactly_what_was_done_and_redo_does_it_again(loom, scenes, case: Case, mode: Mode):
    scene = scenes[mode]
    if case.before is not None:
        case.before(scene)
    handle = loom if case.in_grove else scene.tree
    before = snapshot(loom, scene.id, "human", "mira")
    loom.perform(case.act(scene))
    after = snapshot(loom, scene.id, "human")
    assert after != before
    handle.undo()
    assert snapshot(loom, scene.id, "human", "mira") == before
    handle.redo()
    assert snapshot(loom, scene.id, "human") == after
    scene.rewind()


@covers("proof.undo-is-identity")
def test_a_grove_in_which_everything_was_undone_is_sound(loom, scenes):
    check_sound(loom)
    for scene in scenes.values():
        counters = scene.tree.refresh().counters
        assert (counters.nodes, counters.branches, counters.depth) == (6, 2, 3)


@covers("op.undo-and-redo-own")
def test_evidence_of_a_call_is_passed_over_and_stays(fresh_loom):
    fresh_loom.add_agent("poet", model_ref="test:model")
    tree = fresh_loom.plant("Marie")
    said = tree.say("Why?")
    fresh_loom.perform(
        RecordAttempt(
            tree=tree.id, parent=said.id, agent="poet", outcome=AttemptOutcome.FAILED, segments=[b"{}"]
        )
    )
    assert [step.kind for step in tree.undo()] == ["append"]
    check_sound(fresh_loom)
    assert [step.kind for step in tree.redo()] == ["append"]
