"""Making nodes from new words: append, annotate, merge."""

from collections.abc import Sequence

from weft.errors import ConflictError, CrossTreeError, InvalidInputError, NotFoundError, PermissionDeniedError
from weft.ids import is_ulid
from weft.runtime.operations.cursors import commit_buffer, cursor_row, move_cursor, record_nodes
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.node_writer import Draft, write_node
from weft.runtime.operations.permissions import agent_for, trees_allowed
from weft.runtime.operations.scope import Scope
from weft.store.drafts import drop_draft
from weft.store.rows import AGENT_TYPES, EDGE_TYPES, AgentRow, NodeRow, TreeState
from weft.store.tree_queries import find_nodes_anywhere
from weft.tree.agent import AgentType
from weft.tree.attempt import RawResponse
from weft.tree.content import Content, as_content, is_tool_results
from weft.tree.edge import EdgeType, Source, SourceRole
from weft.tree.item import Item
from weft.tree.node import Node, Role, Status, role_of

Rows = Sequence[tuple[NodeRow, SourceRole]]


def source_row(scope: Scope, tree: TreeState, reference: str, verb: str) -> NodeRow:
    """A live node of this tree; the error says if the node is in another tree."""
    try:
        return scope.live_node(tree, reference, verb)
    except NotFoundError:
        if is_ulid(reference.strip().upper()):
            try:
                find_nodes_anywhere(
                    scope.transaction, reference, trees_allowed(scope.transaction, scope.actor)
                )
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


class Append(Editing, verb="append"):
    """A new node under a node (at the cursor, if none is named)."""

    tree: str
    content: str | Content
    parent: str | None = None
    sources: Sequence[Source] = ()
    attachments: Sequence[Item] = ()
    author: str | None = None
    role: Role | None = None
    """What follows from the author anyway; only a history and what tools gave may say otherwise."""
    status: Status = Status.COMPLETE
    response: RawResponse | None = None
    choice: int = 0
    draft: bool = False
    """Whether it was typed as the draft at its parent: that is gone with it."""

    def apply(self, scope: Scope) -> Node:
        tree = scope.open_tree(self.tree)
        named = None if self.parent is None else source_row(scope, tree, self.parent, "continue from")
        before = commit_buffer(scope, tree)
        if named is None:
            parent = cursor_row(scope, tree)
            if not parent.live:
                raise ConflictError(
                    f"your current node [{parent.local_id}] is pruned", hint="switch to a live node first"
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
        if self.draft:
            drop_draft(scope.transaction, tree.key, scope.actor.agent, parent.key)
        record_nodes(scope, tree, self.verb, before, [node], parent=parent.ulid)
        return node

    def _check_role(self, author: AgentRow) -> None:
        """Refuse a role that is not the author's own."""
        own = role_of(AGENT_TYPES[author.type])
        answers = self.role is Role.TOOL and is_tool_results(as_content(self.content))
        if self.role is not None and self.role is not own and not answers:
            raise InvalidInputError(
                f"what {author.name!r} says has the role {own}, not {self.role}",
                hint="leave the role out; only imported and proxied histories and results of tools have another",
            )

    def _author(self, scope: Scope) -> int | None:
        """The acting agent (None), or a model whose text the caller brings."""
        if self.author is None:
            return None
        key = agent_for(scope.transaction, scope.actor, self.author)
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


class Annotate(Editing, verb="annotate"):
    """A note on a node; it stays out of contexts unless asked for."""

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


class Merge(Editing, verb="merge"):
    """A new node that comes from several: its edge has sources at two positions or more."""

    tree: str
    nodes: Sequence[str]
    content: str | Content
    sources: Sequence[Source] = ()

    def apply(self, scope: Scope) -> Node:
        tree = scope.open_tree(self.tree)
        rows = [source_row(scope, tree, reference, "merge") for reference in self.nodes]
        for row in rows:
            if EDGE_TYPES[row.edge_type] is EdgeType.ANNOTATION:
                raise InvalidInputError(f"[{row.local_id}] is an annotation", hint="merge the node it is on")
        if len({row.position for row in rows}) < 2:
            raise InvalidInputError("a merge needs two different places", hint="name at least two nodes")
        if len({row.position for row in rows}) < len(rows):
            raise InvalidInputError("a merge names a place twice", hint="name each node once")
        before = commit_buffer(scope, tree)
        merged: Rows = [(row, SourceRole.PRIMARY) for row in rows]
        extra = extra_sources(scope, tree, self.sources)
        node, row = write_node(
            scope, tree, Draft(content=as_content(self.content), sources=(*merged, *extra))
        )
        move_cursor(scope, tree, row.key)
        record_nodes(scope, tree, self.verb, before, [node], sources=[row.ulid for row in rows])
        return node


class AppendHistory(Append):
    """A new node as an imported or proxied history has it: the role may be system's or a tool's.

    Recorded as any append, so that it is undone like one.
    """

    def _check_role(self, author: AgentRow) -> None:
        """A history brings roles of its own."""
