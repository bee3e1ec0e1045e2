"""Commands that somebody gives at once, and not a model in the course of its turn: `tree.do("→ view a7x2")`."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from weft.commands.results import Result
from weft.commands.scanner import ARROW, Found, scan
from weft.errors import InvalidInputError, InvalidSyntaxError, WeftError
from weft.ids import new_ulid
from weft.runtime.commanding.session import Session
from weft.runtime.operations.node_values import agent_value
from weft.runtime.operations.permissions import agent_row
from weft.store.references import find_agent
from weft.tree.content import check_text

if TYPE_CHECKING:
    from weft.grove.grove import Grove

__all__ = ["Done", "do", "read_commands", "session_for"]


class Done(list[Result]):
    """What commands came to, in order. A failure does not stop the rest."""

    def __init__(self, results: Iterable[Result]) -> None:
        super().__init__(results)

    @property
    def text(self) -> str:
        """All answers, whole."""
        return "\n\n".join(result.text for result in self)

    @property
    def error(self) -> WeftError | None:
        """The first that went wrong."""
        return next((result.error for result in self if result.error is not None), None)


def do(loom: "Grove", tree: str, text: str, agent: str | None = None) -> Done:
    """Carry out lines of commands, as whoever acts through the grove, or as an agent that acts for it."""
    found = read_commands(text)
    session = session_for(loom, tree, agent)
    session.run(found, turn=1)
    return Done(session.results)


def session_for(loom: "Grove", tree: str, agent: str | None = None) -> Session:
    """A run of its own."""
    gate, actor = loom.leases.gate, loom.read.actor
    with gate.store.read() as session:
        key = actor.agent if agent is None else find_agent(session, agent)
        value = agent_value(agent_row(session, key))
    return Session(loom, tree, value, run=new_ulid(gate.clock(), gate.entropy))


def read_commands(text: str) -> tuple[Found, ...]:
    """The commands of a text that holds nothing else; without any arrow it is one command.

    Somebody who mixes in prose expects more than is done, so nothing is done at all.
    """
    given = check_text(text).strip()
    if not given:
        raise InvalidInputError("do what?", hint="→ help shows what there is")
    if ARROW not in given:
        given = f"{ARROW} {given}"
    found = scan(given)
    if found.cut is not None or found.prose.strip() or found.ignored:
        place = found.cut or (found.ignored[0].start if found.ignored else 0)
        line = given[place:].lstrip().partition("\n")[0][:60]
        why = f" ({found.ignored[0].why})" if found.ignored and found.cut is None else ""
        raise InvalidSyntaxError(
            f"{line!r} is no command{why}; nothing was done", hint="every line of commands begins with →"
        )
    return found.commands
