"""Files that are damaged, hostile or unusual: read faithfully, or refused with the place named."""

import contextlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers
from tests.interop.reading import REGISTRY, conversations, readable

from weft.errors import InvalidInputError, LimitExceededError, WeftError
from weft.interop.importer import ReadConversation, UnreadableConversation, read_files
from weft.interop.source_file import SourceFile, opened_files, opened_stream

FILES = Path(__file__).parent.parent / "data" / "imports"
NAMES = sorted(path.name for path in FILES.iterdir() if path.name != "expected.json")


def helm(*nodes: dict[str, Any], name: str = "h") -> dict[str, Any]:
    return {"id": name, "name": name, "rootId": "1", "nodes": list(nodes)}


def node(name: str, parent: str | None, text: str = "x") -> dict[str, Any]:
    return {"id": name, "parentId": parent, "text": text}


def written(folder: Path, value: object, name: str = "file.json") -> Path:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


@covers("formats.cycle")
def test_a_cycle_is_an_error_that_names_the_ids_and_does_not_stop_the_others(tmp_path: Path) -> None:
    cyclic = helm(node("a", "b"), node("b", "a"))
    path = written(tmp_path, [cyclic, helm(node("1", None), name="good")])
    bad, good = conversations(path)
    assert isinstance(bad, UnreadableConversation)
    assert (bad.place, bad.message) == ("[0]", "its messages are their own ancestors: a, b")
    assert isinstance(good, ReadConversation)


@covers("formats.missing-parent", "formats.several-roots")
def test_a_parent_that_is_not_in_the_file_makes_a_root(tmp_path: Path) -> None:
    (read,) = readable(written(tmp_path, helm(node("1", None), node("2", "gone"))))
    assert read.arranged.counts.roots == 2
    assert [each.parent for each in read.arranged.nodes] == [None, None]


@covers("formats.empty-messages")
def test_empty_messages_are_taken_out_and_their_children_hang_on_the_nearest_ancestor(tmp_path: Path) -> None:
    (read,) = readable(written(tmp_path, helm(node("1", None), node("2", "1", " \n"), node("3", "2"))))
    assert [(each.id, each.parent) for each in read.arranged.nodes] == [("1", None), ("3", "1")]


@covers("formats.unreadable-container")
@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith(".json")])
def test_a_truncated_file_is_refused_with_the_place(name: str, tmp_path: Path) -> None:
    whole = (FILES / name).read_bytes().rstrip()
    path = tmp_path / name
    path.write_bytes(whole[: len(whole) * 2 // 3])
    with pytest.raises(
        InvalidInputError, match=rf"{name} (\[\d+\] )?(is not valid JSON at line|ends in the middle)"
    ):
        conversations(path)


@covers("formats.unreadable-container")
def test_a_broken_entry_of_a_list_is_named_with_its_byte(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text('[{"mapping": {}, "id": "a"}, {"mapping": {"x": tru}}]', encoding="utf-8")
    with pytest.raises(
        InvalidInputError, match=r"conversations\.json \[1\] is not valid JSON at line 1, byte \d+"
    ):
        conversations(path)


@covers("formats.unreadable-container")
def test_a_file_in_another_encoding_is_refused_with_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "chat.md"
    path.write_bytes(b"**user**: caf\xe9")
    with pytest.raises(InvalidInputError, match=r"chat\.md is not UTF-8 at line 1, byte 13"):
        conversations(path)


@covers("formats.by-content")
def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"no importer knows the format of file\.json") as caught:
        conversations(written(tmp_path, {"hello": 1}))
    assert "chatgpt" in str(caught.value.hint)


@covers("formats.containers")
def test_a_zip_a_folder_and_standard_input_hold_the_same(tmp_path: Path) -> None:
    content = (FILES / "chatgpt.json").read_bytes()
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("export/conversations-000.json", content)
        packed.writestr("export/chat.html", "<html>")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "conversations.json").write_bytes(content)
    alone = [each.arranged for each in readable(FILES / "chatgpt.json")]
    assert [each.arranged for each in readable(archive)] == alone
    assert [each.arranged for each in readable(folder)] == alone
    with opened_stream(io.BytesIO(archive.read_bytes())) as files:
        read = list(read_files(files, REGISTRY))
    assert [each.arranged for each in read if isinstance(each, ReadConversation)] == alone


@pytest.mark.outer
@covers("formats.zip-limits")
def test_a_hostile_zip_is_refused_and_writes_nothing_outside(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("conversations.json", b" " * (80 * 1024 * 1024))
    with pytest.raises(LimitExceededError, match="unpacks to more than"):
        conversations(bomb)
    outside = tmp_path / "escape.zip"
    with zipfile.ZipFile(outside, "w") as packed:
        packed.writestr("../../escaped.json", (FILES / "helm.json").read_bytes())
        packed.writestr("/absolute.json", (FILES / "helm.json").read_bytes())
    assert len(readable(outside)) == 2
    assert not (tmp_path.parent / "escaped.json").exists()
    broken = tmp_path / "broken.zip"
    broken.write_bytes(outside.read_bytes()[:-60] + b"\0" * 60)
    with pytest.raises(WeftError):
        conversations(broken)


@pytest.mark.outer
@covers("formats.depth")
def test_a_path_of_a_hundred_thousand_messages_is_read(tmp_path: Path) -> None:
    nodes = [node("0", None), *(node(str(i), str(i - 1)) for i in range(1, 100_000))]
    (read,) = readable(written(tmp_path, helm(*nodes)))
    assert read.arranged.counts.content_records == len(read.arranged.nodes) == 100_000


@covers("formats.nesting")
def test_a_value_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError):
        conversations(written(tmp_path, "[" * 100_000 + "]" * 100_000))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@covers("formats.fuzz")
@given(data=st.data(), name=st.sampled_from([name for name in NAMES if not name.endswith(".md")]))
def test_a_changed_value_gives_a_typed_error_or_conversations(data: st.DataObject, name: str) -> None:
    text = (FILES / name).read_text(encoding="utf-8")
    values = [json.loads(line) for line in text.splitlines()] if name.endswith("l") else [json.loads(text)]
    changed = _changed(data, values)
    content = "\n".join(map(json.dumps, changed)) if name.endswith("l") else json.dumps(changed[0])
    try:
        read = list(read_files([SourceFile(name, content.encode())], REGISTRY))
    except WeftError:
        return
    assert all(isinstance(each, ReadConversation | UnreadableConversation) for each in read)


def _changed(data: st.DataObject, value: Any) -> Any:
    """The value with one place in it replaced."""
    if isinstance(value, dict) and value and data.draw(st.booleans() | st.just(value=True)):
        key = data.draw(st.sampled_from(sorted(value)))
        return {**value, key: _changed(data, value[key])}
    if isinstance(value, list) and value:
        index = data.draw(st.integers(0, len(value) - 1))
        return [*value[:index], _changed(data, value[index]), *value[index + 1 :]]
    return data.draw(_JSON)


@covers("formats.fuzz")
@given(content=st.binary(max_size=300))
def test_any_bytes_give_a_typed_error_or_conversations(content: bytes) -> None:
    with contextlib.suppress(WeftError):
        list(read_files([SourceFile("file", content)], REGISTRY))


def test_an_open_file_may_be_empty(tmp_path: Path) -> None:
    path = tmp_path / "empty.json"
    path.touch()
    with opened_files(path) as files, pytest.raises(InvalidInputError):
        list(read_files(files, REGISTRY))
