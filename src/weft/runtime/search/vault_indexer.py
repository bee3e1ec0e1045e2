"""The index of mounted vaults: brought up to date before a search, and by a thread that watches the folders."""

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

import orjson

from weft.error_hints import Hint, HintKind
from weft.errors import NotFoundError, WeftError
from weft.knowledge import embeddings
from weft.knowledge.folder import Folder, ScannedFile
from weft.knowledge.notes import Mounted, note_text
from weft.knowledge.passages import cut_passages, embedded_text, facts_of
from weft.runtime.coordination.background import BackgroundWorker, worker_of
from weft.runtime.operations.projects import load_vaults
from weft.store.base import Store
from weft.store.session import Session
from weft.store.vault_index import (
    KnownNote,
    NoteEntry,
    PassageEntry,
    VaultChanges,
    forget_vault,
    known_notes,
    mounted_keys,
    version_of,
    write_changes,
)
from weft.tree.progress import Progress
from weft.tree.reference import Vault
from weft.tree.word_splits import FOLDING, split_words

_CUT = 1
"""Raised whenever the same note would give other passages."""
_PLAIN = f"{FOLDING}.{_CUT}."
_EMBEDDED = _PLAIN + embeddings.MODEL
"""The forms in which a note may be indexed."""
_FILES, _CHARACTERS = 400, 2_000_000
"""Of one write."""
_JUST_NOW, _UNSURE = 0.1, "?"
"""Seconds in which a file may be written twice without another stamp: such a file is read again."""
_RECENT, _MANY = 1.0, 2_000
"""A folder of so many files is not compared by a search so many seconds after the watcher did."""
_ATTEMPTS = 20


class IndexRound(NamedTuple):
    """What one round did."""

    changed: int = 0
    removed: int = 0
    complete: bool = True
    """False if the time was too short, or others wrote at the same time."""


@dataclass(slots=True)
class _Known:
    """What this process knows of a vault's index."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    version: int = -1
    notes: dict[str, KnownNote] = field(default_factory=dict[str, KnownNote])
    checked: float = 0.0
    """When the folder was last compared, by the monotonic clock."""

    def refresh(self, store: Store, vault: int) -> None:
        with store.read() as session:
            version = version_of(session, vault)
            if version != self.version:
                self.notes, self.version = known_notes(session, vault), version


_known: "weakref.WeakKeyDictionary[Store, dict[int, _Known]]" = weakref.WeakKeyDictionary()
_guard = threading.Lock()


def _known_of(store: Store, vault: int) -> _Known:
    with _guard:
        return _known.setdefault(store, {}).setdefault(vault, _Known())


def vault_key(session: Session, vault: Vault) -> int:
    """The key of a vault that is mounted."""
    key = mounted_keys(session).get(vault.id)
    if key is None:
        raise NotFoundError(
            f"the vault {vault.name!r} is not mounted any more", hint=Hint(HintKind.LIST_VAULTS)
        )
    return key


def index_vault(
    store: Store,
    vault: Vault,
    *,
    seconds: float | None = None,
    progress: Progress | None = None,
    ended: Callable[[], bool] = lambda: False,
) -> IndexRound:
    """Index what was changed in a vault's folder since the last time; remove what is gone."""
    folder = Mounted([vault]).folder(vault)
    with store.read() as session:
        key = vault_key(session, vault)
    deadline = None if seconds is None else time.monotonic() + seconds
    known = _known_of(store, key)
    with known.lock:
        began = time.monotonic()
        files = folder.scan()
        for _ in range(_ATTEMPTS):
            known.refresh(store, key)
            written = _Pending.of(folder, files, known).write(store, key, deadline, progress, ended)
            if written is not None:
                known.checked = began if written.complete else 0.0
                return written
        return IndexRound(complete=False)


@dataclass(frozen=True, slots=True)
class _Pending:
    """What of a folder is not indexed as it is now."""

    folder: Folder
    known: _Known
    files: Sequence[ScannedFile]
    removed: Sequence[int]

    @classmethod
    def of(cls, folder: Folder, files: Sequence[ScannedFile], known: _Known) -> "_Pending":
        new = [file for file in files if is_new(file, known.notes)]
        removed: list[int] = []
        if len(files) - len(new) < len(known.notes):
            here = {file.path for file in files}
            removed = [note.key for path, note in known.notes.items() if path not in here]
        return cls(folder, known, new, removed)

    def write(
        self,
        store: Store,
        vault: int,
        deadline: float | None,
        progress: Progress | None,
        ended: Callable[[], bool],
    ) -> IndexRound | None:
        """Write it portion by portion; None if another process has written meanwhile."""
        version, removed, done = self.known.version, self.removed, 0
        for portion in self._portions():
            changes = portion.changes(version, removed)
            written = store.write(
                lambda transaction, changes=changes: write_changes(transaction, vault, changes)
            )
            if written is None:
                return None
            version, removed, done = written, (), done + portion.size
            if progress is not None:
                progress(done, len(self.files))
            if ended() or (deadline is not None and time.monotonic() > deadline):
                return IndexRound(done, len(self.removed), complete=False)
        return IndexRound(done, len(self.removed))

    def _portions(self) -> Iterator["_Portion"]:
        portion, characters = _Portion(), 0
        for file in self.files:
            characters += portion.add(self.folder, file, self.known.notes.get(file.path))
            if portion.size >= _FILES or characters >= _CHARACTERS:
                yield portion
                portion, characters = _Portion(), 0
        if portion.size or self.removed:
            yield portion


def is_new(file: ScannedFile, notes: dict[str, KnownNote], *, surely: bool = False) -> bool:
    """Whether a file is not indexed as it is. Vectors of another process are kept where none can be made."""
    known = notes.get(file.path)
    if known is None or (known.stamp.removeprefix(_UNSURE) if surely else known.stamp) != file.stamp:
        return True
    return not _fits(known.form)


def _fits(form: str) -> bool:
    """Whether a note was cut and embedded as it would be here."""
    return form == _EMBEDDED if embeddings.is_installed() else form.startswith(_PLAIN)


@dataclass(slots=True)
class _Portion:
    """Files that are read and cut, to be written at once."""

    size: int = 0
    replaced: list[int] = field(default_factory=list[int])
    touched: list[tuple[int, str, int]] = field(default_factory=list[tuple[int, str, int]])
    entries: list[NoteEntry] = field(default_factory=list[NoteEntry])
    texts: list[str] = field(default_factory=list[str])
    """What is embedded, passage by passage."""

    def add(self, folder: Folder, file: ScannedFile, known: KnownNote | None) -> int:
        """Read one file; returns its number of characters."""
        self.size += 1
        # A file that was written a moment ago may be written again without looking changed.
        stamp = _UNSURE + file.stamp if time.time() - file.modified < _JUST_NOW else file.stamp
        modified = int(file.modified * 1_000_000)
        form = _EMBEDDED if embeddings.is_installed() else _PLAIN
        entry = NoteEntry(path=file.path, stamp=stamp, modified=modified, form=form, skipped=file.problem)
        text = ""
        if file.problem is None:
            try:
                read = folder.read(file.path, scanned=True)
                text = note_text(read)
                entry = replace(entry, sha256=read.digest)
            except WeftError as error:
                entry = replace(entry, skipped=error.message)
            if "\0" in text:
                entry = replace(entry, skipped="it is binary", sha256=None)
        if known is not None:
            if entry.sha256 is not None and known.sha256 == entry.sha256 and _fits(known.form):
                self.touched.append((known.key, stamp, modified))
                return len(text)
            self.replaced.append(known.key)
        self.entries.append(entry if entry.skipped else self._cut(entry, text))
        return len(text)

    def _cut(self, entry: NoteEntry, text: str) -> NoteEntry:
        facts = facts_of(text)
        name = entry.path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        title = next(iter(facts.front.get("title", ())), name)
        named = split_words(" ".join(dict.fromkeys([name, *facts.names, *sorted(facts.tags)])))
        passages: list[PassageEntry] = []
        headings: dict[str, None] = {}
        for passage in cut_passages(text):
            heading = " › ".join(passage.headings)
            headings[heading] = None
            words = [*named, *split_words(heading)]
            passages.append(
                PassageEntry(heading, passage.start, passage.end, words, split_words(passage.text))
            )
            self.texts.append(embedded_text(title, passage))
        about = {
            "frontMatter": facts.front,
            "tags": sorted(facts.tags),
            "links": facts.links,
            "headings": list(filter(None, headings)),
        }
        return replace(entry, title=title, about=orjson.dumps(about).decode(), passages=passages)

    def changes(self, version: int, removed: Sequence[int]) -> VaultChanges:
        return VaultChanges(
            version=version,
            removed=[*removed, *self.replaced],
            touched=self.touched,
            entries=self._embedded() if embeddings.is_installed() and self.texts else self.entries,
        )

    def _embedded(self) -> list[NoteEntry]:
        vectors = iter(embeddings.packed(embeddings.embed(self.texts)))
        return [
            replace(entry, passages=[each._replace(vector=next(vectors)) for each in entry.passages])
            for entry in self.entries
        ]


def rebuild_vault(store: Store, vault: Vault, *, progress: Progress | None = None) -> IndexRound:
    """Drop a vault's index and make it again."""
    with store.read() as session:
        key = vault_key(session, vault)
    store.write(lambda transaction: forget_vault(transaction, key))
    return index_vault(store, vault, progress=progress)


def freshen(store: Store, vaults: Sequence[Vault], *, seconds: float) -> list[str]:
    """Bring the index up to date before a search; returns what could not be, a line each.

    Where a watcher compared the folder a moment ago, that is enough.
    """
    watcher = watch_vaults(store) if store.background else None
    warnings: list[str] = []
    for vault in vaults:
        with store.read() as session:
            key = mounted_keys(session).get(vault.id)
        if key is None:
            continue
        known = _known_of(store, key)
        recent = known.checked > time.monotonic() - _RECENT and len(known.notes) > _MANY
        if recent and watcher is not None and watcher.is_running:
            continue
        try:
            if not index_vault(store, vault, seconds=seconds).complete:
                warnings.append(f"vault {vault.name}: its index is not complete yet, so notes may be missing")
        except WeftError as error:
            warnings.append(f"vault {vault.name}: {error.message}")
    if watcher is not None and vaults:
        watcher.start()
    return warnings


class _VaultWatcher(BackgroundWorker):
    """Compares the folders of all vaults with the index, again and again."""

    name: ClassVar[str] = "weft-vaults"
    every: ClassVar[float] = 0.7
    patience: ClassVar[float] = 30.0

    def wake(self) -> None:
        """A commit says nothing about folders."""

    @property
    def is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def work(self, store: Store) -> None:
        with store.read() as session:
            vaults = load_vaults(session)
        for vault in vaults:
            try:
                index_vault(store, vault, ended=self.stopping.is_set)
            except NotFoundError:
                # The folder or the mount is gone: a search says so.
                continue


def watch_vaults(store: Store) -> _VaultWatcher:
    """The thread that keeps the index of vaults up to date; `start` starts it."""
    return worker_of(store, _VaultWatcher, lambda: _VaultWatcher(store))
