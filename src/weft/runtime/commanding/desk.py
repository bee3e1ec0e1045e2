"""What carrying out one command works with: the grove through the agent's rights, the tree, the command."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from weft.commands import reply
from weft.commands.actions import Command
from weft.commands.formatter import write_command
from weft.commands.lexer import CURSOR
from weft.commands.parse import cross_tree
from weft.commands.reply import document_outside, missing_node
from weft.context.loomaware.headings import NodeFacts, heading
from weft.errors import CrossTreeError, InvalidInputError
from weft.ids import normalise_reference
from weft.runtime.commanding.crossing import not_crossing
from weft.runtime.commanding.papers import Papers
from weft.runtime.commanding.seeing import Seeing
from weft.store.rows import NodeRow
from weft.tree.node import Node
from weft.tree.wire import from_microseconds

if TYPE_CHECKING:
    from weft.grove.grove import Grove
    from weft.runtime.commanding.session import Session
    from weft.runtime.operations.executor import Operation
    from weft.tree.document import Document

__all__ = ["Desk", "Outcome", "as_it_was"]

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a command came to."""

    text: str
    """The answer, as the model reads it."""
    detail: str = ""
    """What the trace adds: `2 results`."""
    nodes: tuple[str, ...] = ()
    """Local ids of what it made."""
    brief: str = ""
    """What the answer is about, for the case that it is too long."""


def as_it_was(*facts: str) -> Outcome:
    """What was so already, or not there to be changed: no failure, and nothing that was done."""
    return Outcome(text=reply.unchanged(*facts), detail="nothing changed")


@dataclass(frozen=True, slots=True)
class Desk:
    """One command on the way."""

    session: "Session"
    command: Command
    tree: str
    """The id of the tree that it is about: the session's, or another that it names."""
    _rows: dict[str, NodeRow] = field(default_factory=dict[str, NodeRow])

    @property
    def loom(self) -> "Grove":
        return self.session.loom

    @property
    def see(self) -> Seeing:
        return self.session.see

    @property
    def now(self) -> datetime:
        return from_microseconds(self.session.gate.clock())

    def perform(self, operation: "Operation[R]") -> tuple[R, bool]:
        """Do it; whether that changed anything."""
        return self.session.gate.perform_if_changed(self.loom.read.actor, operation)

    def row(self, reference: str | None) -> NodeRow:
        """The node that a reference names; without one, or with a dot, where the agent is."""
        if reference is None or reference == CURSOR:
            return self.see.row(self.tree, None)
        if reference not in self._rows:
            self._rows[reference] = self._find(reference)
        return self._rows[reference]

    def _find(self, reference: str) -> NodeRow:
        try:
            normalise_reference(reference)
        except InvalidInputError:
            raise missing_node(reference[:40]) from None
        try:
            return self.see.row(self.tree, reference)
        except CrossTreeError:
            node = self.loom.read.find(reference)
            title = self.loom.read.tree(node.tree_id).title
            raise cross_tree(f"node [{node.local_id}]", self.flagged(tree=title)) from None

    def name(self, reference: str | None) -> str:
        """The local id."""
        return self.row(reference).local_id

    def node(self, reference: str) -> Node:
        return self.loom.read.node(self.tree, self.row(reference).ulid)

    def local(self, ulid: str) -> str:
        """The local id of a node that is known to be there."""
        return self.see.row(self.tree, ulid).local_id

    def facts(self, nodes: "list[Node]") -> Mapping[str, NodeFacts]:
        return self.see.facts(self.tree, [node.id for node in nodes])

    def heading(self, node: Node, facts: Mapping[str, NodeFacts]) -> str:
        """The node's heading, and what else there is to know before one writes there."""
        marks = [
            word
            for word, is_so in (
                ("excluded", node.metadata.excluded),
                ("pruned", node.metadata.pruned),
                ("interrupted", node.status == "interrupted"),
            )
            if is_so
        ]
        return " · ".join([heading(facts[node.id], self.now), *marks])

    def flagged(self, *, tree: str | None = None) -> str:
        """The command as it would say that it leaves the tree."""
        return write_command(Command(self.command.name, self.command.action, tree, grove=tree is None))

    def document(self, reference: str) -> "Document":
        """A document that may be read here: linked to the tree or to a node of it, or with the flag."""
        papers = Papers(self.see.store, self.see.actor)
        with papers.telling_titles(self.tree):
            found, linked = papers.document_here(self.tree, reference)
        self._require_reach(found.title, linked=linked)
        return found

    def document_named(self, reference: str) -> tuple[str, str]:
        """The same for who only refers to one: its id and title."""
        name, title, linked = self.known_document(reference)
        self._require_reach(title, linked=linked)
        return name, title

    def known_document(self, reference: str) -> tuple[str, str, bool]:
        """Id and title of any document, and whether it is linked here."""
        papers = Papers(self.see.store, self.see.actor)
        with papers.telling_titles(self.tree):
            return papers.title_here(self.tree, reference)

    def _require_reach(self, title: str, *, linked: bool) -> None:
        if linked:
            return
        if not self.command.grove:
            raise document_outside(title, self.flagged())
        self.require_crossing()

    def require_crossing(self) -> None:
        """Leaving the tree takes an agent that may."""
        if not self.session.crossing:
            raise not_crossing("stay in this tree, or ask the human to let you leave it")
