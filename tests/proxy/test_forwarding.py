"""Official clients against the proxy: what they get is what the upstream said."""

import pytest
from tests.covers import covers
from tests.proxy.proxied import OWNER_KEY, proxied
from tests.proxy.upstreams import Answer

import weft


@pytest.fixture
def loom(tmp_path):
    with weft.open(tmp_path / "grove.db") as grove:
        yield grove


def says(text):
    return lambda body, number: Answer(text=text)


@covers("proxy.openai", "proxy.recorded-as-a-tree")
def test_a_chat_becomes_a_tree(loom):
    with proxied(loom, lambda body, number: Answer(text=f"answer {number}")) as proxy:
        client = proxy.openai()
        history = [{"role": "user", "content": "hello"}]
        for turn in range(3):
            said = client.chat.completions.create(model="gpt-5", messages=history)
            assert said.choices[0].message.content == f"answer {turn + 1}"
            history += [said.choices[0].message, {"role": "user", "content": f"more {turn}"}]
        proxy.recorded()
        (tree,) = loom.trees()
        leaf = tree.root
        texts = []
        while leaf.children:
            (leaf,) = leaf.children
            texts.append(leaf.text)
        assert texts == ["hello", "answer 1", "more 0", "answer 2", "more 1", "answer 3"]
        assert proxy.upstream.heard[0].headers["authorization"] == "Bearer sk-of-the-upstream"
        assert loom.verify().valid


@covers("proxy.anthropic")
def test_a_streamed_message_with_tools_and_thinking(loom):
    def script(body, number):
        if number == 1:
            return Answer(text="let me look", thinking="hm", calls=[("toolu_1", "read", {"path": "a.py"})])
        return Answer(text="done")

    with proxied(loom, script) as proxy:
        client = proxy.anthropic()
        history = [{"role": "user", "content": "fix it"}]
        tools = [
            {"name": "read", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}
        ]
        with client.messages.stream(
            model="claude-x", max_tokens=100, messages=history, tools=tools
        ) as stream:
            first = stream.get_final_message()
        assert [block.type for block in first.content] == ["thinking", "text", "tool_use"]
        history += [
            {"role": "assistant", "content": first.content},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x = 1"}],
            },
        ]
        second = client.messages.create(model="claude-x", max_tokens=100, messages=history, tools=tools)
        assert second.content[0].text == "done"
        proxy.recorded()
        (tree,) = loom.trees()
        path = loom.read.path(tree.id, tree.leaves[0].id).nodes
        assert [node.role.value for node in path[1:]] == ["user", "assistant", "tool", "assistant"]
        assert loom.verify().valid
        assert OWNER_KEY not in str(proxy.upstream.heard)
