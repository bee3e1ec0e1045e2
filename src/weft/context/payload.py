"""One request as it will be sent, layer by layer, for a person to read."""

from dataclasses import dataclass

from weft.context.cache.controls import CacheControls
from weft.context.cache.prediction import Prediction
from weft.context.envelope import Envelope, canonical
from weft.context.tokens import NO_LIMIT
from weft.tree.json import JsonObject, JsonValue
from weft.tree.message import message_to_wire

_EMPTY = "(empty)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """One request, as it will be sent."""

    envelope: Envelope
    provider: str = ""
    controls: CacheControls | None = None
    prediction: Prediction | None = None

    @property
    def text(self) -> str:
        """The layers one after the other, each under its name, its size and its hash."""
        envelope = self.envelope
        lines = [f"# {envelope.conversation_id or '-'} · {envelope.message_id or '-'}"]
        limit = f" of {envelope.budget:,}" if envelope.budget < NO_LIMIT else ""
        lines.append(f"{envelope.tokens:,}{limit} tokens · {envelope.combined_hash[:12]}")
        if self.prediction is not None:
            lines.append(f"about {self.prediction.cached:,} from the cache")
        lines += [f"warning: {warning}" for warning in envelope.warnings]
        extras = (
            ("tools", "\n".join(tool.json for tool in envelope.tools)),
            ("tool descriptions", "\n\n".join(envelope.descriptions)),
            ("memory block", envelope.memory_block),
            ("before L3", envelope.additional),
        )
        for name, text in extras:
            lines += ["", f"## {name}", text] if text else []
        for layer in envelope.layers:
            stable = "stable" if layer.stable else "volatile"
            lines += [
                "",
                f"## {layer.id.value} · {layer.label} · {layer.tokens:,} tokens · {stable} · {layer.hash[:12]}",
            ]
            lines.append(layer.text or _EMPTY)
        if envelope.exchange:
            lines += ["", "## after L5"]
            lines += [canonical(message_to_wire(message)) for message in envelope.exchange]
        if self.controls is not None and self.controls.marks:
            lines += ["", "## cache marks"]
            lines += [
                f"{'system' if mark.message is None else f'message {mark.message}'}, block {mark.block}"
                for mark in self.controls.marks
            ]
        return "\n".join(lines) + "\n"

    def to_wire(self) -> JsonObject:
        wire: dict[str, JsonValue] = {"provider": self.provider, "envelope": self.envelope.to_wire()}
        if self.controls is not None:
            wire["cacheControls"] = self.controls.to_wire()
        if self.prediction is not None:
            wire["prediction"] = self.prediction.to_wire()
        return wire


def record_payload(
    envelope: Envelope,
    *,
    provider: str = "",
    controls: CacheControls | None = None,
    prediction: Prediction | None = None,
) -> Payload:
    return Payload(envelope=envelope, provider=provider, controls=controls, prediction=prediction)
