"""What a grove keeps beside its trees: records, groups of them, recipes over them, and who may enter."""

from typing import TYPE_CHECKING, cast

from weft.runtime.operations.executor import Executor
from weft.runtime.operations.permissions import Actor

if TYPE_CHECKING:
    from weft.runtime.grove import Grove
    from weft.runtime.operations.access import Users
    from weft.runtime.records.group_index import GroupIndex
    from weft.runtime.records.recipes import Recipes
    from weft.runtime.records.streams import Records

__all__ = ["Keeping"]


class Keeping:
    """Loaded by who asks for it: most programs only grow trees."""

    _gate: Executor
    _actor: Actor

    @property
    def records(self) -> "Records":
        """What outside programs keep here, in streams."""
        from weft.runtime.records.streams import Records  # noqa: PLC0415

        return Records(self._gate, self._actor)

    @property
    def groups(self) -> "GroupIndex":
        """Which of a session's messages are collapsed into groups."""
        from weft.runtime.records.group_index import GroupIndex  # noqa: PLC0415

        return GroupIndex(self._gate, self._actor)

    @property
    def recipes(self) -> "Recipes":
        """Recipes over its records and trees."""
        from weft.runtime.records.recipes import Recipes  # noqa: PLC0415

        return Recipes(cast("Grove", self))

    @property
    def users(self) -> "Users":
        """Who may enter."""
        from weft.runtime.operations.access import Users  # noqa: PLC0415

        return Users(self._gate, self._actor)
