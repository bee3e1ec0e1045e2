"""Runners as one caller: start a turn, and preview one."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from weft.context.manifest import Manifest
from weft.context.manifest_entries import EntryKind, Outcome, Run
from weft.context.result import Context
from weft.knowledge.tools.base import ToolRegistry
from weft.runtime.contexts.layers import Contexts
from weft.runtime.coordination.background import register_run
from weft.runtime.operations.executor import Caller
from weft.runtime.runners.keyed_run import KeyedRun
from weft.runtime.runners.options import AskOptions, PreviewOptions, Runner
from weft.runtime.runners.planner import TurnSummary
from weft.runtime.runners.run import RunnerRun
from weft.runtime.runners.task import require_runner, runner_task
from weft.runtime.runners.turn_tools import RunnerTools, composer_output, retrieval_call
from weft.runtime.tools.policy import Approver

_PENDING = "pending: the planner chooses tools when the turn is run"


@dataclass(frozen=True, slots=True)
class Runners:
    """Turns of a grove's conversations, as one caller runs them."""

    caller: Caller
    registry: ToolRegistry | None = None
    """The tools; None: the grove's."""

    def start(
        self, tree: str | Callable[[], str], options: AskOptions, approver: Approver | None = None
    ) -> RunnerRun | KeyedRun:
        """Say the question and start, and return at once. `approver` asks a person before effects.

        `tree` may be a function that finds or plants it. With an idempotency key all of this happens once.
        """

        def begin() -> RunnerRun:
            place = tree if isinstance(tree, str) else tree()
            run = RunnerRun(self.caller, runner_task(self.caller, place, options, self.registry), approver)
            register_run(self.caller.store, run)
            run.start()
            return run

        key = options.idempotency_key
        if key is None:
            return begin()
        keyed = KeyedRun(self.caller, tree if isinstance(tree, str) else None, options, key, begin)
        register_run(self.caller.store, keyed)
        keyed.start()
        return keyed

    def preview(self, tree: str, node: str | None, options: PreviewOptions) -> Context:
        """What a runner would send. What a planner has yet to choose is marked pending in the manifest."""
        contexts = Contexts.of(self.caller)
        if not options.names_runner:
            return contexts.at(tree, node, options)
        runner = options.chosen_runner
        require_runner(self.caller, tree, runner, options.vaults)
        given = [*options.tool_outputs]
        context = contexts.at(tree, node, options)
        turn = TurnSummary.of(context.laid_out)
        tools = RunnerTools.of(
            self.caller,
            context.node_id,
            names=None if runner is Runner.VAULT else options.tool_names,
            vaults=options.vaults,
            agent=context.agent,
            registry=self.registry,
        )
        if runner is Runner.VAULT:
            given.append(tools.run(retrieval_call(turn.question)).output)
        elif runner is Runner.AGENT:
            options = replace(options, tools=tuple(tools.specs()))
        given += composer_output(options.composer)
        if given or options.tools:
            context = contexts.at(tree, node, replace(options, tool_outputs=tuple(given)))
        return _pending(context) if runner.plans else context


def _pending(context: Context) -> Context:
    before = context.manifest
    more = Run.one(EntryKind.ITEM, "tool outputs", Outcome.EXCLUDED, _PENDING)
    manifest = Manifest(lambda: before.facts, lambda: [*before.pieces, more])
    return context.changed(manifest=manifest, envelope=replace(context.laid_out, manifest=manifest))
