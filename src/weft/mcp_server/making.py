"""Tools that make and mark: the arguments of each, and the command they make."""

from typing import Annotated

from pydantic import Field

from weft.commands import actions as v
from weft.mcp_server.arguments import AtNode, InTree, Node, Text, Title, exactly_one
from weft.mcp_server.looking import Everywhere

__all__ = [
    "Annotate",
    "Attach",
    "Bookmark",
    "Collapse",
    "Continue",
    "Edit",
    "Exclude",
    "Expand",
    "Include",
    "Join",
    "Link",
    "Merge",
    "Prune",
    "Read",
    "Redo",
    "Respond",
    "Restore",
    "Split",
    "Tag",
    "Unbookmark",
    "Undo",
    "Unlink",
    "Untag",
    "Write",
]

_Others = Annotated[list[Node], Field(max_length=100)]
_Line = Annotated[int, Field(ge=1, le=10_000_000)]
_Lines = Annotated[list[_Line], Field(min_length=2, max_length=2)]
_Document = Annotated[Title, Field(description="The document, by its title or id.")]
_Name = Annotated[str, Field(min_length=1, max_length=300)]


class Respond(AtNode):
    text: Text
    context: Annotated[
        _Others, Field(default_factory=list[str], description="Other nodes that it was written from.")
    ]
    instruction: Annotated[_Others, Field(default_factory=list[str], description="Nodes that instruct it.")]

    def action(self) -> v.Action:
        return v.Respond(self.node, self.text, tuple(self.context), tuple(self.instruction))


class Annotate(AtNode):
    text: Text

    def action(self) -> v.Action:
        return v.Annotate(self.node, self.text)


class Edit(AtNode):
    text: Annotated[str, Field(description="All of the new text.")]

    def action(self) -> v.Action:
        return v.Edit(self.node, self.text)


class Merge(InTree):
    nodes: Annotated[list[Node], Field(min_length=2, max_length=100, description="The nodes it comes from.")]
    text: Text

    def action(self) -> v.Action:
        return v.Merge(tuple(self.nodes), self.text)


class Split(AtNode):
    at: Annotated[Text, Field(description="The words with which the second half begins.")]

    def action(self) -> v.Action:
        return v.Split(self.node, self.at)


class Join(AtNode):
    def action(self) -> v.Action:
        return v.Join(self.node)


class Attach(AtNode):
    item: Annotated[
        str,
        Field(
            min_length=1, max_length=2_000, description='A note of a vault, doc:"Title", or a node as [a7x2].'
        ),
    ]
    everywhere: Everywhere = False

    def action(self) -> v.Action:
        return v.Attach(self.node, self.item)


class Unlink(AtNode):
    to_node: Annotated[Node | None, Field(description="A node of this tree.")] = None
    to_document: Annotated[Title | None, Field(description="Or a document, by its title.")] = None
    to_tree: Annotated[Title | None, Field(description="Or another tree, by its title.")] = None

    def target(self) -> v.NodeTarget | v.DocumentTarget | v.TreeTarget:
        name, value = exactly_one(to_node=self.to_node, to_document=self.to_document, to_tree=self.to_tree)
        if name == "to_node":
            return v.NodeTarget(value)
        return v.DocumentTarget(value) if name == "to_document" else v.TreeTarget(value)

    def action(self) -> v.Action:
        return v.Unlink(self.node, self.target())


class Link(Unlink):
    note: Annotated[str, Field(max_length=10_000, description="Why.")] = ""

    def action(self) -> v.Action:
        return v.Link(self.node, self.target(), self.note)


class Tag(AtNode):
    name: Annotated[_Name, Field(description="The tag.")]

    def action(self) -> v.Action:
        return v.Tag(self.node, self.name)


class Untag(Tag):
    def action(self) -> v.Action:
        return v.Untag(self.node, self.name)


class Bookmark(AtNode):
    label: Annotated[_Name | None, Field(description="What it is remembered as.")] = None

    def action(self) -> v.Action:
        return v.Bookmark(self.node, self.label)


class Unbookmark(AtNode):
    def action(self) -> v.Action:
        return v.Unbookmark(self.node)


class Prune(AtNode):
    def action(self) -> v.Action:
        return v.Prune(self.node)


class Restore(AtNode):
    def action(self) -> v.Action:
        return v.Restore(self.node)


class Exclude(AtNode):
    def action(self) -> v.Action:
        return v.Exclude(self.node)


class Include(AtNode):
    def action(self) -> v.Action:
        return v.Include(self.node)


class Collapse(InTree):
    first: Annotated[Node, Field(description="The range's upper end.")]
    last: Annotated[Node, Field(description="Its lower end.")]
    name: Annotated[_Name, Field(description="What the range is called.")]
    description: Annotated[str, Field(max_length=10_000, description="What stands in its place.")] = ""

    def action(self) -> v.Action:
        return v.Collapse(self.first, self.last, self.name, self.description)


class Expand(InTree):
    name: Annotated[_Name, Field(description="What the range is called.")]

    def action(self) -> v.Action:
        return v.Expand(self.name)


class Undo(InTree):
    def action(self) -> v.Action:
        return v.Undo()


class Redo(InTree):
    def action(self) -> v.Action:
        return v.Redo()


class Continue(InTree):
    start: Annotated[Node | None, Field(description="Else where you are.", alias="from")] = None
    n: Annotated[int, Field(ge=1, le=10, description="How many continuations.")] = 1
    tokens: Annotated[int | None, Field(ge=1, le=10_000_000, description="At most so many each.")] = None
    temperature: Annotated[float | None, Field(ge=0, le=10)] = None
    stop: Annotated[
        list[_Name],
        Field(default_factory=list[str], max_length=16, description="Words at which it stops."),
    ]
    agent: Annotated[Title | None, Field(description="Who writes; else the grove's default.")] = None

    def action(self) -> v.Action:
        return v.Continue(self.start, self.n, self.tokens, self.temperature, tuple(self.stop), self.agent)


class Read(InTree):
    document: _Document
    summary: Annotated[bool, Field(description="In short.")] = False
    lines: Annotated[_Lines | None, Field(description="Only these, the first and the last.")] = None
    section: Annotated[Title | None, Field(description="Only this one, by its heading.")] = None
    everywhere: Everywhere = False

    def action(self) -> v.Action:
        if not self.summary and self.lines is None and self.section is None:
            return v.Read(self.document)
        exactly_one(summary=self.summary or None, lines=self.lines, section=self.section)
        if self.lines is not None:
            return v.Read(self.document, v.Lines(self.lines[0], self.lines[1]))
        return v.Read(self.document, v.SummaryOnly() if self.section is None else v.SectionOf(self.section))


class Write(InTree):
    document: _Document
    text: Annotated[str, Field(description="What is put there.")]
    append: Annotated[bool, Field(description="At the end.")] = False
    at_line: Annotated[_Line | None, Field(description="Or before this line.")] = None
    at_section: Annotated[Title | None, Field(description="Or at the end of this section.")] = None
    replace_lines: Annotated[_Lines | None, Field(description="Or in the place of these lines.")] = None
    replace_section: Annotated[Title | None, Field(description="Or in the place of this section.")] = None
    everywhere: Everywhere = False

    def action(self) -> v.Action:
        exactly_one(
            append=self.append or None,
            at_line=self.at_line,
            at_section=self.at_section,
            replace_lines=self.replace_lines,
            replace_section=self.replace_section,
        )
        return v.Write(self.document, self._place(), self.text)

    def _place(self) -> v.Append | v.At | v.Replace:
        if self.replace_lines is not None:
            return v.Replace(v.Lines(self.replace_lines[0], self.replace_lines[1]))
        if self.replace_section is not None:
            return v.Replace(self.replace_section)
        place = self.at_section if self.at_line is None else self.at_line
        return v.Append() if place is None else v.At(place)
