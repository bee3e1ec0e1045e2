"""The words with which every loom-aware agent's system prompt ends."""

from collections.abc import Iterable

from weft.tree.agent import Permission

_ADDENDUM = """\
You are operating in a loom-aware context. This means:

- You are located within a tree structure of branching conversations
- Each node in the conversation shows metadata: [localId] author · time · connections
- System-level context at the end of each turn shows your position and permissions
- You can navigate, inspect, annotate, and create content using tool commands
- Tool commands start with → on their own line (e.g., → view a7x2)
- You share this workspace with human collaborators who see the same tree

Your current permissions: {permissions}
Use → help to see available commands."""


def addendum(permissions: Iterable[Permission]) -> str:
    """On every turn, of every loom-aware agent, and of no other: nothing detects a first time."""
    return _ADDENDUM.format(permissions=permissions_line(permissions))


def permissions_line(permissions: Iterable[Permission]) -> str:
    """Always in one order, so that equal permissions are equal texts."""
    granted = frozenset(permissions)
    return ", ".join(each for each in Permission if each in granted)
