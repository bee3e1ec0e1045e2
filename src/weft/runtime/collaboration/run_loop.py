"""The frame of a run: a thread of its own, a heartbeat, a clock, stopping, and turns of a model."""

import contextlib
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator
from decimal import Decimal
from typing import ClassVar, Generic, TypeVar, cast

import orjson

from weft.errors import ConflictError, LimitExceededError, WeftError
from weft.ids import new_ulid
from weft.runtime.collaboration.run_events import Ending, Finished, Notice, Retrying, ThinkingChunk
from weft.runtime.collaboration.run_log import RunLog
from weft.runtime.coordination.heartbeat import beating
from weft.runtime.coordination.idempotency import error_to_wire
from weft.runtime.coordination.run_stops import watch_stops
from weft.runtime.generation.answer import TurnObserver
from weft.runtime.generation.options import GenerationOptions, RunOptions
from weft.runtime.generation.run import GenerationRun
from weft.runtime.generation.start_call import HOLD_SECONDS
from weft.runtime.generation.start_point import StartPlace
from weft.runtime.generation.stream import EventChannel, Failed, NodeCompleted, Started, TextChunk
from weft.runtime.operations.executor import Caller
from weft.store.model_calls import MICROS, spent_on
from weft.store.run_records import add_steps, close_record
from weft.store.transaction import Transaction
from weft.tree.json import JsonObject
from weft.tree.node import Node
from weft.tree.run import RunStatus

E = TypeVar("E")
_STATUSES = {
    Ending.DONE: RunStatus.COMPLETE,
    # What came before a limit was reached is its answer.
    Ending.LIMIT: RunStatus.COMPLETE,
    Ending.STOPPED: RunStatus.STOPPED,
    Ending.FAILED: RunStatus.FAILED,
}


class RunLoop(ABC, Generic[E]):
    """A run under way. Its reader takes events from its channel; the last of them tells how it ended."""

    thread_name: ClassVar[str]
    forwards: ClassVar[tuple[type, ...]] = (ThinkingChunk, Retrying, Notice)
    """Events of a generation that are events of the run."""

    def __init__(self, caller: Caller, options: RunOptions) -> None:
        self.channel: EventChannel[E] = EventChannel()
        self._caller = caller
        self._executor = caller.executor
        self._options = options
        self.id = new_ulid(self._executor.clock(), self._executor.entropy)
        self._stopping = self._expired = self._lost = False
        self._generation: GenerationRun | None = None
        self._log: RunLog | None = None
        self._steps: deque[tuple[int, str, JsonObject]] = deque()
        self.channel.tap = self._note_step
        self._attempts: list[str] = []
        self._turns: int = 0
        self._tokens: int = 0
        self._guard = threading.Lock()
        self._thread = threading.Thread(target=self._drive, name=self.thread_name, daemon=True)

    @abstractmethod
    def _work(self) -> Finished:
        """Do everything; returns the last event."""

    @abstractmethod
    def _step(self, event: E | TextChunk) -> tuple[str, JsonObject] | None:
        """An event as it is kept for those who follow the run; None: it is not kept."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """No more text and no more steps; what there is, is stored. Returns at once."""
        self._stopping = True
        self._break_off()

    def stop_attempt(self, attempt: str) -> None:
        """Stop with the call that is being made now: without its answer the run cannot go on."""
        if self._attempts[-1:] == [attempt]:
            self.stop()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until everything is stored."""
        if self._thread.is_alive():
            self._thread.join(timeout)

    @property
    def is_over(self) -> bool:
        return self._thread.ident is not None and not self._thread.is_alive()

    def _drive(self) -> None:
        try:
            finished = self._work()
        except BaseException as error:  # noqa: BLE001 - raised to the reader of the channel
            self.channel.close(error)
        else:
            self._keep_ending(finished)
            self.channel.put(cast("E", finished))
            self.channel.close()

    def _note_step(self, event: E | TextChunk) -> None:
        """Take a step down; the run's own thread writes it, because others must not wait for the store."""
        step = self._step(event)
        if step is not None:
            self._steps.append((self._turns, *step))
        if threading.current_thread() is self._thread:
            self._write_steps()

    def _write_steps(self) -> None:
        log, steps = self._log, list[tuple[int, str, JsonObject]]()
        while self._steps:
            steps.append(self._steps.popleft())
        if log is None or not steps:
            return

        def work(transaction: Transaction) -> None:
            add_steps(transaction, log.row.tree, self.id, steps)

        # They are for those who look on: the run goes on without.
        with contextlib.suppress(WeftError):
            self._executor.store.write(work)

    def _keep_ending(self, finished: Finished) -> None:
        """For those who come back: how it ended."""
        self._write_steps()
        log, error = self._log, finished.error
        if log is None:
            return
        status = _STATUSES[finished.ending]
        failure = None if error is None else orjson.dumps(error_to_wire(error)).decode()

        def work(transaction: Transaction) -> None:
            now = self._executor.clock()
            close_record(
                transaction, log.row.tree, self.id, now, status=status, note=finished.note, error=failure
            )

        with contextlib.suppress(WeftError):
            self._executor.store.write(work)

    def _break_off(self) -> None:
        with self._guard:
            generation = self._generation
        if generation is not None:
            generation.stop()

    @property
    def _is_to_end(self) -> bool:
        return self._stopping or self._expired or self._lost

    @contextlib.contextmanager
    def _alive(self, log: RunLog, seconds: float | None) -> Generator[None]:
        """While this lasts, other processes see that the run goes on, and the clock runs."""
        self._log = log
        watch_stops(self._executor.store, self.id, self)
        clock = None if seconds is None else threading.Timer(seconds, self._expire)
        if clock is not None:
            clock.daemon = True
            clock.start()
        try:
            with beating(log.beat, hold=HOLD_SECONDS, on_lost=self._lose):
                yield
        finally:
            if clock is not None:
                clock.cancel()

    def show_life(self) -> None:
        """Say now, and not at the next beat, that it goes on."""
        if self._log is not None and not self._log.beat():
            self._lose()

    def _expire(self) -> None:
        self._expired = True
        self._break_off()

    def _lose(self) -> None:
        self._lost = True
        self._break_off()

    def _reached(self, log: RunLog) -> str | None:
        """Why the run ends, if a limit is reached."""
        seconds = (self._executor.clock() - log.row.started_at) / MICROS
        return self._options.reached(turns=self._turns, tokens=self._tokens, seconds=seconds)

    def _ending(
        self, reached: str | None, error: WeftError | None
    ) -> tuple[Ending, str | None, WeftError | None]:
        """How the run ends, by the first reason that holds, with its note; `reached` is a limit's."""
        if self._lost and error is None:
            error = ConflictError(
                "another run holds this node now", hint="its text is stored; ask again from another node"
            )
        if isinstance(error, LimitExceededError):
            return Ending.LIMIT, error.message, error
        if error is not None:
            return Ending.FAILED, None, error
        if self._stopping:
            return Ending.STOPPED, "stopped", None
        if self._expired:
            reached = f"ended after {self._options.seconds:g} seconds"
        return Ending.DONE if reached is None else Ending.LIMIT, reached, None

    def _speak(
        self,
        log: RunLog,
        place: StartPlace,
        options: Callable[[], GenerationOptions],
        observer: TurnObserver | None = None,
        *,
        forwards: tuple[type, ...] | None = None,
    ) -> tuple[Node | None, WeftError | None]:
        """Have the model speak; the node that came of it, and what went wrong."""
        try:
            generation = GenerationRun(log.caller, place, options(), observer=observer)
            with self._guard:
                self._generation = generation
            generation.start()
            if self._is_to_end:
                generation.stop()
            return self._hear(generation, self.forwards if forwards is None else forwards)
        except WeftError as error:
            return None, error
        finally:
            with self._guard:
                self._generation = None

    def _hear(
        self, generation: GenerationRun, forwards: tuple[type, ...]
    ) -> tuple[Node | None, WeftError | None]:
        node: Node | None = None
        error: WeftError | None = None
        while (event := generation.channel.get()) is not None:
            if self._steps:
                self._write_steps()
            if isinstance(event, forwards):
                self.channel.put(cast("E", event))
            match event:
                case Started():
                    self._attempts += [slot.attempt for slot in event.slots]
                case NodeCompleted():
                    node = event.node
                case Failed():
                    error = event.error
                case _:
                    pass
        return node, error

    def _money_left(self) -> Decimal | None:
        limit = self._options.budget
        if limit is None:
            return None
        with self._executor.store.read() as session:
            spent = Decimal(spent_on(session, self._attempts)) / MICROS
        return max(Decimal(0), limit - spent)
