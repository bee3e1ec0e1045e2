"""Preferences of a grove or a tree."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import orjson
from sqlalchemy import and_, or_, select, update

from weft.context.manifest import Manifest
from weft.context.settings import check_names, read_layer_settings, read_preferences
from weft.context.tokens import Calibration, Estimator, calibrate, calibrated, estimator_of
from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, NotFoundError, StorageError
from weft.provenance.fingerprints import grove_fingerprint
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.grove_rows import change_tree
from weft.runtime.operations.scope import Scope, dump_json
from weft.store import schema
from weft.store.request_records import manifest_of
from weft.store.rows import OUTCOMES
from weft.store.session import Session
from weft.tree.access import MemberRole
from weft.tree.attempt import AttemptOutcome
from weft.tree.json import JsonValue, camel, snake


def load_settings(session: Session) -> dict[str, Any]:
    """The grove's preferences, with those that Weft itself stores there."""
    return session.once(load_settings, lambda: orjson.loads(session.rows(_PREFERENCES, {})[0][0]))


_PREFERENCES = select(schema.grove.c.preferences)


class Prefer(Editing, verb="set preferences", access=MemberRole.OWNER):
    """Set some of the grove's preferences; None takes one back to its default."""

    settings: Mapping[str, JsonValue]

    def __post_init__(self) -> None:
        check_estimator(self.settings)

    def apply(self, scope: Scope) -> None:
        scope.open_grove()
        before = load_settings(scope.transaction)
        after = _changed(before, self.settings)
        check_calibration(self.settings, before)
        names = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        record_change(scope, before, after, sorted(names))


class ChangeSettings(Editing, verb="set preferences", access=MemberRole.OWNER):
    """Set what Weft itself stores in the grove's preferences; None removes it."""

    settings: Mapping[str, JsonValue]

    def apply(self, scope: Scope) -> None:
        scope.open_grove()
        before = load_settings(scope.transaction)
        record_change(scope, before, _without_none({**before, **self.settings}), sorted(self.settings))


def record_change(
    scope: Scope, before: Mapping[str, Any], after: Mapping[str, Any], names: Sequence[str]
) -> None:
    """Write the grove's preferences as they are to be, and record what changed."""
    if after != before:
        put_preferences(scope, after)
        was, now = ({name: each.get(name) for name in names} for each in (before, after))
        scope.record(None, "prefer-in-grove", {"preferences": names}, {"was": was, "is": now})


class PreferInTree(Editing, verb="set preferences"):
    """Set some of a tree's preferences, which override the grove's; None leaves it to the grove again."""

    tree: str
    settings: Mapping[str, JsonValue]

    def __post_init__(self) -> None:
        check_estimator(self.settings)

    def apply(self, scope: Scope) -> None:
        tree = scope.open_tree(self.tree)
        trees = schema.trees
        check_calibration(self.settings, load_settings(scope.transaction))
        own = select(trees.c.preferences).where(trees.c.key == tree.key)
        before = orjson.loads(scope.transaction.execute(own).scalar_one())
        change_tree(scope, tree, {"preferences": dump_json(_changed(before, self.settings))})


def put_preferences(scope: Scope, preferences: Mapping[str, Any]) -> None:
    """Write the grove's preferences, all of them, and add their fingerprint."""
    transaction = scope.transaction
    transaction.execute(update(schema.grove).values(preferences=dump_json(dict(preferences))))
    grove = transaction.execute(select(schema.grove)).mappings().one()
    scope.add_fingerprint(grove_fingerprint(grove, transaction.agent(grove["owner"]).ulid))


def _changed(before: Mapping[str, Any], settings: Mapping[str, JsonValue]) -> dict[str, Any]:
    given = {camel(snake(name)): value for name, value in settings.items()}
    check_names(given)
    wanted = _without_none(given)
    read_preferences(wanted)
    read_layer_settings(wanted)
    return _without_none({**before, **given})


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


class Calibrate(Editing, verb="calibrate", access=MemberRole.OWNER):
    """Store the calibration that the recorded calls of a model give as its next version.

    Returns None while there are too few calls. Earlier versions stay: requests made with them can be repeated.
    """

    model: str
    """`provider:model`."""

    def apply(self, scope: Scope) -> Calibration | None:
        provider, colon, name = self.model.partition(":")
        if not (provider and colon and name):
            raise InvalidInputError(f"{self.model!r} is no model", hint="name it as provider:model")
        scope.open_grove()
        preferences = load_settings(scope.transaction)
        known = calibrations_of(preferences, self.model)
        samples = samples_of(scope.transaction, preferences, self.model)
        new = calibrate(self.model, samples, version=len(known) + 1)
        if new is None or (known and known[-1].thousandths == new.thousandths):
            return known[-1] if known else None
        versions = [{"thousandths": each.thousandths, "samples": each.samples} for each in (*known, new)]
        calibrations = {**preferences.get(CALIBRATIONS, {}), self.model: versions}
        put_preferences(scope, {**preferences, CALIBRATIONS: calibrations})
        scope.record(None, "prefer", {"calibrated": self.model, "version": new.version}, {})
        return new


CALIBRATIONS = "calibrations"
"""The key under which the grove's preferences hold them: model → a list, the first is version 1."""
_NAME = "calibrated"
_RECENT = 500
_THOUSAND = 1_000


def calibrations_of(preferences: Mapping[str, Any], model: str) -> list[Calibration]:
    """All versions for a model (`provider:model`), oldest first."""
    stored = cast("Sequence[Mapping[str, int]]", preferences.get(CALIBRATIONS, {}).get(model, ()))
    return [
        Calibration(model=model, version=number, thousandths=each["thousandths"], samples=each["samples"])
        for number, each in enumerate(stored, 1)
    ]


def is_calibrated(name: str) -> bool:
    """Whether a grove has to be asked what an estimator's name means."""
    return name == _NAME or name.startswith(f"{_NAME}:")


def estimator_for(preferences: Mapping[str, Any], name: str, model: str | None) -> Estimator:
    """An estimator by name: `calibrated` is the latest version for the model, `calibrated:MODEL@N` that one."""
    if name == _NAME:
        known = [] if model is None else calibrations_of(preferences, model)
        return calibrated(known[-1] if known else None)
    if not is_calibrated(name):
        return estimator_of(name)
    wanted, at, number = name.removeprefix(f"{_NAME}:").rpartition("@")
    if not at or not number.isdecimal():
        raise InvalidInputError(f"{name!r} names no version", hint="calibrated:provider:model@1, for example")
    for each in calibrations_of(preferences, wanted):
        if each.version == int(number):
            return calibrated(each)
    raise NotFoundError(f"there is no calibration {name!r}", hint=Hint(HintKind.CALIBRATE, model=wanted))


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
    """The default estimate of a request; 0 if it is not known."""
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
    """Refuse an unknown estimator. Called before the transaction: loading a vocabulary takes long."""
    wanted = settings.get("estimator")
    if isinstance(wanted, str) and not is_calibrated(wanted):
        estimator_of(wanted)


def check_calibration(settings: Mapping[str, JsonValue], grove: Mapping[str, Any]) -> None:
    """Refuse a version that the grove does not have."""
    wanted = settings.get("estimator")
    if isinstance(wanted, str) and is_calibrated(wanted):
        estimator_for(grove, wanted, None)
