"""The one place where an operation is let through."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from weft.ids import Entropy, random_bytes
from weft.runtime.actor import Actor, require_permission
from weft.runtime.clock import Clock, system_clock
from weft.runtime.contents import ContentCache
from weft.runtime.deletions import finish_deletions
from weft.runtime.operations.base import Destroying, Operation
from weft.runtime.scope import Scope
from weft.store.base import Store
from weft.store.transaction import Transaction

if TYPE_CHECKING:
    from weft.providers.registry import Registry

__all__ = ["Gate"]

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Gate:
    """Runs operations: permission, transaction, event."""

    store: Store
    clock: Clock = system_clock
    entropy: Entropy = random_bytes
    accept_clock: bool = False
    contents: ContentCache = field(default_factory=ContentCache)
    providers: "Registry | None" = None
    """Who can be asked; None: whatever is installed."""

    def perform(self, actor: Actor, operation: Operation[R]) -> R:
        """Do it, durably, or raise and change nothing."""
        return self.perform_told(actor, operation)[0]

    def perform_told(self, actor: Actor, operation: Operation[R]) -> tuple[R, bool]:
        """The same, and whether that changed anything: what is so already is no step."""

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
