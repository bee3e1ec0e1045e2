"""The tools of one turn: those that it may use, and what is called for every turn of a runner."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from weft.context.items.blocks import ToolOutput
from weft.knowledge.tools.base import ToolRegistry, installed_tools
from weft.runtime.operations.executor import Caller
from weft.runtime.runners.planner import KnownTool
from weft.runtime.tools.policy import Approver
from weft.runtime.tools.service import ToolRun, ToolService
from weft.tree.agent import Agent
from weft.tree.content import ToolCall
from weft.tree.tool_spec import ToolSpec

SEARCH = "localSearch"
_COMPOSER = "composer"
_QUERY_LIMIT = 4_000


@dataclass(frozen=True, slots=True)
class RunnerTools:
    """The tools that a turn may use."""

    service: ToolService
    node: str
    """The turn that they run for: nodes on its path are not found again."""

    @classmethod
    def of(
        cls,
        caller: Caller,
        node: str,
        *,
        names: Collection[str] | None = None,
        vaults: Collection[str] = (),
        approver: Approver | None = None,
        agent: Agent | None = None,
        registry: ToolRegistry | None = None,
    ) -> Self:
        """`names` are the only tools that may run; None: all that are on. `registry` replaces the packages' tools."""
        service = ToolService(
            caller,
            registry or installed_tools(),
            approver=approver,
            vaults=tuple(vaults),
            agent=agent,
            only=None if names is None else frozenset(names),
        )
        for name in names or ():
            service.tool(name)
        return cls(service, node)

    def known(self) -> list[KnownTool]:
        """Those that are on, as a planner knows them."""
        offered = (each.tool for each in self.service.offered() if each.off is None)
        return [
            KnownTool(each.name, each.description, each.schema, each.check)
            for each in offered
            if each is not None
        ]

    def specs(self) -> list[ToolSpec]:
        """Those that are on, as a model is offered them: in the order of their names, so that they stay the same."""
        return self.service.schemas()

    def run(self, call: ToolCall, *, first: int = 1) -> ToolRun:
        """Run one; its failure is a result. `first` is the number of its first source."""
        return self.service.run(call, at=self.node, first=first)


def retrieval_call(question: str) -> ToolCall:
    """The search of the runner `vault`: the question itself, in the notes."""
    arguments = {"query": question.strip()[:_QUERY_LIMIT], "where": ["vaults"]}
    return ToolCall(id="retrieval", name=SEARCH, arguments=arguments)


def composer_output(instructions: str) -> list[ToolOutput]:
    """The composer's instructions as one block, after what tools gave: once, however many there are."""
    text = instructions.strip()
    return [ToolOutput(name=_COMPOSER, content=text)] if text else []
