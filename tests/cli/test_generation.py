"""Asking models from the command line: gen, chat, summarise, spend, who answers."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.desk import Desk
from tests.covers import covers


@pytest.fixture
def desk(desk: Desk, empty_tables: Path) -> Desk:
    """A grove with nothing in it."""
    shutil.copy(empty_tables, desk.address)
    return desk


@pytest.fixture
def talk(marie: Desk) -> Desk:
    """A grove with a model that says back what it hears."""
    marie.ok("agents", "add", "Echo", "--model", "scripted:echo")
    marie.ok("say", "Hello there")
    return marie


@covers("cli.gen")
def test_gen_prints_the_words_and_says_on_stderr_which_nodes_they_are(talk):
    answer = talk("gen")
    assert answer.code == 0
    assert answer.out == "You said: Hello there\n"
    assert answer.err.startswith("Echo wrote [")
    several = talk("gen", "--number", "2", "--tree", "Marie")
    assert several.out.count("\n\n") == 1
    shown = talk("gen", "-n", "2", width=80)
    assert "1/2 Echo\n" in shown.out
    assert "2/2 Echo\n" in shown.out


@covers("cli.gen", "cache.payload-recorder")
def test_gen_and_ask_show_the_request_in_layers_where_that_is_wanted(talk):
    assert "L5_USER" not in talk("gen").err
    for command in (("gen",), ("ask", "And?")):
        shown = talk(*command, "--record-payload")
        assert "You said: " in shown.out
        assert "## L5_USER" in shown.err
    talk.ok("prefer", "recordPayload=true")
    assert "## L5_USER" in talk("gen").err


@covers("cli.gen")
def test_gen_gives_everything_as_json_and_asks_once_for_the_same_key(talk):
    node = talk.json("gen", "--key", "one", "--max-tokens", "2")["nodes"][0]
    assert (node["content"]["text"], node["status"]) == ("You said:", "complete")
    parent = node["edge"]["sources"][0]["node"]
    again = talk.json("gen", "--from", parent, "--key", "two")["nodes"]
    assert talk.json("gen", "--from", parent, "--key", "two")["nodes"] == again
    assert talk.fail("CONFLICT", "gen", "--from", parent, "--key", "two", "-n", "2")


@covers("cli.gen")
def test_gen_with_a_text_says_it_and_then_generates(talk):
    answer = talk("gen", "Who", "are", "you?")
    assert answer.out == "You said: Hello there\n\nWho are you?\n"
    assert [line.split(" ")[0] for line in answer.err.splitlines()] == ["wrote", "Echo"]
    here = talk.json("switch")["id"]
    below = talk.json("gen", "And then?", "--from", here)["nodes"][0]
    path = [node["content"].get("text") for node in talk.json("read", below["id"])["nodes"]]
    assert path[1:-1] == ["Hello there", "Who are you?", "You said: Hello there\n\nWho are you?", "And then?"]
    assert "You said: " in talk.ok("gen", "-", stdin="From a pipe\n")
    assert "From a pipe" in talk.ok("read")


@covers("cli.gen")
def test_gen_does_not_take_a_nodes_id_for_a_text(talk):
    here = talk.ok("switch")
    refused = talk.fail("INVALID_INPUT", "gen", here)
    assert f"weft gen --from {here}; to say it: weft say {here}" in refused
    assert "weft say" in talk.fail("INVALID_INPUT", "gen", "Hello", "--dry-run")
    assert "weft say" in talk.fail("INVALID_INPUT", "gen", "Hello", "--key", "k")
    assert "no node or tree" in talk.fail("NOT_FOUND", "gen", "Hello", "--from", "nowhere at all")


@covers("cli.gen")
def test_gen_with_a_text_plants_a_tree_where_there_is_none(desk):
    desk.ok("agents", "add", "Echo", "--model", "scripted:echo")
    assert desk("gen", "Hello").out == "You said: Hello\n"
    assert desk.json("ls")[0]["title"] == "Hello"


@covers("cli.gen")
def test_gen_refuses_nonsense_and_says_what_to_do(talk):
    assert "is a person" in talk.fail("INVALID_INPUT", "gen", "--agent", "human")
    assert "the most is 100" in talk.fail("LIMIT_EXCEEDED", "gen", "-n", "1000000000")
    talk.ok("agents", "add", "Lost", "--model", "nowhere:model")
    assert "there is no provider 'nowhere'" in talk.fail("NOT_FOUND", "gen", "--agent", "Lost")
    assert "not an amount of dollars" in talk.fail("INVALID_INPUT", "gen", "--max-price", "much")


@covers("generate.preflight")
def test_a_dry_run_says_what_it_would_mean(talk):
    told = talk.json("gen", "--dry-run", "-n", "3")
    assert (told["tokens"], told["dollars"], told["cachedShare"]) == (3, "0", 0)
    assert talk("gen", "--dry-run").err.endswith("(dry run: nothing was sent)\n")


@covers("cli.context-of", "request.rebuilt-byte-for-byte")
def test_context_of_a_node_shows_what_its_model_saw_and_verifies_it(talk):
    talk.ok("gen")
    told = talk.json("context", "--of", ".", "--verify")
    assert told["checked"]["isWhole"] is True
    assert told["checked"]["again"] == "same"
    assert told["manifest"]["tokens"] == 3
    assert "Hello there" in talk.ok("context", "--of", ".", "--raw")
    shown = talk.ok("context", "--of", ".", "--verify")
    assert "equals what was sent, byte for byte" in shown
    talk.ok("agents", "set", "Echo", "--system", "Be brief.")
    assert talk.json("context", "--of", ".", "--verify")["checked"]["again"] == "differs"
    assert "no request is kept" in talk.fail("NOT_FOUND", "context", "--of", talk.ok("say", "Mine"))


@covers("cli.chat")
def test_chat_takes_turns_from_a_pipe_and_keeps_all_of_them(talk):
    turns = (
        'One\n/again 2\n/next\nTwo \\\nlines\n"""\nThree\n\nlines\n"""\n//slash\n/nonsense\n/where\n/help\n'
    )
    answer = talk("chat", "Marie", "--agent", "Echo", stdin=turns)
    assert answer.code == 0
    # The first turn follows what was said before; both are one user's message.
    assert answer.out.startswith("You said: Hello there\n\nOne\n")
    assert "You said (2): Hello there\n\nOne\n" in answer.out
    assert "You said: Two \nlines\n" in answer.out
    assert "You said: Three\n\nlines\n" in answer.out
    assert "You said: /slash\n" in answer.out
    assert "✗ INVALID_INPUT: unknown command /nonsense" in answer.err
    assert "Ctrl-C stops an answer" in answer.err


@covers("cli.chat")
def test_chat_names_tree_and_agent_first_and_starts_afresh_if_asked(talk):
    assert talk("chat", stdin="One\n").err.startswith('"Marie" with Echo\n')
    talk.ok("agents", "add", "Other", "--model", "scripted:other")
    assert talk("chat", "--agent", "Other", stdin="").err == '"Marie" with Other\n'
    fresh = talk("chat", "--new", stdin="Something else\nMore\n")
    assert fresh.err.startswith('a new tree with Echo\ncreated "Something else"\n')
    assert [tree["title"] for tree in talk.json("ls")] == ["Something else", "Marie"]
    talk.fail("INVALID_INPUT", "chat", "Marie", "--new", stdin="")


@covers("cli.chat")
def test_chat_plants_a_tree_where_there_is_none(desk):
    desk.ok("agents", "add", "Echo", "--model", "scripted:echo")
    assert desk("chat", stdin="Hello\n/quit\n").out == "You said: Hello\n"
    assert desk.json("ls")[0]["title"] == "Hello"


def test_chat_is_no_place_for_a_text(story):
    assert "is a buffer" in story.fail("INVALID_INPUT", "chat", stdin="Hello\n")


def test_who_answers_is_chosen_and_an_agent_is_changed(talk):
    talk.ok("agents", "add", "Other", "--model", "scripted:other")
    assert talk("gen").err.startswith("Echo wrote")
    assert "'Other' answers" in talk("agents", "default", "Other").err
    assert talk("gen").err.startswith("Other wrote")
    assert "no default is set: 'Echo' answers" in talk("agents", "default", "-").err
    assert talk("gen").err.startswith("Echo wrote")
    added = talk("agents", "add", "Third voice", "--model", "scripted:third").err
    assert "'Echo' still answers if no agent is named; weft agents default 'Third voice' changes" in added
    taken = talk("agents", "add", "Fourth", "--model", "scripted:fourth", "--default").err
    assert "'Fourth' answers if no agent is named" in taken
    assert talk("gen").err.startswith("Fourth wrote")
    changed = talk.json(
        "agents", "set", "Other", "--temperature", "0.2", "--set", "top_k=4", "--name", "Sixth"
    )
    assert (changed["name"], changed["configuration"]["temperature"]) == ("Sixth", 0.2)
    assert changed["configuration"]["custom"] == {"top_k": 4}


@covers("generate.spend-caps")
def test_caps_are_set_and_shown(talk):
    talk.ok("spend", "cap", "2.50", "--day")
    talk.ok("spend", "cap", "1", "--agent", "Echo")
    talk.ok("spend", "cap", "$3", "--in", "Marie")
    told = talk.json("spend")
    assert [(cap["period"], cap["dollars"]) for cap in told["caps"]] == [
        ("total", "1"),
        ("day", "2.50"),
        ("total", "3"),
    ]
    talk.ok("spend", "cap", "none", "--agent", "Echo")
    assert len(talk.json("spend")["caps"]) == 2


def test_summarise_shows_a_summary_and_does_what_waits(talk):
    talk.ok("summarise", "--model", "none")
    assert talk.ok("summarise", ".") == "[extract] Hello there"
    assert talk.json("summarise", "tree:Marie")["summary"] == "[extract] Hello there"
    talk.ok("summarise", "--pending")
    talk.ok("say", "More words. And more.")
    assert talk.ok("summarise", "--pending") == "1"
    assert talk.json("read", "--node")["nodes"][0]["summary"] == "[extract] More words."


@covers("cli.gen")
def test_an_interrupted_gen_keeps_what_came(talk, tmp_path):
    """The real program, with a model that never ends, interrupted as Ctrl-C would."""
    script = tmp_path / "endless.py"
    script.write_text(
        "import sys\n"
        "from weft.cli.app import app\n"
        "from weft.cli.session import Settings\n"
        "from weft.providers.base import ProviderRegistry\n"
        "from weft.testing import Gate, Scripted\n"
        "gate = Gate()\n"
        "gate.let(2)\n"
        "model = Scripted(['One two three'], gate=gate)\n"
        "settings = Settings(address=sys.argv[1], providers=ProviderRegistry({'scripted': model}))\n"
        "app(['gen'], obj=settings, prog_name='weft')\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-u", str(script), talk.address],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    heard = b""
    while not heard.endswith(b"two"):
        heard += process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (heard + out).decode() == "One two\n"
    assert err.decode().rstrip().endswith("interrupted")
    assert json.loads(talk.ok("read", "--node", "--json"))["nodes"][0]["status"] == "interrupted"
