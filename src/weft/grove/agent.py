"""The handle of an agent, and its runs: `loom.agent("Muse").run("Look around.", tree=tree)`."""

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING

from weft.argument_checks import OptionSpec, option, takes_options
from weft.commands.reply import Result
from weft.errors import WeftError
from weft.grove.handle import Handle
from weft.grove.node import NodeHandle
from weft.runtime.collaboration.run import Collaboration
from weft.runtime.collaboration.run_events import Answered, Ending, Finished, RunEvent
from weft.runtime.collaboration.task import task_for, unfinished_run
from weft.runtime.contexts.options import ids_of
from weft.runtime.coordination.background import register_run
from weft.runtime.generation.options import RunOptions
from weft.runtime.generation.stream import EventStream
from weft.tree.agent import Agent
from weft.tree.node import Identified

if TYPE_CHECKING:
    from weft.grove.grove import Grove


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeOptions(RunOptions):
    """How a run goes on."""

    tree: Identified | str = field(metadata={"option": OptionSpec("The tree, or its id.")})


@dataclass(frozen=True, slots=True)
class AgentRunOptions(ResumeOptions):
    """How an agent is asked, and how its run goes."""

    text: str | None = option(None, "What to say to it; default: it answers the node.")
    _: KW_ONLY
    node: Identified | str | None = option(None, "The node; default: the current one.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Collaborated:
    """The result of a run."""

    run: str
    reply: NodeHandle | None
    """The text beside commands; None if there is none."""
    results: tuple[Result, ...]
    """The results of its commands, in order."""
    ending: Ending
    note: str | None
    error: WeftError | None
    turns: int
    tokens: int

    @property
    def text(self) -> str:
        return "" if self.reply is None else self.reply.text


class CollaboratorRun(EventStream[RunEvent, Collaborated]):
    """A run as it goes on: iterate it for events, plainly or in an event loop.

    Leave its `with` early, or call `stop`, and it ends: the text so far is saved.
    Its result raises the error, if there was one before any text or command.
    """

    def __init__(self, grove: "Grove", run: Collaboration) -> None:
        super().__init__(run)
        self._grove = grove
        self._run = run
        self._results: list[Result] = []
        self._finished: Finished | None = None

    @property
    def id(self) -> str:
        return self._run.id

    def _result(self) -> Collaborated:
        finished = self._finished
        if finished is None:
            raise RuntimeError("the run has no end yet")
        if finished.error is not None and finished.reply is None and not self._results:
            raise finished.error
        return Collaborated(
            run=self._run.id,
            reply=None if finished.reply is None else NodeHandle(self._grove, finished.reply),
            results=tuple(self._results),
            ending=finished.ending,
            note=finished.note,
            error=finished.error,
            turns=finished.turns,
            tokens=finished.tokens,
        )

    def _take(self, event: RunEvent) -> None:
        if isinstance(event, Answered):
            self._results.append(event.result)
        elif isinstance(event, Finished):
            self._finished = event


class AgentHandle(Handle[Agent]):
    """One agent."""

    __slots__ = ()

    def __repr__(self) -> str:
        model = "a person" if self.value.model_ref is None else self.value.model_ref
        return f"<Agent {self.value.name!r} {model}>"

    @property
    def name(self) -> str:
        return self.value.name

    @takes_options(AgentRunOptions)
    def run(self, options: AgentRunOptions) -> CollaboratorRun:
        """Say something and let the agent work on it, as it goes on: `for event in agent.run(…)`.

        It answers the new node, else the named one, else the current one.
        """
        return start_run(
            self._grove, self.value.id, options.text, options, tree=options.tree, node=options.node
        )

    @takes_options(ResumeOptions)
    def resume(self, options: ResumeOptions) -> CollaboratorRun:
        """Continue its last run in a tree, which a crash, a person or a limit interrupted.

        The agent sees how far it got: no command is run again unless it gives it again.
        """
        return resume_run(self._grove, self.value.id, options, tree=options.tree)


def resume_run(
    grove: "Grove", agent: str | None, options: RunOptions, *, tree: Identified | str
) -> CollaboratorRun:
    """Start where an earlier run was interrupted, and return at once."""
    left = unfinished_run(grove.caller, agent, tree if isinstance(tree, str) else tree.id)
    return start_run(grove, left.agent, left.text, options, tree=tree, node=left.node)


def start_run(
    grove: "Grove",
    agent: str | None,
    text: str | None,
    options: RunOptions,
    *,
    tree: Identified | str,
    node: Identified | str | None = None,
) -> CollaboratorRun:
    """Start, and return at once; the run reports what happens."""
    return CollaboratorRun(grove, start_collaboration(grove, agent, text, options, tree=tree, node=node))


def start_collaboration(
    grove: "Grove",
    agent: str | None,
    text: str | None,
    options: RunOptions,
    *,
    tree: Identified | str,
    node: Identified | str | None = None,
) -> Collaboration:
    """The same without a reader: it goes on until it has ended or is stopped."""
    place = (ids_of([tree])[0], None if node is None else ids_of([node])[0])
    task = task_for(grove.caller, agent, place, text, options=options)
    run = Collaboration(grove.caller, task)
    register_run(grove.read.store, run)
    run.start()
    return run
