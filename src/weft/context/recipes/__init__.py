"""Recipes: which records become messages, in which order, through which filters."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # A recipe loads with the first call that needs it.
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
    "MemoryIndex",
    "Recipe",
    "RecipeError",
    "RecordScope",
    "decode_recipe",
    "follow_recipe",
    "plan_index",
    "plan_state",
    "read_index_request",
    "read_state_request",
]
