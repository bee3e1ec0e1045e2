"""One thread through which all writes of a process go, committed in groups.

Each caller's work runs in turn inside one transaction; they get their results together, after
the commit. Work that is refused before it wrote anything fails alone. Should one fail
in any other way, or should the commit fail, everything is rolled back and each is run
again in a transaction of its own. A caller that is interrupted while it waits takes its
work back: what is under way is rolled back at its next statement. A caller that is alone
runs its work itself, because handing it to a thread and back takes time; but not in the main
thread, where a signal may raise an exception in the middle of anything.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from weft.errors import UnavailableError, WeftError
from weft.store.transaction import Transaction

_GROUP_LIMIT = 512
_LINGER_SECONDS = 0.002
_TURN_SECONDS = 0.25

Work = Callable[[Transaction], Any]
Take = Callable[[float], "Sequence[WaitingWrite]"]
"""Takes all work that waits, or comes within these seconds: called under the lock, because until then a
caller may give up waiting."""
RunGroup = Callable[[Take, Callable[[], None]], bool]
"""Runs and commits what it takes; calls the second as soon as it holds the lock."""


class CommitGroup(Protocol):
    """Transactions under the lock, one at a time."""

    def begin(self) -> Transaction: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...
    def explain(self, error: BaseException) -> BaseException:
        """The error in a person's words."""
        ...


class WaitingWrite:
    """One caller's work. A bare lock is released when it is done: the cheapest way to wait."""

    __slots__ = ("_done", "abandoned", "error", "finished", "result", "taken", "timeout", "tree", "work")

    def __init__(self, work: Work, timeout: float, tree: str | None) -> None:
        self.work = work
        self.tree = tree
        self.timeout = timeout
        self.taken = False
        self.abandoned = False
        self.finished = False
        self.result: Any = None
        self.error: BaseException | None = None
        self._done = threading.Lock()
        self._done.acquire()

    def finish(self, result: Any = None, error: BaseException | None = None) -> None:
        self.result = result
        self.error = error
        self.finished = True
        self._done.release()

    def wait(self, timeout: float = -1) -> bool:
        return self._done.acquire(timeout=timeout)


class GroupWriter:
    """Gathers work and hands it over in groups."""

    def __init__(
        self,
        run_group: RunGroup,
        run_now: RunGroup,
        shut_down: Callable[[], None],
    ) -> None:
        """`run_now` waits for no other process, and says whether it ran; `shut_down` is called last."""
        self._run_group = run_group
        self._run_now = run_now
        self._shut_down = shut_down
        self._turn = threading.Lock()
        """Held while work is run, by the writer or by a caller that is alone."""
        self._crowd = 0
        """How many shared the writer's last commit."""
        self._jobs: deque[WaitingWrite] = deque()
        self._ready = threading.Condition()
        self._wake_at = 1
        """How many waiting jobs wake the writer."""
        self._closing = False
        self._holding = False
        """True while the lock is held: then no caller waits for another process."""
        self._thread: threading.Thread | None = None

    def submit(self, work: Work, timeout: float, tree: str | None = None) -> Any:
        """Run work in a transaction; return its result once it is durable."""
        job = WaitingWrite(work, timeout, tree)
        with self._ready:
            if self._closing:
                raise UnavailableError("the grove is closed", hint="open it again")
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name="weft-writer", daemon=True)
                self._thread.start()
            is_alone = (
                self._crowd < 2
                and not self._jobs
                and not self._turn.locked()
                and threading.current_thread() is not threading.main_thread()
            )
            if not is_alone:
                self._append(job)
        if not is_alone or not self._write_alone(job):
            try:
                self._wait_for(job)
            except WeftError:
                raise
            except BaseException:
                self._abandon(job)
                raise
        if job.error is not None:
            raise job.error
        return job.result

    def _append(self, job: WaitingWrite) -> None:
        self._jobs.append(job)
        if len(self._jobs) >= self._wake_at:
            self._ready.notify()

    def _write_alone(self, job: WaitingWrite) -> bool:
        """Run it in the caller's own thread; if another process has the lock, leave it to the writer, who waits."""

        def take(_seconds: float) -> list[WaitingWrite]:
            if job.taken:
                return []
            job.taken = True
            return [job]

        with self._turn:
            # The writer may have shut down since.
            if not self._closing and self._run(take, self._run_now):
                return True
        with self._ready:
            if self._closing:
                raise UnavailableError("the grove is closed", hint="open it again")
            self._append(job)
        return False

    def _run(self, take: Take, run: RunGroup) -> bool:
        try:
            return run(take, self._hold)
        finally:
            self._holding = False

    def _hold(self) -> None:
        self._holding = True

    def _wait_for(self, job: WaitingWrite) -> None:
        """In short turns: a signal that another thread received is only seen between two of them."""
        turn = min(_TURN_SECONDS, job.timeout)
        waited = 0.0
        while not job.wait(turn):
            waited += turn
            if waited >= job.timeout:
                self._refuse_to_wait(job)
                waited = 0.0

    def _refuse_to_wait(self, job: WaitingWrite) -> None:
        """Another process has the lock: give up, unless the work has begun."""
        with self._ready:
            if not job.taken and not self._holding:
                self._jobs.remove(job)
                raise UnavailableError(
                    f"another process has held the grove's write lock for {job.timeout:g} seconds",
                    hint="try again, or see which process is writing; nothing was written",
                )

    def _abandon(self, job: WaitingWrite) -> None:
        """Its caller was interrupted and will not learn the result, so it is not to happen."""
        with self._ready:
            if not job.taken:
                self._jobs.remove(job)
                return
            job.abandoned = True
        if not job.finished:
            job.wait(job.timeout)

    def stop(self) -> None:
        """Finish what was submitted, shut down and end; does not wait for it."""
        with self._ready:
            self._closing = True
            self._ready.notify()

    def join(self, timeout: float) -> None:
        """Wait for the end, a while; what is still being written then is finished all the same."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _loop(self) -> None:
        while True:
            with self._ready:
                self._wake_at = 1
                while not self._jobs and not self._closing:
                    self._ready.wait()
                if not self._jobs:
                    break
                if 1 < self._crowd > len(self._jobs) and not self._closing:
                    # Callers that just got a result usually come back at once: let one commit serve them all.
                    self._wake_at = min(self._crowd, _GROUP_LIMIT)
                    self._ready.wait(_LINGER_SECONDS)
            with self._turn:
                self._write()
        with self._turn:
            self._shut_down()

    def _write(self) -> None:
        taken: list[WaitingWrite] = []
        try:
            self._run(partial(self._take, taken), self._run_group)
        except BaseException as error:  # noqa: BLE001 - every waiting caller must get it
            if not taken:
                self._take(taken, 0)
            for job in taken:
                if not job.finished:
                    job.finish(error=error)

    def _take(self, taken: list[WaitingWrite], seconds: float) -> list[WaitingWrite]:
        with self._ready:
            if seconds and not self._jobs and not self._closing:
                self._ready.wait(seconds)
            group = [self._jobs.popleft() for _ in range(min(len(self._jobs), _GROUP_LIMIT))]
        for job in group:
            job.taken = True
        taken += group
        self._crowd = len(group) or self._crowd
        return group


class _AbandonedError(Exception):
    """Its caller has gone."""


def _require_wanted(job: WaitingWrite) -> None:
    if job.abandoned:
        raise _AbandonedError


WriteOutcome = tuple[WaitingWrite, Any, BaseException | None]


def run_jobs(transaction: Transaction, jobs: Sequence[WaitingWrite]) -> list[WriteOutcome]:
    """Run the work of each in one transaction, and send all that it wrote."""
    outcomes: list[WriteOutcome] = []
    for job in jobs:
        before = transaction.writes
        transaction.require_wanted = partial(_require_wanted, job)
        try:
            transaction.require_wanted()
            outcomes.append((job, job.work(transaction), None))
        except WeftError as error:
            # Refused before it wrote anything: it fails alone. Any other error may have struck
            # while rows of an earlier job were being sent, so it may not be this job's.
            if transaction.writes != before:
                raise
            outcomes.append((job, None, error))
    transaction.flush()
    return outcomes


def commit_together(group: CommitGroup, jobs: Sequence[WaitingWrite]) -> None:
    if not jobs:
        return
    transaction = group.begin()
    try:
        outcomes = run_jobs(transaction, jobs)
        group.commit()
    except BaseException as error:  # noqa: BLE001 - given to the caller, or tried again one by one
        group.rollback()
        if len(jobs) == 1:
            jobs[0].finish(error=group.explain(error))
        else:
            for job in jobs:
                commit_together(group, [job])
        return
    for job, result, failure in outcomes:
        job.finish(result, failure)
