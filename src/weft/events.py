"""Events: of a grove (`follow`), of a generation (`stream`), of a collaborator's run (`run`)."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # The runtime loads when a name is first used.
    from weft.runtime.collaboration.run_events import (
        Answered,
        Began,
        Commanded,
        Ending,
        Finished,
        RunEvent,
        Turned,
    )
    from weft.runtime.events.log import Event, EventBatch
    from weft.runtime.events.subscription import Subscription
    from weft.runtime.generation.stream import (
        ArgumentsChunk,
        Failed,
        GenerationEvent,
        NodeCompleted,
        Notice,
        Retrying,
        Started,
        StreamSlot,
        TextChunk,
        ThinkingChunk,
        ToolCallChunk,
    )
    from weft.tree.event_kinds import EventKind
else:
    from weft.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "Answered",
    "ArgumentsChunk",
    "Began",
    "Commanded",
    "Ending",
    "Event",
    "EventBatch",
    "EventKind",
    "Failed",
    "Finished",
    "GenerationEvent",
    "NodeCompleted",
    "Notice",
    "Retrying",
    "RunEvent",
    "Started",
    "StreamSlot",
    "Subscription",
    "TextChunk",
    "ThinkingChunk",
    "ToolCallChunk",
    "Turned",
]
