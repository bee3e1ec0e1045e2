"""Jobs: there if the write was, done by one, tried again, given up in the end, never in the way."""

import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

import pytest
from sqlalchemy import select
from tests.covers import covers

import weft
from weft.errors import ConflictError, NotFoundError, PermissionDeniedError
from weft.runtime.coordination.jobs import JobKind, JobRunner, JobStatus
from weft.store import schema
from weft.store.jobs import SUMMARY_JOB, JobState, claim_job, enqueue, finish_job, list_jobs
from weft.tree.access import MemberRole
from weft.tree.agent import Permission

SECOND = 1_000_000
PATIENCE = 30.0


@dataclass
class HandClock:
    """Stands still until it is moved."""

    now: int = 1_800_000_000_000_000

    def __call__(self) -> int:
        return self.now

    def pass_by(self, seconds):
        self.now += round(seconds * SECOND)


@dataclass
class Desk:
    """A grove with a clock that is moved by hand."""

    grove: weft.Grove
    clock: HandClock
    done: list = field(default_factory=list)

    def put(self, kind="count", **options):
        self.grove.caller.executor.store.write(
            lambda transaction: enqueue(transaction, kind, now=self.clock(), **options)
        )

    def runner(self, run=None, **options):
        kind = JobKind(run=run or self.done.append, **options)
        return JobRunner(self.grove.caller.executor, {"count": kind})

    @property
    def jobs(self):
        """All but the summaries that became due with what was written."""
        return [job for job in self.grove.jobs.all() if job.kind != SUMMARY_JOB]


@pytest.fixture
def desk(address):
    clock = HandClock()
    with weft.open(address, clock=clock) as grove:
        yield Desk(grove, clock)


def fail(job):
    raise RuntimeError(f"no use, try {job.attempt}")


@covers("job.durable")
def test_a_job_is_there_exactly_if_the_write_was(desk):
    class Write:
        verb = "describe"
        permission = Permission.LOOM_WRITE
        access = MemberRole.EDITOR

        def __init__(self, *, fails):
            self.fails = fails

        def apply(self, scope):
            scope.open_grove()
            enqueue(scope.transaction, "count", now=scope.now)
            scope.record(None, "describe", {}, {})
            if self.fails:
                raise ConflictError("after all, no")

    with pytest.raises(ConflictError):
        desk.grove.perform(Write(fails=True))
    assert desk.jobs == []
    desk.grove.perform(Write(fails=False))
    assert [job.status for job in desk.jobs] == [JobStatus.WAITING]


@covers("job.durable")
def test_a_job_survives_the_process_that_requested_it(address):
    clock = HandClock()
    with weft.open(address, clock=clock) as grove:
        Desk(grove, clock).put(payload='{"n":1}')
    with weft.open(address, clock=clock) as grove:
        desk = Desk(grove, clock)
        assert desk.runner().run_pending() == 1
        assert desk.done[0].payload == {"n": 1}
        assert desk.jobs == []


@covers("job.same-request-once")
def test_the_same_request_twice_is_one_job(desk):
    tree = desk.grove.plant("Marie")
    key = tree_key(desk.grove, tree.id)
    for _ in range(3):
        desk.put(tree=key, target=1)
    desk.put(tree=key, target=2)
    desk.put(tree=key)
    desk.put(tree=key)
    desk.put()
    desk.put("other", tree=key, target=1)
    assert [(job.kind, job.tree_id, job.target) for job in desk.jobs] == [
        ("count", tree.id, 1),
        ("count", tree.id, 2),
        ("count", tree.id, None),
        ("count", None, None),
        ("other", tree.id, 1),
    ]


def test_the_earlier_of_two_times_counts(desk):
    desk.put(run_after=desk.clock() + 60 * SECOND)
    assert desk.runner().run_pending() == 0
    desk.put(run_after=desk.clock() + 90 * SECOND)
    desk.clock.pass_by(60)
    assert desk.runner().run_pending() == 1


def test_a_request_made_while_the_job_runs_is_another_job(desk):
    seen = []

    def run(job):
        seen.append(job.id)
        if len(seen) == 1:
            desk.put()

    desk.put()
    assert desk.runner(run).run_pending() == 2
    assert len(set(seen)) == 2


def tree_key(grove, ulid):
    with grove.caller.executor.store.read() as session:
        return session.execute(select(schema.trees.c.key).where(schema.trees.c.ulid == ulid)).scalar_one()


@covers("job.durable")
def test_a_failure_is_tried_again_after_growing_pauses(desk):
    desk.put()
    runner = desk.runner(fail, first_pause=10.0, max_attempts=4)
    pauses = []
    for attempt in range(1, 4):
        assert runner.run_pending() == 1
        (job,) = desk.jobs
        assert (job.status, job.attempts) == (JobStatus.RETRYING, attempt)
        assert job.error == f"RuntimeError: no use, try {attempt}"
        pause = job.due_at.timestamp() - desk.clock() / SECOND
        pauses.append(pause)
        assert 5 * 2 ** (attempt - 1) <= pause <= 15 * 2 ** (attempt - 1)
        desk.clock.pass_by(pause - 1)
        assert runner.run_pending() == 0
        desk.clock.pass_by(1.001)
    assert runner.run_pending() == 1
    (job,) = desk.jobs
    assert (job.status, job.attempts) == (JobStatus.FAILED, 4)
    desk.clock.pass_by(10**7)
    assert runner.run_pending() == 0


def test_pauses_have_an_end():
    kind = JobKind(run=fail, first_pause=2.0, longest_pause=100.0)
    assert kind.pause_after(1, 0.5) == 2.0
    assert kind.pause_after(10**6, 0.5) == 100.0
    assert kind.pause_after(10**6, 0.0) == 50.0


@covers("job.error-kept-without-secrets")
def test_a_failed_job_is_tried_again_when_a_person_says_so(desk):
    desk.put()
    assert desk.runner(fail, max_attempts=1).run_pending() == 1
    (failed,) = desk.jobs
    again = desk.grove.jobs.retry(failed.id)
    assert (again.status, again.attempts, again.error) == (JobStatus.RETRYING, 0, None)
    assert desk.runner().run_pending() == 1
    assert desk.jobs == []
    with pytest.raises(NotFoundError):
        desk.grove.jobs.retry(failed.id)


def test_a_job_can_be_cancelled_also_while_it_runs(desk):
    desk.put()
    desk.grove.jobs.cancel(desk.jobs[0].id)
    assert desk.jobs == []
    desk.put()
    assert desk.runner(lambda job: desk.grove.jobs.cancel(job.id)).run_pending() == 1
    assert desk.jobs == []
    with pytest.raises(NotFoundError):
        desk.grove.jobs.cancel(10**9)


@covers("job.failure-blocks-no-write")
def test_a_failed_job_blocks_no_write_and_no_other_job(desk):
    tree = desk.grove.plant("Marie")
    key = tree_key(desk.grove, tree.id)
    desk.put(tree=key, target=1)
    runner = desk.runner(lambda job: fail(job) if job.target == 1 else desk.done.append(job), max_attempts=1)
    assert runner.run_pending() == 1
    tree.say("goes on")
    desk.put(tree=key, target=1)
    desk.put(tree=key, target=2)
    assert runner.run_pending() == 2
    assert [job.target for job in desk.done] == [2]
    assert [job.status for job in desk.jobs] == [JobStatus.FAILED] * 2


@covers("job.failure-blocks-no-write")
def test_a_write_goes_through_while_a_job_runs(desk):
    tree = desk.grove.plant("Marie")
    desk.put(tree=tree_key(desk.grove, tree.id))
    assert desk.runner(lambda _: tree.say("meanwhile")).run_pending() == 1
    assert desk.jobs == []


@covers("log.no-secrets")
def test_the_traceback_of_a_job_that_failed_is_logged(desk, caplog):
    desk.put()
    desk.runner(fail).run_pending()
    (told,) = [record.getMessage() for record in caplog.records if record.name == "weft.jobs"]
    assert told.startswith("job failed kind=count")
    assert "in fail\n" in told
    assert told.endswith("RuntimeError: no use, try 1")


@covers("job.error-kept-without-secrets")
def test_secrets_do_not_stay_in_errors(desk):
    canary = "sk-ant-canary0123456789abcdef"
    said = (
        f"401 for key {canary}, Authorization: Bearer {canary}, "
        f"postgresql://me:{canary}@host/db, {{'api_key': '{canary}'}}, x-api-key={canary} "
    )

    def leak(_):
        raise RuntimeError(said * 50)

    desk.put()
    desk.runner(leak).run_pending()
    (job,) = desk.jobs
    assert "canary" not in job.error
    assert "401 for key" in job.error
    assert len(job.error) <= 2_000


@covers("job.shared-by-processes")
def test_a_dead_holders_job_is_taken_over_after_its_hold_ran_out(desk):
    desk.put()
    store = desk.grove.caller.executor.store
    dead = store.write(
        lambda transaction: claim_job(
            transaction, ["count"], "dead", now=desk.clock(), held_until=desk.clock() + 60 * SECOND
        )
    )
    assert dead.attempts == 1
    desk.clock.pass_by(59)
    assert desk.runner().run_pending() == 0
    desk.clock.pass_by(1)
    assert desk.runner().run_pending() == 1
    assert desk.done[0].attempt == 2
    # Who was taken for dead has nothing to say any more.
    assert not store.write(lambda transaction: finish_job(transaction, dead))


@covers("job.dead-holder")
def test_a_job_that_kills_its_process_every_time_is_given_up(desk):
    desk.put()
    for _ in range(3):
        desk.grove.caller.executor.store.write(
            lambda transaction: claim_job(
                transaction, ["count"], "dead", now=desk.clock(), held_until=desk.clock() + SECOND
            )
        )
        desk.clock.pass_by(1)
    assert desk.runner(max_attempts=3).run_pending() == 1
    (job,) = desk.jobs
    assert (job.status, job.error) == (JobStatus.FAILED, "given up: its process died 3 times")
    assert desk.done == []


def test_a_heartbeat_keeps_a_long_job_from_being_taken(desk):
    """The clock moves past the first hold while the job runs; the heartbeat holds on."""

    def held_until():
        with desk.grove.caller.executor.store.read() as session:
            return list_jobs(session)[0].held_until

    def long(job):
        for _ in range(3):
            desk.clock.pass_by(0.02)
            end = time.monotonic() + PATIENCE
            while held_until() < desk.clock() + 0.03 * SECOND:
                assert time.monotonic() < end
        assert desk.runner().run_pending() == 0
        assert not job.should_stop
        desk.done.append(job)

    desk.put()
    assert desk.runner(long, hold=0.03).run_pending() == 1
    assert len(desk.done) == 1
    assert desk.jobs == []


def test_whoever_is_interrupted_gives_the_job_back(desk):
    desk.put()

    def interrupted(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        desk.runner(interrupted).run_pending()
    (job,) = desk.jobs
    assert (job.status, job.attempts, job.error) == (JobStatus.RETRYING, 0, None)


def test_a_deleted_trees_jobs_are_gone(desk):
    tree = desk.grove.plant("Marie")
    desk.put(tree=tree_key(desk.grove, tree.id), payload='{"node":"x"}')
    desk.put()
    tree.delete(confirm=tree.id)
    assert [job.tree_id for job in desk.jobs] == [None]
    assert desk.runner().run_pending() == 1


def test_a_runner_does_only_what_it_knows(desk):
    desk.put("strange")
    desk.put()
    assert desk.runner().run_pending() == 1
    assert [job.kind for job in desk.jobs] == ["strange"]
    assert JobRunner(desk.grove.caller.executor, {}).run_pending() == 0


def test_jobs_are_looked_after_by_those_who_may(desk):
    desk.put()
    agent = desk.grove.add_agent("reader", model_ref="t:m", permissions=["loom_aware"])
    theirs = desk.grove.acting_as(agent.id)
    assert len(theirs.jobs.all()) == 1
    with pytest.raises(PermissionDeniedError):
        theirs.jobs.cancel(theirs.jobs.all()[0].id)
    with pytest.raises(PermissionDeniedError):
        theirs.jobs.retry(theirs.jobs.all()[0].id)


@pytest.mark.outer
@covers("job.shared-by-processes")
def test_many_threads_do_each_job_once(address):
    clock = HandClock()
    with weft.open(address, clock=clock) as grove:
        desk = Desk(grove, clock)
        for target in range(1, 61):
            desk.put(target=target)
        others = [weft.open(address, clock=clock) for _ in range(3)]
        lock, done = threading.Lock(), []

        def run(job):
            with lock:
                done.append(job.target)

        threads = [
            threading.Thread(target=JobRunner(each.caller.executor, {"count": JobKind(run=run)}).run_pending)
            for each in (grove, *others)
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for other in others:
            other.close()
        # A row that another was just taking is passed over, so a last look may be needed.
        desk.runner(run).run_pending()
        assert desk.jobs == []
    assert sorted(done) == list(range(1, 61))


WORKER = """
import os, sys, weft
from weft.runtime.coordination.jobs import JobKind, JobRunner
def run(job):
    os.write(1, f"{job.target}\\n".encode())
with weft.open(sys.argv[1]) as grove:
    JobRunner(grove.caller.executor, {"count": JobKind(run=run)}).run_pending()
"""


@covers("job.shared-by-processes")
@pytest.mark.long
def test_several_processes_do_each_job_once(fresh_loom, address):
    for target in range(1, 31):
        fresh_loom.caller.executor.store.write(
            lambda transaction, target=target: enqueue(transaction, "count", now=0, target=target)
        )
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, address], stdout=subprocess.PIPE) for _ in range(3)
    ]
    told = [int(line) for worker in workers for line in worker.communicate()[0].split()]
    assert [worker.returncode for worker in workers] == [0, 0, 0]
    with fresh_loom.caller.executor.store.read() as session:
        left = [row.target for row in list_jobs(session, states=[JobState.WAITING])]
    assert sorted(told + left) == list(range(1, 31))
