"""Requests in layers over a store: from a place in a tree to its envelope, and to what was sent from there."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from weft.context.layers.controls import CacheWay, cache_profile
from weft.context.layers.envelope import Envelope
from weft.context.layers.items import ContextItem
from weft.context.layers.layered_context import context_of
from weft.context.layers.library import Attached
from weft.context.layers.plan import LayerPlan, plan_layers
from weft.context.layers.render import render_layers
from weft.context.layers.request import LayeredRequest
from weft.context.layers.settings import Changed, LayerSettings, Placement, resolve_layer_settings
from weft.context.layers.stored import load_envelope, named_snapshots
from weft.context.marker import JOINT
from weft.context.result import AssembledContext
from weft.context.select import Candidate, PathOutline
from weft.context.tokens import DEFAULT
from weft.error_hints import Hint, HintKind
from weft.errors import NotFoundError, PermissionDeniedError, StorageError
from weft.ids import Clock
from weft.knowledge.notes import Mounted
from weft.runtime.contexts.assembler import Contexts, contents_for
from weft.runtime.contexts.history_strip import strip_of
from weft.runtime.contexts.items import attached_on_path, fresh_items, shown_item
from weft.runtime.contexts.options import ContextOptions, LayerOptions
from weft.runtime.contexts.path_reader import PathReader
from weft.runtime.contexts.prepared_request import Prepared, prepare
from weft.runtime.contexts.system_blocks import Stood, preferences_of, standing_of
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.node_values import ContentCache, agent_value
from weft.runtime.operations.permissions import agent_row, require_access
from weft.runtime.operations.projects import load_vaults
from weft.runtime.views.reader import Opened, Reader
from weft.store.bodies import envelope_row, legacy_texts, record_of, snapshots_of
from weft.store.lookup import find_agent
from weft.store.rows import NodeRow
from weft.store.session import Session
from weft.store.tree_queries import find_node
from weft.tree.access import MemberRole
from weft.tree.agent import Agent
from weft.tree.content import Content, Text, spoken_text
from weft.tree.item import Item, check_item
from weft.tree.json import JsonValue

if TYPE_CHECKING:
    from weft.runtime.operations.envelopes import Kept


@dataclass(frozen=True, slots=True)
class Assembly:
    """An envelope, with what it was made from."""

    envelope: Envelope
    plan: LayerPlan
    end: NodeRow
    settings: LayerSettings
    stood: Stood

    @property
    def turn(self) -> list[str]:
        """Ids of the nodes whose words are the input."""
        rows = self.plan.path.rows.values()
        spoken = {row.id for row in rows if row.tokens}
        return [name for name in self.plan.turn if name in spoken]


@dataclass(frozen=True, slots=True)
class ContextInputs:
    """What was read for a request, before anything is decided."""

    layered: LayeredRequest
    reader: PathReader
    legacy: dict[str, str]
    stood: Stood
    warnings: tuple[str, ...] = ()

    def contents(self, names: Iterable[str]) -> dict[str, Content]:
        """The words of these nodes; what was sent for them, where only that is known."""
        wanted = list(names)
        sent: dict[str, Content] = {name: Text(self.legacy[name]) for name in wanted if name in self.legacy}
        return contents_for(wanted, self.reader) | sent

    def assembly(self, plan: LayerPlan, envelope: Envelope) -> Assembly:
        """An envelope of it, with what could not be read."""
        warnings = tuple(dict.fromkeys([*envelope.warnings, *self.warnings]))
        envelope = replace(envelope, warnings=warnings)
        return Assembly(envelope, plan, self.reader.end, self.layered.settings, self.stood)

    @property
    def way(self) -> tuple[Placement, float]:
        """Where items stand, and how far a cut moves at a time."""
        return self.layered.settings.library, self.layered.context.rules.step

    def with_way(self, library: Placement, step: float) -> "ContextInputs":
        """The same with other settings; only what the cut asks for is read again."""
        context = self.layered.context
        if step != context.rules.step:
            request = replace(context, preferences=replace(context.preferences, truncation_step=step))
            outline = _with_legacy(self.reader.outline(request), self.reader, self.legacy)
            context = replace(request, outline=outline)
        settings = replace(self.layered.settings, library=library)
        return replace(self, layered=replace(self.layered, context=context, settings=settings))


@dataclass(frozen=True, slots=True)
class Layering(Reader):
    """From a place in a dialogue to its request in layers."""

    cache: ContentCache

    def context(self, opened: Opened, node: str | None, options: ContextOptions) -> AssembledContext:
        """The same as any context is given, with its layers."""
        assembly = self.assemble(opened, node, LayerOptions.of(options))
        return context_of(assembly.plan, assembly.envelope)

    def opened(self, tree: str) -> AbstractContextManager[Opened]:
        """A tree for whoever reads more than one thing of it."""
        return self._tree(tree)

    def end_of(self, opened: Opened, node: str | None) -> NodeRow:
        return self._cursor_row(opened) if node is None else self._row(opened, node)

    def _answering(self, opened: Opened, named: str | None) -> Agent | None:
        """Who will answer: the agent that is named, or the one that acts, if it is a model."""
        key = self.actor.agent if named is None else find_agent(opened.session, named)
        agent = agent_value(agent_row(opened.session, key))
        return agent if agent.model_ref is not None else None

    def assemble(self, opened: Opened, node: str | None, options: LayerOptions) -> Assembly:
        """Plan and render, with everything that has to be read for it."""
        return self.render(self.gather(opened, node, options))

    def gather(self, opened: Opened, node: str | None, options: LayerOptions) -> "ContextInputs":
        """All that has to be read for a request from a node."""
        contexts = Contexts(self.store, self.actor, self.cache)
        request, reader = contexts.request(opened, node, self._cached(opened, options))
        grove, tree = preferences_of(opened)
        settings = resolve_layer_settings(
            cast("dict[str, JsonValue]", grove),
            cast("dict[str, JsonValue]", tree),
            options.settings,
        )
        sees_grove = self._sees_grove(opened)
        mounted = Mounted(load_vaults(opened.session) if sees_grove else [])
        stood = standing_of(opened, self.actor, settings, mounted, options.addendum)
        attached = attached_on_path(opened, reader.end, reader.annotations)
        legacy = legacy_texts(opened.session, opened.key)
        layered = LayeredRequest(
            context=replace(request, outline=_with_legacy(reader.outline(request), reader, legacy)),
            conversation_id=opened.ulid,
            message_id="" if request.pending.text else reader.end.ulid,
            attached=attached,
            items=_context_items(options.items),
            fresh=_fresh(opened, mounted, attached, settings, options) if sees_grove else {},
            standing=stood.standing,
            tool_outputs=options.tool_outputs,
            tool_descriptions=options.tool_descriptions,
            memory_block=options.memory_block,
            loom_context=options.loom_context,
            strip=strip_of(opened, reader.end, settings, options.summary),
            settings=settings,
        )
        warnings = (*stood.warnings, *mounted.warnings)
        return ContextInputs(layered, reader, legacy, stood, tuple(dict.fromkeys(warnings)))

    def render(self, gathered: "ContextInputs") -> Assembly:
        """The envelope of what was read."""
        plan = plan_layers(gathered.layered)
        return gathered.assembly(plan, render_layers(plan, gathered.contents([*plan.wanted, *plan.turn])))

    def _sees_grove(self, opened: Opened) -> bool:
        """Whether vaults and documents may be looked into: they are the grove's, and not one tree's."""
        try:
            require_access(opened.session, self.actor, MemberRole.READER)
        except PermissionDeniedError:
            return False
        return True

    def _cached(self, opened: Opened, options: LayerOptions) -> LayerOptions:
        """Cuts move in steps where the agent that answers has a cache for prefixes."""
        agent = self._answering(opened, options.agent)
        if options.prefix_cache is not None or agent is None:
            return options
        return replace(options, prefix_cache=cache_profile(agent.model_ref or "").way is not CacheWay.NONE)


@dataclass(frozen=True, slots=True)
class Layers(Layering):
    """What models would be sent of a grove's dialogues, and what they were sent."""

    clock: Clock
    caller: Caller

    @classmethod
    def of(cls, caller: Caller) -> "Layers":
        executor = caller.executor
        return cls(executor.store, caller.actor, executor.contents, executor.clock, caller)

    def prepare(
        self, tree: str, node: str, options: LayerOptions, *, is_subject: bool = False, way: str = ""
    ) -> Prepared:
        """All that sending takes: messages, cache controls, a prediction, and what to keep of it.

        `options.agent` says who will answer; its model decides about the cache. A subject is shown
        nothing of the tree around it, and `way` is how its provider caches, where its name does not
        say so. Send it, then `keep` it, and let `report` know what the provider had cached.
        """
        assembly = self._assembled(tree, node, options, is_subject=is_subject)
        with self._tree(tree) as opened:
            return prepare(opened, assembly, self._answering(opened, options.agent), self.clock(), way=way)

    def at(self, tree: str, node: str | None, options: LayerOptions) -> Envelope:
        """The envelope of a request from a node, or from where the agent stands."""
        return self._assembled(tree, node, options).envelope

    def _assembled(
        self, tree: str, node: str | None, options: LayerOptions, *, is_subject: bool = False
    ) -> Assembly:
        """As the agent that answers is shown it: a loom-aware one sees the tree around it."""
        contexts = Contexts.of(self.caller)
        with self._tree(tree) as opened:
            options = contexts.for_model(opened, options)
            gathered = self.gather(opened, node, options)
            agent = None if is_subject else contexts.looking(opened, options.agent)
            if agent is None:
                return self.render(gathered)
        from weft.runtime.contexts.agent_context import lay_out  # noqa: PLC0415 - few agents are

        return lay_out(contexts, agent, gathered, None)

    def keep(self, prepared: Prepared, *, attempt: str | None = None) -> "Kept":
        """Keep a request with its turn; `attempt` is the id of the call, where there is one."""
        from weft.runtime.contexts.prepared_request import keep  # noqa: PLC0415 - beside what it keeps

        return keep(self.caller, prepared, attempt)

    def report(self, kept: "Kept", cached: int) -> None:
        """What the provider says it had cached of a request; the response of its attempt says so too."""
        from weft.runtime.operations.envelopes import ReportCached  # noqa: PLC0415

        self.caller.perform(ReportCached(kept=kept, cached=cached))

    def sent(self, tree: str, node: str, ordinal: int | None = None) -> Envelope:
        """What was sent from a turn, byte for byte; the last of its requests, if none is named."""
        with self._tree(tree) as opened:
            row = find_node(opened.session, opened.key, node)
            kept = envelope_row(opened.session, opened.key, row.key, ordinal)
            return self._loaded(opened, record_of(kept))

    def processed_text(self, tree: str, node: str) -> str:
        """What was sent for a message: computed from its envelope; as it was saved, where there is none."""
        with self._tree(tree) as opened:
            row = find_node(opened.session, opened.key, node)
            try:
                kept = envelope_row(opened.session, opened.key, row.key)
            except NotFoundError:
                contents = self.cache.contents(opened.session, opened.key, [row])
                return spoken_text(contents[row.key])
            record = record_of(kept)
            if kept.legacy:
                digest = str(record["processedText"])
                return snapshots_of(opened.session, opened.key, [digest])[digest]
            return self._loaded(opened, record).processed_user_text

    def _loaded(self, opened: Opened, record: JsonValue) -> Envelope:
        session, tree = opened.session, opened.key
        if isinstance(record, dict) and "processedText" in record:
            raise NotFoundError(
                "of this message only the text is known that was sent", hint=Hint(HintKind.SENT_TEXT)
            )
        shelf = SnapshotShelf(session, tree)
        shelf.fetch(named_snapshots(record, shelf.text))
        turn = cast("list[str]", cast("dict[str, JsonValue]", record)["turn"])
        rows = [find_node(session, tree, ulid, hidden=True) for ulid in turn]
        contents = self.cache.contents(session, tree, rows)
        words = JOINT.join(spoken_text(contents[row.key]) for row in rows)
        return load_envelope(record, shelf.text, user_text=words, estimator=DEFAULT)


class SnapshotShelf:
    """Snapshots of a tree by their hashes, read together where it is known which."""

    def __init__(self, session: Session, tree: int) -> None:
        self._session = session
        self._tree = tree
        self._texts: dict[str, str] = {}

    def fetch(self, digests: list[str]) -> None:
        missing = [each for each in dict.fromkeys(digests) if each not in self._texts]
        self._texts |= snapshots_of(self._session, self._tree, missing)

    def text(self, digest: str) -> str:
        if digest not in self._texts:
            self.fetch([digest])
        if digest not in self._texts:
            raise StorageError(
                f"the snapshot {digest[:12]}… is not there any more", hint=Hint(HintKind.VERIFY)
            )
        return self._texts[digest]


def _context_items(items: Sequence[Item | ContextItem]) -> list[ContextItem]:
    return [each if isinstance(each, ContextItem) else shown_item(check_item(each)) for each in items]


def _fresh(
    opened: Opened,
    mounted: Mounted,
    attached: list[Attached],
    settings: LayerSettings,
    options: LayerOptions,
) -> dict[str, ContextItem]:
    """With `append` what was attached is what is sent: a note is read when it is attached."""
    if not options.fresh or settings.changed is not Changed.REFRESH:
        return {}
    return fresh_items(opened, mounted, (each.item for each in attached if each.left_out is None))


def _with_legacy(outline: PathOutline, reader: PathReader, legacy: dict[str, str]) -> PathOutline:
    """Levels at the size of what was sent for them, where that was saved."""
    if not legacy:
        return outline
    of_text = reader.estimator.of_text

    def sized(row: Candidate) -> Candidate:
        text = legacy.get(row.id)
        return row if text is None else row._replace(tokens=of_text(text), kind="text")

    return replace(
        outline, head=[sized(row) for row in outline.head], tail=[sized(row) for row in outline.tail]
    )
