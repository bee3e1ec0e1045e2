"""Contexts over a store: from a place in a tree to exactly what a model would see there."""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import bindparam, select

from weft.context.assemble import ContextRequest, Pending, Plan, Profile, plan_context
from weft.context.layers.settings import LayerSettings
from weft.context.manifest import NO_LIMIT, Manifest
from weft.context.plan_manifest import planned_manifest, tells_all
from weft.context.render import write_context
from weft.context.result import AssembledContext
from weft.context.select import Annotations, PathOutline
from weft.context.settings import Preferences, check_names, input_budget, resolve_preferences
from weft.context.system import SystemParts
from weft.context.tokens import Estimator, estimator_of
from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError
from weft.ids import Clock, system_clock
from weft.runtime.contexts.collapsed_path import PathFolds
from weft.runtime.contexts.options import ContextOptions, ids_of
from weft.runtime.contexts.path_reader import PathReader
from weft.runtime.contexts.profiles import profiles_of
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.node_values import ContentCache, agent_value
from weft.runtime.operations.permissions import agent_row
from weft.runtime.operations.settings import estimator_for
from weft.runtime.views.reader import Opened, Reader
from weft.store import schema
from weft.store.lookup import find_agent
from weft.store.rows import NodeRow
from weft.tree.agent import Agent, AgentType
from weft.tree.content import Content
from weft.tree.edge import SourceRole
from weft.tree.json import JsonValue, camel
from weft.tree.tree import Mode

if TYPE_CHECKING:
    from weft.providers.base import ModelProfile
    from weft.runtime.contexts.layers import ContextInputs, Layering

AnyOptions = TypeVar("AnyOptions", bound=ContextOptions)

NO_TURNS = "a document has no turns that tools could speak in"
_WINDOW = "contextWindow"
_LAYOUT = "loomLayout"


def unknown(_model: str) -> None:
    """Nobody knows what a model can do."""


@dataclass(frozen=True, slots=True)
class Contexts(Reader):
    """What models see of a grove's trees, as one agent may look at them."""

    cache: ContentCache
    clock: Clock = system_clock
    profiles: "Callable[[str], ModelProfile | None]" = unknown
    """What a model can do, by its `provider:model`."""

    @classmethod
    def of(cls, caller: Caller) -> "Contexts":
        executor = caller.executor
        return cls(
            executor.store, caller.actor, executor.contents, executor.clock, profiles_of(executor.providers)
        )

    def at(self, tree: str, node: str | None, options: ContextOptions) -> AssembledContext:
        """The context at a node, or where the agent stands: what a model would be sent from there.

        In layers, where there is anything that only layers lay out.
        """
        with self._tree(tree) as opened:
            options = self.for_model(opened, options)
            agent = self.looking(opened, options.agent)
            if agent is None:
                if self._calls_for_layers(opened, node, options):
                    return self._layering.context(opened, node, options)
                return self._plain(opened, node, options)
            gathered = self.gathered(opened, node, options)
        # Whoever sees the tree around it is shown more, which is read one after another: a reader who
        # holds a connection while it waits for a second could wait for others who do the same.
        from weft.runtime.contexts.agent_context import see  # noqa: PLC0415 - few agents are

        return see(self, agent, gathered, None)

    def gathered(self, opened: Opened, node: str | None, options: ContextOptions) -> "ContextInputs":
        """All that is read of a path for whoever sees the tree around it."""
        from weft.runtime.contexts.options import LayerOptions  # noqa: PLC0415 - few agents are

        if opened.mode is not Mode.DIALOGUE:
            require_no_tools(options, NO_TURNS)
        return self._layering.gather(opened, node, LayerOptions.of(options))

    def for_model(self, opened: Opened, options: AnyOptions) -> AnyOptions:
        """The options with the window and the abilities of the model that would answer, where none are given."""
        agent = self._agent(opened, options.agent)
        known = None if agent is None or agent.model_ref is None else self.profiles(agent.model_ref)
        if known is None:
            return options
        window = known.window if options.window is None and _window_of(agent) is None else options.window
        return replace(
            options,
            window=window,
            # Where the provider has no cache, layers ask what is known of the model.
            prefix_cache=known.prefix_cache or None if options.prefix_cache is None else options.prefix_cache,
            prefill=known.prefill if options.prefill is None else options.prefill,
        )

    def looking(self, opened: Opened, agent: str | None) -> Agent | None:
        """The agent, if it is a model that sees the tree around it."""
        found = self._agent(opened, agent)
        aware = found is not None and found.type is AgentType.MODEL and found.loom_aware
        return found if aware else None

    def opened(self, tree: str) -> AbstractContextManager[Opened]:
        """A tree for whoever reads more than one thing of it."""
        return self._tree(tree)

    def plain(self, tree: str, node: str | None, options: ContextOptions) -> AssembledContext:
        """The path alone, whatever its turns brought along."""
        with self._tree(tree) as opened:
            return self._plain(opened, node, options)

    def _calls_for_layers(self, opened: Opened, node: str | None, options: ContextOptions) -> bool:
        if opened.mode is not Mode.DIALOGUE:
            require_no_tools(options, NO_TURNS)
            return False
        if options.tool_outputs:
            return True
        from weft.runtime.contexts.system_blocks import (  # noqa: PLC0415 - vaults and documents come along
            calls_for_layers,
        )

        end = self._cursor_row(opened) if node is None else self._row(opened, node)
        return calls_for_layers(opened, end, self.actor, options.settings)

    @property
    def _layering(self) -> "Layering":
        from weft.runtime.contexts.layers import Layering  # noqa: PLC0415 - it stands on this module

        return Layering(self.store, self.actor, self.cache)

    def _plain(self, opened: Opened, node: str | None, options: ContextOptions) -> AssembledContext:
        plan, reader = self._planned(opened, node, options)
        return write_context(plan, lambda planned: contents_for(planned.wanted, reader))

    def preferences(self) -> dict[str, JsonValue]:
        """What the grove prefers, as far as it was set."""
        with self._session() as session:
            kept = json.loads(session.execute(select(schema.grove.c.preferences)).scalar_one())
        known = {camel(each.name) for kind in (Preferences, LayerSettings) for each in fields(kind)}
        return {name: value for name, value in kept.items() if name in known}

    def manifest(self, tree: str, node: str | None, options: ContextOptions) -> Manifest:
        """What would be kept and dropped: the account of the context, and hardly any text is read for it.

        Only where the texts themselves decide, because some are shortened or counted exactly,
        is the context written.
        """
        with self._tree(tree) as opened:
            options = self.for_model(opened, options)
            if self.looking(opened, options.agent) is None:
                if self._calls_for_layers(opened, node, options):
                    return self._layering.context(opened, node, options).manifest
                plan, reader = self._planned(opened, node, options)
                if tells_all(plan) and not plan.request.estimator.seam:
                    return planned_manifest(plan)
                return write_context(plan, lambda planned: contents_for(planned.wanted, reader)).manifest
        return self.at(tree, node, options).manifest

    def _planned(self, opened: Opened, node: str | None, options: ContextOptions) -> tuple[Plan, PathReader]:
        request, reader = self.request(opened, node, options)
        return plan_context(replace(request, outline=reader.outline(request))), reader

    def request(
        self, opened: Opened, node: str | None, options: ContextOptions
    ) -> tuple[ContextRequest, PathReader]:
        """What is asked for, still without its path, and who reads that."""
        told = _Told.about(opened)
        agent = self._agent(opened, options.agent)
        check_names(options.settings)
        preferences = resolve_preferences(told.grove, told.tree, _own_layout(agent), options.settings)
        estimator = _estimator(preferences, told, agent, options)
        cursor = self._cursor_row(opened)
        end = cursor if node is None else self._row(opened, node)
        reader = PathReader(
            tree=opened,
            end=end,
            selections=self._selections(opened),
            cache=self.cache,
            estimator=estimator,
            annotations=self._annotations(opened, options),
            folds=PathFolds.on(opened.session, opened.key, end) if told.folds else PathFolds(),
        )
        window = _window_of(agent) if options.window is None else options.window
        if window is not None and window < 1:
            raise InvalidInputError(f"the window must be at least 1, got {window:,}")
        request = ContextRequest(
            mode=opened.mode,
            outline=PathOutline(tail=()),
            budget=_budget(preferences, window, agent, options),
            window=window,
            system=_system(told, agent, reader),
            buffer_system_context=told.buffer_system_context,
            preferences=preferences,
            estimator=estimator,
            profile=Profile(prefix_cache=bool(options.prefix_cache), prefill=bool(options.prefill)),
            pending=self._pending(opened, reader, cursor, options),
            authors=_names(opened) if preferences.name_authors else {},
        )
        return request, reader

    def _agent(self, opened: Opened, reference: str | None) -> Agent | None:
        session = opened.session
        if reference is not None:
            return agent_value(agent_row(session, find_agent(session, reference)))
        acting = agent_value(agent_row(session, self.actor.agent))
        return acting if acting.type is AgentType.MODEL else None

    def _annotations(self, opened: Opened, options: ContextOptions) -> Annotations:
        wanted = options.annotations
        if isinstance(wanted, bool):
            return wanted
        return frozenset(self._row(opened, reference).ulid for reference in ids_of(wanted))

    def _pending(
        self, opened: Opened, reader: PathReader, cursor: NodeRow, options: ContextOptions
    ) -> Pending:
        text = options.text
        if text is None:
            # The working buffer stands at the document's end: where its writer is.
            typed = opened.mode is Mode.BUFFER and cursor.position == reader.end.position
            text = self._typed(opened) if typed else ""
        context = [(self._row(opened, each).key, SourceRole.CONTEXT) for each in ids_of(options.context)]
        instructions = [(self._row(opened, each).key, "") for each in ids_of(options.instructions)]
        return Pending(
            text=text,
            sources=reader.extra_sources(context) if context else (),
            instructions=reader.instructions_from(instructions) if instructions else (),
        )


def require_no_tools(options: ContextOptions, why: str) -> None:
    """Refuse what tools gave where it would be left out in silence."""
    if options.tool_outputs:
        raise InvalidInputError(f"tools have no place here: {why}", hint=Hint(HintKind.NO_TOOLS))


_trees, _groups = schema.trees, schema.groups
_ABOUT = select(
    _trees.c.preferences,
    _trees.c.system_context,
    _trees.c.buffer_mode_system_context,
    select(schema.grove.c.preferences).scalar_subquery(),
    select(_groups.c.name).where(_groups.c.tree == _trees.c.key, _groups.c.expanded.is_(False)).exists(),
).where(_trees.c.key == bindparam("the_tree"))


@dataclass(frozen=True, slots=True)
class _Told:
    """What the grove and the tree say about contexts."""

    grove: Mapping[str, Any]
    tree: Mapping[str, Any]
    system_context: str
    buffer_system_context: bool
    folds: bool
    """Whether anything in the tree is folded."""

    @classmethod
    def about(cls, opened: Opened) -> "_Told":
        (row,) = opened.session.rows(_ABOUT, {"the_tree": opened.key})
        preferences, system_context, buffer_system_context, app, folds = row
        return cls(
            json.loads(app),
            json.loads(preferences),
            system_context,
            bool(buffer_system_context),
            bool(folds),
        )


def _system(told: _Told, agent: Agent | None, reader: PathReader) -> SystemParts:
    if not reader.dialogue and not told.buffer_system_context:
        return SystemParts()
    prompt = "" if agent is None else agent.configuration.system_prompt or ""
    return SystemParts(agent=prompt, tree=told.system_context, instructions=reader.instructions())


def _own_layout(agent: Agent | None) -> dict[str, JsonValue]:
    """How this agent likes to be shown its surroundings, where it says so."""
    layout = None if agent is None else agent.configuration.custom.get(_LAYOUT)
    return {} if layout is None else {_LAYOUT: layout}


def _window_of(agent: Agent | None) -> int | None:
    window = None if agent is None else agent.configuration.custom.get(_WINDOW)
    return window if isinstance(window, int) and not isinstance(window, bool) and window > 0 else None


def _budget(
    preferences: Preferences, window: int | None, agent: Agent | None, options: ContextOptions
) -> int:
    if options.limit is None and window is None:
        return NO_LIMIT
    most = options.max_tokens
    if most is None and agent is not None:
        most = agent.configuration.max_tokens
    return input_budget(preferences, window=window, max_tokens=most, limit=options.limit)


def _estimator(
    preferences: Preferences, told: _Told, agent: Agent | None, options: ContextOptions
) -> Estimator:
    wanted = preferences.estimator if options.estimator is None else options.estimator
    if not isinstance(wanted, str):
        return estimator_of(wanted)
    return estimator_for(told.grove, wanted, None if agent is None else agent.model_ref)


def _names(opened: Opened) -> dict[str, str]:
    agents = schema.agents
    return {row.ulid: row.name for row in opened.session.execute(select(agents.c.ulid, agents.c.name))}


def contents_for(wanted: Iterable[str], reader: PathReader) -> dict[str, Content]:
    """The texts of what is kept, in one query for all that is not at hand."""
    rows = {ulid: reader.seen[ulid] for ulid in wanted}
    contents = reader.cache.contents(reader.tree.session, reader.tree.key, rows.values())
    return {ulid: contents[row.key] for ulid, row in rows.items()} | reader.folds.texts
