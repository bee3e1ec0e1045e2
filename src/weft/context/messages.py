"""Fit a plain list of messages into a budget, and go on from there as the list grows.

The stages are those of the engine: the ledger reads, selects and pairs, then results are masked, the list is fitted,
and its own messages are rendered when they are asked for.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from weft.context.checks import checked_count, checked_share, system_over
from weft.context.fit import Fit, Marker, Room, Rules, Strategy, fit, grid_step, head_reach
from weft.context.masking import MASK_ABOVE, MaskRule
from weft.context.message_dict import (
    SYSTEM_ROLES,
    Measurer,
    PlainMessage,
    are_plain,
    joined_after,
    joined_before,
    merged,
    speaker_of,
)
from weft.context.message_index import Ledger, as_list
from weft.context.result import Context
from weft.context.tokens import DEFAULT, JOINT, EstimatorLike, estimator_of
from weft.errors import InvalidInputError
from weft.tree.measure import MEDIA_TOKENS

if TYPE_CHECKING:
    from weft.context.manifest import Manifest

ListContext: TypeAlias = Context[PlainMessage, int, object]
"""The context of a plain list."""
_MARKER = "[{levels} messages left out here]"
_OPENING = "…"
"""A first user message where the cut left none."""


class _Settings(NamedTuple):
    limit: int
    rules: Rules
    measurer: Measurer
    window: int
    opening: int
    masks: MaskRule | None
    system: object = None
    system_tokens: int = 0
    tools: Sequence[PlainMessage] = ()
    tool_tokens: int = 0

    def room(self, system: int) -> Room:
        return Room(budget=self.limit, system=system, opening=self.opening, window=self.window)


def fit_messages(
    messages: Iterable[PlainMessage],
    limit: int,
    *,
    strategy: Strategy | str = Strategy.TRUNCATE_MIDDLE,
    step: float = 0.0,
    window: int | None = None,
    estimator: EstimatorLike = DEFAULT,
    minimum_recent: int = 4,
    marker: str | None = None,
    system: object = None,
    media_tokens: int = MEDIA_TOKENS,
    tools: Sequence[PlainMessage] = (),
    mask_tool_results: int | None = None,
    mask_above: int = MASK_ABOVE,
) -> ListContext:
    """Keep what fits of a list of messages, in OpenAI's or Anthropic's shape.

    System messages (and `system`, Anthropic's field) are never cut, the last
    `minimum_recent` messages and the last user message are always there, a tool call
    never goes without its results. A list that began with a user message still does.
    The messages are neither changed nor copied, and are read again when the manifest is:
    do not change them in the meantime. `step` and `window` hold the cut where a
    provider's cache wants it; the window is the limit if not given. The marker keeps users
    and assistants in turn where something was cut; without one, two of a side may meet there.
    `tools` are the schemas that are sent with the messages: their JSON counts. With
    `mask_tool_results` that many of the newest tool results stay whole; older ones of more
    than `mask_above` tokens become one line each, before anything is cut.
    """
    given = (limit, strategy, step, window, estimator, minimum_recent, marker, media_tokens)
    try:
        settings = _known_settings(*given, mask_tool_results, mask_above)
    except TypeError:
        # What cannot be looked up, like a list in the place of a number, is refused by name.
        settings = _settings(*given, mask_tool_results, mask_above)
    if system or tools != ():
        measurer = settings.measurer
        settings = settings._replace(
            system=system,
            system_tokens=_system_tokens(system, measurer),
            tools=tools,
            tool_tokens=measurer.of_tools(tools),
        )
    return _fitted(Ledger(messages, settings.measurer), settings)


def _settings(  # noqa: PLR0917 - what is remembered is known by its place
    limit: int,
    strategy: Strategy | str,
    step: float,
    window: int | None,
    estimator: EstimatorLike,
    minimum_recent: int,
    marker: str | None,
    media_tokens: int,
    mask_tool_results: int | None,
    mask_above: int,
) -> _Settings:
    checked_count("limit", limit)
    checked_count("media_tokens", media_tokens)
    if window is not None:
        checked_count("window", window, least=1)
    rules = _checked(strategy, step=step, estimator=estimator, minimum_recent=minimum_recent, marker=marker)
    window = limit if window is None else window
    checked_count("mask_above", mask_above)
    masks = None
    if mask_tool_results is not None:
        checked_count("mask_tool_results", mask_tool_results)
        masks = MaskRule(mask_tool_results, mask_above, grid_step(step, limit, window))
    counting = rules.marker.estimator
    return _Settings(
        limit=limit,
        rules=rules,
        measurer=Measurer(counting, media_tokens),
        window=window,
        opening=counting.of_text(_OPENING),
        masks=masks,
    )


# A chat is fitted with the same settings at every turn. Types count: True is no number here, and 1 is.
_known_settings = lru_cache(maxsize=32, typed=True)(_settings)


def _checked(
    strategy: Strategy | str,
    *,
    step: float,
    estimator: EstimatorLike,
    minimum_recent: int,
    marker: str | None,
) -> Rules:
    checked_share("step", step)
    checked_count("minimum_recent", minimum_recent)
    if marker is not None and not isinstance(cast("object", marker), str):
        raise InvalidInputError(f"marker must be a string, got {marker!r}")
    try:
        chosen = Strategy(strategy)
    except ValueError:
        raise InvalidInputError(
            f"there is no strategy {strategy!r}", hint=f"use one of {', '.join(Strategy)}"
        ) from None
    counting = estimator_of(estimator)
    default = _MARKER if chosen is Strategy.TRUNCATE_MIDDLE else ""
    template = default if marker is None else marker
    return Rules(
        strategy=chosen,
        step=step,
        minimum_recent=minimum_recent,
        marker=Marker(template, counting, joint=JOINT + JOINT),
    )


def _system_tokens(system: object, measurer: Measurer) -> int:
    """Anthropic's field is a string or a list of blocks: a message's content."""
    return measurer.shape({"role": "system", "content": system}, 0).tokens if system else 0


def _fitted(ledger: Ledger, settings: _Settings) -> ListContext:
    sizes = ledger.system_tokens(ledger.systems)
    total = settings.system_tokens + settings.tool_tokens + sum(size for _, size in sizes)
    if total > settings.limit:
        fields = [("the system field", settings.system_tokens), ("the tools", settings.tool_tokens)]
        parts = [part for part in fields if part[1]] + [(f"messages[{level}]", size) for level, size in sizes]
        raise system_over(total, settings.limit, parts)
    room, rules = settings.room(total), settings.rules
    everything = rules.step > 0 or rules.marker.counts_tokens or rules.strategy is Strategy.STOP_AT_LIMIT
    everything = everything or settings.masks is not None
    ledger.measure_back(1 << 62 if everything else max(0, room.free), rules.minimum_recent)
    if settings.masks is not None:
        ledger.mask(settings.masks)
    if rules.strategy is Strategy.TRUNCATE_MIDDLE and ledger.first:
        ledger.measure_head(head_reach(room, rules)[0])
    return _context(ledger, settings, room, ledger.last_user(0))


class _Replaced(NamedTuple):
    """A message in a shorter form, and what it costs then."""

    message: PlainMessage
    tokens: int


def _context(ledger: Ledger, settings: _Settings, room: Room, last_user: int | None) -> ListContext:
    cut = Fit(levels=0, head=0, tail=0)
    if ledger.messages:
        cut = fit(ledger.sketch(last_user), room, settings.rules)
    fitted = FittedList(ledger, settings, room.system, last_user, cut)
    return Context(
        system=settings.system,
        budget=settings.limit,
        estimator=settings.measurer.estimator,
        truncated=cut.truncated,
        tools=settings.tools,
        fitted=fitted,
    )


class FittedList:
    """What was decided about a list. Its context asks for the rest when it is read."""

    __slots__ = ("cut", "hidden", "last_user", "ledger", "levels", "opens", "replaced", "settings", "system")

    def __init__(
        self, ledger: Ledger, settings: _Settings, system: int, last_user: int | None, cut: Fit
    ) -> None:
        self.ledger = ledger
        self.levels = len(ledger)
        self.settings = settings
        self.system = system
        """Tokens of system messages, the system field and the tools."""
        self.last_user = last_user
        self.cut = cut
        self.hidden = 0 if ledger.results is None else ledger.results.masked
        """How many of all tool results are masked, from the oldest on."""
        self.replaced: dict[int, _Replaced] = {}
        for level, most in cut.shortened.items():
            shorter = settings.measurer.shortened(ledger.masked(level, self.hidden), most)
            self.replaced[level] = _Replaced(shorter, settings.measurer.shape(shorter, level).tokens)
        self.opens = cut.truncated and self._begins_without_user()

    def extend(self, messages: Iterable[PlainMessage]) -> ListContext:
        ledger = self.ledger
        if len(ledger) != self.levels:
            # Another context has gone on from here already; this is another branch.
            ledger = ledger.copy(self.levels)
        systems = ledger.append(as_list(messages))
        if systems or ledger.strays:
            return _fitted(Ledger(ledger.messages, ledger.measurer), self.settings)
        last_user = ledger.last_user(self.levels, self.last_user)
        return _context(ledger, self.settings, self.settings.room(self.system), last_user)

    def manifest(self) -> "Manifest":
        from weft.context.manifest_build import list_manifest  # noqa: PLC0415 - most are never read

        return list_manifest(self)

    def tokens(self) -> int:
        saved = sum(most - self.replaced[level].tokens for level, most in self.cut.shortened.items())
        return self.system + self.cut.tokens - saved + self.opening

    @property
    def opening(self) -> int:
        """Tokens of the user message that was put first, or 0."""
        return self.settings.opening if self.opens else 0

    def removed_nodes(self) -> int:
        return sum(stop - start for start, stop in self.removed())

    def removed_tokens(self) -> int:
        return sum(sum(self.ledger.sizes(start, stop)) for start, stop in self.removed())

    def shortened(self) -> tuple[int, ...]:
        return tuple(sorted(self.cut.shortened))

    def masked(self) -> tuple[int, ...]:
        hidden, cut = self.ledger.hidden(self.hidden), self.cut
        return tuple(
            level for level in hidden if not cut.head <= level < cut.tail and level not in self.replaced
        )

    def removed(self) -> list[tuple[int, int]]:
        """The ranges that were left out; system messages and the last user message are not in them."""
        stays = [level for level in self.ledger.systems if self.cut.head <= level < self.cut.tail]
        return self.cut.removed(stays) if self.cut.truncated else []

    def _begins_without_user(self) -> bool:
        cut, ledger = self.cut, self.ledger
        if cut.marker or cut.anchor is not None or ledger.role(cut.tail) == "user":
            return False
        if any(ledger.role(level) not in SYSTEM_ROLES for level in range(cut.head)):
            return False
        first = ledger.first_role(cut.tail)
        return first not in {"user", ""} and ledger.first_role(0) == "user"

    def _at(self, level: int) -> PlainMessage:
        shorter = self.replaced.get(level)
        return self.ledger.masked(level, self.hidden) if shorter is None else shorter.message

    def messages(self) -> list[PlainMessage]:
        """The list to send."""
        cut, messages, masked = self.cut, self.ledger.messages, self.masked() if self.hidden else ()
        if not cut.truncated and not self.replaced and not masked:
            return messages[: self.levels]
        head = messages[: cut.head]
        head += [messages[level] for level in self.ledger.systems if cut.head <= level < cut.tail]
        tail = messages[cut.tail : self.levels]
        for level in (*self.replaced, *masked):
            if level >= cut.tail:
                tail[level - cut.tail] = self._at(level)
            elif level < cut.head:
                head[level] = self._at(level)
        if cut.anchor is not None:
            tail.insert(0, self._at(cut.anchor))
        if cut.marker:
            _mark(head, tail, cut.marker)
        elif self.opens:
            head.append({"role": "user", "content": _OPENING})
        return head + tail


def _mark(head: list[PlainMessage], tail: list[PlainMessage], marker: str) -> None:
    """Put the marker where it keeps users and assistants alternating; system messages are on nobody's side."""
    before, after = _speaking(head, backwards=True), _speaking(tail)
    # By what it says itself: Anthropic's tool results are a user's messages too.
    follows_user = before is not None and head[before]["role"] == "user"
    if after is not None and speaker_of(tail[after]) == "user":
        tail[after] = joined_before(marker, tail[after])
        if before is not None and follows_user and are_plain(head[before], tail[after]):
            tail[after] = merged(head.pop(before), tail[after])
    elif before is not None and follows_user:
        head[before] = joined_after(head[before], marker)
    else:
        head.append({"role": "user", "content": marker})


def _speaking(messages: Sequence[PlainMessage], *, backwards: bool = False) -> int | None:
    """Where the first of these speaks, or the last, that is no system message."""
    places = range(len(messages) - 1, -1, -1) if backwards else range(len(messages))
    return next((place for place in places if messages[place]["role"] not in SYSTEM_ROLES), None)
