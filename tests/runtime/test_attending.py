"""Threads that look after a grove: what is written together is looked at together, and quiet is known."""

import threading
from typing import ClassVar

from tests.covers import covers

import weft
from weft.runtime.attending import Attendant

PATIENCE = 30.0


class _Gathering(threading.Event):
    """Never set while it gathers: what is left to come is committed three times in each wait."""

    def __init__(self, commit, commits):
        super().__init__()
        self.commit, self.commits = commit, commits

    def wait(self, timeout=None):
        if timeout is not None and self.commits:
            self.commits -= 1
            for _ in range(3):
                self.commit()
        return self.is_set()


class _Looking(Attendant):
    """Notes at every look whether something was committed while it gathered."""

    name: ClassVar[str] = "test-looking"
    every: ClassVar[float] = 600.0
    gather: ClassVar[float] = 0.2
    patience: ClassVar[float] = PATIENCE

    def __init__(self, store):
        super().__init__(store)
        self.looks = []
        self.looked = threading.Semaphore(0)

    def attend(self, store):
        assert store is self._store()
        self.looks.append(self.is_woken)
        self.looked.release()


@covers("job.looked-for-together")
def test_what_is_committed_together_is_looked_at_once_and_quiet_is_known(tmp_path):
    with weft.open(tmp_path / "grove.db") as grove:
        looking = _Looking(grove.caller.executor.store)
        looking.stopping = _Gathering(looking.wake, commits=2)
        try:
            looking.start()
            for _ in range(3):
                assert looking.looked.acquire(timeout=PATIENCE)
            assert looking.looks == [True, True, False]
        finally:
            looking.stop()
