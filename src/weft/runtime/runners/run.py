"""One turn of any runner: outputs of tools first, then the model, then the tools that it calls, and again."""

import contextlib
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from queue import SimpleQueue

from weft.context.items.blocks import ToolOutput
from weft.context.tokens import DEFAULT
from weft.errors import ConflictError, InvalidInputError, NotFoundError, WeftError
from weft.runtime.collaboration.run_events import Began, Finished, Turned
from weft.runtime.collaboration.run_log import Batch, RunLog
from weft.runtime.collaboration.run_loop import RunLoop
from weft.runtime.contexts.layers import Contexts
from weft.runtime.coordination.approval_desk import ApprovalDesk
from weft.runtime.generation.start_point import StartPlace
from weft.runtime.generation.stream import Notice, Retrying, TextChunk, ThinkingChunk, ToolCallChunk
from weft.runtime.operations.executor import Caller
from weft.runtime.runners.options import Planner, Runner
from weft.runtime.runners.planner import (
    PlannedTool,
    TurnSummary,
    plan_by_rules,
    read_plan,
    retry_text,
)
from weft.runtime.runners.planner_call import PlannerAnswer, PlannerRequest
from weft.runtime.runners.run_events import (
    ApprovalAsked,
    PlannedTools,
    RunnerEvent,
    ToolEnded,
    ToolStarted,
    TurnNode,
    step_of_turn,
)
from weft.runtime.runners.task import RunnerTask, first_source
from weft.runtime.runners.tool_results import (
    PLANNING,
    STOPPED,
    STOPPED_WITHIN,
    AddToolResults,
    CallJournal,
    calls_in,
    failed_result,
)
from weft.runtime.runners.turn_tools import SEARCH, RunnerTools, composer_output, retrieval_call
from weft.runtime.tools.policy import Approver, asked_at_desk
from weft.runtime.tools.service import ToolRun
from weft.tree.citation import CitedSource
from weft.tree.content import ToolCall, ToolResult, plain_text
from weft.tree.json import JsonObject
from weft.tree.node import Node

_NOT_IN_NOTES = "not in the notes: nothing was found about this"
_QUESTION = "Question: "
_TRIES = 2
"""How often a model may plan: a list that is not valid is asked for once more."""


class RunnerRun(RunLoop[RunnerEvent]):
    """A turn under way."""

    thread_name = "weft-runner"
    forwards = (TextChunk, ThinkingChunk, ToolCallChunk, Retrying, Notice)

    def __init__(self, caller: Caller, task: RunnerTask, approver: Approver | None = None) -> None:
        super().__init__(caller, task.options)
        self._task = task
        seconds = task.options.waits_for_approval
        self._desk = (
            ApprovalDesk(
                *(caller, task.tree_id, task.node_id, self.id, seconds),
                on_ask=lambda approval: self.channel.put(ApprovalAsked(approval)),
            )
            if approver is None and seconds
            else None
        )
        """Where a tool with effects waits for a person."""
        if self._desk is not None:
            approver = partial(asked_at_desk, self._desk)
        self._tools = RunnerTools.of(
            caller,
            task.node_id,
            # Retrieval is what this runner is.
            names=None if task.runner is Runner.VAULT else task.options.tool_names,
            vaults=task.options.vaults,
            approver=approver,
            agent=task.agent,
            registry=task.registry,
        )
        self._offered = tuple(self._tools.specs()) if task.runner is Runner.AGENT else ()
        """The tools that the model may call: the same in every turn of the run."""
        self._waiting: SimpleQueue[ToolRun | WeftError | None] | None = None
        self._first = first_source(caller, task) if task.options.resume else 1
        """The number of the next source."""
        self._sources: list[CitedSource] = []
        """What results of the run offer to be cited."""
        self._question = ""

    @property
    def runner(self) -> Runner:
        return self._task.runner

    def _step(self, event: RunnerEvent | TextChunk) -> tuple[str, JsonObject] | None:
        return step_of_turn(event)

    def _work(self) -> Finished:
        task = self._task
        place = task.tree_id, task.node_id
        key = task.answering.key
        if key is None:
            raise ConflictError("the agent is gone", hint="ask again")
        log = RunLog.begin(self._caller, place, agent=key, run=self.id, runner=task.runner.value)
        self.channel.put(
            Began(run=self.id, tree_id=task.tree_id, node_id=task.node_id, agent=task.agent.name)
        )
        seconds = task.options.seconds if task.runner is Runner.AGENT else None
        with self._alive(log, seconds):
            try:
                return self._go_on(log)
            finally:
                with contextlib.suppress(NotFoundError):
                    # Unless the tree was destroyed meanwhile.
                    log.end()

    def _go_on(self, log: RunLog) -> Finished:
        task, answer = self._task, None
        try:
            outputs = self._gather(log)
            while True:
                reached = self._reached(log) if self._turns else None
                if reached is not None or self._is_to_end:
                    return self._end(answer, reached)
                self._turns += 1
                self.channel.put(Turned(self._turns))
                answer, error = self._answer(log, outputs)
                if error is not None or answer is None:
                    return self._end(answer, None, error)
                self.channel.put(TurnNode(answer))
                calls = calls_in(answer.content) if task.runner is Runner.AGENT else ()
                if not calls:
                    return self._end(answer)
                log.follow()
                self._tokens += DEFAULT.of_text(plain_text(answer.content))
                self._answer_calls(log, answer, calls)
        except WeftError as error:
            return self._end(answer, None, error)

    def _end(
        self, answer: Node | None, reached: str | None = None, error: WeftError | None = None
    ) -> Finished:
        ending, note, error = self._ending(reached, error)
        return Finished(
            ending=ending, reply=answer, note=note, error=error, turns=self._turns, tokens=self._tokens
        )

    def _answer(self, log: RunLog, outputs: Sequence[ToolOutput]) -> tuple[Node | None, WeftError | None]:
        task = self._task
        place = StartPlace(tree=task.tree_id, node=log.head.ulid)
        return self._speak(
            log,
            place,
            lambda: replace(
                task.options.answering(task.agent.id, outputs, self._money_left()),
                tools=self._offered,
                citable=tuple(self._sources),
            ),
        )

    def _answer_calls(self, log: RunLog, called: Node, calls: Sequence[ToolCall]) -> None:
        """Run the calls of a turn, one after another, each journalled first; their results are one node."""
        journal = CallJournal(tuple(call.id for call in calls))
        for call in calls:
            if self._is_to_end:
                result = failed_result(call.id, STOPPED)
            else:
                journal.begin(log)
                result = self._run_call(call)
            journal = replace(journal, results=(*journal.results, result))
        node = log.caller.perform(
            AddToolResults(
                tree=self._task.tree_id,
                parent=called.id,
                results=journal.results,
                agent=log.row.agent,
                asker=log.row.asker,
            )
        )
        self.channel.put(TurnNode(node))
        self._tokens += DEFAULT.of_text(plain_text(node.content))
        log.keep_batch(Batch(), "")
        log.follow()

    def _run_call(self, call: ToolCall) -> ToolResult:
        """Run one tool for the model; a stop does not wait for it."""
        self.channel.put(ToolStarted(call))
        waiting: SimpleQueue[ToolRun | WeftError | None] = SimpleQueue()
        first = self._first

        def work() -> None:
            try:
                waiting.put(self._tools.run(call, first=first))
            except WeftError as error:
                # The store failed, not the tool; after a stop nothing waits for it.
                waiting.put(error)

        with self._guard:
            self._waiting = waiting
        threading.Thread(target=work, name="weft-runner-tool", daemon=True).start()
        if self._is_to_end:
            self._leave_tool()
        run = waiting.get()
        with self._guard:
            self._waiting = None
        if isinstance(run, WeftError):
            raise run
        if run is None:
            return failed_result(call.id, STOPPED_WITHIN)
        self._first += len(run.sources)
        self._sources += run.sources
        self.channel.put(ToolEnded(run))
        result = run.result
        if call.name == SEARCH and run.sources:
            # The question follows what was retrieved for it.
            result = replace(result, content=f"{result.content}\n\n{_QUESTION}{self._question}")
        return result

    def _break_off(self) -> None:
        super()._break_off()
        self._leave_tool()

    def _leave_tool(self) -> None:
        """Wait no longer for a tool under way."""
        with self._guard:
            waiting = self._waiting
        # A tool that waits for a person has not begun: it ends by itself, and says so.
        waits = self._desk is not None and self._desk.cancel()
        if waiting is not None and not waits:
            waiting.put(None)

    def _gather(self, log: RunLog) -> list[ToolOutput]:
        """The outputs that precede the question: what was retrieved or planned, then the composer's words."""
        task = self._task
        calls: Sequence[ToolCall] = ()
        if task.runner is not Runner.CHAT:
            turn = self._summary(log)
            self._question = turn.question
            if task.runner is Runner.VAULT:
                calls = [retrieval_call(turn.question)]
            elif task.runner.plans:
                calls = self._planned(log, turn)
        outputs = self._run_tools(calls)
        if task.runner is Runner.VAULT and not any(each.sources for each in outputs):
            self.channel.put(Notice((0,), _NOT_IN_NOTES))
        return [*outputs, *composer_output(task.options.composer)]

    def _summary(self, log: RunLog) -> TurnSummary:
        """L5 and the metadata of L3. Without an envelope there is no turn to run."""
        task = self._task
        options = task.options.answering(task.agent.id)
        context = Contexts.of(log.caller).at(task.tree_id, task.node_id, options)
        return TurnSummary.of(context.laid_out)

    def _run_tools(self, calls: Sequence[ToolCall]) -> list[ToolOutput]:
        outputs: list[ToolOutput] = []
        first = 1
        for call in calls:
            if self._is_to_end:
                break
            self.channel.put(ToolStarted(call))
            run = self._tools.run(call, first=first)
            first += len(run.sources)
            outputs.append(run.output)
            self.channel.put(ToolEnded(run))
        return outputs

    def _planned(self, log: RunLog, turn: TurnSummary) -> list[ToolCall]:
        """The tools that the turn needs, by the model or by rules."""
        tools = self._tools.known()
        planned, by = None, Planner.MODEL
        if tools and self._plans_by_model():
            planned = self._planned_by_model(log, turn)
        if planned is None:
            planned, by = plan_by_rules(turn, tools), Planner.RULES
        calls = [
            ToolCall(id=f"planned-{number}", name=each.name, arguments=dict(each.arguments))
            for number, each in enumerate(planned, 1)
        ]
        self.channel.put(PlannedTools(tuple(calls), by.value))
        return calls

    def _plans_by_model(self) -> bool:
        """Whether the model is able to plan: one without tools of its own does not write valid JSON calls."""
        planner, profile = self._task.options.chosen_planner, self._task.answering.profile
        if planner is not Planner.AUTO:
            return planner is Planner.MODEL
        return profile is not None and profile.tools

    def _planned_by_model(self, log: RunLog, turn: TurnSummary) -> list[PlannedTool] | None:
        """The model's own list; None where it gave none that is valid, and rules decide."""
        task, tools = self._task, self._tools.known()
        request = PlannerRequest.first(tools, turn, nodes=(task.node_id,))
        log.keep_batch(Batch((PLANNING,)))
        try:
            return self._list_of_calls(log, request)
        finally:
            log.keep_batch(Batch())

    def _list_of_calls(self, log: RunLog, request: PlannerRequest) -> list[PlannedTool] | None:
        task, tools, why = self._task, self._tools.known(), ""
        for _ in range(_TRIES):
            heard = PlannerAnswer()
            place = StartPlace(tree=task.tree_id, node=log.head.ulid, moves=False, turn=request)
            _, error = self._speak(
                log,
                place,
                lambda: task.options.planning(task.agent.id, self._money_left()),
                observer=heard,
                forwards=(Retrying,),
            )
            if error is not None:
                raise error
            if self._is_to_end:
                return []
            try:
                return read_plan(heard.text, tools)
            except InvalidInputError as wrong:
                request = request.again(heard.text, retry_text(wrong))
                why = wrong.message
        self.channel.put(Notice((0,), f"tools were chosen by rules: the model's list is not valid ({why})"))
        return None
