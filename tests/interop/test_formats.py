"""Each foreign format in small files with its oddities: what is counted, and which nodes are made."""

import json
from pathlib import Path

import pytest
from tests.covers import covers
from tests.interop.reading import REGISTRY, in_short, readable

FILES = Path(__file__).parent.parent / "data" / "imports"
EXPECTED: dict[str, list[str]] = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))


@covers(
    "formats.each-format",
    "formats.by-content",
    "format.chatgpt-mapping",
    "format.chatgpt-reasoning",
    "format.claude-parents",
    "format.claude-bulk-and-web",
    "format.claude-blocks",
    "format.open-webui",
    "format.sillytavern-swipes",
    "format.pyloom",
    "format.pyloom-source",
    "format.loomsidian",
    "format.loomsidian-unescaped",
    "format.exoloom",
    "format.bonsai",
    "format.bonsai-merge",
    "format.miniloom",
    "format.helm",
    "format.mikupad",
    "format.mikupad-key-stripped",
    "format.messages",
    "format.messages-tool-calls",
    "format.copilot-notes",
)
@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_is_read_as_its_program_meant_it(name: str) -> None:
    lines = [line for conversation in readable(FILES / name) for line in in_short(conversation)]
    assert lines == EXPECTED[name]


@covers("formats.by-content")
@pytest.mark.parametrize("name", EXPECTED)
def test_a_format_is_recognised_without_the_files_name(name: str, tmp_path: Path) -> None:
    copy = tmp_path / "download"
    copy.write_bytes((FILES / name).read_bytes())
    formats = {conversation.format for conversation in readable(copy)}
    assert formats == {conversation.format for conversation in readable(FILES / name)}


@covers("formats.by-content")
def test_a_session_of_a_single_piece_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_text(
        json.dumps({"prompt": json.dumps([{"type": "user", "content": "Once"}])}), encoding="utf-8"
    )
    (conversation,) = readable(path)
    assert conversation.format == "mikupad"
    assert in_short(conversation)[1:] == ['user -: "Once"']


@covers("formats.each-format")
def test_every_importer_has_an_example() -> None:
    read = {conversation.format for name in EXPECTED for conversation in readable(FILES / name)}
    assert read == set(REGISTRY.names)


@covers("formats.one-or-a-list")
def test_one_conversation_where_a_list_is_usual_and_the_other_way_round(tmp_path: Path) -> None:
    listed = json.loads((FILES / "chatgpt.json").read_text(encoding="utf-8"))
    alone, many = tmp_path / "alone.json", tmp_path / "many.json"
    alone.write_text(json.dumps(listed[0]), encoding="utf-8")
    helm = json.loads((FILES / "helm.json").read_text(encoding="utf-8"))
    many.write_text(json.dumps([helm, {**helm, "id": "second"}]), encoding="utf-8")
    assert [each.arranged.source.id for each in readable(alone)] == ["harbour"]
    assert [each.arranged.source.id for each in readable(many)] == ["h", "second"]


@covers("formats.join-files", "format.sillytavern-branches")
def test_branches_of_one_chat_in_several_files_are_one_tree(tmp_path: Path) -> None:
    for name in ("silly_tavern.jsonl", "silly_tavern_branch.jsonl"):
        (tmp_path / name).write_bytes((FILES / name).read_bytes())
    (joined,) = readable(tmp_path)
    words = [line.partition(": ")[2].partition(" | ")[0] for line in in_short(joined)[1:]]
    assert words == [
        'thinks "greet" + "Hello"',
        '"Who are you?"',
        '"A narrator note"',
        '"Where am I?"',
        '"Here."',
        '"Welcome"',
    ]
