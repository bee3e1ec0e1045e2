"""What a grove keeps about generating beside its preferences: who answers by default, and spend caps."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import orjson
from sqlalchemy import select

from weft.runtime.operations.executor import Editing
from weft.runtime.operations.scope import Scope
from weft.runtime.operations.settings import put_preferences
from weft.store import schema
from weft.store.session import Session
from weft.tree.access import MemberRole
from weft.tree.json import JsonValue

__all__ = ["Set", "kept_settings"]


def kept_settings(session: Session) -> dict[str, Any]:
    """Everything that the grove's preferences hold, ours too."""
    return orjson.loads(session.execute(select(schema.grove.c.preferences)).scalar_one())


@dataclass(frozen=True, slots=True, kw_only=True)
class Set(Editing):
    """Set what the grove keeps under these names; None takes it back."""

    verb: ClassVar[str] = "set preferences"
    access: ClassVar[MemberRole] = MemberRole.OWNER
    settings: Mapping[str, JsonValue]

    def apply(self, scope: Scope) -> None:
        scope.open_grove()
        before = kept_settings(scope.transaction)
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
