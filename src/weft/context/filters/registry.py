"""Which filters there are: ours and anyone's, by name, from the entry points `weft.filters`."""

from functools import lru_cache

from weft.context.filters.base import Filter
from weft.plugins import Plugins

GROUP = "weft.filters"


class Registry(Plugins[Filter]):
    """Filters by name."""

    __slots__ = ()

    GROUP = GROUP
    KIND = "filter"

    def with_filter(self, name: str, made: Filter) -> "Registry":
        """A registry that has one more; this one stays as it is."""
        return self._with(name, made)

    def filter_of(self, name: str) -> Filter:
        """The filter of that name, loaded when it is first asked for."""
        return self._named(name)


@lru_cache(maxsize=1)
def installed_filters() -> Registry:
    """Everything that installed packages offer. Found once: packages do not come and go while we run."""
    return Registry.installed()
