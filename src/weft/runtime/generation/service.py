"""Generating: continuations of a node by models, as they come or when they are there.

kids = node.generate(n=3)
with node.stream(n=3) as stream:
    for event in stream: ...
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Generic, Protocol, TypeVar

from weft.errors import WeftError
from weft.providers.base import ProviderRegistry
from weft.runtime.contexts.model_agents import DEFAULT_AGENT, answering_agents, model_agent, registry_of
from weft.runtime.coordination.background import register_run
from weft.runtime.generation.options import GenerationOptions, dollars_from
from weft.runtime.generation.plan import Preflight, preflight
from weft.runtime.generation.run import GenerationRun
from weft.runtime.generation.sent_request import (
    RequestCheck,
    SentRequest,
    check_sent_request,
    load_sent_request,
)
from weft.runtime.generation.spending import Cap, SetCap, SpendingPeriod, caps_of, period_from
from weft.runtime.generation.start_point import StartPlace
from weft.runtime.generation.stream import EventStream, Failed, GenerationEvent, NodeCompleted, Notice
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.settings import ChangeSettings, load_settings
from weft.store.model_calls import Spent, spent_by
from weft.tree.agent import Agent
from weft.tree.node import Node, Status


class CompletedNode(Protocol):
    """A node, or the handle of one."""

    @property
    def local_id(self) -> str: ...
    @property
    def status(self) -> Status: ...


N = TypeVar("N", bound=CompletedNode)


class Generated(list[N]):
    """The nodes that came, in the order of what was asked for; and what did not come, and why."""

    def __init__(
        self, nodes: list[N], failures: tuple[WeftError, ...], notices: tuple[str, ...] = ()
    ) -> None:
        super().__init__(nodes)
        self.failures = failures
        """One for each call that ended with an error; what had come of it is among the nodes, as interrupted."""
        self.notices = notices
        """What is no error: an answer without text, an optional cache that failed."""


class Stream(EventStream[GenerationEvent, Generated[N]]):
    """A generation as it goes on: iterate it for events, plainly or in an event loop.

    Leave its `with` early, or call `stop`, and no more words are asked for: what came is kept.
    Its result raises the first error if no continuation came to its end.
    """

    def __init__(self, run: GenerationRun, wrap: Callable[[Node], N]) -> None:
        super().__init__(run)
        self._wrap = wrap
        self._nodes: dict[int, N] = {}
        self._failures: list[WeftError] = []
        self._notices: list[str] = []

    @property
    def nodes(self) -> list[N]:
        """Those that are there so far, in the order of their slots."""
        return [self._nodes[slot] for slot in sorted(self._nodes)]

    @property
    def failures(self) -> tuple[WeftError, ...]:
        return tuple(self._failures)

    @property
    def notices(self) -> tuple[str, ...]:
        """What is no error: an answer without text, an optional cache that failed."""
        return tuple(self._notices)

    def _result(self) -> Generated[N]:
        nodes = self.nodes
        whole = any(node.status is Status.COMPLETE for node in nodes)
        if self._failures and not whole:
            raise _with_nodes(self._failures[0], nodes)
        return Generated(nodes, self.failures, self.notices)

    def _take(self, event: GenerationEvent) -> None:
        if isinstance(event, NodeCompleted):
            self._nodes[event.slot] = self._wrap(event.node)
        elif isinstance(event, Failed):
            self._failures.append(event.error)
        elif isinstance(event, Notice):
            self._notices.append(event.message)


def _with_nodes(error: WeftError, nodes: Sequence[CompletedNode]) -> WeftError:
    """The error, and where to find what had come."""
    if nodes:
        named = ", ".join(f"[{node.local_id}]" for node in nodes)
        error.add_note(f"what had come is kept as interrupted: {named}")
    return error


@dataclass(frozen=True, slots=True)
class Generations(Generic[N]):
    """Generation as one caller: requests to models, the default agent, spend caps."""

    caller: Caller
    wrap: Callable[[Node], N]
    """Makes what a face gives out of a node's value."""

    @property
    def registry(self) -> ProviderRegistry:
        """The model providers of the grove; else all that are installed."""
        return registry_of(self.caller.executor)

    def stream(
        self, tree: str, node: str | None, options: GenerationOptions, place: StartPlace | None = None
    ) -> Stream[N]:
        """Start, and return at once; the stream reports what happens, a refusal included."""
        run = GenerationRun(self.caller, place or StartPlace(tree=tree, node=node), options)
        register_run(self.caller.store, run)
        run.start()
        return Stream(run, self.wrap)

    def generate(self, tree: str, node: str | None, options: GenerationOptions) -> Generated[N]:
        """Begin, and wait for the end. Interrupted, it stops, and what came is kept."""
        with self.stream(tree, node, options) as stream:
            return stream.result()

    def preflight(self, tree: str, node: str | None, options: GenerationOptions) -> Preflight:
        """Tokens, expected cached share and price, before anything is spent."""
        return preflight(self.caller, StartPlace(tree=tree, node=node), options)

    def sent(self, tree: str, node: str) -> SentRequest:
        """What the model saw that wrote a node."""
        return load_sent_request(self.caller, tree, node)

    def check_sent(self, sent: SentRequest) -> RequestCheck:
        """Whether that is what was sent, to the byte, and whether it would be the same today."""
        return check_sent_request(self.caller, sent)

    @property
    def default_agent(self) -> str | None:
        """The id of the default agent, if one was chosen."""
        with self.caller.reading() as session:
            return load_settings(session).get(DEFAULT_AGENT)

    @property
    def answering_agent(self) -> Agent:
        """The agent that answers if none is named; its id is empty for the embedded model before its first answer."""
        with self.caller.reading() as session:
            return answering_agents(session, self.caller.actor, registry_of(self.caller.executor), ())[
                0
            ].agent

    def choose_default(self, agent: str | None) -> Agent | None:
        """Make this the default agent; None: the one that was added first."""
        if agent is None:
            self.caller.perform(ChangeSettings(settings={DEFAULT_AGENT: None}))
            return None
        with self.caller.store.read() as session:
            chosen, _ = model_agent(session, self.caller.actor, agent)
        self.caller.perform(ChangeSettings(settings={DEFAULT_AGENT: chosen.id}))
        return chosen

    @property
    def caps(self) -> list[Cap]:
        with self.caller.reading() as session:
            return caps_of(load_settings(session))

    def set_cap(
        self,
        dollars: Decimal | float | None,
        *,
        whose: str = "grove",
        period: SpendingPeriod | str = SpendingPeriod.TOTAL,
    ) -> None:
        """Spend no more than this: `grove`, `tree:ID` or `agent:ID`, in all or in a day. None takes it away."""
        amount = None if dollars is None else dollars_from(dollars, "dollars")
        self.caller.perform(SetCap(whose=whose, period=period_from(period), dollars=amount))

    def spent(self, *, tree: int | None = None, agent: int | None = None) -> Spent:
        """Millionths of a dollar, by the grove as a whole, or by one tree or agent (by key)."""
        with self.caller.reading() as session:
            return spent_by(session, self.caller.executor.clock(), tree=tree, agent=agent)
