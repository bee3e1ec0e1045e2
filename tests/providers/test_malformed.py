"""Whatever a server says, a call ends with its words or with a typed error."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.covers import covers
from tests.providers.houses import HOUSES, sse
from tests.providers.loopback import plain, streamed
from tests.providers.test_contract import play

from weft.errors import ProviderError

WORDS = ["one ", "two ", "three"]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["drop", "double", "swap", "cut", "flip", "junk"]), st.integers(0, 50), json_values
    ),
    min_size=1,
    max_size=3,
)


def edited(pieces: list[bytes], edits) -> list[bytes]:
    """A good stream with some harm done to it."""
    found = list(pieces)
    for how, where, value in edits:
        place = where % len(found) if found else 0
        if how == "drop" and found:
            del found[place]
        elif how == "double" and found:
            found.insert(place, found[place])
        elif how == "swap" and len(found) > 1:
            found[place], found[place - 1] = found[place - 1], found[place]
        elif how == "cut" and found:
            found[place] = found[place][: len(found[place]) // 2]
        elif how == "flip" and found and found[place]:
            middle = len(found[place]) // 2
            found[place] = (
                found[place][:middle] + bytes([found[place][middle] ^ 0x15]) + found[place][middle + 1 :]
            )
        elif how == "junk":
            found.insert(place, sse(value))
    return found


@covers("provider.one-error-set")
@pytest.mark.long
@pytest.mark.parametrize("name", HOUSES)
@settings(max_examples=12)
@given(edits=EDITS)
def test_a_damaged_stream_ends_in_words_or_in_a_typed_error(name, edits):
    house = HOUSES[name]
    scene, server = play(house, streamed(*edited(house.text(WORDS), edits)))
    finished = scene.answer.choice().finished
    assert scene.error is None or isinstance(scene.error, ProviderError)
    assert scene.error is not None or finished is not None
    # What could not be read is not read further; up to there all of it is kept.
    assert server.said[0].startswith(scene.answer.recording.last.response)


@covers("provider.one-error-set")
@pytest.mark.long
@pytest.mark.parametrize("name", HOUSES)
@settings(max_examples=12)
@given(
    status=st.sampled_from([200, 204, 400, 404, 418, 429, 500, 599]),
    body=st.binary(max_size=40) | json_values,
)
def test_a_strange_answer_is_a_typed_error(name, status, body):
    house = HOUSES[name]
    said = body if isinstance(body, bytes) else sse(body)[6:]
    scene, _ = play(house, plain(status, b"" if status == 204 else said))
    assert isinstance(scene.error, ProviderError)
