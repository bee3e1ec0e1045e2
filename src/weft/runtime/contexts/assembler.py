"""Contexts over a store: from a place in a tree to exactly what a model would see there."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Self

from sqlalchemy import select

from weft.context.request import ContextRequest, Pending, Profile
from weft.context.rows import Annotations, PathOutline
from weft.context.settings import LayerSettings, Preferences, check_names, input_budget, resolve_preferences
from weft.context.system import SystemParts
from weft.context.tokens import NO_LIMIT, Estimator, estimator_of
from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError
from weft.ids import Clock, is_ulid, system_clock
from weft.providers.base import ProviderRegistry, installed_providers
from weft.runtime.contexts.collapsed_path import PathFolds
from weft.runtime.contexts.model_agents import AnsweringAgent, answering_agents, default_agent, model_agent
from weft.runtime.contexts.options import ContextOptions, ids_of
from weft.runtime.contexts.path_reader import PathReader
from weft.runtime.contexts.tree_facts import TreeFacts
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.node_values import ContentCache
from weft.runtime.operations.permissions import Actor, require_access, require_permission, trees_allowed
from weft.runtime.operations.settings import estimator_for
from weft.runtime.views.reader import Opened, Reader
from weft.store import base, schema
from weft.store.drafts import draft_at
from weft.store.rows import NodeRow
from weft.tree.access import MemberRole
from weft.tree.agent import Agent, Permission
from weft.tree.edge import SourceRole
from weft.tree.json import JsonValue, camel
from weft.tree.tree import Mode

NO_TURNS = "a document has no turns that tools could speak in"
_WINDOW = "contextWindow"
_LAYOUT = "loomLayout"


@dataclass(frozen=True, slots=True)
class RequestReader(Reader):
    """Reads what a context is made of: the settings, the path and who answers."""

    cache: ContentCache
    clock: Clock = system_clock
    providers: ProviderRegistry | None = None
    """The model providers; None: all that are installed."""

    @classmethod
    def of(cls, caller: Caller) -> Self:
        executor = caller.executor
        return cls(executor.store, caller.actor, executor.contents, executor.clock, executor.providers)

    @contextmanager
    def pinned(self, moment: int | None = None) -> Generator[Self]:
        """The same reader in one snapshot of the database, at one moment; default: now."""
        now = self.clock() if moment is None else moment
        with self.store.read() as session:
            yield replace(self, store=base.Snapshot(self.store, session), clock=lambda: now)

    def answering(self, opened: Opened, named: str | None) -> AnsweringAgent:
        """The agent that answers: the one that is named, else the default one."""
        return self.answering_agents(opened, () if named is None else (named,))[0]

    def answering_agents(
        self, opened: Opened, named: tuple[str, ...], actor: Actor | None = None
    ) -> list[AnsweringAgent]:
        """The agents that are named, else the default one; what is known of them holds until the grove changes.

        They are those that this reader's actor may ask, or another one.
        """
        actor = actor or self.actor
        facts, registry = TreeFacts.of(opened), self.providers or installed_providers()
        session, head = opened.session, facts.grove_head

        def default() -> tuple[Agent, int] | None:
            known = default_agent, *registry.names
            return self.cache.of_grove(head, known, lambda: default_agent(session, registry, facts.grove))

        def by_name(name: str) -> tuple[Agent, int]:
            if trees_allowed(session, actor) is not None:
                # Who sees some trees only sees the agents there, and those come and go with its nodes.
                return model_agent(session, actor, name)
            return self.cache.of_grove(head, (model_agent, name), lambda: model_agent(session, actor, name))

        return answering_agents(session, actor, registry, named, by_name=by_name, default=default)

    @contextmanager
    def opened(self, tree: str) -> Generator[Opened]:
        """A tree, where more than one thing is read of it."""
        with self.store.read() as session:
            known = TreeFacts.opening(session, tree, self.actor.agent) if is_ulid(tree) else None
            require_permission(session, self.actor, Permission.LOOM_AWARE, "look")
            opened = known or self._tree_row(session, tree)
            require_access(session, self.actor, MemberRole.READER, opened.key)
            yield opened

    def preferences(self) -> dict[str, JsonValue]:
        """What the grove prefers, as far as it was set."""
        with self._session() as session:
            kept = json.loads(session.execute(select(schema.grove.c.preferences)).scalar_one())
        known = {camel(each.name) for kind in (Preferences, LayerSettings) for each in fields(kind)}
        return {name: value for name, value in kept.items() if name in known}

    def request(
        self, opened: Opened, node: str | None, options: ContextOptions, agent: Agent | None
    ) -> tuple[ContextRequest, PathReader]:
        """What is asked for, still without its path, and who reads that."""
        facts = TreeFacts.of(opened)
        check_names(options.settings)
        preferences = resolve_preferences(facts.grove, facts.tree, _own_layout(agent), options.settings)
        estimator = _estimator(preferences, facts, agent, options)
        cursor = self._cursor_row(opened)
        end = cursor if node is None else self._row(opened, node)
        reader = PathReader(
            tree=opened,
            end=end,
            selections=self._selections(opened),
            cache=self.cache,
            estimator=estimator,
            annotations=self._annotations(opened, options),
            folds=PathFolds.on(opened.session, opened.key, end) if facts.has_folds else PathFolds(),
        )
        window = _window_of(agent) if options.window is None else options.window
        if window is not None and window < 1:
            raise InvalidInputError(f"the window must be at least 1, got {window:,}")
        request = ContextRequest(
            mode=opened.mode,
            outline=PathOutline(tail=()),
            budget=_budget(preferences, window, agent, options),
            window=window,
            system=_system(facts, agent, reader),
            buffer_system_context=facts.buffer_system_context,
            preferences=preferences,
            estimator=estimator,
            profile=_profile(options),
            pending=self._pending(opened, reader, cursor, options),
            authors=_names(opened) if preferences.name_authors else {},
        )
        return request, reader

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
            if opened.is_dialogue and self.actor.run is None:
                # What its writer types there: generating makes it a node first.
                text = draft_at(opened.session, opened.key, self.actor.agent, reader.end.key)
        elif opened.is_dialogue and not text.strip():
            text = ""
        context = [(self._row(opened, each).key, SourceRole.CONTEXT) for each in ids_of(options.context)]
        instructions = [(self._row(opened, each).key, "") for each in ids_of(options.instructions)]
        return Pending(
            text=text,
            sources=reader.extra_sources(context) if context else (),
            instructions=reader.instructions_from(instructions) if instructions else (),
        )


def for_model(options: ContextOptions, answering: AnsweringAgent) -> ContextOptions:
    """The options with the window and the abilities of the model that answers, where none are given."""
    known, window = answering.profile, options.window
    if known is None:
        return options
    return options.with_checked(
        window=known.window if window is None and _window_of(answering.agent) is None else window,
        prefix_cache=known.prefix_cache if options.prefix_cache is None else options.prefix_cache,
        prefill=known.prefill if options.prefill is None else options.prefill,
        completion=known.completion if options.completion is None else options.completion,
        tool_calling=known.tools if options.tool_calling is None else options.tool_calling,
        system_anywhere=known.system_anywhere if options.system_anywhere is None else options.system_anywhere,
    )


def require_no_tools(options: ContextOptions, why: str) -> None:
    """Refuse tools and what they gave where they would be left out in silence."""
    if options.tool_outputs or options.tools:
        raise InvalidInputError(f"tools cannot be used here: {why}", hint=Hint(HintKind.NO_TOOLS))


def _system(facts: TreeFacts, agent: Agent | None, reader: PathReader) -> SystemParts:
    prompt = "" if agent is None else agent.configuration.system_prompt or ""
    return SystemParts(agent=prompt, tree=facts.system_context, instructions=reader.instructions())


def _profile(options: ContextOptions) -> Profile:
    """What the provider can do; of a model that is not known, a document is shown as its text alone."""
    return Profile(
        prefix_cache=bool(options.prefix_cache),
        prefill=bool(options.prefill),
        completion=options.completion is not False,
        tools=options.tool_calling is not False,
        system_anywhere=bool(options.system_anywhere),
    )


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
    preferences: Preferences, facts: TreeFacts, agent: Agent | None, options: ContextOptions
) -> Estimator:
    wanted = preferences.estimator if options.estimator is None else options.estimator
    if not isinstance(wanted, str):
        return estimator_of(wanted)
    return estimator_for(facts.grove, wanted, None if agent is None else agent.model_ref)


def _names(opened: Opened) -> dict[str, str]:
    agents = schema.agents
    return {row.ulid: row.name for row in opened.session.execute(select(agents.c.ulid, agents.c.name))}
