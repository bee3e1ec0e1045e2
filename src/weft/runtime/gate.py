"""The one place where an operation is let through."""

import os
from dataclasses import dataclass
from typing import TypeVar

from weft.ids import Entropy
from weft.runtime.actor import Actor, require_permission
from weft.runtime.clock import Clock, system_clock
from weft.runtime.indexing import wake_follower
from weft.runtime.operations.base import Operation
from weft.runtime.scope import Scope
from weft.store.base import Store
from weft.store.transaction import Transaction

__all__ = ["Gate"]

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Gate:
    """Runs operations: permission, transaction, event."""

    store: Store
    clock: Clock = system_clock
    entropy: Entropy = os.urandom
    accept_clock: bool = False

    def perform(self, actor: Actor, operation: Operation[R]) -> R:
        """Do it, durably, or raise and change nothing."""

        def work(transaction: Transaction) -> R:
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
            return result

        done = self.store.write(work)
        wake_follower(self.store)
        return done
