"""A node that one can act on."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, overload

from weft.argument_checks import checks_arguments, takes_options
from weft.errors import InvalidInputError
from weft.grove.handle import Handle
from weft.runtime import operations
from weft.runtime.generation.options import GenerationOptions
from weft.runtime.runners.options import PreviewOptions
from weft.tree.agent import AgentType
from weft.tree.attempt import RawResponse
from weft.tree.authorship import AuthorSpan
from weft.tree.citation import Citation
from weft.tree.content import Content
from weft.tree.edge import Edge, Source, SourceRole
from weft.tree.item import Item
from weft.tree.node import Metadata, Node, Role, Status
from weft.tree.progress import Progress
from weft.tree.tree import Path

if TYPE_CHECKING:
    from weft.context.envelope import Envelope
    from weft.context.manifest import Manifest
    from weft.context.result import Context
    from weft.grove.grove import Grove
    from weft.grove.tree import TreeHandle
    from weft.provenance.findings import Report
    from weft.runtime.evidence.provenance_view import ProvenanceHandle
    from weft.runtime.generation.plan import Preflight
    from weft.runtime.generation.service import Generated, Stream
    from weft.tree.progress import Progress
    from weft.tree.text_diff import Difference


@checks_arguments
class NodeHandle(Handle[Node]):
    """One node of a tree. The content never changes; metadata is as it was when looked at."""

    __slots__ = ()

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

    @property
    def local_id(self) -> str:
        return self.value.local_id

    @property
    def text(self) -> str:
        return self.value.text

    @property
    def citations(self) -> tuple[Citation, ...]:
        """What an answer cites of the sources that it was given; an unknown number has no source."""
        return self.value.citations

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
    def summary(self) -> str | None:
        """The stored summary; `summarise()` makes one."""
        return self.value.summary

    @property
    def author(self) -> str:
        """The author's name."""
        return self._grove.read.agent(self.value.author_id).name

    @property
    def author_id(self) -> str:
        return self.value.author_id

    @property
    def author_type(self) -> AgentType:
        return self.value.author_type

    @property
    def status(self) -> Status:
        return self.value.status

    @property
    def created_at(self) -> datetime:
        return self.value.created_at

    @property
    def tree_id(self) -> str:
        return self.value.tree_id

    @property
    def edited_from(self) -> str | None:
        """The id of the node that this one is an edit of."""
        return self.value.edited_from

    @property
    def edge(self) -> Edge | None:
        """What the node hangs from; None for the root."""
        return self.value.edge

    @property
    def kind(self) -> str:
        return self.value.kind

    @property
    def content_hash(self) -> str:
        return self.value.content_hash

    @property
    def attachments(self) -> tuple[Item, ...]:
        return self.value.attachments

    @property
    def tree(self) -> "TreeHandle":
        return self._grove.tree(self.value.tree_id)

    @property
    def path(self) -> "NodePath":
        """Root to here."""
        return NodePath(self._grove, self._grove.read.path(self.value.tree_id, self.id))

    def head(self, count: int) -> "NodePath":
        """The first nodes of the path to here."""
        return self._part(count, head=count)

    def tail(self, count: int) -> "NodePath":
        """The last nodes of the path to here."""
        return self._part(count, tail=count)

    def _part(self, count: int, **which: int) -> "NodePath":
        if count < 0:
            raise InvalidInputError(f"count must be at least 0, got {count}", path="count")
        return NodePath(self._grove, self._grove.read.path(self.value.tree_id, self.id, **which))

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
    def authorship(self) -> tuple[AuthorSpan, ...]:
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
        operation = operations.Append(
            tree=self.value.tree_id,
            parent=self.id,
            content=content,
            sources=sources_of(context, instructions),
            attachments=attachments,
            author=author,
            role=role,
            status=status,
            response=response,
        )
        return NodeHandle(self._grove, self._grove.perform(operation))

    def edit(self, content: str | Content) -> "NodeHandle":
        """A new text: a branch in dialogue, a version in place in a buffer."""
        operation = operations.Edit(tree=self.value.tree_id, node=self.id, content=content)
        return NodeHandle(self._grove, self._grove.perform(operation))

    def annotate(self, content: str | Content) -> "NodeHandle":
        operation = operations.Annotate(tree=self.value.tree_id, node=self.id, content=content)
        return NodeHandle(self._grove, self._grove.perform(operation))

    def merge(self, *others: "NodeHandle | str", content: str | Content) -> "NodeHandle":
        """A new node that comes from this and others."""
        nodes = [self.id, *(node_reference(other) for other in others)]
        operation = operations.Merge(tree=self.value.tree_id, nodes=nodes, content=content)
        return NodeHandle(self._grove, self._grove.perform(operation))

    def split(self, at: int | str) -> tuple["NodeHandle", "NodeHandle"]:
        """Two halves as a branch beside this node; `at` is an offset or the second half's first words."""
        first, second = self._grove.perform(operations.Split(tree=self.value.tree_id, node=self.id, at=at))
        return NodeHandle(self._grove, first), NodeHandle(self._grove, second)

    def join(self, following: "NodeHandle | str | None" = None) -> "NodeHandle":
        """One node of this and the one that follows it, beside it."""
        reference = None if following is None else node_reference(following)
        operation = operations.Join(tree=self.value.tree_id, node=self.id, following=reference)
        return NodeHandle(self._grove, self._grove.perform(operation))

    def exclude(self) -> "NodeHandle":
        self._grove.perform(operations.Exclude(tree=self.value.tree_id, node=self.id))
        return self.refresh()

    def include(self) -> "NodeHandle":
        self._grove.perform(operations.Include(tree=self.value.tree_id, node=self.id))
        return self.refresh()

    def bookmark(self, label: str | None = None) -> "NodeHandle":
        self._grove.perform(operations.Bookmark(tree=self.value.tree_id, node=self.id, label=label))
        return self.refresh()

    def unbookmark(self) -> "NodeHandle":
        self._grove.perform(operations.Unbookmark(tree=self.value.tree_id, node=self.id))
        return self.refresh()

    def prune(self) -> int:
        """Hide this node and all below it; how many went."""
        return self._grove.perform(operations.Prune(tree=self.value.tree_id, node=self.id))

    def restore(self) -> int:
        """Bring back exactly what one prune hid; how many came."""
        return self._grove.perform(operations.Restore(tree=self.value.tree_id, node=self.id))

    def verify(self, *, path: bool = False, progress: Progress | None = None) -> "Report":
        """Whether this node (with `path`: and all it was written from) is as it was written."""
        return self._grove.evidence.verify_node(self.value.tree_id, self.id, path=path, progress=progress)

    def provenance(self) -> "ProvenanceHandle":
        """Where this node comes from, with the evidence."""
        from weft.runtime.evidence.provenance_view import (  # noqa: PLC0415 - only who asks needs it
            ProvenanceHandle,
        )

        evidence = self._grove.evidence
        return ProvenanceHandle(evidence, evidence.provenance(self.value.tree_id, self.id))

    def timestamp(self, *authorities: str) -> list[str]:
        """Ask for this node's hash to be certified, by all of the grove's authorities or by these."""
        from weft.runtime.evidence.timestamps import RequestTimestamp  # noqa: PLC0415

        operation = RequestTimestamp(tree=self.value.tree_id, node=self.id, authorities=authorities)
        return self._grove.perform(operation)

    @takes_options(PreviewOptions)
    def context(self, options: PreviewOptions) -> "Context":
        """Exactly what a model would see here, with a reason for everything that it would not."""
        return preview_of(self._grove, self.value.tree_id, self.id, options)

    @takes_options(PreviewOptions)
    def manifest(self, options: PreviewOptions) -> "Manifest":
        """What a model would and would not see here: the manifest of `context`."""
        return preview_of(self._grove, self.value.tree_id, self.id, options).manifest

    def diff(self, other: "NodeHandle | str", *, paths: bool = False) -> "Difference":
        """Where the two paths part, and what the texts do not share; with `paths`, of all that follows."""
        return self._grove.read.difference(self.value.tree_id, self.id, node_reference(other), paths=paths)

    def switch(self) -> "NodeHandle":
        """Make this the current node."""
        self._grove.perform(operations.Switch(tree=self.value.tree_id, to=self.id))
        return self

    def _wrap(self, nodes: Sequence[Node]) -> list["NodeHandle"]:
        return [NodeHandle(self._grove, node) for node in nodes]

    def attach(self, *items: Item | str) -> "NodeHandle":
        """Hang items on this turn, all or none: made by hand, or named as `read_items` reads them."""
        from weft.runtime.contexts.items import attach_all  # noqa: PLC0415 - few calls attach

        attach_all(self._grove.caller, self.value.tree_id, self.value.id, items)
        return self._as_it_is()

    def detach(self, item_id: str) -> "NodeHandle":
        self._grove.perform(operations.Detach(tree=self.value.tree_id, node=self.value.id, item_id=item_id))
        return self._as_it_is()

    def _as_it_is(self) -> "NodeHandle":
        return self._grove.tree(self.value.tree_id).node(self.value.id)

    @takes_options(PreviewOptions)
    def envelope(self, options: PreviewOptions) -> "Envelope":
        """The request from here in layers, with all that its turns attached."""
        return preview_of(self._grove, self.value.tree_id, self.id, options).laid_out

    @takes_options(PreviewOptions)
    def prepare(self, options: PreviewOptions) -> "Context":
        """The context of a dialogue, to be sent by `generate(prepared=…)`, or by yourself and kept: `grove.layers.keep`."""
        context = preview_of(self._grove, self.value.tree_id, self.id, options)
        _ = context.laid_out
        return context

    def sent(self, ordinal: int | None = None) -> "Envelope":
        """What was sent from here, byte for byte: the last request, or one by its number."""
        return self._grove.layers.sent(self.value.tree_id, self.value.id, ordinal)

    @property
    def processed_text(self) -> str:
        """What was sent for this message; its own words, if it was saved without an envelope."""
        return self._grove.layers.processed_text(self.value.tree_id, self.value.id)

    def chat(self) -> str:
        """The path to here as a Markdown chat: what people see, and what was attached."""
        from weft.runtime.transfer.markdown_chats import chat_text  # noqa: PLC0415 - few calls write chats

        return chat_text(self._grove.caller, self.value.tree_id, self.value.id)

    @takes_options(GenerationOptions)
    def generate(self, options: GenerationOptions) -> "Generated[NodeHandle]":
        """Continue from here: n nodes by one model agent, or n by each of several; wait for them.

        What had come before an error is kept as interrupted; the error is raised only if no
        continuation came to its end.
        """
        return self._grove.generations.generate(self.value.tree_id, self.value.id, options)

    @takes_options(GenerationOptions)
    def stream(self, options: GenerationOptions) -> "Stream[NodeHandle]":
        """The same as it comes: `with node.stream(n=3) as stream: for event in stream: …`, or async."""
        return self._grove.generations.stream(self.value.tree_id, self.value.id, options)

    @takes_options(GenerationOptions)
    def preflight(self, options: GenerationOptions) -> "Preflight":
        """What generating here would mean: tokens, cached share, price. Nothing is sent."""
        return self._grove.generations.preflight(self.value.tree_id, self.value.id, options)

    def summarise(self, *, refresh: bool = False) -> str:
        """One sentence; made by a model and kept, where there is none yet."""
        return self._grove.summaries.node(self.value.tree_id, self.value.id, refresh=refresh)


class NodePath(Sequence[NodeHandle]):
    """Nodes from the root (or from where it was cut) to one node."""

    __slots__ = ("_grove", "nodes", "value")

    def __init__(self, grove: "Grove", value: Path) -> None:
        self._grove = grove
        self.value = value
        self.nodes = tuple(NodeHandle(grove, node) for node in value)

    def __repr__(self) -> str:
        return f"<Path {' → '.join(f'[{node.local_id}]' for node in self.nodes)}>"

    @overload
    def __getitem__(self, index: int) -> NodeHandle: ...
    @overload
    def __getitem__(self, index: slice) -> "NodePath": ...
    def __getitem__(self, index: int | slice) -> "NodeHandle | NodePath":
        if isinstance(index, slice):
            return NodePath(self._grove, self.value[index])
        return self.nodes[index]

    def __len__(self) -> int:
        return len(self.nodes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodePath) and other.nodes == self.nodes

    def __hash__(self) -> int:
        return hash(self.nodes)

    @property
    def text(self) -> str:
        """The texts of its nodes with nothing in between: a buffer's document."""
        return self.value.text

    @property
    def turn(self) -> "NodePath":
        """The current turn: the trailing run of human nodes."""
        return NodePath(self._grove, self.value.turn)


def preview_of(grove: "Grove", tree: str, node: str | None, options: PreviewOptions) -> "Context":
    """What would be sent from a place, by the runner that is named, if any."""
    if options.names_runner:
        return grove.runners.preview(tree, node, options)
    return grove.contexts.at(tree, node, options)


def node_reference(node: NodeHandle | str) -> str:
    return node.id if isinstance(node, NodeHandle) else node


def sources_of(
    context: Sequence[NodeHandle | str], instructions: Sequence[NodeHandle | str]
) -> tuple[Source, ...]:
    for given in (context, instructions):
        if isinstance(given, str):
            raise InvalidInputError("sources are given as a list of nodes")
    return (
        *(Source(node_reference(node), SourceRole.CONTEXT) for node in context),
        *(Source(node_reference(node), SourceRole.INSTRUCTION) for node in instructions),
    )
