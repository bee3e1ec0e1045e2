"""Plug-ins of installed packages: found by their entry points, loaded when they are first asked for."""

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast

from weft.errors import InvalidInputError, NotFoundError, WeftError
from weft.redaction import redact

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class Plugins(Generic[T]):
    """Plug-ins of one kind by name. One that was given here hides an installed one."""

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

    def _load(self, name: str, point: "EntryPoint") -> T:
        """Load an entry point. An error of one package must not affect the others."""
        try:
            return self._made(name, point.load())
        except WeftError:
            raise
        except Exception as error:
            package = "that brings it" if point.dist is None else point.dist.name
            raise self._broken(
                f"the {self.KIND} {name!r} ({point.value}) cannot be loaded: {type(error).__name__}: {redact(str(error))}",
                f"update or uninstall the package {package}",
            ) from error

    def _made(self, name: str, loaded: Any) -> T:
        """The plug-in, from what its entry point names; a `TypeError` if it is not one."""
        del name
        if not callable(loaded):
            raise TypeError("it is not callable")
        return cast("T", loaded)

    def _broken(self, message: str, hint: str) -> WeftError:
        return InvalidInputError(message, hint=hint)
