"""Tools that look, and that keep things in mind: the arguments of each, and the command they make."""

from typing import Annotated, Literal

from pydantic import Field

from weft.commands import actions as v
from weft.errors import InvalidInputError
from weft.mcp_server.arguments import AtNode, InTree, Node, Taken, Text, Title, exactly_one
from weft.runtime.commanding.looking import DEEPEST

__all__ = [
    "Draw",
    "Drop",
    "Everywhere",
    "Listed",
    "Memory",
    "Pin",
    "Recall",
    "Search",
    "Stash",
    "Switch",
    "Think",
    "View",
    "Wanted",
]

_Number = Annotated[int, Field(ge=1, le=1_000_000, description="The number of an earlier result.")]
_Document = Annotated[Title, Field(description="A document, by its title or id.")]
_Section = Annotated[Title, Field(description="A section of it, by its heading.")]
_Label = Annotated[str, Field(min_length=1, max_length=300, description="What it is called.")]
Everywhere = Annotated[
    bool, Field(description="Leave this tree for the whole grove; the agent must be allowed to.")
]


class View(InTree):
    node: Node | None = None
    branch: Annotated[
        Node | None, Field(description="The node at which a branch ends: all from the root.")
    ] = None
    result: _Number | None = None
    full: Annotated[bool, Field(description="A node's whole text, not its summary.")] = False
    with_annotations: Annotated[bool, Field(description="A node's annotations too.")] = False
    shape: Annotated[
        Literal["prose", "nodes"], Field(description="A branch stitched together, or node by node.")
    ] = "nodes"

    def action(self) -> v.Action:
        name, value = exactly_one(node=self.node, branch=self.branch, result=self.result)
        if name == "result":
            return v.ViewResult(int(value))
        if name == "branch":
            return v.ViewBranch(str(value), v.Shape(self.shape))
        return v.View(str(value), full=self.full, annotations=self.with_annotations)


class Listed(AtNode):
    what: Annotated[
        Literal["continuations", "annotations", "links", "versions"], Field(description="What hangs on it.")
    ]

    def action(self) -> v.Action:
        return v.List(self.node, v.Listing(self.what))


class Draw(InTree):
    start: Annotated[Node | None, Field(description="Where to begin; else at the root.", alias="from")] = None
    depth: Annotated[int, Field(ge=1, le=DEEPEST, description="How many levels.")] = 5
    summary: Annotated[bool, Field(description="Summaries, not how each node begins.")] = False

    def action(self) -> v.Action:
        return v.Tree(self.start, self.depth, self.summary)


class Switch(InTree):
    node: Annotated[Node | None, Field(description="Where to go.")] = None
    direction: Annotated[
        Literal["next", "previous", "parent", "leaf"] | None,
        Field(description="Or which way: a sibling, up, or down to the end."),
    ] = None

    def action(self) -> v.Action:
        name, value = exactly_one(node=self.node, direction=self.direction)
        return v.Switch(v.Direction(value) if name == "direction" else value)


class Search(InTree):
    query: Annotated[str, Field(min_length=1, max_length=10_000, description="Words to look for.")]
    everywhere: Everywhere = False

    def action(self) -> v.Action:
        return v.Search(self.query)


class Think(InTree):
    text: Annotated[Text, Field(description="Kept in your memory of this tree; nobody else sees it.")]

    def action(self) -> v.Action:
        return v.Think(self.text)


class Wanted(Taken):
    command: Annotated[str | None, Field(max_length=100, description="One tool; else all of them.")] = None


class _Kept(InTree):
    node: Node | None = None
    document: _Document | None = None
    section: _Section | None = None
    result: _Number | None = None

    def target(self) -> v.NodeTarget | v.DocumentTarget | v.ResultTarget:
        name, value = exactly_one(node=self.node, document=self.document, result=self.result)
        if self.section is not None and name != "document":
            raise _no_document()
        if name == "result":
            return v.ResultTarget(int(value))
        return v.DocumentTarget(str(value), self.section) if name == "document" else v.NodeTarget(str(value))


class Pin(_Kept):
    everywhere: Everywhere = False

    def action(self) -> v.Action:
        return v.Pin(self.target())


class Drop(_Kept):
    stash: Annotated[_Label | None, Field(description="A stash, by its label.")] = None

    def action(self) -> v.Action:
        if self.stash is None:
            return v.Drop(self.target())
        exactly_one(stash=self.stash, node=self.node, document=self.document, result=self.result)
        if self.section is not None:
            raise _no_document()
        return v.Drop(v.StashTarget(self.stash))


def _no_document() -> InvalidInputError:
    return InvalidInputError("a section is of a document", hint="name the document", path="section")


class Stash(InTree):
    label: _Label
    text: Annotated[Text | None, Field(description="A text of your own.")] = None
    content_of: Annotated[Node | None, Field(description="Or what a node says.")] = None
    summary_of: Annotated[
        list[Node] | None,
        Field(min_length=2, max_length=2, description="Or a range in short: its first and its last node."),
    ] = None

    def action(self) -> v.Action:
        exactly_one(text=self.text, content_of=self.content_of, summary_of=self.summary_of)
        if self.summary_of is not None:
            return v.Stash(self.label, v.SummaryOf(self.summary_of[0], self.summary_of[1]))
        if self.content_of is not None:
            return v.Stash(self.label, v.ContentOf(self.content_of))
        return v.Stash(self.label, v.Literal(self.text or ""))


class Recall(InTree):
    label: _Label

    def action(self) -> v.Action:
        return v.Recall(self.label)


class Memory(InTree):
    view: Annotated[
        Literal["all", "trace", "stashed"], Field(description="All of it, what you did, or what you stashed.")
    ] = "all"

    def action(self) -> v.Action:
        return v.Memory(v.MemoryView(self.view))
