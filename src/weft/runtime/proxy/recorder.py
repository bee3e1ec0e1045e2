"""Record exchanges one after another in the background, so that no client waits for it."""

import queue
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from weft.errors import WeftError
from weft.log import Log
from weft.runtime.operations.executor import Caller
from weft.runtime.proxy.answer_writer import Cost
from weft.runtime.proxy.exchange import Exchange
from weft.runtime.proxy.recording import FinishExchange, RecordExchange, StartedExchange

_BYTES = 256 * 1024 * 1024
"""How much may wait to be recorded."""
_FAILURES = 50
_LONGEST_WAIT = 0.25
"""Seconds that recording lets requests pass that wait for their first byte."""
_log = Log(__name__)


def _set_event() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingFailure:
    """An exchange that was forwarded and could not be recorded."""

    moment: datetime
    token: int
    client: str
    model: str
    error: str


@dataclass(slots=True)
class _Waiting:
    caller: Caller
    exchange: Exchange
    started: StartedExchange | None
    cost: Callable[[Exchange], Cost]


@dataclass(slots=True)
class Recorder:
    """Records what was forwarded, in the order in which it ended."""

    failures: deque[RecordingFailure] = field(default_factory=lambda: deque(maxlen=_FAILURES))
    failed: int = 0
    """How many could not be recorded since the server started."""
    _queue: "queue.Queue[_Waiting | None]" = field(default_factory=queue.Queue, repr=False)
    _held: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _thread: threading.Thread | None = None
    _forwarding: int = 0
    _idle: threading.Event = field(default_factory=_set_event, repr=False)

    def begin_forwarding(self) -> None:
        """A request is on its way to its first byte: recording waits, because it would take the processor."""
        with self._lock:
            self._forwarding += 1
            self._idle.clear()

    def end_forwarding(self) -> None:
        with self._lock:
            self._forwarding -= 1
            if not self._forwarding:
                self._idle.set()

    def submit(
        self,
        caller: Caller,
        exchange: Exchange,
        cost: Callable[[Exchange], Cost],
        started: StartedExchange | None = None,
    ) -> None:
        """Have an exchange recorded soon. Never fails: what cannot be recorded is logged and shown."""
        size = len(exchange.received) + len(exchange.body)
        with self._lock:
            is_full = self._held + size > _BYTES
            if not is_full:
                self._held += size
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="weft-recorder", daemon=True)
                self._thread.start()
        if is_full:
            self._fail(exchange, "too much waits to be recorded")
        else:
            self._queue.put(_Waiting(caller, exchange, started, cost))

    def wait(self) -> None:
        """Until everything that was submitted is recorded."""
        self._queue.join()

    def close(self) -> None:
        """Record what waits, then stop."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None)
            thread.join()

    def _run(self) -> None:
        while True:
            waiting = self._queue.get()
            try:
                if waiting is None:
                    return
                self._idle.wait(_LONGEST_WAIT)
                self._record(waiting)
            finally:
                self._queue.task_done()

    def _record(self, waiting: _Waiting) -> None:
        exchange = waiting.exchange
        try:
            cost = waiting.cost(exchange)
            if waiting.started is None:
                waiting.caller.perform(RecordExchange(exchange=exchange, cost=cost))
            else:
                waiting.caller.perform(FinishExchange(exchange=exchange, started=waiting.started, cost=cost))
        except WeftError as error:
            self._fail(exchange, error.message)
        except Exception as error:  # noqa: BLE001 - one exchange that cannot be recorded must not end the recorder
            self._fail(exchange, f"{type(error).__name__}: {error}"[:500])
        finally:
            with self._lock:
                self._held -= len(exchange.received) + len(exchange.body)

    def _fail(self, exchange: Exchange, error: str) -> None:
        model = f"{exchange.provider}:{exchange.model}"
        failure = RecordingFailure(
            moment=datetime.now(UTC),
            token=exchange.token,
            client=exchange.signs.client,
            model=model,
            error=error,
        )
        with self._lock:
            self.failed += 1
            self.failures.append(failure)
        _log.warning("not recorded", client=failure.client, model=model, error=error)
