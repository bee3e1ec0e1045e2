"""Content: the tagged union, its wire form, and what is refused."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from weft.errors import InvalidInputError, LimitExceededError
from weft.tree.content import (
    CONTENT_LIMIT,
    Audio,
    Image,
    Mixed,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    check_content,
    check_text,
    content_from_wire,
    content_to_wire,
    plain_text,
    spoken_text,
)

REF = "ab" * 32
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**50), 2**50) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
blocks = st.one_of(
    st.builds(Text, texts),
    st.builds(
        Image,
        ref=st.just(REF),
        mime_type=texts,
        width=st.integers(0, 9),
        height=st.integers(0, 9),
        alt_text=st.none() | texts,
    ),
    st.builds(
        Audio,
        ref=st.just(REF),
        mime_type=texts,
        duration_ms=st.integers(0, 9),
        transcript=st.none() | texts,
    ),
    st.builds(ToolCall, id=texts, name=texts, arguments=json_values),
    st.builds(ToolResult, call_id=texts, content=json_values, is_error=st.booleans()),
    st.builds(Thinking, text=texts, opaque=json_values),
)
contents = blocks | st.builds(Mixed, st.lists(blocks, min_size=1, max_size=4).map(tuple))


@covers(
    "content.text",
    "content.image",
    "content.audio",
    "content.tool-call",
    "content.tool-result",
    "content.thinking-kept-as-is",
    "content.mixed",
)
@given(contents)
def test_content_comes_back_from_the_wire_as_it_was(content):
    check_content(content)
    wire = json.loads(json.dumps(content_to_wire(content)))
    assert content_from_wire(wire) == content


@covers("content.image", "content.audio")
def test_media_use_the_wire_names_of_the_spec():
    image = Image(ref=REF, mime_type="image/png", width=3, height=4)
    assert content_to_wire(image) == {
        "type": "image",
        "ref": REF,
        "mimeType": "image/png",
        "width": 3,
        "height": 4,
    }
    audio = Audio(ref=REF, mime_type="audio/wav", duration_ms=5, transcript="hm")
    assert content_to_wire(audio)["durationMs"] == 5


def test_spoken_text_leaves_thinking_and_tools_out():
    content = Mixed(
        (Thinking(text="hm"), Text("a"), ToolCall(id="1", name="look", arguments={"q": "x"}), Text("b"))
    )
    assert spoken_text(content) == "ab"
    assert plain_text(content) == "hm\na\nlook\nx\nb"


@pytest.mark.parametrize(
    ("wire", "field"),
    [
        ({}, "content.type must be a string"),
        ({"type": "video"}, "content.type is 'video'"),
        ({"type": "text"}, "content.text must be a string"),
        ({"type": "image", "ref": REF, "mimeType": "i", "width": -1, "height": 1}, "content.width"),
        ({"type": "tool_result", "callId": "1", "isError": "no"}, "content.isError"),
        ({"type": "mixed", "blocks": []}, "content.blocks"),
        ({"type": "mixed", "blocks": [{"type": "text"}]}, r"content.blocks\[0\].text"),
        (
            {"type": "mixed", "blocks": [{"type": "mixed", "blocks": [{"type": "text", "text": ""}]}]},
            "do not nest",
        ),
        ([], "content must be an object"),
    ],
)
def test_a_malformed_content_is_refused_with_the_fields_path(wire, field):
    with pytest.raises(InvalidInputError, match=field):
        content_from_wire(wire)


@given(json_values)
def test_reading_anything_gives_content_or_a_typed_error(value):
    with contextlib.suppress(InvalidInputError):
        content_from_wire(value)


@pytest.mark.outer
def test_a_hundred_megabytes_are_refused_with_the_numbers():
    with pytest.raises(LimitExceededError, match=f"100,000,000 characters, the limit is {CONTENT_LIMIT:,}"):
        check_text("x" * 100_000_000)


@pytest.mark.parametrize(
    ("text", "message"),
    [("a\x00b", "NUL character at offset 1"), ("ab\ud800", "lone surrogate at offset 2")],
)
def test_what_no_database_could_give_back_is_refused(text, message):
    with pytest.raises(InvalidInputError, match=message) as caught:
        check_content(Mixed((ToolCall(id="1", name="n", arguments={"deep": [text]}),)))
    assert caught.value.hint


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 2**60])
def test_numbers_that_json_does_not_keep_are_refused(number):
    with pytest.raises(InvalidInputError):
        check_content(ToolResult(call_id="1", content=[number]))


@pytest.mark.long
def test_deep_json_is_refused_without_recursion():
    value: object = "x"
    for _ in range(100_000):
        value = [value]
    with pytest.raises(LimitExceededError, match="nested deeper"):
        check_content(ToolResult(call_id="1", content=value))
