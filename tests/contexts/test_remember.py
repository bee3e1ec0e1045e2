"""Remembering is one transaction: all of it or nothing, and nobody's line is lost."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from tests.covers import covers
from tests.generation.failing import allow, refuse
from tests.soundness import check_sound

from weft.errors import PermissionDeniedError

AT_ONCE = 8


@covers("memory.remembered-whole")
def test_a_first_line_that_cannot_become_the_memory_leaves_no_document(fresh_loom):
    refuse(fresh_loom, "grove", "UPDATE OF preferences")
    with pytest.raises(Exception, match="refused"):
        fresh_loom.remember("likes tea")
    allow(fresh_loom, "grove")
    assert fresh_loom.documents() == []
    assert fresh_loom.remember("likes tea").text == "likes tea\n"
    check_sound(fresh_loom)


@covers("memory.remembered-whole")
def test_first_lines_at_once_are_all_in_one_memory(fresh_loom):
    together = Barrier(AT_ONCE)

    def remember(number):
        together.wait()
        fresh_loom.remember(f"line {number}")

    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(remember, range(AT_ONCE)))
    (memory,) = fresh_loom.documents()
    assert sorted(memory.text.splitlines()) == [f"line {number}" for number in range(AT_ONCE)]
    assert fresh_loom.preferences["userMemory"] == memory.id
    check_sound(fresh_loom)


def test_a_person_without_the_right_to_set_preferences_begins_no_memory(fresh_loom):
    reader = fresh_loom.add_agent("Reader", type="human", permissions=["doc_read", "doc_write"])
    with pytest.raises(PermissionDeniedError):
        fresh_loom.acting_as(reader.id).remember("likes tea")
    assert fresh_loom.documents() == []
