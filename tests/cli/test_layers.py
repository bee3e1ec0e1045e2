"""vault, attach, remember, context --layers, stats and chats at a terminal, in a pipe, and asked nonsense."""

from pathlib import Path

import pytest
from tests.cli.desk import Desk
from tests.covers import covers

import weft


@pytest.fixture
def notes(marie: Desk, tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "Piano").mkdir(parents=True)
    (folder / "Piano" / "spec.md").write_text("# Spec\nBuild a piano. #music/keys\n")
    (folder / "api.md").write_text("play(note)\n")
    (folder / "out.md").symlink_to("/etc/hostname")
    return folder


@covers("cli.vault", "vault-index.progress")
def test_a_vault_is_indexed_and_says_so(marie: Desk, notes: Path):
    (notes / "binary.md").write_bytes(b"lamp\0")
    made = marie("vault", "add", str(notes), "--name", "Notes")
    assert "binary.md is not indexed: it is binary" in made.err
    assert marie.ok("vault", "status") == "Notes\t2\t2\t2\t0"
    (notes / "new.md").write_text("# One\nThe heron.\n# Two\nThe lamp.")
    assert marie.json("vault", "status", "notes")[0]["behind"] == 1
    indexed = marie.json("vault", "index", "Notes")[0]
    assert (indexed["notes"], indexed["passages"], indexed["behind"]) == (3, 4, 0)
    assert {"path": "binary.md", "reason": "it is binary"} in indexed["skipped"]
    assert marie.ok("vault", "index", "Notes", "--rebuild") == "Notes\t3\t4\t4\t0"
    marie.fail("NOT_FOUND", "vault", "index", "Moon")
    assert "by meaning" in marie("vault", "status", width=80).out


@covers("cli.vault")
def test_a_vault_from_beginning_to_end(marie: Desk, notes: Path):
    assert marie("vault").err == "no vaults; mount a folder: weft vault add FOLDER\n"
    made = marie.ok("vault", "add", str(notes), "--name", "Notes")
    assert marie.ok("vault", "ls") == f"{made}\tNotes\t{notes.resolve()}"
    assert marie.ok("vault", "show", "notes").splitlines() == ["Piano/spec.md", "api.md"]
    assert marie("vault", "show", "notes").err.startswith("left out 1 link")
    assert marie.ok("vault", "show", "Notes", "Piano") == "Piano/spec.md"
    assert "Notes" in marie("vault", width=80).out
    assert marie.json("vault", "show", "Notes")["leftOut"] == 1
    marie.fail("INVALID_INPUT", "vault", "show", "Notes", "../..")
    marie.fail("CONFLICT", "vault", "add", str(notes))
    marie.fail("NOT_FOUND", "vault", "add", str(notes / "none"))
    marie.fail("NOT_FOUND", "vault", "rm", "other")
    assert marie.ok("vault", "rm", "Notes") == made
    assert marie.json("vault") == []


@covers("cli.attach", "cli.context-layers")
def test_notes_are_attached_and_the_request_is_seen_layer_by_layer(marie: Desk, notes: Path):
    marie.ok("vault", "add", str(notes), "--name", "Notes")
    marie.ok("agents", "add", "Muse", "--model", "openai:gpt")
    turn = marie.ok("say", "Summarize", "-a", "Piano/spec.md")
    assert marie.ok("attach", turn, "api.md", "#music").splitlines() == ["Piano/spec.md", "api.md", "#music"]
    assert (
        marie.ok("attach", ".", "https://a.b", "--text", "-", stdin="a page").splitlines()[-1]
        == "https://a.b"
    )
    assert marie.ok("detach", ".", "#music").splitlines() == ["Piano/spec.md", "api.md", "https://a.b"]
    marie.fail("INVALID_INPUT", "attach", ".", "out.md")
    marie.fail("INVALID_INPUT", "attach", ".", "https://a.c")
    marie.fail("CONFLICT", "attach", ".", "api.md")
    shown = marie("context", "--layers", "--limit", "2000", "--agent", "Muse", width=100).out
    assert "of 2,000 tokens, about 0 cached" in shown
    assert "L3_TURN" in shown
    assert "new on this path" in shown
    assert set(shown.splitlines()[1]) == {"░", "▪"}
    rows = [line.split("\t") for line in marie.ok("context", "--layers").splitlines()[1:]]
    assert [row[0] for row in rows[:5]] == ["L1_SYSTEM", "L2_LIBRARY", "L4_HISTORY", "L3_TURN", "L5_USER"]
    assert marie.json("context", "--layers")["envelope"]["layerHashes"].keys() == {
        "L1_SYSTEM",
        "L2_LIBRARY",
        "L3_TURN",
        "L4_HISTORY",
        "L5_USER",
    }
    assert "## L3_TURN · Smart References" in marie.ok("context", "--payload")
    assert marie.ok("context", "--layers", "--raw").startswith('[{"role": "user"')
    marie.fail("INVALID_INPUT", "context", "--layers", "--raw", "--payload")
    marie.fail("NOT_FOUND", "context", "--sent")
    inline = marie.ok("context", "--layers", "--set", "library=inline", "--entries")
    assert "Piano/spec.md" in inline
    marie.ok("say", "Yes", "--author", "Muse")
    marie.ok("say", "Next")
    assert marie.json("context", "--layers", "--diff", "library=inline")["tokens"][0] > 0
    marie.fail("CONFLICT", "attach", turn, "Piano/spec.md")


@covers("cli.stats", "stats.per-tree-and-branch")
def test_stats_as_a_table_a_picture_and_json(marie: Desk, notes: Path):
    marie.ok("vault", "add", str(notes), "--name", "Notes")
    marie.ok("agents", "add", "Muse", "--model", "openai:gpt", "--system", "Be careful. " * 500)
    assert marie("stats").err.startswith("nothing was sent")
    for text in ("One", "Two"):
        turn = marie.ok("say", text, "-a", "Piano/spec.md")
        with weft.open(marie.address, clock=marie.clock) as grove:
            node = grove.node(turn)
            grove.layers.report(grove.layers.keep(node.prepare(agent="Muse")), 1_024)
        marie.ok("say", "Yes", "--author", "Muse")
    found = marie.json("stats", "--agent", "Muse")
    assert found["requests"]["count"] == 2
    assert found["requests"]["predicted"] == 1_408
    assert found["requests"]["reported"] == 2_048
    assert [each["library"] for each in found["variants"]] == ["system", "system", "inline", "inline"]
    shown = marie("stats", "--agent", "Muse", width=110).out
    assert "expected" in shown
    assert "reported" in shown
    assert "current" in shown
    assert "█" in shown
    rows = [line.split("\t") for line in marie.ok("stats", "--turns", "0").splitlines()[1:]]
    assert rows[0][:2] == ["all", "2"]
    assert "## L2_LIBRARY" in marie.ok("context", turn, "--sent", "--payload")
    assert "the cache was lost" not in shown
    (notes / "Piano/spec.md").write_text("Another piano.")
    third = marie.ok("say", "Three")
    with weft.open(marie.address, clock=marie.clock) as grove:
        grove.layers.keep(grove.node(third).prepare(agent="Muse"))
    shown = marie("stats", "--turns", "0", width=110).out
    assert "the cache was lost without a recorded reason" in shown
    assert "Piano/spec.md" in shown
    assert marie.json("stats", "--turns", "0")["unstable"][0]["layer"] == "L2_LIBRARY"


@covers("cli.remember")
def test_a_memory_is_begun_and_grows(marie: Desk):
    first = marie.ok("remember", "likes", "tea")
    assert marie.ok("remember", "-", stdin="has a cat\n") == first
    assert marie("doc", "read", "Memory").out == "likes tea\nhas a cat\n"
    marie.ok("say", "Hello")
    assert "<user_memory>\nlikes tea\nhas a cat\n</user_memory>" in marie.ok("context", "--payload")
    assert "userMemory" in marie.ok("prefer")
    marie.ok("prefer", "library=inline", "stripTurns=3")
    assert marie.json("prefer")["stripTurns"] == 3
    marie.fail("INVALID_INPUT", "prefer", "library=upstairs")
    marie.ok("prefer", "library=", "userMemory=")
    assert "user_memory" not in marie.ok("context", "--payload")


@covers("cli.chats")
def test_a_chat_goes_to_a_file_and_comes_back(marie: Desk, notes: Path, tmp_path: Path):
    marie.ok("vault", "add", str(notes), "--name", "Notes")
    marie.ok("agents", "add", "Muse", "--model", "openai:gpt")
    marie.ok("say", "Summarize", "-a", "Piano/spec.md")
    marie.ok("say", "Yes", "--author", "Muse")
    text = marie("export", "--chat").out
    assert "[Context: Notes: Piano/spec.md]" in text
    file = str(tmp_path / "chat.md")
    marie.ok("export", "Marie", "--chat", "-o", file)
    marie.fail("CONFLICT", "export", "--chat", "-o", file)
    marie.ok("export", "--chat", "-o", file, "--force")
    (notes / "Piano" / "spec.md").rename(notes / "spec.md")
    answer = marie("import", file, "--agent", "Muse")
    assert "note: Piano/spec.md is not there any more; spec.md is taken" in answer.err
    assert len(marie.json("ls")) == 2
    assert marie.json("import", "--chat", "-", stdin=text)["messages"] == 2
    marie.fail("NOT_FOUND", "import", str(tmp_path / "none.md"))
    (tmp_path / "bad.md").write_bytes(b"\xff\xfe")
    marie.fail("INVALID_INPUT", "import", str(tmp_path / "bad.md"))
    marie.fail("INVALID_INPUT", "export", "Marie", "Other", "--chat")
