"""What a hard delete leaves to be done once it is committed: media files, and traces in the database's own.

Each step may be cut short by a crash and is taken up again: by the next delete, by whoever
opens the grove next, or by calling `finish_deletions`.
"""

import time

from weft.runtime.operations.scope import Scope
from weft.store.base import Store
from weft.store.blobs import media_of_grove, media_of_tree
from weft.store.memory import forget_all_results
from weft.store.transaction import Transaction

_GRACE_SECONDS = 24 * 3600


def announce_deletion(scope: Scope, tree: int | None = None) -> None:
    """Before rows are deleted: note which media may have to go with them, and that traces must.

    A note that turns out wrong, because the delete fails after all, does no harm: what is still
    pointed to stays.
    """
    if tree is not None:
        scope.blobs.announce(media_of_tree(scope.transaction, tree))
    forget_all_results(scope.transaction)
    statement = scope.transaction.dialect.leave_traces()
    if statement is not None:
        scope.transaction.execute(statement)


def finish_deletions(store: Store) -> int:
    """Remove the media that only deleted trees pointed to, and traces of their text; how many files went."""
    leaving = store.blobs.leaving()
    removed = store.write(lambda transaction: _remove(transaction, store, leaving)) if leaving else 0
    store.purge()
    return removed


def _remove(transaction: Transaction, store: Store, leaving: dict[str, int]) -> int:
    """Under the lock that every node with media is written under, so that none is pointed to meanwhile."""
    transaction.grove_state()
    if store.blobs.is_shared():
        return 0
    wanted = set(leaving)
    kept = media_of_grove(transaction, wanted)
    # This transaction may carry another delete that is not committed yet, and may never be.
    with store.read() as session:
        kept |= media_of_grove(session, wanted)
    return sum(store.blobs.depart(ref, leaving[ref], stays=ref in kept) for ref in leaving)


def unreferenced_blobs(store: Store, *, older_than: float = _GRACE_SECONDS) -> list[str]:
    """Refs of stored media that no node points to, and that were not stored in the last seconds given.

    Bytes are stored before the node that points to them: those of the last day may still be waiting.
    None are found in a folder that several groves share, because another may point to them.
    """
    before = time.time_ns() - int(older_than * 1_000_000_000)
    old = [ref for ref, stored_at in store.blobs.all() if stored_at <= before]
    if not old or store.blobs.is_shared():
        return []
    with store.read() as session:
        kept = media_of_grove(session)
    return sorted(set(old) - kept)
