"""Threads that look after a grove: what is written together is looked at together, and quiet is known."""

import threading
from typing import ClassVar

from tests.covers import covers

import weft
from weft.errors import StorageError
from weft.runtime.coordination.background import BackgroundWorker

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


class _Looking(BackgroundWorker):
    """Notes at every look whether something was committed while it gathered."""

    name: ClassVar[str] = "test-looking"
    every: ClassVar[float] = 600.0
    gather: ClassVar[float] = 0.2
    patience: ClassVar[float] = PATIENCE

    def __init__(self, store):
        super().__init__(store)
        self.looks = []
        self.looked = threading.Semaphore(0)

    def work(self, store):
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


class _Instant(threading.Event):
    """Notes how long it would have waited, and does not."""

    def __init__(self):
        super().__init__()
        self.waits = []

    def wait(self, timeout=None):
        self.waits.append(timeout)
        return self.is_set()


class _Failing(_Looking):
    every: ClassVar[float] = 0.0
    gather: ClassVar[float] = 0.0
    troubles: tuple[BaseException, ...] = (
        RuntimeError("password=hunter2-hunter2"),
        StorageError("the disk is full"),
        SystemExit(1),
        KeyError("x"),
    )

    def work(self, store):
        super().work(store)
        if len(self.looks) <= len(self.troubles):
            raise self.troubles[len(self.looks) - 1]


@covers("job.worker-survives")
def test_a_background_worker_survives_any_exception_backs_off_and_logs_it_without_secrets(tmp_path, caplog):
    with weft.open(tmp_path / "grove.db") as grove:
        failing = _Failing(grove.caller.executor.store)
        failing.stopping = _Instant()
        try:
            failing.start()
            for _ in range(6):
                assert failing.looked.acquire(timeout=PATIENCE)
        finally:
            failing.stop()
    assert [each for each in failing.stopping.waits if each][:4] == [2.0, 4.0, 8.0, 16.0]
    told = [record.getMessage() for record in caplog.records if record.name == "weft.background"]
    assert len(told) == 4
    assert "Traceback" in told[0]
    assert "in work" in told[0]
    assert "hunter2" not in caplog.text
    assert told[1] == "background work failed worker=test-looking code=STORAGE error=the disk is full"
    assert "SystemExit" in told[2]
    assert "KeyError" in told[3]
