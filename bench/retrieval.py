"""Retrieval: how good full text, meaning and both are on a labelled set, and how fast the index of a vault is."""

import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import weft
from bench.report import Section, Table, at_least, at_most, number
from bench.scene import STORES, Scene
from bench.timing import seconds_of
from weft.knowledge.passages import cut_passages
from weft.knowledge.retrieval import fuse, query_of
from weft.runtime.search.likeness import Likeness, vectors_of
from weft.runtime.search.retrieval import retrieve
from weft.store.session import Reach
from weft.store.vault_index import (
    PassageFilter,
    matching_passages,
    mounted_keys,
    passage_rows,
    version_of,
)
from weft.tree.word_splits import split_words

__all__ = ["run"]

_DATA = Path(__file__).parent / "data"
_FIRST, _COUNTED = 5, 10
_TITLE_BOOST = 3
_VOCABULARY = 20_000
_POINT = 1.0


class Question(NamedTuple):
    language: str
    text: str
    answers: frozenset[str]
    """Paths of the notes that answer it; none: no note does."""


def _notes() -> Iterator[tuple[str, str]]:
    """Path and text of each labelled note; `=== PATH` begins one in the files."""
    for file in sorted(_DATA.glob("retrieval_notes_*.txt")):
        for part in file.read_text(encoding="utf-8").split("=== ")[1:]:
            path, _, text = part.partition("\n")
            yield path, text


def _questions(file: str = "retrieval_questions.tsv") -> list[Question]:
    lines = (_DATA / file).read_text(encoding="utf-8").splitlines()
    fields = (line.split("\t") for line in lines)
    return [
        Question(language, text, frozenset(filter(None, paths.split(";"))))
        for language, text, paths in fields
    ]


def run(scene: Scene) -> Section:
    notes, questions, unseen = list(_notes()), _questions(), _questions("retrieval_unanswered.tsv")
    unanswered = sum(not each.answers for each in (*questions, *unseen))
    section = Section(
        "Retrieval",
        f"{len(questions) + len(unseen)} questions ({unanswered} of them without an answer) in "
        f"{len(_languages(questions))} languages over {len(notes)} notes, written for this, near-duplicates among "
        f"them. Constants were tuned on every second one of {len(questions)}; the figures are of the others. "
        f"recall@{_FIRST} and MRR by note; `answered` is what the product returns, with its floor: recall of what is answered, and how many of the questions without an "
        "answer return nothing. Index and search: notes of 200 words in three sections.",
    )
    reported = [*questions[1::2], *unseen]
    rows: list[tuple[str, ...]] = []
    for store in STORES:
        with scene.grove(store) as grove:
            folder = scene.folder / f"labelled {store}"
            for path, text in notes:
                place = folder / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text, encoding="utf-8")
            grove.vaults.mount(folder, "Labelled")
            rows += _quality(section, store, grove, reported)
    rows += _peer(notes, reported)
    if find_spec("bm25s") is None:
        section.notes.append("bm25s is not installed: `uv pip install --group peers`")
    section.tables.append(
        Table("Quality", ("", f"recall@{_FIRST} (%)", "MRR (%)", "nothing for no answer (%)"), rows)
    )
    size = scene.size(10_000, 300)
    section.tables.append(
        Table(
            f"{size:,} notes",
            ("", "first index (s)", "changed note (s)", "search (ms)", "bare full text (ms)", "ratio"),
            [_speed(scene, section, store, size) for store in STORES],
        )
    )
    return section


def _languages(questions: Sequence[Question]) -> set[str]:
    return {each.language for each in questions}


def _quality(
    section: Section, store: str, grove: weft.Grove, questions: Sequence[Question]
) -> list[tuple[str, ...]]:
    rankings: dict[str, list[list[str]]] = {"full text": [], "meaning": [], "fused": []}
    for question in questions:
        words, meaning = _ranked(grove, question.text)
        for name, ranking in zip(rankings, (words, meaning, list(fuse(words, meaning))), strict=True):
            rankings[name].append(_paths(grove, ranking))
    figures = {name: _figures(questions, ranked) for name, ranked in rankings.items()}
    for index, what in enumerate((f"recall@{_FIRST}", "MRR")):
        better = max(figures["full text"][index], figures["meaning"][index])
        title = f"{store}: {what} of fused against the better of its parts, in points"
        section.hold(at_least(title, 100 + figures["fused"][index] - better, 100 - _POINT))
    answered = [
        [each.source for each in retrieve(grove.caller, question.text).passages] for question in questions
    ]
    nothing = [not paths for question, paths in zip(questions, answered, strict=True) if not question.answers]
    rows = [(f"{store}: {name}", *map(number, values), "0") for name, values in figures.items()]
    share = 100 * sum(nothing) / len(nothing)
    return [*rows, (f"{store}: answered", *map(number, _figures(questions, answered)), number(share))]


def _ranked(grove: weft.Grove, question: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Passages by words and by meaning."""
    query = query_of(question)
    store = grove.caller.store
    with store.read() as session:
        vaults = list(mounted_keys(session).values())
        words = [] if query is None else matching_passages(session, query, PassageFilter(vaults), 100)
        tables = {vault: vectors_of(store, vault).refreshed(session, vault) for vault in vaults}
        return words, Likeness.of(question, tables).best(100)


def _paths(grove: weft.Grove, ranking: Sequence[tuple[int, int]]) -> list[str]:
    with grove.caller.store.read() as session:
        rows = passage_rows(session, ranking)
    return [rows[key].path for key in ranking]


def _figures(questions: Sequence[Question], ranked: Sequence[Sequence[str]]) -> tuple[float, float]:
    """Recall among the first notes, and the mean reciprocal rank, in percent."""
    hits, reciprocal, number_of = 0, 0.0, 0
    for question, paths in zip(questions, ranked, strict=True):
        if not question.answers:
            continue
        number_of += 1
        notes = list(dict.fromkeys(paths))[:_COUNTED]
        place = next((index for index, path in enumerate(notes, 1) if path in question.answers), None)
        if place is not None:
            hits += place <= _FIRST
            reciprocal += 1 / place
    return 100 * hits / number_of, 100 * reciprocal / number_of


def _peer(notes: Sequence[tuple[str, str]], questions: Sequence[Question]) -> list[tuple[str, ...]]:
    """BM25 by a library, over the same passages and words; titles and headings count three times."""
    if find_spec("bm25s") is None:
        return []
    library: Any = import_module("bm25s")
    passages = [(path, each) for path, text in notes for each in cut_passages(text)]
    corpus = [
        split_words(" ".join([*[path.rsplit("/", 1)[-1], *each.headings] * _TITLE_BOOST, each.text]))
        for path, each in passages
    ]
    model = library.BM25()
    model.index(corpus, show_progress=False)
    ranked: list[list[str]] = []
    for question in questions:
        places, scores = model.retrieve([split_words(question.text)], k=100, show_progress=False)
        ranked.append(
            [passages[place][0] for place, score in zip(places[0], scores[0], strict=True) if score > 0]
        )
    return [("peer: bm25s, titles three times", *map(number, _figures(questions, ranked)), "0")]


def _speed(scene: Scene, section: Section, store: str, size: int) -> tuple[str, ...]:
    scene.say(f"  {store}, {size:,} notes")
    chance = random.Random(5)
    folder = scene.folder / f"large {store}"
    sentence = _write_notes(folder, size, chance)
    with scene.grove(store) as grove:
        first = seconds_of(lambda: grove.vaults.mount(folder, "Large"))
        searches = [sentence(7) for _ in range(30)]
        retrieve(grove.caller, searches[0])
        behind = _behind(grove, folder)
        pairs = [
            (seconds_of(partial(retrieve, grove.caller, each)), seconds_of(_bare(grove, each)))
            for each in searches
        ]
        search, bare = (statistics.median(times) for times in zip(*pairs, strict=True))
    section.hold(at_most(f"{store}: first index of {size:,} notes", first, 60, " s"))
    section.hold(at_most(f"{store}: a changed note is in the index after", behind, 1, " s"))
    section.hold(at_most(f"{store}: a search against the bare full-text query", search / bare, 3, " ×"))
    figures = first, behind, 1000 * search, 1000 * bare, search / bare
    return store, *map(number, figures)


def _write_notes(folder: Path, size: int, chance: random.Random) -> Callable[[int], str]:
    words = [
        "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=3 + rank % 7)) for rank in range(_VOCABULARY)
    ]

    def sentence(length: int) -> str:
        return " ".join(words[min(_VOCABULARY - 1, int(chance.expovariate(1 / 800)))] for _ in range(length))

    for number_of in range(size):
        place = folder / f"folder {number_of % 100}" / f"{number_of} {sentence(2)}.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        parts = "\n\n".join(f"# {sentence(3)}\n{sentence(66)}" for _ in range(3))
        place.write_text(f"---\ntags: [{sentence(1)}]\n---\n{parts}\n", encoding="utf-8")
    return sentence


def _behind(grove: weft.Grove, folder: Path) -> float:
    """Seconds from writing a note until the watching thread has it in the index."""
    store = grove.caller.store
    with store.read() as session:
        (vault,) = mounted_keys(session).values()
        before = version_of(session, vault)
    new = folder / ".new"
    new.write_text("A heron.", encoding="utf-8")
    new.rename(folder / "new.md")
    start = time.perf_counter()
    while time.perf_counter() - start < 10:
        with store.read() as session:
            if version_of(session, vault) != before:
                break
        time.sleep(0.005)
    return time.perf_counter() - start


def _bare(grove: weft.Grove, question: str) -> Callable[[], object]:
    """What the database takes for the same words, ranked, and nothing else."""
    query = query_of(question)

    def ask() -> object:
        with grove.caller.store.read() as session:
            if query is None:
                return []
            return session.execute(session.dialect.passage_terms.matching(session, query, Reach(), 100)).all()

    return ask
