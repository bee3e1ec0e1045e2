"""One command under way: where it looks, as whom, and what its references name."""

import contextlib
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Self, cast

import typer

from weft.cli.output import Output
from weft.cli.settings import Choices, Settings
from weft.errors import CrossTreeError, InvalidInputError, NotFoundError, PermissionDeniedError
from weft.ids import normalise_reference

if TYPE_CHECKING:
    from weft.grove.document import DocumentHandle
    from weft.grove.grove import Grove
    from weft.grove.node import NodeHandle
    from weft.grove.tree import TreeHandle

__all__ = ["HERE", "Call", "choices_of", "settings_of"]

HERE = "."
"""The reference that means the node you stand at."""


def settings_of(context: typer.Context) -> Settings:
    found = context.find_root().obj
    return found if isinstance(found, Settings) else Settings()


def choices_of(context: typer.Context) -> Choices:
    """The common options, wherever they stood: the one nearest to the command counts."""
    grove = agent = tree = None
    accept_clock = as_json = False
    here: typer.Context | None = context
    while here is not None:
        given = here.params
        grove = given.get("in_grove") if grove is None else grove
        agent = given.get("as_agent") if agent is None else agent
        tree = given.get("in_tree") if tree is None else tree
        accept_clock = accept_clock or bool(given.get("accept_clock"))
        as_json = as_json or bool(given.get("as_json"))
        here = cast("typer.Context | None", here.parent)
    return Choices(grove=grove, agent=agent, tree=tree, accept_clock=accept_clock, json=as_json)


class Call:
    """What a command is handed. The grove is opened when it is first needed, and closed at the end."""

    def __init__(self, settings: Settings, choices: Choices, *, creates: bool = False) -> None:
        self.settings = settings
        self.choices = choices
        self.out = Output(settings, as_json=choices.json)
        self._creates = creates
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

    @cached_property
    def grove(self) -> "Grove":
        """The grove as the chosen agent sees it. Only commands that begin something create one."""
        from weft.grove.grove import open_grove  # noqa: PLC0415 - help and completion do without
        from weft.log import log_to_stderr  # noqa: PLC0415 - help and completion do without

        log_to_stderr()
        settings = self.settings
        grove = self._open.enter_context(
            open_grove(
                settings.address if self.choices.grove is None else self.choices.grove,
                create=self._creates,
                clock=settings.clock,
                entropy=settings.entropy,
                accept_clock=self.choices.accept_clock,
                # A command is soon over; what it leaves to be done is done by whoever stays.
                background=False,
                providers=settings.providers,
            )
        )
        return grove if self.choices.agent is None else grove.acting_as(self.choices.agent)

    @property
    def now(self) -> int:
        return self.settings.clock()

    @cached_property
    def tree(self) -> "TreeHandle":
        """The current tree: the one named, else the one you were last in."""
        named = self.choices.tree
        return self.grove.tree(self.grove.read.latest_tree() if named is None else named)

    def named_tree(self, reference: str | None) -> "TreeHandle":
        """A tree that is about to be put away or destroyed: never just the current one."""
        name = self.choices.tree if reference is None else reference
        if name is None:
            raise InvalidInputError("which tree?", hint="name it by title or id; weft ls shows them")
        return self.grove.tree(name)

    def node(self, reference: str) -> "NodeHandle":
        """A local id of the current tree, TREE/ID, a ULID, or `.` for where you stand.

        What the current tree lacks is looked for in the whole grove, unless a tree was named.
        """
        if reference == HERE:
            return self.tree.cursor
        tree, slash, name = reference.rpartition("/")
        if slash:
            return self.grove.tree(tree).node(name)
        try:
            return self.tree.node(reference)
        except (NotFoundError, CrossTreeError) as missing:
            if self.choices.tree is not None:
                raise
            try:
                return self.grove.node(reference)
            except NotFoundError:
                raise missing from None

    def place(self, reference: str | None) -> tuple["TreeHandle", "NodeHandle | None"]:
        """A node with its tree; or only a tree, named by TREE/ or its title: where you stand in it."""
        if reference is None:
            return self.tree, None
        if reference.endswith("/"):
            return self.grove.tree(reference.removesuffix("/")), None
        try:
            node = self.node(reference)
        except (NotFoundError, InvalidInputError) as missing:
            if self.choices.tree is not None:
                raise
            try:
                return self.grove.tree(reference), None
            except NotFoundError:
                if missing.code == NotFoundError.code and not _is_spelled_as_id(reference):
                    raise NotFoundError(
                        f"no node or tree {reference!r}", hint="weft ls and weft tree show what there is"
                    ) from None
                raise missing from None
        return (self.tree if node.value.tree_id == self.tree.id else node.tree), node

    def target(self, reference: str) -> "NodeHandle | TreeHandle | DocumentHandle":
        """A node, tree or document: tree:TITLE, doc:TITLE, or whatever alone has that name."""
        kind, colon, name = reference.partition(":")
        if colon and kind == "node":
            return self.node(name)
        if colon and kind == "tree":
            return self.grove.tree(name)
        if colon and kind in {"doc", "document"}:
            return self.grove.document(name)
        with contextlib.suppress(NotFoundError, InvalidInputError):
            return self.node(reference)
        found: list[TreeHandle | DocumentHandle] = []
        for look in (self.grove.tree, self.grove.document):
            with contextlib.suppress(NotFoundError, PermissionDeniedError):
                found.append(look(reference))
        if not found:
            raise NotFoundError(
                f"nothing here is called {reference!r}", hint="name a node's id, tree:TITLE or doc:TITLE"
            )
        if len(found) > 1:
            raise InvalidInputError(
                f"a tree and a document are called {reference!r}",
                hint=f"say tree:{reference} or doc:{reference}",
            )
        return found[0]


def _is_spelled_as_id(reference: str) -> bool:
    """Whether ids are written like that; `Loom` is read as one, but nobody means [100m] by it."""
    return normalise_reference(reference) == reference.strip().strip("[]").lower()
