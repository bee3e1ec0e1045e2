"""The grove's own jobs, done by whoever has it open for long."""

from typing import ClassVar

from weft.runtime.attending import Attendant, attend
from weft.runtime.jobs import JobKind, JobRunner, Running
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.permissions import Actor
from weft.runtime.running import close_left_behind
from weft.store.base import Store
from weft.store.jobs import TIMESTAMP_JOB

__all__ = ["run_errands"]


class _Errands(Attendant):
    """Fetches timestamps that were asked for, and ends the calls of processes that died."""

    name: ClassVar[str] = "weft-jobs"
    every: ClassVar[float] = 2.0
    gather: ClassVar[float] = 0.5
    """Nobody waits for these: looking after every commit would cost writers more than writing does."""
    patience: ClassVar[float] = 1.0
    """An authority that is thinking is not waited for: its answer is asked for again next time."""

    def __init__(self, gate: Executor, owner: int) -> None:
        super().__init__(gate.store)
        self._clock, self._entropy, self._accept_clock = gate.clock, gate.entropy, gate.accept_clock
        self._owner = owner

    def attend(self, store: Store) -> None:
        gate = Executor(store, self._clock, self._entropy, self._accept_clock)
        close_left_behind(gate, Actor(self._owner))

        def fetch(running: Running) -> None:
            from weft.runtime.evidence.timestamps import (  # noqa: PLC0415 - brings cryptography along
                fetch_due,
            )

            fetch_due(gate, Actor(self._owner), ended=lambda: running.should_stop)

        JobRunner(gate, {TIMESTAMP_JOB: JobKind(run=fetch)}, stopping=self.stopping).run_pending()


def run_errands(gate: Executor, owner: int) -> None:
    """Do the grove's jobs from now on, until it is closed."""
    attend(gate.store, _Errands, lambda: _Errands(gate, owner)).start()
