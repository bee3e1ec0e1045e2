"""Which filters there are: ours and anyone's, by name, from the entry points `weft.filters`."""

from collections.abc import Mapping
from functools import lru_cache
from importlib import metadata
from typing import cast

from weft.context.filters.base import Filter
from weft.errors import InvalidInputError, NotFoundError

__all__ = ["GROUP", "Registry", "installed_filters"]

GROUP = "weft.filters"


class Registry:
    """Filters by name. A name that was given here hides an installed one."""

    __slots__ = ("_found", "_installed")

    def __init__(
        self,
        filters: Mapping[str, Filter] | None = None,
        installed: Mapping[str, metadata.EntryPoint] | None = None,
    ) -> None:
        self._found: dict[str, Filter] = dict(filters or {})
        self._installed = dict(installed or {})

    @property
    def names(self) -> list[str]:
        return sorted({*self._found, *self._installed})

    def with_filter(self, name: str, made: Filter) -> "Registry":
        """A registry that has one more; this one stays as it is."""
        return Registry({**self._found, name: made}, self._installed)

    def filter_of(self, name: str) -> Filter:
        """The filter of that name, loaded when it is first asked for."""
        found = self._found.get(name)
        if found is None:
            point = self._installed.get(name)
            if point is None:
                raise NotFoundError(
                    f"there is no filter {name!r}", hint=f"filters are {', '.join(self.names)}"
                )
            loaded = point.load()
            if not callable(loaded):
                raise InvalidInputError(f"the filter {name!r} ({point.value}) cannot be called")
            found = self._found[name] = cast("Filter", loaded)
        return found


@lru_cache(maxsize=1)
def installed_filters() -> Registry:
    """Everything that installed packages offer. Found once: packages do not come and go while we run."""
    return Registry(installed={point.name: point for point in metadata.entry_points(group=GROUP)})
