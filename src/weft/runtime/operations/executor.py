"""Execute operations: permission check, transaction, event."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar, dataclass_transform

from weft.ids import Clock, Entropy, random_bytes, system_clock
from weft.runtime.operations.node_values import ContentCache
from weft.runtime.operations.permissions import Actor, require_permission
from weft.runtime.operations.scope import Scope
from weft.store.base import Store
from weft.store.blobs import media_of_grove, media_of_tree
from weft.store.kept_answers import forget_answers
from weft.store.lookup import find_agent
from weft.store.memory import forget_all_results
from weft.store.session import Session
from weft.store.transaction import GROVE, Transaction
from weft.tree.access import MemberRole
from weft.tree.agent import Permission

if TYPE_CHECKING:
    from weft.providers.base import ProviderRegistry


R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Operation(Protocol[R_co]):
    """A frozen value that says which rights it needs and how it is applied."""

    verb: ClassVar[str]
    """What it does, as in "ask the human to …"; also the kind of its event."""
    permission: ClassVar[Permission]
    access: ClassVar[MemberRole]

    def apply(self, scope: Scope) -> R_co: ...


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class Editing:
    """Base of operations, with the rights that most of them need.

    A subclass that names its verb becomes a frozen dataclass: `class Bookmark(Editing, verb="bookmark")`.
    """

    verb: ClassVar[str]
    permission: ClassVar[Permission] = Permission.LOOM_WRITE
    access: ClassVar[MemberRole] = MemberRole.EDITOR

    def __init_subclass__(
        cls, *, verb: str = "", permission: Permission | None = None, access: MemberRole | None = None
    ) -> None:
        super().__init_subclass__()
        cls.permission = cls.permission if permission is None else permission
        cls.access = cls.access if access is None else access
        if verb:
            cls.verb = verb
            dataclass(frozen=True, kw_only=True)(cls)


class Destroying(Editing, access=MemberRole.OWNER):
    """Base of operations that delete for good: after the commit, files are cleaned of the deleted data."""


@dataclass(frozen=True, slots=True)
class Executor:
    """Runs operations on one store: permission check, one transaction, one event at least."""

    store: Store
    clock: Clock = system_clock
    entropy: Entropy = random_bytes
    accept_clock: bool = False
    contents: ContentCache = field(default_factory=ContentCache)
    providers: "ProviderRegistry | None" = None
    """The model providers; None: all that are installed."""

    def scope(self, transaction: Transaction, actor: Actor, access: MemberRole) -> Scope:
        """What an operation that needs this role works with."""
        return Scope(
            transaction, actor, access, self.clock, self.entropy, self.store.blobs, self.accept_clock
        )

    def perform(self, actor: Actor, operation: Operation[R]) -> R:
        """Apply the operation durably, or raise and change nothing."""
        return self.perform_if_changed(actor, operation)[0]

    def perform_if_changed(self, actor: Actor, operation: Operation[R]) -> tuple[R, bool]:
        """Apply the operation; also return whether it changed anything (no change records no event)."""

        def work(transaction: Transaction) -> tuple[R, bool]:
            require_permission(transaction, actor, operation.permission, operation.verb)
            scope = self.scope(transaction, actor, operation.access)
            before = transaction.writes
            result = operation.apply(scope)
            if transaction.writes != before and scope.events == 0:
                raise RuntimeError(f"{operation.verb} changed something without recording it")
            return result, scope.events > 0

        if isinstance(operation, Destroying):
            result = self.store.write(work)
            finish_deletions(self.store)
            self.contents.clear()
        else:
            result = self.store.write(work, tree=getattr(operation, "tree", None))
        for watcher in self.store.watchers:
            watcher()
        return result


@dataclass(frozen=True, slots=True)
class Caller:
    """An agent acting through an executor: what every room of the runtime receives."""

    executor: Executor
    actor: Actor

    @property
    def store(self) -> Store:
        return self.executor.store

    @contextmanager
    def reading(
        self, permission: Permission = Permission.LOOM_AWARE, verb: str = "look"
    ) -> Generator[Session]:
        """A session to read in, refused without the permission."""
        with self.store.read() as session:
            require_permission(session, self.actor, permission, verb)
            yield session

    def perform(self, operation: Operation[R]) -> R:
        """Apply one operation as this caller."""
        return self.executor.perform(self.actor, operation)

    def perform_if_changed(self, operation: Operation[R]) -> tuple[R, bool]:
        return self.executor.perform_if_changed(self.actor, operation)

    def acting_as(self, agent: str) -> "Caller":
        """Act as another agent, with that agent's rights."""
        with self.store.read() as session:
            return Caller(self.executor, Actor(find_agent(session, agent)))

    def calling(
        self, agent: str, *, within: frozenset[Permission] | None = None, run: str | None = None
    ) -> "Caller":
        """Act through another agent on this caller's behalf: the intersection of both agents' rights.

        `within` narrows them further; leases held by `run` do not block it.
        """
        me = self.actor
        with self.store.read() as session:
            key = find_agent(session, agent)
        if key != me.agent:
            return Caller(self.executor, Actor(key, me.user, me, within, run))
        narrowed = within if me.within is None else me.within & (me.within if within is None else within)
        return Caller(self.executor, Actor(key, me.user, me.caller, narrowed, run))


def announce_deletion(scope: Scope, tree: int | None = None) -> None:
    """Before rows are deleted: note the media that may have to be removed with them, and that traces must be.

    If the deletion fails after all, the note does no harm: media that a node points to are not removed.
    """
    if tree is not None:
        scope.blobs.announce(media_of_tree(scope.transaction, tree))
    forget_all_results(scope.transaction)
    forget_answers(scope.transaction, GROVE if tree is None else tree)
    statement = scope.transaction.dialect.leave_traces()
    if statement is not None:
        scope.transaction.execute(statement)


def finish_deletions(store: Store) -> int:
    """Remove media that only deleted trees pointed to, and traces of their text; return how many files.

    A crash may interrupt it: the next deletion, or the next opening of the grove, continues.
    """
    leaving = store.blobs.leaving()
    removed = store.write(lambda transaction: _remove(transaction, store, leaving)) if leaving else 0
    store.purge()
    return removed


def _remove(transaction: Transaction, store: Store, leaving: dict[str, int]) -> int:
    """Holds the lock under which every node with media is written, so that none is pointed to meanwhile."""
    transaction.grove_state()
    if store.blobs.is_shared():
        return 0
    used = media_of_grove(transaction, set(leaving))
    # This transaction may contain another deletion that is not committed yet, and may never be.
    with store.read() as session:
        used |= media_of_grove(session, set(leaving))
    return sum(store.blobs.depart(ref, leaving[ref], stays=ref in used) for ref in leaving)
