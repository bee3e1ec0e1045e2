"""Somebody who has a say in a continuation while it is being said: a collaborator's turn."""

from collections.abc import Sequence
from typing import Protocol

from weft.providers.base import Request
from weft.runtime.generating.hearing import Heard
from weft.runtime.generating.settling import Continuation
from weft.runtime.operations.scope import Scope
from weft.store.rows import NodeRow, TreeState

__all__ = ["Listener"]


class Listener(Protocol):
    """Hears the one continuation of a generation, and decides when it is enough and what becomes a node."""

    cursor: str | None
    """Where whoever asked stood in the beginning: only from there it goes on to what comes."""

    def begin(self, request: Request) -> None:
        """What is going to be asked now."""
        ...

    def hear(self, text: str) -> bool:
        """Some more words. True: no more are wanted."""
        ...

    def reply(self, heard: Heard, said: Sequence[Continuation]) -> list[Continuation]:
        """What of it becomes a node, now that it is over."""
        ...

    def note(self, scope: Scope, tree: TreeState, nodes: Sequence[NodeRow]) -> None:
        """What is to be written down with the end of the call, in its transaction."""
        ...
