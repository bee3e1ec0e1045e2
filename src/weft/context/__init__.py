"""The context engine: from values to exactly what a model will see. No I/O, no clock, no globals."""

from typing import TYPE_CHECKING

from weft.context.messages import ListContext, fit_messages
from weft.context.result import Context

if TYPE_CHECKING:
    # Fitting plain messages needs none of these.
    from weft.context.conversation import Conversation, ConversationTurn, PromptContextRequest, assemble_turn
    from weft.context.engine import assemble
    from weft.context.envelope import Envelope
    from weft.context.fit import Strategy
    from weft.context.items.blocks import ToolOutput
    from weft.context.manifest import Manifest
    from weft.context.manifest_entries import EntryKind, ManifestEntry, Outcome
    from weft.context.payload import Payload, record_payload
    from weft.context.request import ContextRequest
    from weft.context.result import RequestBody
    from weft.context.settings import Preferences
    from weft.context.stored_envelope import load_envelope, store_envelope
    from weft.context.tokens import Estimator, EstimatorLike, estimator_of
else:
    from weft.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "Context",
    "ContextRequest",
    "Conversation",
    "ConversationTurn",
    "EntryKind",
    "Envelope",
    "Estimator",
    "EstimatorLike",
    "ListContext",
    "Manifest",
    "ManifestEntry",
    "Outcome",
    "Payload",
    "Preferences",
    "PromptContextRequest",
    "RequestBody",
    "Strategy",
    "ToolOutput",
    "assemble",
    "assemble_turn",
    "estimator_of",
    "fit_messages",
    "load_envelope",
    "record_payload",
    "store_envelope",
]
