"""Preferences of a grove or a tree."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import select, update

from weft.context.layers.settings import read_layer_settings
from weft.context.settings import check_names, read_preferences
from weft.context.tokens import Calibration, calibrate
from weft.errors import InvalidInputError
from weft.provenance.fingerprints import grove_fingerprint
from weft.runtime.operations.calibration import (
    CALIBRATIONS,
    calibrations_of,
    check_calibration,
    check_estimator,
    samples_of,
)
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.scope import Scope, dump_json
from weft.runtime.operations.trees import change_tree
from weft.store import schema
from weft.store.session import Session
from weft.tree.access import MemberRole
from weft.tree.content import JsonValue
from weft.tree.json_names import camel, snake


def load_settings(session: Session) -> dict[str, Any]:
    """The grove's preferences, with those that Weft itself stores there."""
    return orjson.loads(session.execute(select(schema.grove.c.preferences)).scalar_one())


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
        _record_change(scope, before, after, sorted(names))


class ChangeSettings(Editing, verb="set preferences", access=MemberRole.OWNER):
    """Set what Weft itself stores in the grove's preferences; None removes it."""

    settings: Mapping[str, JsonValue]

    def apply(self, scope: Scope) -> None:
        scope.open_grove()
        before = load_settings(scope.transaction)
        _record_change(scope, before, _without_none({**before, **self.settings}), sorted(self.settings))


def _record_change(
    scope: Scope, before: Mapping[str, Any], after: Mapping[str, Any], names: Sequence[str]
) -> None:
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
