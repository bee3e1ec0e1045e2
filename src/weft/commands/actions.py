"""What can be asked for: one value for each command, in a closed union."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

__all__ = [
    "Action",
    "Annotate",
    "Append",
    "At",
    "Attach",
    "Bookmark",
    "Collapse",
    "Command",
    "ContentOf",
    "Continue",
    "Direction",
    "DocumentTarget",
    "Drop",
    "Edit",
    "Exclude",
    "Expand",
    "Help",
    "Include",
    "Join",
    "Lines",
    "Link",
    "List",
    "Listing",
    "Literal",
    "Memory",
    "MemoryView",
    "Merge",
    "NodeTarget",
    "Pin",
    "Prune",
    "Read",
    "Recall",
    "Redo",
    "Replace",
    "Respond",
    "Restore",
    "ResultTarget",
    "Search",
    "SectionOf",
    "Shape",
    "Split",
    "Stash",
    "StashTarget",
    "SummaryOf",
    "SummaryOnly",
    "Switch",
    "Tag",
    "Think",
    "Tree",
    "TreeTarget",
    "Unbookmark",
    "Undo",
    "Unlink",
    "Untag",
    "View",
    "ViewBranch",
    "ViewResult",
    "Write",
]


class Shape(StrEnum):
    """How a branch is shown."""

    PROSE = "prose"
    NODES = "nodes"


class Listing(StrEnum):
    CONTINUATIONS = "continuations"
    ANNOTATIONS = "annotations"
    LINKS = "links"
    VERSIONS = "versions"


class Direction(StrEnum):
    NEXT = "next"
    PREVIOUS = "previous"
    PARENT = "parent"
    LEAF = "leaf"


class MemoryView(StrEnum):
    ALL = "all"
    TRACE = "trace"
    STASHED = "stashed"


@dataclass(frozen=True, slots=True)
class NodeTarget:
    node: str


@dataclass(frozen=True, slots=True)
class DocumentTarget:
    title: str
    section: str | None = None


@dataclass(frozen=True, slots=True)
class TreeTarget:
    title: str


@dataclass(frozen=True, slots=True)
class ResultTarget:
    number: int


@dataclass(frozen=True, slots=True)
class StashTarget:
    label: str


@dataclass(frozen=True, slots=True)
class View:
    node: str
    full: bool = False
    annotations: bool = False


@dataclass(frozen=True, slots=True)
class ViewBranch:
    node: str
    shape: Shape = Shape.PROSE


@dataclass(frozen=True, slots=True)
class ViewResult:
    """The whole of a result that was shown in short, or has faded."""

    number: int


@dataclass(frozen=True, slots=True)
class List:
    node: str
    what: Listing


@dataclass(frozen=True, slots=True)
class Tree:
    start: str | None = None
    depth: int = 5
    summary: bool = False


@dataclass(frozen=True, slots=True)
class Switch:
    to: str | Direction


@dataclass(frozen=True, slots=True)
class Search:
    query: str


@dataclass(frozen=True, slots=True)
class Think:
    text: str = ""


@dataclass(frozen=True, slots=True)
class Help:
    command: str | None = None


@dataclass(frozen=True, slots=True)
class Pin:
    target: NodeTarget | DocumentTarget | ResultTarget


@dataclass(frozen=True, slots=True)
class Literal:
    text: str


@dataclass(frozen=True, slots=True)
class ContentOf:
    node: str


@dataclass(frozen=True, slots=True)
class SummaryOf:
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class Stash:
    label: str
    what: Literal | ContentOf | SummaryOf


@dataclass(frozen=True, slots=True)
class Recall:
    label: str


@dataclass(frozen=True, slots=True)
class Drop:
    target: NodeTarget | DocumentTarget | ResultTarget | StashTarget


@dataclass(frozen=True, slots=True)
class Memory:
    view: MemoryView = MemoryView.ALL


@dataclass(frozen=True, slots=True)
class Respond:
    node: str
    text: str
    context: tuple[str, ...] = ()
    instruction: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Annotate:
    node: str
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    node: str
    text: str


@dataclass(frozen=True, slots=True)
class Merge:
    nodes: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Split:
    node: str
    at: str


@dataclass(frozen=True, slots=True)
class Join:
    node: str


@dataclass(frozen=True, slots=True)
class Attach:
    node: str
    item: str


@dataclass(frozen=True, slots=True)
class Link:
    node: str
    to: NodeTarget | DocumentTarget | TreeTarget
    note: str = ""


@dataclass(frozen=True, slots=True)
class Unlink:
    node: str
    to: NodeTarget | DocumentTarget | TreeTarget


@dataclass(frozen=True, slots=True)
class Tag:
    node: str
    name: str


@dataclass(frozen=True, slots=True)
class Untag:
    node: str
    name: str


@dataclass(frozen=True, slots=True)
class Bookmark:
    node: str
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Unbookmark:
    node: str


@dataclass(frozen=True, slots=True)
class Prune:
    node: str


@dataclass(frozen=True, slots=True)
class Restore:
    node: str


@dataclass(frozen=True, slots=True)
class Exclude:
    node: str


@dataclass(frozen=True, slots=True)
class Include:
    node: str


@dataclass(frozen=True, slots=True)
class Collapse:
    first: str
    last: str
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Expand:
    name: str


@dataclass(frozen=True, slots=True)
class Undo:
    pass


@dataclass(frozen=True, slots=True)
class Redo:
    pass


@dataclass(frozen=True, slots=True)
class Continue:
    start: str | None = None
    """The cursor, if not given."""
    n: int = 1
    tokens: int | None = None
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class SummaryOnly:
    pass


@dataclass(frozen=True, slots=True)
class Lines:
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class SectionOf:
    section: str


@dataclass(frozen=True, slots=True)
class Read:
    document: str
    part: SummaryOnly | Lines | SectionOf | None = None


@dataclass(frozen=True, slots=True)
class Append:
    pass


@dataclass(frozen=True, slots=True)
class At:
    """Before a line, given by number, or at the end of a section."""

    place: int | str


@dataclass(frozen=True, slots=True)
class Replace:
    """Lines, or a section, by the text."""

    what: Lines | str


@dataclass(frozen=True, slots=True)
class Write:
    document: str
    place: Append | At | Replace
    text: str


Looking: TypeAlias = View | ViewBranch | ViewResult | List | Tree | Switch | Search | Think | Help
Remembering: TypeAlias = Pin | Stash | Recall | Drop | Memory
Making: TypeAlias = Respond | Annotate | Edit | Merge | Split | Join | Attach
Marking: TypeAlias = (
    Link
    | Unlink
    | Tag
    | Untag
    | Bookmark
    | Unbookmark
    | Prune
    | Restore
    | Exclude
    | Include
    | Collapse
    | Expand
    | Undo
    | Redo
)
Action: TypeAlias = Looking | Remembering | Making | Marking | Continue | Read | Write


@dataclass(frozen=True, slots=True)
class Command:
    """An action, and how far it may reach: this tree, another one, or the whole grove."""

    name: str
    """The catalog's."""
    action: Action
    tree: str | None = None
    """`in tree:"…"`."""
    grove: bool = False
    """`in:grove`."""

    @property
    def crosses(self) -> bool:
        """Whether it was said that this leaves the tree. The agent must be allowed to."""
        return self.grove or self.tree is not None
