"""Further shapes that programs have written over the years, each in a small file of its own."""

import base64
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers
from tests.interop.reading import conversations, in_short, readable

from weft.errors import InvalidInputError
from weft.interop.conversation import EmbeddedImage, MediaImage
from weft.interop.found_keys import REMOVED, without_keys
from weft.interop.lenient_json import lenient_loads


def picture() -> bytes:
    """A PNG of one pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0\0\0\0")) + chunk(b"IEND", b"")


def written(folder: Path, value: object, name: str = "file.json") -> Path:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def short(folder: Path, value: object, name: str = "file.json") -> list[str]:
    """The nodes of the one conversation in a file."""
    (read,) = readable(written(folder, value, name))
    return in_short(read)[1:]


def entry(parts: list[Any], role: str = "user", parent: str | None = None, **more: Any) -> dict[str, Any]:
    content = {"content_type": more.pop("content_type", "text"), "parts": parts}
    recipient = more.pop("recipient", "all")
    author = {"role": role, "name": more.pop("name", None)}
    message = {"author": author, "content": content, "recipient": recipient, "metadata": more}
    return {"parent": parent, "message": message}


def chat(**mapping: dict[str, Any]) -> dict[str, Any]:
    return {"id": "c", "title": "Harbour", "mapping": mapping}


@covers("format.chatgpt-mapping")
def test_a_mapping_that_names_children_only_is_a_tree(tmp_path: Path) -> None:
    one, two = entry(["hi"]), entry(["yo"], "assistant")
    del one["parent"], two["parent"]
    assert short(tmp_path, chat(a={**one, "children": ["b"]}, b=two)) == ['user -: "hi"', 'assistant 0: "yo"']


@covers("format.chatgpt-parts")
def test_citation_marks_become_links_or_are_left_out_and_counted(tmp_path: Path) -> None:
    mark, other = "\ue200cite\ue202turn0search1\ue201", "\ue200cite\ue202turn0news2\ue201"
    references = [{"matched_text": mark, "alt": "([Tides](https://tides.example))"}]
    lines = short(tmp_path, chat(a=entry([f"High {mark}, low{other}."], content_references=references)))
    assert lines == [
        "lost: citation marks: private characters without meaning outside ChatGPT; links that the file has are kept",
        'user -: "High ([Tides](https://tides.example)), low."',
    ]


@covers("format.chatgpt-parts")
def test_a_spoken_message_keeps_its_transcript(tmp_path: Path) -> None:
    parts = [
        {"content_type": "audio_transcription", "text": "Ahoy"},
        {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file_1"},
    ]
    lines = short(tmp_path, chat(a=entry(parts, content_type="multimodal_text")))
    assert lines[-1] == 'user -: "Ahoy\\n[audio: sediment://file_1]"'


@covers("format.chatgpt-files", "formats.media")
def test_pictures_in_the_zip_belong_to_their_messages(tmp_path: Path) -> None:
    pointer = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_0ab1"}
    old = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-Zz9"}
    gone = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_404"}
    value = chat(
        a=entry(["Look", pointer, gone], attachments=[{"id": "file_0ab1", "name": "sea.png"}]),
        b=entry(['{"prompt": "a boat"}'], "assistant", "a", recipient="dalle.text2im"),
        c=entry([old], "tool", "b", name="dalle.text2im", content_type="multimodal_text"),
    )
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("conversations.json", json.dumps([value]))
        packed.writestr("file_0ab1-sea.dat", picture())
        packed.writestr("dalle-generations/file-Zz9-boat.webp", picture())
    (read,) = readable(archive)
    nodes = read.arranged.nodes
    shown = [part.file for node in nodes for part in node.parts if isinstance(part, MediaImage)]
    assert [file.name for file in shown] == ["file_0ab1-sea.dat", "dalle-generations/file-Zz9-boat.webp"]
    assert [loss.where for loss in read.arranged.source.losses] == ["a: sediment://file_404"]
    assert [node.role.value for node in nodes] == ["user", "assistant", "tool", "assistant"]


@covers("format.open-webui")
def test_an_open_webui_chat_without_a_history_is_its_list_of_messages(tmp_path: Path) -> None:
    messages = [
        {"id": "a", "parentId": None, "role": "user", "content": "hi"},
        {"id": "b", "parentId": "a", "role": "assistant", "content": "yo"},
    ]
    assert short(tmp_path, {"title": "T", "chat": {"messages": messages}}) == [
        'user -: "hi"',
        'assistant 0: "yo"',
    ]


@covers("format.open-webui", "formats.media")
def test_a_picture_inside_an_open_webui_message_is_a_picture(tmp_path: Path) -> None:
    url = f"data:image/png;base64,{base64.b64encode(picture()).decode()}"
    message = {"id": "a", "role": "user", "content": "hi", "files": [{"type": "image", "url": url}]}
    (read,) = readable(written(tmp_path, {"chat": {"history": {"messages": {"a": message}}}}))
    assert read.arranged.nodes[0].parts[1] == EmbeddedImage(data=picture(), mime_type="image/png")


@covers("format.claude-blocks")
def test_blocks_that_only_claudes_own_page_needs_are_no_text(tmp_path: Path) -> None:
    content = [{"type": "token_budget"}, {"type": "text", "text": "yo"}, {"type": "flag", "flag": "x"}]
    value = {
        "uuid": "c",
        "name": "T",
        "chat_messages": [{"uuid": "m", "sender": "assistant", "content": content}],
    }
    assert short(tmp_path, value) == ['assistant -: "yo"']


@covers("formats.each-format")
def test_tool_steps_of_lm_studio_are_calls_and_results(tmp_path: Path) -> None:
    call = {"type": "toolCallRequest", "callId": 7, "name": "add", "parameters": {"x": 1}}
    result = {"type": "toolCallResult", "toolCallId": 7, "content": "2"}
    steps = [{"type": "contentBlock", "content": [each]} for each in (call, result)]
    version = {"type": "multiStep", "role": "assistant", "steps": steps}
    value = {"name": "T", "messages": [{"versions": [version], "currentlySelected": 0}]}
    assert short(tmp_path, value) == ['assistant -: calls add {"x": 1}', 'tool 0: result of 7: "2"']


@covers("format.pyloom-probabilities")
def test_what_pyloom_keeps_in_a_file_of_its_own_is_found_beside_the_tree(tmp_path: Path) -> None:
    node = {"id": "a", "text": " upon", "children": [], "generation": {"id": "cmpl-1", "index": 0}}
    tree = written(tmp_path, {"root": {"id": "r", "text": "Once", "children": [node]}, "model_responses": {}})
    token = {"generatedToken": {"token": " upon", "logprob": -0.1}, "counterfactuals": {" in": -3.0}}
    response = {"id": "cmpl-1", "model": "davinci", "completions": [{"text": " upon", "tokens": [token]}]}
    written(tmp_path, {"cmpl-1": response}, "model_responses-2023.json")
    for place in (tree, tmp_path):
        (read,) = readable(place)
        assert in_short(read)[-1] == 'assistant 0: " upon" | davinci 1 tokens'
        assert read.arranged.nodes[1].chances == (
            {"token": " upon", "logprob": -0.1, "top_logprobs": [{"token": " in", "logprob": -3.0}]},
        )


@covers("formats.depth")
@pytest.mark.parametrize("depth", [400, 5_000])
def test_a_tree_that_is_nested_in_the_file_may_be_deep(depth: int, tmp_path: Path) -> None:
    opened = "".join(f'{{"id":"{at}","text":"t{at}","children":[' for at in range(depth))
    text = '{"root":' + opened + "]}" * depth + "}"
    (read,) = readable(written(tmp_path, text))
    assert read.arranged.counts.content_records == depth
    with pytest.raises(InvalidInputError, match=r"file\.json is not valid JSON at line 1, byte"):
        conversations(written(tmp_path, text[:-9]))


@covers("formats.each-format")
def test_numbers_that_are_none_and_halves_of_characters_do_not_refuse_a_file(tmp_path: Path) -> None:
    text = '{"root": {"id": "r", "text": "a\\ud83d \\ud83d\\ude00 \\\\ud83d", "children": [], "meta": {"x": NaN}}}'
    assert short(tmp_path, text) == ['user -: "a\ufffd \U0001f600 \\\\ud83d"']


@covers("formats.unreadable-container")
def test_a_file_in_utf_16_is_refused_with_its_encoding(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_bytes('{"mapping": {}}'.encode("utf-16"))
    with pytest.raises(InvalidInputError, match=r"file\.json is UTF-16, not UTF-8"):
        conversations(path)


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


@covers("formats.fuzz")
@given(value=_VALUES)
def test_the_parser_for_deep_files_reads_what_json_means(value: object) -> None:
    deep = json.dumps(value)
    wrapped = '{"x": [' * 1_200 + deep + "]}" * 1_200
    read: Any = lenient_loads(wrapped.encode("utf-8", "surrogatepass"))
    for _ in range(1_200):
        (read,) = read["x"]
    assert read == value


@covers("formats.keys-stripped")
@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-" + "aB3_" * 12,
        "sk-ant-api03-" + "x9Y-" * 12,
        "sk-" + "a1B2" * 12,
        "AIza" + "Ab1_-" * 7,
        "ghp_" + "a1" * 18,
        "hf_" + "aB" * 17,
        "AKIA" + "A1" * 8,
        "xoxb-" + "123456-abcdef-" * 3 + "x",
    ],
)
def test_keys_are_replaced_wherever_they_are(key: str, tmp_path: Path) -> None:
    assert without_keys(f"export KEY={key}; then")[0] == f"export KEY={REMOVED}; then"
    call = entry([json.dumps({"header": f"Bearer {key}"})], "assistant", "a", recipient="browser")
    thought = entry([f"it is {key}"], "assistant", "b", content_type="reasoning_recap")
    value = {**chat(a=entry([f'"{key}"']), b=call, c=thought), "title": f"About {key}"}
    (read,) = readable(written(tmp_path, value))
    assert key not in repr(read)
    assert [found.message for found in read.arranged.source.keys] == [None, 1, 2, 3]


@covers("formats.keys-stripped")
@pytest.mark.parametrize(
    "text",
    ["sk-learn-pipelines-and-estimators", "a task-force-of-many-people-1", "AKIA is short", "risk-9" * 9],
)
def test_words_that_look_like_keys_stay(text: str) -> None:
    assert without_keys(text) == (text, [])
