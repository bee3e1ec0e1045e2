"""One generation from its first check to its last node: calls run at once, are saved while they stream, and end."""

import asyncio
from collections.abc import Awaitable
from concurrent.futures import Future
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial

from weft.context.tool_text import CallWatch
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
from weft.providers.events import Event, Retried, TextDelta, ThinkingDelta, ToolCallDelta, ToolCalled, Warned
from weft.redaction import redact
from weft.runtime.coordination.background import ModelLoop, model_loop
from weft.runtime.coordination.heartbeat import Heartbeat
from weft.runtime.coordination.idempotency import Idempotency, error_to_wire
from weft.runtime.coordination.leases import renew_lease
from weft.runtime.coordination.run_stops import watch_stops
from weft.runtime.generation.answer import EMPTY, CallProgress, TurnObserver, UnsavedOutput
from weft.runtime.generation.finish_call import FinishCall, SaveRequest
from weft.runtime.generation.live_text import showing_text
from weft.runtime.generation.options import GenerationOptions
from weft.runtime.generation.plan import GenerationPlan, plan_generation
from weft.runtime.generation.provider_caches import renew_used_cache
from weft.runtime.generation.recovery import replay_call
from weft.runtime.generation.spending import micros_of
from weft.runtime.generation.start_call import HELD, HOLD_SECONDS, PlannedCall
from weft.runtime.generation.start_point import StartPlace
from weft.runtime.generation.stream import (
    ArgumentsChunk,
    EventChannel,
    Failed,
    GenerationEvent,
    NodeCompleted,
    Notice,
    Retrying,
    Started,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
)
from weft.runtime.operations.agent_memory import KeepThought
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.permissions import Actor
from weft.store.leases import lease_at
from weft.store.lookup import find_agent
from weft.store.model_calls import hold_calls, put_piece
from weft.store.transaction import Transaction
from weft.tree.attempt import AttemptOutcome, Usage
from weft.tree.json import JsonValue
from weft.tree.node import Node, Status

FLUSH_SECONDS = 0.25
"""Shown text is durable at most about this much later."""
_CALLS_AT_ONCE = 16
_LOCAL_CALLS_AT_ONCE = 64
"""A model on this machine orders its calls itself."""
_WAITS = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds between tries to write the end of a call."""
_PATIENCE = 600.0
"""Seconds for which a second call with the same key waits for the first."""
_REFUSED = 400
"""Answers with a status from here on cost nothing."""
_log = Log("weft.generation")


class GenerationRun:
    """A generation under way. It goes on in the background; its reader takes events from its channel."""

    def __init__(
        self,
        caller: Caller,
        place: StartPlace,
        options: GenerationOptions,
        *,
        observer: TurnObserver | None = None,
    ) -> None:
        self.channel: EventChannel[GenerationEvent] = EventChannel()
        self._observer = observer
        self._caller = caller
        self._place = place
        self._options = options
        self._loop: ModelLoop = model_loop()
        self._streaming: dict[str, asyncio.Task[None]] = {}
        """By attempt."""
        self._stopping = False
        self._lost: WeftError | None = None
        """Why the generation stopped by itself: its lease is lost."""
        self._left = 0
        """Calls that have not ended."""
        self._moved_to: tuple[int, str] | None = None
        """The continuation that the caller's cursor was moved to: its slot and its id."""
        self._finishing = asyncio.Lock()
        self._nodes: dict[int, Node] = {}
        """By slot."""
        self._errors: list[WeftError] = []
        self._failed: list[Failed] = []
        self._notices: list[Notice] = []
        self._future: Future[None] | None = None

    def start(self) -> None:
        self._future = self._loop.submit(self._drive())

    def stop(self) -> None:
        """Ask for no more text; what arrived is kept. Returns at once."""
        self._loop.loop.call_soon_threadsafe(self._stop)

    def wait(self, timeout: float | None = None) -> None:
        """Wait until everything is saved."""
        if self._future is not None:
            self._future.result(timeout)

    @property
    def is_over(self) -> bool:
        return self._future is not None and self._future.done()

    def _stop(self) -> None:
        self._stopping = True
        for task in self._streaming.values():
            task.cancel()

    def stop_attempt(self, attempt: str) -> None:
        """Ask for no more text of one call; the others go on. Returns at once."""
        self._loop.loop.call_soon_threadsafe(self._stop_attempt, attempt)

    def _stop_attempt(self, attempt: str) -> None:
        task = self._streaming.get(attempt)
        if task is not None:
            task.cancel()

    async def _drive(self) -> None:
        try:
            if self._options.idempotency_key is None:
                await self._work()
            else:
                await self._loop.in_waiting_thread(partial(self._once, self._options.idempotency_key))
        except BaseException as error:  # noqa: BLE001 - raised to the reader of the channel
            if not isinstance(error, WeftError):
                _log.failure("generation failed", error, tree=self._place.tree)
            self.channel.close(None if error in self._errors else error)
        else:
            self.channel.close()

    def _once(self, key: str) -> None:
        """Do the work, unless a call with the same key did it: then deliver the result of that call."""
        calls = Idempotency(
            self._caller.executor,
            self._caller.actor,
            hold=HOLD_SECONDS,
            patience=_PATIENCE,
            given_up=lambda: self._stopping,
            on_lost=self._lose,
        )
        tree = self._place.tree
        body = {"tree": tree, "node": self._place.node, **self._options.body()}
        outcome = calls.once("generate", key, body, lambda: self._loop.submit(self._work()).result())
        if outcome.is_repeated:
            replay_call(self._caller, tree, key, outcome, self.channel.put)

    async def _work(self) -> JsonValue:
        remarks = self._observer is not None
        plan = await self._loop.in_thread(
            partial(plan_generation, self._caller, self._place, self._options, remarks=remarks)
        )
        self.channel.put(
            Started(
                run=plan.started.lease.run,
                tree_id=plan.tree_id,
                parent_id=plan.parent_id,
                slots=plan.slots,
                tokens=plan.tokens,
            )
        )
        if self._caller.actor.run is None:
            watch_stops(self._caller.store, plan.started.lease.run, self)
        self._left = len(plan.calls)
        heartbeat = Heartbeat(partial(self._renew, plan), hold=HOLD_SECONDS, on_lost=self._lose)
        beating = asyncio.create_task(self._beat(heartbeat))
        try:
            await asyncio.gather(*(self._call(plan, call) for call in plan.calls))
        finally:
            beating.cancel()
        if not self._nodes and self._errors:
            # Nothing to show: the error is the answer, also to a repeated call with the same key.
            raise self._errors[0]
        return {
            "tree": plan.tree_id,
            "nodes": [[slot, node.id] for slot, node in sorted(self._nodes.items())],
            "failures": [
                {"slots": list(failed.slots), "error": error_to_wire(failed.error)} for failed in self._failed
            ],
            "notices": [{"slots": list(each.slots), "message": each.message} for each in self._notices],
        }

    async def _call(self, plan: GenerationPlan, call: PlannedCall) -> None:
        progress = CallProgress(call)
        with showing_text(self._caller.store, call.attempt, progress.text):
            await self._make_call(plan, call, progress)

    async def _make_call(self, plan: GenerationPlan, call: PlannedCall, progress: CallProgress) -> None:
        saving = asyncio.create_task(self._save_output(plan, progress))
        streaming = asyncio.create_task(self._stream(call, progress))
        self._streaming[call.attempt] = streaming
        if self._stopping:
            streaming.cancel()
        try:
            await streaming
        except asyncio.CancelledError:
            progress.error = self._lost
            progress.stopped = self._lost is None
        except WeftError as error:
            progress.error = error
        except Exception as error:  # noqa: BLE001 - an adapter's mistake must not cost what came before it
            _log.failure("model call failed", error, model=call.model, attempt=call.attempt)
            progress.error = ProviderError(Trouble.UNKNOWN, _described(error))
        del self._streaming[call.attempt]
        saving.cancel()
        await asyncio.gather(saving, return_exceptions=True)
        progress.end()
        self._left -= 1
        try:
            nodes = await self._finish_patiently(plan, progress, last=self._left == 0)
        except WeftError as error:
            # It cannot be written. What was saved is there, and is closed when its time has run out.
            self._fail(call.slots, error)
            return
        except Exception as error:  # noqa: BLE001 - the other calls go on; this one was closed without its nodes
            _log.failure("answer not written", error, model=call.model, attempt=call.attempt)
            self._fail(call.slots, StorageError(_described(error)))
            return
        for slot, node in nodes.items():
            self._nodes[slot] = node
            self.channel.put(NodeCompleted(slot, node))
        wanted = call.request.cache.cached_content
        if wanted is not None and "name" in wanted and progress.answer.lost_cache is None:
            await renew_used_cache(self._caller.executor, plan.started.tree, call.provider, wanted)
        if progress.error is not None:
            complete = {slot for slot, node in nodes.items() if node.status is Status.COMPLETE}
            self._fail(tuple(slot for slot in call.slots if slot not in complete), progress.error)

    def _notify(self, slots: tuple[int, ...], message: str) -> None:
        notice = Notice(slots, message)
        self._notices.append(notice)
        self.channel.put(notice)

    def _fail(self, slots: tuple[int, ...], error: WeftError) -> None:
        self._errors.append(error)
        if slots:
            failed = Failed(slots, error)
            self._failed.append(failed)
            self.channel.put(failed)

    async def _stream(self, call: PlannedCall, progress: CallProgress) -> None:
        observer = self._observer
        if observer is not None:
            observer.begin(call.request)
        # Where several choices come in one stream it is read to its end.
        watcher = CallWatch() if observer is None and call.reads_calls and len(call.slots) == 1 else observer
        at_once = _LOCAL_CALLS_AT_ONCE if call.profile.local else _CALLS_AT_ONCE
        async with (
            self._loop.slots(call.provider.name, at_once),
            aclosing(stream_retrying(call.provider, call.request)) as events,
        ):
            async for event in events:
                progress.add(event, self._caller.executor.clock())
                self._deliver(call, event)
                if watcher is None or not isinstance(event, TextDelta) or event.choice:
                    continue
                if watcher.hear(event.text):
                    # The stream is closed here: what would follow is neither wanted nor paid for.
                    progress.cut = True
                    return

    def _deliver(self, call: PlannedCall, event: Event) -> None:
        match event:
            case TextDelta() if event.choice < len(call.slots):
                self.channel.put(TextChunk(call.slots[event.choice], event.text, event.chances))
            case ThinkingDelta() if event.choice < len(call.slots):
                self.channel.put(ThinkingChunk(call.slots[event.choice], event.text))
            case ToolCallDelta() if event.choice < len(call.slots):
                slot = call.slots[event.choice]
                self.channel.put(ArgumentsChunk(slot, event.id, event.name, event.arguments))
            case ToolCalled() if event.choice < len(call.slots):
                self.channel.put(ToolCallChunk(call.slots[event.choice], event.call))
            case Retried():
                self.channel.put(Retrying(call.slots, event.error, event.wait))
            case Warned():
                self._notify(call.slots, event.message)
            case _:
                pass

    async def _finish_patiently(
        self, plan: GenerationPlan, progress: CallProgress, *, last: bool
    ) -> dict[int, Node]:
        """A full disk or a lost server may be back in a moment; the text is here as long as this waits."""
        work = partial(self._finish, plan, progress, last=last)
        # One after the other, because each may move the cursor on from where the one before did.
        async with self._finishing:
            for wait in _WAITS:
                try:
                    return await self._loop.in_thread(work)
                except (StorageError, UnavailableError):
                    await asyncio.sleep(wait)
            return await self._loop.in_thread(work)

    def _finish(self, plan: GenerationPlan, progress: CallProgress, *, last: bool) -> dict[int, Node]:
        """Write the end of a call; returns its nodes by slot."""
        continuations, observer = progress.continuations(), self._observer
        empty: tuple[int, ...] = ()
        if observer is None:
            outcome, cursor = progress.outcome(continuations), plan.cursor
            empty = progress.empty_slots(continuations)
        else:
            continuations = observer.reply(progress, continuations)
            outcome, cursor = progress.outcome_of_turn(), observer.cursor
        call, started, moved = progress.call, plan.started, self._moved_to
        slots = [call.slots[each.choice] for each in continuations]
        # The cursor ends at the first continuation, whichever call ended first.
        moves = self._place.moves and bool(slots) and (moved is None or min(slots) < moved[0])
        operation = FinishCall(
            tree=plan.tree_id,
            attempt=call.attempt,
            agent=call.agent.id,
            sources=plan.sources,
            outcome=outcome,
            continuations=continuations,
            segments=progress.segments,
            response=progress.response(),
            manifest=call.manifest,
            error=progress.why or (EMPTY if empty else None),
            failure=None if progress.error is None else error_to_wire(progress.error),
            earlier=progress.earlier(),
            lease=(started.lease.run, started.lease.token),
            generation=started.generation,
            releases=last and not started.is_borrowed,
            spent=_spent(progress),
            moves=moves,
            cursor=cursor if moved is None else moved[1],
            idempotency_key=self._options.idempotency_key,
            catalog=call.catalog,
            cache=progress.created_cache(),
            lost_cache=progress.answer.lost_cache,
            also_write=None if observer is None else observer.note,
        )
        try:
            nodes = self._caller.perform(operation)
        except (StorageError, UnavailableError):
            raise
        except Exception as error:
            self._end_without_nodes(operation, error)
            raise
        if observer is None:
            self._keep_thoughts(plan.tree_id, progress)
        if moves:
            self._moved_to = min(slots), nodes[0].id
        if empty:
            self._notify(empty, EMPTY)
        return dict(zip(slots, nodes, strict=True))

    def _end_without_nodes(self, operation: FinishCall, error: Exception) -> None:
        """The parent is gone or leased to another, or something cannot be stored: leave nothing running.

        The answer is kept with its attempt; if even that cannot be stored, the call ends without it.
        """
        why = redact(error.message) if isinstance(error, WeftError) else _described(error)
        failure = error_to_wire(error if isinstance(error, WeftError) else StorageError(why))
        kept = replace(operation, continuations=(), outcome=AttemptOutcome.FAILED, error=why, failure=failure)
        bare = replace(kept, response=None, earlier=(), also_write=None)
        for attempt in (kept, bare):
            try:
                self._caller.perform(attempt)
            except (StorageError, UnavailableError):
                raise
            except Exception as another:  # noqa: BLE001 - the last try is without all that may be wrong
                _log.failure("answer not written", another, attempt=operation.attempt)
            else:
                return

    def _keep_thoughts(self, tree: str, progress: CallProgress) -> None:
        thoughts = progress.thoughts()
        if not thoughts:
            return
        # The answer is written by now, and is not written again. The response has the thoughts anyway.
        with suppress(WeftError):
            with self._caller.store.read() as session:
                agent = Actor(agent=find_agent(session, progress.call.agent.id), caller=self._caller.actor)
            for thought in thoughts:
                self._caller.executor.perform(agent, KeepThought(tree=tree, text=thought))

    async def _beat(self, heartbeat: Heartbeat) -> None:
        """Show that this process is alive, for as long as it streams."""
        while not heartbeat.is_lost:
            await asyncio.sleep(heartbeat.every)
            await self._loop.in_thread(heartbeat.beat)

    def _lose(self) -> None:
        """Stop: another run may extend this place by now."""
        self._lost = ConflictError(
            "the lease on this node was lost during the answer",
            hint="what came is kept; generate again, or go on from another node",
        )
        self.stop()

    def _renew(self, plan: GenerationPlan) -> bool:
        """Hold the lease and the calls for longer; False if the lease is lost."""
        started, now = plan.started, self._caller.executor.clock()

        def work(transaction: Transaction) -> bool:
            if started.is_borrowed:
                # Its run renews it.
                held = lease_at(transaction, started.tree, started.lease.position, now)
                is_held = held is None or held.run == started.lease.run
            else:
                state = transaction.tree_state(started.tree)
                is_held = renew_lease(transaction, state, started.lease, now, now + HELD)
            if is_held:
                hold_calls(transaction, started.tree, [key for key, _ in started.attempts], now + HELD)
            return is_held

        return self._caller.store.write(work)

    async def _save_output(self, plan: GenerationPlan, progress: CallProgress) -> None:
        """Save what arrives, until cancelled: then the call has ended, and its end writes the rest."""
        while True:
            await asyncio.sleep(FLUSH_SECONDS if progress.written else FLUSH_SECONDS / 5)
            if not progress.has_news:
                continue
            output = progress.take_news()
            try:
                await _to_its_end(self._loop.in_thread(partial(self._save, plan, progress, output)))
            except WeftError:
                # A full disk, a lost server: the next piece has it all, or the end of the call.
                progress.put_back(output)
            except Exception as error:  # noqa: BLE001 - the answer goes on and is written at its end
                _log.failure("partial answer not saved", error, attempt=progress.call.attempt)
                progress.put_back(output)
            else:
                progress.written += 1

    def _save(self, plan: GenerationPlan, progress: CallProgress, output: UnsavedOutput) -> None:
        """Save what arrived since the last time; with the first of it, the request."""
        call, segments, piece = progress.call, progress.segments, output.piece
        if output.ordinal == 1 and segments is not None:
            self._caller.perform(
                SaveRequest(tree=plan.tree_id, attempt=call.attempt, segments=segments, piece=piece)
            )
        else:
            self._caller.store.write(
                lambda transaction: put_piece(transaction, plan.started.tree, call.key, piece)
            )


def _described(error: Exception) -> str:
    return redact(f"{type(error).__name__}: {error}")


def _spent(progress: CallProgress) -> int | None:
    """The price of the call; None where no usage was reported: then what was expected counts."""
    prices, usage = progress.call.profile.prices, progress.answer.usage
    if prices is None or (usage.prompt is None and usage.completion is None):
        last = progress.answer.recording.last
        status = None if last is None else last.status
        return 0 if status is None or status >= _REFUSED else None
    if not progress.is_counted:
        # It was stopped or cut: usage reported at the beginning does not count the text that came afterwards.
        usage = replace(usage, completion=max(usage.completion or 0, progress.tokens_said))
    made = progress.answer.cache
    cache = 0 if made is None or made.tokens is None else prices.cost(Usage(prompt=made.tokens))
    return micros_of(prices.cost(usage) + cache)


async def _to_its_end(work: Awaitable[None]) -> None:
    """Also if it is cancelled meanwhile: what is being written is written, and only then this ends."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        raise
