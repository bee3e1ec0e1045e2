"""The index of mounted vaults: which notes there are, their passages, and the words and vectors of these.

All of it is made from the folders and can be made again. A write names the version of the vault's index
that it was prepared from, and changes nothing if another process has written since: work is shared
between processes, never doubled.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, bindparam, delete, func, insert, or_, select, update

from weft.store import schema
from weft.store.session import IndexEntry, Reach, Session
from weft.store.text_index import NODE, key_of, reach_of_tree, target_in, tree_in
from weft.store.transaction import Transaction
from weft.tree.query import Query

_states, _notes, _passages = schema.vault_states, schema.vault_notes, schema.vault_passages
_vaults = schema.vaults


class KnownNote(NamedTuple):
    """A file as it was indexed."""

    key: int
    path: str
    stamp: str
    sha256: bytes | None
    form: str


class PassageEntry(NamedTuple):
    """A passage to be written."""

    heading: str
    first_line: int
    last_line: int
    title: Sequence[str]
    """The words of the note's title and of the headings."""
    body: Sequence[str]
    vector: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteEntry:
    """A file to be written."""

    path: str
    stamp: str
    modified: int
    form: str
    sha256: bytes | None = None
    title: str = ""
    about: str = "{}"
    skipped: str | None = None
    passages: Sequence[PassageEntry] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultChanges:
    """What is written at once."""

    version: int
    """Of the index, when this was prepared."""
    removed: Sequence[int] = ()
    """Keys of notes that are gone, or replaced by an entry."""
    touched: Sequence[tuple[int, str, int]] = ()
    """Key, stamp and time of notes whose content is the same."""
    entries: Sequence[NoteEntry] = ()


class PassageRow(NamedTuple):
    """A passage as it is indexed, and the note that it is in."""

    vault: int
    key: int
    path: str
    title: str
    sha256: bytes
    modified: int
    ordinal: int
    heading: str
    first_line: int
    last_line: int


class VaultCounts(NamedTuple):
    """What the index holds of a vault."""

    notes: int
    passages: int
    embedded: int
    skipped: Sequence[tuple[str, str]]
    """Path and reason."""


def mounted_keys(session: Session) -> dict[str, int]:
    """Keys of the mounted vaults by id, in the order of mounting."""
    rows = session.execute(
        select(_vaults.c.ulid, _vaults.c.key).where(_vaults.c.removed.is_(None)).order_by(_vaults.c.key)
    )
    return {row.ulid: row.key for row in rows}


def version_of(session: Session, vault: int) -> int:
    """How often the vault's index was written; 0: never."""
    return session.execute(select(_states.c.version).where(_states.c.vault == vault)).scalar() or 0


def known_notes(session: Session, vault: int) -> dict[str, KnownNote]:
    """Every indexed file of a vault by path."""
    columns = _notes.c.key, _notes.c.path, _notes.c.stamp, _notes.c.sha256, _notes.c.form
    rows = session.execute(select(*columns).where(_notes.c.vault == vault))
    return {row.path: KnownNote(*row) for row in rows}


def write_changes(transaction: Transaction, vault: int, changes: VaultChanges) -> int | None:
    """Write what was prepared; returns the new version, or None if it was not prepared from the present one."""
    state = _hold(transaction, vault)
    mounted = select(_vaults.c.key).where(_vaults.c.key == vault, _vaults.c.removed.is_(None))
    if state.version != changes.version or transaction.execute(mounted).first() is None:
        return None
    _remove(transaction, vault, changes.removed)
    touch = update(_notes).where(_notes.c.vault == vault, _notes.c.key == bindparam("note"))
    transaction.execute_many(
        touch.values(stamp=bindparam("new_stamp"), modified=bindparam("new_modified")),
        [{"note": key, "new_stamp": stamp, "new_modified": at} for key, stamp, at in changes.touched],
    )
    note, passage = state.next_note, state.next_passage
    notes: list[dict[str, Any]] = []
    passages: list[dict[str, Any]] = []
    words: list[IndexEntry] = []
    for entry in changes.entries:
        notes.append(
            {
                "vault": vault,
                "key": note,
                **{column: getattr(entry, column) for column in _WRITTEN},
            }
        )
        for ordinal, each in enumerate(entry.passages):
            row = {"vault": vault, "key": passage, "note": note, "ordinal": ordinal, "heading": each.heading}
            lines = {"first_line": each.first_line, "last_line": each.last_line, "vector": each.vector}
            passages.append(row | lines)
            words.append(IndexEntry(key_of(vault, NODE, passage), each.title, each.body))
            passage += 1
        note += 1
    transaction.execute_many(insert(_notes), notes)
    transaction.execute_many(insert(_passages), passages)
    transaction.dialect.passage_terms.add(transaction, words)
    moved = {"version": state.version + 1, "next_note": note, "next_passage": passage}
    transaction.execute(update(_states).where(_states.c.vault == vault).values(**moved))
    return state.version + 1


_WRITTEN = ("path", "stamp", "sha256", "modified", "form", "title", "about", "skipped")


def _hold(transaction: Transaction, vault: int) -> Any:
    """The state of a vault's index, locked until the transaction ends."""
    here = select(_states).where(_states.c.vault == vault).with_for_update()
    row = transaction.execute(here).one_or_none()
    if row is None:
        first = {"vault": vault, "version": 0, "next_note": 1, "next_passage": 1}
        transaction.execute(transaction.dialect.upsert(_states, ("vault",), ()), first)
        row = transaction.execute(here).one()
    return row


def _remove(transaction: Transaction, vault: int, notes: Sequence[int]) -> None:
    if not notes:
        return
    inside = and_(_passages.c.vault == vault, transaction.dialect.among(_passages.c.note, notes))
    passages = transaction.execute(select(_passages.c.key).where(inside)).scalars().all()
    transaction.dialect.passage_terms.remove(transaction, [key_of(vault, NODE, key) for key in passages])
    transaction.execute(delete(_passages).where(inside))
    gone = and_(_notes.c.vault == vault, transaction.dialect.among(_notes.c.key, notes))
    transaction.execute(delete(_notes).where(gone))


def forget_vault(transaction: Transaction, vault: int) -> None:
    """Drop everything that is indexed of a vault; what was prepared before cannot be written any more."""
    state = _hold(transaction, vault)
    terms = transaction.dialect.passage_terms
    terms.remove_reach(transaction, reach_of_tree(vault))
    terms.purge(transaction)
    for table in (_passages, _notes):
        transaction.execute(delete(table).where(table.c.vault == vault))
    raised = update(_states).where(_states.c.vault == vault).values(version=state.version + 1)
    transaction.execute(raised)


def counts_of(session: Session, vault: int) -> VaultCounts:
    """How much of a vault is indexed, and what is not."""
    files = select(_notes.c.path, _notes.c.skipped).where(_notes.c.vault == vault)
    skipped = session.execute(files.where(_notes.c.skipped.is_not(None)).order_by(_notes.c.path)).all()
    notes = select(func.count()).where(_notes.c.vault == vault, _notes.c.skipped.is_(None))
    passages = select(func.count(), func.count(_passages.c.vector)).where(_passages.c.vault == vault)
    counted: Any = session.execute(passages).one()
    number = session.execute(notes).scalar_one()
    return VaultCounts(number, counted[0], counted[1], [(row.path, row.skipped) for row in skipped])


def described_notes(session: Session, vault: int) -> list[tuple[str, str]]:
    """Path of every indexed note, and what it says about itself as JSON."""
    notes = select(_notes.c.path, _notes.c.about).where(_notes.c.vault == vault, _notes.c.skipped.is_(None))
    return [(row.path, row.about) for row in session.execute(notes.order_by(_notes.c.path))]


class PassageFilter(NamedTuple):
    """Which passages are meant."""

    vaults: Sequence[int]
    after: int | None = None
    before: int | None = None

    @property
    def has_times(self) -> bool:
        return self.after is not None or self.before is not None

    def conditions(self) -> list[ColumnElement[bool]]:
        """On the note: when it was changed."""
        after = [] if self.after is None else [_notes.c.modified >= self.after]
        return after + ([] if self.before is None else [_notes.c.modified < self.before])


def matching_passages(
    session: Session, query: Query, wanted: PassageFilter, most: int
) -> list[tuple[int, int]]:
    """Vault and key of the passages with the words, the best first."""
    vaults = wanted.vaults
    single = len(vaults) == 1
    reach = reach_of_tree(vaults[0]) if single else Reach()
    terms = session.dialect.passage_terms
    inner = None if wanted.has_times else most if single else 4 * most
    best = terms.matching(session, query, reach, inner).subquery("matches")
    vault, key = tree_in(best.c.key), target_in(best.c.key)
    statement = (
        select(vault.label("vault"), key.label("key")).order_by(best.c.rank.desc(), best.c.key).limit(most)
    )
    if not single:
        statement = statement.where(session.dialect.among(vault, vaults))
    if wanted.has_times:
        passage = and_(_passages.c.vault == vault, _passages.c.key == key)
        note = and_(_notes.c.vault == _passages.c.vault, _notes.c.key == _passages.c.note)
        joined = best.join(_passages, passage).join(_notes, note)
        statement = statement.select_from(joined).where(*wanted.conditions())
    return [(row.vault, row.key) for row in session.execute(statement)]


def passages_between(session: Session, wanted: PassageFilter) -> set[tuple[int, int]]:
    """Vault and key of all passages whose notes were changed in the period."""
    note = and_(_notes.c.vault == _passages.c.vault, _notes.c.key == _passages.c.note)
    statement = select(_passages.c.vault, _passages.c.key).join(_notes, note)
    within = session.dialect.among(_passages.c.vault, wanted.vaults)
    return {(row.vault, row.key) for row in session.execute(statement.where(within, *wanted.conditions()))}


def passage_rows(session: Session, keys: Sequence[tuple[int, int]]) -> Mapping[tuple[int, int], PassageRow]:
    """Passages by vault and key; those that are not there any more are left out."""
    if not keys:
        return {}
    note = and_(_notes.c.vault == _passages.c.vault, _notes.c.key == _passages.c.note)
    by_vault: dict[int, list[int]] = {}
    for vault, key in keys:
        by_vault.setdefault(vault, []).append(key)
    wanted = or_(
        *(
            and_(_passages.c.vault == vault, session.dialect.among(_passages.c.key, listed))
            for vault, listed in by_vault.items()
        )
    )
    statement = select(
        *(_passages.c.vault, _passages.c.key, _notes.c.path, _notes.c.title, _notes.c.sha256),
        *(_notes.c.modified, _passages.c.ordinal, _passages.c.heading),
        *(_passages.c.first_line, _passages.c.last_line),
    )
    rows = session.execute(statement.join(_notes, note).where(wanted))
    return {(row.vault, row.key): PassageRow(*row) for row in rows}


def vectors_after(session: Session, vault: int, key: int) -> list[tuple[int, bytes]]:
    """The vectors of passages with a higher key, in the order of keys."""
    statement = (
        select(_passages.c.key, _passages.c.vector)
        .where(_passages.c.vault == vault, _passages.c.key > key, _passages.c.vector.is_not(None))
        .order_by(_passages.c.key)
    )
    return [(row.key, bytes(row.vector)) for row in session.execute(statement)]


def passage_keys(session: Session, vault: int) -> list[int]:
    return list(session.execute(select(_passages.c.key).where(_passages.c.vault == vault)).scalars())
