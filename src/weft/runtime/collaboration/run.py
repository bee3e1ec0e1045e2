"""A collaborator's run from its first word to its reply: turn, batch, results, and again."""

import contextlib
from dataclasses import dataclass, replace

from weft.commands.catalog import not_run_note
from weft.commands.reply import Result, failed, results_message
from weft.context.agent_view.agent_context import Exchange
from weft.context.result import Context
from weft.context.tokens import DEFAULT
from weft.errors import (
    ConflictError,
    InvalidInputError,
    InvalidSyntaxError,
    NotFoundError,
    WeftError,
)
from weft.runtime.collaboration.commands.session import CommandSession
from weft.runtime.collaboration.finish import FinishRun, edge_in, note_broken_off
from weft.runtime.collaboration.run_events import (
    Answered,
    Began,
    Ending,
    Finished,
    RunEvent,
    TextChunk,
    Turned,
    step_of,
)
from weft.runtime.collaboration.run_log import RunLog
from weft.runtime.collaboration.run_loop import RunLoop
from weft.runtime.collaboration.task import CollaborationTask
from weft.runtime.collaboration.turn import Turn
from weft.runtime.contexts.agent_context import InRun
from weft.runtime.contexts.agent_memory import AgentMemory
from weft.runtime.contexts.layers import Contexts
from weft.runtime.contexts.loom_view import LoomView
from weft.runtime.contexts.model_agents import AnsweringAgent
from weft.runtime.contexts.options import ContextOptions
from weft.runtime.coordination.approval_desk import ApprovalDesk
from weft.runtime.generation.start_point import StartPlace
from weft.runtime.operations.executor import Caller
from weft.runtime.views.reader import Opened
from weft.tree.json import JsonObject
from weft.tree.node import Node, Status
from weft.tree.tree import Mode


class Collaboration(RunLoop[RunEvent]):
    """A collaborator's run under way."""

    thread_name = "weft-collaborator"

    def __init__(self, caller: Caller, task: CollaborationTask) -> None:
        super().__init__(caller, task.options)
        self.results: list[Result] = []
        self._task = task
        self._session: CommandSession | None = None
        self._exchanges: list[Exchange] = []

    def _step(self, event: RunEvent | TextChunk) -> tuple[str, JsonObject] | None:
        return step_of(event)

    def _break_off(self) -> None:
        super()._break_off()
        with self._guard:
            session = self._session
        if session is not None:
            session.stop()

    def _work(self) -> Finished:
        task = self._task
        place = task.tree_id, task.node_id
        log = RunLog.begin(self._caller, place, agent=task.agent_key, run=self.id)
        self.channel.put(
            Began(run=self.id, tree_id=task.tree_id, node_id=task.node_id, agent=task.agent.name)
        )
        with self._alive(log, task.options.seconds):
            # After any failure the text is stored before the reader sees the error.
            try:
                return self._go_on(log)
            except WeftError as error:
                return self._finish(log, Ending.FAILED, error=error)
            except Exception:
                with contextlib.suppress(WeftError):
                    self._finish(log, Ending.FAILED)
                raise

    def _go_on(self, log: RunLog) -> Finished:
        task = self._task
        unattended, seconds = task.options.unattended, task.options.waits_for_approval
        session = CommandSession(
            *(self._caller, task.tree_id, task.agent),
            run=self.id,
            unattended=unattended,
            desk=ApprovalDesk(self._caller, task.tree_id, task.node_id, self.id, seconds)
            if seconds
            else None,
        )
        with self._guard:
            self._session = session
        while True:
            reached = self._reached(log)
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
        ending, note, error = self._ending(reached, error)
        return self._finish(log, ending, note, reply, error)

    def _run_turn(
        self, log: RunLog, session: CommandSession, turn: Turn
    ) -> tuple[Node | None, WeftError | None]:
        """Have the model speak; its reply, if the run ends by it."""
        task = self._task
        seen = TurnAssembler(session, task.node_id, task.asked, tuple(self._exchanges))
        place = StartPlace(tree=task.tree_id, node=log.head.ulid, turn=seen)
        return self._speak(
            log,
            place,
            lambda: replace(task.options.generation, agent=task.agent.id, max_price=self._money_left()),
            observer=turn,
        )

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
    "this command was cut off by the length limit, and not run", hint="repeat it, and make it shorter"
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
    ) -> Context:
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
