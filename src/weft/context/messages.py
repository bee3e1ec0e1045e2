"""Fit anybody's list of messages into a budget, and go on from there as the list grows."""

from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

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
from weft.context.tokens import DEFAULT, JOINT, EstimatorLike, estimator_of
from weft.errors import InvalidInputError
from weft.tree.measure import MEDIA_TOKENS

if TYPE_CHECKING:
    from weft.context.manifest import Manifest
    from weft.context.manifest_view import Changes

_MARKER = "[{levels} messages left out here]"
_OPENING = "…"
"""A first user message where the cut left none."""


class _Settings(NamedTuple):
    limit: int
    rules: Rules
    measurer: Measurer
    window: int
    opening: int
    system: object
    system_tokens: int
    tools: Sequence[PlainMessage]
    tool_tokens: int
    masks: MaskRule | None

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
) -> "Context":
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
    checked_count("limit", limit)
    checked_count("media_tokens", media_tokens)
    if window is not None:
        checked_count("window", window, least=1)
    rules = _checked(strategy, step=step, estimator=estimator, minimum_recent=minimum_recent, marker=marker)
    measurer = Measurer(rules.marker.estimator, media_tokens)
    window = limit if window is None else window
    checked_count("mask_above", mask_above)
    masks = None
    if mask_tool_results is not None:
        checked_count("mask_tool_results", mask_tool_results)
        masks = MaskRule(mask_tool_results, mask_above, grid_step(step, limit, window))
    settings = _Settings(
        limit=limit,
        rules=rules,
        measurer=measurer,
        window=window,
        opening=measurer.estimator.of_text(_OPENING),
        system=system,
        system_tokens=_system_tokens(system, measurer),
        tools=tools,
        tool_tokens=measurer.of_tools(tools),
        masks=masks,
    )
    return _fitted(Ledger(messages, measurer), settings)


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


def _fitted(ledger: Ledger, settings: _Settings) -> "Context":
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


def _context(ledger: Ledger, settings: _Settings, room: Room, last_user: int | None) -> "Context":
    if not ledger.messages:
        found = Fit(levels=0, head=0, tail=0)
        return Context(ledger, settings, room.system, last_user=None, found=found, replaced={}, masked=0)
    found = fit(ledger.sketch(last_user), room, settings.rules)
    masked = 0 if ledger.results is None else ledger.results.masked
    replaced: dict[int, _Replaced] = {}
    for level, most in found.shortened.items():
        shorter = settings.measurer.shortened(ledger.masked(level, masked), most)
        replaced[level] = _Replaced(shorter, settings.measurer.shape(shorter, level).tokens)
    return Context(
        ledger, settings, room.system, last_user=last_user, found=found, replaced=replaced, masked=masked
    )


class Context:
    """What a model will see of a list of messages, and the account of it."""

    __slots__ = (
        *("_fit", "_last_user", "_ledger", "_levels", "_manifest", "_masked", "_messages", "_opens"),
        *("_replaced", "_settings", "_system_tokens"),
    )

    def __init__(
        self,
        ledger: Ledger,
        settings: _Settings,
        system_tokens: int,
        *,
        last_user: int | None,
        found: Fit,
        replaced: Mapping[int, _Replaced],
        masked: int,
    ) -> None:
        self._ledger = ledger
        self._levels = len(ledger)
        self._settings = settings
        self._system_tokens = system_tokens
        self._last_user = last_user
        self._fit = found
        self._replaced = replaced
        self._masked = masked
        """How many of all tool results are masked, from the oldest on."""
        self._messages: list[PlainMessage] | None = None
        self._manifest: Manifest | None = None
        self._opens = found.truncated and self._begins_without_user()

    @property
    def messages(self) -> list[PlainMessage]:
        """The list to send."""
        if self._messages is None:
            self._messages = self._rendered()
        return self._messages

    def to_openai(self) -> list[dict[str, Any]]:
        """The messages for `client.chat.completions.create(messages=…)`, the system field first."""
        from weft.context.sdk_messages import openai_messages  # noqa: PLC0415 - fitting alone needs none of it

        return openai_messages(self.messages, self.system)

    def to_anthropic(self) -> dict[str, Any]:
        """`system` and `messages` for `client.messages.create(**…)`."""
        from weft.context.sdk_messages import anthropic_fields  # noqa: PLC0415 - as above

        return anthropic_fields(self.messages, self.system)

    @property
    def system(self) -> object:
        """What was given as the system field, as it was."""
        return self._settings.system

    @property
    def tools(self) -> Sequence[PlainMessage]:
        """What was given as tools, as it was."""
        return self._settings.tools

    @property
    def manifest(self) -> "Manifest":
        """What became of every message, and why. Made when it is first read."""
        if self._manifest is None:
            from weft.context.list_manifest import ListDecision, manifest_of  # noqa: PLC0415 - most are never read

            settings = self._settings
            listed = ListDecision(
                ledger=self._ledger,
                levels=self._levels,
                fit=self._fit,
                removed=self._removed(),
                shortened={level: each.tokens for level, each in self._replaced.items()},
                hidden=self._ledger.hidden(self._masked),
                system=settings.system_tokens,
                tools=settings.tool_tokens,
                opening=settings.opening if self._opens else 0,
            )
            self._manifest = manifest_of(
                listed, settings.limit, settings.rules, settings.window, settings.masks
            )
        return self._manifest

    @property
    def tokens(self) -> int:
        """The estimate of everything that will be sent, the system included."""
        saved = sum(most - self._replaced[level].tokens for level, most in self._fit.shortened.items())
        opening = self._settings.opening if self._opens else 0
        return self._system_tokens + self._fit.tokens - saved + opening

    @property
    def truncated(self) -> bool:
        return self._fit.truncated

    @property
    def removed_nodes(self) -> int:
        return sum(stop - start for start, stop in self._removed())

    @property
    def removed_tokens(self) -> int:
        return sum(sum(self._ledger.sizes(start, stop)) for start, stop in self._removed())

    @property
    def shortened(self) -> tuple[int, ...]:
        """The places in the original list of messages that had to be shortened."""
        return tuple(sorted(self._fit.shortened))

    @property
    def masked(self) -> tuple[int, ...]:
        """The places in the original list of messages whose tool results are sent as one line each."""
        hidden, found = self._ledger.hidden(self._masked), self._fit
        return tuple(
            level for level in hidden if not found.head <= level < found.tail and level not in self._replaced
        )

    def __repr__(self) -> str:
        cut = f", {self.removed_nodes:,} left out" if self.truncated else ""
        return f"<Context {self.tokens:,} of {self._settings.limit:,} tokens{cut}>"

    def _repr_html_(self) -> str:
        return self.manifest._repr_html_()  # pyright: ignore[reportPrivateUsage] - the notebooks' name for it

    def diff(self, other: "Context") -> "Changes":
        """What the other does otherwise."""
        return self.manifest.diff(other.manifest)

    def extend(self, messages: Iterable[PlainMessage]) -> "Context":
        """The context of the longer list: what fitting it afresh would give, for the price of what is new."""
        ledger = self._ledger
        if len(ledger) != self._levels:
            # Somebody has gone on from here already; this is another branch.
            ledger = ledger.copy(self._levels)
        systems = ledger.append(as_list(messages))
        if systems or ledger.strays:
            return _fitted(Ledger(ledger.messages, ledger.measurer), self._settings)
        last_user = ledger.last_user(self._levels, self._last_user)
        return _context(ledger, self._settings, self._settings.room(self._system_tokens), last_user)

    def _begins_without_user(self) -> bool:
        found, ledger = self._fit, self._ledger
        if found.marker or found.anchor is not None or ledger.role(found.tail) == "user":
            return False
        if any(ledger.role(level) not in SYSTEM_ROLES for level in range(found.head)):
            return False
        kept = ledger.first_role(found.tail)
        return kept not in {"user", ""} and ledger.first_role(0) == "user"

    def _removed(self) -> list[tuple[int, int]]:
        """The stretches that were left out; system messages and the last user message are not in them."""
        if not self._fit.truncated:
            return []
        stays = [level for level in self._ledger.systems if self._fit.head <= level < self._fit.tail]
        if self._fit.anchor is not None:
            insort(stays, self._fit.anchor)
        edges = [self._fit.head - 1, *stays, self._fit.tail]
        return [(before + 1, after) for before, after in pairwise(edges) if before + 1 < after]

    def _at(self, level: int) -> PlainMessage:
        found = self._replaced.get(level)
        return self._ledger.masked(level, self._masked) if found is None else found.message

    def _rendered(self) -> list[PlainMessage]:
        found, kept, masked = self._fit, self._ledger.messages, self.masked if self._masked else ()
        if not found.truncated and not self._replaced and not masked:
            return kept[: self._levels]
        head = kept[: found.head]
        head += [kept[level] for level in self._ledger.systems if found.head <= level < found.tail]
        tail = kept[found.tail : self._levels]
        for level in (*self._replaced, *masked):
            if level >= found.tail:
                tail[level - found.tail] = self._at(level)
            elif level < found.head:
                head[level] = self._at(level)
        if found.anchor is not None:
            tail.insert(0, self._at(found.anchor))
        if found.marker:
            _mark(head, tail, found.marker)
        elif self._opens:
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
