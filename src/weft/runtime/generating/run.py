"""One generation from its first check to its last node: several calls at once, heard, written down, ended."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from weft.errors import (
    ProviderError,
    StorageError,
    Trouble,
    UnavailableError,
    WeftError,
)
from weft.providers.events import Event, Retried, TextDelta, ThinkingDelta, ToolCalled
from weft.providers.registry import ProviderRegistry
from weft.providers.retries import stream_retrying
from weft.runtime.generating.caps import micros_of
from weft.runtime.generating.hearing import Heard, News
from weft.runtime.generating.listening import Listener
from weft.runtime.generating.loop import Hearing, hearing
from weft.runtime.generating.preparing import HOLD_SECONDS, Call, Prepared, prepare
from weft.runtime.generating.repeating import FirstCall, answer_again
from weft.runtime.generating.settling import KeepRequest, SettleCall
from weft.runtime.generating.telling import (
    Called,
    Channel,
    Ended,
    Failed,
    GenerationEvent,
    Retrying,
    Said,
    Started,
    Thought,
)
from weft.runtime.generating.wishes import Wishes
from weft.runtime.idempotency import Idempotency, error_to_wire
from weft.runtime.operations.agent_memory import KeepThought
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.permissions import Actor
from weft.runtime.redaction import redact
from weft.store.calls import PieceRow, hold_calls, put_piece
from weft.store.leases import lease_at, put_lease
from weft.store.references import find_agent
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
_REFUSED = 400
"""Answers with a status from here on are paid by nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a generation starts: a node, or where whoever asks stands."""

    tree: str
    node: str | None


class Run:
    """A generation under way. It goes on in the background; whoever listens reads its channel."""

    def __init__(
        self,
        gate: Executor,
        actor: Actor,
        registry: ProviderRegistry,
        place: Place,
        wishes: Wishes,
        *,
        listener: Listener | None = None,
    ) -> None:
        self.channel: Channel[GenerationEvent] = Channel()
        self._listener = listener
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
        calls = Idempotency(self._gate, self._actor, patience=_PATIENCE, given_up=lambda: self._stopping)
        place = {"tree": self._place.tree, "node": self._place.node}
        outcome = calls.once(
            "generate", self._wishes.idempotency_key, {**place, **self._wishes.body()}, self._work_here
        )
        if outcome.is_repeated:
            answer_again(self._gate, self._actor, self.channel, outcome, self._first_call())

    def _first_call(self) -> FirstCall:
        return FirstCall(tree=self._place.tree, key=self._wishes.idempotency_key or "")

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
        return {
            "tree": prepared.tree_id,
            "nodes": [[slot, node.id] for slot, node in sorted(self._nodes.items())],
            "failures": [
                {"slots": list(failed.slots), "error": error_to_wire(failed.error)} for failed in self._failed
            ],
        }

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
            self._nodes[call.slots[number]] = node
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
            failed = Failed(slots, error)
            self._failed.append(failed)
            self.channel.put(failed)

    async def _listen(self, call: Call, heard: Heard) -> None:
        if self._listener is not None:
            self._listener.begin(call.request)
        at_once = _LOCAL_CALLS_AT_ONCE if call.profile.local else _CALLS_AT_ONCE
        async with (
            self._hearing.slots(call.provider.name, at_once),
            aclosing(stream_retrying(call.provider, call.request)) as events,
        ):
            async for event in events:
                heard.add(event, self._gate.clock())
                self._tell(call, event)
                if isinstance(event, TextDelta) and self._has_heard_enough(event):
                    # The stream is closed here: what would follow is neither wanted nor paid for.
                    heard.cut = True
                    return

    def _has_heard_enough(self, event: TextDelta) -> bool:
        return self._listener is not None and event.choice == 0 and self._listener.hear(event.text)

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
        work = partial(self._settle, prepared, heard, last=last)
        # One after the other, because each may move whoever asked on from where the one before did.
        async with self._moving:
            for wait in _WAITS:
                try:
                    return await self._hearing.in_thread(work)
                except (StorageError, UnavailableError):
                    await asyncio.sleep(wait)
            return await self._hearing.in_thread(work)

    def _settle(self, prepared: Prepared, heard: Heard, *, last: bool) -> list[tuple[int, Node]]:
        """Write the end of a call; returns each node with its choice's number."""
        said, outcome = heard.said(), None
        if self._listener is not None:
            said, outcome = self._listener.reply(heard, said), heard.outcome_of_turn()
        call, begun = heard.call, prepared.begun
        slot = min((call.slots[each.choice] for each in said), default=None)
        # The first continuation is where one stands in the end, whichever call ended first.
        moves = self._wishes.moves and slot is not None and (self._stood is None or slot < self._stood[0])
        operation = SettleCall(
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
            lease=(begun.run, begun.token),
            generation=begun.generation,
            releases=last and not begun.is_borrowed,
            spent=_spent(heard),
            moves=moves,
            cursor=self._cursor(prepared),
            idempotency_key=self._wishes.idempotency_key,
            beside=None if self._listener is None else self._listener.note,
        )
        try:
            settled = self._gate.perform(self._actor, operation)
        except (StorageError, UnavailableError):
            raise
        except WeftError as error:
            if not said:
                raise
            # The place is gone or another's, or no node can hold this: the answer is kept with its attempt.
            kept = replace(operation, said=(), outcome=Outcome.FAILED, error=redact(error.message))
            self._gate.perform(self._actor, kept)
            raise
        if self._listener is None:
            self._keep_thoughts(prepared.tree_id, heard)
        if moves and slot is not None:
            self._stood = slot, settled.nodes[0].id
        return [(each.choice, node) for each, node in zip(said, settled.nodes, strict=True)]

    def _keep_thoughts(self, tree: str, heard: Heard) -> None:
        thoughts = heard.thoughts()
        if not thoughts:
            return
        # The answer is written by now: whatever happens, it is not written again. The response has them anyway.
        with suppress(WeftError):
            with self._gate.store.read() as session:
                agent = Actor(agent=find_agent(session, heard.call.agent.id), caller=self._actor)
            for thought in thoughts:
                self._gate.perform(agent, KeepThought(tree=tree, text=thought))

    def _cursor(self, prepared: Prepared) -> str | None:
        """Where whoever asked has to stand still, to be moved on."""
        if self._stood is not None:
            return self._stood[1]
        return prepared.cursor if self._listener is None else self._listener.cursor

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
            put_lease(transaction, state, held._replace(expires_at=until))
        hold_calls(transaction, begun.tree, [key for key, _ in begun.attempts], until)

    def keep_so_far(self, prepared: Prepared, heard: Heard, news: News) -> Callable[[], None]:
        """Write down what came since the last time; with the first of it, what was sent."""
        piece, call = news.piece, heard.call
        segments = heard.segments
        if news.ordinal == 1 and segments is not None:
            operation = KeepRequest(
                tree=prepared.tree_id, attempt=call.attempt, segments=segments, piece=piece
            )
            return partial(self._gate.perform, self._actor, operation)
        return partial(self._gate.store.write, partial(_put_piece, prepared.begun.tree, call.key, piece))

    async def in_thread(self, work: Callable[[], T]) -> T:
        return await self._hearing.in_thread(work)


class _Flusher:
    """Writes down what one call brings, while it brings it."""

    def __init__(self, run: Run, prepared: Prepared, heard: Heard) -> None:
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
            except Exception:  # noqa: BLE001 - a full disk, a lost server: the next piece has it all, or the end of the call
                heard.put_back(news)
            else:
                heard.written += 1


def _put_piece(tree: int, attempt: int, piece: PieceRow, transaction: Transaction) -> None:
    put_piece(transaction, tree, attempt, piece)


def _spent(heard: Heard) -> int | None:
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
