"""Checks of a grove. Nothing is changed, except by `repair`, and then only what is safe."""

import contextlib
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import and_, func, select, update

from weft.error_hints import Hint, HintKind
from weft.errors import StorageError, WeftError
from weft.ids import Clock, system_clock
from weft.store import schema
from weft.store.addresses import blobs_at, default_address, open_store, path_of
from weft.store.base import HealthCheck, HealthLevel, Store, good, note, wrong
from weft.store.blobs import BlobStore, media_of_grove
from weft.store.migrate import HEAD, require_known, schema_version
from weft.store.rows import OUTCOMES
from weft.store.session import Session
from weft.store.transaction import GROVE, Transaction
from weft.store.tree_statements import count_live
from weft.tree.attempt import AttemptOutcome
from weft.tree.json_names import from_microseconds, iso
from weft.tree.progress import Progress, silent

_HOUR = 3_600
_DAY = 24 * _HOUR
_SKEW = 5 * 60 * 1_000_000
_COUNT_LIVE = count_live()
_STEPS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """The findings of all checks."""

    grove: str
    findings: tuple[HealthCheck, ...]
    repaired: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        return all(finding.level is not HealthLevel.WRONG for finding in self.findings)


def examine(
    address: str | Path | None = None,
    *,
    repair: bool = False,
    clock: Clock = system_clock,
    progress: Progress = silent,
) -> Examination:
    """Look a grove over; with `repair`, remove what is not needed and recount first."""
    place = str(address) if address is not None else default_address()
    repaired = tuple(_repair(place)) if repair else ()
    path = path_of(place)
    findings: list[HealthCheck] = []
    try:
        progress(0, _STEPS)
        if path is not None:
            findings.extend(_look_at_path(path))
        with _look_inside(place, path) as (session, look_at_database):
            findings.extend(look_at_database(clock()))
            progress(1, _STEPS)
            findings.extend(_look(session, blobs_at(place), clock(), progress))
    except WeftError as error:
        findings.append(wrong("database", error.message, error.hint))
    name = str(path) if path is not None else place.rpartition("@")[2]
    return Examination(grove=name, findings=tuple(findings), repaired=repaired)


def _look_at_path(path: Path) -> Iterator[HealthCheck]:
    from weft.store.sqlite import look_at_files  # noqa: PLC0415 - a grove needs one store, not both

    if not path.is_file():
        raise StorageError(f"there is no grove at {path}", hint=Hint(HintKind.CREATE_GROVE))
    yield from look_at_files(path)
    for leftover in _leftovers(path):
        words = f"{leftover.name} was left by an interrupted backup"
        yield note("files", words, Hint(HintKind.REPAIR, effect="remove it"))


@contextlib.contextmanager
def _look_inside(
    place: str, path: Path | None
) -> Generator[tuple[Session, Callable[[int], Iterable[HealthCheck]]]]:
    """A session, and the checks of its kind of database."""
    if path is not None:
        from weft.store import sqlite  # noqa: PLC0415 - see above

        with sqlite.look_inside(path) as session:
            yield session, lambda _now: sqlite.look_at_file(session)
    else:
        from weft.store import postgres  # noqa: PLC0415 - see above

        with postgres.look_inside(place) as session:
            yield session, lambda now: postgres.look_at_server(session, now)


def _look(session: Session, blobs: BlobStore, now: int, progress: Progress) -> Iterator[HealthCheck]:
    version = schema_version(session.connection)
    if version != HEAD:
        yield _about_version(version)
        return
    yield good("schema", f"schema {version}, the newest")
    looks = (_look_at_chains, _look_at_counters, _look_at_work, _look_at_clock)
    for step, look in enumerate(looks, 2):
        yield from look(session, now)
        progress(step, _STEPS)
    yield from _look_at_blobs(session, blobs)
    progress(_STEPS, _STEPS)


def _about_version(version: str | None) -> HealthCheck:
    if version is None:
        return wrong("schema", "this is a database, but not a grove", "name another one")
    try:
        require_known(version)
    except StorageError as error:
        return wrong("schema", error.message, error.hint)
    return note(
        "schema", f"schema {version} is brought to {HEAD} when the grove is next opened; look again then"
    )


def _look_at_chains(session: Session, _now: int) -> Iterator[HealthCheck]:
    yield from [wrong("events", words, Hint(HintKind.VERIFY)) for words in broken_chains(session)] or [
        good("events", "every event chain ends with its last event")
    ]


def _look_at_counters(session: Session, _now: int) -> Iterator[HealthCheck]:
    hint = Hint(HintKind.REPAIR, effect="recount them")
    yield from [
        wrong("counters", f"the counters of tree {ulid} are wrong", hint)
        for _, ulid, _ in wrong_counters(session)
    ] or [good("counters", "every tree's counters are true")]


def _look_at_work(session: Session, now: int) -> Iterator[HealthCheck]:
    leases, jobs, attempts = schema.leases, schema.jobs, schema.attempts
    running = attempts.c.outcome == OUTCOMES.index(AttemptOutcome.RUNNING)
    old = attempts.c.started_at < now - _DAY * 1_000_000
    stuck = (
        (leases, leases.c.expires_at < now, "leases expired without being released; others can take them"),
        (
            jobs,
            and_(jobs.c.held_until < now, jobs.c.holder.is_not(None)),
            "jobs are held by a process that ended; they will be retried",
        ),
        (attempts, and_(running, old), "calls of models have been running for more than a day"),
    )
    notes: list[HealthCheck] = []
    for table, condition, words in stuck:
        count = session.execute(select(func.count()).select_from(table).where(condition)).scalar_one()
        if count:
            notes.append(note(table.name, f"{count:,} {words}"))
    yield from notes or [good("work", "no lease, job or call is stuck")]


def _look_at_clock(session: Session, now: int) -> Iterator[HealthCheck]:
    trees = schema.trees
    grove = session.execute(select(schema.grove.c.updated_at)).scalar() or 0
    last = max(grove, session.execute(select(func.max(trees.c.updated_at))).scalar() or 0)
    if last > now + _SKEW:
        yield wrong(
            "clock",
            f"the last change is from {iso(from_microseconds(last))}, but the clock says "
            f"{iso(from_microseconds(now))}: new changes are refused",
            Hint(HintKind.ACCEPT_CLOCK),
        )
    else:
        yield good("clock", "the clock is not behind the last write")


def _look_at_blobs(session: Session, blobs: BlobStore) -> Iterator[HealthCheck]:
    blobs.grove = session.execute(select(schema.grove.c.ulid)).scalar()
    wanted = media_of_grove(session)
    there = {ref for ref, _ in blobs.all()}
    if missing := wanted - there:
        yield wrong(
            "blobs",
            f"{len(missing):,} blobs that nodes point to are missing from {blobs.folder}",
            "copy them from a backup's folder of blobs; the first is " + min(missing),
        )
    else:
        yield good("blobs", f"{len(wanted):,} blobs are referenced, and none is missing")
    if blobs.is_shared():
        yield note("blobs", f"other groves store blobs in {blobs.folder} too")
    elif unused := there - wanted:
        yield note(
            "blobs",
            f"{len(unused):,} blobs are not referenced by any node",
            Hint(HintKind.REPAIR, effect="remove those older than a day"),
        )
    if leftovers := list(blobs.leftovers()):
        yield note(
            "blobs", f"{len(leftovers):,} blobs are incomplete", Hint(HintKind.REPAIR, effect="remove them")
        )


def _leftovers(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f".{path.name}.*.new*"))


def _repair(place: str) -> Iterator[str]:
    """Remove unused files and correct counters: nothing that is needed is lost."""
    path = path_of(place)
    for leftover in _leftovers(path) if path is not None else ():
        if _is_older(leftover, _DAY):
            leftover.unlink(missing_ok=True)
            yield f"removed {leftover.name}"
    store = open_store(place, create=False)
    try:
        yield from _sweep_blobs(store)
        for ulid in store.write(_recount):
            yield f"recounted tree {ulid}"
    finally:
        store.close()


def _sweep_blobs(store: Store) -> Iterator[str]:
    """Only what is old: a blob is stored before the node that points to it."""
    for leftover in list(store.blobs.leftovers()):
        if _is_older(leftover, _DAY):
            leftover.unlink(missing_ok=True)
            yield f"removed incomplete {leftover.name}"
    with store.read() as session:
        store.blobs.grove = session.execute(select(schema.grove.c.ulid)).scalar()
    if store.blobs.is_shared():
        # What another grove needs is unknown.
        return
    old = [(ref, stored) for ref, stored in store.blobs.all() if _is_older(store.blobs.path(ref), _DAY)]
    with store.read() as session:
        wanted = media_of_grove(session)
    unused = [(ref, stored) for ref, stored in old if ref not in wanted]
    store.blobs.announce(ref for ref, _ in unused)
    for ref, stored in unused:
        if store.blobs.depart(ref, stored, stays=False):
            yield f"removed blob {ref}"


def _is_older(path: Path, seconds: float) -> bool:
    try:
        return time.time() - path.stat().st_mtime > seconds
    except FileNotFoundError:
        return False


def _recount(transaction: Transaction) -> list[str]:
    trees = schema.trees
    corrected: list[str] = []
    for key, ulid, counters in list(wrong_counters(transaction)):
        transaction.execute(update(trees).where(trees.c.key == key).values(**counters))
        corrected.append(ulid)
    transaction.forget()
    return corrected


def broken_chains(session: Session) -> Iterator[str]:
    """Chains that do not end with their head, or lack events. No hash is recomputed."""
    events, trees = schema.events, schema.trees
    counts = {
        row.tree: (int(row.there), int(row.last))
        for row in session.execute(
            select(
                events.c.tree, func.count().label("there"), func.max(events.c.ordinal).label("last")
            ).group_by(events.c.tree)
        )
    }
    last = and_(events.c.tree == trees.c.key, events.c.ordinal == trees.c.events)
    listed = select(trees.c.key, trees.c.ulid, trees.c.events, trees.c.head, events.c.hash)
    for row in session.execute(listed.join(events, last, isouter=True).order_by(trees.c.key)):
        if counts.get(row.key, (0, 0)) != (row.events, row.events) or row.head != row.hash:
            yield f"the event chain of tree {row.ulid} does not end with its last event"
    own = session.execute(schema.grove.select()).one_or_none()
    if own is None:
        return
    at_end = (events.c.tree == GROVE, events.c.ordinal == own.events)
    head = session.execute(select(events.c.hash).where(*at_end)).scalar_one_or_none()
    if counts.get(GROVE, (0, 0)) != (own.events, own.events) or own.head != head:
        yield "the grove's own event chain does not end with its last event"


def wrong_counters(session: Session) -> Iterator[tuple[int, str, dict[str, int]]]:
    """Trees whose counters differ from a new count: key, id, and the correct counters."""
    trees = schema.trees
    for row in session.execute(trees.select().order_by(trees.c.key)).all():
        live = session.execute(_COUNT_LIVE, {"in_tree": row.key}).one()
        if (live.nodes, live.branches, live.depth) != (row.nodes, row.branches, row.depth):
            yield row.key, row.ulid, {"nodes": live.nodes, "branches": live.branches, "depth": live.depth}
