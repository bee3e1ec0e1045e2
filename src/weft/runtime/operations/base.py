"""The shape of an operation."""

from typing import ClassVar, Protocol, TypeVar

from weft.runtime.scope import Scope
from weft.tree.access import MemberRole
from weft.tree.agent import Permission

__all__ = ["Destroying", "Editing", "Operation"]

R_co = TypeVar("R_co", covariant=True)


class Operation(Protocol[R_co]):
    """A value that knows what it needs and how it is done."""

    verb: ClassVar[str]
    """What it does, as in "ask the human to …"; also the kind of its event."""
    permission: ClassVar[Permission]
    access: ClassVar[MemberRole]

    def apply(self, scope: Scope) -> R_co: ...


class Destroying:
    """Destroys for good: once it is committed, files are cleaned of what it destroyed."""

    __slots__ = ()


class Editing:
    """Needs what most operations need."""

    permission: ClassVar[Permission] = Permission.LOOM_WRITE
    access: ClassVar[MemberRole] = MemberRole.EDITOR
