"""ULIDs and local ids."""

import os
import re
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers
from ulid import ULID

from weft.commands.parse import known_words
from weft.errors import InvalidInputError
from weft.ids import is_ulid, local_id_candidates, new_ulid, normalise_reference, random_bytes, sayable_ids
from weft.provenance.nodes import names_to_find

NOW = 1_800_000_000_000_000


@covers("node.id-is-a-ulid", "tree.id-is-a-ulid")
def test_ulids_sort_by_time_and_differ_in_the_same_moment():
    assert is_ulid(new_ulid(NOW))
    assert new_ulid(NOW) < new_ulid(NOW + 2_000)
    assert len({new_ulid(NOW) for _ in range(1000)}) == 1000


@covers(
    "local-id.four-crockford-characters", "local-id.from-the-random-part", "local-id.lengthened-on-collision"
)
@given(st.binary(min_size=10, max_size=10))
def test_local_ids_are_cut_from_the_random_part_and_grow(entropy):
    ulid = new_ulid(NOW, lambda count: entropy)
    names = list(local_id_candidates(ulid))
    assert [len(name) for name in names] == [4, 5, 6, 7, 8]
    assert all(ulid[10:].lower().startswith(name) for name in names)
    assert re.fullmatch(r"[0-9a-hjkmnp-tv-z]{8}", names[-1])


@covers("local-id.lookup-ignores-case")
@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("A7X2", "a7x2"),
        ("[a7x2]", "a7x2"),
        (" a7x2 ", "a7x2"),
        ("olil", "0111"),
        ("a7x2’", "a7x2'"),
        ("a7x2.1", "a7x2'"),
        ("A7X2.2", "a7x2''"),
    ],
)
def test_a_reference_is_read_as_it_was_meant(said, meant):
    assert normalise_reference(said) == meant


@pytest.mark.parametrize("said", ["", "a7", "a7x2?", "a" * 27, "'", "→ view", "a7x2 b3k9", "ünï1"])
def test_what_is_not_a_reference_is_refused_with_a_hint(said):
    with pytest.raises(InvalidInputError, match="is not a node id") as caught:
        normalise_reference(said)
    assert caught.value.hint


@given(st.integers(0, 2**48 * 1000 - 1), st.binary(min_size=10, max_size=10))
def test_a_ulid_is_written_as_others_write_it(microseconds, entropy):
    parts = (microseconds // 1000).to_bytes(6, "big") + entropy
    assert new_ulid(microseconds, lambda count: entropy) == str(ULID.from_bytes(parts))


def test_a_forked_process_draws_random_bytes_of_its_own():
    random_bytes(10)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, b"".join(random_bytes(10) for _ in range(100)))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        theirs = pipe.read()
    os.waitpid(child, 0)
    ours = {random_bytes(10) for _ in range(300)}
    assert len(theirs) == 1000
    assert ours.isdisjoint(theirs[start : start + 10] for start in range(0, 1000, 10))


@covers("local-id.no-words")
def test_no_id_is_a_word_of_the_commands():
    spelled = {word for word in known_words() if re.fullmatch(r"[0-9a-hjkmnp-tv-z]{4,8}", word)}
    for word in spelled:
        ulid = f"01ARZ3NDEK{word.upper():Z<16}"
        assert word in local_id_candidates(ulid)
        assert not spelled & set(sayable_ids(ulid))
        assert len(list(sayable_ids(ulid))) >= 2


def test_an_id_that_is_longer_because_the_shorter_is_a_word_is_sound():
    row = SimpleNamespace(edited_from=None, ulid="01M7J4BT91TEARV17V588A6QYX", local_id="tearv")
    assert next(sayable_ids(row.ulid)) == "tearv"
    assert names_to_find(row) is None
    assert names_to_find(SimpleNamespace(**{**vars(row), "local_id": "tearv1"})) == "tearv"
