"""The account of a fitted list: made from its ledger when somebody reads it."""

from collections.abc import Mapping
from itertools import pairwise

from weft.context.manifest import Facts, Manifest
from weft.context.manifest_entries import EntryKind, Gap, Outcome, Piece, Run
from weft.context.message_index import Ledger, Numbers
from weft.context.messages import FittedList
from weft.tree.json import JsonValue

_WHOLE = "system context is never cut"
_TOO_LARGE = "recent, and too large for the room"


def manifest_of(listed: FittedList) -> Manifest:
    settings, rules, measurer = listed.settings, listed.settings.rules, listed.settings.measurer
    values: dict[str, JsonValue] = {
        "strategy": rules.strategy.value,
        "step": rules.step,
        "window": settings.window,
        "minimumRecentNodes": rules.minimum_recent,
        "marker": rules.marker.template,
        "estimator": measurer.estimator.name,
        "mediaTokens": measurer.media_tokens,
    }
    if settings.masks is not None:
        values |= {"maskToolResults": settings.masks.newest, "maskAbove": settings.masks.above}
    return Manifest(Facts(budget=settings.limit, settings=values), lambda: _pieces(listed))


def _pieces(listed: FittedList) -> list[Piece]:
    found = listed.cut
    pieces: list[Piece] = []
    settings = listed.settings
    if settings.system_tokens:
        pieces.append(_whole("system", settings.system_tokens, EntryKind.SYSTEM))
    if settings.tool_tokens:
        pieces.append(_whole("tools", settings.tool_tokens, EntryKind.SYSTEM))
    if not found.truncated:
        pieces += _kept(listed, 0, listed.levels, "fits")
    else:
        recent = max(found.tail, found.recent)
        pieces += _kept(listed, 0, found.head, "part of the beginning")
        pieces += sorted(
            [*(_gap(listed.ledger, start, stop) for start, stop in listed.removed()), *_standing(listed)],
            key=lambda piece: piece.position or 0,
        )
        pieces += _kept(listed, found.tail, recent, "fits")
        pieces += _kept(listed, recent, listed.levels, "recent")
    if found.marker:
        pieces.append(_added("marker", found.marker_tokens, "stands for what was left out"))
    if listed.opening:
        pieces.append(_added("opening", listed.opening, "a request starts with a user message"))
    return pieces


def _standing(listed: FittedList) -> list[Piece]:
    """What stays within the removed stretch."""
    found: list[Piece] = []
    for level in listed.ledger.systems:
        if listed.cut.head <= level < listed.cut.tail:
            found += _kept(listed, level, level + 1, _WHOLE)
    anchor = listed.cut.anchor
    return found if anchor is None else [*found, *_kept(listed, anchor, anchor + 1, "the last user message")]


def _gap(ledger: Ledger, start: int, stop: int) -> Gap:
    return Gap(
        kind=EntryKind.MESSAGE,
        outcome=Outcome.CUT,
        reason="over the budget",
        position=start,
        count=stop - start,
        first=str(start),
        last=str(stop - 1),
        measure=lambda: sum(ledger.sizes(start, stop)),
    )


def _kept(listed: FittedList, start: int, stop: int, reason: str) -> list[Piece]:
    """Runs of kept messages, broken where a system message, a shortened or a masked one is."""
    special = sorted(
        level
        for level in {*listed.ledger.systems, *listed.replaced, *_hidden(listed)}
        if start <= level < stop
    )
    found: list[Piece] = []
    for before, after in pairwise([start - 1, *special, stop]):
        if before + 1 < after:
            found.append(
                Run(
                    kind=EntryKind.MESSAGE,
                    outcome=Outcome.KEPT,
                    reason=reason,
                    ids=Numbers(before + 1, after),
                    sizes=listed.ledger.sizes(before + 1, after),
                    position=before + 1,
                )
            )
        if after < stop:
            found.append(_special(listed, after))
    return found


def _hidden(listed: FittedList) -> Mapping[int, int]:
    """Level → the tokens that masking saves."""
    return listed.ledger.hidden(listed.hidden)


def _special(listed: FittedList, level: int) -> Run:
    size, results = listed.ledger.tokens(level), listed.ledger.results
    if level in listed.replaced:
        tokens, outcome, reason = listed.replaced[level].tokens, Outcome.SHORTENED, _TOO_LARGE
    elif level in (hidden := _hidden(listed)) and results is not None:
        tokens, outcome, reason = size - hidden[level], Outcome.MASKED, results.rule.reason
    else:
        ((_, tokens),) = listed.ledger.system_tokens((level,))
        return _whole(str(level), tokens, EntryKind.MESSAGE, position=level)
    return Run.one(EntryKind.MESSAGE, str(level), outcome, reason, size=size, tokens=tokens, position=level)


def _whole(name: str, tokens: int, kind: EntryKind, *, position: int | None = None) -> Run:
    return Run.one(kind, name, Outcome.KEPT, _WHOLE, size=tokens, position=position)


def _added(name: str, tokens: int, reason: str) -> Run:
    return Run.one(EntryKind.MESSAGE, name, Outcome.ADDED, reason, size=tokens)
