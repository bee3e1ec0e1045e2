"""Fetching timestamps that are still to be had: rows in the database, so that a restart loses none."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select, update

from weft.errors import ConflictError, UnavailableError, WeftError
from weft.provenance.authority import Token, request_token
from weft.provenance.stamps import STAMP_STATES, StampStatus
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.permissions import Actor
from weft.runtime.operations.timestamps import Certify, authorities_of
from weft.store import schema
from weft.store.jobs import TIMESTAMP_JOB, drop_waiting, enqueue
from weft.store.session import Session
from weft.store.transaction import Transaction

__all__ = ["Stamped", "fetch_due", "next_try_after", "plan_next", "stamp_pending"]

_stamps = schema.timestamps
_PENDING = STAMP_STATES.index(StampStatus.PENDING)
_UNAVAILABLE = STAMP_STATES.index(StampStatus.UNAVAILABLE)
_FIRST_WAIT = 30 * 1_000_000
_LONGEST_WAIT = 6 * 60 * 60 * 1_000_000
_TRIES = 24
"""With these waits, about four days."""
_SOME = 100


@dataclass(frozen=True, slots=True)
class Stamped:
    """What one round came to."""

    certified: int = 0
    failed: int = 0
    waiting: int = 0


def next_try_after(attempts: int) -> int:
    """Microseconds to wait after so many tries: twice as long each time, up to six hours."""
    return min(_FIRST_WAIT << min(attempts - 1, 20), _LONGEST_WAIT)


def fetch_due(gate: Executor, actor: Actor, *, ended: Callable[[], bool]) -> None:
    """The job: ask for what is due, and be there again when the next try is."""
    stamp_pending(gate, actor, gate.clock(), ended=ended)
    gate.store.write(lambda transaction: plan_next(transaction, gate.clock()))


def plan_next(transaction: Transaction, now: int) -> None:
    """Have the authorities asked again when that is due, if any answer is still to be had."""
    due = select(func.min(_stamps.c.next_try)).where(_stamps.c.status == _PENDING)
    moment = transaction.execute(due).scalar()
    drop_waiting(transaction, TIMESTAMP_JOB)
    if moment is not None:
        enqueue(transaction, TIMESTAMP_JOB, now=now, run_after=moment)


def stamp_pending(
    gate: Executor,
    actor: Actor,
    now: int,
    *,
    everything: bool = False,
    timeout: float = 10.0,
    ended: Callable[[], bool] = lambda: False,
) -> Stamped:
    """Ask the authorities for what is due (or, with `everything`, for all that is pending) once.

    Nothing is locked while they think. A failure is noted with the time of the next try.
    """
    with gate.store.read() as session:
        anchors = {each.url: each.certificates for each in authorities_of(session)}
        rows = _due(session, None if everything else now)
    certified = failed = 0
    for row in rows:
        if ended():
            break
        try:
            token = _ask(row, anchors, timeout)
            gate.perform(actor, Certify(tree=row.tree_ulid, stamp=row.ulid, token=token))
            certified += 1
        except ConflictError:
            continue
        except WeftError as error:
            _note_failure(gate, row, error, now)
            failed += 1
    with gate.store.read() as session:
        pending = select(func.count()).select_from(_stamps).where(_stamps.c.status == _PENDING)
        return Stamped(certified, failed, session.execute(pending).scalar_one())


def _due(session: Session, now: int | None) -> list[Any]:
    trees = schema.trees
    chosen = (
        select(_stamps, trees.c.ulid.label("tree_ulid"))
        .outerjoin(trees, trees.c.key == _stamps.c.tree)
        .where(_stamps.c.status == _PENDING)
        .order_by(_stamps.c.next_try)
        .limit(_SOME)
    )
    return list(session.execute(chosen if now is None else chosen.where(_stamps.c.next_try <= now)))


def _ask(row: Any, anchors: dict[str, str], timeout: float) -> Token:
    certificates = anchors.get(row.authority)
    if certificates is None:
        raise UnavailableError(f"{row.authority} is not one of the authorities any more")
    return request_token(row.authority, row.digest, certificates.encode(), timeout=timeout)


def _note_failure(gate: Executor, row: Any, error: WeftError, now: int) -> None:
    attempts = row.attempts + 1
    over = attempts >= _TRIES

    def work(transaction: Transaction) -> None:
        transaction.execute(
            update(_stamps)
            .where(_stamps.c.tree == row.tree, _stamps.c.ulid == row.ulid, _stamps.c.status == _PENDING)
            .values(
                attempts=attempts,
                next_try=None if over else now + next_try_after(attempts),
                error=error.message[:500],
                status=_UNAVAILABLE if over else _PENDING,
            )
        )

    gate.store.write(work)
