"""Execute operations: permission check, transaction, event."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

from weft.ids import Entropy, random_bytes
from weft.runtime.operations.clock import Clock, system_clock
from weft.runtime.operations.content_cache import ContentCache
from weft.runtime.operations.deletion import finish_deletions
from weft.runtime.operations.permissions import Actor, require_permission
from weft.runtime.operations.scope import Scope
from weft.store.base import Store
from weft.store.lookup import find_agent
from weft.store.transaction import Transaction
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


class Destroying:
    """Mixin of operations that delete for good: after the commit, files are cleaned of the deleted data."""

    __slots__ = ()


class Editing:
    """Mixin with the rights that most operations need."""

    permission: ClassVar[Permission] = Permission.LOOM_WRITE
    access: ClassVar[MemberRole] = MemberRole.EDITOR


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

    def perform(self, actor: Actor, operation: Operation[R]) -> R:
        """Apply the operation durably, or raise and change nothing."""
        return self.perform_if_changed(actor, operation)[0]

    def perform_if_changed(self, actor: Actor, operation: Operation[R]) -> tuple[R, bool]:
        """Apply the operation; also return whether it changed anything (no change records no event)."""

        def work(transaction: Transaction) -> tuple[R, bool]:
            require_permission(transaction, actor, operation.permission, operation.verb)
            scope = Scope(
                transaction,
                actor,
                operation.access,
                self.clock,
                self.entropy,
                self.store.blobs,
                self.accept_clock,
            )
            before = transaction.writes
            result = operation.apply(scope)
            if transaction.writes != before and scope.events == 0:
                raise RuntimeError(f"{operation.verb} changed something without recording it")
            return result, scope.events > 0

        result = self.store.write(work)
        if isinstance(operation, Destroying):
            finish_deletions(self.store)
            self.contents.clear()
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
