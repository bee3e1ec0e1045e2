"""One generation from its first check to its last node: several calls at once, heard, written down, ended."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from weft.errors import (
    ConflictError,
    NotFoundError,
    ProviderError,
    StorageError,
    Trouble,
    UnavailableError,
    WeftError,
)
from weft.providers.events import Event, Retried, TextDelta, ThinkingDelta, ToolCalled
from weft.providers.registry import Registry
from weft.providers.retrying import stream_retrying
from weft.runtime.actor import Actor
from weft.runtime.gate import Gate
from weft.runtime.generating.caps import micros_of
from weft.runtime.generating.hearing import Heard
from weft.runtime.generating.loop import Hearing, hearing
from weft.runtime.generating.preparing import HOLD_SECONDS, Call, Prepared, prepare
from weft.runtime.generating.repeating import answer_again
from weft.runtime.generating.settling import KeepRequest, SettleCall
from weft.runtime.generating.telling import (
    Called,
    Channel,
    Ended,
    Failed,
    Retrying,
    Said,
    Started,
    Thought,
)
from weft.runtime.generating.wishes import Wishes
from weft.runtime.idempotency import Idempotency
from weft.runtime.redaction import redact
from weft.store.calls import add_piece, hold_calls
from weft.store.leases import LeaseRow, lease_at, put_lease
from weft.store.spending import MICROS
from weft.store.transaction import Transaction
from weft.tree.attempt import Outcome
from weft.tree.json import JsonValue
from weft.tree.node import Node, Status

__all__ = ["FLUSH_SECONDS", "Place", "Run"]

T = TypeVar("T")
FLUSH_SECONDS = 0.25
"""What was shown is durable at most about this much later."""
_CALLS_AT_ONCE = 16
_LOCAL_CALLS_AT_ONCE = 64
"""A model on this machine orders its calls itself."""
_WAITS = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds between tries to write the end of a call."""
_PATIENCE = 600.0
"""Seconds for which a second call with the same key waits for the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a generation starts: a node, or where whoever asks stands."""

    tree: str
    node: str | None


class Run:
    """A generation under way. It goes on in the background; whoever listens reads its channel."""

    def __init__(self, gate: Gate, actor: Actor, registry: Registry, place: Place, wishes: Wishes) -> None:
        self.channel = Channel()
        self._gate = gate
        self._actor = actor
        self._registry = registry
        self._place = place
        self._wishes = wishes
        self._hearing: Hearing = hearing()
        self._listening: set[asyncio.Task[None]] = set()
        self._stopping = False
        self._left = 0
        """Calls that have not ended."""
        self._moved = False
        self._nodes: list[Node] = []
        self._errors: list[WeftError] = []
        self._future: Future[None] | None = None

    def start(self) -> None:
        self._future = self._hearing.submit(self._drive())

    def stop(self) -> None:
        """Ask for no more words; what came is kept. Returns at once."""
        self._hearing.loop.call_soon_threadsafe(self._stop)

    def wait(self, timeout: float | None = None) -> None:
        """Until everything is kept that is to be kept."""
        if self._future is not None:
            self._future.result(timeout)

    @property
    def is_over(self) -> bool:
        return self._future is not None and self._future.done()

    def _stop(self) -> None:
        self._stopping = True
        for task in self._listening:
            task.cancel()

    async def _drive(self) -> None:
        try:
            if self._wishes.idempotency_key is None:
                await self._work()
            else:
                await self._hearing.in_waiting_thread(self._once)
        except BaseException as error:  # noqa: BLE001 - whoever listens is told, whatever it was
            self.channel.close(None if error in self._errors else error)
        else:
            self.channel.close()

    def _once(self) -> None:
        """The work, unless a call with the same key did it: then what that one made is told again."""
        calls = Idempotency(self._gate, self._actor, patience=_PATIENCE)
        place = {"tree": self._place.tree, "node": self._place.node}
        outcome = calls.once(
            "generate", self._wishes.idempotency_key, {**place, **self._wishes.body()}, self._work_here
        )
        if outcome.is_repeated:
            answer_again(self._gate, self._actor, self.channel, outcome, self._wishes.idempotency_key or "")

    def _work_here(self) -> JsonValue:
        return self._hearing.submit(self._work()).result()

    async def _work(self) -> JsonValue:
        place = (self._place.tree, self._place.node)
        prepared = await self._hearing.in_thread(
            partial(prepare, self._gate, self._actor, self._registry, place, self._wishes)
        )
        self.channel.put(
            Started(
                tree_id=prepared.tree_id,
                parent_id=prepared.parent_id,
                slots=prepared.slots,
                tokens=prepared.tokens,
            )
        )
        self._left = len(prepared.calls)
        beating = asyncio.create_task(self._beat(prepared))
        try:
            await asyncio.gather(*(self._call(prepared, call) for call in prepared.calls))
        finally:
            beating.cancel()
        if not self._nodes and self._errors:
            # Nothing to show: the error is the answer, also for whoever asks again with the same key.
            raise self._errors[0]
        return {"tree": prepared.tree_id, "nodes": [node.id for node in self._nodes]}

    async def _call(self, prepared: Prepared, call: Call) -> None:
        heard = Heard(call)
        writing = asyncio.create_task(_Flusher(self, prepared, heard).run())
        listening = asyncio.create_task(self._listen(call, heard))
        self._listening.add(listening)
        if self._stopping:
            listening.cancel()
        try:
            await listening
        except asyncio.CancelledError:
            heard.stopped = True
        except WeftError as error:
            heard.error = error
        except Exception as error:  # noqa: BLE001 - an adapter's mistake must not cost what came before it
            heard.error = ProviderError(Trouble.UNKNOWN, redact(f"{type(error).__name__}: {error}"))
        self._listening.discard(listening)
        await _ended(writing)
        heard.end()
        self._left -= 1
        try:
            settled = await self._settle_patiently(prepared, heard, last=self._left == 0)
        except WeftError as error:
            # It cannot be written. What was flushed is there, and is closed when its time has run out.
            self._fail(call, call.slots, error)
            return
        nodes = dict(settled)
        for number, node in settled:
            self._nodes.append(node)
            self.channel.put(Ended(call.slots[number], node))
        if heard.error is not None:
            whole = {number for number, node in nodes.items() if node.status is Status.COMPLETE}
            self._fail(
                call,
                tuple(slot for number, slot in enumerate(call.slots) if number not in whole),
                heard.error,
            )

    def _fail(self, call: Call, slots: tuple[int, ...], error: WeftError) -> None:
        self._errors.append(error)
        if slots or not call.slots:
            self.channel.put(Failed(slots, error))

    async def _listen(self, call: Call, heard: Heard) -> None:
        at_once = _LOCAL_CALLS_AT_ONCE if call.profile.local else _CALLS_AT_ONCE
        async with (
            self._hearing.slots(call.provider.name, at_once),
            aclosing(stream_retrying(call.provider, call.request)) as events,
        ):
            async for event in events:
                heard.add(event, self._gate.clock())
                self._tell(call, event)

    def _tell(self, call: Call, event: Event) -> None:
        match event:
            case TextDelta() if event.choice < len(call.slots):
                self.channel.put(Said(call.slots[event.choice], event.text, event.chances))
            case ThinkingDelta() if event.choice < len(call.slots):
                self.channel.put(Thought(call.slots[event.choice], event.text))
            case ToolCalled() if event.choice < len(call.slots):
                self.channel.put(Called(call.slots[event.choice], event.call))
            case Retried():
                self.channel.put(Retrying(call.slots, event.error, event.wait))
            case _:
                pass

    async def _settle_patiently(
        self, prepared: Prepared, heard: Heard, *, last: bool
    ) -> list[tuple[int, Node]]:
        """A full disk or a lost server may be back in a moment; the words are here as long as this waits."""
        for wait in _WAITS:
            try:
                return await self._hearing.in_thread(partial(self._settle, prepared, heard, last=last))
            except (StorageError, UnavailableError):
                await asyncio.sleep(wait)
        return await self._hearing.in_thread(partial(self._settle, prepared, heard, last=last))

    def _settle(self, prepared: Prepared, heard: Heard, *, last: bool) -> list[tuple[int, Node]]:
        """Write the end of a call; returns each node with its choice's number."""
        said = heard.said()
        moves = self._wishes.moves and bool(said) and not self._moved
        self._moved = self._moved or bool(said)
        call, begun = heard.call, prepared.begun
        operation = SettleCall(
            tree=prepared.tree_id,
            attempt=call.attempt,
            agent=call.agent.id,
            sources=prepared.sources,
            outcome=heard.outcome(said),
            said=said,
            segments=heard.segments,
            response=heard.response(),
            manifest=call.manifest,
            error=heard.told,
            earlier=heard.earlier(),
            lease=(begun.run, begun.token),
            generation=begun.generation,
            releases=last and not begun.is_borrowed,
            spent=_spent(heard),
            moves=moves,
            cursor=prepared.cursor,
            idempotency_key=self._wishes.idempotency_key,
        )
        try:
            settled = self._gate.perform(self._actor, operation)
        except (ConflictError, NotFoundError) as error:
            if not said:
                raise
            # The place is gone or another's: the answer is kept with its attempt, and nobody is surprised.
            kept = replace(operation, said=(), outcome=Outcome.FAILED, error=redact(error.message))
            self._gate.perform(self._actor, kept)
            raise
        return [(each.choice, node) for each, node in zip(said, settled.nodes, strict=True)]

    async def _beat(self, prepared: Prepared) -> None:
        """Say that this process is alive, for as long as it listens."""
        while True:
            await asyncio.sleep(HOLD_SECONDS / 3)
            try:
                await self._hearing.in_thread(lambda: self._gate.store.write(partial(self._hold, prepared)))
            except WeftError:
                # The database is away for a moment: the next beat tries again.
                continue

    def _hold(self, prepared: Prepared, transaction: Transaction) -> None:
        begun, now = prepared.begun, self._gate.clock()
        until = now + round(HOLD_SECONDS * MICROS)
        state = transaction.tree_state(begun.tree)
        held = lease_at(transaction, begun.tree, begun.position, now)
        # One that ran out or was let go is not taken again: somebody may count on that.
        if held is not None and (held.run, held.token) == (begun.run, begun.token):
            row = LeaseRow(begun.tree, begun.position, begun.run, self._actor.agent, begun.token, until)
            put_lease(transaction, state, row)
        hold_calls(transaction, begun.tree, [key for key, _ in begun.attempts], until)

    def keep_so_far(self, prepared: Prepared, heard: Heard, *, first: bool) -> Callable[[], None]:
        """Write down what came since the last time; with the first of it, what was sent."""
        piece, call = heard.take_news(), heard.call
        segments = heard.segments
        if first and segments is not None:
            operation = KeepRequest(
                tree=prepared.tree_id, attempt=call.attempt, segments=segments, piece=piece
            )
            return partial(self._gate.perform, self._actor, operation)
        work = partial(_add_piece, prepared.begun.tree, call.key, piece.said, piece.wire)
        return partial(self._gate.store.write, work)

    async def in_thread(self, work: Callable[[], T]) -> T:
        return await self._hearing.in_thread(work)


class _Flusher:
    """Writes down what one call brings, while it brings it."""

    def __init__(self, run: Run, prepared: Prepared, heard: Heard) -> None:
        self._run = run
        self._prepared = prepared
        self._heard = heard
        self._first = True

    async def run(self) -> None:
        """Until it is cancelled: then the call has ended, and its end writes the rest."""
        while True:
            await asyncio.sleep(FLUSH_SECONDS / 5 if self._first else FLUSH_SECONDS)
            if not self._heard.has_news:
                continue
            work = self._run.keep_so_far(self._prepared, self._heard, first=self._first)
            self._first = False
            try:
                await _to_its_end(self._run.in_thread(work))
            except WeftError:
                # A full disk or a lost server: the end of the call tells, and holds everything.
                continue


def _add_piece(tree: int, attempt: int, said: str, wire: bytes, transaction: Transaction) -> None:
    add_piece(transaction, tree, attempt, said, wire)


def _spent(heard: Heard) -> int | None:
    """What the call came to; None where nobody counted, and then what was expected stands."""
    prices, usage = heard.call.profile.prices, heard.answer.usage
    if prices is None or (usage.prompt is None and usage.completion is None):
        untouched = heard.answer.recording.last is None or heard.answer.recording.last.answered is None
        return 0 if untouched else None
    return micros_of(prices.cost(usage))


async def _to_its_end(work: Awaitable[None]) -> None:
    """Also if it is cancelled meanwhile: what is being written is written, and only then this ends."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        raise


async def _ended(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
