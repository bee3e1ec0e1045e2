"""What goes on now, for those who follow: runs, their answers, and the text of these as it comes.

One thread of a process looks for all its viewers. It keeps the state of what is under way once; a
viewer only remembers how much of it it has passed on. So a slow one delays no other, and costs
no memory: when it takes again, it gets what came since in one piece.
"""

import contextlib
import hashlib
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from weft.errors import NotFoundError, StorageError, UnavailableError, WeftError
from weft.log import Log
from weft.runtime.events.log import EventFilter, EventLog
from weft.runtime.generation.live_text import shown_texts, text_in_pieces
from weft.runtime.live.presence_and_jobs import (
    JobProgress,
    Presence,
    job_for,
    read_jobs,
    read_presence,
)
from weft.runtime.live.runs import KINDS, Runs, records_from, step_from
from weft.runtime.operations.executor import Caller
from weft.store.base import Store
from weft.store.cursors import touch_cursor
from weft.store.imports import OPEN, ImportRow
from weft.store.model_calls import pieces_of
from weft.store.run_records import (
    RunRecordRow,
    attempts_of_runs,
    last_ended,
    last_steps,
    latest_records,
    steps_of,
)
from weft.store.session import Session
from weft.store.transaction import Transaction
from weft.tree.attempt import AttemptOutcome
from weft.tree.run import RunAttempt, RunRecord, RunStatus, RunStep

_log = Log("weft.live")
_WORD_EVERY, _ROW_EVERY, _IDLE = 0.05, 0.25, 0.5
"""Seconds between two looks: at the words of this process, at the rows of others, while nothing goes on."""
_SLACK = 5_000_000
"""Microseconds by which the clocks of processes may differ."""
_ENDED = 1_000
"""How many ended runs a slow viewer may come late for; events tell of all."""
_MOST_TEXT = 256_000
"""Characters that a viewer takes at once."""
Texts: TypeAlias = Mapping[tuple[int, str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    """More text of an answer."""

    attempt: str
    choice: int
    run: str
    tree: str
    parent: str
    kind: str
    offset: int
    end: int
    text: str


LiveEvent: TypeAlias = RunRecord | RunAttempt | RunStep | TextPart | Presence | JobProgress


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """What goes on at one moment."""

    runs: Mapping[str, RunRecord] = field(default_factory=dict[str, RunRecord])
    keys: Mapping[str, int] = field(default_factory=dict[str, int])
    """The tree of each run."""
    texts: Mapping[str, Texts] = field(default_factory=dict[str, Texts])
    """By attempt."""
    steps: Mapping[str, int] = field(default_factory=dict[str, int])
    presence: Mapping[tuple[int, int], Presence] = field(default_factory=dict[tuple[int, int], Presence])
    """By the keys of tree and agent; only in trees that viewers name."""
    jobs: Mapping[str, ImportRow] = field(default_factory=dict[str, ImportRow])


class LiveFeed:
    """The one thread of a process that looks at what goes on in an open grove."""

    def __init__(self, store: Store) -> None:
        # Weak: a viewer must not keep a dropped grove open.
        self._store = weakref.ref(store)
        self.viewers: weakref.WeakSet[LiveViewer] = weakref.WeakSet()
        self.snapshot = _Snapshot()
        self.ended: deque[tuple[int, RunRecordRow]] = deque(maxlen=_ENDED)
        """The runs that ended of late, numbered."""
        self.count = 0
        self._known: set[str] = set()
        """The ended runs among those it looks at."""
        self._since: int | None = None
        self._stopped = False
        self._woken = threading.Event()
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._looked = threading.Event()
        store.watch(self._woken.set)

    def add(self, viewer: "LiveViewer") -> None:
        with self._guard:
            if self._stopped:
                raise UnavailableError("the grove is closed", hint="open it again")
            self.viewers.add(viewer)
            if self._thread is None:
                self._looked.clear()
                self._thread = threading.Thread(target=self._loop, name="weft-live", daemon=True)
                self._thread.start()
            self._woken.set()
        # The first that it gets is what goes on already.
        self._looked.wait(5)

    def stop(self) -> None:
        with self._guard:
            self._stopped = True
            thread = self._thread
        self._woken.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(5)
        store = self._store()
        if store is not None:
            store.unwatch(self._woken.set)

    def _loop(self) -> None:
        looks = 0
        while True:
            with self._guard:
                store = self._store()
                if self._stopped or not self.viewers or store is None:
                    # The next viewer starts another thread.
                    self._thread, self._since, self.snapshot = None, None, _Snapshot()
                    self._looked.set()
                    return
            local = bool(shown_texts(store))
            try:
                rows = looks == 0
                changed = self._look_at_rows(store) if rows else self._look_at_words(store)
            except (UnavailableError, StorageError):
                changed = False
            except Exception as error:  # noqa: BLE001 - all viewers depend on this thread
                _log.failure("looking at what goes on failed", error)
                changed = False
            self._looked.set()
            del store
            if changed:
                for viewer in list(self.viewers):
                    viewer.notify()
            pause = _WORD_EVERY if local else _ROW_EVERY if self.snapshot.runs else _IDLE
            looks = (looks + 1) % round(_ROW_EVERY / _WORD_EVERY) if local else 0
            if self._woken.wait(pause):
                # Lets a burst of commits be looked at together.
                time.sleep(_WORD_EVERY / 2)
                self._woken.clear()
                looks = 0

    def _look_at_words(self, store: Store) -> bool:
        """What this process hears itself."""
        before = self.snapshot
        known = {each.id for run in before.runs.values() for each in run.attempts}
        texts = {attempt: text.read() for attempt, text in shown_texts(store).items() if attempt in known}
        if all(_lengths(before.texts.get(attempt, {})) == _lengths(text) for attempt, text in texts.items()):
            return False
        self.snapshot = replace(before, texts={**before.texts, **texts})
        return True

    def _look_at_rows(self, store: Store) -> bool:
        """What all processes have written down."""
        with store.read() as session:
            since = last_ended(session) if self._since is None else self._since
            rows = latest_records(session, since - _SLACK)
            running = [row for row in rows if row.is_running]
            snapshot = self._read(session, store, running)
        ended = [row for row in rows if not row.is_running]
        # Those that had ended before the first look are nobody's news.
        news = [] if self._since is None else [row for row in ended if row.run not in self._known]
        self._known = {row.run for row in ended}
        self._since = max([since, *(row.ended_at or 0 for row in ended)])
        for row in news:
            self.count += 1
            self.ended.append((self.count, row))
        changed = bool(news) or _outline(snapshot) != _outline(self.snapshot)
        self.snapshot = snapshot
        return changed

    def _read(self, session: Session, store: Store, running: Sequence[RunRecordRow]) -> _Snapshot:
        local = shown_texts(store)
        texts: dict[str, Texts] = {}
        for row in attempts_of_runs(session, running):
            attempt = row["ulid"]
            if row["nodes"] is None:
                here = local.get(attempt)
                texts[attempt] = (
                    here.read()
                    if here is not None
                    else text_in_pieces(pieces_of(session, row["tree"], row["attempt"]))
                )
        return _Snapshot(
            {each.id: each for each in records_from(session, running, None)},
            {row.run: row.tree for row in running},
            texts,
            last_steps(session, running),
            read_presence(session, {tree for viewer in list(self.viewers) for tree in viewer.named_trees}),
            read_jobs(session),
        )


def _lengths(texts: Texts) -> dict[tuple[int, str], int]:
    return {key: len(text) for key, text in texts.items()}


def _outline(snapshot: _Snapshot) -> object:
    """What makes two snapshots differ."""
    return (
        {run: _state(record) for run, record in snapshot.runs.items()},
        {attempt: _lengths(texts) for attempt, texts in snapshot.texts.items()},
        dict(snapshot.steps),
        dict(snapshot.presence),
        dict(snapshot.jobs),
    )


def _state(record: RunRecord) -> object:
    return record.status, record.stopping, [_state_of(each) for each in record.attempts]


def _state_of(attempt: RunAttempt) -> tuple[object, ...]:
    return attempt.id, attempt.choice, attempt.status, attempt.node


@dataclass(slots=True)
class _Passed:
    """How much of one text was passed on."""

    offset: int = 0
    digest: "hashlib.blake2b" = field(default_factory=hashlib.blake2b)

    def add(self, text: str) -> None:
        self.offset += len(text)
        self.digest.update(text.encode("utf-8", "surrogatepass"))

    def matches(self, text: str) -> bool:
        """Whether what was passed on is how this text begins."""
        begun = text[: self.offset].encode("utf-8", "surrogatepass")
        return len(text) >= self.offset and hashlib.blake2b(begun).digest() == self.digest.digest()


class LiveViewer:
    """What goes on, for one client: take what is new since it last did."""

    def __init__(self, feed: LiveFeed, caller: Caller, *, trees: Sequence[str] | None = None) -> None:
        self._feed = feed
        self._caller = caller
        self._log = EventLog(caller.store, caller.actor)
        self._callback: Callable[[], None] | None = None
        self._closed = False
        self._announced: dict[str, object] = {}
        """State of each run that was passed on."""
        self._attempts: dict[tuple[str, int], object] = {}
        self._passed: dict[tuple[str, int, str], _Passed] = {}
        self._steps: dict[str, int] = {}
        self._present: dict[tuple[int, int], Presence] = {}
        self._jobs: dict[str, ImportRow] = {}
        with caller.store.read() as session:
            self._filter = self._log.filter(session, trees)
        self.named_trees = self._filter.chosen or frozenset[int]()
        """Those whose presence it wants."""
        feed.add(self)
        self._count = feed.count
        # Of what has ended before, only runs and imports that somebody asks for are news.
        self._jobs = {name: row for name, row in feed.snapshot.jobs.items() if row.state not in OPEN}

    def close(self) -> None:
        self._closed = True
        self._feed.viewers.discard(self)
        self.notify()

    def show_presence(self) -> None:
        """Let others see that its agent is in the trees that it names."""
        caller, now = self._caller, self._caller.executor.clock()

        def work(transaction: Transaction) -> None:
            for tree in self.named_trees:
                touch_cursor(transaction, tree, caller.actor.agent, now)

        # The database may be away, or may only be read.
        with contextlib.suppress(WeftError):
            caller.store.write(work)

    def on_change(self, callback: Callable[[], None] | None) -> None:
        """Call this whenever there may be something to take, in the feed's thread: keep it short."""
        self._callback = callback

    def notify(self) -> None:
        callback = self._callback
        if callback is not None:
            callback()

    def take(self) -> list[LiveEvent]:
        """What is new, without waiting; perhaps nothing."""
        if self._closed:
            return []
        self._refresh_rights()
        snapshot, room = self._feed.snapshot, _MOST_TEXT
        events: list[LiveEvent] = []
        shown = self._filter.keys()
        for run, record in snapshot.runs.items():
            if shown is not None and snapshot.keys[run] not in shown:
                continue
            events += self._changes(record)
            events += self._new_steps(snapshot, run)
            for attempt in record.attempts:
                for part in self._new_text(attempt, snapshot.texts.get(attempt.id, {}), room):
                    room -= len(part.text)
                    events.append(part)
        return events + self._endings() + self._others(snapshot)

    def _others(self, snapshot: _Snapshot) -> list[LiveEvent]:
        """Who moved in the trees that it names, and which jobs went on."""
        shown = self._filter.keys()
        moved: list[LiveEvent] = [
            each
            for key, each in snapshot.presence.items()
            if key[0] in self.named_trees
            and (shown is None or key[0] in shown)
            and self._present.get(key) != each
        ]
        self._present = dict(snapshot.presence)
        changed = [row for name, row in snapshot.jobs.items() if self._jobs.get(name) != row]
        self._jobs = dict(snapshot.jobs)
        if changed:
            with self._caller.store.read() as session:
                jobs = [job_for(session, self._caller, row) for row in changed]
            moved += [each for each in jobs if each is not None]
        return moved

    def _refresh_rights(self) -> None:
        if any(link.user is not None for link in self._caller.actor.chain()):
            with self._caller.store.read() as session:
                allowed = self._log.filter(session, None).allowed
            self._filter = EventFilter(allowed, self._filter.chosen, self._filter.names)

    def _changes(self, record: RunRecord) -> list[LiveEvent]:
        events: list[LiveEvent] = []
        is_new = self._announced.get(record.id) != (state := _state(record))
        self._announced[record.id] = state
        for attempt in record.attempts:
            key, now = (attempt.id, attempt.choice), _state_of(attempt)
            if self._attempts.get(key) != now:
                if attempt.status is not AttemptOutcome.RUNNING:
                    events += self._rest_of(attempt)
                self._attempts[key] = now
                events.append(attempt)
        if is_new and record.status is RunStatus.RUNNING:
            return [record, *events]
        # The last that is told of a run is its end.
        return [*events, record] if is_new else events

    def _new_text(self, attempt: RunAttempt, texts: Texts, room: int) -> list[TextPart]:
        parts: list[TextPart] = []
        for kind, name in KINDS.items():
            text = texts.get((attempt.choice, name), "")
            passed = self._passed.setdefault((attempt.id, attempt.choice, kind), _Passed())
            if len(text) > passed.offset and room > 0:
                parts.append(_part(attempt, kind, passed, text[passed.offset : passed.offset + room]))
                room -= len(parts[-1].text)
        return parts

    def _new_steps(self, snapshot: _Snapshot, run: str) -> list[LiveEvent]:
        last, before = snapshot.steps.get(run, 0), self._steps.get(run, 0)
        if last <= before:
            return []
        with self._caller.store.read() as session:
            rows = steps_of(session, snapshot.keys[run], run, before)
        self._steps[run] = rows[-1].ordinal if rows else before
        tree = snapshot.runs[run].tree
        return [step_from(row, tree) for row in rows]

    def _rest_of(self, attempt: RunAttempt) -> list[LiveEvent]:
        """The end of its text, from its node; not where the node says something else than the model did."""
        passed = self._passed.get((attempt.id, attempt.choice, "text"), _Passed())
        if attempt.node is None:
            return []
        try:
            text = Runs(self._caller).text(attempt.id, choice=attempt.choice).text
        except NotFoundError:
            return []
        rest = text[passed.offset :]
        return [_part(attempt, "text", passed, rest)] if rest and passed.matches(text) else []

    def _endings(self) -> list[LiveEvent]:
        """Runs that have ended since it last took."""
        events: list[LiveEvent] = []
        shown = self._filter.keys()
        for number, row in list(self._feed.ended):
            if number <= self._count:
                continue
            self._count = number
            if shown is not None and row.tree not in shown:
                continue
            with self._caller.store.read() as session:
                ended = records_from(session, [row], None)[0]
                before = self._steps.pop(row.run, 0)
                steps = [step_from(each, ended.tree) for each in steps_of(session, row.tree, row.run, before)]
            events += [*steps, *self._changes(ended)]
            self._forget(ended)
        return events

    def _forget(self, run: RunRecord) -> None:
        del self._announced[run.id]
        for attempt in run.attempts:
            self._attempts.pop((attempt.id, attempt.choice), None)
            for kind in KINDS:
                self._passed.pop((attempt.id, attempt.choice, kind), None)


def _part(attempt: RunAttempt, kind: str, passed: _Passed, text: str) -> TextPart:
    start = passed.offset
    passed.add(text)
    return TextPart(
        attempt=attempt.id,
        choice=attempt.choice,
        run=attempt.run,
        tree=attempt.tree,
        parent=attempt.parent,
        kind=kind,
        offset=start,
        end=passed.offset,
        text=text,
    )


_feeds: "weakref.WeakKeyDictionary[Store, LiveFeed]" = weakref.WeakKeyDictionary()
_making = threading.Lock()


def view_live(caller: Caller, *, trees: Sequence[str] | None = None) -> LiveViewer:
    """Look at what goes on from now on. All viewers of one process share one feed."""
    with _making:
        feed = _feeds.get(caller.store)
        if feed is None:
            feed = _feeds[caller.store] = LiveFeed(caller.store)
    return LiveViewer(feed, caller, trees=trees)


def stop_viewing(store: Store) -> None:
    """The grove is being closed."""
    with _making:
        feed = _feeds.pop(store, None)
    if feed is not None:
        feed.stop()
