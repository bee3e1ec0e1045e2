"""The user's memory: a document that stands at the beginning of every request."""

from typing import TYPE_CHECKING

from weft.context.layers.settings import resolve_layer_settings
from weft.errors import ConflictError, InvalidInputError, NotFoundError
from weft.grove.document import DocumentHandle
from weft.runtime.contexts.system_blocks import memory_name
from weft.tree.agent import AgentType

if TYPE_CHECKING:
    from weft.grove.grove import Grove

__all__ = ["memory_of", "remember"]

_TITLE = "Memory"
_TRIES = 5


def memory_of(grove: "Grove") -> DocumentHandle | None:
    """The document, if there is one: the acting person's own, else the one that the grove prefers."""
    read = grove.read
    settings = resolve_layer_settings(grove.preferences)
    with read.store.read() as session:
        name = memory_name(session, read.actor, settings)
    return None if name is None else grove.document(name)


def remember(grove: "Grove", text: str) -> DocumentHandle:
    """One more line of memory. A person who has none yet begins one; a model needs `doc_write`."""
    line = text.strip()
    if not line:
        raise InvalidInputError("remember what?")
    for _ in range(_TRIES):
        found = memory_of(grove)
        if found is None:
            if grove.me.type is not AgentType.HUMAN:
                raise NotFoundError("there is no user memory", hint="a person begins it: weft remember TEXT")
            made = grove.write_document(_TITLE, f"{line}\n")
            grove.prefer(user_memory=made.id)
            return made
        before = found.text if not found.text or found.text.endswith("\n") else f"{found.text}\n"
        try:
            return found.save(f"{before}{line}\n")
        except ConflictError:
            # Somebody else saved it meanwhile: both lines count.
            continue
    raise ConflictError("the memory is being changed all the time", hint="try again")
