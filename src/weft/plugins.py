"""What installed packages bring along: found by their entry points, loaded when it is first asked for."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Generic, Self, TypeVar

from weft.errors import NotFoundError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["Plugins", "package_of"]

T = TypeVar("T")


class Plugins(ABC, Generic[T]):
    """Things of one kind by name. One that was given here hides an installed one."""

    __slots__ = ("_given", "_installed", "_loaded", "_lock")

    GROUP: ClassVar[str]
    KIND: ClassVar[str]
    """What one of them is called."""

    def __init__(
        self, given: Mapping[str, T] | None = None, installed: "Mapping[str, EntryPoint] | None" = None
    ) -> None:
        self._given = dict(given or {})
        self._installed = dict(installed or {})
        self._loaded: dict[str, T] = {}
        self._lock = threading.Lock()

    @classmethod
    def installed(cls) -> Self:
        """Everything that installed packages offer."""
        from importlib.metadata import entry_points  # noqa: PLC0415 - takes its time to be imported

        return cls(installed={point.name: point for point in entry_points(group=cls.GROUP)})

    @property
    def names(self) -> list[str]:
        return sorted({*self._given, *self._installed})

    def _with(self, name: str, one: T) -> Self:
        return type(self)({**self._given, name: one}, self._installed)

    def _named(self, name: str) -> T:
        if name in self._given:
            return self._given[name]
        with self._lock:
            if name not in self._loaded:
                point = self._installed.get(name)
                if point is None:
                    known = ", ".join(self.names)
                    raise NotFoundError(
                        f"there is no {self.KIND} {name[:60]!r}", hint=f"{self.KIND}s are {known}"
                    )
                self._loaded[name] = self._load(name, point)
            return self._loaded[name]

    @abstractmethod
    def _load(self, name: str, point: "EntryPoint") -> T:
        """What an entry point names, if it is such a thing."""


def package_of(point: "EntryPoint") -> str:
    return "that brings it" if point.dist is None else point.dist.name
