"""One command to an answer: ask."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.desk import Desk
from tests.covers import covers

from weft.cli.session import Settings
from weft.providers.base import ProviderRegistry
from weft.testing import Reply, Scripted
from weft.tree.content import ToolCall


@pytest.fixture
def desk(desk: Desk, empty_tables: Path) -> Desk:
    """A grove with nothing in it but an agent that says back what it hears."""
    shutil.copy(empty_tables, desk.address)
    desk.ok("agents", "add", "Echo", "--model", "scripted:echo")
    return desk


@pytest.fixture
def notes(desk: Desk, tmp_path: Path) -> Desk:
    folder = tmp_path / "Notes"
    folder.mkdir()
    (folder / "Lamp.md").write_text("The lamp burns whale oil.")
    desk.ok("vault", "add", str(folder))
    return desk


@covers("ask.one-command")
def test_ask_prints_the_answer_and_plants_a_tree_where_there_is_none(desk):
    answer = desk("ask", "Why is it dark?")
    assert (answer.out, answer.code) == ("You said: Why is it dark?\n", 0)
    assert answer.err.startswith("Echo wrote [")
    assert 'in "Why is it dark?"' in answer.err
    desk.ok("ask", "And", "now?")
    assert desk.json("ls")[0]["counters"]["nodes"] == 5
    desk.ok("ask", "--new", "Something else")
    assert len(desk.json("ls")) == 2


@covers("ask.pipes")
def test_ask_takes_what_a_pipe_brings_alone_or_before_the_words(desk):
    assert desk.ok("ask", stdin="Why?\n") == "You said: Why?"
    assert desk.ok("ask", "-", stdin="Why?\n") == "You said: Why?"
    assert desk.ok("ask", "Summarise this.", stdin="a\nb\n") == "You said: a\nb\n\nSummarise this."
    assert "ask what?" in desk.fail("INVALID_INPUT", "ask", stdin="")


def test_ask_as_json_has_the_answer_its_tools_and_its_notices(notes):
    told = notes.json("ask", "What does the lamp burn?", "--runner", "vault", "--vault", "Notes")
    assert told["runner"] == "vault"
    assert told["ending"] == "done"
    assert told["question"]["content"]["text"] == "What does the lamp burn?"
    assert "whale oil" in told["node"]["content"]["text"]
    assert [each["name"] for each in told["tools"]] == ["localSearch"]
    assert told["tools"][0]["sources"][0]["id"] == "Lamp.md"
    none = notes("ask", "Who are zeppelins?", "-r", "vault")
    assert "not in the notes" in none.err


def test_ask_names_the_tools_that_run_and_what_is_wrong(notes):
    shown = notes("ask", "What does the lamp burn?", "-r", "tools", "--planner", "rules")
    assert "→ localSearch(query=What does the lamp burn?)" in shown.err
    assert "there is no runner 'magic'" in notes.fail("INVALID_INPUT", "ask", "Why?", "-r", "magic")
    assert "no vault 'Attic'" in notes.fail("NOT_FOUND", "ask", "Why?", "--vault", "Attic")
    assert "does not name a model" in notes.fail("INVALID_INPUT", "ask", "Why?", "-m", "echo")


@covers("ask.model")
def test_ask_with_a_model_adds_an_agent_for_it_and_leaves_the_default(desk):
    assert "loud wrote [" in desk("ask", "Who?", "--model", "scripted:loud").err
    assert "Echo wrote [" in desk("ask", "And you?").err
    assert [each["name"] for each in desk.json("agents")].count("loud") == 1


@covers("runner.pending-in-preview")
def test_context_previews_a_runner(notes):
    notes.ok("new", "Talk")
    notes.ok("say", "What does the lamp burn?")
    shown = notes.json("context", "--runner", "tools")
    assert [each for each in shown["manifest"]["entries"] if each["reason"].startswith("pending")]
    assert "whale oil" in json.dumps(notes.json("context", "--vault", "Notes"))
    assert "whale oil" in notes.ok("context", "--raw", "-o", "runner=vault")


def test_ask_makes_the_grove_that_is_named(tmp_path):
    command = [
        sys.executable,
        "-m",
        "weft.cli",
        "ask",
        "--grove",
        str(tmp_path / "new.db"),
        "-m",
        "scripted:echo",
    ]
    done = subprocess.run(command, input="Hello", capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "You said: Hello\n"


class ScriptedDesk(Desk):
    """A desk whose model says what the test scripts."""

    model = Scripted([])

    @property
    def settings(self) -> Settings:
        return replace(super().settings, providers=ProviderRegistry({"scripted": self.model}))


@covers("runner.agent", "ask.chat-runner")
def test_chat_with_the_agent_runner_shows_its_tools_and_goes_on(notes):
    desk = ScriptedDesk(notes.address, notes.clock, notes.chance)
    calls = (ToolCall(id="1", name="readNote", arguments={"path": "Lamp.md"}),)
    desk.model = Scripted([Reply(text="I look.", calls=calls), "Whale oil.", "Bye."])
    talk = desk("chat", "--runner", "agent", stdin="What burns?\n/runner chat\nThanks\n")
    assert talk.code == 0, talk.err
    assert talk.out == "I look.\nWhale oil.\nBye.\n"
    assert "→ readNote(path=Lamp.md)" in talk.err
    assert "turns are run by chat" in talk.err
    assert [bool(request.tools) for request in desk.model.requests] == [True, True, False]
    assert "there is no runner 'magic'" in desk.fail("INVALID_INPUT", "chat", "--runner", "magic")


@covers("runner.agent-resumed")
def test_ask_resumes_an_interrupted_agent(notes):
    desk = ScriptedDesk(notes.address, notes.clock, notes.chance)
    calls = (ToolCall(id="1", name="readNote", arguments={"path": "Lamp.md"}),)
    desk.model = Scripted([Reply(calls=calls), "Whale oil."])
    stopped = desk("ask", "What burns?", "-r", "agent", "--turns", "1")
    assert "note: ended after 1 turn" in stopped.err
    assert desk.ok("ask", "--resume") == "Whale oil."
    assert "nothing was interrupted here" in desk.fail("NOT_FOUND", "ask", "--resume")


@covers("runner.vault-citations-checked")
def test_ask_names_the_sources_that_an_answer_cites(notes):
    desk = ScriptedDesk(notes.address, notes.clock, notes.chance)
    desk.model = Scripted(["Whale oil [1], perhaps [7]."])
    answer = desk("ask", "What does the lamp burn?", "--vault", "Notes")
    assert "  [1] Lamp.md\n  [7] unknown source\n" in answer.err
