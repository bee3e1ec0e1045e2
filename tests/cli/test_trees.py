"""new, ls, tree, archive, delete."""

from pathlib import Path

from tests.cli.desk import Desk
from tests.covers import covers


def test_a_new_tree_answers_with_its_id_and_tells_where_you_stand(desk: Desk) -> None:
    answer = desk("new", "Marie")
    assert answer.code == 0
    assert len(answer.out.strip()) == 26
    root = desk.ok("switch")
    assert answer.err == f'created "Marie" (dialogue); the current node is its root [{root}]\n'


def test_a_new_tree_can_be_all_that_a_tree_is(desk: Desk) -> None:
    tree = desk.json(
        "new", "--mode", "buffer", "--text", "Once upon a time", "--system", "-", "--description", "a try",
        stdin="You tell stories.\n",
    )  # fmt: skip
    assert (tree["title"], tree["mode"]) == ("Once upon a time", "buffer")
    assert (tree["systemContext"], tree["description"]) == ("You tell stories.", "a try")
    assert desk.ok("read") == "Once upon a time"


def test_one_stdin_cannot_be_two_things(desk: Desk) -> None:
    assert "not both" in desk.fail("INVALID_INPUT", "new", "--text", "-", "--system", "-", stdin="x")


def test_a_mode_that_is_none_is_refused(desk: Desk) -> None:
    assert "'dialogue', 'buffer'" in desk.fail("INVALID_SYNTAX", "new", "x", "--mode", "poem")
    assert not Path(desk.address).exists()


def test_trees_are_listed_for_a_pipe_with_tabs_and_for_a_person_as_a_table(marie: Desk) -> None:
    marie.ok("say", "Why?")
    marie.ok("tag", "tree:Marie", "novel")
    marie.clock.pass_by(seconds=7_300)
    marie.ok("new", "Other\tone")
    lines = [line.split("\t") for line in marie.ok("ls").splitlines()]
    assert [line[1] for line in lines] == ["Other one", "Marie"]
    assert lines[1][2:6] == ["dialogue", "2", "1", "1"]
    assert lines[1][7] == "novel"
    shown = marie("ls", width=70).out.splitlines()
    assert shown[0].split() == ["title", "mode", "nodes", "branches", "depth", "when", "tags"]
    assert shown[1].split() == ["*", "Other", "one", "dialogue", "1", "1", "0", "just", "now"]
    assert shown[2].split() == ["Marie", "dialogue", "2", "1", "1", "2h", "ago", "novel"]


def test_a_long_title_gives_way_to_the_numbers(desk: Desk) -> None:
    desk.ok("new", "織" * 60)
    lines = desk("ls", width=60).out.splitlines()
    assert "…" in lines[1]
    assert lines[1].rstrip().endswith("just now")


def test_a_grove_without_trees_says_how_to_begin(marie: Desk) -> None:
    marie.ok("archive", "Marie")
    assert marie("ls").err == "all trees are archived; weft ls --archived lists them\n"
    marie.ok("delete", "Marie", "--yes")
    answer = marie("ls")
    assert (answer.out, answer.code) == ("", 0)
    assert "weft new" in answer.err
    assert marie.json("ls") == []
    assert "weft new" in marie.fail("NOT_FOUND", "read")


def test_a_tree_is_drawn_with_straight_runs_in_one_column(marie: Desk) -> None:
    root = marie.ok("switch")
    asked = marie.ok("say", "Why does she hesitate?")
    marie.ok("agents", "add", "Muse", "--model", "local:small")
    first = marie.ok("say", "Because.", "--author", "Muse")
    thanks = marie.ok("say", "Thank you.")
    second = marie.ok("say", "Fear,\n\nmostly.", "--author", "Muse", "--under", asked)
    marie.ok("bookmark", second, "the turning point")
    marie.ok("exclude", first)
    marie.ok("annotate", first, "short")
    marie.ok("annotate", first, "too short")
    answer = marie("tree")
    assert answer.err == '"Marie" · dialogue · 7 nodes · 2 branches · depth 3\n'
    assert answer.out.splitlines() == [
        f"  [{root}] human  (empty)",
        f"  [{asked}] human  Why does she hesitate?",
        f"  ├─ [{first}] Muse  Because.  excluded · 2 annotations",
        f"  │  [{thanks}] human  Thank you.",
        f"* └─ [{second}] Muse  Fear, mostly.  ★ the turning point",
    ]


def test_a_drawing_can_begin_anywhere_and_be_of_any_tree(marie: Desk) -> None:
    asked = marie.ok("say", "Why?")
    marie.ok("say", "Because.")
    marie.ok("new", "Other")
    assert "Other" in marie("tree").err
    assert len(marie.ok("tree", "marie").splitlines()) == 3
    assert len(marie.ok("tree", "--tree", "Marie").splitlines()) == 3
    assert len(marie.ok("tree", "Marie", "--from", asked).splitlines()) == 2
    assert len(marie.ok("tree", "--from", f"Marie/{asked}").splitlines()) == 2
    marie.fail("NOT_FOUND", "tree", "Nobody")


def test_a_drawing_is_cut_to_the_terminal_and_keeps_its_marks(marie: Desk) -> None:
    said = marie.ok("say", "many words " * 30)
    marie.ok("bookmark", said, "here")
    line = marie("tree", width=50).out.splitlines()[-1]
    assert "[" + said + "]" in line
    assert "…" in line
    assert "★ here" in line


def test_a_merge_names_its_other_sources(marie: Desk) -> None:
    marie.ok("say", "Why?")
    one = marie.ok("say", "Because.")
    marie.ok("switch", "parent")
    other = marie.ok("say", "Fear.")
    merged = marie.ok("merge", one, other, "--text", "Both.")
    marie.ok("collapse", one, merged, "ends")
    drawn = marie.ok("tree")
    assert f"[{merged}] human  Both.  merges [{other}]" in drawn
    assert f"collapsed to [{merged}] as ends" in drawn


def test_a_cut_drawing_says_that_there_is_more(marie: Desk) -> None:
    for word in ("one", "two", "three", "four"):
        marie.ok("say", word)
    drawn = marie.ok("tree", "--limit", "2").splitlines()
    assert len(drawn) < 5
    assert drawn[-1].endswith("more below")


@covers("op.archive-is-soft")
def test_a_tree_is_put_away_and_taken_out_again(marie: Desk) -> None:
    answer = marie("archive", "Marie")
    assert answer.err == 'archived "Marie"\n'
    assert marie.ok("ls") == ""
    assert marie.ok("ls", "--archived").split("\t")[0] == answer.out.strip()
    assert "archived" in marie("ls", "--archived", width=80).out
    assert "unarchive" in marie.fail("CONFLICT", "say", "hello", "--tree", "Marie")
    marie.ok("archive", "Marie", "--undo")
    assert "Marie" in marie.ok("ls")
    assert "name a tree" in marie.fail("INVALID_INPUT", "archive")


def test_a_tree_is_destroyed_only_when_it_is_named_and_confirmed(marie: Desk) -> None:
    marie.ok("say", "Why?")
    assert "--yes" in marie.fail("INVALID_INPUT", "delete", "Marie")
    assert "name a tree" in marie.fail("INVALID_INPUT", "delete", "--yes")
    gone = marie.json("delete", "Marie", "--yes")
    assert (gone["title"], gone["nodes"]) == ("Marie", 2)
    marie.fail("NOT_FOUND", "delete", "Marie", "--yes")
