"""A person and an agent at one tree, from the command line."""

import json
import subprocess
import sys

import pytest
from tests.cli.desk import Desk, run_weft
from tests.covers import covers

SCRIPT = ["Let me look.\n→ tree\n→ view zzzz\n", "Three minutes."]


@pytest.fixture
def pair(marie: Desk) -> Desk:
    """A grove with a collaborator who has one thing to say, in two turns."""
    marie.ok(
        "agents", "add", "Muse", "--model", "scripted:muse", "--may", "loom_aware", "--may", "loom_write"
    )
    marie.ok("agents", "set", "Muse", "--set", f"script={json.dumps(SCRIPT)}")
    return marie


@covers("cli.collaborate")
def test_once_prints_the_words_and_tells_what_was_done_beside_them(pair):
    answer = pair("collaborate", "--once", "How long?")
    assert answer.code == 0
    assert answer.out == "Let me look.\n\nThree minutes.\n"
    told = answer.err.splitlines()
    assert told[:2] == ["→ tree", "→ view zzzz"]
    assert "  ✗ NOT_FOUND: node [zzzz] does not exist in this tree" in told
    assert told[-1].startswith("Muse wrote [")
    assert "Three minutes." in pair.ok("read")
    assert "→" not in pair.ok("read")


@covers("command.think", "cli.collaborate")
def test_a_thought_is_folded_and_a_last_command_without_an_end_of_line_is_told(pair):
    said = ["Hm.\n→ think she lies\nabout it ←\n→ tree", "So it is."]
    pair.ok("agents", "set", "Muse", "--set", f"script={json.dumps(said)}")
    answer = pair("collaborate", "--once", "How long?")
    assert answer.out == "Hm.\n\nSo it is.\n"
    assert answer.err.splitlines()[:2] == ["→ think …", "→ tree"]
    assert "lies" not in answer.out + answer.err


@covers("cli.collaborate", "cli.json")
def test_once_gives_everything_as_json(pair):
    told = pair.json("collaborate", "--once", "How long?")
    assert told["reply"]["content"]["text"] == "Let me look.\n\nThree minutes."
    assert [result["ok"] for result in told["results"]] == [True, False]
    assert (told["ending"], told["turns"], told["note"]) == ("done", 2, None)


@covers("cli.collaborate")
def test_in_a_pipe_every_line_is_said_also_one_with_an_arrow(pair):
    turns = "How long?\n→ prune .\n-> prune .\n/where\n/frob\n/agent Muse\n/undo\n/help\n/quit\nno\n"
    answer = pair("collaborate", stdin=turns)
    assert answer.code == 0
    assert answer.err.startswith('"Marie" with Muse\n')
    assert answer.out.count("Three minutes.") == 4
    assert answer.err.count("what is pasted or piped is said as text; weft do runs commands") == 2
    assert "→ prune ." in pair.ok("read")
    assert not any(node["node"]["metadata"]["pruned"] for node in pair.json("tree", "--all")["nodes"])
    assert "unknown command /frob" in answer.err
    assert "undid 1 step" in answer.err
    assert "run a command yourself" in answer.err
    assert "no" not in pair.ok("read").split()


@covers("cli.collaborate")
def test_on_a_terminal_commands_and_results_stand_between_the_words(pair):
    pair.ok("say", "Tea.")
    shown = pair("collaborate", "--once", "How long?", width=80)
    assert shown.out.index("Let me look.") < shown.out.index("→ tree") < shown.out.index("Three minutes.")
    assert "more line" in shown.out


@covers("cli.collaborate", "collaborate.limits", "collaborate.resumed")
def test_a_limit_is_told_and_nonsense_is_refused(pair):
    answer = pair("collaborate", "--once", "How long?", "--turns", "1")
    assert (answer.code, answer.out) == (0, "Let me look.\n")
    assert answer.err.endswith(", interrupted\nnote: ended after 1 turn\n")
    assert pair("collaborate", "--resume").out.startswith("Let me look.")
    assert "nothing to go on with" in pair.fail("NOT_FOUND", "collaborate", "--resume")
    assert "exclude each other" in pair.fail("INVALID_INPUT", "collaborate", "--resume", "--once", "Hm")
    assert "turns must be" in pair.fail("INVALID_INPUT", "collaborate", "--once", "Hm", "--turns", "0")
    assert "the text is empty" in pair.fail("INVALID_INPUT", "collaborate", "--once", " ")
    pair.ok("agents", "add", "Plain", "--model", "scripted:echo")
    assert "is not loom-aware" in pair.fail(
        "INVALID_INPUT", "collaborate", "--once", "Hm", "--agent", "Plain"
    )


@covers("loom.assembly-over-the-store")
def test_context_shows_what_a_loom_aware_agent_would_see(pair):
    pair.ok("say", "How long?")
    raw = pair.ok("context", "--agent", "Muse", "--raw")
    assert "=== Loom Context ===" in raw
    assert "loom context" in pair.ok("context", "--agent", "Muse")
    # Without a name it is the preview of the agent that would answer.
    assert "=== Loom Context ===" in pair.ok("context", "--raw")


@covers("cli.collaborate", "lease.different-branches-free")
@pytest.mark.long
def test_a_conversation_stays_on_its_branch_when_another_terminal_goes_elsewhere(pair):
    def weft(*words):
        done = run_weft(*words, grove=pair.address)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    left = pair.ok("say", "Left.")
    pair.ok("do", "→ switch parent")
    right = pair.ok("say", "Right.")
    command = [sys.executable, "-m", "weft.cli", "collaborate", left, "--grove", pair.address]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as terminal:
        for line in ("How long?", "Sure?"):
            print(line, file=terminal.stdin, flush=True)
            while terminal.stdout.readline() != "Three minutes.\n":
                assert terminal.poll() is None
            weft("do", f"→ switch to {right}")
        print("/where", file=terminal.stdin, flush=True)
        rest, _ = terminal.communicate()
    here = rest.rpartition("[")[2].partition("]")[0]
    answer = "Let me look.\n\nThree minutes.\n"
    assert weft("read", here) == f"Left.\n\nHow long?\n\n{answer}\nSure?\n\n{answer}"


@covers("presence.from-cursors")
def test_who_sits_at_the_prompt_is_seen_by_others(pair):
    pair.ok("say", "Tea.")
    pair.clock.pass_by(seconds=600)
    assert "Human active" not in pair.ok("context", "--agent", "Muse", "--raw")
    pair("collaborate", stdin="/where\n")
    assert "Human active at [" in pair.ok("context", "--agent", "Muse", "--raw")


@pytest.mark.parametrize("terminal", ["collaborate", "chat"])
def test_a_process_without_any_input_just_ends(pair, terminal):
    weft = [sys.executable, "-m", "weft.cli", terminal, "--grove", pair.address]
    ended = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *weft], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", '"Marie" with Muse\n')


@covers("cli.collaborate")
def test_without_a_loom_aware_agent_collaborate_says_so_before_its_prompt(marie):
    refused = marie("collaborate", stdin="Hello\n")
    assert refused.code != 0
    told = refused.err.splitlines()
    assert told[0] == "no model here is loom-aware: nobody here can work on a tree with commands"
    assert told[-1].startswith("  hint: add one: weft agents add Muse --model")
    assert "Hello" not in marie.ok("read")


@covers("cli.collaborate")
def test_undo_after_a_collaborators_turn_takes_back_the_turn_and_then_what_was_said(pair):
    answer = pair("collaborate", stdin="How long?\n/undo\n/undo\n")
    assert answer.err.count("undid 1 step") == 2
    assert "✗" not in answer.err.replace("✗ NOT_FOUND: node [zzzz]", "")
    assert "How long?" not in pair.ok("read")
    pair("collaborate", "--once", "How long?")
    pair.ok("undo")
    pair.ok("undo")
    assert "How long?" not in pair.ok("read")
