"""What a grove or a tree prefers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import orjson
from sqlalchemy import select, update

from weft.context.settings import check_names, read_layer_settings, read_preferences
from weft.context.tokens import Calibration, calibrate
from weft.errors import InvalidInputError
from weft.provenance.fingerprints import grove_fingerprint
from weft.runtime.operations.calibration import CALIBRATIONS, calibrations_of, samples_of
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.preference_checks import check_calibration, check_estimator
from weft.runtime.operations.scope import Scope, dump_json
from weft.runtime.operations.trees import change_tree
from weft.store import schema
from weft.store.session import Session
from weft.tree.access import MemberRole
from weft.tree.content import JsonValue
from weft.tree.json_names import camel, snake


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefer(Editing):
    """Set some of the grove's preferences; None takes one back to its default."""

    verb: ClassVar[str] = "set preferences"
    access: ClassVar[MemberRole] = MemberRole.OWNER
    settings: Mapping[str, JsonValue]

    def __post_init__(self) -> None:
        check_estimator(self.settings)

    def apply(self, scope: Scope) -> None:
        scope.open_grove()
        before = orjson.loads(scope.transaction.execute(select(schema.grove.c.preferences)).scalar_one())
        after = _changed(before, self.settings)
        check_calibration(self.settings, before)
        if after == before:
            return
        names = sorted({*before, *after} - {name for name in before if before.get(name) == after.get(name)})
        put_preferences(scope, after)
        scope.record(
            None,
            "prefer-in-grove",
            {"preferences": names},
            {
                "was": {name: before.get(name) for name in names},
                "is": {name: after.get(name) for name in names},
            },
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferInTree(Editing):
    """Set some of a tree's preferences, which override the grove's; None leaves it to the grove again."""

    verb: ClassVar[str] = "set preferences"
    tree: str
    settings: Mapping[str, JsonValue]

    def __post_init__(self) -> None:
        check_estimator(self.settings)

    def apply(self, scope: Scope) -> None:
        tree = scope.open_tree(self.tree)
        trees = schema.trees
        grove = scope.transaction.execute(select(schema.grove.c.preferences)).scalar_one()
        check_calibration(self.settings, orjson.loads(grove))
        kept = scope.transaction.execute(
            select(trees.c.preferences).where(trees.c.key == tree.key)
        ).scalar_one()
        change_tree(scope, tree, {"preferences": dump_json(_changed(orjson.loads(kept), self.settings))})


def put_preferences(scope: Scope, preferences: Mapping[str, Any]) -> None:
    """Write the grove's preferences, all of them, and vouch for them."""
    transaction = scope.transaction
    text = dump_json(dict(preferences))
    transaction.execute(update(schema.grove).values(preferences=text))
    grove = transaction.execute(select(schema.grove)).mappings().one()
    scope.add_fingerprint(grove_fingerprint(grove, transaction.agent(grove["owner"]).ulid))


def _changed(before: Mapping[str, Any], settings: Mapping[str, JsonValue]) -> dict[str, Any]:
    given = {camel(snake(name)): value for name, value in settings.items()}
    check_names(given)
    wanted = {name: value for name, value in given.items() if value is not None}
    read_preferences(wanted)
    read_layer_settings(wanted)
    return {name: value for name, value in {**before, **given}.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrate(Editing):
    """Freeze what the recorded calls of a model teach as its next version; None while they are too few.

    Earlier versions stay, so that requests made with them can be made again.
    """

    verb: ClassVar[str] = "calibrate"
    access: ClassVar[MemberRole] = MemberRole.OWNER
    model: str
    """`provider:model`."""

    def apply(self, scope: Scope) -> Calibration | None:
        provider, colon, name = self.model.partition(":")
        if not (provider and colon and name):
            raise InvalidInputError(f"{self.model!r} is no model", hint="name it as provider:model")
        scope.open_grove()
        transaction = scope.transaction
        kept = transaction.execute(select(schema.grove.c.preferences)).scalar_one()
        preferences = orjson.loads(kept)
        known = calibrations_of(preferences, self.model)
        found = calibrate(
            self.model, samples_of(transaction, preferences, self.model), version=len(known) + 1
        )
        if found is None or (known and known[-1].thousandths == found.thousandths):
            return known[-1] if known else None
        versions = [{"thousandths": each.thousandths, "samples": each.samples} for each in (*known, found)]
        every = {**preferences.get(CALIBRATIONS, {}), self.model: versions}
        put_preferences(scope, {**preferences, CALIBRATIONS: every})
        scope.record(None, "prefer", {"calibrated": self.model, "version": found.version}, {})
        return found


def load_settings(session: Session) -> dict[str, Any]:
    """Everything that the grove's preferences hold, ours too."""
    return orjson.loads(session.execute(select(schema.grove.c.preferences)).scalar_one())


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSettings(Editing):
    """Set what the grove keeps under these names; None takes it back."""

    verb: ClassVar[str] = "set preferences"
    access: ClassVar[MemberRole] = MemberRole.OWNER
    settings: Mapping[str, JsonValue]

    def apply(self, scope: Scope) -> None:
        scope.open_grove()
        before = load_settings(scope.transaction)
        after = {name: value for name, value in {**before, **self.settings}.items() if value is not None}
        if after == before:
            return
        put_preferences(scope, after)
        names = sorted(self.settings)
        scope.record(
            None,
            "prefer-in-grove",
            {"preferences": names},
            {
                "was": {name: before.get(name) for name in names},
                "is": {name: after.get(name) for name in names},
            },
        )
