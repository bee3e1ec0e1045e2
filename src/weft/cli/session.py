"""One run of a command: its settings, its global options, and what its references name."""

import contextlib
import gc
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, cast

import typer

from weft.cli.output import Output
from weft.errors import (
    CrossTreeError,
    InvalidInputError,
    NotFoundError,
    PermissionDeniedError,
    StorageError,
)
from weft.ids import Clock, Entropy, normalise_reference, system_clock

if TYPE_CHECKING:
    from weft.grove.document import DocumentHandle
    from weft.grove.grove import Grove
    from weft.grove.node import NodeHandle
    from weft.grove.tree import TreeHandle
    from weft.providers.base import ProviderRegistry

HERE = "."
"""The reference to the node at the cursor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What commands take from their surroundings.

    Passed to the app as its context object; tests and generated pages set their own,
    so that the same commands give the same bytes.
    """

    address: str | Path | None = None
    """The grove if --grove is not given. None: WEFT_GROVE, else the default grove."""
    create: bool = False
    """Create the grove if it does not exist, as --create does."""
    clock: Clock = system_clock
    entropy: Entropy = os.urandom
    width: int | None = None
    """Columns of the terminal. None: as many as it has."""
    terminal: bool | None = None
    """Whether stdout is a terminal. None: ask stdout."""
    providers: "ProviderRegistry | None" = None
    """The providers of models. None: all that are installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalOptions:
    """The options every command has, before or after its name."""

    grove: str | None = None
    create: bool = False
    agent: str | None = None
    tree: str | None = None
    accept_clock: bool = False
    json: bool = False


def settings_of(context: typer.Context) -> Settings:
    settings = context.find_root().obj
    return settings if isinstance(settings, Settings) else Settings()


def options_of(context: typer.Context) -> GlobalOptions:
    """The global options; of several values, the one nearest to the command counts."""
    values: dict[str, object] = {}
    here: typer.Context | None = context
    while here is not None:
        for name, value in here.params.items():
            values[name] = values.get(name) or value
        here = cast("typer.Context | None", here.parent)
    return GlobalOptions(
        grove=cast("str | None", values.get("in_grove")),
        create=bool(values.get("create_grove")),
        agent=cast("str | None", values.get("as_agent")),
        tree=cast("str | None", values.get("in_tree")),
        accept_clock=bool(values.get("accept_clock")),
        json=bool(values.get("as_json")),
    )


class CliSession:
    """What a command is given. The grove is opened when it is first needed, and closed at the end."""

    def __init__(self, settings: Settings, options: GlobalOptions, *, creates: bool = False) -> None:
        self.settings = settings
        self.options = options
        self.out = Output(
            settings.clock, terminal=settings.terminal, width=settings.width, as_json=options.json
        )
        self._creates = creates or options.create or settings.create
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    @property
    def address(self) -> str | Path | None:
        """The grove that was named; None for the default one."""
        return self.options.grove or self.settings.address or os.environ.get("WEFT_GROVE") or None

    @cached_property
    def grove(self) -> "Grove":
        """The grove as the chosen agent sees it."""
        # A command ends soon; a server does the background work.
        return self.open_grove(background=False)

    def open_grove(self, *, background: bool) -> "Grove":
        """Open the grove until the command ends.

        The default grove is created when it is first used. A named one must exist: a mistyped
        path would look like an empty grove.
        """
        # A collection in the midst of so many imports finds nothing and takes 8 % of the start.
        gc.disable()
        try:
            from weft.grove.grove import open_grove  # noqa: PLC0415 - 300 ms; help and errors do without
        finally:
            gc.enable()

        from weft.log import log_to_stderr  # noqa: PLC0415 - help and errors do without

        log_to_stderr()
        address, settings = self.address, self.settings
        if address is not None and not self._creates:
            _require_grove(str(address))
        grove = self._open.enter_context(
            open_grove(
                address,
                create=address is None or self._creates,
                clock=settings.clock,
                entropy=settings.entropy,
                accept_clock=self.options.accept_clock,
                background=background,
                providers=settings.providers,
            )
        )
        return grove if self.options.agent is None else grove.acting_as(self.options.agent)

    @property
    def now(self) -> int:
        return self.settings.clock()

    @cached_property
    def tree(self) -> "TreeHandle":
        """The current tree: the one named by --tree, else the last one used."""
        named = self.options.tree
        return self.grove.tree(self.grove.read.latest_tree() if named is None else named)

    @cached_property
    def agent_names(self) -> dict[str, str]:
        """The names of all agents, archived ones too, by id."""
        return {agent.id: agent.name for agent in self.grove.read.agents(archived=True)}

    def tree_or_current(self, reference: str | None) -> "TreeHandle":
        return self.tree if reference is None else self.grove.tree(reference)

    def named_tree(self, reference: str | None) -> "TreeHandle":
        """A tree to archive or delete: never just the current one."""
        name = self.options.tree if reference is None else reference
        if name is None:
            raise InvalidInputError("name a tree", hint="weft ls lists titles and ids")
        return self.grove.tree(name)

    def node(self, reference: str) -> "NodeHandle":
        """A local id of the current tree, TREE/ID, a ULID, or `.` for the cursor.

        What the current tree lacks is looked up in the whole grove, unless a tree was named.
        """
        if reference == HERE:
            return self.tree.cursor
        tree, slash, name = reference.rpartition("/")
        if slash:
            return self.grove.tree(tree).node(name)
        try:
            return self.tree.node(reference)
        except (NotFoundError, CrossTreeError) as missing:
            if self.options.tree is not None:
                raise
            try:
                return self.grove.node(reference)
            except NotFoundError:
                raise missing from None

    def place(self, reference: str | None) -> tuple["TreeHandle", "NodeHandle | None"]:
        """A node with its tree; or only a tree, named by TREE/ or its title, which means its cursor."""
        if reference is None:
            return self.tree, None
        if reference.endswith("/"):
            return self.grove.tree(reference.removesuffix("/")), None
        try:
            node = self.node(reference)
        except (NotFoundError, InvalidInputError) as missing:
            if self.options.tree is not None:
                raise
            try:
                return self.grove.tree(reference), None
            except NotFoundError:
                if not _is_spelled_as_id(reference):
                    raise NotFoundError(
                        f"no node or tree {reference!r}", hint="weft ls lists trees, weft tree lists nodes"
                    ) from None
                raise missing from None
        return (self.tree if node.value.tree_id == self.tree.id else node.tree), node

    def target(self, reference: str) -> "NodeHandle | TreeHandle | DocumentHandle":
        """A node, tree or document: an id, tree:TITLE, doc:TITLE, or a title that only one of them has."""
        document = self.grove.document
        kinds = {"node": self.node, "tree": self.grove.tree, "doc": document, "document": document}
        kind, colon, name = reference.partition(":")
        if colon and kind in kinds:
            return kinds[kind](name)
        with contextlib.suppress(NotFoundError, InvalidInputError):
            return self.node(reference)
        matches: list[TreeHandle | DocumentHandle] = []
        for look_up in (self.grove.tree, document):
            with contextlib.suppress(NotFoundError, PermissionDeniedError):
                matches.append(look_up(reference))
        if not matches:
            raise NotFoundError(
                f"no node, tree or document {reference!r}", hint="use a node's id, tree:TITLE or doc:TITLE"
            )
        if len(matches) > 1:
            raise InvalidInputError(
                f"a tree and a document are called {reference!r}",
                hint=f"use tree:{reference} or doc:{reference}",
            )
        return matches[0]


def _require_grove(address: str) -> None:
    """Refuse a file that does not exist; whether a database holds a grove is known once it is open."""
    from weft.store.addresses import path_of  # noqa: PLC0415 - loads with the store

    path = path_of(address)
    if path is not None and not path.exists():
        raise StorageError(
            f"there is no grove at {path}",
            hint="check the path, or create it: weft new TITLE, or add --create",
        )


def _is_spelled_as_id(reference: str) -> bool:
    """True if ids are written like that; `Loom` can be read as [100m], but is not meant so."""
    try:
        return normalise_reference(reference) == reference.strip().strip("[]").lower()
    except InvalidInputError:
        return False
