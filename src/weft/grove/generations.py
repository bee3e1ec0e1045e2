"""Generating: continuations of a node by models, as they come or when they are there.

kids = node.generate(n=3)
with node.stream(n=3) as stream:
    for event in stream: ...
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from weft.errors import WeftError
from weft.grove.node import NodeHandle
from weft.providers.registry import ProviderRegistry, installed_providers
from weft.runtime.coordination.background import register_run
from weft.runtime.generation.agent_choice import DEFAULT_AGENT, model_agent
from weft.runtime.generation.options import GenerationOptions
from weft.runtime.generation.plan import Preflight, preflight
from weft.runtime.generation.run import GenerationRun, StartPlace
from weft.runtime.generation.sent_request import (
    RequestCheck,
    SentRequest,
    check_sent_request,
    load_sent_request,
)
from weft.runtime.generation.spending import Cap, Period, SetCap, caps_of, dollars_from, period_from
from weft.runtime.generation.stream import EventStream, Failed, GenerationEvent, NodeCompleted
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.permissions import Actor
from weft.runtime.operations.settings import ChangeSettings, load_settings
from weft.store.spending import Spent, spent_by
from weft.tree.agent import Agent
from weft.tree.node import Status

if TYPE_CHECKING:
    from weft.grove.grove import Grove

__all__ = ["Generated", "Generations", "Stream"]


class Generated(list[NodeHandle]):
    """The nodes that came, in the order of what was asked for; and what did not come, and why."""

    def __init__(self, nodes: list[NodeHandle], failures: tuple[WeftError, ...]) -> None:
        super().__init__(nodes)
        self.failures = failures
        """One for each call that ended with an error; what had come of it is among the nodes, as interrupted."""


class Stream(EventStream[GenerationEvent, Generated]):
    """A generation as it goes on: iterate it for events, plainly or in an event loop.

    Leave its `with` early, or call `stop`, and no more words are asked for: what came is kept.
    Its result raises the first error if no continuation came to its end.
    """

    def __init__(self, grove: "Grove", run: GenerationRun) -> None:
        super().__init__(run)
        self._grove = grove
        self._nodes: dict[int, NodeHandle] = {}
        self._failures: list[WeftError] = []

    @property
    def nodes(self) -> list[NodeHandle]:
        """Those that are there so far, in the order of their slots."""
        return [self._nodes[slot] for slot in sorted(self._nodes)]

    @property
    def failures(self) -> tuple[WeftError, ...]:
        return tuple(self._failures)

    def _result(self) -> Generated:
        nodes = self.nodes
        whole = any(node.value.status is Status.COMPLETE for node in nodes)
        if self._failures and not whole:
            raise _with_nodes(self._failures[0], nodes)
        return Generated(nodes, self.failures)

    def _take(self, event: GenerationEvent) -> None:
        if isinstance(event, NodeCompleted):
            self._nodes[event.slot] = NodeHandle(self._grove, event.node)
        elif isinstance(event, Failed):
            self._failures.append(event.error)


def _with_nodes(error: WeftError, nodes: list[NodeHandle]) -> WeftError:
    """The error, and where to find what had come."""
    if nodes:
        named = ", ".join(f"[{node.local_id}]" for node in nodes)
        error.add_note(f"what had come is kept as interrupted: {named}")
    return error


@dataclass(frozen=True, slots=True)
class Generations:
    """Asking models, for one agent of a grove."""

    grove: "Grove"
    gate: Executor
    actor: Actor

    @property
    def registry(self) -> ProviderRegistry:
        return self.gate.providers or installed_providers()

    def stream(self, tree: str, node: str | None, wishes: GenerationOptions) -> Stream:
        """Begin, and return at once; the stream tells what happens, also if it is refused."""
        run = GenerationRun(self.gate, self.actor, self.registry, StartPlace(tree=tree, node=node), wishes)
        register_run(self.gate.store, run)
        run.start()
        return Stream(self.grove, run)

    def generate(self, tree: str, node: str | None, wishes: GenerationOptions) -> Generated:
        """Begin, and wait for the end. Interrupted, it stops, and what came is kept."""
        with self.stream(tree, node, wishes) as stream:
            return stream.result()

    def preflight(self, tree: str, node: str | None, wishes: GenerationOptions) -> Preflight:
        """Tokens, expected cached share and price, before anything is spent."""
        return preflight(self.gate, self.actor, self.registry, (tree, node), wishes)

    def sent(self, tree: str, node: str) -> SentRequest:
        """What the model saw that wrote a node."""
        return load_sent_request(self.gate, self.actor, tree, node)

    def check_sent(self, sent: SentRequest) -> RequestCheck:
        """Whether that is what was sent, to the byte, and whether it would be the same today."""
        return check_sent_request(self.gate, self.actor, self.registry, sent)

    @property
    def default_agent(self) -> str | None:
        """The id of who answers where nobody is named, if somebody was chosen."""
        with self.gate.store.read() as session:
            return load_settings(session).get(DEFAULT_AGENT)

    def choose_default(self, agent: str | None) -> Agent | None:
        """Let this agent answer where nobody is named; None leaves it to the one that came last."""
        if agent is None:
            self.gate.perform(self.actor, ChangeSettings(settings={DEFAULT_AGENT: None}))
            return None
        with self.gate.store.read() as session:
            found, _ = model_agent(session, agent)
        self.gate.perform(self.actor, ChangeSettings(settings={DEFAULT_AGENT: found.id}))
        return found

    @property
    def caps(self) -> list[Cap]:
        with self.gate.store.read() as session:
            return caps_of(load_settings(session))

    def set_cap(
        self, dollars: Decimal | float | None, *, whose: str = "grove", period: Period | str = Period.TOTAL
    ) -> None:
        """Spend no more than this: `grove`, `tree:ID` or `agent:ID`, in all or in a day. None takes it away."""
        amount = None if dollars is None else dollars_from(dollars, "a cap")
        self.gate.perform(self.actor, SetCap(whose=whose, period=period_from(period), dollars=amount))

    def spent(self, *, tree: int | None = None, agent: int | None = None) -> Spent:
        """Millionths of a dollar, by the grove as a whole, or by one tree or agent (by key)."""
        with self.gate.store.read() as session:
            return spent_by(session, self.gate.clock(), tree=tree, agent=agent)
