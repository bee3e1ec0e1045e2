"""Making nodes from what is there: edit, erase, split, join."""

from collections.abc import Iterator, Sequence

from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, NotFoundError
from weft.runtime.operations.cursors import (
    commit_buffer,
    cursor_row,
    move_cursor,
    record_nodes,
    select_version,
    selected_version,
)
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.node_values import contents_of, items_of, sources_of
from weft.runtime.operations.node_writer import Draft, Written, write_node
from weft.runtime.operations.nodes import Rows, extra_sources, source_row
from weft.runtime.operations.scope import Scope
from weft.store.path_queries import ancestor_at_depth, walk_up
from weft.store.rows import EDGE_TYPES, ROLES, NodeRow, TreeState
from weft.store.tree_queries import children, resolve, selections_of
from weft.tree.content import Content, Text, as_content, spoken_text
from weft.tree.edge import EdgeType, Source, SourceRole
from weft.tree.json import JsonObject, JsonValue
from weft.tree.node import Node
from weft.tree.tree import Mode


class Edit(Editing, verb="edit"):
    """A new text for a node: a branch in dialogue, a version in place in a buffer.

    Author is who edits; the role stays the original's, so that a corrected answer
    remains an answer. Attachments and extra sources come along, unless others are given.
    """

    tree: str
    node: str
    content: str | Content
    sources: Sequence[Source] | None = None

    def apply(self, scope: Scope) -> Node:
        tree = scope.open_tree(self.tree)
        original = source_row(scope, tree, self.node, "edit")
        if original.parent is None and tree.mode is Mode.DIALOGUE:
            raise InvalidInputError(
                f"[{original.local_id}] is the root: a branch beside it would be a second root",
                hint=Hint(HintKind.SAY_BELOW),
            )
        before = commit_buffer(scope, tree)
        sources = self._sources(scope, tree, original)
        node, row = _rewrite(scope, tree, original, as_content(self.content), sources)
        selection = None
        if tree.mode is Mode.BUFFER:
            selection = _see(scope, tree, row)
        elif EDGE_TYPES[row.edge_type] is EdgeType.CONTINUATION:
            move_cursor(scope, tree, row.key)
        undo: JsonObject = {"selection": selection}
        record_nodes(scope, tree, self.verb, before, [node], undo=undo, of=original.ulid)
        return node

    def _sources(self, scope: Scope, tree: TreeState, original: NodeRow) -> Rows:
        own = _sources_now(scope, tree, original)
        if self.sources is None:
            return own
        extra = extra_sources(scope, tree, self.sources)
        if not own:
            if extra:
                raise InvalidInputError(
                    f"[{original.local_id}] is the root: it has no sources",
                    hint="give the sources to a node below it",
                )
            return own
        parent = next(row for row, role in own if role is SourceRole.PRIMARY)
        return ((parent, SourceRole.PRIMARY), *extra)


def _sources_now(scope: Scope, tree: TreeState, original: NodeRow) -> Rows:
    """The original's sources, written after what the editor sees at each primary one's place now."""
    if original.parent is None:
        return ()
    written = sources_of(scope.transaction, tree.key, [original])[original.key]
    rows = [(scope.transaction.node(tree.key, key), role) for key, role in written]
    if EDGE_TYPES[original.edge_type] is EdgeType.ANNOTATION:
        return rows
    return [
        (selected_version(scope, tree, row), role) if role is SourceRole.PRIMARY else (row, role)
        for row, role in rows
    ]


def _rewrite(scope: Scope, tree: TreeState, original: NodeRow, content: Content, sources: Rows) -> Written:
    """The original with other content: a version in a buffer, a branch in dialogue."""
    scope.refuse_if_leased(tree, original.position)
    return write_node(
        scope,
        tree,
        Draft(
            content=content,
            sources=sources,
            edge_type=EDGE_TYPES[original.edge_type],
            edited_from=original,
            version_of=original if tree.mode is Mode.BUFFER else None,
            attachments=items_of(scope.transaction, tree.key, [original]).get(original.key, ()),
            role=ROLES[original.role],
        ),
    )


def _see(scope: Scope, tree: TreeState, row: NodeRow) -> JsonObject:
    """Select the new version for the editor; its cursor moves there from an older version."""
    selection = select_version(scope, tree, row)
    if cursor_row(scope, tree).position == row.position:
        move_cursor(scope, tree, row.key)
    return selection


class Erase(Editing, verb="erase"):
    """Delete a stretch of a buffer's document, from where the cursor's path begins, by editing each node.

    Offsets count characters of the committed text from the root to the cursor.
    """

    tree: str
    start: int
    end: int

    def apply(self, scope: Scope) -> list[Node]:
        tree = scope.open_tree(self.tree)
        if tree.mode is not Mode.BUFFER:
            raise InvalidInputError(
                "only a buffer is one text", hint="edit the nodes of a dialogue one by one"
            )
        before = commit_buffer(scope, tree)
        transaction = scope.transaction
        walked = walk_up(transaction, tree.key, cursor_row(scope, tree).position)
        path = resolve(transaction, tree.key, walked, selections_of(transaction, tree.key, scope.actor.agent))
        texts = contents_of(transaction, tree.key, path)
        length = sum(len(spoken_text(texts[row.key][0])) for row in path)
        if not 0 <= self.start < self.end <= length:
            raise InvalidInputError(
                f"{self.start} to {self.end} is not a range of the document",
                hint=f"it has {length} characters",
            )
        offset = 0
        edited: list[Node] = []
        selections: list[JsonValue] = []
        for row in path:
            content = texts[row.key][0]
            text = spoken_text(content)
            low, high = max(self.start - offset, 0), min(self.end - offset, len(text))
            offset += len(text)
            if low >= high:
                continue
            if not isinstance(content, Text):
                raise InvalidInputError(f"[{row.local_id}] is not plain text", hint="edit it instead")
            node, new = _rewrite(
                scope, tree, row, Text(text[:low] + text[high:]), _sources_now(scope, tree, row)
            )
            selections.append(_see(scope, tree, new))
            edited.append(node)
        record_nodes(scope, tree, self.verb, before, edited, undo={"selections": selections})
        return edited


class Split(Editing, verb="split"):
    """Two nodes beside the original, which keeps its downstream.

    `at` is an offset, or a text that the second half begins with.
    """

    tree: str
    node: str
    at: int | str

    def apply(self, scope: Scope) -> tuple[Node, Node]:
        tree = scope.open_tree(self.tree)
        original = _branchable(scope, tree, self.node, "split")
        text = _text_of(scope, tree, original)
        offset = self._offset(text, original)
        before = commit_buffer(scope, tree)
        first, first_row = _write_beside(scope, tree, original, text[:offset])
        second, second_row = write_node(
            scope,
            tree,
            Draft(
                content=Text(text[offset:]),
                sources=((first_row, SourceRole.PRIMARY),),
                edited_from=original,
                role=ROLES[original.role],
            ),
        )
        move_cursor(scope, tree, second_row.key)
        record_nodes(scope, tree, self.verb, before, [first, second], of=original.ulid)
        return first, second

    def _offset(self, text: str, original: NodeRow) -> int:
        offset = self.at
        if isinstance(offset, str):
            index = text.find(offset) if offset else -1
            if index < 0:
                raise NotFoundError(f"[{original.local_id}] does not contain {offset[:60]!r}")
            if text.find(offset, index + 1) >= 0:
                raise InvalidInputError(
                    f"{offset[:60]!r} is in [{original.local_id}] more than once",
                    hint=Hint(HintKind.QUOTE_MORE),
                )
            offset = index
        if not 0 < offset < len(text):
            raise InvalidInputError(
                f"cannot split [{original.local_id}] at {offset}: one half would be empty",
                hint=Hint(HintKind.OFFSET, last=str(len(text) - 1)),
            )
        return offset


class Join(Editing, verb="join"):
    """A node and what follows it as one new node beside it; the original keeps its downstream.

    What follows is the named continuation, else the one on the cursor's path, else the only one.
    """

    tree: str
    node: str
    following: str | None = None

    def apply(self, scope: Scope) -> Node:
        tree = scope.open_tree(self.tree)
        original = _branchable(scope, tree, self.node, "join")
        following = self._following(scope, tree, original)
        if tree.mode is Mode.DIALOGUE and following.role != original.role:
            raise InvalidInputError(
                f"[{original.local_id}] is {ROLES[original.role]}'s and [{following.local_id}] "
                f"{ROLES[following.role]}'s: they cannot be one message"
            )
        text = _text_of(scope, tree, original) + _text_of(scope, tree, following)
        before = commit_buffer(scope, tree)
        node, row = _write_beside(scope, tree, original, text, following)
        move_cursor(scope, tree, row.key)
        record_nodes(scope, tree, self.verb, before, [node], of=[original.ulid, following.ulid])
        return node

    def _following(self, scope: Scope, tree: TreeState, original: NodeRow) -> NodeRow:
        below = children(scope.transaction, tree.key, original.position)
        if self.following is not None:
            row = source_row(scope, tree, self.following, "join")
            if row.position not in {child.position for child in below}:
                raise InvalidInputError(f"[{row.local_id}] does not follow [{original.local_id}]")
            return row
        places = {child.position for child in below}
        if not places:
            raise NotFoundError(f"nothing follows [{original.local_id}]")
        at = cursor_row(scope, tree)
        if at.depth > original.depth:
            onward = ancestor_at_depth(scope.transaction, tree.key, at.position, original.depth + 1)
            if onward in places:
                places = {onward}
        if len(places) > 1:
            names = sorted({child.local_id for child in below})[:6]
            raise InvalidInputError(
                f"several nodes follow [{original.local_id}]",
                hint=Hint(HintKind.NAME_ONE, names=", ".join(names), first=names[0]),
            )
        return selected_version(scope, tree, scope.transaction.node(tree.key, places.pop()))


def _branchable(scope: Scope, tree: TreeState, reference: str, verb: str) -> NodeRow:
    row = source_row(scope, tree, reference, verb)
    if row.parent is None:
        raise InvalidInputError(f"[{row.local_id}] is the root: a branch beside it would be a second root")
    if EDGE_TYPES[row.edge_type] is EdgeType.ANNOTATION:
        raise InvalidInputError(f"[{row.local_id}] is an annotation", hint="edit it instead")
    return row


def _text_of(scope: Scope, tree: TreeState, row: NodeRow) -> str:
    content, _ = contents_of(scope.transaction, tree.key, [row])[row.key]
    if not isinstance(content, Text):
        raise InvalidInputError(f"[{row.local_id}] is not plain text", hint="edit it instead")
    return content.text


def _write_beside(
    scope: Scope, tree: TreeState, original: NodeRow, text: str, following: NodeRow | None = None
) -> Written:
    """A branch at the original's parent, in both modes.

    What is joined to it brings its items and its further sources along; its own parent is
    the original, whose text is in the new node already.
    """
    rows = [original] if following is None else [original, following]
    attached = items_of(scope.transaction, tree.key, rows)
    items = {item.id: item for row in rows for item in attached.get(row.key, ())}
    sources = list(_sources_now(scope, tree, original))
    if following is not None:
        sources.extend(_further(scope, tree, following, {(row.position, role) for row, role in sources}))
    return write_node(
        scope,
        tree,
        Draft(
            content=Text(text),
            sources=sources,
            edited_from=original,
            joined=following is not None,
            attachments=tuple(items.values()),
            role=ROLES[original.role],
        ),
    )


def _further(
    scope: Scope, tree: TreeState, following: NodeRow, known: set[tuple[int, SourceRole]]
) -> Iterator[tuple[NodeRow, SourceRole]]:
    """A node's sources but its parent and those known already."""
    for row, role in _sources_now(scope, tree, following):
        place = row.position, role
        if place not in known and place != (following.parent, SourceRole.PRIMARY):
            yield row, role
            known.add(place)
