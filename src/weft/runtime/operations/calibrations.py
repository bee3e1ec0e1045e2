"""Learning a model's tokens from what its provider counted."""

from dataclasses import dataclass
from typing import ClassVar

import orjson
from sqlalchemy import select

from weft.context.tokens import Calibration, calibrate
from weft.errors import InvalidInputError
from weft.runtime.calibrating import CALIBRATIONS, calibrations_of, samples_of
from weft.runtime.operations.base import Editing
from weft.runtime.operations.preferences import put_preferences
from weft.runtime.scope import Scope
from weft.store import schema
from weft.tree.access import MemberRole

__all__ = ["Calibrate"]


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
