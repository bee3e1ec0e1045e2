"""Making nodes from new words: append, annotate, merge."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from weft.errors import ConflictError, CrossTreeError, InvalidInputError, NotFoundError, PermissionDeniedError
from weft.ids import is_ulid
from weft.runtime.operations.cursors import commit_buffer, cursor_row, move_cursor, undo_cursor
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.node_writer import Draft, write_node
from weft.runtime.operations.scope import Scope
from weft.store.lookup import find_agent
from weft.store.rows import AGENT_TYPES, EDGE_TYPES, AgentRow, NodeRow, TreeState
from weft.store.tree_queries import find_nodes_anywhere
from weft.tree.agent import AgentType
from weft.tree.attempt import RawResponse
from weft.tree.content import Content, JsonValue, as_content
from weft.tree.edge import EdgeType, Source, SourceRole
from weft.tree.item import Item
from weft.tree.node import Node, Role, Status, role_of

Rows = Sequence[tuple[NodeRow, SourceRole]]


def source_row(scope: Scope, tree: TreeState, reference: str, verb: str) -> NodeRow:
    """A live node of this tree; one of another tree is told apart from one that is nowhere."""
    try:
        return scope.live_node(tree, reference, verb)
    except NotFoundError:
        if is_ulid(reference.strip().upper()):
            try:
                find_nodes_anywhere(scope.transaction, reference)
            except NotFoundError:
                pass
            else:
                raise CrossTreeError(
                    f"node {reference} is in another tree",
                    hint="an edge's sources lie in one tree; link the nodes instead",
                ) from None
        raise


def refuse_annotation(parent: NodeRow) -> None:
    """An annotation hangs beside the conversation, and nothing continues from it."""
    if EDGE_TYPES[parent.edge_type] is EdgeType.ANNOTATION:
        raise InvalidInputError(
            f"[{parent.local_id}] is an annotation: conversations do not continue from it",
            hint="annotate it, or continue from the node it is on",
        )


def extra_sources(
    scope: Scope, tree: TreeState, sources: Sequence[Source]
) -> list[tuple[NodeRow, SourceRole]]:
    return [(source_row(scope, tree, source.node, "use"), source.role) for source in sources]


def made_nodes(committed: Node | None, *nodes: Node) -> list[JsonValue]:
    """Ids of what an operation made, the committed buffer first."""
    return [node.id for node in (committed, *nodes) if node is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Append(Editing):
    """A new node under a node (at the cursor, if none is named)."""

    verb: ClassVar[str] = "append"
    tree: str
    content: str | Content
    parent: str | None = None
    sources: Sequence[Source] = ()
    attachments: Sequence[Item] = ()
    author: str | None = None
    role: Role | None = None
    """What follows from the author anyway; only a history may say otherwise."""
    status: Status = Status.COMPLETE
    response: RawResponse | None = None
    choice: int = 0

    def apply(self, scope: Scope) -> Node:
        tree = scope.open_tree(self.tree)
        before = undo_cursor(scope, tree)
        # Before anything else, and refused before that: the cursor is about to leave what was typed.
        named = None if self.parent is None else source_row(scope, tree, self.parent, "continue from")
        committed = commit_buffer(scope, tree)
        if named is None:
            parent = cursor_row(scope, tree)
            if not parent.live:
                raise ConflictError(
                    f"you stand at [{parent.local_id}], which is pruned", hint="switch to a live node first"
                )
        else:
            parent = named
        refuse_annotation(parent)
        extra = extra_sources(scope, tree, self.sources)
        author = self._author(scope)
        self._check_role(scope.agent if author is None else scope.transaction.agent(author))
        node, row = write_node(
            scope,
            tree,
            Draft(
                content=as_content(self.content),
                sources=((parent, SourceRole.PRIMARY), *extra),
                attachments=self.attachments,
                role=self.role,
                status=self.status,
                response=self.response,
                choice=self.choice,
                author=author,
            ),
        )
        move_cursor(scope, tree, row.key)
        made = made_nodes(committed, node)
        scope.record(
            tree,
            self.verb,
            {"nodes": made, "parent": parent.ulid},
            {"hide": made, "cursor": before, "buffer": None if committed is None else committed.id},
        )
        return node

    def _check_role(self, author: AgentRow) -> None:
        """Who speaks decides the role: nobody's words pass for the system's, a tool's or another's."""
        own = role_of(AGENT_TYPES[author.type])
        if self.role is not None and self.role is not own:
            raise InvalidInputError(
                f"what {author.name!r} says has the role {own}, not {self.role}",
                hint="leave the role out; only imported and proxied histories bring roles of their own",
            )

    def _author(self, scope: Scope) -> int | None:
        """Whoever acts; or a model, whose words the caller brings."""
        if self.author is None:
            return None
        key = find_agent(scope.transaction, self.author)
        row = scope.transaction.agent(key)
        if key == scope.actor.agent:
            return key
        people = all(
            AGENT_TYPES[scope.transaction.agent(link.agent).type] is AgentType.HUMAN
            for link in scope.actor.chain()
        )
        if AGENT_TYPES[row.type] is not AgentType.MODEL or row.archived_at is not None or not people:
            raise PermissionDeniedError(
                f"cannot write in the name of {row.name!r}", hint="act as that agent instead"
            )
        return key


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotate(Editing):
    """A note on a node; it stays out of contexts unless asked for."""

    verb: ClassVar[str] = "annotate"
    tree: str
    node: str
    content: str | Content

    def apply(self, scope: Scope) -> Node:
        tree = scope.open_tree(self.tree)
        target = source_row(scope, tree, self.node, "annotate")
        node, _ = write_node(
            scope,
            tree,
            Draft(
                content=as_content(self.content),
                sources=((target, SourceRole.PRIMARY),),
                edge_type=EdgeType.ANNOTATION,
            ),
        )
        scope.record(tree, self.verb, {"nodes": [node.id], "on": target.ulid}, {"hide": [node.id]})
        return node


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(Editing):
    """A new node that comes from several: its edge has sources at two positions or more."""

    verb: ClassVar[str] = "merge"
    tree: str
    nodes: Sequence[str]
    content: str | Content
    sources: Sequence[Source] = ()

    def apply(self, scope: Scope) -> Node:
        tree = scope.open_tree(self.tree)
        before = undo_cursor(scope, tree)
        rows = [source_row(scope, tree, reference, "merge") for reference in self.nodes]
        for row in rows:
            if EDGE_TYPES[row.edge_type] is EdgeType.ANNOTATION:
                raise InvalidInputError(f"[{row.local_id}] is an annotation", hint="merge the node it is on")
        if len({row.position for row in rows}) < 2:
            raise InvalidInputError("a merge needs two different places", hint="name at least two nodes")
        if len({row.position for row in rows}) < len(rows):
            raise InvalidInputError("a merge names a place twice", hint="name each node once")
        committed = commit_buffer(scope, tree)
        merged: Rows = [(row, SourceRole.PRIMARY) for row in rows]
        extra = extra_sources(scope, tree, self.sources)
        node, row = write_node(
            scope, tree, Draft(content=as_content(self.content), sources=(*merged, *extra))
        )
        move_cursor(scope, tree, row.key)
        made = made_nodes(committed, node)
        scope.record(
            tree,
            self.verb,
            {"nodes": made, "sources": [row.ulid for row in rows]},
            {"hide": made, "cursor": before, "buffer": None if committed is None else committed.id},
        )
        return node


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendHistory(Append):
    """A new node as an imported or proxied history has it: the role may be system's or a tool's.

    Recorded as any append, so that it is undone like one.
    """

    def _check_role(self, author: AgentRow) -> None:
        """Whatever the history says."""
