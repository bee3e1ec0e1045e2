"""Token calibrations of models: learned from recorded usage, stored as numbered versions."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from sqlalchemy import and_, or_, select

from weft.context.layers.settings import read_layer_settings
from weft.context.manifest import Manifest
from weft.context.settings import read_preferences
from weft.context.tokens import Calibration, Estimator, calibrated, estimator_of
from weft.errors import InvalidInputError, NotFoundError, StorageError
from weft.store import schema
from weft.store.bodies import manifest_of
from weft.store.rows import OUTCOMES
from weft.store.session import Session
from weft.tree.attempt import AttemptOutcome
from weft.tree.content import JsonValue

CALIBRATIONS = "calibrations"
"""The key under which the grove's preferences hold them: model → a list, the first is version 1."""
_NAME = "calibrated"
_RECENT = 500
_THOUSAND = 1_000


def calibrations_of(preferences: Mapping[str, Any], model: str) -> list[Calibration]:
    """All versions for a model (`provider:model`), oldest first."""
    kept = cast("Sequence[Mapping[str, int]]", preferences.get(CALIBRATIONS, {}).get(model, ()))
    return [
        Calibration(model=model, version=number, thousandths=each["thousandths"], samples=each["samples"])
        for number, each in enumerate(kept, 1)
    ]


def is_calibrated(name: str) -> bool:
    """Whether a grove has to be asked what an estimator's name means."""
    return name == _NAME or name.startswith(f"{_NAME}:")


def estimator_for(preferences: Mapping[str, Any], name: str, model: str | None) -> Estimator:
    """An estimator by name: `calibrated` is the latest version for the model, `calibrated:MODEL@N` that one."""
    if name == _NAME:
        found = [] if model is None else calibrations_of(preferences, model)
        return calibrated(found[-1] if found else None)
    if not is_calibrated(name):
        return estimator_of(name)
    wanted, at, number = name.removeprefix(f"{_NAME}:").rpartition("@")
    if not at or not number.isdecimal():
        raise InvalidInputError(f"{name!r} names no version", hint="calibrated:provider:model@1, for example")
    for each in calibrations_of(preferences, wanted):
        if each.version == int(number):
            return calibrated(each)
    raise NotFoundError(f"there is no calibration {name!r}", hint="calibrate the model first")


def samples_of(session: Session, preferences: Mapping[str, Any], model: str) -> Iterator[tuple[int, int]]:
    """(tokens by the default estimate, tokens that the provider counted) of the latest finished calls."""
    attempts, responses, agents = schema.attempts, schema.responses, schema.agents
    provider, _, name = model.partition(":")
    rows = session.execute(
        select(attempts.c.tree, attempts.c.key, responses.c.prompt_tokens)
        .join(responses, and_(responses.c.tree == attempts.c.tree, responses.c.key == attempts.c.response))
        .join(agents, agents.c.key == attempts.c.agent)
        .where(
            responses.c.provider == provider,
            # A model may report a more exact name than the one it was asked by.
            or_(responses.c.model == name, agents.c.model_ref == model),
            responses.c.prompt_tokens.is_not(None),
            attempts.c.outcome == OUTCOMES.index(AttemptOutcome.COMPLETE),
        )
        .order_by(attempts.c.started_at.desc(), attempts.c.tree, attempts.c.key)
        .limit(_RECENT)
    ).all()
    shares = {
        f"{_NAME}:{each.model}@{each.version}": each.thousandths
        for each in calibrations_of(preferences, model)
    }
    for row in rows:
        estimated = _estimated(session, int(row.tree), int(row.key), {**shares, "default": _THOUSAND})
        if estimated:
            yield estimated, int(row.prompt_tokens)


def _estimated(session: Session, tree: int, attempt: int, shares: Mapping[str, int]) -> int:
    """What the default estimator said of a request; 0 where that cannot be told."""
    try:
        stored = manifest_of(session, tree, attempt)
        manifest = Manifest.from_stored(json.loads(stored)) if stored else None
    except (StorageError, InvalidInputError, ValueError):
        return 0
    share = None if manifest is None else shares.get(str(manifest.facts.settings.get("estimator")))
    return 0 if manifest is None or not share else manifest.tokens * _THOUSAND // share


def check_preferences(settings: Mapping[str, JsonValue]) -> None:
    """Refuse what would break every context; what belongs to others is left alone."""
    read_preferences(settings)
    read_layer_settings(settings)
    check_estimator(settings)


def check_estimator(settings: Mapping[str, JsonValue]) -> None:
    """Refuse a name that nobody has. A vocabulary takes long to read: not while others wait."""
    wanted = settings.get("estimator")
    if isinstance(wanted, str) and not is_calibrated(wanted):
        estimator_of(wanted)


def check_calibration(settings: Mapping[str, JsonValue], grove: Mapping[str, Any]) -> None:
    """Refuse a version that the grove does not have."""
    wanted = settings.get("estimator")
    if isinstance(wanted, str) and is_calibrated(wanted):
        estimator_for(grove, wanted, None)
