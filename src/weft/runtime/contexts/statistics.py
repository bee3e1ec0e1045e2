"""What a tree's requests were made of, what a provider's cache made of them, and what other settings would have."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from sqlalchemy import and_, select

from weft.context.cache.prediction import pieces_of, predict
from weft.context.envelope import RequestBlock
from weft.context.items.item_types import LayerId
from weft.context.settings import Placement
from weft.errors import InvalidInputError, WeftError
from weft.runtime.contexts.options import ContextOptions
from weft.runtime.contexts.prepared_request import ContextInputs
from weft.runtime.views.reader import Opened
from weft.store import schema
from weft.store.path_queries import walk_up
from weft.store.request_records import record_of
from weft.store.rows import ROLES, NodeRow
from weft.store.tree_queries import node_rows
from weft.tree.agent import Agent
from weft.tree.cache_profile import CacheKind, CacheProfile
from weft.tree.node import Role
from weft.tree.progress import Progress, silent
from weft.tree.tree import Mode

if TYPE_CHECKING:
    from weft.runtime.contexts.layers import Layers

_envelopes = schema.envelopes
_READ, _WRITE = 0.1, 1.25
"""What a token costs that is read from a cache, or written to it, in prices of one that is neither."""
_STEP = 0.25
_BRANCHES = 20
_UNSTABLE = 20
_COMMON_CACHE = CacheProfile(kind=CacheKind.KEY, grain=128)
_TURNS = 30
"""Turns from the end over which other settings are tried."""


@dataclass(frozen=True, slots=True)
class LayerTokens:
    id: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """Some requests, added up."""

    count: int = 0
    tokens: int = 0
    layers: tuple[LayerTokens, ...] = ()
    """From the most stable to the most volatile."""
    predicted: int = 0
    """Tokens that were expected to be read from the cache."""
    reported: int | None = None
    """Tokens that providers say were; of those requests only that they speak of."""
    reported_of: int = 0
    """Tokens of those."""
    reported_predicted: int = 0
    """What was expected of those."""

    def in_layer(self, name: str) -> int:
        return next((each.tokens for each in self.layers if each.id == name), 0)

    @property
    def predicted_share(self) -> float:
        return self.predicted / self.tokens if self.tokens else 0.0

    @property
    def reported_share(self) -> float | None:
        if self.reported is None:
            return None
        return self.reported / self.reported_of if self.reported_of else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchStats:
    """The requests on the path to a leaf."""

    leaf: str
    """Its local id."""
    requests: Requests


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """How the turns would have gone with other settings."""

    library: str
    step: float
    cost: float
    """In tokens at the full price."""
    cached: float
    """Share of all tokens that is read from the cache."""
    saved: float
    """Share of the present settings' cost that it saves; negative where it costs more."""
    current: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Unstable:
    """A turn whose request lost the cache without a recorded reason."""

    node: str
    """Its local id."""
    layer: str
    segment: str
    """The first that differs."""
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeStats:
    tree_id: str
    title: str
    requests: Requests
    branches: tuple[BranchStats, ...]
    unstable: tuple[Unstable, ...]
    """The last changes of a stable layer that nothing recorded explains."""
    turns: int
    """How many turns of the branch where you stand the variants were tried on."""
    variants: tuple[Variant, ...]
    notes: tuple[str, ...] = ()


def tree_stats(
    layers: "Layers",
    tree: str,
    options: ContextOptions | None = None,
    *,
    node: str | None = None,
    turns: int = _TURNS,
    progress: Progress = silent,
) -> TreeStats:
    """All requests of a tree and of its branches; and, for one branch, what other settings would have cost."""
    options = options or ContextOptions()
    value = layers.tree(tree)
    if value.mode is not Mode.DIALOGUE:
        raise InvalidInputError("requests in layers are made of dialogues", hint="a buffer has no turns")
    leaves = layers.leaves(value.id)
    notes = [f"{len(leaves) - _BRANCHES:,} more branches are not listed"] if len(leaves) > _BRANCHES else []
    agent = None if options.agent is None else layers.agent(options.agent)
    model = None if agent is None else agent.model_ref
    with layers.opened(value.id) as opened:
        rows = _rows(opened)
        whole = _added(rows.values())
        branches = [_branch(opened, leaf.id, rows) for leaf in leaves[-_BRANCHES:]]
        end = layers.end_of(opened, node)
        asked = _turns(walk_up(opened.session, opened.key, end.position), turns)
        unstable = _unstable(opened, rows)
        # The cache of the named agent's model, else of the last request's; else a common one.
        last = next((each.provider for each in reversed(list(rows.values()))), None)
        profile = layers.cache_of(model or last)
        profile = profile if profile.predictable else _COMMON_CACHE
        try:
            # As it was attached: what a note says today did not cost anything then.
            trial = _Trial(layers, opened, asked, replace(options, fresh=False), agent, profile)
            variants = _variants(trial, progress)
        except WeftError as error:
            notes.append(f"other settings could not be tried: {error.message}")
            variants = []
    return TreeStats(
        tree_id=value.id,
        title=value.title,
        requests=whole,
        branches=tuple(branches),
        unstable=tuple(unstable[-_UNSTABLE:]),
        turns=len(asked),
        variants=tuple(variants),
        notes=tuple(notes),
    )


@dataclass(frozen=True, slots=True)
class _Sent:
    """One request as it was kept."""

    provider: str
    total: int
    predicted: int
    reported: int | None
    layers: Mapping[str, int]
    instabilities: Sequence[Mapping[str, str]] = ()


def _rows(opened: Opened) -> dict[tuple[int, int], _Sent]:
    """By turn and number. What a response says counts, unless `report` said otherwise."""
    attempts, responses = schema.attempts, schema.responses
    called = and_(attempts.c.tree == _envelopes.c.tree, attempts.c.ulid == _envelopes.c.attempt)
    answered = and_(responses.c.tree == attempts.c.tree, responses.c.key == attempts.c.response)
    there = (
        select(_envelopes, responses.c.cached_read)
        .outerjoin(attempts, called)
        .outerjoin(responses, answered)
        .where(_envelopes.c.tree == opened.key, _envelopes.c.legacy.is_(False))
        .order_by(_envelopes.c.node, _envelopes.c.ordinal)
    )
    sent: dict[tuple[int, int], _Sent] = {}
    for row in opened.session.execute(there.execution_options(yield_per=200)):
        record = record_of(row)
        tokens = cast("Mapping[str, int]", record["tokens"])
        # Requests of an earlier Weft told of it in their warnings alone.
        odd = cast("Sequence[Mapping[str, str]]", record.get("instabilities", ()))
        reported = row.cached_read if row.cached is None else row.cached
        sent[row.node, row.ordinal] = _Sent(
            row.provider, row.total, row.predicted, reported, dict(tokens), odd
        )
    return sent


def _added(sent: Iterable[_Sent]) -> Requests:
    layers = {layer.value: 0 for layer in LayerId}
    total = predicted = reported = reported_of = expected = count = 0
    told = False
    for each in sent:
        count += 1
        total += each.total
        predicted += each.predicted
        for name, tokens in each.layers.items():
            layers[name] = layers.get(name, 0) + tokens
        if each.reported is not None:
            told = True
            reported += each.reported
            reported_of += each.total
            expected += each.predicted
    return Requests(
        count=count,
        tokens=total,
        layers=tuple(LayerTokens(name, tokens) for name, tokens in layers.items()),
        predicted=predicted,
        reported=reported if told else None,
        reported_of=reported_of,
        reported_predicted=expected,
    )


def _unstable(opened: Opened, rows: Mapping[tuple[int, int], _Sent]) -> list[Unstable]:
    odd = {place: each for place, each in rows.items() if each.instabilities}
    nodes = node_rows(opened.session, opened.key, [node for node, _ in odd])
    return [
        Unstable(
            node=nodes[node].local_id,
            layer=told["layer"],
            segment=told["segment"],
            message=told["message"],
        )
        for (node, _), each in odd.items()
        for told in each.instabilities
    ]


def _branch(opened: Opened, leaf: str, rows: Mapping[tuple[int, int], _Sent]) -> BranchStats:
    nodes = schema.nodes
    here = select(nodes.c.position, nodes.c.local_id).where(nodes.c.tree == opened.key, nodes.c.ulid == leaf)
    counts = opened.session.execute(here).one()
    path = {row.key for row in walk_up(opened.session, opened.key, counts.position)}
    return BranchStats(
        leaf=counts.local_id, requests=_added(each for (node, _), each in rows.items() if node in path)
    )


def _turns(path: Sequence[NodeRow], most: int) -> list[str]:
    """Ids of the nodes that a model was asked from, or would be: the last of each run of a user's."""
    turns: list[str] = []
    for index, row in enumerate(path):
        asked = ROLES[row.role] is Role.USER and (row.narrow or row.wide)
        after = path[index + 1] if index + 1 < len(path) else None
        if asked and (after is None or ROLES[after.role] is not Role.USER):
            turns.append(row.ulid)
    return turns[-most:] if most else []


@dataclass(slots=True)
class _Way:
    """Turns, one after the other, as some settings would have sent them."""

    profile: CacheProfile
    before: Sequence[RequestBlock] | None = None
    cost: float = 0.0
    """Tokens at the full price."""
    cached: int = 0
    total: int = 0

    def send(self, blocks: Sequence[RequestBlock]) -> None:
        prediction = predict(blocks, [] if self.before is None else [self.before], self.profile)
        self.before = blocks
        self.cost += prediction.cached * _READ + (prediction.total - prediction.cached) * _WRITE
        self.cached += prediction.cached
        self.total += prediction.total


@dataclass(frozen=True, slots=True)
class _Trial:
    """Turns of one branch, each read once and laid out in every way."""

    layers: "Layers"
    opened: Opened
    asked: Sequence[str]
    options: ContextOptions
    agent: Agent | None
    profile: CacheProfile

    def laid_out(
        self, gathered: ContextInputs, ways: Iterable[tuple[Placement, float]]
    ) -> dict[tuple[Placement, float], list[RequestBlock]]:
        blocks: dict[tuple[Placement, float], list[RequestBlock]] = {}
        whole: dict[Placement, list[RequestBlock]] = {}
        for library, step in ways:
            # Where nothing is cut it does not matter how.
            if library not in whole:
                envelope = gathered.with_way(library, step).written().laid_out
                blocks[library, step] = pieces_of(envelope, self.profile)
                if not envelope.truncated:
                    whole[library] = blocks[library, step]
            else:
                blocks[library, step] = whole[library]
        return blocks


def _variants(trial: "_Trial", progress: Progress) -> list[Variant]:
    """The settings as they are, and each placement with exact and with stepped cuts."""
    ways: dict[tuple[Placement, float], _Way] = {}
    current = Placement.SYSTEM, 0.0
    for number, node in enumerate(trial.asked, start=1):
        gathered = trial.layers.gather(trial.opened, node, trial.options, trial.agent)
        if not ways:
            current = gathered.way
            wanted = [current, *((each, step) for each in Placement for step in (0.0, _STEP))]
            ways = {way: _Way(trial.profile) for way in wanted}
        for way, blocks in trial.laid_out(gathered, ways).items():
            ways[way].send(blocks)
        progress(number, len(trial.asked))
    base = ways[current].cost if ways else 0.0
    return [
        Variant(
            library=library.value,
            step=step,
            cost=round(way.cost),
            cached=way.cached / way.total if way.total else 0.0,
            saved=1 - way.cost / base if base else 0.0,
            current=(library, step) == current,
        )
        for (library, step), way in ways.items()
    ]
