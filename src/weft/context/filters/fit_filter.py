"""Fitting as a filter, so that a recipe can say where in the pipeline it happens."""

from collections.abc import Mapping, Sequence

from weft.context.filters.base import FilterContext, Options, estimator
from weft.context.filters.repair_filter import plain_messages, reserve_for
from weft.context.filters.trace import Trace
from weft.context.manifest import Manifest, Outcome
from weft.context.message_dict import PlainMessage
from weft.context.messages import fit_messages
from weft.context.strategy import Strategy
from weft.context.tokens import DEFAULT
from weft.errors import InvalidInputError

_RECENT = 4


def fit_to_budget(messages: Sequence[object], options: Options, context: FilterContext) -> list[object]:
    """Keep what fits `limit` tokens by one of the strategies; the system and the newest messages always stay.

    Room is left for what repairing may add afterwards.
    """
    plain = plain_messages(messages)
    counting = estimator(options, "estimator", DEFAULT)
    limit = _whole(options, "limit", None)
    reserve = reserve_for(messages, counting.of_text)
    if limit < reserve:
        raise InvalidInputError(f"limit must be at least {reserve} for these messages, got {limit}")
    window = options.get("window")
    found = fit_messages(
        plain,
        limit - reserve,
        strategy=str(options.get("truncationStrategy", Strategy.TRUNCATE_MIDDLE)),
        step=_share(options),
        window=limit if window is None else _whole(options, "window", None),
        estimator=counting,
        minimum_recent=_whole(options, "minimumRecentNodes", _RECENT),
        marker=_marker(options),
    )
    if found.truncated or found.shortened:
        _account(plain, found.messages, found.manifest, context.trace)
    return list(found.messages)


def _whole(options: Options, name: str, default: int | None) -> int:
    value = options.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidInputError(f"options.{name} must be a whole number of at least 0, got {value!r}")
    return value


def _share(options: Options) -> float:
    value = options.get("truncationStep", 0)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInputError(f"options.truncationStep must be a number, got {value!r}")
    return value


def _marker(options: Options) -> str | None:
    value = options.get("truncationMarker")
    if value is not None and not isinstance(value, str):
        raise InvalidInputError(f"options.truncationMarker must be a string, got {value!r}")
    return value


def _account(
    before: Sequence[PlainMessage], after: Sequence[PlainMessage], manifest: Manifest, trace: Trace
) -> None:
    """Tell message by message what the fitting decided, in terms of the lists it was given and gave."""
    gone = _dropped(manifest)
    for position, reason in gone.items():
        trace.dropped(position, before[position], reason)
    left = [position for position in range(len(before)) if position not in gone]
    place = 0
    for number, message in enumerate(after):
        rest = len(after) - number
        while place < len(left) and len(left) - place > rest:
            trace.merged(left[place], before[left[place]], message, "joined with the next at the cut")
            place += 1
        if place < len(left) and message is before[left[place]]:
            place += 1
        elif place < len(left) and len(left) - place == rest:
            trace.shortened(left[place], before[left[place]], message, "cut to the room there is, or marked")
            place += 1
        else:
            trace.added(message, "stands for what was left out")


def _dropped(manifest: Manifest) -> Mapping[int, str]:
    found: dict[int, str] = {}
    for entry in manifest:
        if entry.outcome is Outcome.DROPPED and entry.position is not None:
            found.update(
                (position, entry.reason) for position in range(entry.position, entry.position + entry.count)
            )
    return found
