"""The newest versions of the newest files."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context.recipes.filters.chats import chats
from tests.covers import covers

from weft.context.manifest_entries import Outcome
from weft.context.recipes import apply_filters, run_filters


def limited(messages, **options) -> list:
    return apply_filters(
        messages, [{"name": "fileContentsLimiter", "options": {"placeholder": "-", **options}}]
    )


def file(path, content):
    return json.dumps({"filepath": path, "content": content}, separators=(",", ":"))


def read(path, content="c"):
    return {"role": "tool", "tool_call_id": "c", "content": file(path, content)}


def wrote(*files):
    calls = [
        {"id": "c", "type": "function", "function": {"name": "W", "arguments": file(*each)}} for each in files
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def contents(messages):
    """Every file's path and content, oldest message first."""
    found = []
    for message in messages:
        texts = [call["function"]["arguments"] for call in message.get("tool_calls", ())] or [
            message["content"]
        ]
        found += [tuple(json.loads(text).values()) for text in texts]
    return found


@covers("filter.files-newest", "filter.files-placeholder")
def test_the_newest_versions_of_the_newest_files_stay():
    messages = [
        read("a", "1"),
        read("b", "1"),
        read("a", "2"),
        read("c", "1"),
        read("a", "3"),
        read("c", "2"),
    ]
    found = limited(messages, filesLimit=2, versionsPerFile=2)
    assert contents(found) == [("a", "-"), ("b", "-"), ("a", "2"), ("c", "1"), ("a", "3"), ("c", "2")]
    assert found[2] is messages[2]


@covers("filter.files-newest")
def test_calls_of_one_message_are_gone_through_in_their_order():
    found = limited([wrote(("a", "1"), ("a", "2"), ("b", "1"), ("a", "3"))], versionsPerFile=2)
    assert contents(found) == [("a", "1"), ("a", "2"), ("b", "1"), ("a", "-")]


@covers("filter.files-newest")
@given(chats(), st.integers(0, 3), st.integers(0, 3))
def test_no_more_files_and_versions_stay_than_asked_for_and_nothing_else_changes(messages, files, versions):
    found = limited(messages, filesLimit=files, versionsPerFile=versions)
    assert len(found) == len(messages)
    kept: dict = {}
    for before, after in zip(messages, found, strict=True):
        assert before.keys() == after.keys()
        if before["role"] == "tool" and is_file(before["content"]):
            tally(kept, after["content"])
        elif before["role"] != "tool":
            assert before["content"] == after["content"]
        for call in after.get("tool_calls", ()):
            tally(kept, call["function"]["arguments"])
    assert len(kept) <= files
    assert all(count <= versions for count in kept.values())
    assert limited(found, filesLimit=files, versionsPerFile=versions) == found or versions


def is_file(text):
    return isinstance(text, str) and text.startswith('{"filepath"')


def tally(kept, text):
    value = json.loads(text)
    if value["content"] != "-":
        kept[value["filepath"]] = kept.get(value["filepath"], 0) + 1


@covers("filter.files-placeholder")
def test_what_is_rewritten_is_compact_json_with_javascripts_key_order():
    text = '{ "z": 1.0, "10": 1e21, "content": "x", "filepath": "a", "2": "é😀", "z": -0 }'
    (found,) = limited([{"role": "tool", "tool_call_id": "c", "content": text}], versionsPerFile=0)
    assert found["content"] == '{"2":"é😀","10":1e+21,"z":0,"content":"-","filepath":"a"}'


@pytest.mark.parametrize(
    "text",
    [
        "not json",
        '{"filepath":"a","content":"b"',
        '[{"filepath":"a","content":"b"}]',
        '{"filepath":"a"}',
        '{"content":"b"}',
        '{"filepath":"a","content":NaN}',
        "null",
        '"text"',
        "",
        "[" * 100_000,
        None,
        {"filepath": "a", "content": "b"},
        [{"type": "text", "text": '{"filepath":"a","content":"b"}'}],
    ],
)
def test_what_is_no_file_stays_as_it_is(text):
    messages = [
        {"role": "tool", "tool_call_id": "c", "content": text},
        {"role": "tool", "content": file("a", "b")},
        {"role": "tool", "tool_call_id": "", "content": file("a", "b")},
        {"role": "assistant", "tool_calls": [{"function": {"arguments": text}}, {"function": None}, None]},
        {"role": "assistant", "content": file("a", "b")},
        {"role": "user", "content": file("a", "b")},
    ]
    assert limited(messages, versionsPerFile=0) == messages


@pytest.mark.parametrize("content", ["null", "5", "[]", '""'])
def test_a_content_of_any_kind_is_a_files_content(content):
    text = f'{{"filepath":"a","content":{content}}}'
    (found,) = limited([{"role": "tool", "tool_call_id": "c", "content": text}], versionsPerFile=0)
    assert found["content"] == '{"filepath":"a","content":"-"}'


@pytest.mark.parametrize("path", ['""', "null", "5", "true", "[]", "{}"])
def test_a_file_without_a_name_is_never_kept(path):
    text = f'{{"filepath":{path},"content":"b"}}'
    (found,) = limited([{"role": "tool", "tool_call_id": 5, "content": text}])
    assert found["content"] == f'{{"filepath":{path},"content":"-"}}'


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, 7),
        ({"filesLimit": 2.5}, 7),
        ({"filesLimit": "3"}, 7),
        ({"filesLimit": True}, 7),
        ({"filesLimit": None}, 7),
        ({"filesLimit": 3.0}, 3),
        ({"filesLimit": 0}, 0),
        ({"filesLimit": -1}, 0),
        ({"detectToolMessages": False}, 9),
        ({"detectToolMessages": 0}, 7),
        ({"detectToolMessages": None}, 7),
    ],
)
def test_limits_that_are_no_whole_numbers_mean_seven_and_two(options, kept):
    found = limited([read(f"f{number}", "1") for number in range(9)], **options)
    assert sum(1 for _, content in contents(found) if content == "1") == kept
    again = limited([read("f", "1") for _ in range(5)], versionsPerFile="many")
    assert [content for _, content in contents(again)] == ["-", "-", "-", "1", "1"]


def test_calls_and_results_can_be_left_alone():
    messages = [wrote(("a", "1")), read("a", "2")]
    assert limited(messages, versionsPerFile=0, detectAssistantToolCalls=False) == [
        messages[0],
        read("a", "-"),
    ]
    assert limited(messages, versionsPerFile=0, detectToolMessages=False) == [wrote(("a", "-")), messages[1]]


@covers("filter.everything-in-the-manifest")
def test_every_message_that_lost_contents_is_told():
    found = run_filters([read("a"), read("a"), read("a")], ["fileContentsLimiter"])
    (mark,) = found.steps[0].marks
    assert (mark.outcome, mark.position) == (Outcome.SHORTENED, 0)
    assert json.loads(found.messages[0]["content"])["content"] == "(file contents omitted for space)"
