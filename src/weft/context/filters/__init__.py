"""Filters: plain callables from messages to messages, chained in a list, with an account of what each did."""

from weft.context.filters.base import (
    Filter,
    FilterContext,
    FilterEntry,
    FilterLike,
    Registry,
    installed_filters,
)
from weft.context.filters.pipeline import (
    Filtered,
    FilterError,
    OnFilterError,
    apply_filters,
    apply_filters_async,
    run_filters,
    run_filters_async,
)
from weft.context.filters.trace import FilterStep, Mark, Trace

__all__ = [
    "Filter",
    "FilterContext",
    "FilterEntry",
    "FilterError",
    "FilterLike",
    "FilterStep",
    "Filtered",
    "Mark",
    "OnFilterError",
    "Registry",
    "Trace",
    "apply_filters",
    "apply_filters_async",
    "installed_filters",
    "run_filters",
    "run_filters_async",
]
