"""Whose chain an undo steps back in: the tree's, or the grove's, where documents are written."""

from collections.abc import Sequence

from weft.runtime.commanding.desk import Desk
from weft.runtime.undoing.stack import Recorded, Tops, event_at, tops_now
from weft.store.queries import find_node
from weft.store.references import find_tree
from weft.store.session import Session
from weft.store.transaction import GROVE
from weft.tree.event_kinds import EventKind

__all__ = ["joined_with", "last_step"]


def last_step(desk: Desk, direction: str) -> str | None:
    """The id of the tree to step in, or None for the grove: wherever the agent's last step of the kind was."""
    agent = desk.see.actor.agent
    with desk.see.store.read() as session:
        here = _step(session, find_tree(session, desk.tree), agent, direction)
        beside = _step(session, GROVE, agent, direction)
        if beside is None or (here is not None and here.created_at >= beside.created_at):
            return desk.tree
        kind = beside.payload.get("kind") if direction == "redo" else beside.kind
        # Saving is all that a command does in the grove's own chain.
        return None if kind == EventKind.SAVE else desk.tree


def _step(session: Session, chain: int, agent: int, direction: str) -> Recorded | None:
    """What would be undone, or the undo that would be redone."""
    tops: Tops = tops_now(session, chain, agent)
    ordinal = tops.undo if direction == "undo" else tops.redo
    return None if ordinal is None else event_at(session, chain, ordinal)


def joined_with(desk: Desk) -> str:
    """The local id of what a node was just joined with, which only the event knows."""
    with desk.see.store.read() as session:
        chain = find_tree(session, desk.tree)
        event = _step(session, chain, desk.see.actor.agent, "undo")
        parts = None if event is None else event.payload.get("of")
        if not isinstance(parts, Sequence) or not parts:
            raise RuntimeError("a join records what it joined")
        return find_node(session, chain, str(parts[-1]), hidden=True).local_id
