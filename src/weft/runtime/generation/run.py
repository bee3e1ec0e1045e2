"""One generation from its first check to its last node: several calls at once, heard, written down, ended."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

from weft.errors import (
    ConflictError,
    ProviderError,
    StorageError,
    Trouble,
    UnavailableError,
    WeftError,
)
from weft.log import Log
from weft.providers.adapter import stream_retrying
from weft.providers.base import ProviderRegistry
from weft.providers.events import Event, Retried, TextDelta, ThinkingDelta, ToolCalled
from weft.redaction import redact
from weft.runtime.coordination.background import ModelLoop, model_loop
from weft.runtime.coordination.heartbeat import Heartbeat
from weft.runtime.coordination.idempotency import Idempotency, error_to_wire
from weft.runtime.coordination.leases import renew_lease
from weft.runtime.generation.answer import CallProgress, TurnObserver, UnsavedOutput
from weft.runtime.generation.finish_call import FinishCall, SaveRequest
from weft.runtime.generation.options import GenerationOptions
from weft.runtime.generation.plan import HOLD_SECONDS, GenerationPlan, PlannedCall, plan_generation
from weft.runtime.generation.recovery import FirstCall, replay_call
from weft.runtime.generation.spending import micros_of
from weft.runtime.generation.start_point import StartPlace
from weft.runtime.generation.stream import (
    EventChannel,
    Failed,
    GenerationEvent,
    NodeCompleted,
    Retrying,
    Started,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
)
from weft.runtime.operations.agent_memory import KeepThought
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.permissions import Actor
from weft.store.leases import lease_at
from weft.store.lookup import find_agent
from weft.store.model_calls import MICROS, PieceRow, hold_calls, put_piece
from weft.store.transaction import Transaction
from weft.tree.attempt import AttemptOutcome
from weft.tree.json import JsonValue
from weft.tree.node import Node, Status

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
_REFUSED = 400
"""Answers with a status from here on are paid by nobody."""
_log = Log("weft.generation")


class GenerationRun:
    """A generation under way. It goes on in the background; whoever listens reads its channel."""

    def __init__(
        self,
        executor: Executor,
        actor: Actor,
        registry: ProviderRegistry,
        place: StartPlace,
        options: GenerationOptions,
        *,
        listener: TurnObserver | None = None,
    ) -> None:
        self.channel: EventChannel[GenerationEvent] = EventChannel()
        self._listener = listener
        self._executor = executor
        self._actor = actor
        self._registry = registry
        self._place = place
        self._options = options
        self._hearing: ModelLoop = model_loop()
        self._listening: set[asyncio.Task[None]] = set()
        self._stopping = False
        self._lost: WeftError | None = None
        """Why the generation stopped by itself: its lease is lost."""
        self._left = 0
        """Calls that have not ended."""
        self._stood: tuple[int, str] | None = None
        """The continuation that whoever asked was moved to: its slot and its id."""
        self._moving = asyncio.Lock()
        self._nodes: dict[int, Node] = {}
        """By slot."""
        self._errors: list[WeftError] = []
        self._failed: list[Failed] = []
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
            if self._options.idempotency_key is None:
                await self._work()
            else:
                await self._hearing.in_waiting_thread(self._once)
        except BaseException as error:  # noqa: BLE001 - raised to the reader of the channel
            if not isinstance(error, WeftError):
                _log.failure("generation failed", error, tree=self._place.tree)
            self.channel.close(None if error in self._errors else error)
        else:
            self.channel.close()

    def _once(self) -> None:
        """The work, unless a call with the same key did it: then what that one made is told again."""
        calls = Idempotency(
            self._executor,
            self._actor,
            hold=HOLD_SECONDS,
            patience=_PATIENCE,
            given_up=lambda: self._stopping,
            on_lost=self._lose,
        )
        place = {"tree": self._place.tree, "node": self._place.node}
        outcome = calls.once(
            "generate", self._options.idempotency_key, {**place, **self._options.body()}, self._work_here
        )
        if outcome.is_repeated:
            replay_call(self._executor, self._actor, self.channel, outcome, self._first_call())

    def _first_call(self) -> FirstCall:
        return FirstCall(tree=self._place.tree, key=self._options.idempotency_key or "")

    def _work_here(self) -> JsonValue:
        return self._hearing.submit(self._work()).result()

    async def _work(self) -> JsonValue:
        prepared = await self._hearing.in_thread(
            partial(plan_generation, self._executor, self._actor, self._registry, self._place, self._options)
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
        heartbeat = Heartbeat(partial(self._renew, prepared), hold=HOLD_SECONDS, on_lost=self._lose)
        beating = asyncio.create_task(self._beat(heartbeat))
        try:
            await asyncio.gather(*(self._call(prepared, call) for call in prepared.calls))
        finally:
            beating.cancel()
        if not self._nodes and self._errors:
            # Nothing to show: the error is the answer, also for whoever asks again with the same key.
            raise self._errors[0]
        return {
            "tree": prepared.tree_id,
            "nodes": [[slot, node.id] for slot, node in sorted(self._nodes.items())],
            "failures": [
                {"slots": list(failed.slots), "error": error_to_wire(failed.error)} for failed in self._failed
            ],
        }

    async def _call(self, prepared: GenerationPlan, call: PlannedCall) -> None:
        heard = CallProgress(call)
        writing = asyncio.create_task(_Flusher(self, prepared, heard).run())
        listening = asyncio.create_task(self._listen(call, heard))
        self._listening.add(listening)
        if self._stopping:
            listening.cancel()
        try:
            await listening
        except asyncio.CancelledError:
            heard.error = self._lost
            heard.stopped = self._lost is None
        except WeftError as error:
            heard.error = error
        except Exception as error:  # noqa: BLE001 - an adapter's mistake must not cost what came before it
            _log.failure("model call failed", error, model=call.model, attempt=call.attempt)
            heard.error = ProviderError(Trouble.UNKNOWN, _described(error))
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
        except Exception as error:  # noqa: BLE001 - the other calls go on; this one was closed without its nodes
            _log.failure("answer not written", error, model=call.model, attempt=call.attempt)
            self._fail(call, call.slots, StorageError(_described(error)))
            return
        nodes = dict(settled)
        for number, node in settled:
            self._nodes[call.slots[number]] = node
            self.channel.put(NodeCompleted(call.slots[number], node))
        if heard.error is not None:
            whole = {number for number, node in nodes.items() if node.status is Status.COMPLETE}
            self._fail(
                call,
                tuple(slot for number, slot in enumerate(call.slots) if number not in whole),
                heard.error,
            )

    def _fail(self, call: PlannedCall, slots: tuple[int, ...], error: WeftError) -> None:
        self._errors.append(error)
        if slots or not call.slots:
            failed = Failed(slots, error)
            self._failed.append(failed)
            self.channel.put(failed)

    async def _listen(self, call: PlannedCall, heard: CallProgress) -> None:
        if self._listener is not None:
            self._listener.begin(call.request)
        at_once = _LOCAL_CALLS_AT_ONCE if call.profile.local else _CALLS_AT_ONCE
        async with (
            self._hearing.slots(call.provider.name, at_once),
            aclosing(stream_retrying(call.provider, call.request)) as events,
        ):
            async for event in events:
                heard.add(event, self._executor.clock())
                self._tell(call, event)
                if isinstance(event, TextDelta) and self._has_heard_enough(event):
                    # The stream is closed here: what would follow is neither wanted nor paid for.
                    heard.cut = True
                    return

    def _has_heard_enough(self, event: TextDelta) -> bool:
        return self._listener is not None and event.choice == 0 and self._listener.hear(event.text)

    def _tell(self, call: PlannedCall, event: Event) -> None:
        match event:
            case TextDelta() if event.choice < len(call.slots):
                self.channel.put(TextChunk(call.slots[event.choice], event.text, event.chances))
            case ThinkingDelta() if event.choice < len(call.slots):
                self.channel.put(ThinkingChunk(call.slots[event.choice], event.text))
            case ToolCalled() if event.choice < len(call.slots):
                self.channel.put(ToolCallChunk(call.slots[event.choice], event.call))
            case Retried():
                self.channel.put(Retrying(call.slots, event.error, event.wait))
            case _:
                pass

    async def _settle_patiently(
        self, prepared: GenerationPlan, heard: CallProgress, *, last: bool
    ) -> list[tuple[int, Node]]:
        """A full disk or a lost server may be back in a moment; the words are here as long as this waits."""
        work = partial(self._settle, prepared, heard, last=last)
        # One after the other, because each may move whoever asked on from where the one before did.
        async with self._moving:
            for wait in _WAITS:
                try:
                    return await self._hearing.in_thread(work)
                except (StorageError, UnavailableError):
                    await asyncio.sleep(wait)
            return await self._hearing.in_thread(work)

    def _settle(self, prepared: GenerationPlan, heard: CallProgress, *, last: bool) -> list[tuple[int, Node]]:
        """Write the end of a call; returns each node with its choice's number."""
        said, outcome = heard.said(), None
        if self._listener is not None:
            said, outcome = self._listener.reply(heard, said), heard.outcome_of_turn()
        call, begun = heard.call, prepared.begun
        slot = min((call.slots[each.choice] for each in said), default=None)
        # The first continuation is where one stands in the end, whichever call ended first.
        moves = self._place.moves and slot is not None and (self._stood is None or slot < self._stood[0])
        operation = FinishCall(
            tree=prepared.tree_id,
            attempt=call.attempt,
            agent=call.agent.id,
            sources=prepared.sources,
            outcome=heard.outcome(said) if outcome is None else outcome,
            said=said,
            segments=heard.segments,
            response=heard.response(),
            manifest=call.manifest,
            error=heard.told,
            earlier=heard.earlier(),
            lease=(begun.lease.run, begun.lease.token),
            generation=begun.generation,
            releases=last and not begun.is_borrowed,
            spent=_spent(heard),
            moves=moves,
            cursor=self._cursor(prepared),
            idempotency_key=self._options.idempotency_key,
            also_write=None if self._listener is None else self._listener.note,
        )
        try:
            settled = self._executor.perform(self._actor, operation)
        except (StorageError, UnavailableError):
            raise
        except Exception as error:
            self._end_without_nodes(operation, error)
            raise
        if self._listener is None:
            self._keep_thoughts(prepared.tree_id, heard)
        if moves and slot is not None:
            self._stood = slot, settled.nodes[0].id
        return [(each.choice, node) for each, node in zip(said, settled.nodes, strict=True)]

    def _end_without_nodes(self, operation: FinishCall, error: Exception) -> None:
        """The place is gone or another's, or something cannot be stored: nothing may be left running.

        The answer is kept with its attempt; where even that cannot be stored, the call ends without it.
        """
        why = redact(error.message) if isinstance(error, WeftError) else _described(error)
        kept = replace(operation, said=(), outcome=AttemptOutcome.FAILED, error=why)
        bare = replace(kept, response=None, earlier=(), also_write=None)
        for attempt in (kept, bare):
            try:
                self._executor.perform(self._actor, attempt)
            except (StorageError, UnavailableError):
                raise
            except Exception as another:  # noqa: BLE001 - the last try is without all that may be wrong
                _log.failure("answer not written", another, attempt=operation.attempt)
            else:
                return

    def _keep_thoughts(self, tree: str, heard: CallProgress) -> None:
        thoughts = heard.thoughts()
        if not thoughts:
            return
        # The answer is written by now: whatever happens, it is not written again. The response has them anyway.
        with suppress(WeftError):
            with self._executor.store.read() as session:
                agent = Actor(agent=find_agent(session, heard.call.agent.id), caller=self._actor)
            for thought in thoughts:
                self._executor.perform(agent, KeepThought(tree=tree, text=thought))

    def _cursor(self, prepared: GenerationPlan) -> str | None:
        """Where whoever asked has to stand still, to be moved on."""
        if self._stood is not None:
            return self._stood[1]
        return prepared.cursor if self._listener is None else self._listener.cursor

    async def _beat(self, heartbeat: Heartbeat) -> None:
        """Show that this process is alive, for as long as it listens."""
        while not heartbeat.is_lost:
            await asyncio.sleep(heartbeat.every)
            await self._hearing.in_thread(heartbeat.beat)

    def _lose(self) -> None:
        """Stop: another may extend this place by now."""
        self._lost = ConflictError(
            "the lease on this place was lost while the answer came",
            hint="what came is kept; generate again, or go on from another node",
        )
        self.stop()

    def _renew(self, prepared: GenerationPlan) -> bool:
        """Keep the lease and the calls for longer; False if the lease is lost."""
        return self._executor.store.write(partial(self._hold, prepared))

    def _hold(self, prepared: GenerationPlan, transaction: Transaction) -> bool:
        begun, now = prepared.begun, self._executor.clock()
        until = now + round(HOLD_SECONDS * MICROS)
        if begun.is_borrowed:
            # Its run renews it.
            held = lease_at(transaction, begun.tree, begun.lease.position, now)
            is_held = held is None or held.run == begun.lease.run
        else:
            is_held = renew_lease(transaction, transaction.tree_state(begun.tree), begun.lease, now, until)
        if is_held:
            hold_calls(transaction, begun.tree, [key for key, _ in begun.attempts], until)
        return is_held

    def keep_so_far(
        self, prepared: GenerationPlan, heard: CallProgress, news: UnsavedOutput
    ) -> Callable[[], None]:
        """Write down what came since the last time; with the first of it, what was sent."""
        piece, call = news.piece, heard.call
        segments = heard.segments
        if news.ordinal == 1 and segments is not None:
            operation = SaveRequest(
                tree=prepared.tree_id, attempt=call.attempt, segments=segments, piece=piece
            )
            return partial(self._executor.perform, self._actor, operation)
        return partial(self._executor.store.write, partial(_put_piece, prepared.begun.tree, call.key, piece))

    async def in_thread(self, work: Callable[[], T]) -> T:
        return await self._hearing.in_thread(work)


class _Flusher:
    """Writes down what one call brings, while it brings it."""

    def __init__(self, run: GenerationRun, prepared: GenerationPlan, heard: CallProgress) -> None:
        self._run = run
        self._prepared = prepared
        self._heard = heard

    async def run(self) -> None:
        """Until it is cancelled: then the call has ended, and its end writes the rest."""
        heard = self._heard
        while True:
            await asyncio.sleep(FLUSH_SECONDS if heard.written else FLUSH_SECONDS / 5)
            if not heard.has_news:
                continue
            news = heard.take_news()
            work = self._run.keep_so_far(self._prepared, heard, news)
            try:
                await _to_its_end(self._run.in_thread(work))
            except WeftError:
                # A full disk, a lost server: the next piece has it all, or the end of the call.
                heard.put_back(news)
            except Exception as error:  # noqa: BLE001 - the answer goes on and is written at its end
                _log.failure("partial answer not saved", error, attempt=heard.call.attempt)
                heard.put_back(news)
            else:
                heard.written += 1


def _described(error: Exception) -> str:
    return redact(f"{type(error).__name__}: {error}")


def _put_piece(tree: int, attempt: int, piece: PieceRow, transaction: Transaction) -> None:
    put_piece(transaction, tree, attempt, piece)


def _spent(heard: CallProgress) -> int | None:
    """What the call came to; None where nobody counted, and then what was expected stands."""
    prices, usage = heard.call.profile.prices, heard.answer.usage
    if prices is None or (usage.prompt is None and usage.completion is None):
        last = heard.answer.recording.last
        status = None if last is None else last.status
        return 0 if status is None or status >= _REFUSED else None
    if not heard.is_counted:
        # It was stopped or cut: what was told in the beginning counts no words that came afterwards.
        came = max(usage.completion or 0, heard.tokens_said)
        usage = replace(usage, completion=came)
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
