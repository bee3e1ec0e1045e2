"""A permission that a collaborator lacks: granted by an owner for one command, or for one tree."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.collaboration.stage import MUSE, run, workshop
from tests.covers import covers

import weft
from weft.tree.agent import Permission

AWARE = (Permission.LOOM_AWARE,)
SCRIPT = ["→ bookmark .", "Done.", "→ bookmark .", "Done."]


def decided(grove, tree, decide):
    """A run whose command lacks a permission, and a person who decides meanwhile."""
    with grove.follow(after="now", timeout=60) as live:
        runs = []
        thread = threading.Thread(
            target=lambda: runs.append(run(grove, tree, approval_seconds=3_600).result())
        )
        thread.start()
        event = next(each for each in live if each.kind == "ask-approval")
        decide(event.payload["approval"])
        thread.join(60)
    return runs[0].results[0]


@covers("permission.granted-once")
def test_an_owner_grants_a_missing_permission_for_one_command(address):
    with workshop(address, list(SCRIPT), permissions=AWARE) as (grove, tree, _):

        def allow(request):
            asked = grove.approvals[request]
            assert (asked.subject, asked.name, asked.agent) == ("permission", "loom_write", MUSE)
            assert asked.arguments == {"command": "bookmark ."}
            grove.approvals.allow(request)

        assert decided(grove, tree, allow).ok
        again = run(grove, tree).result().results[0]
        assert (again.ok, again.error.code) == (False, "PERMISSION_DENIED")
        assert grove.approvals.grants(tree) == []


@covers("permission.granted-in-tree")
def test_an_owner_grants_a_missing_permission_for_one_tree(address):
    script = ["→ bookmark .", "Done.", "→ bookmark .", "Done.", "→ bookmark .", "Done."]
    with workshop(address, script, permissions=AWARE) as (grove, tree, _):
        assert decided(grove, tree, lambda request: grove.approvals.allow(request, in_tree=True)).ok
        assert run(grove, tree).result().results[0].ok
        other = grove.plant("Other")
        assert not run(grove, other).result().results[0].ok
        assert grove.agent(MUSE).value.permissions == set(AWARE)


@covers("permission.granted-once")
@pytest.mark.parametrize("seconds", [None, 0])
def test_where_no_person_is_present_or_one_denies_the_command_is_refused(address, seconds):
    with workshop(address, list(SCRIPT), permissions=AWARE) as (grove, tree, _):
        refused = run(grove, tree, approval_seconds=seconds).result().results[0]
        assert refused.error.code == "PERMISSION_DENIED"
        assert not decided(grove, tree, grove.approvals.deny).ok


@covers("permission.granted-in-tree")
def test_grants_at_once_in_many_trees_are_all_kept_and_no_file_brings_one(address, tmp_path):
    with workshop(address, [], permissions=AWARE) as (grove, *_):
        trees = [grove.plant(f"Tree {number}") for number in range(6)]
        with ThreadPoolExecutor(6) as many:
            list(many.map(lambda each: grove.approvals.grant(each, MUSE, permission="loom_write"), trees))
        assert [len(grove.approvals.grants(each)) for each in trees] == [1] * 6
        assert grove.verify().findings == ()
        grove.export(tmp_path / "out.json", [trees[0]])
    with weft.open(str(tmp_path / "other.db")) as other:
        other.plant("Mine")
        other.import_(tmp_path / "out.json")
        assert [other.approvals.grants(each) for each in other.trees()] == [[], []]
