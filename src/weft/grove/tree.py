"""The handle of a tree."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from weft.argument_checks import checks_arguments, option, takes_options
from weft.grove.handle import Handle
from weft.grove.node import NodeHandle, NodePath, node_reference, preview_of, sources_of
from weft.runtime import operations, undo
from weft.runtime.contexts.options import ContextOptions
from weft.runtime.generation.options import GenerationOptions, RunOptions
from weft.runtime.runners.options import AskOptions, PreviewOptions
from weft.tree.attempt import RawResponse
from weft.tree.content import Content
from weft.tree.event_kinds import HistoryEntry, HistoryStep
from weft.tree.item import Item
from weft.tree.json import JsonValue
from weft.tree.progress import Progress
from weft.tree.reference import CollapsedRange
from weft.tree.tree import Counters, Mode, Tree

if TYPE_CHECKING:
    from weft.context.envelope import Envelope
    from weft.context.result import Context
    from weft.grove.agent import Collaborated
    from weft.grove.answer import AnswerStream, TurnAnswer
    from weft.grove.search import SearchHit
    from weft.provenance.findings import Report
    from weft.runtime.collaboration.commands.session import CommandResults
    from weft.runtime.contexts.statistics import TreeStats
    from weft.runtime.generation.service import Generated, Stream
    from weft.runtime.search.results import Hits


@dataclass(frozen=True, slots=True)
class CollaborateOptions(RunOptions):
    """How a collaborator is asked, and how its run goes."""

    agent: str | None = option(None, "The agent; default: a loom-aware one.")
    text: str | None = option(None, "What to say to it; default: it answers the current node.")


@checks_arguments
class TreeHandle(Handle[Tree]):
    """One tree. Numbers and titles are as they were when it was read."""

    __slots__ = ()

    def __repr__(self) -> str:
        counters = self.counters
        return (
            f"<Tree {self.title!r} ({self.mode} mode) {counters.nodes} nodes · "
            f"{counters.branches} branches · depth {counters.depth}>"
        )

    def _repr_html_(self) -> str:
        from weft.runtime.views.html import outline_html  # noqa: PLC0415 - only notebooks need it

        return outline_html(self.value, self._grove.read.outline(self.id, limit=500))

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
        """The current node."""
        return self.node(self._grove.read.cursor(self.id).node_id)

    @property
    def path(self) -> NodePath:
        """Root to the current node."""
        return NodePath(self._grove, self._grove.read.path(self.id))

    @property
    def leaves(self) -> list[NodeHandle]:
        return [NodeHandle(self._grove, node) for node in self._grove.read.leaves(self.id)]

    @property
    def branch_points(self) -> list[NodeHandle]:
        return [NodeHandle(self._grove, node) for node in self._grove.read.branch_points(self.id)]

    @property
    def groups(self) -> list[CollapsedRange]:
        return self._grove.read.groups(self.id)

    @property
    def working_buffer(self) -> str:
        """Your uncommitted text at the document's end."""
        return self._grove.read.working_buffer(self.id)

    @property
    def text(self) -> str:
        """The document to the current node, uncommitted text included."""
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
        """Add a node below the current one; it becomes the current node."""
        operation = operations.Append(
            tree=self.id,
            content=content,
            sources=sources_of(context, instructions),
            attachments=attachments,
            author=author,
            response=response,
        )
        return NodeHandle(self._grove, self._grove.perform(operation))

    @takes_options(PreviewOptions)
    def context(self, options: PreviewOptions) -> "Context":
        """What a model would see at the current node, uncommitted text included."""
        return preview_of(self._grove, self.id, None, options)

    def export(self, format: str, *, node: NodeHandle | str | None = None) -> Iterator[str]:  # noqa: A002
        """The tree, or the path to a node, as markdown, messages, html, chatgpt, open-webui or pairs."""
        from weft.runtime.transfer.tree_export import export_tree  # noqa: PLC0415 - only exports need it

        end = None if node is None else node_reference(node)
        return export_tree(self._grove.caller, self.id, format, node=end)

    def prefer(self, **settings: "JsonValue") -> "TreeHandle":
        """Set this tree's preferences (`truncation_strategy`, …); None leaves one to the grove again."""
        from weft.runtime.operations.settings import PreferInTree  # noqa: PLC0415

        self._grove.perform(PreferInTree(tree=self.id, settings=settings))
        return self.refresh()

    def merge(self, nodes: Sequence[NodeHandle | str], content: str | Content) -> NodeHandle:
        operation = operations.Merge(
            tree=self.id, nodes=[node_reference(node) for node in nodes], content=content
        )
        return NodeHandle(self._grove, self._grove.perform(operation))

    def switch(self, to: "NodeHandle | operations.Direction | str") -> NodeHandle:
        """Make a node the current one, or go one step: next, previous, parent, child, leaf."""
        target = to.id if isinstance(to, NodeHandle) else str(to)
        directions = {direction.value: direction for direction in operations.Direction}
        return self.node(
            self._grove.perform(operations.Switch(tree=self.id, to=directions.get(target, target)))
        )

    def type(self, text: str) -> None:
        """Keep uncommitted text at the document's end."""
        self._grove.perform(operations.TypeText(tree=self.id, text=text))

    def erase(self, start: int, end: int) -> list[NodeHandle]:
        """Delete characters start to end of the document, by editing each node they lie in."""
        nodes = self._grove.perform(operations.Erase(tree=self.id, start=start, end=end))
        return [NodeHandle(self._grove, node) for node in nodes]

    def commit(self) -> NodeHandle | None:
        """Make a node of the uncommitted text."""
        node = self._grove.perform(operations.CommitBuffer(tree=self.id))
        return None if node is None else NodeHandle(self._grove, node)

    def collapse(
        self, first: NodeHandle | str, last: NodeHandle | str, name: str, description: str = ""
    ) -> CollapsedRange:
        operation = operations.Collapse(
            tree=self.id,
            first=node_reference(first),
            last=node_reference(last),
            name=name,
            description=description,
        )
        return self._grove.perform(operation)

    def expand(self, name: str) -> None:
        self._grove.perform(operations.Expand(tree=self.id, name=name))

    def uncollapse(self, name: str) -> None:
        self._grove.perform(operations.Uncollapse(tree=self.id, name=name))

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
        described = operations.Describe(
            tree=self.id,
            title=title,
            description=description,
            system_context=system_context,
            buffer_mode_system_context=buffer_mode_system_context,
            preferences=preferences,
        )
        return TreeHandle(self._grove, self._grove.perform(described))

    def verify(self, progress: Progress | None = None) -> "Report":
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
    ) -> "Hits[SearchHit]":
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
        self._grove.perform(operations.Archive(tree=self.id))

    def unarchive(self) -> None:
        self._grove.perform(operations.Unarchive(tree=self.id))

    def undo(self, steps: int = 1) -> list[HistoryStep]:
        """Take back your own last operations in this tree; a conflict if others have built on them."""
        return self._grove.perform(undo.Undo(tree=self.id, steps=steps))

    def redo(self, steps: int = 1) -> list[HistoryStep]:
        """Do again what you have undone since your last operation here."""
        return self._grove.perform(undo.Redo(tree=self.id, steps=steps))

    def history(
        self, limit: int = 50, *, before: int | None = None, agent: str | None = None
    ) -> list[HistoryEntry]:
        """What was done here, by whom and when, oldest first; undone operations are marked."""
        return self._grove.read.history(self.id, limit=limit, before=before, agent=agent)

    @property
    def hidden(self) -> list[NodeHandle]:
        """Nodes whose making was undone: not lost, and in no other reading."""
        return [NodeHandle(self._grove, node) for node in self._grove.read.hidden(self.id)]

    def delete(self, *, confirm: str) -> int:
        """Destroy the tree for good; `confirm` must be its id."""
        return self._grove.perform(operations.DeleteTree(tree=self.id, confirm=confirm))

    @takes_options(PreviewOptions)
    def envelope(self, options: PreviewOptions) -> "Envelope":
        """The request from the current node, in layers."""
        return preview_of(self._grove, self.id, None, options).laid_out

    def chat(self) -> str:
        """The path to the current node as a Markdown chat."""
        from weft.runtime.transfer.markdown_chats import chat_text  # noqa: PLC0415 - few calls write chats

        return chat_text(self._grove.caller, self.value.id, None)

    @takes_options(ContextOptions)
    def stats(self, options: ContextOptions) -> "TreeStats":
        """What its requests consisted of, and how much of them a provider's cache had."""
        from weft.runtime.contexts.statistics import tree_stats  # noqa: PLC0415 - the engine

        return tree_stats(self._grove.layers, self.id, options)

    @takes_options(GenerationOptions)
    def generate(self, options: GenerationOptions) -> "Generated[NodeHandle]":
        """Continue from the current node; uncommitted text is committed first."""
        return self._grove.generations.generate(self.id, None, options)

    @takes_options(GenerationOptions)
    def stream(self, options: GenerationOptions) -> "Stream[NodeHandle]":
        """The same as it comes."""
        return self._grove.generations.stream(self.id, None, options)

    @takes_options(AskOptions)
    def ask(self, options: AskOptions) -> "TurnAnswer":
        """Ask here, and wait for the answer: `tree.ask("Why the fog?", runner="vault")`.

        The question becomes a node, and the answer one below it.
        """
        from weft.grove.answer import start_answer  # noqa: PLC0415 - few calls ask a model

        with start_answer(self._grove, self.id, options) as stream:
            return stream.result()

    @takes_options(AskOptions)
    def ask_stream(self, options: AskOptions) -> "AnswerStream":
        """The same as it goes on: iterate it for events."""
        from weft.grove.answer import start_answer  # noqa: PLC0415 - few calls ask a model

        return start_answer(self._grove, self.id, options)

    @takes_options(CollaborateOptions)
    def collaborate(self, options: CollaborateOptions) -> "Collaborated":
        """Say something and let a loom-aware agent work on it, with commands; wait for its reply.

        Without a name it is the default agent, or the latest, among the loom-aware.
        `loom.agent(…).run(…)` reports what happens while it happens.
        """
        from weft.grove.agent import start_run  # noqa: PLC0415 - few calls ask a model

        with start_run(self._grove, options.agent, options.text, options, tree=self.id) as run:
            return run.result()

    def be_present(self) -> None:
        """Show your presence at the current node: others see it for two minutes."""
        from weft.runtime.collaboration.presence import show_presence  # noqa: PLC0415 - few calls do

        show_presence(self._grove.caller, self.value.id)

    def summarise(self, *, refresh: bool = False) -> str:
        """Two sentences on what it is about; made and kept, where there are none yet."""
        return self._grove.summaries.tree(self.value.id, refresh=refresh)

    def do(self, text: str, *, agent: str | None = None) -> "CommandResults":
        """Carry out commands here, each on a line: `tree.do("→ view a7x2")`; as you, or as an agent of yours.

        A failure does not stop the rest; each result has the text of its answer, and its error.
        """
        from weft.runtime.collaboration.commands.session import run_commands  # noqa: PLC0415

        return run_commands(self._grove.caller, self.value.id, text, agent)

    def close(self) -> None:
        """You are done with it for now: it is summarised again in the background."""
        self._grove.summaries.close_tree(self.value.id)
