"""Requests of loom-aware agents, and the choice of an assembler."""

from dataclasses import replace

from weft.runtime.contexts.agent_context import InRun, lay_out, see
from weft.runtime.contexts.assembler import NO_TURNS, require_no_tools
from weft.runtime.contexts.prepared_request import prepare
from weft.runtime.generation.assembly import (
    AssembledRequest,
    AssemblyInput,
    RequestAssembler,
    assemble_in_layers,
    assemble_plainly,
    assembled_from,
    options_of,
)


def assemble_loom_aware(ask: AssemblyInput) -> AssembledRequest:
    """One answer of a loom-aware agent, outside of any run."""
    return assemble_in_run(ask, None)


def assemble_in_run(ask: AssemblyInput, run: InRun | None) -> AssembledRequest:
    """The last words are always a user's, so there are none of the answer to begin with."""
    contexts, options = ask.contexts, replace(options_of(ask), run=run)
    with contexts.opened(ask.tree) as opened:
        gathered = contexts.gathered(opened, ask.node, options)
    if gathered.request.dialogue:
        assembly = lay_out(contexts, ask.agent, gathered, run)
        with contexts.opened(ask.tree) as opened:
            prepared = prepare(opened, assembly, ask.agent, contexts.clock(), way=ask.profile.cache.value)
        # What was sent is kept with its turn; what a run sends after it belongs to the run.
        return assembled_from(ask, prepared, kept=run is None or not run.exchanges)
    found = see(contexts, ask.agent, gathered, run)
    return AssembledRequest(
        system=(found.system,) if found.system else (),
        messages=found.messages,
        manifest=found.manifest.stored(),
        tokens=found.tokens,
    )


def choose_assembler(ask: AssemblyInput, *, dialogue: bool) -> RequestAssembler:
    """The assembler of the options; else layers, which are stored with their turn.

    A loom-aware agent also sees the tree around it; a document has no turns.
    """
    if ask.wishes.assembly is not None:
        return ask.wishes.assembly
    if ask.agent.loom_aware:
        return assemble_loom_aware
    if not dialogue:
        require_no_tools(options_of(ask), NO_TURNS)
        return assemble_plainly
    return assemble_in_layers
