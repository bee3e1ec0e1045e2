"""What can be asked for: one value for each command, in a closed union."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class BranchShape(StrEnum):
    """How a branch is shown."""

    PROSE = "prose"
    NODES = "nodes"


class ListingKind(StrEnum):
    CONTINUATIONS = "continuations"
    ANNOTATIONS = "annotations"
    LINKS = "links"
    VERSIONS = "versions"


class SwitchDirection(StrEnum):
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
    tree: str


@dataclass(frozen=True, slots=True)
class ResultTarget:
    number: int


@dataclass(frozen=True, slots=True)
class StashTarget:
    label: str


@dataclass(frozen=True, slots=True)
class NodeCommand:
    """A command that takes a node and nothing else."""

    node: str


@dataclass(frozen=True, slots=True)
class TextCommand:
    """A command that takes a node and a text."""

    node: str
    text: str


@dataclass(frozen=True, slots=True)
class LabelCommand:
    """A command that takes a node and a name."""

    node: str
    name: str


@dataclass(frozen=True, slots=True)
class ViewCommand:
    node: str
    full: bool = False
    annotations: bool = False


@dataclass(frozen=True, slots=True)
class ViewBranchCommand:
    node: str
    shape: BranchShape = BranchShape.PROSE


@dataclass(frozen=True, slots=True)
class ViewResultCommand:
    """A result that was shown in short, or has faded: whole, or some of its lines."""

    number: int
    part: "LineSpan | None" = None


@dataclass(frozen=True, slots=True)
class ListCommand:
    node: str
    what: ListingKind


@dataclass(frozen=True, slots=True)
class TreeCommand:
    start: str | None = None
    depth: int = 5
    summary: bool = False


@dataclass(frozen=True, slots=True)
class SwitchCommand:
    to: str | SwitchDirection


@dataclass(frozen=True, slots=True)
class SearchCommand:
    query: str


@dataclass(frozen=True, slots=True)
class ThinkCommand:
    text: str = ""


@dataclass(frozen=True, slots=True)
class HelpCommand:
    command: str | None = None


@dataclass(frozen=True, slots=True)
class PinCommand:
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
class StashCommand:
    label: str
    what: Literal | ContentOf | SummaryOf


@dataclass(frozen=True, slots=True)
class RecallCommand:
    label: str


@dataclass(frozen=True, slots=True)
class DropCommand:
    target: NodeTarget | DocumentTarget | ResultTarget | StashTarget


@dataclass(frozen=True, slots=True)
class MemoryCommand:
    view: MemoryView = MemoryView.ALL


@dataclass(frozen=True, slots=True)
class RespondCommand:
    node: str
    text: str
    context: tuple[str, ...] = ()
    instruction: tuple[str, ...] = ()


class AnnotateCommand(TextCommand):
    """Put a note beside a node."""


class EditCommand(TextCommand):
    """Write a new version of a node."""


@dataclass(frozen=True, slots=True)
class MergeCommand:
    nodes: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class SplitCommand:
    node: str
    at: str


class JoinCommand(NodeCommand):
    """Join a node with the one after it."""


@dataclass(frozen=True, slots=True)
class AttachCommand:
    node: str
    item: str


@dataclass(frozen=True, slots=True)
class LinkCommand:
    node: str
    to: NodeTarget | DocumentTarget | TreeTarget
    note: str = ""


@dataclass(frozen=True, slots=True)
class UnlinkCommand:
    node: str
    to: NodeTarget | DocumentTarget | TreeTarget


class TagCommand(LabelCommand):
    """Tag a node."""


class UntagCommand(LabelCommand):
    """Take a tag from a node."""


@dataclass(frozen=True, slots=True)
class BookmarkCommand:
    node: str
    label: str | None = None


class UnbookmarkCommand(NodeCommand):
    """Take a bookmark away."""


class PruneCommand(NodeCommand):
    """Fold a branch out of sight."""


class RestoreCommand(NodeCommand):
    """Bring a pruned branch back."""


class ExcludeCommand(NodeCommand):
    """Leave a node out of contexts."""


class IncludeCommand(NodeCommand):
    """Take a node into contexts again."""


@dataclass(frozen=True, slots=True)
class CollapseCommand:
    first: str
    last: str
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class ExpandCommand:
    name: str


@dataclass(frozen=True, slots=True)
class UndoCommand:
    """Take the agent's last operation back."""


@dataclass(frozen=True, slots=True)
class RedoCommand:
    """Do again what was undone."""


@dataclass(frozen=True, slots=True)
class ContinueCommand:
    start: str | None = None
    """The cursor, if not given."""
    n: int = 1
    tokens: int | None = None
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class SummaryOnly:
    """The summary of a document."""


@dataclass(frozen=True, slots=True)
class LineSpan:
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class SectionOf:
    section: str


@dataclass(frozen=True, slots=True)
class ReadCommand:
    document: str
    part: SummaryOnly | LineSpan | SectionOf | None = None


@dataclass(frozen=True, slots=True)
class AtEnd:
    """At the end of a document."""


@dataclass(frozen=True, slots=True)
class At:
    """Before a line, given by number, or at the end of a section."""

    place: int | str


@dataclass(frozen=True, slots=True)
class Replace:
    """Lines, or a section, by the text."""

    what: LineSpan | str


@dataclass(frozen=True, slots=True)
class WriteCommand:
    document: str
    place: AtEnd | At | Replace
    text: str


QueryAction: TypeAlias = (
    ViewCommand
    | ViewBranchCommand
    | ViewResultCommand
    | ListCommand
    | TreeCommand
    | SwitchCommand
    | SearchCommand
    | HelpCommand
)
MemoryAction: TypeAlias = (
    ThinkCommand | PinCommand | StashCommand | RecallCommand | DropCommand | MemoryCommand
)
NodeAction: TypeAlias = (
    RespondCommand
    | AnnotateCommand
    | EditCommand
    | MergeCommand
    | SplitCommand
    | JoinCommand
    | AttachCommand
    | ContinueCommand
)
ReferenceAction: TypeAlias = (
    LinkCommand
    | UnlinkCommand
    | TagCommand
    | UntagCommand
    | BookmarkCommand
    | UnbookmarkCommand
    | PruneCommand
    | RestoreCommand
    | ExcludeCommand
    | IncludeCommand
    | CollapseCommand
    | ExpandCommand
    | UndoCommand
    | RedoCommand
)
Action: TypeAlias = QueryAction | MemoryAction | NodeAction | ReferenceAction | ReadCommand | WriteCommand


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
