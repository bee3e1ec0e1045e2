"""Our own key, echoed by a provider, is replaced however it comes back."""

import base64
import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers
from tests.providers.houses import CANARY, MARK, sse

from weft.providers.redaction import KeyRedactor, marks_in, redact_key


def redacted(pieces, key=CANARY):
    redactor = KeyRedactor(key)
    return b"".join([*(redactor.feed(piece) for piece in pieces), redactor.flush()])


def texts(body: bytes, member: str = "text") -> str:
    events = [json.loads(line[5:]) for line in body.splitlines() if line.startswith(b"data:")]
    return "".join(event[member] for event in events if member in event)


@covers("provider.keys-never-shown")
@given(st.lists(st.sampled_from([b"k", b"ke", b"key", b"y!", b"kkey!", b"xx", b"key!key!"]), max_size=12))
def test_a_key_is_replaced_wherever_the_pieces_are_cut(pieces):
    kept = redacted(pieces, "key!")
    assert b"key!" not in kept
    assert len(kept) == len(b"".join(pieces))
    assert kept in {b"".join([*pieces, end]).replace(b"key!", b"[red")[: len(kept)] for end in (b"", b"!")}


@covers("provider.keys-never-shown")
@given(st.sets(st.integers(1, len(CANARY) - 1), min_size=1), st.integers(1, 200))
def test_a_key_that_is_spread_over_events_is_replaced_in_the_bytes_themselves(cuts, size):
    edges = [0, *sorted(cuts), len(CANARY)]
    parts = ["a ", *(CANARY[start:end] for start, end in pairwise(edges)), " b"]
    body = b"".join(sse({"index": 0, "text": part}) for part in parts)
    kept = redacted([body[start : start + size] for start in range(0, len(body), size)])
    assert texts(kept) == f"a {MARK} b"
    assert len(kept) == len(body)


@covers("provider.keys-never-shown")
@given(st.lists(st.sampled_from(["a", "aa", "ab", "b", "x", ""]), max_size=8))
def test_a_key_whose_beginning_repeats_is_found_over_events(parts):
    kept = texts(redacted([sse({"text": part}) for part in parts], "aab"))
    assert "aab" not in kept


@covers("provider.keys-never-shown")
def test_events_of_several_choices_may_take_turns():
    def event(choice, text):
        return sse({"choices": [{"delta": {"content": text}, "index": choice}]})

    halves = [
        event(0, CANARY[:9]),
        event(1, "its"),
        event(2, CANARY[:1]),
        event(0, CANARY[9:] + "."),
        event(1, "!"),
    ]
    kept = redacted([*halves, event(2, CANARY[1:])])
    assert CANARY[9:].encode() not in kept
    assert CANARY[1:].encode() not in kept
    assert b'"its"' in kept


@covers("provider.keys-never-shown")
def test_two_parts_of_one_event_are_one_text():
    parts = [{"text": CANARY[:9]}, {"text": CANARY[9:]}]
    kept = redacted([sse({"candidates": [{"content": {"parts": parts}}]})])
    assert CANARY[9:].encode() not in kept


@covers("provider.keys-never-shown")
def test_escapes_and_encodings_of_a_key_are_replaced():
    escaped = CANARY.replace("-", "\\u002d")
    kept = redacted([f'data: {{"text": "{escaped}"}}\n'.encode(), f'data: {{"text": "{escaped[:8]}"}}\n'.encode(),
        f'data: {{"text": "{escaped[8:]}"}}\n'.encode()])  # fmt: skip
    assert "canary" not in texts(kept)
    encoded = base64.b64encode(f"{CANARY} and more".encode()).decode()
    assert base64.b64encode(CANARY[:30].encode()).decode()[:20] not in redact_key(encoded, CANARY)
    assert redact_key("abc YWJj", "abc") == "[re YWJj", "a short key's encoding occurs by chance"


@covers("provider.keys-never-shown")
def test_only_what_may_become_the_key_is_held_back():
    redactor = KeyRedactor(CANARY)
    plain, cats = sse({"text": "cat"}), sse({"text": "cats"})
    assert redactor.feed(plain) == plain
    held = redactor.feed(cats)
    assert cats.startswith(held)
    assert held != cats
    assert redactor.feed(plain) == cats[len(held) :] + plain
    assert redactor.flush() == b""


@covers("provider.keys-never-shown")
@pytest.mark.parametrize("body", [CANARY[:40].encode(), sse({"text": CANARY[:40]})])
def test_most_of_a_key_at_the_end_counts_as_the_key(body):
    assert CANARY[:40].encode() not in redacted([body])
    assert CANARY[:4].encode() in redacted([sse({"text": CANARY[:4]})])


def test_replaced_keys_can_be_counted():
    whole = redacted([f"one {CANARY}, two {CANARY}".encode()])
    assert marks_in(whole) == [4, 4 + len(CANARY) + 6]
    spread = redacted([sse({"text": part}) for part in (*CANARY, " ", CANARY)])
    assert len(marks_in(spread)) == 2
    assert marks_in(b"[redacted") == []


def test_a_long_line_takes_linear_time():
    line = b'data: {"text": "' + b"s" * 4_000_000
    assert len(redacted([line[start : start + 4096] for start in range(0, len(line), 4096)])) == len(line)
