"""Base of what a grove hands out: a value, and the grove to act on it."""

from typing import TYPE_CHECKING, Generic, TypeVar

from weft.tree.node import Identified

if TYPE_CHECKING:
    from weft.grove.grove import Grove

Value = TypeVar("Value", bound=Identified)


class Handle(Generic[Value]):
    """A value as it was when it was read; handles of the same thing are equal."""

    __slots__ = ("_grove", "value")

    def __init__(self, grove: "Grove", value: Value) -> None:
        self._grove = grove
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def id(self) -> str:
        return self.value.id
