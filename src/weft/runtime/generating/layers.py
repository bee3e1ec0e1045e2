"""A request in layers: with what was attached, the project's blocks, and marks for the provider's cache."""

from functools import partial

from weft.runtime.contexts.assembler import NO_TURNS, require_no_tools
from weft.runtime.contexts.layers import Layers
from weft.runtime.contexts.options import LayerOptions
from weft.runtime.contexts.prepared_request import Prepared, keeping, record
from weft.runtime.generating.assembly import (
    Ask,
    Assembled,
    Assembly,
    assemble_plainly,
    options_of,
    with_prefill,
)
from weft.runtime.operations.executor import Caller

__all__ = ["assemble_in_layers", "assembled_from", "assembly_for"]


def assemble_in_layers(ask: Ask) -> Assembled:
    """The same place, laid out from what changes least to what changes most."""
    layers = Layers.of(Caller(ask.gate, ask.contexts.actor))
    options = LayerOptions(context=options_of(ask), subject=True, way=ask.profile.cache.value)
    prepared = layers.prepare(ask.tree, ask.node, options)
    return assembled_from(ask, prepared)


def assembled_from(ask: Ask, prepared: Prepared, *, kept: bool = True) -> Assembled:
    """A request in layers as it is sent, and kept with its turn if that is wanted."""
    envelope = prepared.envelope
    if not kept:
        record(prepared)
    messages, prefill = envelope.messages, ""
    if not prepared.controls.marks:
        # Where messages are marked they are counted, and none may go.
        messages, prefill = with_prefill(ask.profile, messages)
    return Assembled(
        system=(*envelope.system_blocks, *([envelope.memory_block] if envelope.memory_block else ())),
        messages=messages,
        prefill=prefill,
        cache=prepared.controls,
        manifest=envelope.manifest.stored(),
        tokens=envelope.tokens,
        cached=prepared.prediction.cached if ask.profile.prefix_cache else None,
        keep=partial(keeping, prepared) if kept else None,
    )


def assembly_for(ask: Ask, *, dialogue: bool) -> Assembly:
    """The one that was wished for; else layers, which are kept with their turn.

    A loom-aware agent is shown the tree around it, too; and a document has no turns.
    """
    if ask.wishes.assembly is not None:
        return ask.wishes.assembly
    if ask.agent.loom_aware:
        from weft.runtime.collaborating.seeing import assemble_loom_aware  # noqa: PLC0415 - few agents are

        return assemble_loom_aware
    if not dialogue:
        require_no_tools(options_of(ask), NO_TURNS)
        return assemble_plainly
    return assemble_in_layers
