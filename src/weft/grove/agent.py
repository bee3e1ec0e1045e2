"""Collaborators that one can ask: `loom.agent("Muse").run("Look around.", tree=tree)`."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, TypedDict, Unpack

from weft.commands.reply import Result
from weft.context.tokens import EstimatorLike
from weft.errors import WeftError
from weft.grove.node import NodeHandle
from weft.runtime.collaboration.run import Collaboration
from weft.runtime.collaboration.run_events import Answered, Ending, Finished, RunEvent
from weft.runtime.collaboration.task import SECONDS, TOKENS, TURNS, Limits, task_for, unfinished_run
from weft.runtime.contexts.option_checks import check_known
from weft.runtime.coordination.background import register_run
from weft.runtime.generation.options import parse_options
from weft.runtime.generation.spending import dollars_from
from weft.runtime.generation.stream import EventStream
from weft.tree.agent import Agent
from weft.tree.content import JsonValue
from weft.tree.node import Identified

if TYPE_CHECKING:
    from weft.grove.grove import Grove


class RunWishes(TypedDict, total=False):
    """How a run is wanted: how long it may go on, and how the model is asked."""

    turns: int
    tokens: int
    seconds: float
    dollars: float | Decimal | None
    temperature: float | None
    max_tokens: int | None
    """Of each turn."""
    seed: int | None
    timeout: float | None
    limit: int | None
    window: int | None
    preferences: Mapping[str, JsonValue]
    estimator: EstimatorLike | None
    unattended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Collaborated:
    """What a run came to."""

    run: str
    reply: NodeHandle | None
    """What was said beside commands; None if that was nothing."""
    results: tuple[Result, ...]
    """What its commands came to, in order."""
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

    Leave its `with` early, or call `stop`, and it ends: what was said is kept.
    Its result raises the error, if there was one before anything was said or done.
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


class AgentHandle:
    """One agent, to be asked."""

    __slots__ = ("_grove", "value")

    def __init__(self, grove: "Grove", value: Agent) -> None:
        self._grove = grove
        self.value = value

    def __repr__(self) -> str:
        model = "a person" if self.value.model_ref is None else self.value.model_ref
        return f"<Agent {self.value.name!r} {model}>"

    @property
    def id(self) -> str:
        return self.value.id

    @property
    def name(self) -> str:
        return self.value.name

    def run(
        self,
        text: str | None = None,
        *,
        tree: Identified | str,
        node: NodeHandle | str | None = None,
        **wishes: Unpack[RunWishes],
    ) -> CollaboratorRun:
        """Say something and let the agent work on it, as it goes on: `for event in agent.run(…)`.

        It answers the node that is said, or the one that is named, or where you stand. `turns`,
        `tokens`, `seconds` and `dollars` limit it; see `RunWishes`.
        """
        return start_run(self._grove, self.value.id, text, tree=tree, node=node, wishes=wishes)

    def resume(self, *, tree: Identified | str, **wishes: Unpack[RunWishes]) -> CollaboratorRun:
        """Go on with its last run in a tree, which a crash, somebody or a limit interrupted.

        It is asked to, under what it had said, and told how far it had come: no command is run again
        unless it says so.
        """
        return resume_run(self._grove, self.value.id, tree=tree, wishes=wishes)


def resume_run(
    grove: "Grove", agent: str | None, *, tree: Identified | str, wishes: RunWishes | None = None
) -> CollaboratorRun:
    """Begin where an earlier run was interrupted, and return at once."""
    left = unfinished_run(grove.caller, agent, tree if isinstance(tree, str) else tree.id)
    return start_run(grove, left.agent, left.text, tree=tree, node=left.node, wishes=wishes)


def start_run(
    grove: "Grove",
    agent: str | None,
    text: str | None,
    *,
    tree: Identified | str,
    node: NodeHandle | str | None = None,
    wishes: RunWishes | None = None,
) -> CollaboratorRun:
    """Begin, and return at once; the run tells what happens."""
    given = wishes or RunWishes()
    check_known(given, RunWishes.__annotations__, "a run")
    dollars = given.get("dollars")
    limits = Limits(
        turns=given.get("turns", TURNS),
        tokens=given.get("tokens", TOKENS),
        seconds=given.get("seconds", SECONDS),
        dollars=None if dollars is None else dollars_from(dollars, "a run"),
    )
    asked = parse_options(
        {
            "temperature": given.get("temperature"),
            "max_tokens": given.get("max_tokens"),
            "seed": given.get("seed"),
            "timeout": given.get("timeout"),
            "limit": given.get("limit"),
            "window": given.get("window"),
            "preferences": given.get("preferences", {}),
            "estimator": given.get("estimator"),
            "unattended": given.get("unattended", False),
        }
    )
    task = task_for(
        grove.caller,
        agent,
        (tree if isinstance(tree, str) else tree.id, None if node is None else _reference(node)),
        text,
        limits=limits,
        wishes=asked,
    )
    run = Collaboration(grove.caller, grove.generations.registry, task)
    register_run(grove.read.store, run)
    run.start()
    return CollaboratorRun(grove, run)


def _reference(node: NodeHandle | str) -> str:
    return node if isinstance(node, str) else node.id
