"""What a grove keeps beside its trees: records, groups of them, recipes over them, and who may enter."""

from typing import TYPE_CHECKING, cast

from weft.runtime.actor import Actor
from weft.runtime.gate import Gate

if TYPE_CHECKING:
    from weft.runtime.groups import GroupIndex
    from weft.runtime.grove import Grove
    from weft.runtime.recipes import Recipes
    from weft.runtime.records import Records
    from weft.runtime.users import Users

__all__ = ["Keeping"]


class Keeping:
    """Loaded by who asks for it: most programs only grow trees."""

    _gate: Gate
    _actor: Actor

    @property
    def records(self) -> "Records":
        """What outside programs keep here, in streams."""
        from weft.runtime.records import Records  # noqa: PLC0415

        return Records(self._gate, self._actor)

    @property
    def groups(self) -> "GroupIndex":
        """Which of a session's messages are collapsed into groups."""
        from weft.runtime.groups import GroupIndex  # noqa: PLC0415

        return GroupIndex(self._gate, self._actor)

    @property
    def recipes(self) -> "Recipes":
        """Recipes over its records and trees."""
        from weft.runtime.recipes import Recipes  # noqa: PLC0415

        return Recipes(cast("Grove", self))

    @property
    def users(self) -> "Users":
        """Who may enter."""
        from weft.runtime.users import Users  # noqa: PLC0415

        return Users(self._gate, self._actor)
