"""The channel between models and readers: in order, and joined once however slow the reader is."""

import pytest
from tests.covers import covers

from weft.providers.events import TokenChance
from weft.runtime.generation.stream import EventChannel, TextChunk, ThinkingChunk


class Whole(str):
    """A text that may be joined, and not added to: adding each chunk costs the square of an answer."""

    __slots__ = ()

    def __add__(self, other):
        raise AssertionError("a chunk was copied for the next one")


@covers("generate.streams")
def test_chunks_that_wait_for_a_slow_reader_are_joined_once_in_order():
    channel = EventChannel()
    first, second = (TokenChance(token=each, logprob=-1.0) for each in "ab")
    for event in (
        TextChunk(0, Whole("a"), (first,)),
        TextChunk(0, Whole("b"), (second,)),
        TextChunk(0, Whole("c")),
        TextChunk(1, Whole("x")),
        ThinkingChunk(0, "hm"),
        TextChunk(0, Whole("d")),
    ):
        channel.put(event)
    channel.close(ValueError("over"))
    assert [channel.get() for _ in range(4)] == [
        TextChunk(0, "abc", (first, second)),
        TextChunk(1, "x"),
        ThinkingChunk(0, "hm"),
        TextChunk(0, "d"),
    ]
    with pytest.raises(ValueError, match="over"):
        channel.get()
    assert channel.get() is None
