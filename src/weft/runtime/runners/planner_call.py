"""The planner's request to the model: a call like any other, recorded and paid for, that makes no node."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from weft.context.cache.controls import CacheControls
from weft.context.manifest import Facts, Manifest
from weft.context.manifest_entries import EntryKind, Outcome, Run
from weft.context.result import Context
from weft.context.tokens import DEFAULT, NO_LIMIT
from weft.providers.base import Request
from weft.runtime.contexts.layers import Contexts
from weft.runtime.contexts.model_agents import AnsweringAgent
from weft.runtime.contexts.model_request import model_request
from weft.runtime.contexts.options import ContextOptions
from weft.runtime.contexts.tree_facts import TreeFacts
from weft.runtime.generation.answer import CallProgress, clean_text
from weft.runtime.generation.finish_call import Continuation
from weft.runtime.operations.scope import Scope
from weft.runtime.runners.planner import KnownTool, TurnSummary, planner_instructions
from weft.runtime.views.reader import Opened
from weft.store.rows import NodeRow, TreeState
from weft.tree.content import Text
from weft.tree.message import Message
from weft.tree.node import Role

_LONGEST = 20_000
"""Characters of a list of calls; more is cut off and not valid."""


@dataclass(frozen=True, slots=True)
class PlannerRequest:
    """What the model is sent to plan a turn: instructions, the turn's summary, and its own earlier try."""

    system: str
    messages: tuple[Message, ...]
    nodes: tuple[str, ...]
    """Ids of the nodes whose words are shown."""

    @classmethod
    def first(
        cls, tools: Sequence[KnownTool], turn: TurnSummary, *, nodes: tuple[str, ...]
    ) -> "PlannerRequest":
        return cls(planner_instructions(tools), (Message(Role.USER, (Text(turn.text),)),), nodes)

    def again(self, reply: str, correction: str) -> "PlannerRequest":
        """The same with a reply that was not valid, and what is wrong with it."""
        said = Message(Role.ASSISTANT, (Text(reply or "[]"),))
        return replace(self, messages=(*self.messages, said, Message(Role.USER, (Text(correction),))))

    def __call__(
        self, contexts: Contexts, opened: Opened, options: ContextOptions, answering: AnsweringAgent
    ) -> Context:
        agent = replace(answering.agent, permissions=frozenset())
        context = Context(
            system=self.system,
            messages=self.messages,
            manifest=self._manifest(),
            budget=NO_LIMIT,
            truncated=False,
            removed_nodes=0,
            shortened=(),
            masked=(),
            estimator=DEFAULT,
            tree_id=opened.ulid,
            node_id=self.nodes[0],
            agent=agent,
        )
        delivery = model_request(
            context,
            replace(answering, agent=agent),
            options,
            contexts.store.blobs,
            cache=CacheControls(),
            prefill=False,
            grove=TreeFacts.of(opened).grove_id,
            kept=False,
        )
        return context.changed(delivery=delivery)

    def _manifest(self) -> Manifest:
        texts = [self.system, *(each.text for each in self.messages)]
        size = sum(map(DEFAULT.of_text, texts))
        run = Run.one(EntryKind.SYSTEM, "planner", Outcome.ADDED, "chooses the tools of the turn", size=size)
        digest = hashlib.sha256("\n\n".join(texts).encode()).hexdigest()
        return Manifest(Facts(budget=NO_LIMIT, settings={"planner": True}, hash=digest), [run])


class PlannerAnswer:
    """Hears the planner's list; none of it becomes a node."""

    def __init__(self) -> None:
        self.cursor: str | None = None
        self.text = ""

    def begin(self, request: Request) -> None:
        del request
        self.text = ""

    def hear(self, text: str) -> bool:
        self.text += clean_text(text)
        return len(self.text) > _LONGEST

    def reply(self, progress: CallProgress, said: Sequence[Continuation]) -> list[Continuation]:
        del progress, said
        return []

    def note(self, scope: Scope, tree: TreeState, nodes: Sequence[NodeRow]) -> None:
        """Nothing: the run goes on with its tools."""
