"""Follow a recipe: read its streams, put the messages in order, run its filters, and say what was done."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from weft.context.manifest import Facts, Manifest
from weft.context.manifest_entries import EntryKind, Outcome, Piece, Run
from weft.context.message_dict import PlainMessage
from weft.context.recipes.collapsed_groups import GroupReader
from weft.context.recipes.filters.base import FilterContext, Registry, installed_filters
from weft.context.recipes.filters.option_rules import wrong_option
from weft.context.recipes.filters.pipeline import Filtered, run_filters, run_filters_async
from weft.context.recipes.filters.trace import FilterStep, id_of_message
from weft.context.recipes.js_compat import json_units
from weft.context.recipes.recipe import Component, ComponentKind, Recipe, RecipeError
from weft.context.recipes.record_streams import (
    RecordReader,
    RecordScope,
    RecordSession,
    SessionSegment,
    Slice,
    as_messages,
    read_stream,
    slice_of,
    wider,
)
from weft.context.tokens import NO_LIMIT
from weft.errors import WeftError
from weft.tree.json import JsonValue


@dataclass(frozen=True, slots=True)
class Served:
    """What one source of a recipe gave."""

    source: str
    slice: str
    messages: Sequence[JsonValue]
    manifest: Manifest | None = None
    """Of what was assembled, not just read."""

    @property
    def reason(self) -> str:
        return f"{self.source} of {self.slice}: {len(self.messages)}" if self.slice else self.source


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """The messages of a recipe, and how they came to be these."""

    recipe: Recipe
    messages: list[PlainMessage]
    served: tuple[Served, ...]
    steps: tuple[FilterStep, ...]
    names: tuple[str, ...] = ()
    """What messages were known by that do not say it themselves."""

    def without_doc_ids(self) -> "Followed":
        """The same without the ids that only filters needed; the manifest still names them."""
        return replace(self, messages=list(map(_without_doc_id, self.messages)), names=self._known_by())

    def _known_by(self) -> tuple[str, ...]:
        return self.names or tuple(_name(message, place) for place, message in enumerate(self.messages))

    @property
    def manifest(self) -> Manifest:
        facts = Facts(budget=self._budget(), settings={"recipe": self.recipe.to_wire()})
        return Manifest(facts, lambda: list(self._pieces()))

    def _budget(self) -> int:
        """The tightest among the filters and what was assembled; 0 if there is none."""
        assembled = [served.manifest.facts.budget for served in self.served if served.manifest is not None]
        limits = [each for each in (*assembled, _budget(self.recipe)) if 0 < each < NO_LIMIT]
        return min(limits, default=0)

    def _pieces(self) -> Iterator[Piece]:
        for served in self.served:
            yield _told(EntryKind.SOURCE, served.source, Outcome.KEPT, served.reason)
            yield from () if served.manifest is None else map(_uncounted, served.manifest.pieces)
        for step in self.steps:
            yield from step.pieces()
        yield Run(
            kind=EntryKind.MESSAGE,
            outcome=Outcome.KEPT,
            reason="sent",
            ids=list(self._known_by()),
            sizes=[(json_units(message) + 3) >> 2 for message in self.messages],
            position=0,
        )


def _told(kind: EntryKind, name: str, outcome: Outcome, reason: str) -> Run:
    return Run(kind=kind, outcome=outcome, reason=reason, ids=[name], sizes=[0])


def _uncounted(piece: Piece) -> Piece:
    """As it was assembled; what it costs is counted where the messages stand."""
    return replace(piece, tokens=[0] * piece.count) if isinstance(piece, Run) else piece


def _name(message: object, place: int) -> str:
    own_id = id_of_message(message)
    return own_id if isinstance(own_id, str) else f"messages[{place}]"


def _without_doc_id(message: PlainMessage) -> PlainMessage:
    if not isinstance(cast("object", message), Mapping):
        # A filter may give anything.
        return message
    return {name: value for name, value in message.items() if name != "docId"}


def _budget(recipe: Recipe) -> int:
    """The tightest budget among the filters, 0 if there is none."""
    wanted = [entry.settings.get("maxTokens", entry.settings.get("limit")) for entry in recipe.model.filters]
    return min((each for each in wanted if isinstance(each, int) and each >= 0), default=0)


def gather(recipe: Recipe, records: RecordReader, scope: RecordScope) -> list[Served]:
    """Everything that goes into the filters: the intro, then component by component.

    A stream's wider slices come before its local one, from the widest on. A literal is said once.
    """
    here = slice_of(recipe.kala)
    above = wider(here) if recipe.model.promote_upstream else []
    served: list[Served] = []
    opening = recipe.model.opening
    if opening is not None:
        served.append(Served("model.intro", "", [{"role": "system", "content": opening}]))
    for leaf in recipe.model.leaves():
        if leaf.kind is ComponentKind.LITERAL:
            served.append(Served("literal", "", [{"role": "system", "content": leaf.value}]))
        else:
            served += [_served(recipe, leaf, each, records, scope) for each in (*above, here)]
    return served


def _served(
    recipe: Recipe, leaf: Component, part: Slice, records: RecordReader, scope: RecordScope
) -> Served:
    gathered = read_stream(records, leaf.name, part, scope)
    messages = as_messages(
        gathered.records, leaf.name, part, framing=leaf.framing, doc_ids=recipe.include_doc_id
    )
    return Served(f"{leaf.kind} {leaf.name}", part.kind, messages, gathered.manifest)


def check_filter_options(recipe: Recipe, registry: Registry | None = None) -> None:
    """Refuse an option that a filter does not accept, before anything is read."""
    for index, entry in enumerate(recipe.model.filters):
        try:
            made = (registry or installed_filters()).filter_of(entry.name)
        except WeftError:
            # Whether the recipe skips it or fails is decided when it runs.
            continue
        wrong = wrong_option(made, entry.settings)
        if wrong is not None:
            path = f"model.filters[{index}].options.{wrong.name}"
            raise RecipeError(path, f"{path} of {entry.name} {wrong.why}", got=wrong.got)


def follow_recipe(
    recipe: Recipe,
    records: RecordReader,
    *,
    scope: RecordScope | None = None,
    session_id: str | None = None,
    groups: GroupReader | None = None,
    registry: Registry | None = None,
) -> Followed:
    """The messages that a recipe makes of a user's records.

    The session of collapsed groups is the slice's own, unless another is given.
    """
    check_filter_options(recipe, registry)
    served, messages, context = _begun(recipe, records, scope, session_id, groups)
    filtered = run_filters(
        messages, recipe.model.filters, context, on_error=recipe.on_filter_error, registry=registry
    )
    return _followed(recipe, served, filtered)


async def follow_recipe_async(
    recipe: Recipe,
    records: RecordReader,
    *,
    scope: RecordScope | None = None,
    session_id: str | None = None,
    groups: GroupReader | None = None,
    registry: Registry | None = None,
) -> Followed:
    """`follow_recipe` where a loop runs already."""
    check_filter_options(recipe, registry)
    served, messages, context = _begun(recipe, records, scope, session_id, groups)
    filtered = await run_filters_async(
        messages, recipe.model.filters, context, on_error=recipe.on_filter_error, registry=registry
    )
    return _followed(recipe, served, filtered)


def _begun(
    recipe: Recipe,
    records: RecordReader,
    scope: RecordScope | None,
    session_id: str | None,
    groups: GroupReader | None,
) -> tuple[list[Served], list[PlainMessage], FilterContext]:
    whose = scope or RecordScope()
    served = gather(recipe, records, whose)
    here = slice_of(recipe.kala)
    own = here.session_id if isinstance(here, SessionSegment | RecordSession) else None
    context = FilterContext(session_id=session_id or own, user_id=whose.user_id, groups=groups)
    messages = [message for each in served for message in each.messages]
    # A record may hold what is no message; filters pass over it, as they do over anything strange.
    return served, cast("list[PlainMessage]", messages), context


def _followed(recipe: Recipe, served: Sequence[Served], filtered: Filtered) -> Followed:
    return Followed(recipe=recipe, messages=filtered.messages, served=tuple(served), steps=filtered.steps)
