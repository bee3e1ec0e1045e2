"""For each operation, what it is done to, and itself: what undo must take back."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import weft
from weft.grove.document import DocumentHandle
from weft.grove.node import NodeHandle
from weft.grove.tree import TreeHandle
from weft.runtime.operations.agent_memory import DropStash, KeepPin, KeepStash, Unpin
from weft.runtime.operations.agents import AddAgent, ArchiveAgent, ChangeAgent
from weft.runtime.operations.attachments import Attach, Detach
from weft.runtime.operations.collapsed_ranges import Collapse, Expand, Uncollapse
from weft.runtime.operations.cursors import CommitBuffer, Direction, Switch, TypeText
from weft.runtime.operations.documents import ArchiveDocument, CreateDocument, SaveDocument, WriteInDocument
from weft.runtime.operations.drafts import CommitDraft
from weft.runtime.operations.edits import Edit, Erase, Join, Split
from weft.runtime.operations.executor import Operation
from weft.runtime.operations.metadata import Bookmark, Exclude, Include, Prune, Restore, Unbookmark
from weft.runtime.operations.nodes import Annotate, Append, AppendHistory, Merge
from weft.runtime.operations.projects import (
    ArchiveProject,
    AssignProject,
    ChangeProject,
    CreateProject,
    MountVault,
    UnmountVault,
)
from weft.runtime.operations.references import LinkTogether, TagTarget, TargetRef, Unlink, Untag
from weft.runtime.operations.settings import ChangeSettings, Prefer, PreferInTree
from weft.runtime.operations.trees import Archive, Describe, Plant, Unarchive
from weft.runtime.records.streams import AppendRecords
from weft.runtime.undo.step import tops_now
from weft.store.lookup import find_agent, find_tree
from weft.tree.agent import AgentType, Configuration
from weft.tree.attempt import RawResponse
from weft.tree.edge import Source, SourceRole
from weft.tree.item import Item
from weft.tree.node import Role
from weft.tree.record import RecordDraft, RecordPlace
from weft.tree.reference import TargetKind
from weft.tree.tree import Mode

FOLDER = str(Path(__file__).parent)
NOTE = Item(id="note:a", type="note", content="Marie was here.")


@dataclass
class Scene:
    """A small tree with a branch, a note and somebody else in it."""

    grove: weft.Grove
    mode: Mode
    number: int
    tree: TreeHandle = field(init=False)
    document: DocumentHandle = field(init=False)
    mira: weft.Grove = field(init=False)
    a: NodeHandle = field(init=False)
    b: NodeHandle = field(init=False)
    c: NodeHandle = field(init=False)
    other: NodeHandle = field(init=False)
    key: int = field(init=False)
    me: int = field(init=False)
    starts: tuple[int | None, int | None] = field(init=False)
    """The last operations of the tree and of the grove that belong to the scene."""

    def __post_init__(self) -> None:
        names = {agent.name for agent in self.grove.agents()}
        if "mira" not in names:
            self.grove.add_agent("mira", type="human")
            self.grove.add_agent("poet", model_ref="test:model", permissions=["loom_aware"])
        self.mira = self.grove.acting_as("mira")
        self.tree = self.grove.plant(f"Scene {self.number}", "In the beginning", mode=self.mode)
        self.document = self.grove.write_document(f"Notes {self.number}", "# Snow\nIt fell.")
        self.a = self.tree.say("one two")
        self.b = self.tree.say(" three")
        self.other = self.a.say(" a branch")
        self.c = self.b.say(" four")
        self.mira.node(self.c.id).annotate("A note.")
        with self.grove.read.store.read() as session:
            self.key = find_tree(session, self.tree.id)
            self.me = find_agent(session, "human")
        self.begin()

    def begin(self) -> None:
        """What has been done so far belongs to the scene."""
        self.starts = self._top(self.key), self._top(0)

    @property
    def id(self) -> str:
        return self.tree.id

    def node(self, handle: NodeHandle) -> TargetRef:
        return TargetRef(TargetKind.NODE, handle.id, self.id)

    @property
    def whole(self) -> TargetRef:
        return TargetRef(TargetKind.TREE, self.id)

    @property
    def page(self) -> TargetRef:
        return TargetRef(TargetKind.DOCUMENT, self.document.id)

    def type(self, text: str = " and more") -> None:
        if self.mode is Mode.BUFFER:
            self.tree.type(text)

    def draft(self) -> None:
        self.grove.drafts.keep(self.id, self.b.id, "It was")

    def rewind(self) -> None:
        """Undo whatever was done since the scene was set up."""
        for handle, start in ((self.tree, self.starts[0]), (self.grove, self.starts[1])):
            chain = self.key if handle is self.tree else 0
            while self._top(chain) != start:
                handle.undo()

    def _top(self, chain: int) -> int | None:
        with self.grove.read.store.read() as session:
            return tops_now(session, chain, self.me).undo


@dataclass(frozen=True)
class Case:
    """An operation in a scene; `before` are operations that are not undone."""

    kind: type[Operation[object]]
    name: str
    act: Callable[[Scene], Operation[object]]
    before: Callable[[Scene], object] | None = None
    modes: tuple[Mode, ...] = tuple(Mode)
    """Both, unless it is the same in both."""
    in_grove: bool = False


BUFFER = (Mode.BUFFER,)
DIALOGUE = (Mode.DIALOGUE,)
ANSWER = RawResponse(body=b'{"text": "so"}', provider="test", model="model")


def _sources(scene: Scene) -> list[Source]:
    return [Source(scene.other.id, SourceRole.CONTEXT), Source(scene.b.id, SourceRole.INSTRUCTION)]


CASES = [
    Case(Append, "at the cursor", lambda s: Append(tree=s.id, content="!")),
    Case(Append, "with what was typed", lambda s: Append(tree=s.id, content="!"), Scene.type),
    Case(
        Append,
        "elsewhere, with sources and items",
        lambda s: Append(tree=s.id, content="!", parent=s.a.id, sources=_sources(s), attachments=[NOTE]),
    ),
    Case(
        Append,
        "for a model",
        lambda s: Append(tree=s.id, content="So.", author="poet", response=ANSWER),
        lambda s: s.c.attach(NOTE),
    ),
    Case(Annotate, "a node", lambda s: Annotate(tree=s.id, node=s.b.id, content="Why?")),
    Case(Merge, "two branches", lambda s: Merge(tree=s.id, nodes=[s.c.id, s.other.id], content="both")),
    Case(Edit, "where one stands", lambda s: Edit(tree=s.id, node=s.c.id, content="five")),
    Case(
        Edit, "upstream, with what was typed", lambda s: Edit(tree=s.id, node=s.a.id, content="1"), Scene.type
    ),
    Case(
        Edit,
        "a second time",
        lambda s: Edit(tree=s.id, node=s.b.id, content="3"),
        lambda s: s.b.edit("third"),
    ),
    Case(
        Erase, "a stretch over several nodes", lambda s: Erase(tree=s.id, start=3, end=25), Scene.type, BUFFER
    ),
    Case(Split, "a node", lambda s: Split(tree=s.id, node=s.a.id, at=3), Scene.type),
    Case(Join, "two nodes", lambda s: Join(tree=s.id, node=s.a.id, following=s.b.id), Scene.type),
    Case(Exclude, "a node", lambda s: Exclude(tree=s.id, node=s.b.id)),
    Case(Include, "a node", lambda s: Include(tree=s.id, node=s.b.id), lambda s: s.b.exclude()),
    Case(Bookmark, "a node", lambda s: Bookmark(tree=s.id, node=s.b.id, label="here")),
    Case(
        Bookmark,
        "with another label",
        lambda s: Bookmark(tree=s.id, node=s.b.id),
        lambda s: s.b.bookmark("x"),
    ),
    Case(Unbookmark, "a node", lambda s: Unbookmark(tree=s.id, node=s.b.id), lambda s: s.b.bookmark("x")),
    Case(Prune, "the ground under one's feet", lambda s: Prune(tree=s.id, node=s.b.id)),
    Case(Prune, "a leaf beside", lambda s: Prune(tree=s.id, node=s.other.id)),
    Case(Prune, "one version", lambda s: Prune(tree=s.id, node=s.b.id), lambda s: s.b.edit("third")),
    Case(Restore, "what was pruned", lambda s: Restore(tree=s.id, node=s.c.id), lambda s: s.b.prune()),
    Case(Attach, "an item", lambda s: Attach(tree=s.id, node=s.b.id, item=NOTE)),
    Case(
        Detach,
        "an item",
        lambda s: Detach(tree=s.id, node=s.b.id, item_id=NOTE.id),
        lambda s: s.b.attach(NOTE),
    ),
    Case(
        Collapse,
        "a range",
        lambda s: Collapse(tree=s.id, first=s.a.id, last=s.b.id, name="opening", description="Snow."),
    ),
    Case(
        Collapse,
        "once more",
        lambda s: Collapse(tree=s.id, first=s.a.id, last=s.b.id, name="opening", description="More snow."),
        lambda s: (s.tree.collapse(s.a, s.b, "opening", "Snow."), s.tree.expand("opening")),
    ),
    Case(
        Expand,
        "a range",
        lambda s: Expand(tree=s.id, name="opening"),
        lambda s: s.tree.collapse(s.a, s.b, "opening"),
    ),
    Case(
        Uncollapse,
        "a range",
        lambda s: Uncollapse(tree=s.id, name="opening"),
        lambda s: s.tree.collapse(s.a, s.b, "opening", "Snow."),
    ),
    Case(
        MountVault,
        "a folder",
        lambda s: MountVault(path=FOLDER, name=f"notes {s.number}"),
        modes=DIALOGUE,
        in_grove=True,
    ),
    Case(
        UnmountVault,
        "a folder",
        lambda s: UnmountVault(vault=f"notes {s.number}"),
        lambda s: s.grove.vaults.mount(FOLDER, f"notes {s.number}"),
        modes=DIALOGUE,
        in_grove=True,
    ),
    Case(
        LinkTogether, "two nodes", lambda s: LinkTogether(one=s.node(s.a), other=s.node(s.other), note="see")
    ),
    Case(
        LinkTogether,
        "again, with another note",
        lambda s: LinkTogether(one=s.node(s.a), other=s.page, note="look"),
        lambda s: (s.grove.link(s.a, s.document, "see"), s.grove.unlink(s.document, s.a)),
    ),
    Case(
        Unlink,
        "a node and a document",
        lambda s: Unlink(one=s.page, other=s.node(s.a)),
        lambda s: s.grove.link(s.a, s.document, "see"),
    ),
    Case(TagTarget, "a node", lambda s: TagTarget(target=s.node(s.a), label="snow")),
    Case(TagTarget, "the tree", lambda s: TagTarget(target=s.whole, label="snow")),
    Case(
        TagTarget,
        "the tree again",
        lambda s: TagTarget(target=s.whole, label="snow"),
        lambda s: (s.grove.tag(s.tree, "snow"), s.grove.untag(s.tree, "snow"), s.grove.tag(s.tree, "Snow")),
    ),
    Case(TagTarget, "a document", lambda s: TagTarget(target=s.page, label="snow"), in_grove=True),
    Case(Untag, "a node", lambda s: Untag(target=s.node(s.a), label="x"), lambda s: s.grove.tag(s.a, "x")),
    Case(
        Untag,
        "a document",
        lambda s: Untag(target=s.page, label="x"),
        lambda s: s.grove.tag(s.document, "x"),
        in_grove=True,
    ),
    Case(Switch, "to another branch", lambda s: Switch(tree=s.id, to=s.other.id)),
    Case(Switch, "with what was typed", lambda s: Switch(tree=s.id, to=Direction.PARENT), Scene.type),
    Case(
        Switch,
        "to an older version",
        lambda s: Switch(tree=s.id, to=s.b.id),
        lambda s: s.b.edit("third"),
    ),
    Case(Switch, "while archived", lambda s: Switch(tree=s.id, to=s.a.id), lambda s: s.tree.archive()),
    Case(TypeText, "at the end", lambda s: TypeText(tree=s.id, text="and so"), modes=BUFFER),
    Case(
        TypeText,
        "over what was there",
        lambda s: TypeText(tree=s.id, text="and then it snowed"),
        lambda s: s.type("and so it snowed"),
        BUFFER,
    ),
    Case(TypeText, "nothing any more", lambda s: TypeText(tree=s.id, text=""), Scene.type, BUFFER),
    Case(CommitBuffer, "what was typed", lambda s: CommitBuffer(tree=s.id), Scene.type, BUFFER),
    Case(CommitDraft, "what was typed at a node", lambda s: CommitDraft(tree=s.id, node=s.b.id), Scene.draft),
    Case(
        Describe,
        "everything",
        lambda s: Describe(
            tree=s.id,
            title="Other",
            description="About snow",
            system_context="Be cold.",
            preferences={"a": 1},
        ),
    ),
    Case(Archive, "the tree", lambda s: Archive(tree=s.id)),
    Case(Unarchive, "the tree", lambda s: Unarchive(tree=s.id), lambda s: s.tree.archive()),
    Case(Plant, "a tree", lambda s: Plant(title="New", mode=s.mode, content="Snow"), in_grove=True),
    Case(CreateDocument, "with a title", lambda s: CreateDocument(title=f"New {s.number}"), in_grove=True),
    Case(
        SaveDocument,
        "a revision with another title",
        lambda s: SaveDocument(
            document=s.document.id, revision=1, content="It melted.", title=f"Melt {s.number}"
        ),
        in_grove=True,
    ),
    Case(
        WriteInDocument,
        "at its end",
        lambda s: WriteInDocument(document=s.document.id, change=lambda text: f"{text}\nIt melted."),
        in_grove=True,
    ),
    Case(KeepPin, "a node", lambda s: KeepPin(tree=s.id, label="node:a", body={"node": "a"})),
    Case(
        KeepPin,
        "as it is now",
        lambda s: KeepPin(tree=s.id, label="result:1", body={"result": 1, "text": "new"}),
        lambda s: s.grove.perform(KeepPin(tree=s.id, label="result:1", body={"result": 1, "text": "old"})),
    ),
    Case(
        Unpin,
        "a node",
        lambda s: Unpin(tree=s.id, label="node:a", shown="[a]"),
        lambda s: s.grove.perform(KeepPin(tree=s.id, label="node:a", body={"node": "a"})),
    ),
    Case(
        Unpin,
        "while archived",
        lambda s: Unpin(tree=s.id, label="node:a", shown="[a]"),
        lambda s: (
            s.grove.perform(KeepPin(tree=s.id, label="node:a", body={"node": "a"})),
            s.tree.archive(),
        ),
    ),
    Case(KeepStash, "a text", lambda s: KeepStash(tree=s.id, label="snow", text="It fell.")),
    Case(
        DropStash,
        "a text",
        lambda s: DropStash(tree=s.id, label="snow"),
        lambda s: s.grove.perform(KeepStash(tree=s.id, label="snow", text="It fell.")),
    ),
    Case(ArchiveDocument, "away", lambda s: ArchiveDocument(document=s.document.id), in_grove=True),
    Case(
        ArchiveDocument,
        "out again",
        lambda s: ArchiveDocument(document=s.document.id, restore=True),
        lambda s: s.document.archive(),
        in_grove=True,
    ),
    Case(
        AppendHistory,
        "a tool's answer",
        lambda s: AppendHistory(tree=s.tree.id, content="4", role=Role.TOOL),
    ),
    Case(
        PreferInTree,
        "two of them",
        lambda s: PreferInTree(tree=s.id, settings={"nameAuthors": True, "tokenBuffer": 10}),
        lambda s: s.grove.perform(PreferInTree(tree=s.id, settings={"token_buffer": 20})),
    ),
    Case(
        Prefer,
        "for the grove",
        lambda s: Prefer(settings={"tokenBuffer": 2_000 + s.number, "nameAuthors": None}),
        lambda s: s.grove.perform(Prefer(settings={"nameAuthors": True, "tokenBuffer": s.number})),
        in_grove=True,
    ),
    Case(
        ChangeSettings,
        "beside the preferences",
        lambda s: ChangeSettings(settings={"summaries": False, "spendCaps": None}),
        lambda s: s.grove.perform(ChangeSettings(settings={"spendCaps": {"grove": {"day": "2"}}})),
        in_grove=True,
    ),
    Case(
        CreateProject,
        "with a prompt",
        lambda s: CreateProject(name=f"Novel {s.number}", system_prompt="Write."),
        in_grove=True,
    ),
    Case(
        ChangeProject,
        "everything",
        lambda s: ChangeProject(
            project=f"Old {s.number}", revision=1, name=f"New {s.number}", system_prompt="Rewrite."
        ),
        lambda s: s.grove.perform(CreateProject(name=f"Old {s.number}")),
        in_grove=True,
    ),
    Case(
        ArchiveProject,
        "away",
        lambda s: ArchiveProject(project=f"Away {s.number}"),
        lambda s: s.grove.perform(CreateProject(name=f"Away {s.number}")),
        in_grove=True,
    ),
    Case(
        ArchiveProject,
        "out again",
        lambda s: ArchiveProject(project=f"Back {s.number}", restore=True),
        lambda s: [
            s.grove.perform(CreateProject(name=f"Back {s.number}")),
            s.grove.perform(ArchiveProject(project=f"Back {s.number}")),
        ],
        in_grove=True,
    ),
    Case(
        AssignProject,
        "to a project",
        lambda s: AssignProject(tree=s.tree.id, project=f"Home {s.number}"),
        lambda s: s.grove.perform(CreateProject(name=f"Home {s.number}")),
    ),
    Case(
        AddAgent, "a human", lambda s: AddAgent(name=f"ann {s.number}", type=AgentType.HUMAN), in_grove=True
    ),
    Case(
        ChangeAgent,
        "everything",
        lambda s: ChangeAgent(
            agent="poet",
            name=f"bard {s.number}",
            model_ref="test:other",
            permissions=["loom_aware", "doc_read"],
            configuration=Configuration(system_prompt="Sing."),
        ),
        in_grove=True,
    ),
    Case(
        AppendRecords,
        "two",
        lambda s: AppendRecords(
            drafts=[
                RecordDraft(place=RecordPlace(stream="notes", user="ada"), document={"value": number})
                for number in range(2)
            ]
        ),
        in_grove=True,
    ),
    Case(ArchiveAgent, "a model", lambda s: ArchiveAgent(agent="poet"), in_grove=True),
    Case(
        ArchiveAgent,
        "a model, out again",
        lambda s: ArchiveAgent(agent="poet", restore=True),
        lambda s: s.grove.perform(ArchiveAgent(agent="poet")),
        in_grove=True,
    ),
]
ALIKE = frozenset(
    {Exclude, Include, Bookmark, Unbookmark, Attach, Detach, Collapse, Expand, Uncollapse, Describe}
    | {LinkTogether, Unlink, TagTarget, Untag, Archive, Unarchive, AssignProject, PreferInTree}
)
"""Operations that do not mind the mode."""
PLAYS = [
    (case, mode)
    for case in CASES
    for mode in (DIALOGUE if case.in_grove or case.kind in ALIKE else case.modes)
]
