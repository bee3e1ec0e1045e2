"""Requests in layers over a store: from a place in a tree to its envelope, and to what was sent from there."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self, cast

from sqlalchemy import select

from weft.context.cache.controls import CacheControls
from weft.context.envelope import Envelope
from weft.context.items.blocks import VIEW
from weft.context.items.item_types import ContextItem
from weft.context.manifest import Manifest
from weft.context.request import Strip
from weft.context.result import ChainHeads, Context
from weft.context.settings import Changed, LayerSettings, resolve_layer_settings
from weft.context.stored_envelope import load_envelope, named_snapshots
from weft.context.tokens import DEFAULT, JOINT
from weft.context.tool_text import describe_tools
from weft.error_hints import Hint, HintKind
from weft.errors import NotFoundError, PermissionDeniedError, StorageError, WeftError
from weft.knowledge.notes import FreshItems, Mounted
from weft.providers.base import installed_providers
from weft.runtime.contexts.agent_context import InRun, see
from weft.runtime.contexts.assembler import NO_TURNS, RequestReader, for_model, require_no_tools
from weft.runtime.contexts.fresh_items import fresh_items
from weft.runtime.contexts.items import attached_on_path, shown_item
from weft.runtime.contexts.model_agents import AnsweringAgent
from weft.runtime.contexts.model_request import model_request
from weft.runtime.contexts.options import ContextOptions
from weft.runtime.contexts.prepared_request import (
    CacheView,
    ContextInputs,
    keeping,
    refreshed_items,
    view_cache,
    with_legacy,
)
from weft.runtime.contexts.system_blocks import standing_of
from weft.runtime.contexts.tree_facts import TreeFacts
from weft.runtime.operations.envelopes import ReportCached
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.permissions import require_access
from weft.runtime.operations.projects import load_vaults
from weft.runtime.views.reader import Opened
from weft.store import schema
from weft.store.packed_bodies import snapshots_of
from weft.store.path_queries import walk_up
from weft.store.request_records import envelope_row, legacy_texts, record_of
from weft.store.rows import Flag, NodeRow
from weft.store.session import Session
from weft.store.tree_queries import find_node
from weft.tree.access import MemberRole
from weft.tree.agent import Agent
from weft.tree.cache_profile import NO_PREFIX_CACHE, CacheProfile
from weft.tree.content import spoken_text
from weft.tree.item import Item, check_item
from weft.tree.json import JsonValue
from weft.tree.json_names import from_microseconds
from weft.tree.tree import Mode

if TYPE_CHECKING:
    from weft.runtime.operations.envelopes import EnvelopeKey


@dataclass(frozen=True, slots=True)
class Assembler(RequestReader):
    """Reads all that a request is made of, and lays it out."""

    def end_of(self, opened: Opened, node: str | None) -> NodeRow:
        return self._cursor_row(opened) if node is None else self._row(opened, node)

    def gather(
        self, opened: Opened, node: str | None, options: ContextOptions, agent: Agent | None
    ) -> ContextInputs:
        """All that has to be read for a request from a node."""
        if opened.mode is not Mode.DIALOGUE:
            require_no_tools(options, NO_TURNS)
        request, reader = self.request(opened, node, options, agent)
        facts = TreeFacts.of(opened)
        settings = resolve_layer_settings(facts.grove, facts.tree, options.settings)
        sees_grove = self._sees_grove(opened)
        mounted = Mounted(load_vaults(opened.session) if sees_grove and facts.has_vaults else [])
        readers = frozenset(each.name for each in options.tools)
        readers |= {VIEW} if agent is not None and agent.loom_aware else frozenset()
        stood = standing_of(opened, self.actor, settings, mounted, readers)
        has_items = reader.end.near_attachments is not None
        attached = attached_on_path(opened, reader.end, reader.annotations) if has_items else []
        legacy = legacy_texts(opened.session, opened.key) if facts.has_legacy else {}
        in_words = options.tool_calling is False
        # With `append` what was attached is what is sent: a note is read when it is attached.
        refreshes = sees_grove and options.fresh and settings.changed is Changed.REFRESH
        fresh = fresh_items(opened, reader.end, mounted, attached) if refreshes else FreshItems({})
        request = request.changed(
            outline=with_legacy(reader.outline(request), reader, legacy),
            conversation_id=opened.ulid,
            message_id="" if request.pending.text else reader.end.ulid,
            attached=attached,
            items=_context_items(options.items),
            fresh=fresh.items,
            deleted=fresh.deleted,
            readers=readers,
            standing=replace(stood.standing, addendum=options.addendum),
            tool_outputs=options.tool_outputs,
            tools=() if in_words else tuple(options.tools),
            tool_descriptions=JOINT.join(
                filter(None, [describe_tools(options.tools) if in_words else "", options.tool_descriptions])
            ),
            memory_block=options.memory_block,
            loom_context=options.loom_context,
            strip=strip_of(opened, reader.end, settings, options.summary),
            settings=settings,
            layered=True,
            warnings=(
                *stood.warnings,
                *mounted.warnings,
                *(warning for output in options.tool_outputs for warning in output.warnings),
            ),
        )
        return ContextInputs(request, reader, legacy, stood)

    def _sees_grove(self, opened: Opened) -> bool:
        """Whether vaults and documents may be looked into: they are the grove's, and not one tree's."""
        try:
            require_access(opened.session, self.actor, MemberRole.READER)
        except PermissionDeniedError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Contexts(Assembler):
    """What models see of a grove's trees, as one agent may look at them."""

    def at(self, tree: str, node: str | None, options: ContextOptions) -> Context:
        """The context at a node, or at the agent's cursor: what would be sent to a model from there."""
        with self.pinned(options.moment) as here, here.opened(tree) as opened:
            return here.context(opened, node, options, here.answering(opened, options.agent))

    def manifest(self, tree: str, node: str | None, options: ContextOptions) -> Manifest:
        """What would be kept and dropped."""
        return self.at(tree, node, options).manifest

    def context(
        self,
        opened: Opened,
        node: str | None,
        options: ContextOptions,
        answering: AnsweringAgent,
        run: InRun | None = None,
    ) -> Context:
        """What an agent is sent from a node. `run` is what a run adds for the agent that speaks in it.

        A loom-aware agent also sees the tree around it. This reader is pinned to one snapshot and one moment.
        """
        agent, resolved = answering.agent, for_model(options, answering)
        inputs = self.gather(opened, node, resolved, agent)
        if agent.loom_aware:
            inputs = see(self, agent, inputs, run)
        context = inputs.written()
        facts, now, envelope = TreeFacts.of(opened), self.clock(), context.envelope
        cache = CacheView(CacheControls())
        if envelope is not None:
            profile = NO_PREFIX_CACHE if answering.profile is None else answering.profile.cache
            cache = view_cache(inputs, envelope, agent, now, profile=profile)
        if cache.forecast is not None:
            envelope = cache.forecast.envelope
        delivery = model_request(
            context,
            answering,
            options,
            self.store.blobs,
            cache=cache.controls,
            prefill=bool(resolved.prefill),
            tool_calling=resolved.tool_calling is not False,
            window=resolved.window,
            grove=facts.grove_id,
            typed=inputs.request.pending.text,
            # What a run sends after its first turn belongs to the run.
            kept=run is None or not run.exchanges,
        )
        return context.changed(
            envelope=envelope,
            warnings=context.warnings if envelope is None else envelope.warnings,
            controls=cache.controls,
            forecast=cache.forecast,
            instabilities=cache.instabilities,
            recorded=inputs.request.settings.record_payload,
            refreshed=refreshed_items(inputs.request),
            tree_id=opened.ulid,
            node_id=inputs.reader.end.ulid,
            agent=agent,
            as_of=from_microseconds(now),
            snapshot=ChainHeads(tree=(facts.head or b"").hex(), grove=(facts.grove_head or b"").hex()),
            delivery=delivery,
        )


@dataclass(frozen=True, slots=True)
class Layers(Contexts):
    """What models would be sent of a grove's dialogues, and what they were sent."""

    caller: Caller = field(kw_only=True)

    @classmethod
    def of(cls, caller: Caller) -> Self:
        base = Contexts.of(caller)
        return cls(base.store, base.actor, base.cache, base.clock, base.providers, caller=caller)

    def cache_of(self, model: str | None) -> CacheProfile:
        """The cache of a model; none where the model is not known."""
        try:
            provider, name = (self.providers or installed_providers()).model(model or "")
        except WeftError:
            return NO_PREFIX_CACHE
        return provider.profile(name).cache

    def envelope(self, tree: str, node: str | None, options: ContextOptions) -> Envelope:
        """The envelope of a request from a node, or from the agent's cursor."""
        return self.at(tree, node, options).laid_out

    def keep(self, context: Context, *, attempt: str | None = None) -> "EnvelopeKey":
        """Keep a request with its turn; `attempt` is the id of the call, where there is one."""
        return self.caller.perform(keeping(context, attempt))

    def report(self, envelope: "EnvelopeKey", cached: int) -> None:
        """What the provider says it had cached of a request; the response of its attempt says so too."""
        self.caller.perform(ReportCached(envelope=envelope, cached=cached))

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
                "this message was saved without an envelope: only its text is known",
                hint=Hint(HintKind.SENT_TEXT),
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


_texts = schema.texts
_TURNS = 4


def strip_of(opened: Opened, end: NodeRow, settings: LayerSettings, summary: str | None) -> Strip | None:
    """The given summary, or those of the nodes from the root on as far as every one has one."""
    turns = settings.strip_turns
    if summary is not None:
        return Strip(summary=summary, turns=_TURNS if turns is None else turns)
    if turns is None:
        return None
    rows = walk_up(opened.session, opened.key, end.position)
    told = _summaries(opened, rows)
    lines: list[tuple[int, str]] = []
    through = -1
    for row in rows:
        if row.key in told and not row.flags & Flag.EXCLUDED:
            lines.append((row.depth, f"- [{row.local_id}] {told[row.key]}"))
        elif (row.narrow or row.wide) and not row.flags & Flag.EXCLUDED:
            # From here on there are no summaries: the nodes stay in full.
            break
        through = row.depth
    return Strip(lines=tuple(lines), turns=turns, through=through) if lines else None


def _summaries(opened: Opened, rows: list[NodeRow]) -> dict[int, str]:
    there = select(_texts.c.node, _texts.c.summary).where(
        _texts.c.tree == opened.key,
        _texts.c.summary.is_not(None),
        opened.session.dialect.among(_texts.c.node, [row.key for row in rows]),
    )
    return {row.node: " ".join(row.summary.split()) for row in opened.session.execute(there)}
