"""A turn with an idempotency key: said and answered once, however often it is asked for."""

import threading
from collections.abc import Callable, Mapping
from typing import Any, cast

from weft.errors import ConflictError
from weft.runtime.collaboration.run_events import Began, Ending, Finished
from weft.runtime.coordination.idempotency import (
    Idempotency,
    KeyedResult,
    KeyedState,
    error_from_wire,
    error_to_wire,
)
from weft.runtime.generation.start_call import HOLD_SECONDS
from weft.runtime.generation.stream import EventChannel, Notice, TextChunk
from weft.runtime.operations.executor import Caller
from weft.runtime.runners.options import AskOptions, Runner
from weft.runtime.runners.run import RunnerRun
from weft.runtime.runners.run_events import RunnerEvent
from weft.runtime.views.reader import Reader
from weft.tree.content import plain_text
from weft.tree.json import JsonValue

_PATIENCE = 600.0
"""Seconds that a repeated question waits for the first one's answer."""


class KeyedRun:
    """A turn under way, or the repetition of one: its reader gets the same ending either way."""

    def __init__(
        self, caller: Caller, tree: str | None, options: AskOptions, key: str, begin: Callable[[], RunnerRun]
    ) -> None:
        """`tree` is the one that is named; `begin` says the question and starts."""
        self.channel: EventChannel[RunnerEvent] = EventChannel()
        self.runner: Runner = options.chosen_runner
        self.id = ""
        """Known when it began."""
        self._caller = caller
        self._tree = tree
        self._options = options
        self._key = key
        self._begin = begin
        self._run: RunnerRun | None = None
        self._finished: Finished | None = None
        self._stopping = False
        self._guard = threading.Lock()
        self._thread = threading.Thread(target=self._drive, name="weft-keyed-run", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """No more text and no more steps, unless the turn is another call's."""
        with self._guard:
            self._stopping = True
            run = self._run
        if run is not None:
            run.stop()

    def wait(self, timeout: float | None = None) -> None:
        if self._thread.is_alive():
            self._thread.join(timeout)

    @property
    def is_over(self) -> bool:
        return self._thread.ident is not None and not self._thread.is_alive()

    def _drive(self) -> None:
        calls = Idempotency(
            self._caller.executor,
            self._caller.actor,
            hold=HOLD_SECONDS,
            patience=_PATIENCE,
            given_up=lambda: self._stopping,
            on_lost=self.stop,
        )
        try:
            body = {"tree": self._tree, **self._options.body()}
            outcome = calls.once("ask", self._key, body, self._answer)
            if outcome.is_repeated:
                self._replay(outcome)
            elif self._finished is not None:
                self.channel.put(self._finished)
        except BaseException as error:  # noqa: BLE001 - raised to the reader of the channel
            self.channel.close(error)
        else:
            self.channel.close()

    def _answer(self) -> JsonValue:
        """Run the turn; its ending is the result, a failure too: the question is there and is not said again."""
        run = self._begin()
        with self._guard:
            self._run = run
        if self._stopping:
            run.stop()
        began: Began | None = None
        notices: list[JsonValue] = []
        while (event := run.channel.get()) is not None:
            match event:
                case Began():
                    began, self.id = event, event.run
                case Notice():
                    notices.append(event.message)
                case Finished():
                    # Told when its result is stored, so that a repetition finds it.
                    self._finished = event
                    continue
                case _:
                    pass
            self.channel.put(event)
        finished = self._finished
        if began is None or finished is None:
            raise ConflictError("the run has no end")
        return {
            "run": began.run,
            "tree": began.tree_id,
            "question": began.node_id,
            "agent": began.agent,
            "node": None if finished.reply is None else finished.reply.id,
            "ending": finished.ending.value,
            "note": finished.note,
            "notices": notices,
            "error": None if finished.error is None else error_to_wire(finished.error),
            "turns": finished.turns,
            "tokens": finished.tokens,
        }

    def _replay(self, outcome: KeyedResult) -> None:
        if outcome.state is KeyedState.INTERRUPTED or not isinstance(outcome.result, dict):
            raise ConflictError(
                "the first call with this idempotency key was interrupted: what it came to is in the tree",
                hint="go on with resume, or use a new key to ask again",
            )
        told = cast("Mapping[str, Any]", outcome.result)
        self.id = told["run"]
        self.channel.put(
            Began(run=told["run"], tree_id=told["tree"], node_id=told["question"], agent=told["agent"])
        )
        for message in told["notices"]:
            self.channel.put(Notice((0,), message))
        node, error = told["node"], told["error"]
        reply = None if node is None else Reader.of(self._caller).node(told["tree"], node)
        if reply is not None:
            self.channel.put(TextChunk(0, plain_text(reply.content)))
        self.channel.put(
            Finished(
                ending=Ending(told["ending"]),
                reply=reply,
                note=told["note"],
                error=None if error is None else error_from_wire(error),
                turns=told["turns"],
                tokens=told["tokens"],
            )
        )
