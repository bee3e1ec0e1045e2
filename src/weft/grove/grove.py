"""A grove: one database, everything a person or team owns."""

import atexit
import sys
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path as FilePath
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self, TypeVar

from sqlalchemy import select

from weft.argument_checks import check_arguments, checks_arguments, takes_options
from weft.errors import InvalidInputError
from weft.grove.document import DocumentHandle
from weft.grove.maintenance import close_abandoned
from weft.grove.node import NodeHandle
from weft.grove.project import ProjectHandle, items_of
from weft.grove.services import GroveServices
from weft.grove.tree import TreeHandle
from weft.ids import Clock, Entropy, random_bytes, system_clock
from weft.runtime import operations, undo
from weft.runtime.coordination.background import stop_runs, stop_workers
from weft.runtime.events.log import EventBatch, EventLog
from weft.runtime.events.subscription import Subscription, follow, stop_following
from weft.runtime.operations.agents import AddAgent, owner_of
from weft.runtime.operations.executor import Caller, Executor, Operation
from weft.runtime.operations.permissions import Actor, require_access, require_access_somewhere
from weft.runtime.operations.references import TargetRef
from weft.runtime.runners.options import GroveAskOptions
from weft.runtime.search.options import SearchOptions
from weft.runtime.views.reader import Reader
from weft.store import schema
from weft.store.addresses import open_store
from weft.store.base import Store
from weft.tree.access import MemberRole
from weft.tree.agent import Agent, AgentType, Configuration, Permission
from weft.tree.content import Content
from weft.tree.event_kinds import HistoryEntry, HistoryStep
from weft.tree.json import JsonValue
from weft.tree.progress import Progress, silent
from weft.tree.reference import Link, ProjectItem, Tag, TargetKind
from weft.tree.tree import Mode

if TYPE_CHECKING:
    from weft.context.tokens import Calibration
    from weft.grove.agent import AgentHandle
    from weft.grove.answer import AnswerStream, TurnAnswer
    from weft.grove.runs import GroveRuns
    from weft.grove.search import SearchHit
    from weft.grove.vault import Vaults
    from weft.provenance.findings import Report
    from weft.providers.base import ProviderRegistry
    from weft.runtime.collaboration.commands.session import CommandResults
    from weft.runtime.evidence.timestamps import Stamped
    from weft.runtime.generation.service import Generations
    from weft.runtime.search.results import Hits
    from weft.runtime.transfer.copy_backup import BackedUp
    from weft.runtime.transfer.files import Exported, Imported
    from weft.runtime.transfer.import_report import ImportReport

R = TypeVar("R")


@check_arguments
def open_grove(
    address: str | FilePath | None = None,
    *,
    timeout: float = 30.0,
    create: bool = True,
    clock: Clock = system_clock,
    entropy: Entropy = random_bytes,
    accept_clock: bool = False,
    background: bool = True,
    providers: "ProviderRegistry | None" = None,
) -> "Grove":
    """Open a grove: a path, or postgresql://…; the default one if nothing is named.

    It is created on first use, with one owner, and nothing leaves the machine. Without
    `background` no thread indexes what is written (searching catches up by itself), and
    timestamps that were asked for are fetched only by `fetch_timestamps`. `providers` are
    the providers of models; default: all that are installed.
    """
    store = open_store(address, timeout=timeout, create=create)
    store.background = background
    try:
        executor = Executor(store, clock, entropy, accept_clock, providers=providers)
        owner = owner_of(executor)
        close_abandoned(executor, Actor(owner))
        if background and not store.read_only:
            # Short commands work without these.
            from weft.grove.maintenance import start_maintenance  # noqa: PLC0415
            from weft.runtime.search.indexer import follow_index  # noqa: PLC0415
            from weft.runtime.summaries.jobs import start_summaries  # noqa: PLC0415

            follow_index(store)
            start_maintenance(executor, owner)
            start_summaries(executor, owner)
        return Grove(Caller(executor, Actor(owner)))
    except BaseException:
        _close(store)
        raise


@checks_arguments
class Grove(GroveServices):
    """Trees, documents and agents, as seen and changed by one agent."""

    def __init__(self, caller: Caller) -> None:
        super().__init__(caller)
        self._read = Reader.of(caller)
        _open_stores.add(caller.store)

    def __repr__(self) -> str:
        return f"<Grove {self.caller.store.name}>"

    def _repr_html_(self) -> str:
        from weft.runtime.views.html import trees_html  # noqa: PLC0415 - only notebooks need it

        return trees_html(self._read.trees(limit=50))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database. Acknowledged writes are safe with or without this."""
        _close(self.caller.store)

    @property
    def name(self) -> str:
        return self.caller.store.name

    @property
    def read(self) -> Reader:
        """Everything that can be read."""
        return self._read

    @property
    def vaults(self) -> "Vaults":
        """Folders of notes: `loom.vaults.mount(path)`, `loom.vaults.note("Ideas/Snow.md")`."""
        from weft.grove.vault import Vaults  # noqa: PLC0415 - few calls read notes

        return Vaults(self)

    @property
    def runs(self) -> "GroveRuns":
        """Generations and runs that go on without their caller: follow, stop, come back to them."""
        from weft.grove.runs import GroveRuns  # noqa: PLC0415 - few calls ask a model

        return GroveRuns(self)

    @property
    def preferences(self) -> Mapping[str, JsonValue]:
        """Preferences of the whole grove; a tree or a call may override them."""
        return self.contexts.preferences()

    def prefer(self, **settings: JsonValue) -> None:
        """Set preferences for the whole grove (`truncation_strategy`, …); None removes one."""
        from weft.runtime.operations.settings import Prefer  # noqa: PLC0415

        self.perform(Prefer(settings=settings))

    def calibrate(self, model: str) -> "Calibration | None":
        """Learn a model's tokens from its recorded usage, as a new version; None while there is too little."""
        from weft.runtime.operations.settings import Calibrate  # noqa: PLC0415

        return self.perform(Calibrate(model=model))

    def verify(self, progress: Progress | None = None, *, quick: bool = False) -> "Report":
        """Check that everything in this grove is as it was written.

        `quick` skips the database's own check of indexes against tables; the report says so.
        """
        return self.evidence.verify_grove(progress, quick=quick)

    def timestamp(self, *authorities: str) -> list[str]:
        """Request timestamps of the heads of all chains, from all authorities or from these."""
        from weft.runtime.evidence.timestamps import RequestTimestamp  # noqa: PLC0415

        return self.perform(RequestTimestamp(authorities=authorities))

    def set_authorities(self, certificates: Mapping[str, str]) -> None:
        """Set the timestamp authorities: address → the PEM certificates that its answers are checked against."""
        from weft.runtime.evidence.timestamps import Authority, SetAuthorities  # noqa: PLC0415

        self.perform(SetAuthorities(authorities=[Authority(*each) for each in certificates.items()]))

    def fetch_timestamps(self, *, everything: bool = False, timeout: float = 10.0) -> "Stamped":
        """Fetch the timestamps that are due; with `everything`, all that are pending."""
        from weft.runtime.evidence.timestamps import Stamped, plan_next, stamp_pending  # noqa: PLC0415

        executor = self.caller.executor
        now = executor.clock()
        done = stamp_pending(executor, self.caller.actor, now, everything=everything, timeout=timeout)
        if done != Stamped():
            executor.store.write(lambda transaction: plan_next(transaction, now))
        return done

    @property
    def me(self) -> Agent:
        """The agent that acts through this object."""
        with self.caller.store.read() as session:
            key = schema.agents.c.key == self.caller.actor.agent
            ulid = session.execute(select(schema.agents.c.ulid).where(key)).scalar_one()
        return self._read.agent(ulid)

    def acting_as(self, agent: str) -> "Grove":
        """The same grove through another agent's eyes and rights."""
        return Grove(self.caller.acting_as(agent))

    def perform(self, operation: Operation[R]) -> R:
        """Do one operation: checked, in one transaction, recorded."""
        return self.caller.perform(operation)

    def plant(
        self,
        title: str | None = None,
        text: str | Content = "",
        *,
        mode: Mode | str = Mode.DIALOGUE,
        system_context: str = "",
        description: str = "",
        buffer_mode_system_context: bool = False,
        preferences: Mapping[str, JsonValue] | None = None,
        project: str | None = None,
    ) -> TreeHandle:
        """Plant a tree. `text` is its root's; without it the root is empty."""
        return TreeHandle(
            self,
            self.perform(
                operations.Plant(
                    title=title,
                    mode=_mode(mode),
                    content=text,
                    description=description,
                    system_context=system_context,
                    buffer_mode_system_context=buffer_mode_system_context,
                    preferences=preferences,
                    project=project,
                )
            ),
        )

    def trees(self, *, archived: bool = False) -> list[TreeHandle]:
        """All trees, the most recently changed first."""
        return [TreeHandle(self, tree) for tree in self._read.trees(archived=archived)]

    def tree(self, reference: str) -> TreeHandle:
        """A tree by id or title."""
        return TreeHandle(self, self._read.tree(reference))

    def node(self, reference: str) -> NodeHandle:
        """A node of any tree, by ULID or by a local id that only one tree has."""
        return NodeHandle(self, self._read.find(reference))

    def add_agent(
        self,
        name: str,
        *,
        type: AgentType | str = AgentType.MODEL,  # noqa: A002 - the spec's word
        model_ref: str | None = None,
        permissions: Sequence[str] | None = None,
        system_prompt: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        stop_sequences: Sequence[str] = (),
        custom: Mapping[str, JsonValue] | None = None,
    ) -> Agent:
        """Add an agent."""
        return self.perform(
            AddAgent(
                name=name,
                type=_agent_type(type),
                model_ref=model_ref,
                permissions=permissions,
                configuration=Configuration(
                    system_prompt=system_prompt,
                    temperature=temperature,
                    max_tokens=max_tokens,
                    stop_sequences=tuple(stop_sequences),
                    custom=custom or {},
                ),
            )
        )

    def agents(self) -> list[Agent]:
        return self._read.agents()

    def document(self, reference: str) -> DocumentHandle:
        """A document by title or id."""
        return DocumentHandle(self, self._read.document(reference))

    def documents(self) -> list[DocumentHandle]:
        return [DocumentHandle(self, document) for document in self._read.documents()]

    def write_document(self, title: str, content: str = "") -> DocumentHandle:
        """Create a document."""
        return DocumentHandle(self, self.perform(operations.CreateDocument(title=title, content=content)))

    def remember(self, text: str) -> DocumentHandle:
        """Append a line to the user's memory, which begins every request in layers."""
        from weft.runtime.contexts.system_blocks import Remember  # noqa: PLC0415 - few calls remember

        return DocumentHandle(self, self.perform(Remember(text=text)))

    def create_project(
        self, name: str, *, system_prompt: str = "", context: Sequence[ProjectItem | str] = ()
    ) -> ProjectHandle:
        """A system prompt and context for trees to share: `doc:TITLE`, `folder:VAULT/PATH`, urls."""
        operation = operations.CreateProject(
            name=name, system_prompt=system_prompt, context=items_of(context)
        )
        return ProjectHandle(self, self.perform(operation))

    def project(self, reference: str) -> ProjectHandle:
        """A project by name or id."""
        return ProjectHandle(self, self._read.project(reference))

    def projects(self, *, archived: bool = False) -> list[ProjectHandle]:
        return [ProjectHandle(self, project) for project in self._read.projects(archived=archived)]

    @takes_options(GroveAskOptions)
    def ask(self, options: GroveAskOptions) -> "TurnAnswer":
        """Ask in the last tree, and wait for the answer; without a tree one is planted: `loom.ask("Why the fog?")`."""
        with self.ask_stream(**options.keywords()) as stream:
            return stream.result()

    @takes_options(GroveAskOptions)
    def ask_stream(self, options: GroveAskOptions) -> "AnswerStream":
        """The same as it goes on: iterate it for events."""
        from weft.grove.answer import start_in_grove  # noqa: PLC0415 - few calls ask a model

        return start_in_grove(self, options)

    @takes_options(SearchOptions)
    def search(self, options: SearchOptions) -> "Hits[SearchHit]":
        """Search nodes, trees, documents and tags: words that must all occur, "a phrase", a prefix*, -not, or."""
        from weft.grove.search import hits_in  # noqa: PLC0415 - loads with the first search
        from weft.runtime.search.search import search  # noqa: PLC0415 - loads with the first search

        return hits_in(self, search(self.caller.store, self.caller.actor, options))

    def reindex(self, progress: Progress | None = None) -> None:
        """Rebuild the search index, which is only needed if it is damaged."""
        from weft.runtime.search.indexer import reindex  # noqa: PLC0415 - loads with the first search

        with self.caller.reading(Permission.LOOM_WRITE, "rebuild the index") as session:
            require_access(session, self.caller.actor, MemberRole.OWNER)
        reindex(self.caller.store, progress)

    def put_blob(self, data: bytes) -> str:
        """Store media bytes; the result is the `ref` of an image or audio block."""
        with self.caller.reading(Permission.LOOM_WRITE, "add media") as session:
            require_access_somewhere(session, self.caller.actor, MemberRole.EDITOR)
            return self.caller.store.blobs.put(data)

    def blob(self, ref: str) -> bytes:
        with self.caller.reading():
            return self.caller.store.blobs.get(ref)

    def export(
        self,
        target: FilePath | str | BinaryIO,
        trees: Sequence[TreeHandle | str] | None = None,
        *,
        overwrite: bool = False,
        progress: Progress = silent,
    ) -> "Exported":
        """Write trees, or the whole grove, to a file in Weft's own JSON; `.gz` is compressed."""
        from weft.runtime.transfer.files import export_file  # noqa: PLC0415 - few calls move a grove

        named = None if trees is None else [tree if isinstance(tree, str) else tree.id for tree in trees]
        place = FilePath(target) if isinstance(target, str) else target
        return export_file(
            self.caller.executor, self.caller.actor, place, named, overwrite=overwrite, progress=progress
        )

    def import_(self, source: FilePath | str | BinaryIO, *, progress: Progress = silent) -> "Imported":
        """Import a file in Weft's own JSON: all of it, checked against its hashes, or nothing."""
        from weft.runtime.transfer.files import import_file  # noqa: PLC0415 - few calls move a grove

        place = FilePath(source) if isinstance(source, str) else source
        return import_file(self.caller.executor, self.caller.actor, place, progress=progress)

    def import_conversations(
        self,
        source: FilePath | str | BinaryIO,
        *,
        format: str | None = None,  # noqa: A002 - the word of the command line
        dry_run: bool = False,
        strict: bool = False,
        progress: Progress = silent,
    ) -> "ImportReport":
        """Import conversations of other programs: a file, a folder or a zip, recognised by its content.

        Each conversation is imported whole or not at all; a second time, only what is new is added.
        """
        from weft.runtime.transfer.conversation_import import import_conversations  # noqa: PLC0415

        place = FilePath(source) if isinstance(source, str) else source
        return import_conversations(
            self.caller, place, format=format, dry_run=dry_run, strict=strict, progress=progress
        )

    def backup(
        self,
        path: FilePath | str,
        *,
        overwrite: bool = False,
        verify: bool = False,
        progress: Progress = silent,
    ) -> "BackedUp":
        """Copy the grove to a file while others write; to restore it, open the file."""
        from weft.runtime.transfer.copy_backup import back_up  # noqa: PLC0415 - few calls move a grove

        place = FilePath(path)
        return back_up(
            self.caller.executor,
            self.caller.actor,
            place,
            overwrite=overwrite,
            verify=verify,
            progress=progress,
        )

    def events(
        self, *, after: str | None = None, trees: Sequence[str] | None = None, limit: int = 1_000
    ) -> EventBatch:
        """Events after a cursor (without one, from the first), and the cursor to continue from."""
        return EventLog(self.caller.store, self.caller.actor).read(after=after, trees=trees, limit=limit)

    def follow(
        self,
        *,
        after: str | None = None,
        trees: Sequence[str] | None = None,
        timeout: float | None = None,
    ) -> Subscription:
        """Follow events as they happen: iterate over it, and close it. `after="now"` skips earlier ones."""
        log = EventLog(self.caller.store, self.caller.actor)
        return follow(log, after=after, trees=trees, timeout=timeout)

    def link(
        self,
        one: TreeHandle | NodeHandle | DocumentHandle,
        other: TreeHandle | NodeHandle | DocumentHandle,
        note: str = "",
    ) -> Link:
        """Link any two of node, tree and document."""
        return self.perform(operations.LinkTogether(one=target_of(one), other=target_of(other), note=note))

    def unlink(
        self,
        one: TreeHandle | NodeHandle | DocumentHandle,
        other: TreeHandle | NodeHandle | DocumentHandle,
    ) -> None:
        self.perform(operations.Unlink(one=target_of(one), other=target_of(other)))

    def links(self, target: TreeHandle | NodeHandle | DocumentHandle) -> list[Link]:
        return self._read.links(target_of(target))

    def tag(self, target: TreeHandle | NodeHandle | DocumentHandle, label: str) -> Tag:
        return self.perform(operations.TagTarget(target=target_of(target), label=label))

    def untag(self, target: TreeHandle | NodeHandle | DocumentHandle, label: str) -> None:
        self.perform(operations.Untag(target=target_of(target), label=label))

    def tags(self, target: TreeHandle | NodeHandle | DocumentHandle) -> list[str]:
        return [tag.label for tag in self._read.tags(target_of(target))]

    @property
    def generations(self) -> "Generations[NodeHandle]":
        """Generation: the default agent, spend caps."""
        from weft.runtime.generation.service import Generations  # noqa: PLC0415 - few calls ask a model

        return Generations(self.caller, lambda node: NodeHandle(self, node))

    def do(self, text: str, *, tree: str | None = None, agent: str | None = None) -> "CommandResults":
        """Run commands: `loom.do("→ help")`, in a tree; default: the tree you were last in."""
        from weft.runtime.collaboration.commands.session import (  # noqa: PLC0415 - few calls speak in commands
            run_commands,
        )

        return run_commands(self.caller, self.read.latest_tree() if tree is None else tree, text, agent)

    def calling(
        self, agent: str, *, within: frozenset[Permission] | None = None, run: str | None = None
    ) -> "Grove":
        """The same grove through another agent that acts for you: the intersection of both agents' rights.

        `within` narrows them further; leases held by `run` do not block it.
        """
        return Grove(self.caller.calling(agent, within=within, run=run))

    def agent(self, reference: str) -> "AgentHandle":
        """An agent by name or id: `loom.agent("Muse").run("Look around.", tree=tree)`."""
        from weft.grove.agent import AgentHandle  # noqa: PLC0415 - few calls ask a model

        return AgentHandle(self, self.read.agent(reference))

    def undo(self, steps: int = 1) -> list[HistoryStep]:
        """Undo your own last operations on documents, agents and the planting of trees."""
        return self.perform(undo.Undo(steps=steps))

    def redo(self, steps: int = 1) -> list[HistoryStep]:
        """Redo what you have undone in the grove itself since your last operation there."""
        return self.perform(undo.Redo(steps=steps))

    def history(
        self, limit: int = 50, *, before: int | None = None, agent: str | None = None
    ) -> list[HistoryEntry]:
        """The grove's own history, oldest first; each tree has one too."""
        return self._read.history(None, limit=limit, before=before, agent=agent)


def target_of(thing: TreeHandle | NodeHandle | DocumentHandle) -> TargetRef:
    match thing:
        case TreeHandle():
            return TargetRef(TargetKind.TREE, thing.id)
        case NodeHandle():
            return TargetRef(TargetKind.NODE, thing.id, thing.value.tree_id)
        case DocumentHandle():
            return TargetRef(TargetKind.DOCUMENT, thing.id)


def _agent_type(name: AgentType | str) -> AgentType:
    try:
        return AgentType(name)
    except ValueError:
        raise InvalidInputError(
            f"{name!r} is not a type of agent", hint="use human or model", path="type"
        ) from None


def _mode(mode: Mode | str) -> Mode:
    try:
        return Mode(mode)
    except ValueError:
        raise InvalidInputError(f"{mode!r} is not a mode", hint="use dialogue or buffer") from None


_open_stores: "weakref.WeakSet[Store]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for store in list(_open_stores):
        _close(store)


def _close(store: Store) -> None:
    stop_runs(store)
    stop_workers(store)
    stop_following(store)
    if (feed := sys.modules.get("weft.runtime.live.feed")) is not None:
        # Only if something was ever followed: commands do not load it.
        feed.stop_viewing(store)
    store.close()
