"""A collaborator's run from its first word to its reply: turn, batch, results, and again."""

import contextlib
import threading
from dataclasses import replace
from decimal import Decimal
from functools import partial

from weft.commands.catalog import not_run_note
from weft.commands.reply import Result, failed, results_message
from weft.context.agent_view.agent_context import Exchange
from weft.context.tokens import DEFAULT
from weft.errors import (
    ConflictError,
    InvalidInputError,
    InvalidSyntaxError,
    LimitExceededError,
    NotFoundError,
    WeftError,
)
from weft.ids import new_ulid
from weft.providers.base import ProviderRegistry
from weft.runtime.collaboration.commands.session import CommandSession
from weft.runtime.collaboration.finish import Conclude, edge_in, note_broken_off
from weft.runtime.collaboration.run_events import (
    Answered,
    Began,
    Ending,
    Finished,
    Retrying,
    RunEvent,
    ThinkingChunk,
    Turned,
)
from weft.runtime.collaboration.run_log import RunLog
from weft.runtime.collaboration.task import CollaborationTask
from weft.runtime.collaboration.turn import Turn
from weft.runtime.contexts.agent_context import InRun
from weft.runtime.coordination.heartbeat import beating
from weft.runtime.generation.assembly import AssembledRequest, AssemblyInput, assemble_in_run
from weft.runtime.generation.plan import HOLD_SECONDS
from weft.runtime.generation.run import GenerationRun
from weft.runtime.generation.start_point import StartPlace
from weft.runtime.generation.stream import EventChannel, Failed, NodeCompleted, Started
from weft.runtime.operations.executor import Caller
from weft.store.model_calls import MICROS, spent_on
from weft.tree.node import Node, Status
from weft.tree.tree import Mode


class Collaboration:
    """A run under way, in a thread of its own. Whoever listens reads its channel."""

    def __init__(self, caller: Caller, registry: ProviderRegistry, task: CollaborationTask) -> None:
        self.channel: EventChannel[RunEvent] = EventChannel()
        self.results: list[Result] = []
        self._caller = caller
        self._executor = caller.executor
        self._registry = registry
        self._task = task
        self.id = new_ulid(self._executor.clock(), self._executor.entropy)
        self._stopping = self._expired = self._lost = False
        self._generation: GenerationRun | None = None
        self._session: CommandSession | None = None
        self._journal: RunLog | None = None
        self._exchanges: list[Exchange] = []
        self._attempts: list[str] = []
        self._turns = self._tokens = 0
        self._guard = threading.Lock()
        self._thread = threading.Thread(target=self._drive, name="weft-collaborator", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """No more words and no more commands; what was said is kept. Returns at once."""
        self._stopping = True
        self._break_off()

    def wait(self, timeout: float | None = None) -> None:
        """Until everything is kept that is to be kept."""
        if self._thread.is_alive():
            self._thread.join(timeout)

    @property
    def is_over(self) -> bool:
        return self._thread.ident is not None and not self._thread.is_alive()

    def _break_off(self) -> None:
        with self._guard:
            generation, session = self._generation, self._session
        if generation is not None:
            generation.stop()
        if session is not None:
            session.stop()

    @property
    def _is_to_end(self) -> bool:
        return self._stopping or self._expired or self._lost

    def _drive(self) -> None:
        try:
            finished = self._work()
        except BaseException as error:  # noqa: BLE001 - whoever listens is told, whatever it was
            self.channel.close(error)
        else:
            self.channel.put(finished)
            self.channel.close()

    def _work(self) -> Finished:
        task = self._task
        journal = self._journal = RunLog.begin(
            self._executor,
            self._caller.actor,
            (task.tree_id, task.node_id),
            agent=task.agent_key,
            run=self.id,
        )
        began = Began(run=self.id, tree_id=task.tree_id, node_id=task.node_id, agent=task.agent.name)
        self.channel.put(began)
        clock = threading.Timer(task.options.seconds, self._expire)
        clock.daemon = True
        clock.start()
        try:
            with beating(journal.beat, hold=HOLD_SECONDS, on_lost=self._lose):
                return self._carry_through(journal)
        finally:
            clock.cancel()

    def _carry_through(self, journal: RunLog) -> Finished:
        """Whatever goes wrong, what was said is kept before anybody is told."""
        try:
            return self._go_on(journal)
        except WeftError as error:
            return self._finish(journal, Ending.FAILED, None, error=error)
        except Exception:
            with contextlib.suppress(WeftError):
                self._finish(journal, Ending.FAILED, None)
            raise

    def show_life(self) -> None:
        """Say now, and not at the next beat, that it goes on."""
        if self._journal is not None and not self._journal.beat():
            self._lose()

    def _expire(self) -> None:
        self._expired = True
        self._break_off()

    def _lose(self) -> None:
        self._lost = True
        self._break_off()

    def _go_on(self, journal: RunLog) -> Finished:
        task = self._task
        session = CommandSession(
            self._caller,
            task.tree_id,
            task.agent,
            run=self.id,
            unattended=task.options.unattended,
        )
        with self._guard:
            self._session = session
        while True:
            ended = self._why_end(journal)
            if ended is not None:
                return ended
            self._turns += 1
            self.channel.put(Turned(self._turns))
            turn = self._new_turn(journal)
            reply, error = self._listen(journal, session, turn)
            self._tokens += turn.tokens
            if turn.is_whole and error is None:
                self._keep_thoughts(session, turn)
                if turn.is_final:
                    session.note_not_run(turn.not_run)
            if error is not None or turn.is_final:
                return self._ended(journal, turn, reply, error)
            self._answer(journal, session, turn)

    def _why_end(self, journal: RunLog) -> Finished | None:
        seconds = (self._executor.clock() - journal.row.started_at) / MICROS
        reached = self._task.options.reached(turns=self._turns, tokens=self._tokens, seconds=seconds)
        if self._lost:
            return self._finish(journal, Ending.FAILED, None, error=_lost())
        if self._stopping:
            return self._finish(journal, Ending.STOPPED, "stopped")
        if self._expired or reached is not None:
            return self._finish(journal, Ending.LIMIT, reached or self._time_is_up())
        return None

    def _time_is_up(self) -> str:
        return f"ended after {self._task.options.seconds:g} seconds"

    def _new_turn(self, journal: RunLog) -> Turn:
        task = self._task
        return Turn(
            journal,
            number=self._turns,
            room=task.options.tokens - self._tokens,
            edge=edge_in(task.mode),
            cursor=task.cursor,
            tell=self.channel.put,
        )

    def _listen(
        self, journal: RunLog, session: CommandSession, turn: Turn
    ) -> tuple[Node | None, WeftError | None]:
        """Have the model speak; its reply, if the run ends by it."""
        task = self._task
        seen = partial(assemble_turn, session, task.node_id, task.asked, tuple(self._exchanges))
        try:
            options = replace(
                task.options.generation, agent=task.agent.id, assembly=seen, max_price=self._money_left()
            )
            place = StartPlace(tree=task.tree_id, node=journal.head.ulid)
            generation = GenerationRun(
                self._executor, journal.actor, self._registry, place, options, listener=turn
            )
            with self._guard:
                self._generation = generation
            generation.start()
            if self._is_to_end:
                generation.stop()
            return self._hear(generation)
        except WeftError as error:
            return None, error
        finally:
            with self._guard:
                self._generation = None

    def _hear(self, generation: GenerationRun) -> tuple[Node | None, WeftError | None]:
        reply: Node | None = None
        error: WeftError | None = None
        while (event := generation.channel.get()) is not None:
            match event:
                case Started():
                    self._attempts += [slot.attempt for slot in event.slots]
                case ThinkingChunk() | Retrying():
                    self.channel.put(event)
                case NodeCompleted():
                    reply = event.node
                case Failed():
                    error = event.error
                case _:
                    pass
        return reply, error

    def _money_left(self) -> Decimal | None:
        limit = self._task.options.budget
        if limit is None:
            return None
        with self._executor.store.read() as session:
            spent = Decimal(spent_on(session, self._attempts)) / MICROS
        return max(Decimal(0), limit - spent)

    def _ended(self, journal: RunLog, turn: Turn, reply: Node | None, error: WeftError | None) -> Finished:
        if self._lost and error is None:
            error = _lost()
        if error is not None:
            money = isinstance(error, LimitExceededError)
            note = error.message if money else None
            ending = Ending.LIMIT if money else Ending.FAILED
            return self._finish(journal, ending, note, reply=reply, error=error)
        if self._stopping:
            return self._finish(journal, Ending.STOPPED, "stopped", reply=reply)
        if self._expired:
            return self._finish(journal, Ending.LIMIT, self._time_is_up(), reply=reply)
        if turn.is_over:
            note = f"ended after {self._tokens:,} tokens, of {self._task.options.tokens:,}"
            return self._finish(journal, Ending.LIMIT, note, reply=reply)
        return self._finish(journal, Ending.DONE, None, reply=reply)

    def _keep_thoughts(self, session: CommandSession, turn: Turn) -> None:
        with contextlib.suppress(InvalidInputError, ConflictError, NotFoundError):
            # A thought that cannot be kept is no reason to end.
            session.think(turn.thoughts)

    def _answer(self, journal: RunLog, session: CommandSession, turn: Turn) -> None:
        """Run the batch, one after another; each is written down before it is begun."""
        results: list[Result] = []
        for number, found in enumerate(turn.batch):
            if self._is_to_end:
                break
            journal.begin_command(number)
            for result in session.steps([found], turn=self._turns):
                results.append(result)
                self.channel.put(Answered(result))
        else:
            journal.begin_command(len(turn.batch))
        self.results += results
        journal.follow()
        told = [results_message(results), not_run_note(turn.not_run)]
        if turn.truncated is not None:
            told.append(f"→ {turn.truncated.text[:80]}\n{failed(_cut_off())}")
        answer = "\n\n".join(filter(None, told))
        self._tokens += DEFAULT.of_text(answer)
        numbers = tuple(result.number for result in results)
        self._exchanges.append(Exchange(said=turn.said.strip("\n"), results=answer, numbers=numbers))

    def _finish(
        self,
        journal: RunLog,
        ending: Ending,
        note: str | None,
        *,
        reply: Node | None = None,
        error: WeftError | None = None,
    ) -> Finished:
        if reply is None:
            status = Status.COMPLETE if ending is Ending.DONE else Status.INTERRUPTED
            reply, error = self._conclude(journal, status, error)
        if ending is not Ending.DONE:
            self._note_break(journal, ending, note, reply=reply, error=error)
        return Finished(
            ending=ending, reply=reply, note=note, error=error, turns=self._turns, tokens=self._tokens
        )

    def _note_break(
        self,
        journal: RunLog,
        ending: Ending,
        note: str | None,
        *,
        reply: Node | None,
        error: WeftError | None,
    ) -> None:
        """Words that were interrupted say so themselves; where there are none in the path, the trace does."""
        shows = reply is not None and self._task.mode is Mode.DIALOGUE
        begun = self.results or error is None
        if shows or self._lost or not begun:
            return
        said = "stopped" if error is None else error.code
        when = f"in turn {self._turns}" if self._turns else "before the first turn"
        why = note if ending is Ending.LIMIT and note else f"{said} {when}"
        note_broken_off(self._executor, journal.row, journal.head.local_id, why)

    def _conclude(
        self, journal: RunLog, status: Status, error: WeftError | None
    ) -> tuple[Node | None, WeftError | None]:
        """What was said in earlier turns, as a reply; without any there is none."""
        if not journal.row.said:
            self._let_go(journal)
            return None, error
        conclude = Conclude(
            tree=self._task.tree_id,
            run=self.id,
            status=status,
            moves=True,
            cursor=self._task.cursor,
        )
        try:
            return self._executor.perform(journal.actor, conclude), error
        except (ConflictError, NotFoundError) as trouble:
            # The words are kept with their calls.
            self._let_go(journal)
            return None, error or trouble

    def _let_go(self, journal: RunLog) -> None:
        with contextlib.suppress(NotFoundError):
            # Somebody destroyed the tree meanwhile.
            journal.end()


def _lost() -> ConflictError:
    return ConflictError(
        "another run has this place by now", hint="what was said is kept; ask again from another node"
    )


def _cut_off() -> InvalidSyntaxError:
    return InvalidSyntaxError(
        "this command was cut off by the length limit, and not run", hint="say it again, and be brief"
    )


def assemble_turn(
    session: CommandSession, node: str, asked: str, exchanges: tuple[Exchange, ...], ask: AssemblyInput
) -> AssembledRequest:
    """The next turn of a run: from the node that it answers, with the exchanges since."""
    run = InRun(
        actor=session.caller.actor,
        memory=session.memory(),
        place=session.place(),
        exchanges=exchanges,
        asked=asked,
    )
    assembled = assemble_in_run(replace(ask, node=node), run)
    # The arrow lines of what is sent are remembered, except for what the run itself said and was answered.
    own = [text for each in exchanges for text in (each.said, each.results) if text]
    for text in (*assembled.system, *(message.text for message in assembled.messages)):
        if not any(each in text for each in own):
            session.note_shown(text)
    return assembled
