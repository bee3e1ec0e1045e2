"""The one list of event kinds: complete, without kinds that no operation records, each reversible or not."""

import ast
from pathlib import Path

import pytest
from tests.covers import covers

import weft
from weft.runtime.undo.registry import REVERSALS
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.event_kinds import CREATING_KINDS, EVIDENCE_KINDS, LISTING_KINDS, STEP_KINDS, EventKind, Trait

SOURCE = Path(weft.__file__).parent
SHARED = {f"{done}-{what}" for done in ("archive", "restore") for what in ("document", "project", "agent")}
"""Kinds whose word is put together: one function archives and restores documents, projects and agents."""


def words_in(node):
    return {
        each.value
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    }


def recorded_words():
    """All words that operations give to `scope.record`, as literals or as their verb."""
    words, verbs = set(), set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "verb" and node.value:
                verbs |= words_in(node.value)
            if isinstance(node, ast.ClassDef):
                verbs |= {
                    word for each in node.keywords if each.arg == "verb" for word in words_in(each.value)
                }
            if isinstance(node, ast.Assign) and any(
                getattr(each, "id", "") == "kind" for each in node.targets
            ):
                verbs |= words_in(node.value)
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "attr", "") == "record"
                and len(node.args) == 4
            ):
                words |= words_in(node.args[1])
    return words, verbs


@covers("event.one-list-of-kinds")
@pytest.mark.outer
def test_every_kind_that_an_operation_records_is_declared_and_every_declared_kind_is_recorded():
    words, verbs = recorded_words()
    declared = {kind.value for kind in EventKind}
    assert words <= declared
    assert declared <= words | verbs | SHARED


@covers("event.one-list-of-kinds")
def test_a_kind_that_is_not_declared_cannot_be_recorded(loom):
    class Unknown:
        verb = "improvise"
        permission = Permission.LOOM_WRITE
        access = MemberRole.EDITOR

        def apply(self, scope):
            scope.open_grove()
            scope.record(None, self.verb, {}, {})

    with pytest.raises(ValueError, match="'improvise' is not a valid EventKind"):
        loom.perform(Unknown())


@covers("event.one-list-of-kinds")
@pytest.mark.parametrize("kind", EventKind)
def test_a_kind_has_a_reversal_or_says_why_it_has_none(kind):
    reasons = [
        kind.final is not None,
        Trait.EVIDENCE in kind.traits,
        Trait.STEP in kind.traits,
        Trait.BEGINNING in kind.traits,
    ]
    assert sum(reasons) == (0 if kind in REVERSALS else 1)
    assert kind.is_reversible == (kind in REVERSALS)


def test_the_groups_of_kinds_are_told_by_their_words():
    assert {"undo", "redo"} == STEP_KINDS
    assert {"plant", "switch", "generate"} <= CREATING_KINDS
    assert {"attempt", "summarise"} <= EVIDENCE_KINDS
    assert {"archive-document", "restore-document"} <= LISTING_KINDS
    assert EventKind.of("append") is EventKind.APPEND
    assert EventKind.of("improvise") is None
