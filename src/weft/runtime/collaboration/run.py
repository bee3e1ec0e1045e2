"""A collaborator's run from its first word to its reply: turn, batch, results, and again."""

import contextlib
import threading
from dataclasses import dataclass, replace
from decimal import Decimal

from weft.commands.catalog import not_run_note
from weft.commands.reply import Result, failed, results_message
from weft.context.agent_view.agent_context import Exchange
from weft.context.result import AssembledContext
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
from weft.runtime.collaboration.commands.session import CommandSession
from weft.runtime.collaboration.finish import FinishRun, edge_in, note_broken_off
from weft.runtime.collaboration.run_events import (
    Answered,
    Began,
    Ending,
    Finished,
    Notice,
    Retrying,
    RunEvent,
    ThinkingChunk,
    Turned,
)
from weft.runtime.collaboration.run_log import RunLog
from weft.runtime.collaboration.task import CollaborationTask
from weft.runtime.collaboration.turn import Turn
from weft.runtime.contexts.agent_context import InRun
from weft.runtime.contexts.agent_memory import AgentMemory
from weft.runtime.contexts.layers import Contexts
from weft.runtime.contexts.loom_view import LoomView
from weft.runtime.contexts.model_agents import AnsweringAgent
from weft.runtime.contexts.options import ContextOptions
from weft.runtime.coordination.heartbeat import beating
from weft.runtime.generation.run import GenerationRun
from weft.runtime.generation.start_call import HOLD_SECONDS
from weft.runtime.generation.start_point import StartPlace
from weft.runtime.generation.stream import EventChannel, Failed, NodeCompleted, Started
from weft.runtime.operations.executor import Caller
from weft.runtime.views.reader import Opened
from weft.store.model_calls import MICROS, spent_on
from weft.tree.node import Node, Status
from weft.tree.tree import Mode


class Collaboration:
    """A run under way, in a thread of its own. Whoever listens reads its channel."""

    def __init__(self, caller: Caller, task: CollaborationTask) -> None:
        self.channel: EventChannel[RunEvent] = EventChannel()
        self.results: list[Result] = []
        self._caller = caller
        self._executor = caller.executor
        self._task = task
        self.id = new_ulid(self._executor.clock(), self._executor.entropy)
        self._stopping = self._expired = self._lost = False
        self._generation: GenerationRun | None = None
        self._session: CommandSession | None = None
        self._log: RunLog | None = None
        self._exchanges: list[Exchange] = []
        self._attempts: list[str] = []
        self._turns = self._tokens = 0
        self._guard = threading.Lock()
        self._thread = threading.Thread(target=self._drive, name="weft-collaborator", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """No more text and no more commands; what there is, is stored. Returns at once."""
        self._stopping = True
        self._break_off()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until everything is stored."""
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
        except BaseException as error:  # noqa: BLE001 - raised to the reader of the channel
            self.channel.close(error)
        else:
            self.channel.put(finished)
            self.channel.close()

    def _work(self) -> Finished:
        task = self._task
        place = task.tree_id, task.node_id
        log = self._log = RunLog.begin(self._caller, place, agent=task.agent_key, run=self.id)
        self.channel.put(
            Began(run=self.id, tree_id=task.tree_id, node_id=task.node_id, agent=task.agent.name)
        )
        clock = threading.Timer(task.options.seconds, self._expire)
        clock.daemon = True
        clock.start()
        try:
            with beating(log.beat, hold=HOLD_SECONDS, on_lost=self._lose):
                # Whatever goes wrong, the text is stored before the reader sees the error.
                try:
                    return self._go_on(log)
                except WeftError as error:
                    return self._finish(log, Ending.FAILED, error=error)
                except Exception:
                    with contextlib.suppress(WeftError):
                        self._finish(log, Ending.FAILED)
                    raise
        finally:
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

    def _go_on(self, log: RunLog) -> Finished:
        task = self._task
        unattended = task.options.unattended
        session = CommandSession(self._caller, task.tree_id, task.agent, run=self.id, unattended=unattended)
        with self._guard:
            self._session = session
        while True:
            seconds = (self._executor.clock() - log.row.started_at) / MICROS
            reached = task.options.reached(turns=self._turns, tokens=self._tokens, seconds=seconds)
            if reached is not None or self._is_to_end:
                return self._end(log, reached)
            self._turns += 1
            self.channel.put(Turned(self._turns))
            turn = Turn(
                log,
                number=self._turns,
                room=task.options.tokens - self._tokens,
                edge=edge_in(task.mode),
                cursor=task.cursor,
                tell=self.channel.put,
            )
            reply, error = self._run_turn(log, session, turn)
            self._tokens += turn.tokens
            if turn.is_whole and error is None:
                # A thought that cannot be stored does not end the run.
                with contextlib.suppress(InvalidInputError, ConflictError, NotFoundError):
                    session.think(turn.thoughts)
                if turn.is_final:
                    session.note_not_run(turn.not_run)
            if error is not None or turn.is_final:
                over = f"ended after {self._tokens:,} tokens, of {task.options.tokens:,}"
                return self._end(log, over if turn.is_over else None, reply, error)
            self._answer(log, session, turn)

    def _end(
        self,
        log: RunLog,
        reached: str | None,
        reply: Node | None = None,
        error: WeftError | None = None,
    ) -> Finished:
        """End the run for the first reason that holds; `reached` is a limit's."""
        if self._lost and error is None:
            error = ConflictError(
                "another run has this place by now", hint="what was said is kept; ask again from another node"
            )
        if isinstance(error, LimitExceededError):
            return self._finish(log, Ending.LIMIT, error.message, reply, error)
        if error is not None:
            return self._finish(log, Ending.FAILED, None, reply, error)
        if self._stopping:
            return self._finish(log, Ending.STOPPED, "stopped", reply)
        if self._expired:
            reached = f"ended after {self._task.options.seconds:g} seconds"
        return self._finish(log, Ending.DONE if reached is None else Ending.LIMIT, reached, reply)

    def _run_turn(
        self, log: RunLog, session: CommandSession, turn: Turn
    ) -> tuple[Node | None, WeftError | None]:
        """Have the model speak; its reply, if the run ends by it."""
        task = self._task
        seen = TurnAssembler(session, task.node_id, task.asked, tuple(self._exchanges))
        try:
            options = replace(task.options.generation, agent=task.agent.id, max_price=self._money_left())
            place = StartPlace(tree=task.tree_id, node=log.head.ulid, turn=seen)
            generation = GenerationRun(log.caller, place, options, observer=turn)
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
                case ThinkingChunk() | Retrying() | Notice():
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

    def _answer(self, log: RunLog, session: CommandSession, turn: Turn) -> None:
        """Run the batch, one after another; each is written down before it is begun."""
        results: list[Result] = []
        for number, command in enumerate(turn.batch):
            if self._is_to_end:
                break
            log.begin_command(number)
            for result in session.steps([command], turn=self._turns):
                results.append(result)
                self.channel.put(Answered(result))
        else:
            log.begin_command(len(turn.batch))
        self.results += results
        log.follow()
        parts = [results_message(results), not_run_note(turn.not_run)]
        if turn.truncated is not None:
            parts.append(f"→ {turn.truncated.text[:80]}\n{failed(_CUT_OFF)}")
        answer = "\n\n".join(filter(None, parts))
        self._tokens += DEFAULT.of_text(answer)
        numbers = tuple(result.number for result in results)
        self._exchanges.append(Exchange(said=turn.said.strip("\n"), results=answer, numbers=numbers))

    def _finish(
        self,
        log: RunLog,
        ending: Ending,
        note: str | None = None,
        reply: Node | None = None,
        error: WeftError | None = None,
    ) -> Finished:
        if reply is None:
            status = Status.COMPLETE if ending is Ending.DONE else Status.INTERRUPTED
            reply, error = self._conclude(log, status, error)
        # Interrupted words say so themselves; where there are none in the path, the trace does.
        shows = reply is not None and self._task.mode is Mode.DIALOGUE
        if ending is not Ending.DONE and not shows and not self._lost and (self.results or error is None):
            when = f"in turn {self._turns}" if self._turns else "before the first turn"
            why = f"{'stopped' if error is None else error.code} {when}"
            if ending is Ending.LIMIT and note:
                why = note
            note_broken_off(self._executor, log.row, log.head.local_id, why)
        return Finished(
            ending=ending, reply=reply, note=note, error=error, turns=self._turns, tokens=self._tokens
        )

    def _conclude(
        self, log: RunLog, status: Status, error: WeftError | None
    ) -> tuple[Node | None, WeftError | None]:
        """What was said in earlier turns, as a reply; without any there is none."""
        if log.row.said:
            tree, cursor = self._task.tree_id, self._task.cursor
            finish = FinishRun(tree=tree, run=self.id, status=status, moves=True, cursor=cursor)
            try:
                return log.caller.perform(finish), error
            except (ConflictError, NotFoundError) as refused:
                # The text is stored with its calls.
                error = error or refused
        with contextlib.suppress(NotFoundError):
            # Unless the tree was destroyed meanwhile.
            log.end()
        return None, error


_CUT_OFF = InvalidSyntaxError(
    "this command was cut off by the length limit, and not run", hint="say it again, and be brief"
)


@dataclass(frozen=True, slots=True)
class TurnAssembler:
    """Makes what the agent is sent for the next turn of a run."""

    session: CommandSession
    node: str
    """The node that the run answers."""
    asked: str
    exchanges: tuple[Exchange, ...]

    def __call__(
        self, contexts: Contexts, opened: Opened, options: ContextOptions, answering: AnsweringAgent
    ) -> AssembledContext:
        """From the node that it answers, with the exchanges since."""
        session, exchanges = self.session, self.exchanges
        actor, tree = session.caller.actor, session.tree_id
        memory = AgentMemory(contexts.store, actor)
        run = InRun(
            actor=actor,
            memory=memory.memory(tree, turn=session.turn, crossing=session.crossing),
            place=LoomView(contexts.store, actor).place(tree, contexts.clock()),
            exchanges=exchanges,
            asked=self.asked,
        )
        context = contexts.context(opened, self.node, options, answering, run)
        # The arrow lines of what is sent are remembered, except for what the run itself said and was answered.
        own = [text for each in exchanges for text in (each.said, each.results) if text]
        blocks = (context.system,) if context.envelope is None else context.envelope.llm_system
        for text in (*blocks, *(message.text for message in context.messages)):
            if not any(each in text for each in own):
                session.note_shown(text)
        return context
