"""Recipes: which records become messages, in which order, through which filters."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # A recipe loads with the first call that needs it.
    from weft.context.recipes.filters.base import (
        Filter,
        FilterContext,
        FilterEntry,
        FilterLike,
        Registry,
        installed_filters,
    )
    from weft.context.recipes.filters.pipeline import (
        Filtered,
        FilterError,
        OnFilterError,
        apply_filters,
        apply_filters_async,
        run_filters,
        run_filters_async,
    )
    from weft.context.recipes.filters.trace import FilterStep, Mark, Trace
    from weft.context.recipes.group_index import (
        MemoryIndex,
        plan_index,
        plan_state,
        read_index_request,
        read_state_request,
    )
    from weft.context.recipes.recipe import Recipe, RecipeError, decode_recipe
    from weft.context.recipes.recipe_run import follow_recipe
    from weft.context.recipes.record_streams import DocumentRecords, RecordScope
else:
    from weft.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "DocumentRecords",
    "Filter",
    "FilterContext",
    "FilterEntry",
    "FilterError",
    "FilterLike",
    "FilterStep",
    "Filtered",
    "Mark",
    "MemoryIndex",
    "OnFilterError",
    "Recipe",
    "RecipeError",
    "RecordScope",
    "Registry",
    "Trace",
    "apply_filters",
    "apply_filters_async",
    "decode_recipe",
    "follow_recipe",
    "installed_filters",
    "plan_index",
    "plan_state",
    "read_index_request",
    "read_state_request",
    "run_filters",
    "run_filters_async",
]
