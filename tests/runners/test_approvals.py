"""A tool with effects waits for a person: on any face, in any process, within a limit."""

import threading

import pytest
from tests.covers import covers
from tests.runners.stage import staged
from tests.runners.test_agent import results_of
from tests.runners.workshop import calling, workshop
from tests.soundness import check_sound

import weft
from weft.errors import ConflictError, InvalidInputError, NotFoundError, PermissionDeniedError
from weft.grove.grove import open_grove
from weft.provenance.findings import Verdict
from weft.runtime.collaboration.run_events import Ending
from weft.runtime.runners.options import AskOptions
from weft.runtime.runners.run_events import ApprovalAsked
from weft.runtime.runners.service import Runners
from weft.server import ServerSettings
from weft.server.auth import Authenticator
from weft.testing import START, Reply, SteppingClock
from weft.tree.approval import ApprovalState


def rings_once(request, _):
    return "Done." if request.messages[-1].results else Reply(calls=(calling("ring", "9", loud=True),))


class Waiting:
    """An agent's turn whose tool waits for a person."""

    def __init__(self, stage, registry, *, seconds=3_600.0, **options):
        asked = AskOptions("Ring.", runner="agent", approval_seconds=seconds, **options)
        self.run = Runners(stage.grove.caller, registry).start(stage.tree.id, asked)
        self.events = []

    def approval(self):
        """What it waits for."""
        while (event := self.run.channel.get()) is not None:
            self.events.append(event)
            if isinstance(event, ApprovalAsked):
                return event.approval
        return None

    def finish(self):
        assert self.approval() is None
        self.run.wait()
        return self.events[-1]


def last_result(stage):
    return str(results_of(list(stage.tree.path)[-2])[0].content)


@covers("approval.waits", "approval.every-face")
def test_a_tool_waits_until_a_person_allows_it_once(address, tmp_path):
    with workshop() as shop, staged(address, tmp_path, rings_once) as stage:
        loom = stage.grove
        waiting = Waiting(stage, shop.registry)
        asked = waiting.approval()
        assert shop.done == []
        assert list(loom.approvals) == [asked] == loom.approvals.all(stage.tree)
        assert (asked.agent, asked.name, asked.arguments) == ("Teller", "ring", {"loud": True})
        assert (asked.node_id, asked.state) == (list(stage.tree.path)[1].id, "pending")
        allowed = loom.approvals.allow(asked)
        assert (allowed.state, allowed.decided_by) == ("allowed", loom.me.id)
        assert waiting.finish().reply.text == "Done."
        assert shop.done == ["ring"]
        assert list(loom.approvals) == []
        assert [each.state for each in loom.approvals.all(decided=True)] == ["allowed"]
        kinds = [entry.kind for entry in loom.read.history(stage.tree.id)]
        assert [kind for kind in kinds if "approval" in kind] == ["ask-approval", "decide-approval"]
        again = Waiting(stage, shop.registry)
        loom.approvals.deny(again.approval())
        again.finish()
        assert shop.done == ["ring"]
        assert "a person refused ring" in last_result(stage)
        assert loom.verify().verdict is Verdict.VALID
        check_sound(loom)


@covers("approval.in-tree")
def test_a_tool_that_is_allowed_in_a_tree_is_not_asked_for_again_there(file_address, tmp_path):
    with workshop() as shop, staged(file_address, tmp_path, rings_once) as stage:
        loom = stage.grove
        waiting = Waiting(stage, shop.registry)
        loom.approvals.allow(waiting.approval().id, in_tree=True)
        waiting.finish()
        Waiting(stage, shop.registry).finish()
        assert shop.done == ["ring", "ring"]
        [granted] = loom.approvals.grants(stage.tree)
        assert (granted.agent, granted.tools, granted.permissions) == ("Teller", ("ring",), ())
        elsewhere = loom.plant("Elsewhere")
        stage.tree, here = elsewhere, stage.tree
        other = Waiting(stage, shop.registry)
        loom.approvals.deny(other.approval())
        other.finish()
        stage.tree = here
        loom.tools.set_policy("ring", "deny")
        Waiting(stage, shop.registry).finish()
        assert shop.done == ["ring", "ring"]
        loom.tools.set_policy("ring", None)
        assert loom.approvals.grant(here, "Teller", tool="ring", allowed=False) == []
        with pytest.raises(NotFoundError, match="ring is not granted here"):
            loom.approvals.grant(here, "Teller", tool="ring", allowed=False)
        last = Waiting(stage, shop.registry)
        loom.approvals.deny(last.approval())
        last.finish()
        assert loom.verify().verdict is Verdict.VALID


@covers("approval.limit")
def test_where_no_person_decides_in_time_the_tool_is_refused_and_the_turn_goes_on(file_address, tmp_path):
    with workshop() as shop, staged(file_address, tmp_path, rings_once) as stage:
        waiting = Waiting(stage, shop.registry, seconds=0.000_5)
        asked = waiting.approval()
        assert waiting.finish().reply.text == "Done."
        assert shop.done == []
        assert "none decided within 0.0005 s" in last_result(stage)
        assert stage.grove.approvals[asked.id].state is ApprovalState.EXPIRED
        with pytest.raises(ConflictError, match="it is expired already"):
            stage.grove.approvals.allow(asked)


@covers("approval.no-person")
@pytest.mark.parametrize("options", [{"seconds": 0.0}, {"seconds": None}, {"unattended": True}])
def test_where_no_person_is_present_nothing_is_asked(file_address, tmp_path, options):
    with workshop() as shop, staged(file_address, tmp_path, rings_once) as stage:
        waiting = Waiting(stage, shop.registry, **options)
        assert waiting.finish().reply.text == "Done."
        assert "needs the approval of a person, and none is present" in last_result(stage)
        assert (shop.done, stage.grove.approvals.all(decided=True)) == ([], [])


@covers("approval.stopped")
def test_a_run_that_is_stopped_while_it_waits_runs_nothing_and_cannot_be_allowed_later(
    file_address, tmp_path
):
    with workshop() as shop, staged(file_address, tmp_path, rings_once) as stage:
        waiting = Waiting(stage, shop.registry)
        asked = waiting.approval()
        waiting.run.stop()
        assert waiting.finish().ending is Ending.STOPPED
        [result] = results_of(list(stage.tree.path)[-1])
        assert "ring was not run: the run was stopped" in str(result.content)
        assert stage.grove.approvals[asked.id].state is ApprovalState.INTERRUPTED
        with pytest.raises(ConflictError, match="it is interrupted already"):
            stage.grove.approvals.allow(asked)
        assert shop.done == []


@covers("approval.first-decision-counts")
def test_of_two_who_decide_at_once_one_decision_counts(address, tmp_path):
    with workshop() as shop, staged(address, tmp_path, rings_once) as stage:
        with open_grove(address, clock=SteppingClock(START + 60_000_000)) as other:
            waiting = Waiting(stage, shop.registry)
            asked = waiting.approval()
            assert [each.id for each in other.approvals] == [asked.id]
            start, outcomes = threading.Barrier(8), []

            def decide(number):
                loom = (stage.grove, other)[number % 2]
                start.wait()
                try:
                    decided = loom.approvals.allow(asked) if number < 4 else loom.approvals.deny(asked)
                except ConflictError as error:
                    outcomes.append(error.code)
                else:
                    outcomes.append(decided.state.value)

            threads = [threading.Thread(target=decide, args=(number,)) for number in range(8)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
            waiting.finish()
        decided = stage.grove.approvals[asked.id].state.value
        assert sorted(outcomes) == ["CONFLICT"] * 4 + [decided] * 4
        assert shop.done == (["ring"] if decided == "allowed" else [])


@covers("approval.rights")
def test_only_people_with_rights_decide_and_only_owners_for_a_whole_tree(file_address, tmp_path):
    with workshop() as shop, staged(file_address, tmp_path, rings_once) as stage:
        loom = stage.grove
        for name, role in (("ada", "editor"), ("bob", "reader"), ("eve", None)):
            loom.users.add(name, role=role)
        robot = loom.add_agent("Robot", model_ref="scripted:robot", permissions=list(weft.Permission))
        gate = Authenticator(loom, ServerSettings(keys=("k",)))
        people = {name: gate.client(loom.users.issue(name)[0]).grove for name in ("ada", "bob", "eve")}
        waiting = Waiting(stage, shop.registry, agent="Teller")
        asked = waiting.approval()
        with pytest.raises(NotFoundError):
            people["eve"].approvals.allow(asked)
        assert people["eve"].approvals.all() == []
        assert [each.id for each in people["bob"].approvals] == [asked.id]
        with pytest.raises(PermissionDeniedError, match="needs the role editor"):
            people["bob"].approvals.allow(asked)
        with pytest.raises(PermissionDeniedError, match="needs the role owner"):
            people["ada"].approvals.allow(asked, in_tree=True)
        with pytest.raises(PermissionDeniedError, match="models cannot (allow|grant)"):
            loom.acting_as(robot.id).approvals.allow(asked)
        with pytest.raises(PermissionDeniedError, match="models cannot (allow|grant)"):
            loom.acting_as(robot.id).approvals.grant(stage.tree, robot, tool="ring")
        with pytest.raises(InvalidInputError, match="not a permission"):
            loom.approvals.grant(stage.tree, robot, permission="fly")
        assert people["ada"].approvals.allow(asked).state == "allowed"
        waiting.finish()
        assert shop.done == ["ring"]
