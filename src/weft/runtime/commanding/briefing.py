"""Things in short: their summaries, made now and kept where they are missing."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlalchemy import select

from weft.errors import WeftError
from weft.runtime.commanding.seeing import words_of
from weft.runtime.operations.permissions import Actor
from weft.runtime.summarising.extracting import EXTRACT, extract
from weft.runtime.summarising.making import Making
from weft.runtime.summarising.thread import is_wanted
from weft.store import schema
from weft.tree.agent import AgentType
from weft.tree.document import Document
from weft.tree.node import Node

if TYPE_CHECKING:
    from weft.runtime.commanding.session import Session

__all__ = ["brief_document", "brief_node", "in_brief"]


def in_brief(node: Node) -> tuple[str, bool]:
    """A node in short, and whether that leaves something out: its summary, else its first sentence."""
    words = words_of(node.content).strip()
    first = extract(words)
    if first.removeprefix(EXTRACT) == " ".join(words.split()):
        return words, False
    return node.summary or first, True


def brief_node(session: "Session", node: Node) -> tuple[str, bool]:
    """The same; a summary that is missing is made."""
    said, is_short = in_brief(node)
    if not is_short or node.summary is not None:
        return said, is_short
    return _made(session, lambda making: making.node(node.tree_id, node.id)) or said, True


def brief_document(session: "Session", document: Document) -> str:
    """A document's summary, which is made if it is missing."""
    if document.summary is not None:
        return document.summary
    return _made(session, lambda making: making.document(document.id)) or extract(document.content)


def _made(session: "Session", make: Callable[[Making], str]) -> str | None:
    """As it would be made in the background, for the grove's owner; None where nobody wants that, or it fails.

    For models, whose room is small. A person who looks does not wait for one: the first sentence tells.
    """
    store = session.gate.store
    if session.agent.type is not AgentType.MODEL or not is_wanted(store):
        return None
    with store.read() as reading:
        owner = reading.execute(select(schema.grove.c.owner)).scalar_one()
    try:
        return make(Making(session.gate, Actor(owner), unattended=True))
    except WeftError:
        return None
