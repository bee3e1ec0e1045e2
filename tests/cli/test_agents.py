"""agents, and acting as one."""

from tests.cli.desk import Desk
from tests.covers import covers


def test_agents_are_added_listed_and_let_go(marie: Desk) -> None:
    answer = marie("agents", "add", "Muse", "--model", "local:small", "--may", "loom_aware")
    assert answer.err.startswith("added 'Muse', local:small; permissions: loom_aware\n")
    made = marie.json(
        "agents", "add", "Ada", "--system", "Be kind.", "--temperature", "0.5", "--max-tokens", "9",
        "--stop", "END", "--model", "a:b",
    )  # fmt: skip
    assert made["configuration"] == {
        "systemPrompt": "Be kind.", "temperature": 0.5, "maxTokens": 9, "stopSequences": ["END"], "custom": {}
    }  # fmt: skip
    assert "everything" in marie("agents", "add", "Grace").err
    rows = [line.split("\t")[1:] for line in marie.ok("agents").splitlines()]
    assert rows[1] == ["Muse", "model", "local:small", "loom_aware"]
    assert [row[0] for row in rows] == ["human", "Muse", "Ada", "Grace"]
    shown = marie("agents", "ls", width=80).out.splitlines()
    assert shown[1].startswith("*  human")
    assert "nothing" in shown[3]
    assert marie("agents", "archive", "Ada").err == "archived 'Ada'\n"
    assert "Ada" not in marie.ok("agents")
    assert "archived" in marie("agents", "ls", "--archived", width=80).out
    assert marie("agents", "archive", "Ada", "--undo").err == "restored 'Ada'\n"
    assert len(marie.json("agents")) == 4


def test_an_agent_that_cannot_be_is_refused(marie: Desk) -> None:
    assert "provider:model" in marie.fail("INVALID_INPUT", "agents", "add", "Muse", "--model", "small")
    assert "requires loom_aware" in marie.fail("INVALID_INPUT", "agents", "add", "M", "--may", "loom_write")
    assert "'loom_aware'" in marie.fail("INVALID_SYNTAX", "agents", "add", "Muse", "--may", "fly")
    marie.fail("CONFLICT", "agents", "add", "Human")
    assert "owns the grove" in marie.fail("CONFLICT", "agents", "archive", "human")
    marie.fail("NOT_FOUND", "agents", "archive", "Nobody")


@covers("permission.inside-the-operations")
def test_acting_as_an_agent_means_with_its_rights_and_from_its_place(marie: Desk) -> None:
    marie.ok("agents", "add", "Grace")
    marie.ok("agents", "add", "Muse", "--model", "local:small", "--may", "loom_aware")
    marie.ok("say", "Why?")
    node = marie.json("say", "Hello.", "--as", "Grace")
    assert node["depth"] == 1
    assert "[" + node["localId"] + "] Grace" in marie.ok("tree")
    assert marie.ok("--as", "Muse", "read", node["localId"]) == "Hello."
    assert "loom_write not enabled" in marie.fail("PERMISSION_DENIED", "say", "x", "--as", "Muse")
    assert "loom_write" in marie.fail("PERMISSION_DENIED", "agents", "add", "X", "--as", "Muse")
    marie.fail("NOT_FOUND", "ls", "--as", "Nobody")
