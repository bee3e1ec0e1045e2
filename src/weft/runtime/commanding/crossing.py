"""Leaving the tree: who may, and which tree is meant."""

from typing import TYPE_CHECKING

from weft.commands import actions as v
from weft.errors import InvalidSyntaxError, NotFoundError, PermissionDeniedError
from weft.runtime.commanding.hinting import there_are
from weft.runtime.operations.node_values import agent_value
from weft.runtime.operations.permissions import Actor, agent_row
from weft.runtime.views.tree_list import shelved_trees
from weft.store.session import Session as Reader
from weft.tree.agent import AgentType

if TYPE_CHECKING:
    from weft.runtime.commanding.session import Session
    from weft.tree.tree import Tree

__all__ = ["CROSS_TREE", "may_cross", "not_crossing", "reached_tree", "tree_named"]

CROSS_TREE = "crossTree"
"""The setting of a model's agent that lets it leave its tree. People always may."""
_OWN = (v.Pin, v.Recall, v.Drop, v.Memory, v.Think, v.Help, v.ViewResult)
_LISTED = 22
_GROVE_WIDE = (v.Search, v.Read, v.Write, v.Pin, v.Attach)


def may_cross(session: Reader, actor: Actor) -> bool:
    """Whether every agent in the chain may leave the tree it works in."""
    for link in actor.chain():
        agent = agent_value(agent_row(session, link.agent))
        if agent.type is not AgentType.HUMAN and agent.configuration.custom.get(CROSS_TREE) is not True:
            return False
    return True


def not_crossing(hint: str) -> PermissionDeniedError:
    return PermissionDeniedError("crossTree not enabled", hint=hint)


def reached_tree(session: "Session", command: v.Command) -> str:
    """The id of the tree that a command is about."""
    if not command.crosses or (command.tree is not None and session.is_here(command.tree)):
        return session.tree_id
    if command.tree is not None and isinstance(command.action, _OWN):
        raise InvalidSyntaxError(
            f"{command.name} is about what you keep in mind in this tree",
            hint=f"→ {command.name} … without in tree:; → stash … content-of:ID in tree:… keeps a text of another",
        )
    if command.grove and not isinstance(command.action, _GROVE_WIDE):
        raise InvalidSyntaxError(
            "in:grove is for searching and for documents", hint='in tree:"…" names another tree'
        )
    if not session.crossing:
        raise not_crossing("stay in this tree, or ask the human to let you leave it")
    return session.tree_id if command.tree is None else tree_named(session, command.tree).id


def tree_named(session: "Session", reference: str) -> "Tree":
    """Any tree; where there is none of that name, who may leave theirs is told which there are."""
    try:
        return session.loom.read.tree(reference)
    except NotFoundError as error:
        if not session.crossing:
            raise NotFoundError(error.message) from None
        listed = shelved_trees(session.loom.read, limit=_LISTED)
        names = [each.title for each in listed if each.id != session.tree_id]
        raise NotFoundError(error.message, hint=there_are(names, "there is no other tree")) from None
