"""Retrieval: the passages of notes, documents and trees that may answer a question, for whom may read them."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain, islice
from typing import NamedTuple

from weft.context.items.item_types import document, node, note, selection
from weft.errors import InvalidInputError, PermissionDeniedError, WeftError
from weft.knowledge import embeddings
from weft.knowledge.notes import Mounted, note_text
from weft.knowledge.passages import Passage, cut_passages, embedded_text
from weft.knowledge.retrieval import (
    Period,
    Retrieval,
    RetrievedPassage,
    best_score,
    coverage,
    fuse,
    query_of,
    word_weights,
    words_present,
)
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.projects import mounted_in
from weft.runtime.search.likeness import Likeness, PassageKey, vectors_of
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
    passage_rows,
    passages_between,
)
from weft.tree.content import plain_text
from weft.tree.json_names import from_microseconds, to_microseconds
from weft.tree.node import Node
from weft.tree.query import Atom, Query
from weft.tree.reference import Vault

PLACES = frozenset({"vaults", "documents", "trees"})
_KINDS = {"documents": HitKind.DOCUMENT, "trees": HitKind.NODE}
_CANDIDATES = 100
"""Of each ranking."""
_READ, _FIRST = 25, 15
"""Candidates that are read, and those of which one must answer."""
_GROVE_HITS, _EMBEDDED_HITS = 60, 30
_OF_ONE_SOURCE = 3
"""Passages of one note, document or node in an answer."""
_PATIENCE_SECONDS = 10.0
"""How long a search waits for the index of a vault."""
_ALSO = 0.29
"""What a passage must have to be part of an answer: the share of the question's words that it has, and how far
it is like the question beyond other passages."""
_OF_LIKENESS, _USUAL = 0.08, 2.5
"""The weight of that, and its value where texts are not compared by meaning."""
_ANSWERS, _OF_AGREEMENT, _OF_MISSING = 0.49, 0.3, 0.3
"""What the best passage must have for the question to be answered at all: the same, and more if it is high in
both rankings; less by the share of the question's words that none of the first passages has. All of these are
tuned by `python -m bench retrieval`."""


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


class _Judged(NamedTuple):
    """A passage, and how far it is about the question."""

    key: PassageKey
    candidate: _Candidate
    present: frozenset[Atom]
    """Words of the question that it has."""
    relevance: float


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
    likeness: Likeness | None = None
    weights: Mapping[Atom, float] = field(init=False)
    _mounted: Mounted | None = None
    _vaults: dict[int, Vault] = field(default_factory=dict[int, Vault])
    _rows: Mapping[tuple[int, int], PassageRow] = field(default_factory=dict[tuple[int, int], PassageRow])
    _hits: dict[PassageKey, _Candidate] = field(default_factory=dict[PassageKey, _Candidate])
    _texts: dict[tuple[int, str], tuple[bytes, list[Passage]]] = field(
        default_factory=dict[tuple[int, str], tuple[bytes, list[Passage]]]
    )

    def __post_init__(self) -> None:
        self.weights = word_weights(self.query)
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
            by_words = matching_passages(session, self.query, wanted, _CANDIDATES)
            by_meaning = self._by_meaning(session, store, wanted) if self.semantic else []
        self.rankings += [[("", *key) for key in ranking] for ranking in (by_words, by_meaning) if ranking]

    def _by_meaning(self, session: Session, store: Store, wanted: PassageFilter) -> list[tuple[int, int]]:
        allowed = passages_between(session, wanted) if wanted.has_times else None
        tables = {vault: vectors_of(store, vault).refreshed(session, vault) for vault in wanted.vaults}
        self.likeness = Likeness.of(self.question, tables)
        best = self.likeness.best(_CANDIDATES if allowed is None else None)
        return [key for key in best if allowed is None or key in allowed][:_CANDIDATES]

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
        if self.semantic and keys:
            self.likeness = self.likeness or Likeness.of(self.question, {})
            texts = [_embedded(self._hits[key]) for key in keys[:_EMBEDDED_HITS]]
            self.likeness.add(keys[:_EMBEDDED_HITS], embeddings.embed(texts))
            self.rankings.append(sorted(keys[:_EMBEDDED_HITS], key=self.likeness.of_key, reverse=True))

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
            (coverage(words_present([each.text], self.weights), self.weights), -index)
            for index, each in enumerate(passages)
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
        scores = dict(islice(fuse(*self.rankings).items(), _READ))
        with self.caller.store.read() as session:
            self._rows = passage_rows(session, [key[1:] for key in scores if key not in self._hits])
        candidates = self._candidates(scores)
        first = list(islice(candidates, _FIRST))
        if not self._answers(first, scores):
            return
        taken: Counter[str] = Counter()
        for each in chain(first, candidates):
            source = each.candidate.place + each.candidate.source
            taken[source] += each.relevance >= _ALSO
            if each.relevance >= _ALSO and taken[source] <= _OF_ONE_SOURCE:
                yield _retrieved(each.candidate, scores[each.key])

    def _answers(self, first: Sequence["_Judged"], scores: Mapping[PassageKey, float]) -> bool:
        """Whether one of the first passages is about the question."""
        present = frozenset[Atom]().union(*(each.present for each in first))
        missing = 1 - coverage(present, self.weights)
        whole = best_score(2 if self.semantic else 1)
        best = max((each.relevance + _OF_AGREEMENT * scores[each.key] / whole for each in first), default=0.0)
        return best - _OF_MISSING * missing >= _ANSWERS

    def _candidates(self, keys: Iterable[PassageKey]) -> Iterator["_Judged"]:
        for key in keys:
            candidate = self._hits.get(key) or self._read(key)
            if candidate is not None:
                yield self._judged(key, candidate)

    def _judged(self, key: PassageKey, candidate: _Candidate) -> "_Judged":
        texts = [candidate.title, *candidate.passage.headings, candidate.passage.text]
        beyond = None if self.likeness is None else self.likeness.beyond_others(key)
        likeness = _OF_LIKENESS * (_USUAL if beyond is None else beyond)
        present = words_present(texts, self.weights)
        return _Judged(key, candidate, present, coverage(present, self.weights) + likeness)

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
                file = mounted.folder(vault).read(row.path, scanned=True)
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


def _embedded(candidate: _Candidate) -> str:
    return embedded_text(candidate.title, candidate.passage)
