"""read."""

import pytest
from tests.cli.desk import Desk
from tests.covers import covers


@pytest.fixture
def talk(marie: Desk) -> Desk:
    """A conversation of three messages, the second a model's."""
    marie.ok("say", "Why does she hesitate?")
    marie.ok("agents", "add", "Muse", "--model", "local:small")
    marie.ok("say", "Because\nof fear.", "--author", "Muse")
    marie.clock.pass_by(seconds=200)
    marie.ok("say", "Of what?")
    return marie


def test_a_pipe_gets_the_texts_and_nothing_else(talk: Desk) -> None:
    answer = talk("read")
    assert answer.out == "Why does she hesitate?\n\nBecause\nof fear.\n\nOf what?\n"
    assert answer.err == ""


def test_a_person_sees_who_spoke_and_when(talk: Desk) -> None:
    asked, answered, again = (node["localId"] for node in talk.json("read")["nodes"][1:])
    talk.ok("bookmark", answered)
    expected = [
        f"[{asked}] human · 3m ago",
        "Why does she hesitate?",
        "",
        f"[{answered}] Muse · 3m ago · ★",
        "Because",
        "of fear.",
        "",
        f"[{again}] human · just now",
        "Of what?",
    ]
    assert talk("read", width=80).out.splitlines() == expected
    assert talk.ok("read", "--headings").splitlines() == expected
    assert "[" not in talk("read", "--raw", width=80).out


def test_a_path_can_be_read_to_anywhere_and_in_part(talk: Desk) -> None:
    nodes = talk.json("read")["nodes"]
    answered = nodes[2]
    assert talk.ok("read", answered["localId"]).endswith("of fear.")
    assert talk.ok("read", answered["id"]).endswith("of fear.")
    assert talk.ok("read", f"[{answered['localId'].upper()}]").endswith("of fear.")
    assert talk.ok("read", f"Marie/{answered['localId']}", "--node") == "Because\nof fear."
    assert talk.ok("read", "--node") == "Of what?"
    assert talk.ok("read", ".", "--tail", "2") == "Because\nof fear.\n\nOf what?"
    assert talk.ok("read", "--head", "2") == "Why does she hesitate?"
    assert "exclude each other" in talk.fail("INVALID_INPUT", "read", "--head", "1", "--tail", "1")
    talk.fail("INVALID_SYNTAX", "read", "--tail", "0")


def test_a_tree_can_be_read_by_its_title(talk: Desk) -> None:
    talk.ok("new", "Another story")
    assert talk.ok("read", "Marie").endswith("Of what?")
    assert talk.ok("read", "marie/").endswith("Of what?")
    assert talk.ok("read", "--tree", "Marie").endswith("Of what?")
    assert "no node or tree 'Loom'" in talk.fail("NOT_FOUND", "read", "Loom")


def test_notes_are_shown_when_asked_for(talk: Desk) -> None:
    said = talk.ok("switch")
    note = talk.ok("annotate", said, "Ask her\ntwice.")
    assert talk.ok("read", "--node", "--annotations").splitlines() == [
        f"[{said}] human · just now",
        "Of what?",
        f"  note [{note}] human · just now",
        "  Ask her",
        "  twice.",
    ]
    found = talk.json("read", "--annotations")["nodes"][-1]["annotations"]
    assert [each["localId"] for each in found] == [note]
    assert "annotations" not in talk.json("read")["nodes"][-1]


def test_a_buffer_is_read_as_one_text_with_what_is_not_committed(story: Desk) -> None:
    story.ok("say", " there was")
    story.ok("type", " a loom.")
    assert story("read").out == "Once upon a time there was a loom.\n"
    assert story.ok("read", ".") == "Once upon a time there was"
    found = story.json("read")
    assert (found["mode"], found["workingBuffer"], len(found["nodes"])) == ("buffer", " a loom.", 2)
    told = story.ok("read", "--headings").splitlines()
    assert told[1] == "Once upon a time"
    assert told[-2:] == ["(uncommitted)", " a loom."]


def test_a_node_without_words_says_what_it_is(marie: Desk) -> None:
    said = marie.ok("say", "")
    assert marie.ok("read", said, "--headings").splitlines()[1] == "(empty)"


def test_what_a_model_wrote_cannot_steer_a_terminal(marie: Desk) -> None:
    marie.ok("say", "\x1b]0;owned\x07 red \x9b31m")
    shown = marie("read", width=80).out
    assert "\x1b" not in shown
    assert "\x9b" not in shown
    assert "␛]0;owned␇ red" in shown
    assert marie("tree", width=80).out.count("\x1b") == 0
    assert marie.ok("read") == "\x1b]0;owned\x07 red \x9b31m"


@covers("cli.compare-and-versions")
def test_siblings_are_shown_in_full_with_their_ids(marie: Desk) -> None:
    said = marie.ok("say", "Why does she climb?")
    edited = marie.ok("edit", said, "Why does she still climb?")
    shown = marie.ok("compare", said)
    assert f"[{said}]" in shown
    assert f"[{edited}]" in shown
    assert "Why does she still climb?" in shown
    assert [node["localId"] for node in marie.json("compare", said)] == [said, edited]
    assert "has no siblings" in marie("compare", marie.ok("say", "Alone")).err
    assert [node["localId"] for node in marie.json("versions", f"{said}.1")] == [said, edited]


@covers("cli.compare-and-versions")
def test_bookmarks_are_listed(marie: Desk) -> None:
    said = marie.ok("say", "Why?")
    assert "no bookmarks" in marie("bookmarks").err
    marie.ok("bookmark", said, "her voice")
    assert marie.ok("bookmarks").split("\t")[:2] == [said, "her voice"]


@covers("cli.aliases")
def test_other_names_of_commands_work_and_words_of_the_same_meaning_are_hinted(marie: Desk) -> None:
    said = marie.ok("say", "Why?")
    assert marie.ok("log") == marie.ok("show") == marie.ok("read")
    assert marie.ok("branch", said, "Why not?").startswith(said)
    assert "did you mean weft switch?" in marie.fail("INVALID_SYNTAX", "checkout", "x")
    assert "did you mean weft say?" in marie.fail("INVALID_SYNTAX", "reply", "x")
    assert marie.json("new", "My", "long", "story")["title"] == "My long story"


@covers("cli.looking")
def test_all_of_a_tree_has_what_was_pruned_and_undone_and_edits_are_marked(marie: Desk) -> None:
    one = marie.ok("say", "The quick brown fox")
    edit = marie.ok("edit", one, "The quick red fox")
    marie.ok("prune", one)
    gone = marie.ok("say", "Never mind")
    marie.ok("undo")
    assert f"[{edit}] human  The quick red fox  edit of [{one}]" in marie.ok("tree")
    assert "brown" not in marie.ok("tree")
    everything = marie.ok("tree", "--all")
    assert f"[{one}] human  The quick brown fox  pruned" in everything
    assert f"[{gone}] human  Never mind  undone" in everything
    assert len(marie.json("tree", "--all")["nodes"]) == 4


@covers("cli.looking")
def test_versions_are_counted_in_the_tree_of_a_text(story: Desk) -> None:
    node = story.json("tree")["nodes"][-1]["node"]["localId"]
    story.ok("edit", node, "Twice upon a time")
    assert "2 versions" in story.ok("tree")


@covers("cli.changes")
def test_an_edit_with_equal_text_says_so_and_writes_nothing(marie: Desk) -> None:
    one = marie.ok("say", "Tea")
    answer = marie("edit", one, "Tea")
    assert (answer.out, answer.code) == (f"{one}\n", 0)
    assert answer.err == f"[{one}] has this text already: nothing was written\n"
    assert len(marie.json("tree")["nodes"]) == 2


@covers("cli.looking", "cli.no-color")
def test_a_difference_is_told_by_signs_where_there_is_no_colour(marie: Desk) -> None:
    one = marie.ok("say", "The quick brown fox")
    marie.ok("edit", one, "The quick red fox")
    plain = marie("diff", one, f"{one}.1", width=80)
    assert plain.out == "The quick [-brown-]{+red+} fox\n"
    assert plain.err.endswith("[-removed-] {+added+}\n")
    assert "\x1b[" in marie("diff", one, f"{one}.1", width=80, env={"TERM": "xterm-256color"}).out


@covers("cli.aliases")
def test_help_is_a_command_too(desk: Desk) -> None:
    assert desk("help").out == desk("--help").out
    assert desk("help", "gen").out == desk("gen", "--help").out
