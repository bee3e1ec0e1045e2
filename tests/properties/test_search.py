"""Both stores find the same things, and those that a reader with much patience would find."""

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import postgres
from tests.covers import covers

import weft
from weft.errors import WeftError
from weft.tree.query import parse_query
from weft.tree.word_splits import split_words

WORDS = st.sampled_from(
    ["loom", "Loom", "looms", "warp", "WÄRP", "the", "weft", "北京", "京", "大学", "🎉", "x1", "don't"]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=6).map(" ".join) | st.lists(WORDS, max_size=5).map("".join)
ATOMS = st.one_of(
    WORDS,
    WORDS.map(lambda word: word[:2] + "*"),
    st.lists(WORDS, min_size=1, max_size=3).map(lambda words: f'"{" ".join(words)}"'),
    WORDS.map(lambda word: f"-{word}"),
    st.just("or"),
    st.text(max_size=4),
)
QUERIES = st.lists(ATOMS, min_size=1, max_size=4).map(" ".join)


@pytest.fixture(scope="module")
def groves(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: str
) -> Iterator[tuple[weft.Grove, weft.Grove]]:
    path = tmp_path_factory.mktemp("search") / "grove.db"
    with (
        postgres.database(postgres_server) as address,
        weft.open(path) as sqlite,
        weft.open(address) as other,
    ):
        yield sqlite, other


def occurs(atom, text):
    """Read it word by word, at every place."""
    words, wanted = split_words(text), atom.words
    for start in range(len(words) - len(wanted) + 1):
        pairs = list(zip(words[start:], wanted, strict=False))
        last = pairs.pop()
        if all(word == want for word, want in pairs) and (
            last[0] == last[1] or (atom.prefix and last[0].startswith(last[1]))
        ):
            return True
    return False


def reads_as(query, text):
    return all(any(occurs(atom, text) for atom in clause) for clause in query.clauses) and not any(
        occurs(atom, text) for atom in query.without
    )


@covers("search.same-on-both-stores")
@settings(max_examples=20)
@given(st.lists(TEXTS, min_size=1, max_size=8), st.lists(QUERIES, min_size=1, max_size=8))
def test_both_stores_find_what_a_patient_reader_finds(groves, texts, queries):
    trees = [grove.plant("Q") for grove in groves]
    nodes = [[tree.root.say(text).id for text in texts] for tree in trees]
    for asked in queries:
        try:
            query = parse_query(asked)
        except WeftError as refused:
            for tree in trees:
                with pytest.raises(type(refused)):
                    tree.search(asked)
            continue
        expected = {index for index, text in enumerate(texts) if reads_as(query, text)}
        for tree, ids in zip(trees, nodes, strict=True):
            hits = tree.search(asked, limit=100)
            found = {ids.index(hit.id) for hit in hits if hit.id in ids}
            assert found == expected, asked
            for hit in hits:
                assert bool(hit.snippet.highlights) or hit.kind == "tree"
    for one, other in itertools.pairwise(trees):
        assert len(one.search("loom or warp", limit=100)) == len(other.search("loom or warp", limit=100))
