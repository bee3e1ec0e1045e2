"""A request in layers and a context are one thing: each as the other."""

from weft.context.layers.envelope import Envelope, Layer, Segment
from weft.context.layers.items import LayerId
from weft.context.layers.plan import LayerPlan
from weft.context.manifest import Gap, Outcome
from weft.context.result import AssembledContext
from weft.context.tokens import JOINT
from weft.tree.message import Message
from weft.tree.node import Role


def context_of(plan: LayerPlan, envelope: Envelope) -> AssembledContext:
    """What was laid out, as any context is given."""
    pieces = envelope.manifest.pieces
    gaps = [piece for piece in pieces if isinstance(piece, Gap) and piece.outcome is Outcome.DROPPED]
    texts = (envelope.system, envelope.memory_block)
    return AssembledContext(
        system=JOINT.join(text for text in texts if text),
        messages=envelope.messages,
        document=None,
        manifest=envelope.manifest,
        tokens=envelope.tokens,
        budget=envelope.budget,
        truncated=envelope.truncated,
        removed_nodes=plan.plan.fit.removed,
        removed_tokens=sum(piece.size for piece in gaps),
        shortened=envelope.shortened,
        warnings=envelope.warnings,
        estimator=envelope.estimator,
        laid_out=envelope.layers,
    )


def layers_in(context: AssembledContext) -> tuple[Layer, ...]:
    """What stands in each layer's place: nothing was attached, and a document is all history."""
    messages = context.messages
    spoken = bool(messages) and messages[-1].role is Role.USER
    history = messages[:-1] if spoken else messages
    segments = {
        LayerId.SYSTEM: [Segment("system", context.system, stable=True)] if context.system else [],
        LayerId.HISTORY: [_said(str(index), message) for index, message in enumerate(history)],
        LayerId.USER: [Segment("input", messages[-1].text, stable=False)] if spoken else [],
    }
    if context.document is not None:
        segments[LayerId.HISTORY] = [Segment("document", context.document, stable=True)]
    of_text = context.estimator.of_text
    return tuple(
        Layer(name, tuple(found), sum(of_text(each.content) for each in found))
        for name in LayerId
        for found in [segments.get(name, [])]
    )


def _said(name: str, message: Message) -> Segment:
    return Segment(name, message.text, True, {"role": message.role.value})
