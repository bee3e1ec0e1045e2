"""The account of a fitted list: made from its ledger when somebody reads it."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from weft.context.fit import Fit, Rules
from weft.context.manifest import Facts, Manifest
from weft.context.manifest_entries import EntryKind, Gap, Outcome, Piece, Run
from weft.context.masking import MaskRule
from weft.context.message_index import Ledger, Numbers
from weft.tree.json import JsonValue

_WHOLE = "system context is never cut"
_TOO_LARGE = "recent, and too large for the room"


class ListDecision(NamedTuple):
    """What was decided about a list."""

    ledger: Ledger
    levels: int
    fit: Fit
    removed: Sequence[tuple[int, int]]
    """The stretches that were left out."""
    shortened: Mapping[int, int]
    """Level → its tokens as it is sent."""
    hidden: Mapping[int, int]
    """Level → the tokens that masking saves."""
    system: int
    """Tokens of the system field."""
    tools: int
    """Tokens of the tools' schemas."""
    opening: int
    """Tokens of the user message that was put first, or 0."""


def manifest_of(
    listed: ListDecision, limit: int, rules: Rules, window: int, masks: MaskRule | None
) -> Manifest:
    settings: dict[str, JsonValue] = {
        "strategy": rules.strategy.value,
        "step": rules.step,
        "window": window,
        "minimumRecentNodes": rules.minimum_recent,
        "marker": rules.marker.template,
        "estimator": listed.ledger.measurer.estimator.name,
        "mediaTokens": listed.ledger.measurer.media_tokens,
    }
    if masks is not None:
        settings |= {"maskToolResults": masks.newest, "maskAbove": masks.above}
    return Manifest(Facts(budget=limit, settings=settings), lambda: _pieces(listed))


def _pieces(listed: ListDecision) -> list[Piece]:
    found = listed.fit
    pieces: list[Piece] = []
    if listed.system:
        pieces.append(_whole("system", listed.system, EntryKind.SYSTEM))
    if listed.tools:
        pieces.append(_whole("tools", listed.tools, EntryKind.SYSTEM))
    if not found.truncated:
        pieces += _kept(listed, 0, listed.levels, "fits")
    else:
        recent = max(found.tail, found.recent)
        pieces += _kept(listed, 0, found.head, "part of the beginning")
        pieces += sorted(
            [*(_gap(listed.ledger, start, stop) for start, stop in listed.removed), *_standing(listed)],
            key=lambda piece: piece.position or 0,
        )
        pieces += _kept(listed, found.tail, recent, "fits")
        pieces += _kept(listed, recent, listed.levels, "recent")
    if found.marker:
        pieces.append(_added("marker", found.marker_tokens, "stands for what was left out"))
    if listed.opening:
        pieces.append(_added("opening", listed.opening, "a request starts with a user message"))
    return pieces


def _standing(listed: ListDecision) -> list[Piece]:
    """What stays within the removed stretch."""
    found: list[Piece] = []
    for level in listed.ledger.systems:
        if listed.fit.head <= level < listed.fit.tail:
            found += _kept(listed, level, level + 1, _WHOLE)
    anchor = listed.fit.anchor
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


def _kept(listed: ListDecision, start: int, stop: int, reason: str) -> list[Piece]:
    """Runs of kept messages, broken where a system message, a shortened or a masked one is."""
    special = sorted(
        level
        for level in {*listed.ledger.systems, *listed.shortened, *listed.hidden}
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


def _special(listed: ListDecision, level: int) -> Run:
    size, results = listed.ledger.tokens(level), listed.ledger.results
    if level in listed.shortened:
        tokens, outcome, reason = listed.shortened[level], Outcome.SHORTENED, _TOO_LARGE
    elif level in listed.hidden and results is not None:
        tokens, outcome, reason = size - listed.hidden[level], Outcome.MASKED, results.rule.reason
    else:
        ((_, tokens),) = listed.ledger.system_tokens((level,))
        return _whole(str(level), tokens, EntryKind.MESSAGE, position=level)
    return Run.one(EntryKind.MESSAGE, str(level), outcome, reason, size=size, tokens=tokens, position=level)


def _whole(name: str, tokens: int, kind: EntryKind, *, position: int | None = None) -> Run:
    return Run.one(kind, name, Outcome.KEPT, _WHOLE, size=tokens, position=position)


def _added(name: str, tokens: int, reason: str) -> Run:
    return Run.one(EntryKind.MESSAGE, name, Outcome.ADDED, reason, size=tokens)
