"""Signs of life: cursors that were touched of late show others who is there, by node."""

import contextlib
from collections.abc import Callable, Generator

from weft.errors import WeftError
from weft.runtime.coordination.heartbeat import beating
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.permissions import require_permission, tree_for
from weft.store.cursors import touch_cursor
from weft.store.transaction import Transaction
from weft.tree.agent import Permission

_EVERY_SECONDS = 30.0


def show_presence(caller: Caller, tree: str) -> None:
    """Show the acting agent as present. An agent without a cursor in the tree is not shown."""
    executor, actor = caller.executor, caller.actor

    def work(transaction: Transaction) -> None:
        require_permission(transaction, actor, Permission.LOOM_AWARE, "be present")
        key = tree_for(transaction, actor, tree)
        touch_cursor(transaction, key, actor.agent, executor.clock())

    executor.store.write(work)


@contextlib.contextmanager
def being_present(caller: Caller, tree: Callable[[], str | None]) -> Generator[None]:
    """Give a sign of life now, and every half minute while the body runs, in the tree that one is in by then."""

    def show() -> None:
        here = tree()
        if here is not None:
            show_presence(caller, here)

    def beat() -> bool:
        # The tree may be gone or the database away; the next beat may find another, or the database back.
        with contextlib.suppress(WeftError):
            show()
        return True

    show()
    with beating(beat, hold=3 * _EVERY_SECONDS):
        yield
