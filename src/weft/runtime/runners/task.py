"""Who is asked what, where, and whether that may be: everything before a runner begins."""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from sqlalchemy import select

from weft.error_hints import Hint, HintKind
from weft.errors import ConflictError, InvalidInputError, NotFoundError, UnavailableError
from weft.knowledge.tools.base import ToolRegistry
from weft.providers.base import ModelName
from weft.runtime.contexts.items import read_items
from weft.runtime.contexts.model_agents import (
    EMBEDDED,
    AnsweringAgent,
    ShareEmbedded,
    answering_agents,
    default_agent,
    model_agents,
    registry_of,
)
from weft.runtime.contexts.options import ids_of
from weft.runtime.generation.start_point import StartPoint, StartPointReader
from weft.runtime.operations.agents import AddAgent
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.nodes import Append
from weft.runtime.operations.permissions import agents_allowed
from weft.runtime.operations.projects import mounted_in
from weft.runtime.runners.options import AskOptions, Runner
from weft.runtime.runners.turn_tools import RunnerTools
from weft.runtime.views.reader import Reader
from weft.store import schema
from weft.store.lookup import find_tree
from weft.store.session import Session
from weft.tree.agent import Agent, AgentType
from weft.tree.content import holds_results, is_blank, makes_calls, plain_text
from weft.tree.item import Item
from weft.tree.node import Node, Role, Status
from weft.tree.tree import Mode

_RECENT = 200
"""Nodes before an interrupted turn among which its results are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerTask:
    """A question that is a node by now, and what answers it."""

    tree_id: str
    node_id: str
    """The node that is answered."""
    runner: Runner
    answering: AnsweringAgent
    options: AskOptions
    registry: ToolRegistry | None = None
    """The tools, where they are not the grove's."""

    @property
    def agent(self) -> Agent:
        return self.answering.agent


def runner_task(
    caller: Caller, tree: str, options: AskOptions, registry: ToolRegistry | None = None
) -> RunnerTask:
    """Check everything, then say the question. What is refused changes nothing."""
    runner = options.chosen_runner
    node = None if options.node is None else ids_of([options.node])[0]
    starts = StartPointReader(caller.store, caller.actor)
    here = starts.here(tree, node, caller.executor.clock())
    require_runner(caller, here.tree_id, runner, options.vaults)
    RunnerTools.of(caller, here.node_id, names=options.tool_names, registry=registry)
    answering = _answering(caller, options)
    start = _interrupted_at(caller, here) if options.resume else here.node_id
    if options.text is not None:
        start = _said(caller, here, options)
    elif here.typed and not options.resume:
        said = here.commit_typed(caller)
        start = start if said is None else said.id
    return RunnerTask(
        tree_id=here.tree_id,
        node_id=start,
        runner=runner,
        answering=answering,
        options=options,
        registry=registry,
    )


def require_runner(caller: Caller, tree: str, runner: Runner, vaults: Collection[str]) -> None:
    """Refuse what a runner cannot do here; a document first: its turn has no envelope."""
    _require_envelope(Reader.of(caller).tree(tree).mode)
    if runner is Runner.PROJECT:
        _require_project(caller, tree)
    _require_vaults(caller, runner, vaults)


def _require_envelope(mode: Mode) -> None:
    """A runner's turn is laid out in layers, and a document has none."""
    if mode is not Mode.DIALOGUE:
        raise InvalidInputError(
            "runners answer conversations: a document has no envelope",
            hint="continue the document with generate, or ask in another tree",
        )


def _require_project(caller: Caller, tree: str) -> None:
    trees = schema.trees
    with caller.store.read() as session:
        row = session.execute(
            select(trees.c.project).where(trees.c.key == find_tree(session, tree))
        ).scalar_one()
    if row is None:
        raise InvalidInputError(
            "this tree belongs to no project", hint="assign it to one, or use the runner tools"
        )


def _require_vaults(caller: Caller, runner: Runner, names: Collection[str]) -> None:
    if not names and runner is not Runner.VAULT:
        return
    mounted = mounted_in(caller)
    for name in names:
        mounted.vault(name)
    if not mounted.vaults:
        raise UnavailableError("no folder of notes is mounted", hint=Hint(HintKind.ADD_VAULT))


def _answering(caller: Caller, options: AskOptions) -> AnsweringAgent:
    """The agent that answers, with its provider; one is added for a model that has none."""
    registry = registry_of(caller.executor)
    name = options.agent
    if options.model is not None:
        name = _agent_of_model(caller, options.model)
    with caller.store.read() as session:
        answering = answering_agents(session, caller.actor, registry, () if name is None else (name,))[0]
    if answering.missing is not None:
        raise answering.missing
    if answering.key is None:
        agent, key = caller.perform(ShareEmbedded(registry=registry))
        answering = replace(answering, agent=agent, key=key)
    return answering


def _agent_of_model(caller: Caller, model: str) -> str:
    """The first plain agent with this model; a new one where there is none. The default agent stays."""
    wanted = ModelName.parse(model)
    registry = registry_of(caller.executor)
    registry.model(wanted)
    with caller.store.read() as session:
        agents = model_agents(session)
        seen = agents_allowed(session, caller.actor)
        same = [
            each for each, key in agents if each.model_ref == str(wanted) and (seen is None or key in seen)
        ]
        plain = next((each for each in same if not each.loom_aware), None)
        if plain is not None:
            return plain.id
        is_first = default_agent(session, registry) is None
        name = _free_name(session, wanted)
    if is_first and str(wanted) != EMBEDDED:
        # Otherwise this agent would answer every later question, not the embedded model.
        caller.perform(ShareEmbedded(registry=registry))
    return caller.perform(AddAgent(name=name, type=AgentType.MODEL, model_ref=str(wanted))).id


def _free_name(session: Session, model: ModelName) -> str:
    taken = {name.lower() for name in session.execute(select(schema.agents.c.name)).scalars()}
    own = model.model.rpartition("/")[2] or model.model
    names = (own, str(model), *(f"{own} {number}" for number in range(2, 1_000)))
    return next(name for name in names if name.lower() not in taken)


def _said(caller: Caller, here: StartPoint, options: AskOptions) -> str:
    given = options.attachments
    names = [each for each in given if isinstance(each, str)]
    read = iter(read_items(caller, names, tree=here.tree_id).items) if names else iter(())
    items: list[Item] = [each for each in given if isinstance(each, Item)]
    append = Append(
        tree=here.tree_id, parent=here.node_id, content=options.text or "", attachments=[*items, *read]
    )
    return caller.perform(append).id


def _interrupted_at(caller: Caller, here: StartPoint) -> str:
    """Where an interrupted answer goes on: after the results that it has, else from its question again."""
    read = Reader.of(caller)
    node = read.node(here.tree_id, here.node_id)
    if holds_results(node.content) or (node.role is Role.USER and not is_blank(node.content)):
        return node.id
    if node.status is Status.INTERRUPTED or makes_calls(node.content):
        return _parent(read, node).id
    raise NotFoundError("nothing was interrupted here", hint="ask something new")


_NUMBERED = re.compile(r"^\[(\d{1,3})\]$", re.MULTILINE)


def first_source(caller: Caller, task: RunnerTask) -> int:
    """The number after those of the sources that earlier results of the same turn have shown."""
    path = Reader.of(caller).path(task.tree_id, task.node_id, tail=_RECENT).nodes
    shown = [plain_text(node.content) for node in path if holds_results(node.content)]
    return 1 + max((int(number) for text in shown for number in _NUMBERED.findall(text)), default=0)


def _parent(read: Reader, node: Node) -> Node:
    path = read.path(node.tree_id, node.id, tail=2).nodes
    if len(path) < 2:
        raise ConflictError("the root is no answer")
    return path[0]
