"""What a loom-aware agent sees beside the conversation: where it is, what it may do, what it keeps in mind."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # A view loads with the first call that needs it.
    from weft.context.agent_view.loom_block import (
        HeadingFacts,
        LoomPlace,
        Presence,
        absolute_heading,
        heading,
        loom_context,
    )
    from weft.context.agent_view.operational_memory import (
        Action,
        MemoryContents,
        PinnedNode,
        StashedText,
        memory_block,
    )
else:
    from weft.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "Action",
    "HeadingFacts",
    "LoomPlace",
    "MemoryContents",
    "PinnedNode",
    "Presence",
    "StashedText",
    "absolute_heading",
    "heading",
    "loom_context",
    "memory_block",
]
