"""Jobs: run one by one, retried with growing pauses, and failed with the error stored."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from sqlalchemy import select

from weft.error_hints import Hint, HintKind
from weft.errors import NotFoundError, WeftError
from weft.log import Log
from weft.redaction import redact
from weft.runtime.coordination.heartbeat import Heartbeat, beating, new_holder
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.permissions import Actor, require_access, require_permission
from weft.store import schema
from weft.store.jobs import (
    JobRow,
    JobState,
    cancel_job,
    claim_job,
    fail_job,
    finish_job,
    hold_job,
    job_row,
    list_jobs,
    next_due,
    retry_job,
)
from weft.store.session import Session
from weft.store.transaction import Transaction
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.json import JsonObject
from weft.tree.json_names import from_microseconds

_SECOND = 1_000_000
_log = Log("weft.jobs")


class JobInterrupted(Exception):  # noqa: N818 - nothing is wrong: the process is about to end
    """A job stopped at a safe point: it is due again at once, and this try does not count."""


class JobStatus(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    RETRYING = "retrying"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job that is waiting, running or failed."""

    id: int
    kind: str
    status: JobStatus
    tree_id: str | None
    target: int | None
    attempts: int
    due_at: datetime
    error: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningJob:
    """The argument of a job's function."""

    id: int
    kind: str
    tree: int
    """The tree's key; 0 for the grove."""
    target: int | None
    payload: JsonObject
    attempt: int
    heartbeat: Heartbeat
    stopping: threading.Event

    @property
    def should_stop(self) -> bool:
        """True if another process took the job over, or this one is about to end: stop at a safe point."""
        return self.heartbeat.is_lost or self.stopping.is_set()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    """How one kind of job is run, and how often it is tried.

    A job may run more than once (a process may die after the work and before the job is marked as
    done), so `run` must be idempotent.
    """

    run: Callable[[RunningJob], None]
    max_attempts: int = 8
    first_pause: float = 2.0
    """Seconds before the second try; each pause is twice the one before, ± half of it by chance."""
    longest_pause: float = 3_600.0
    hold: float = 60.0
    """Seconds without a heartbeat after which another process takes over."""

    def pause_after(self, attempts: int, chance: float) -> float:
        whole = min(self.longest_pause, self.first_pause * 2.0 ** min(attempts - 1, 60))
        return whole * (0.5 + chance)


@dataclass(frozen=True, slots=True)
class JobBoard:
    """The grove's jobs: list, retry, cancel."""

    executor: Executor
    actor: Actor

    def all(
        self, *, statuses: Sequence[JobStatus] | None = None, kind: str | None = None, limit: int = 1_000
    ) -> list[Job]:
        """Jobs in the order they are due."""
        states = None if statuses is None else [JobState[status.name] for status in statuses]
        with self.executor.store.read() as session:
            self._check(session, MemberRole.READER)
            return _job_values(session, list_jobs(session, states=states, kind=kind, limit=limit))

    def retry(self, job: int) -> Job:
        """Run it again now, with its attempts counted from 0."""

        def work(transaction: Transaction) -> Job:
            self._check(transaction, MemberRole.OWNER)
            is_retried = retry_job(transaction, job, self.executor.clock())
            row = job_row(transaction, job)
            if not is_retried or row is None:
                raise NotFoundError(f"no job {job} that could be tried again", hint=Hint(HintKind.LIST_JOBS))
            return _job_values(transaction, [row])[0]

        return self.executor.store.write(work)

    def cancel(self, job: int) -> None:
        """Remove it; what it has done stays done."""

        def work(transaction: Transaction) -> None:
            self._check(transaction, MemberRole.OWNER)
            if not cancel_job(transaction, job):
                raise NotFoundError(f"no job {job}", hint=Hint(HintKind.LIST_JOBS))

        self.executor.store.write(work)

    def _check(self, session: Session, role: MemberRole) -> None:
        needed = Permission.LOOM_AWARE if role is MemberRole.READER else Permission.LOOM_WRITE
        require_permission(session, self.actor, needed, "manage jobs")
        require_access(session, self.actor, role)


def _job_values(session: Session, rows: Sequence[JobRow]) -> list[Job]:
    trees = schema.trees
    keys = sorted({row.tree for row in rows})
    named = session.execute(select(trees.c.key, trees.c.ulid).where(session.dialect.among(trees.c.key, keys)))
    names = {row.key: row.ulid for row in named}
    return [
        Job(
            id=row.key,
            kind=row.kind,
            status=JobStatus[row.state.name],
            tree_id=names.get(row.tree),
            target=row.target,
            attempts=row.attempts,
            due_at=from_microseconds(row.run_after),
            error=row.error,
            created_at=from_microseconds(row.created_at),
        )
        for row in rows
    ]


@dataclass(slots=True)
class JobRunner:
    """Runs jobs of the kinds it knows; there may be any number of runners, in any number of processes."""

    executor: Executor
    kinds: Mapping[str, JobKind]
    stopping: threading.Event = field(default_factory=threading.Event)
    """Set to take no more jobs and to stop the running one."""

    def run_pending(self, limit: int | None = None) -> int:
        """Run what is due now, at most `limit` jobs; return how many were tried."""
        done = 0
        while (limit is None or done < limit) and not self.stopping.is_set():
            job = self._claim()
            if job is None:
                break
            self._carry_out(job)
            done += 1
        return done

    def _claim(self) -> JobRow | None:
        # Without a lock: while nothing is due, no writer waits.
        with self.executor.store.read() as session:
            due = next_due(session, sorted(self.kinds))
        if due is None or due > self.executor.clock():
            return None
        holder = new_holder(self.executor.clock(), self.executor.entropy)
        longest = max((kind.hold for kind in self.kinds.values()), default=0.0)

        def work(transaction: Transaction) -> JobRow | None:
            now = self.executor.clock()
            until = now + round(longest * _SECOND)
            row = claim_job(transaction, sorted(self.kinds), holder, now=now, held_until=until)
            if row is not None:
                hold_job(transaction, row, now + round(self.kinds[row.kind].hold * _SECOND))
            return row

        return self.executor.store.write(work)

    def _carry_out(self, job: JobRow) -> None:
        kind = self.kinds[job.kind]
        if job.attempts > kind.max_attempts:
            self._give_up(job, kind, f"given up: its process died {kind.max_attempts} times")
            return
        try:
            with beating(lambda: self._hold(job, kind), hold=kind.hold) as heartbeat:
                kind.run(
                    RunningJob(
                        id=job.key,
                        kind=job.kind,
                        tree=job.tree,
                        target=job.target,
                        payload=json.loads(job.payload),
                        attempt=job.attempts,
                        heartbeat=heartbeat,
                        stopping=self.stopping,
                    )
                )
        except JobInterrupted:
            self._postpone(job)
        except Exception as error:  # noqa: BLE001 - what a job raises is its own failure, not the runner's
            if not isinstance(error, WeftError):
                _log.failure("job failed", error, kind=job.kind, job=job.key, attempt=job.attempts)
            self._give_up(job, kind, redact(f"{type(error).__name__}: {error}"))
        except BaseException:
            self._postpone(job)
            raise
        else:
            self.executor.store.write(lambda transaction: finish_job(transaction, job))

    def _hold(self, job: JobRow, kind: JobKind) -> bool:
        until = self.executor.clock() + round(kind.hold * _SECOND)
        return self.executor.store.write(lambda transaction: hold_job(transaction, job, until))

    def _postpone(self, job: JobRow) -> None:
        """Interrupted, not failed: it is due again, and this try does not count."""
        self.executor.store.write(
            lambda transaction: fail_job(
                transaction, job, job.error, run_after=self.executor.clock(), attempts=job.attempts - 1
            )
        )

    def _give_up(self, job: JobRow, kind: JobKind, error: str) -> None:
        """Store the error, and the time of the next try if there is one."""
        chance = int.from_bytes(self.executor.entropy(4), "big") / 2**32
        pause = round(kind.pause_after(job.attempts, chance) * _SECOND)
        again = self.executor.clock() + pause if job.attempts < kind.max_attempts else None
        attempts = min(job.attempts, kind.max_attempts)
        self.executor.store.write(
            lambda transaction: fail_job(transaction, job, error, run_after=again, attempts=attempts)
        )
