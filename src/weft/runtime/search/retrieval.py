"""Retrieval: the passages of notes, documents and trees that may answer a question, for whom may read them."""

import threading
import weakref
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from weft.context.items.item_types import document, node, note, selection
from weft.errors import InvalidInputError, PermissionDeniedError, WeftError
from weft.knowledge import embeddings
from weft.knowledge.notes import Mounted, note_text
from weft.knowledge.passages import Passage, cut_passages
from weft.knowledge.retrieval import (
    Period,
    Retrieval,
    RetrievedPassage,
    coverage,
    fuse,
    query_of,
    rarities,
)
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.projects import mounted_in
from weft.runtime.search.options import SearchOptions
from weft.runtime.search.results import Hit, HitKind
from weft.runtime.search.search import search
from weft.runtime.search.vault_indexer import freshen
from weft.runtime.views.reader import Reader
from weft.store.base import Store
from weft.store.session import Session
from weft.store.vault_index import (
    PassageFilter,
    PassageRow,
    matching_passages,
    mounted_keys,
    passage_keys,
    passage_rows,
    passages_between,
    vectors_after,
    version_of,
)
from weft.tree.content import plain_text
from weft.tree.json_names import from_microseconds, to_microseconds
from weft.tree.node import Node
from weft.tree.query import Atom, Query
from weft.tree.reference import Vault

if TYPE_CHECKING:
    from weft.knowledge.embeddings import Vectors

PLACES = frozenset({"vaults", "documents", "trees"})
_KINDS = {"documents": HitKind.DOCUMENT, "trees": HitKind.NODE}
_CANDIDATES = 100
"""Of each ranking."""
_READ = 40
"""Candidates that are read to see whether they may answer."""
_GROVE_HITS = 60
_OF_ONE_SOURCE = 3
"""Passages of one note, document or node in an answer."""
_PATIENCE_SECONDS = 10.0
"""How long a search waits for the index of a vault."""
_COVERED, _SIMILAR = 0.3, 0.45
"""A passage with less of the question's words, and less like it, is not an answer."""

PassageKey = tuple[str, int, int]
"""A passage of a note: "", vault and key; of a hit: its id, 0 and its ordinal."""


def retrieve(
    caller: Caller,
    query: str,
    *,
    places: Collection[str] = ("vaults",),
    vaults: Sequence[str] | None = None,
    limit: int = 8,
    period: Period | None = None,
    at: Node | None = None,
) -> Retrieval:
    """The best passages about a question; none if nothing is about it.

    Notes are found by words and, with the extra `semantic`, by meaning; documents and nodes by words.
    `vaults` are names or ids, default all; `at` is a turn: what leads to it is not found again. What the
    caller may not read is left out, unless that is everything.
    """
    wanted = query_of(query)
    if wanted is None:
        raise InvalidInputError(f"{query[:60]!r} has no word to look for", hint="ask with at least one word")
    run = _Retrieval(caller, query, wanted, period)
    refused: PermissionDeniedError | None = None
    allowed = False
    for part in filter(None, (PLACES & {*places} & {"vaults"}, PLACES & {*places} - {"vaults"})):
        try:
            if "vaults" in part:
                run.add_vaults(vaults)
            else:
                run.add_grove(part, at)
            allowed = True
        except PermissionDeniedError as error:
            refused = error
    if refused is not None and not allowed:
        raise refused
    return Retrieval(tuple(islice(run.answer(), limit)), tuple(run.warnings), run.semantic)


class _Candidate(NamedTuple):
    """A passage that was read."""

    passage: Passage
    place: str
    vault: str | None
    source: str
    title: str
    modified: str
    whole: bool
    """Whether the passage is all of its source."""


@dataclass(slots=True)
class _Retrieval:
    """One search under way."""

    caller: Caller
    question: str
    query: Query
    period: Period | None
    warnings: list[str] = field(default_factory=list[str])
    semantic: bool = field(init=False)
    rankings: list[Sequence[PassageKey]] = field(default_factory=list[Sequence[PassageKey]])
    similar: dict[PassageKey, float] = field(default_factory=dict[PassageKey, float])
    weights: Mapping[Atom, float] = field(init=False)
    _mounted: Mounted | None = None
    _vaults: dict[int, Vault] = field(default_factory=dict[int, Vault])
    _rows: Mapping[tuple[int, int], PassageRow] = field(default_factory=dict[tuple[int, int], PassageRow])
    _hits: dict[PassageKey, _Candidate] = field(default_factory=dict[PassageKey, _Candidate])
    _texts: dict[tuple[int, str], tuple[bytes, list[Passage]]] = field(
        default_factory=dict[tuple[int, str], tuple[bytes, list[Passage]]]
    )

    def __post_init__(self) -> None:
        self.weights = rarities(self.query)
        self.semantic = embeddings.is_installed()

    def add_vaults(self, names: Sequence[str] | None) -> None:
        """Rank the passages of notes by words and by meaning."""
        store = self.caller.store
        mounted = self._mounted = mounted_in(self.caller)
        chosen = mounted.vaults if names is None else [mounted.vault(name) for name in names]
        if not chosen:
            return
        self.warnings += freshen(store, chosen, seconds=_PATIENCE_SECONDS)
        after, before = (None, None) if self.period is None else self.period
        with store.read() as session:
            keys = mounted_keys(session)
            self._vaults = {keys[each.id]: each for each in chosen if each.id in keys}
            wanted = PassageFilter(
                list(self._vaults),
                None if after is None else to_microseconds(after),
                None if before is None else to_microseconds(before),
            )
            total, counts = session.dialect.passage_terms.counts(session, self.query.atoms)
            self.weights = rarities(self.query, total, counts)
            by_words = matching_passages(session, self.query, wanted, _CANDIDATES)
            by_meaning = self._by_meaning(session, store, wanted) if self.semantic else []
            self._rows = passage_rows(session, list(dict.fromkeys((*by_words, *by_meaning))))
        self.rankings += [[("", *key) for key in ranking] for ranking in (by_words, by_meaning) if ranking]

    def _by_meaning(self, session: Session, store: Store, wanted: PassageFilter) -> list[tuple[int, int]]:
        allowed = passages_between(session, wanted) if wanted.has_times else None
        vector = embeddings.embed([self.question])[0]
        best: list[tuple[float, int, int]] = []
        for vault in wanted.vaults:
            table = _vectors_of(store, vault).refreshed(session, vault)
            for likeness, key in table.nearest(vector, None if allowed is not None else _CANDIDATES):
                if allowed is None or (vault, key) in allowed:
                    best.append((likeness, vault, key))
        best = sorted(best, reverse=True)[:_CANDIDATES]
        self.similar.update({("", vault, key): likeness for likeness, vault, key in best})
        return [(vault, key) for _, vault, key in best]

    def add_grove(self, places: Collection[str], at: Node | None) -> None:
        """Rank documents and nodes by words; the best passage stands for each."""
        kinds = [_KINDS[place] for place in sorted(places)]
        after, before = (None, None) if self.period is None else self.period
        words = " or ".join(
            f'"{" ".join(atom.words)}"{"*" if atom.prefix else ""}' for atom in self.query.atoms
        )
        asked = SearchOptions(query=words, kinds=kinds, after=after, before=before, limit=_GROVE_HITS)
        hits = search(self.caller.store, self.caller.actor, asked)
        keys: list[PassageKey] = []
        for hit in hits:
            if not self._leads_to(hit, at):
                keys += self._add_hit(hit)
        self.rankings.append(keys)

    def _leads_to(self, hit: Hit, at: Node | None) -> bool:
        """Whether it precedes the question anyway, or is the question itself."""
        if at is None or hit.kind is not HitKind.NODE or hit.tree_id != at.tree_id:
            return False
        return Reader.of(self.caller).leads_to(at.tree_id, hit.id, at.id)

    def _add_hit(self, hit: Hit) -> Iterator[PassageKey]:
        reader = Reader.of(self.caller)
        if hit.kind is HitKind.DOCUMENT:
            text, place = reader.document(hit.id).content, "documents"
        elif hit.tree_id is not None:
            text, place = plain_text(reader.node(hit.tree_id, hit.id).content), "trees"
        else:
            return
        passages = list(cut_passages(text))
        scored = [
            (coverage([each.text], self.query, self.weights), -index) for index, each in enumerate(passages)
        ]
        for _, negative in sorted(scored, reverse=True)[:_OF_ONE_SOURCE]:
            key = hit.id, 0, -negative
            source = hit.id if hit.local_id is None else hit.local_id
            self._hits[key] = _Candidate(
                passages[-negative],
                place,
                None,
                source,
                hit.title,
                _shown(hit.created_at),
                len(passages) == 1,
            )
            yield key

    def answer(self) -> Iterator[RetrievedPassage]:
        """The passages that may answer, the best first; what was changed or deleted meanwhile is left out."""
        taken: Counter[str] = Counter()
        for key, score in islice(fuse(*self.rankings).items(), _READ):
            candidate = self._hits.get(key) or self._read(key)
            if candidate is None or not self._may_answer(key, candidate):
                continue
            taken[candidate.place + candidate.source] += 1
            if taken[candidate.place + candidate.source] <= _OF_ONE_SOURCE:
                yield _retrieved(candidate, score)

    def _may_answer(self, key: PassageKey, candidate: _Candidate) -> bool:
        if self.similar.get(key, 0.0) >= _SIMILAR:
            return True
        texts = [candidate.title, *candidate.passage.headings, candidate.passage.text]
        return coverage(texts, self.query, self.weights) >= _COVERED

    def _read(self, key: PassageKey) -> _Candidate | None:
        """A passage from its note, if that is still what was indexed."""
        row = self._rows.get(key[1:])
        mounted = self._mounted
        if row is None or mounted is None:
            return None
        vault = self._vaults[row.vault]
        place = row.vault, row.path
        if place not in self._texts:
            try:
                file = mounted.folder(vault).read(row.path)
                self._texts[place] = file.digest, list(cut_passages(note_text(file)))
            except WeftError as error:
                self.warnings.append(f"{row.path} is left out: {error.message}")
                self._texts[place] = b"", []
        digest, passages = self._texts[place]
        if digest != row.sha256:
            if digest:
                self.warnings.append(f"{row.path} is left out: it was changed during the search")
                self._texts[place] = b"", []
            return None
        modified = _shown(from_microseconds(row.modified))
        return _Candidate(
            passages[row.ordinal],
            "vaults",
            vault.name,
            mounted.id_of(vault, row.path),
            row.title,
            modified,
            len(passages) == 1,
        )


def _shown(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _retrieved(candidate: _Candidate, score: float) -> RetrievedPassage:
    passage, source, modified = candidate.passage, candidate.source, candidate.modified
    named = {name.casefold(): name for name in (candidate.title, *passage.headings)}
    match candidate.place:
        case "documents":
            item = document(source, passage.text, title=candidate.title, modified=modified)
        case "trees":
            item = node(source, passage.text, title=candidate.title, modified=modified)
        case _ if candidate.whole:
            item = note(source, passage.text, modified=modified)
        case _:
            item = selection(
                source,
                passage.start,
                passage.end,
                passage.text,
                title=" › ".join(named.values()),
                modified=modified,
            )
    return RetrievedPassage(
        item=item,
        place=candidate.place,
        vault=candidate.vault,
        source=source,
        title=candidate.title,
        headings=passage.headings,
        start=passage.start,
        end=passage.end,
        score=score,
    )


@dataclass(slots=True)
class _VectorTable:
    """The vectors of a vault in memory: one product gives the likeness of all passages."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    version: int = -1
    keys: list[int] = field(default_factory=list[int])
    matrix: "Vectors | None" = None

    def refreshed(self, session: Session, vault: int) -> "_VectorTable":
        """A table as the index is now: only what is new is read."""
        import numpy as np  # noqa: PLC0415 - comes with the extra

        with self.lock:
            version = version_of(session, vault)
            if version != self.version:
                there = passage_keys(session, vault)
                new = vectors_after(session, vault, max(self.keys, default=0))
                kept = [index for index, key in enumerate(self.keys) if key in there]
                parts = [] if self.matrix is None else [self.matrix[kept]]
                if new:
                    parts.append(embeddings.unpacked([vector for _, vector in new]))
                self.keys = [*(self.keys[index] for index in kept), *(key for key, _ in new)]
                self.matrix = np.concatenate(parts) if parts else None
                self.version = version
            return _VectorTable(self.lock, self.version, self.keys, self.matrix)

    def nearest(self, vector: "Vectors", most: int | None) -> list[tuple[float, int]]:
        """Likeness and key, the most alike first; all of them without a limit."""
        import numpy as np  # noqa: PLC0415 - comes with the extra

        if self.matrix is None or not self.keys:
            return []
        scores = self.matrix @ vector
        number = len(self.keys) if most is None else min(most, len(self.keys))
        best = np.argpartition(-scores, number - 1)[:number]
        order = best[np.argsort(-scores[best], kind="stable")]
        return [(float(scores[index]), self.keys[index]) for index in order]


_vectors: "weakref.WeakKeyDictionary[Store, dict[int, _VectorTable]]" = weakref.WeakKeyDictionary()
_guard = threading.Lock()


def _vectors_of(store: Store, vault: int) -> _VectorTable:
    with _guard:
        return _vectors.setdefault(store, {}).setdefault(vault, _VectorTable())
