"""What the commands work with: the tree through the agent's rights, other trees, names of targets, hints."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar, assert_never

from sqlalchemy import select

from weft.commands import actions as v
from weft.commands import reply
from weft.commands.actions import Command
from weft.commands.catalog import CATALOG
from weft.commands.formatter import write_command
from weft.commands.lexer import CURSOR
from weft.commands.parse import cross_tree
from weft.commands.reply import called, document_outside, missing_node
from weft.context.agent_view.loom_block import HeadingFacts, heading
from weft.errors import (
    CrossTreeError,
    InvalidInputError,
    InvalidSyntaxError,
    NotFoundError,
)
from weft.ids import normalise_reference
from weft.runtime.contexts.linked_documents import LinkedDocuments, names_hint, not_crossing
from weft.runtime.contexts.loom_view import LoomView
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.permissions import trees_allowed
from weft.runtime.views.listings import tree_page
from weft.runtime.views.reader import Reader
from weft.store import schema
from weft.store.rows import NodeRow
from weft.tree.json_names import from_microseconds
from weft.tree.node import Node
from weft.tree.reference import Target, TargetKind

if TYPE_CHECKING:
    from weft.runtime.collaboration.commands.session import CommandSession
    from weft.runtime.operations.executor import Operation
    from weft.tree.document import Document
    from weft.tree.tree import Tree

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOutcome:
    """What a command came to."""

    text: str
    """The answer, as the model reads it."""
    detail: str = ""
    """What the trace adds: `2 results`."""
    nodes: tuple[str, ...] = ()
    """Local ids of what it made."""
    brief: str = ""
    """What the answer is about, for the case that it is too long."""


def unchanged(*facts: str) -> CommandOutcome:
    """What was so already, or not there to be changed: no failure, and nothing that was done."""
    return CommandOutcome(text=reply.unchanged(*facts), detail="nothing changed")


@dataclass(frozen=True, slots=True)
class CommandContext:
    """One command on the way."""

    session: "CommandSession"
    command: Command
    tree: str
    """The id of the tree that it is about: the session's, or another that it names."""
    _rows: dict[str, NodeRow] = field(default_factory=dict[str, NodeRow])

    @property
    def caller(self) -> Caller:
        return self.session.caller

    @property
    def read(self) -> Reader:
        return self.session.read

    @property
    def see(self) -> LoomView:
        return self.session.see

    @property
    def now(self) -> datetime:
        return from_microseconds(self.session.executor.clock())

    def perform(self, operation: "Operation[R]") -> tuple[R, bool]:
        """Do it; whether that changed anything."""
        return self.caller.perform_if_changed(operation)

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
            node = self.read.find(reference)
            title = self.read.tree(node.tree_id).title
            raise cross_tree(f"node [{node.local_id}]", self.flagged(tree=title)) from None

    def name(self, reference: str | None) -> str:
        """The local id."""
        return self.row(reference).local_id

    def node(self, reference: str) -> Node:
        return self.read.node(self.tree, self.row(reference).ulid)

    def local(self, ulid: str) -> str:
        """The local id of a node that is known to be there."""
        return self.see.row(self.tree, ulid).local_id

    def facts(self, nodes: "list[Node]") -> Mapping[str, HeadingFacts]:
        return self.see.facts(self.tree, [node.id for node in nodes])

    def heading(self, node: Node, facts: Mapping[str, HeadingFacts]) -> str:
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
        papers = LinkedDocuments(self.see.store, self.see.actor)
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
        papers = LinkedDocuments(self.see.store, self.see.actor)
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


_OWN = (
    v.PinCommand,
    v.RecallCommand,
    v.DropCommand,
    v.MemoryCommand,
    v.ThinkCommand,
    v.HelpCommand,
    v.ViewResultCommand,
)
_LISTED = 22


def reached_tree(session: "CommandSession", command: v.Command) -> str:
    """The id of the tree that a command is about."""
    if not command.crosses or (command.tree is not None and session.is_here(command.tree)):
        return session.tree_id
    if command.tree is not None and isinstance(command.action, _OWN):
        raise InvalidSyntaxError(
            f"{command.name} is about what you keep in mind in this tree",
            hint=f"→ {command.name} … without in tree:; → stash … content-of:ID in tree:… keeps a text of another",
        )
    if command.grove and not CATALOG[command.name].everywhere:
        raise InvalidSyntaxError(
            "in:grove is for searching and for documents", hint='in tree:"…" names another tree'
        )
    if not session.crossing:
        raise not_crossing("stay in this tree, or ask the human to let you leave it")
    return session.tree_id if command.tree is None else tree_named(session, command.tree).id


def tree_named(session: "CommandSession", reference: str) -> "Tree":
    """Any tree; where there is none of that name, who may leave theirs is told which there are."""
    try:
        return session.read.tree(reference)
    except NotFoundError as error:
        if not session.crossing:
            raise NotFoundError(error.message) from None
        listed = tree_page(session.read, limit=_LISTED)
        names = [each.title for each in listed if each.id != session.tree_id]
        raise NotFoundError(error.message, hint=names_hint(names, "there is no other tree")) from None


_nodes, _trees, _documents = schema.nodes, schema.trees, schema.documents


def names_of(see: LoomView, tree: str, targets: Collection[Target]) -> dict[Target, str]:
    """`[a7x2]`, `[a7x2] in tree:"…"`, `doc:"…"`, `tree:"…"`; what may not be looked at has no name."""
    names: dict[Target, str] = {}
    with see.store.read() as session:
        allowed = trees_allowed(session, see.actor)
        for target in targets:
            match target.kind:
                case TargetKind.NODE:
                    statement = (
                        select(_nodes.c.local_id, _trees.c.key, _trees.c.ulid, _trees.c.title)
                        .join(_trees, _trees.c.key == _nodes.c.tree)
                        .where(_nodes.c.ulid == target.id, _nodes.c.hidden.is_(None))
                    )
                case TargetKind.TREE:
                    statement = select(_trees.c.key, _trees.c.title).where(
                        _trees.c.ulid == target.id, _trees.c.hidden.is_(None)
                    )
                case TargetKind.DOCUMENT:
                    statement = select(_documents.c.title).where(
                        _documents.c.ulid == target.id, _documents.c.hidden.is_(None)
                    )
                case _:
                    assert_never(target.kind)
            row = session.execute(statement).one_or_none()
            if row is None:
                continue
            if target.kind is TargetKind.DOCUMENT:
                names[target] = called("doc", row.title)
            elif allowed is None or row.key in allowed:
                elsewhere = called("tree", row.title)
                if target.kind is TargetKind.TREE:
                    names[target] = elsewhere
                else:
                    names[target] = f"[{row.local_id}]" + ("" if row.ulid == tree else f" in {elsewhere}")
    return names
