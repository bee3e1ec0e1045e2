"""switch, type, commit."""

from tests.cli.desk import Desk


def test_switching_walks_the_tree_and_tells_where_you_are(marie: Desk) -> None:
    root = marie.ok("switch")
    one = marie.ok("say", "one")
    marie.ok("switch", "parent")
    two = marie.ok("say", "two")
    deep = marie.ok("say", "deeper")
    assert marie.ok("switch", "parent") == two
    assert marie.ok("switch", "previous") == one
    assert marie.ok("switch", "next") == two
    assert marie.ok("switch", root) == root
    assert marie.ok("switch", "child") == one
    assert marie.ok("switch", "next") == two
    assert marie.ok("switch", "leaf") == deep
    assert marie("switch").err == f'at [{deep}] in "Marie": deeper\n'
    assert marie.json("switch", ".")["localId"] == deep
    assert "no next sibling" in marie.fail("NOT_FOUND", "switch", "next")


def test_looking_where_you_are_changes_nothing(marie: Desk) -> None:
    before = marie.json("ls")
    marie.ok("switch")
    marie.ok("switch", ".")
    assert marie.json("ls") == before


def test_the_current_tree_is_the_one_you_were_last_in(marie: Desk) -> None:
    said = marie.ok("say", "Why?")
    marie.ok("new", "Other")
    assert '"Other"' in marie("switch").err
    assert marie.ok("switch", "Marie") == said
    assert '"Marie"' in marie("say", "on").err
    assert '"Other"' in marie("switch", "--tree", "Other").err
    assert '"Other"' in marie("say", "on").err
    assert '"Marie"' in marie("switch", said).err


def test_a_buffers_text_is_typed_and_committed(story: Desk) -> None:
    answer = story("type", ", there was")
    assert answer.out == ""
    assert answer.err == '11 characters uncommitted in "Story"; weft commit makes a node of it\n'
    assert story.json("type", " once")["workingBuffer"] == ", there was once"
    assert story.json("type", "--replace", stdin=", there lived")["workingBuffer"] == ", there lived"
    made = story("commit")
    assert made.err == f'committed [{made.out.strip()}] in "Story"\n'
    assert story.ok("read") == "Once upon a time, there lived"
    nothing = story("commit")
    assert (nothing.out, nothing.code) == ("", 0)
    assert "nothing to commit" in nothing.err
    assert story.json("commit") is None
    story.ok("type", "x")
    assert "no uncommitted text" in story("type", "--replace", "").err
    assert story.ok("read") == "Once upon a time, there lived"


def test_a_dialogue_has_no_uncommitted_text(marie: Desk) -> None:
    assert "say the text" in marie.fail("INVALID_INPUT", "type", "x")
    marie.fail("INVALID_INPUT", "commit")
