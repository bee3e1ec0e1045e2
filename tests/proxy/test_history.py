"""Properties of the key of a history: it survives what clients do to their histories, and nothing else."""

import json

from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from weft.runtime.proxy.history import chain_of, chain_start, ordered, read_history
from weft.runtime.proxy.ledger import compare_texts, is_within, named_texts
from weft.runtime.proxy.turn_nodes import turn_nodes
from weft.runtime.proxy.wires import Wire

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=30)
IDS = st.text("abc123", min_size=1, max_size=6)
TEXT = st.builds(lambda words: {"type": "text", "text": words}, WORDS)
CALL = st.builds(lambda name: {"type": "tool_use", "id": name, "name": "read", "input": {"a": 1}}, IDS)
RESULT = st.builds(
    lambda name, words: {"type": "tool_result", "tool_use_id": name, "content": words}, IDS, WORDS
)
USER = st.builds(
    lambda blocks: {"role": "user", "content": blocks}, st.lists(st.one_of(TEXT, RESULT), max_size=4)
)
SAID = st.builds(
    lambda blocks: {"role": "assistant", "content": blocks}, st.lists(st.one_of(TEXT, CALL), max_size=4)
)
HISTORY = st.lists(st.one_of(USER, SAID), max_size=8)


def key_of(messages) -> bytes:
    parts = read_history(Wire.MESSAGES, {"messages": messages})
    return chain_of(parts, chain_start(""))[-1] if parts else chain_start("")


def reshaped(messages, choose):
    """What clients do between two requests: marks, strings for blocks, reminders, thinking, other arguments."""
    changed = json.loads(json.dumps(messages))
    for message in changed:
        blocks = message["content"]
        for block in blocks:
            if choose():
                block["cache_control"] = {"type": "ephemeral"}
            if block["type"] == "tool_use" and choose():
                block["input"] = {"b": None, "a": 2}
            if block["type"] == "tool_result" and choose():
                block["is_error"] = False
                block["content"] = [{"type": "text", "text": block["content"]}]
            if block["type"] == "text" and choose():
                block["text"] = f" {block['text']}\n"
        if message["role"] == "assistant" and choose():
            blocks.insert(0, {"type": "thinking", "thinking": "hm", "signature": "s"})
        if message["role"] == "user" and choose():
            blocks.insert(0, {"type": "text", "text": "<system-reminder>\nlater\n</system-reminder>"})
        if len(blocks) == 1 and set(blocks[0]) == {"type", "text"} and choose():
            message["content"] = blocks[0]["text"]
    return changed


@covers("proxy.normalised-history")
@given(HISTORY, st.data())
def test_what_clients_do_to_a_history_does_not_change_its_key(messages, data):
    assert key_of(reshaped(messages, lambda: data.draw(st.booleans()))) == key_of(messages)


@covers("proxy.normalised-history")
@given(HISTORY, HISTORY)
def test_the_chain_of_a_prefix_is_a_prefix_of_the_chain(messages, more):
    """Unless the next message belongs to the same turn, whose results are sorted together."""
    extended = [*messages, {"role": "assistant", "content": "x"}]
    parts = read_history(Wire.MESSAGES, {"messages": extended})
    longer = read_history(Wire.MESSAGES, {"messages": [*extended, *more]})
    links = chain_of(parts, chain_start("s"))
    assert chain_of(longer, chain_start("s"))[: len(links)] == links


@given(HISTORY, st.integers(0, 7), st.text("xyz", min_size=1, max_size=4))
def test_another_word_is_another_key(messages, place, word):
    changed = json.loads(json.dumps(messages))
    changed.insert(place, {"role": "user", "content": f"another {word}"})
    assert key_of(changed) != key_of(messages)


@given(HISTORY, st.integers(0, 30))
def test_nodes_hold_every_part_once_and_in_order(messages, known):
    parts = read_history(Wire.MESSAGES, {"messages": messages})
    nodes = turn_nodes(parts, known)
    kept = [part for node in nodes for part in node.parts if part.key]
    assert kept == [part for part in parts[known:] if part.key]
    assert [node.last for node in nodes] == sorted({node.last for node in nodes})
    assert list(ordered(list(parts))) == list(parts)


@given(st.lists(WORDS, max_size=5), WORDS)
def test_a_ledger_counts_each_text_once_and_loses_nothing_that_is_there(texts, summary):
    ledger = compare_texts([(f"n{at}", text) for at, text in enumerate(texts)], summary)
    assert all(each.lost >= 0 for each in ledger.counts)
    assert sum(each.lost for each in ledger.counts) == len(ledger.lost)
    assert not any(is_within(each.text, summary) for each in ledger.lost)
    for text in texts:
        places = [(place, place + len(each)) for _, each, place in named_texts(text)]
        assert all(one[1] <= other[0] for one, other in zip(sorted(places), sorted(places)[1:], strict=False))


@covers("proxy.ledger")
def test_a_ledger_names_paths_ids_numbers_and_errors():
    told = (
        "Traceback: AmbiguousTimeError: it is twice\n"
        "src/tides/dst.py:214 and docs/clock.md at commit 4be19a2, test_gap_november, fold=1, -01:00, 1,440 min"
    )
    kinds = {each: kind.value for kind, each, _ in named_texts(told)}
    assert kinds["src/tides/dst.py:214"] == kinds["docs/clock.md"] == "path"
    assert kinds["4be19a2"] == kinds["test_gap_november"] == kinds["fold=1"] == "id"
    assert kinds["-01:00"] == kinds["1,440"] == "number"
    assert kinds["AmbiguousTimeError: it is twice"] == "error"
    ledger = compare_texts([("a1", told), ("b2", "again 4be19a2")], "Fixed src/tides/dst.py:214; 14 of 1440.")
    lost = {each.text: each for each in ledger.lost}
    assert "src/tides/dst.py:214" not in lost
    assert (lost["4be19a2"].uses, lost["4be19a2"].last_in) == (2, "b2")
    assert ledger.lost[0].text == "4be19a2"
