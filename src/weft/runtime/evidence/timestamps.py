"""Timestamps: choose authorities, ask them to certify hashes, store and retry their answers.

Pending timestamps are rows of the database, so that a restart loses none.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select, update

from weft.error_hints import Hint, HintKind
from weft.errors import ConflictError, InvalidInputError, NotFoundError, UnavailableError, WeftError
from weft.provenance.fingerprints import timestamp_fingerprint
from weft.provenance.timestamps import (
    STAMP_STATES,
    StampStatus,
    TimestampToken,
    check_authority,
    heads_statement,
    load_anchors,
    request_token,
)
from weft.runtime.operations.agents import Managing
from weft.runtime.operations.executor import Editing, Executor
from weft.runtime.operations.permissions import Actor, require_permission
from weft.runtime.operations.scope import Scope
from weft.runtime.operations.settings import load_settings, put_preferences
from weft.store import schema
from weft.store.jobs import TIMESTAMP_JOB, drop_waiting, enqueue
from weft.store.session import Session
from weft.store.transaction import GROVE, Transaction
from weft.tree.json_names import to_microseconds

_stamps = schema.timestamps
_PREFERENCE = "timestampAuthorities"
_AUTHORITY_LIMIT = 16
_PENDING = STAMP_STATES.index(StampStatus.PENDING)
_UNAVAILABLE = STAMP_STATES.index(StampStatus.UNAVAILABLE)
_FIRST_WAIT = 30 * 1_000_000
_LONGEST_WAIT = 6 * 60 * 60 * 1_000_000
_TRIES = 24
"""With these waits, about four days."""
_SOME = 100


@dataclass(frozen=True, slots=True)
class Authority:
    """An authority's address, and the certificates that its answers are checked against."""

    url: str
    certificates: str


def authorities_of(session: Session) -> list[Authority]:
    """The authorities that the owner chose; none by default, so that nothing leaves the machine unasked."""
    listed = load_settings(session).get(_PREFERENCE, ())
    return [Authority(each["url"], each["certificates"]) for each in listed]


class SetAuthorities(Managing, verb="choose timestamp authorities"):
    """Choose the timestamp authorities, all of them at once."""

    authorities: Sequence[Authority]

    def apply(self, scope: Scope) -> None:
        self.open_grove(scope)
        if len(self.authorities) > _AUTHORITY_LIMIT:
            raise InvalidInputError(f"a grove has at most {_AUTHORITY_LIMIT} authorities")
        for authority in self.authorities:
            check_authority(authority.url)
            load_anchors(authority.certificates.encode())
        preferences = load_settings(scope.transaction)
        listed = [{"url": each.url, "certificates": each.certificates} for each in self.authorities]
        if preferences.get(_PREFERENCE, []) == listed:
            return
        put_preferences(scope, {**preferences, _PREFERENCE: listed})
        scope.record(None, "prefer", {"authorities": len(listed)}, {})


class RequestTimestamp(Editing, verb="timestamp"):
    """Ask for a node's hash, or (without a node) the heads of all chains, to be certified.

    Writes one pending row for each authority; the background asks the authorities.
    """

    tree: str | None = None
    node: str | None = None
    authorities: Sequence[str] = ()

    def apply(self, scope: Scope) -> list[str]:
        transaction = scope.transaction
        tree = None if self.tree is None else scope.open_tree(self.tree, archived=True)
        if tree is None:
            grove = scope.open_grove()
            transaction.flush()
            statement = heads_statement(transaction)
            target, digest = grove.ulid, hashlib.sha256(statement.encode()).digest()
        else:
            row = scope.node(tree, self.node or "")
            statement, target, digest = None, row.ulid, row.hash
        made: list[str] = []
        for url in self._chosen(transaction):
            stamp: dict[str, Any] = {
                "tree": GROVE if tree is None else tree.key,
                "ulid": scope.new_ulid(),
                "target": target,
                "statement": statement,
                "digest": digest,
                "authority": url,
                "status": STAMP_STATES.index(StampStatus.PENDING),
                "token": None,
                "certificates": None,
                "certified_at": None,
                "attempts": 0,
                "next_try": scope.now,
                "error": None,
                "created_at": scope.now,
            }
            transaction.add(_stamps, stamp)
            scope.add_fingerprint(timestamp_fingerprint(stamp))
            made.append(stamp["ulid"])
        drop_waiting(transaction, TIMESTAMP_JOB)
        enqueue(transaction, TIMESTAMP_JOB, now=scope.now)
        scope.record(tree, self.verb, {"timestamps": made, "target": target}, {})
        return made

    def _chosen(self, session: Session) -> list[str]:
        known = [authority.url for authority in authorities_of(session)]
        if not known:
            raise InvalidInputError(
                "no timestamp authority is set: nothing leaves the machine unasked",
                hint=Hint(HintKind.ADD_AUTHORITY),
            )
        for url in self.authorities:
            if url not in known:
                raise NotFoundError(
                    f"{url[:200]!r} is not one of the grove's authorities",
                    hint=Hint(HintKind.LIST_AUTHORITIES),
                )
        return list(dict.fromkeys(self.authorities)) or known


class Certify(Editing, verb="certify"):
    """Store an authority's checked answer."""

    tree: str | None
    stamp: str
    token: TimestampToken

    def apply(self, scope: Scope) -> None:
        transaction = scope.transaction
        tree = None if self.tree is None else scope.open_tree(self.tree, archived=True)
        if tree is None:
            scope.open_grove()
        mine = (_stamps.c.tree == (GROVE if tree is None else tree.key)) & (_stamps.c.ulid == self.stamp)
        row = transaction.execute(select(_stamps).where(mine)).mappings().one_or_none()
        if row is None:
            raise NotFoundError(f"no timestamp {self.stamp}")
        if row["token"] is not None:
            raise ConflictError("it is certified already")
        changes: dict[str, Any] = {
            "status": STAMP_STATES.index(StampStatus.CERTIFIED),
            "token": self.token.response,
            "certificates": self.token.certificates,
            "certified_at": to_microseconds(self.token.time),
            "next_try": None,
            "error": None,
        }
        transaction.execute(update(_stamps).where(mine).values(**changes))
        scope.add_fingerprint(timestamp_fingerprint({**row, **changes}))
        scope.record(tree, self.verb, {"timestamp": self.stamp}, {})


@dataclass(frozen=True, slots=True)
class Stamped:
    """The result of asking the authorities once."""

    certified: int = 0
    failed: int = 0
    waiting: int = 0


def next_try_after(attempts: int) -> int:
    """Microseconds to wait after so many tries: twice as long each time, up to six hours."""
    return min(_FIRST_WAIT << min(attempts - 1, 20), _LONGEST_WAIT)


def fetch_due(executor: Executor, actor: Actor, *, ended: Callable[[], bool]) -> None:
    """The job: ask for what is due, and schedule the next try."""
    stamp_pending(executor, actor, executor.clock(), ended=ended)
    executor.store.write(lambda transaction: plan_next(transaction, executor.clock()))


def plan_next(transaction: Transaction, now: int) -> None:
    """Schedule the next try of the timestamps that are still pending."""
    due = select(func.min(_stamps.c.next_try)).where(_stamps.c.status == _PENDING)
    moment = transaction.execute(due).scalar()
    drop_waiting(transaction, TIMESTAMP_JOB)
    if moment is not None:
        enqueue(transaction, TIMESTAMP_JOB, now=now, run_after=moment)


def stamp_pending(
    executor: Executor,
    actor: Actor,
    now: int,
    *,
    everything: bool = False,
    timeout: float = 10.0,
    ended: Callable[[], bool] = lambda: False,
) -> Stamped:
    """Ask the authorities for what is due (or, with `everything`, for all that is pending) once.

    No lock is held meanwhile. A failure is stored with the time of the next try.
    """
    with executor.store.read() as session:
        require_permission(session, actor, Certify.permission, "fetch timestamps")
        anchors = {each.url: each.certificates for each in authorities_of(session)}
        rows = _due(session, None if everything else now)
    certified = failed = 0
    for row in rows:
        if ended():
            break
        try:
            token = _ask(row, anchors, timeout)
            executor.perform(actor, Certify(tree=row.tree_ulid, stamp=row.ulid, token=token))
            certified += 1
        except ConflictError:
            continue
        except WeftError as error:
            _note_failure(executor, row, error, now)
            failed += 1
    with executor.store.read() as session:
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


def _ask(row: Any, anchors: dict[str, str], timeout: float) -> TimestampToken:
    certificates = anchors.get(row.authority)
    if certificates is None:
        raise UnavailableError(f"{row.authority} is no longer one of the grove's authorities")
    return request_token(row.authority, row.digest, certificates.encode(), timeout=timeout)


def _note_failure(executor: Executor, row: Any, error: WeftError, now: int) -> None:
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

    executor.store.write(work)
