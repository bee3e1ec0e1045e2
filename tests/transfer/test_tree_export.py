"""Trees in other shapes: what was exported and imported again is the same tree."""

import json
from pathlib import Path

import pytest
from tests.covers import covers

import weft
from weft.errors import InvalidInputError, NotFoundError
from weft.grove.node import NodeHandle
from weft.grove.tree import TreeHandle
from weft.tree.content import Mixed, Text, Thinking, ToolCall

FILES = Path(__file__).parent.parent / "data" / "imports"
SCRIPT = "<script>alert(1)</script><img src=http://evil.example/x onerror=alert(2)>"


@pytest.fixture
def harbour(fresh_loom: weft.Grove) -> TreeHandle:
    tree = fresh_loom.plant("The harbour", "", system_context="Be brief.")
    fresh_loom.add_agent("Sample", type="model", model_ref="scripted:echo")
    question = tree.say("Who lights it?")
    answer = question.say("Marie.", author="Sample").bookmark()
    question.say("Nobody.", author="Sample")
    call = ToolCall(id="k", name="look", arguments={"at": "lamp"})
    answer.say(Mixed((Thinking(text="Look."), Text("I look."), call)), author="Sample")
    return tree.refresh()


def shape(node: NodeHandle) -> list[object]:
    return [node.role.value, node.text, [shape(child) for child in node.children]]


@covers("export.foreign-shapes")
@pytest.mark.parametrize("name", ["chatgpt", "open-webui"])
def test_a_tree_in_a_foreign_shape_comes_back_as_it_was(
    fresh_loom: weft.Grove, harbour: TreeHandle, name: str, tmp_path: Path
) -> None:
    path = tmp_path / "export.json"
    path.write_text("".join(harbour.export(name)), encoding="utf-8")
    report = fresh_loom.import_conversations(path)
    assert report.conversations[0].format == name
    again = fresh_loom.tree(report.trees[0])
    assert again.title == "The harbour"
    if name == "open-webui":
        assert shape(again.root) == shape(harbour.root)
        assert [node.text for node in again.path] == [node.text for node in harbour.path]
    else:
        kept = [shape(child)[:2] for child in again.root.children[0].children]
        assert kept == [["assistant", "Marie."], ["assistant", "Nobody."]]


@covers("export.messages-jsonl")
def test_messages_have_one_line_a_leaf_and_are_read_back(
    fresh_loom: weft.Grove, harbour: TreeHandle, tmp_path: Path
) -> None:
    lines = [json.loads(line) for line in harbour.export("messages")]
    assert [line["messages"][0] for line in lines] == [{"role": "system", "content": "Be brief."}] * 2
    assert lines[1]["messages"][-1] == {"role": "assistant", "content": "Nobody."}
    assert lines[0]["messages"][-1]["tool_calls"][0]["function"]["name"] == "look"
    path = tmp_path / "messages.jsonl"
    path.write_text("".join(harbour.export("messages")), encoding="utf-8")
    assert [each.format for each in fresh_loom.import_conversations(path).conversations] == ["messages"] * 2


@covers("export.fine-tuning-pairs")
def test_bookmarked_and_other_siblings_are_pairs(
    fresh_loom: weft.Grove, harbour: TreeHandle, tmp_path: Path
) -> None:
    (line,) = [json.loads(line) for line in harbour.export("pairs")]
    assert [message["content"] for message in line["prompt"]] == ["Be brief.", "Who lights it?"]
    assert (line["chosen"][0]["content"], line["rejected"][0]["content"]) == ("Marie.", "Nobody.")
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(harbour.export("pairs")), encoding="utf-8")
    tree = fresh_loom.tree(fresh_loom.import_conversations(path).trees[0])
    assert [(leaf.text, leaf.metadata.bookmarked) for leaf in tree.leaves] == [
        ("Marie.", True),
        ("Nobody.", False),
    ]


@covers("export.markdown")
def test_markdown_of_a_path_and_of_a_tree(harbour: TreeHandle) -> None:
    whole = "".join(harbour.export("markdown"))
    assert whole.startswith("# The harbour\n")
    assert "branch 2 of 2\n\nNobody." in whole
    path = "".join(harbour.export("markdown", node=harbour.cursor))
    assert "Nobody." not in path
    assert "Marie." in path


@covers("export.html")
def test_a_page_is_whole_and_runs_and_loads_nothing(fresh_loom: weft.Grove) -> None:
    tree = fresh_loom.plant(SCRIPT, SCRIPT, system_context=SCRIPT)
    tree.say(SCRIPT).annotate(SCRIPT)
    page = "".join(tree.refresh().export("html"))
    assert "<script" not in page
    assert "onerror=alert(2)&gt;" in page
    assert "<img" not in page
    assert "default-src 'none'" in page
    assert page.count("<details") == page.count("</details>")


@covers("export.html")
def test_a_page_folds_every_branch_once(fresh_loom: weft.Grove) -> None:
    tree = fresh_loom.tree(fresh_loom.import_conversations(FILES / "chatgpt.json").trees[0])
    page = "".join(tree.export("html"))
    assert page.count("<summary>branch ") == 4
    assert page.count("<details") == page.count("</details>")


def test_an_unknown_format_is_refused_with_the_known_ones(harbour: TreeHandle) -> None:
    with pytest.raises(InvalidInputError, match="there is no format 'docx'"):
        harbour.export("docx")


@covers("export.trace")
def test_a_trace_has_the_request_the_response_and_the_manifest(fresh_loom: weft.Grove) -> None:
    fresh_loom.add_agent("Echo", type="model", model_ref="scripted:echo")
    said = fresh_loom.plant("T", "Hello")
    node = said.root.generate(agent="Echo")[0]
    trace = node.provenance().trace()
    assert trace["node"] == node.id
    assert trace["request"]
    assert trace["manifest"]
    with pytest.raises(NotFoundError, match="was not generated here"):
        said.root.provenance().trace()
