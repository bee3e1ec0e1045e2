"""Conversations of other programs become trees: whole or not at all, and only once."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.covers import covers
from tests.interop.test_shapes import picture

import weft
from weft.errors import InvalidInputError
from weft.store import schema
from weft.tree.content import Image, Text, Thinking, ToolCall, ToolResult, blocks_of
from weft.tree.node import Role

FILES = Path(__file__).parent.parent / "data" / "imports"


def chat(*messages: dict[str, Any], name: str = "c", **more: Any) -> dict[str, Any]:
    return {"uuid": name, "name": "Stairs", "chat_messages": list(messages), **more}


def message(name: str, parent: str | None, text: str, sender: str = "human") -> dict[str, Any]:
    zero = "00000000-0000-4000-8000-000000000000"
    return {"uuid": name, "sender": sender, "text": text, "parent_message_uuid": parent or zero}


def written(folder: Path, value: object, name: str = "export.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


@covers("import.no-branch-lost", "format.keeps-what-the-file-has", "formats.several-roots")
def test_a_chatgpt_export_keeps_branches_authors_models_times_and_what_was_hidden(
    fresh_loom: weft.Grove,
) -> None:
    report = fresh_loom.import_conversations(FILES / "chatgpt.json")
    assert [each.title for each in report.conversations] == ["The harbour", "Nothing"]
    (name,) = report.trees
    tree = fresh_loom.tree(name)
    roots = tree.root.children
    assert [node.text[:9] for node in roots] == ["Keeps a l", "An orphan"]
    assert roots[0].metadata.excluded
    question = roots[0].children[0]
    assert question.created_at.isoformat() == "2023-11-14T22:13:21.250000+00:00"
    answer, thought = question.children
    assert (answer.author, answer.role, tree.cursor.id) == ("gpt-y", Role.ASSISTANT, answer.id)
    assert isinstance(thought.content, Thinking)
    call = thought.children[0]
    result = call.children[0]
    assert isinstance(call.content, ToolCall)
    assert isinstance(result.content, ToolResult)
    assert (result.role, result.content.call_id) == (Role.TOOL, call.content.id)
    assert fresh_loom.verify().verdict == "valid"


@covers("import.no-branch-lost")
def test_a_source_is_given_by_its_path_as_text_or_as_a_stream(fresh_loom: weft.Grove) -> None:
    path = FILES / "chatgpt.json"
    by_path = fresh_loom.import_conversations(str(path), dry_run=True)
    with path.open("rb") as stream:
        by_stream = fresh_loom.import_conversations(stream, dry_run=True)
    titles = [each.title for each in by_path.conversations]
    assert titles == [each.title for each in by_stream.conversations] == ["The harbour", "Nothing"]


@covers("format.says-what-it-lost")
def test_the_report_counts_the_files_records_and_says_what_was_not_kept(fresh_loom: weft.Grove) -> None:
    report = fresh_loom.import_conversations(FILES / "chatgpt.json", dry_run=True)
    first = report.conversations[0]
    assert first.records is not None
    assert (first.records.records, first.records.content_records, first.nodes, first.new_nodes) == (
        11,
        9,
        9,
        9,
    )
    assert [(loss.what, loss.count, loss.places) for loss in first.lost] == [
        ("pictures", 1, ("a: file-service://file-lamp",)),
        ("attached files", 1, ("a: plan.txt",)),
        ("empty messages", 2, ()),
    ]
    assert fresh_loom.trees() == []


@covers("import.again-adds-only-new")
def test_importing_again_adds_only_what_is_new(fresh_loom: weft.Grove, tmp_path: Path) -> None:
    first = [message("a", None, "How many?"), message("b", "a", "94", "assistant")]
    fresh_loom.import_conversations(written(tmp_path, [chat(*first)]))
    more = [*first, message("c", "a", "95", "assistant"), message("d", "b", "Sure?")]
    report = fresh_loom.import_conversations(written(tmp_path, [chat(*more), chat(*first, name="other")]))
    assert [each.new_nodes for each in report.conversations] == [2, 2]
    assert len(fresh_loom.trees()) == 2
    question = fresh_loom.tree(report.trees[0]).root.children[0]
    assert [node.text for node in question.children] == ["94", "95"]
    assert [node.text for node in question.children[0].children] == ["Sure?"]
    again = fresh_loom.import_conversations(tmp_path / "export.json")
    assert (again.new_nodes, again.trees) == (0, report.trees)
    assert fresh_loom.verify().verdict == "valid"


@covers("import.again-adds-only-new")
def test_a_deleted_tree_is_imported_again(fresh_loom: weft.Grove, tmp_path: Path) -> None:
    path = written(tmp_path, chat(message("a", None, "How many?")))
    (tree,) = fresh_loom.import_conversations(path).trees
    fresh_loom.tree(tree).delete(confirm=tree)
    assert fresh_loom.import_conversations(path).new_nodes == 1


@covers("import.conversation-is-the-unit")
def test_a_conversation_that_cannot_be_read_does_not_stop_the_others(
    fresh_loom: weft.Grove, tmp_path: Path
) -> None:
    cyclic = chat(message("a", "b", "x"), message("b", "a", "y"), name="bad")
    path = written(tmp_path, [cyclic, chat(message("a", None, "How many?"))])
    report = fresh_loom.import_conversations(path)
    assert [each.error for each in report.conversations] == [
        "its messages are their own ancestors: a, b",
        None,
    ]
    assert len(fresh_loom.trees()) == 1
    with pytest.raises(InvalidInputError, match=r"export\.json \[0\]: its messages are their own ancestors"):
        fresh_loom.import_conversations(path, strict=True)


@covers("formats.unreadable-container")
def test_an_unreadable_container_imports_nothing(fresh_loom: weft.Grove, tmp_path: Path) -> None:
    text = json.dumps([chat(message("a", None, "One"), name="1"), chat(message("a", None, "Two"), name="2")])
    path = tmp_path / "export.json"
    path.write_text(text[:-20], encoding="utf-8")
    with pytest.raises(InvalidInputError, match="ends in the middle of its list, after 1 entries"):
        fresh_loom.import_conversations(path)
    assert fresh_loom.trees() == []


@covers("format.keeps-what-the-file-has")
def test_bookmarks_pruned_branches_pictures_and_merges_are_kept(fresh_loom: weft.Grove) -> None:
    exoloom, bonsai, claude = (
        fresh_loom.tree(fresh_loom.import_conversations(FILES / f"{name}.json").trees[0])
        for name in ("exoloom", "bonsai", "claude")
    )
    upon, pruned = exoloom.root.children[0].value, exoloom.root.children[0].children
    assert (exoloom.mode, upon.text) == ("buffer", "Once")
    assert [node.metadata.bookmarked for node in pruned] == [True]
    (merge,) = [node for node in bonsai.leaves if node.text == " both"]
    assert merge.edge is not None
    assert len(merge.edge.sources) == 2
    pictures = [
        block for node in claude.leaves for block in blocks_of(node.content) if isinstance(block, Image)
    ]
    assert pictures == []  # A picture of eight bytes has no size: its place is named.


@covers("formats.media", "format.chatgpt-files")
def test_pictures_of_an_exported_zip_are_in_their_nodes(fresh_loom: weft.Grove, tmp_path: Path) -> None:
    pointer = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_0ab1"}
    broken = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_0bad"}
    content = {"content_type": "multimodal_text", "parts": ["Look", pointer, broken]}
    mapping = {"a": {"parent": None, "message": {"author": {"role": "user"}, "content": content}}}
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("conversations.json", json.dumps([{"id": "c", "mapping": mapping}]))
        packed.writestr("file_0ab1-sea.dat", picture())
        packed.writestr("file_0bad-sea.png", b"no picture")
    report = fresh_loom.import_conversations(archive)
    (node,) = fresh_loom.tree(report.trees[0]).root.children
    text, image, other = blocks_of(node.content)
    assert isinstance(image, Image)
    assert (image.mime_type, image.width, fresh_loom.caller.store.blobs.get(image.ref)) == (
        "image/png",
        1,
        picture(),
    )
    assert (text, other) == (Text("Look"), Text("[image that is not kept: file_0bad-sea.png]"))
    assert report.conversations[0].kept["pictures"] == 1
    assert [loss.reason for loss in report.losses] == ["a kind of picture that is not known"]
    assert fresh_loom.import_conversations(archive).new_nodes == 0
    assert fresh_loom.verify().verdict == "valid"


@covers("format.pyloom-probabilities", "format.mikupad")
@pytest.mark.parametrize("name", ["pyloom", "mikupad"])
def test_probabilities_of_tokens_are_the_raw_response_of_their_node(
    fresh_loom: weft.Grove, name: str
) -> None:
    report = fresh_loom.import_conversations(FILES / f"{name}.json")
    tree = fresh_loom.tree(report.trees[0])
    (node,) = [each for leaf in tree.leaves for each in leaf.path if each.text == " upon"]
    response = tree.node(node.id).provenance().raw_response
    assert response is not None
    tokens = json.loads(response)["choices"][0]["logprobs"]["content"]
    assert tokens[0]["logprob"] < 0
    assert any(token["top_logprobs"] for token in tokens)
    assert report.conversations[0].kept["probabilities"] == len(tokens)
    assert fresh_loom.verify().verdict == "valid"


@covers("formats.keys-stripped", "format.mikupad-key-stripped")
def test_a_key_is_in_no_database_and_no_report(fresh_loom: weft.Grove, tmp_path: Path) -> None:
    key = "sk-proj-" + "Zx9Qw3" * 6
    path = written(tmp_path, chat(message("a", None, f"It is {key}, keep it")))
    report = fresh_loom.import_conversations(path)
    (node,) = fresh_loom.tree(report.trees[0]).root.children
    assert node.text == "It is [API key removed], keep it"
    (place,) = report.conversations[0].keys
    assert (place.kind, place.message, place.node) == ("OpenAI", 1, node.id)
    with fresh_loom.caller.store.read() as session:
        for table in schema.metadata.sorted_tables:
            assert key not in str(session.execute(table.select()).all())
    assert key not in repr(report)


@covers("format.keeps-what-the-file-has")
def test_a_message_without_a_time_has_that_of_the_one_above_it(
    fresh_loom: weft.Grove, tmp_path: Path
) -> None:
    entries = {
        name: {"parent": parent, "message": {"create_time": time, "content": {"parts": [name]}}}
        for name, parent, time in (("a", None, None), ("b", "a", 1_700_000_500), ("c", "b", None))
    }
    path = written(tmp_path, {"id": "x", "create_time": 1_700_000_000, "mapping": entries})
    tree = fresh_loom.tree(fresh_loom.import_conversations(path).trees[0])
    times = [node.created_at.timestamp() for node in tree.leaves[0].path][1:]
    assert times == [1_700_000_000, 1_700_000_500, 1_700_000_500]


@covers("formats.containers")
def test_a_stream_is_imported(fresh_loom: weft.Grove) -> None:
    report = fresh_loom.import_conversations(io.BytesIO((FILES / "helm.json").read_bytes()))
    assert (report.new_nodes, report.conversations[0].file) == (2, "standard input")


@covers("import.undo")
def test_an_import_can_be_undone(fresh_loom: weft.Grove, tmp_path: Path) -> None:
    path = written(tmp_path, chat(message("a", None, "How many?"), message("b", "a", "94", "assistant")))
    tree = fresh_loom.tree(fresh_loom.import_conversations(path).trees[0])
    tree.undo()
    assert tree.refresh().root.children == []
    tree.redo()
    assert len(tree.refresh().root.children) == 1
    assert fresh_loom.verify().verdict == "valid"


@covers("import.large")
@pytest.mark.outer
def test_a_long_conversation_is_imported_whole(fresh_loom: weft.Grove, tmp_path: Path) -> None:
    messages = [message(str(i), str(i - 1) if i else None, f"line {i}") for i in range(3_000)]
    tree = fresh_loom.tree(fresh_loom.import_conversations(written(tmp_path, chat(*messages))).trees[0])
    assert (tree.counters.nodes, tree.counters.depth) == (3_001, 3_000)
    assert fresh_loom.verify().verdict == "valid"
