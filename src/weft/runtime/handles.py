"""Trees, nodes and documents that one can do things with."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn, Unpack

from weft.errors import InvalidInputError
from weft.runtime.layered import LayeredNode, LayeredTree
from weft.runtime.operations.collapsed_ranges import Collapse, Expand, Uncollapse
from weft.runtime.operations.cursors import CommitBuffer, Direction, Switch, TypeText
from weft.runtime.operations.documents import ArchiveDocument, DeleteDocument, SaveDocument
from weft.runtime.operations.edits import Edit, Erase, Join, Split
from weft.runtime.operations.metadata import Bookmark, Exclude, Include, Prune, Restore, Unbookmark
from weft.runtime.operations.nodes import Annotate, Append, Merge
from weft.runtime.operations.trees import Archive, DeleteTree, Describe, Unarchive
from weft.runtime.speaking import DocumentSpeaking, NodeSpeaking, TreeSpeaking
from weft.runtime.undo.undo import Redo, Undo
from weft.tree.attempt import RawResponse
from weft.tree.authorship import Span
from weft.tree.content import Content, JsonValue
from weft.tree.document import Document, Revision, section_of, with_section
from weft.tree.edge import Source, SourceRole
from weft.tree.history import Happening, Stepped
from weft.tree.item import Item
from weft.tree.node import Metadata, Node, Role, Status
from weft.tree.path import Path
from weft.tree.reference import Group
from weft.tree.tree import Counters, Mode, Tree

if TYPE_CHECKING:
    from weft.context.manifest import Manifest
    from weft.context.result import AssembledContext
    from weft.provenance.report import Report
    from weft.runtime.contexts.assembler import ContextWishes
    from weft.runtime.evidence import ProvenanceHandle
    from weft.runtime.grove import Grove
    from weft.runtime.search.results import Hits
    from weft.tree.difference import Difference
    from weft.tree.progress import Progress

__all__ = ["DocumentHandle", "NodeHandle", "TreeHandle"]


class NodeHandle(LayeredNode, NodeSpeaking):
    """One node of a tree. The content never changes; metadata is as it was when looked at."""

    __slots__ = ("_grove", "value")

    def __init__(self, grove: "Grove", value: Node) -> None:
        self._grove = grove
        self.value = value

    def __repr__(self) -> str:
        text = " ".join(self.text.split())
        shown = text if len(text) <= 50 else text[:49] + "…"
        marks = "".join(
            f" {mark}"
            for mark in ("excluded", "pruned", "bookmarked", "hidden")
            if getattr(self.metadata, mark)
        )
        return f"<Node [{self.local_id}] {self.value.author_type}{marks} {shown!r}>"

    def _repr_html_(self) -> str:
        from weft.runtime.views.html import node_html  # noqa: PLC0415 - only notebooks need it

        return node_html(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeHandle) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def id(self) -> str:
        return self.value.id

    @property
    def local_id(self) -> str:
        return self.value.local_id

    @property
    def text(self) -> str:
        return self.value.text

    @property
    def content(self) -> Content:
        return self.value.content

    @property
    def role(self) -> Role:
        return self.value.role

    @property
    def depth(self) -> int:
        return self.value.depth

    @property
    def metadata(self) -> Metadata:
        return self.value.metadata

    @property
    def tree(self) -> "TreeHandle":
        return self._grove.tree(self.value.tree_id)

    @property
    def path(self) -> Path:
        """Root to here."""
        return self._grove.read.path(self.value.tree_id, self.id)

    def head(self, count: int) -> Path:
        """The first nodes of the path to here."""
        return self._grove.read.path(self.value.tree_id, self.id, head=count)

    def tail(self, count: int) -> Path:
        """The last nodes of the path to here."""
        return self._grove.read.path(self.value.tree_id, self.id, tail=count)

    @property
    def children(self) -> list["NodeHandle"]:
        return self._wrap(self._grove.read.children(self.value.tree_id, self.id))

    @property
    def siblings(self) -> list["NodeHandle"]:
        """The continuations of the parent, this one among them."""
        return self._wrap(self._grove.read.siblings(self.value.tree_id, self.id))

    @property
    def annotations(self) -> list["NodeHandle"]:
        return self._wrap(self._grove.read.children(self.value.tree_id, self.id, annotations=True))

    @property
    def versions(self) -> list["NodeHandle"]:
        """All nodes at this position; in dialogue only this one."""
        return self._wrap(self._grove.read.versions(self.value.tree_id, self.id))

    @property
    def authorship(self) -> tuple[Span, ...]:
        """Who wrote which characters, through all edits."""
        return self._grove.read.authorship(self.value.tree_id, self.id)

    def refresh(self) -> "NodeHandle":
        """The node with its metadata as it is now."""
        return NodeHandle(self._grove, self._grove.read.node(self.value.tree_id, self.id))

    def say(
        self,
        content: str | Content,
        *,
        context: Sequence["NodeHandle | str"] = (),
        instructions: Sequence["NodeHandle | str"] = (),
        attachments: Sequence[Item] = (),
        author: str | None = None,
        role: Role | None = None,
        status: Status = Status.COMPLETE,
        response: RawResponse | None = None,
    ) -> "NodeHandle":
        """A new node under this one."""
        operation = Append(
            tree=self.value.tree_id,
            parent=self.id,
            content=content,
            sources=_sources(context, instructions),
            attachments=attachments,
            author=author,
            role=role,
            status=status,
            response=response,
        )
        return NodeHandle(self._grove, self._grove.perform(operation))

    def edit(self, content: str | Content) -> "NodeHandle":
        """A new text: a branch in dialogue, a version in place in a buffer."""
        operation = Edit(tree=self.value.tree_id, node=self.id, content=content)
        return NodeHandle(self._grove, self._grove.perform(operation))

    def annotate(self, content: str | Content) -> "NodeHandle":
        operation = Annotate(tree=self.value.tree_id, node=self.id, content=content)
        return NodeHandle(self._grove, self._grove.perform(operation))

    def merge(self, *others: "NodeHandle | str", content: str | Content) -> "NodeHandle":
        """A new node that comes from this and others."""
        nodes = [self.id, *(_reference(other) for other in others)]
        operation = Merge(tree=self.value.tree_id, nodes=nodes, content=content)
        return NodeHandle(self._grove, self._grove.perform(operation))

    def split(self, at: int | str) -> tuple["NodeHandle", "NodeHandle"]:
        """Two halves as a branch beside this node; `at` is an offset or the second half's first words."""
        first, second = self._grove.perform(Split(tree=self.value.tree_id, node=self.id, at=at))
        return NodeHandle(self._grove, first), NodeHandle(self._grove, second)

    def join(self, following: "NodeHandle | str | None" = None) -> "NodeHandle":
        """One node of this and the one that follows it, beside it."""
        reference = None if following is None else _reference(following)
        operation = Join(tree=self.value.tree_id, node=self.id, following=reference)
        return NodeHandle(self._grove, self._grove.perform(operation))

    def exclude(self) -> "NodeHandle":
        self._grove.perform(Exclude(tree=self.value.tree_id, node=self.id))
        return self.refresh()

    def include(self) -> "NodeHandle":
        self._grove.perform(Include(tree=self.value.tree_id, node=self.id))
        return self.refresh()

    def bookmark(self, label: str | None = None) -> "NodeHandle":
        self._grove.perform(Bookmark(tree=self.value.tree_id, node=self.id, label=label))
        return self.refresh()

    def unbookmark(self) -> "NodeHandle":
        self._grove.perform(Unbookmark(tree=self.value.tree_id, node=self.id))
        return self.refresh()

    def prune(self) -> int:
        """Hide this node and all below it; how many went."""
        return self._grove.perform(Prune(tree=self.value.tree_id, node=self.id))

    def restore(self) -> int:
        """Bring back exactly what one prune hid; how many came."""
        return self._grove.perform(Restore(tree=self.value.tree_id, node=self.id))

    def verify(self, *, path: bool = False, progress: "Progress | None" = None) -> "Report":
        """Whether this node (with `path`: and all it was written from) is as it was written."""
        return self._grove.evidence.verify_node(self.value.tree_id, self.id, path=path, progress=progress)

    def provenance(self) -> "ProvenanceHandle":
        """Where this node comes from, with the evidence."""
        from weft.runtime.evidence import ProvenanceHandle  # noqa: PLC0415 - only who asks needs it

        evidence = self._grove.evidence
        return ProvenanceHandle(evidence, evidence.provenance(self.value.tree_id, self.id))

    def timestamp(self, *authorities: str) -> list[str]:
        """Ask for this node's hash to be certified, by all of the grove's authorities or by these."""
        from weft.runtime.operations.timestamps import RequestTimestamp  # noqa: PLC0415

        operation = RequestTimestamp(tree=self.value.tree_id, node=self.id, authorities=authorities)
        return self._grove.perform(operation)

    def context(self, **wishes: "Unpack[ContextWishes]") -> "AssembledContext":
        """Exactly what a model would see here, with a reason for everything that it would not.

        `limit` (tokens) or `window` and `max_tokens`, `strategy`, `step`, `agent` (who would
        answer), `text` (not a node yet), `context` and `instructions` (further sources),
        `annotations`, `estimator`, `preferences`; see `ContextWishes`.
        """
        from weft.runtime.contexts.assembler import (  # noqa: PLC0415 - the engine is loaded by who asks it
            options_from,
        )

        return self._grove.contexts.at(self.value.tree_id, self.id, options_from(wishes))

    def manifest(self, **wishes: "Unpack[ContextWishes]") -> "Manifest":
        """What a model would and would not see here; the same wishes as for `context`, but no texts are read."""
        from weft.runtime.contexts.assembler import options_from  # noqa: PLC0415

        return self._grove.contexts.manifest(self.value.tree_id, self.id, options_from(wishes))

    def diff(self, other: "NodeHandle | str", *, paths: bool = False) -> "Difference":
        """Where the two paths part, and what the texts do not share; with `paths`, of all that follows."""
        from weft.runtime.views.comparison import Comparing  # noqa: PLC0415 - few calls compare

        read = self._grove.read
        return Comparing(read.store, read.actor).nodes(
            self.value.tree_id, self.id, _reference(other), paths=paths
        )

    def switch(self) -> "NodeHandle":
        """Stand here."""
        self._grove.perform(Switch(tree=self.value.tree_id, to=self.id))
        return self

    def _wrap(self, nodes: Sequence[Node]) -> list["NodeHandle"]:
        return [NodeHandle(self._grove, node) for node in nodes]


class TreeHandle(LayeredTree, TreeSpeaking):
    """One tree. Numbers and titles are as they were when it was looked at."""

    __slots__ = ("_grove", "value")

    def __init__(self, grove: "Grove", value: Tree) -> None:
        self._grove = grove
        self.value = value

    def __repr__(self) -> str:
        counters = self.counters
        return (
            f"<Tree {self.title!r} ({self.mode} mode) {counters.nodes} nodes · "
            f"{counters.branches} branches · depth {counters.depth}>"
        )

    def _repr_html_(self) -> str:
        from weft.runtime.views.html import outline_html  # noqa: PLC0415 - only notebooks need it

        return outline_html(self.value, self._grove.read.outline(self.id, limit=500))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeHandle) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def id(self) -> str:
        return self.value.id

    @property
    def title(self) -> str:
        return self.value.title

    @property
    def mode(self) -> Mode:
        return self.value.mode

    @property
    def counters(self) -> Counters:
        return self.value.counters

    @property
    def root(self) -> NodeHandle:
        return self.node(self.value.root)

    @property
    def cursor(self) -> NodeHandle:
        """The node you stand at."""
        return self.node(self._grove.read.cursor(self.id).node_id)

    @property
    def path(self) -> Path:
        """Root to where you stand."""
        return self._grove.read.path(self.id)

    @property
    def leaves(self) -> list[NodeHandle]:
        return [NodeHandle(self._grove, node) for node in self._grove.read.leaves(self.id)]

    @property
    def branch_points(self) -> list[NodeHandle]:
        return [NodeHandle(self._grove, node) for node in self._grove.read.branch_points(self.id)]

    @property
    def groups(self) -> list[Group]:
        return self._grove.read.groups(self.id)

    @property
    def working_buffer(self) -> str:
        """Your uncommitted text at the document's end."""
        return self._grove.read.working_buffer(self.id)

    @property
    def text(self) -> str:
        """The document to where you stand, uncommitted text included."""
        return self.path.text + self.working_buffer

    def node(self, reference: str) -> NodeHandle:
        """A node by local id, ULID or unambiguous prefix."""
        return NodeHandle(self._grove, self._grove.read.node(self.id, reference))

    def __getitem__(self, reference: str) -> NodeHandle:
        return self.node(reference)

    def __iter__(self) -> NoReturn:
        raise TypeError("a tree is not a sequence: use .path, .leaves or .node(…)")

    def refresh(self) -> "TreeHandle":
        return self._grove.tree(self.id)

    def say(
        self,
        content: str | Content,
        *,
        context: Sequence[NodeHandle | str] = (),
        instructions: Sequence[NodeHandle | str] = (),
        attachments: Sequence[Item] = (),
        author: str | None = None,
        response: RawResponse | None = None,
    ) -> NodeHandle:
        """A new node where you stand; you stand at it afterwards."""
        operation = Append(
            tree=self.id,
            content=content,
            sources=_sources(context, instructions),
            attachments=attachments,
            author=author,
            response=response,
        )
        return NodeHandle(self._grove, self._grove.perform(operation))

    def context(self, **wishes: "Unpack[ContextWishes]") -> "AssembledContext":
        """What a model would see where you stand, uncommitted text included."""
        from weft.runtime.contexts.assembler import (  # noqa: PLC0415 - the engine is loaded by who asks it
            options_from,
        )

        return self._grove.contexts.at(self.id, None, options_from(wishes))

    def prefer(self, **settings: "JsonValue") -> "TreeHandle":
        """Set this tree's preferences (`truncation_strategy`, …); None leaves one to the grove again."""
        from weft.runtime.operations.settings import PreferInTree  # noqa: PLC0415

        self._grove.perform(PreferInTree(tree=self.id, settings=settings))
        return self.refresh()

    def merge(self, nodes: Sequence[NodeHandle | str], content: str | Content) -> NodeHandle:
        operation = Merge(tree=self.id, nodes=[_reference(node) for node in nodes], content=content)
        return NodeHandle(self._grove, self._grove.perform(operation))

    def switch(self, to: "NodeHandle | Direction | str") -> NodeHandle:
        """Stand at a node, or go one step: next, previous, parent, child, leaf."""
        target = to.id if isinstance(to, NodeHandle) else str(to)
        directions = {direction.value: direction for direction in Direction}
        return self.node(self._grove.perform(Switch(tree=self.id, to=directions.get(target, target))))

    def type(self, text: str) -> None:
        """Keep uncommitted text at the document's end."""
        self._grove.perform(TypeText(tree=self.id, text=text))

    def erase(self, start: int, end: int) -> list[NodeHandle]:
        """Delete characters start to end of the document, by editing each node they lie in."""
        nodes = self._grove.perform(Erase(tree=self.id, start=start, end=end))
        return [NodeHandle(self._grove, node) for node in nodes]

    def commit(self) -> NodeHandle | None:
        """Make a node of the uncommitted text."""
        node = self._grove.perform(CommitBuffer(tree=self.id))
        return None if node is None else NodeHandle(self._grove, node)

    def collapse(
        self, first: NodeHandle | str, last: NodeHandle | str, name: str, description: str = ""
    ) -> Group:
        operation = Collapse(
            tree=self.id,
            first=_reference(first),
            last=_reference(last),
            name=name,
            description=description,
        )
        return self._grove.perform(operation)

    def expand(self, name: str) -> None:
        self._grove.perform(Expand(tree=self.id, name=name))

    def uncollapse(self, name: str) -> None:
        self._grove.perform(Uncollapse(tree=self.id, name=name))

    def describe(
        self,
        *,
        title: str | None = None,
        description: str | None = None,
        system_context: str | None = None,
        buffer_mode_system_context: bool | None = None,
        preferences: Mapping[str, JsonValue] | None = None,
    ) -> "TreeHandle":
        """Change what is said about the tree; what is not given stays."""
        described = Describe(
            tree=self.id,
            title=title,
            description=description,
            system_context=system_context,
            buffer_mode_system_context=buffer_mode_system_context,
            preferences=preferences,
        )
        return TreeHandle(self._grove, self._grove.perform(described))

    def verify(self, progress: "Progress | None" = None) -> "Report":
        """Whether all of this tree is as it was written."""
        return self._grove.evidence.verify_tree(self.id, progress)

    def search(
        self,
        query: str,
        *,
        author: str | None = None,
        bookmarked: bool = False,
        everything: bool = False,
        limit: int = 20,
        offset: int = 0,
    ) -> "Hits":
        """Find what has these words in this tree; the grove's search can be narrowed further."""
        return self._grove.search(
            query,
            tree=self.id,
            author=author,
            bookmarked=bookmarked,
            everything=everything,
            limit=limit,
            offset=offset,
        )

    def archive(self) -> None:
        self._grove.perform(Archive(tree=self.id))

    def unarchive(self) -> None:
        self._grove.perform(Unarchive(tree=self.id))

    def undo(self, steps: int = 1) -> list[Stepped]:
        """Take back your own last operations in this tree; a conflict if others have built on them."""
        return self._grove.perform(Undo(tree=self.id, steps=steps))

    def redo(self, steps: int = 1) -> list[Stepped]:
        """Do again what you have undone since your last operation here."""
        return self._grove.perform(Redo(tree=self.id, steps=steps))

    def history(
        self, limit: int = 50, *, before: int | None = None, agent: str | None = None
    ) -> list[Happening]:
        """What was done here, by whom and when, oldest first; undone operations are marked."""
        return self._grove.read.history(self.id, limit=limit, before=before, agent=agent)

    @property
    def hidden(self) -> list[NodeHandle]:
        """Nodes whose making was undone: not lost, and in no other reading."""
        return [NodeHandle(self._grove, node) for node in self._grove.read.hidden(self.id)]

    def delete(self, *, confirm: str) -> int:
        """Destroy the tree for good; `confirm` must be its id."""
        return self._grove.perform(DeleteTree(tree=self.id, confirm=confirm))


class DocumentHandle(DocumentSpeaking):
    """One document at one revision."""

    __slots__ = ("_grove", "value")

    def __init__(self, grove: "Grove", value: Document) -> None:
        self._grove = grove
        self.value = value

    def __repr__(self) -> str:
        return f"<Document {self.title!r} revision {self.revision}>"

    @property
    def id(self) -> str:
        return self.value.id

    @property
    def title(self) -> str:
        return self.value.title

    @property
    def text(self) -> str:
        return self.value.content

    @property
    def revision(self) -> int:
        return self.value.revision

    def section(self, name: str) -> str:
        """A heading with what follows it, by slug or heading."""
        found = section_of(self.text, name)
        return self.text[found.start : found.end]

    def save(self, content: str | None = None, *, title: str | None = None) -> "DocumentHandle":
        """A new revision; a conflict if somebody saved since this one."""
        operation = SaveDocument(document=self.id, revision=self.revision, content=content, title=title)
        return DocumentHandle(self._grove, self._grove.perform(operation))

    def save_section(self, name: str, content: str) -> "DocumentHandle":
        """Write one section anew; its heading stays, unless the text brings one."""
        return self.save(with_section(self.text, name, content))

    def revisions(self) -> list[Revision]:
        """Every save, the latest first."""
        return self._grove.read.revisions(self.id)

    def at(self, revision: int) -> "DocumentHandle":
        """As it was at a revision; saving from there is a conflict, unless it is the latest."""
        return DocumentHandle(self._grove, self._grove.read.document(self.id, revision))

    def archive(self) -> None:
        self._grove.perform(ArchiveDocument(document=self.id))

    def unarchive(self) -> None:
        self._grove.perform(ArchiveDocument(document=self.id, restore=True))

    def delete(self, *, confirm: str) -> None:
        self._grove.perform(DeleteDocument(document=self.id, confirm=confirm))


def _reference(node: NodeHandle | str) -> str:
    return node.id if isinstance(node, NodeHandle) else node


def _sources(
    context: Sequence[NodeHandle | str], instructions: Sequence[NodeHandle | str]
) -> tuple[Source, ...]:
    for given in (context, instructions):
        if isinstance(given, str):
            raise InvalidInputError("sources are given as a list of nodes")
    return (
        *(Source(_reference(node), SourceRole.CONTEXT) for node in context),
        *(Source(_reference(node), SourceRole.INSTRUCTION) for node in instructions),
    )
