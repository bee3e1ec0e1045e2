"""undo, redo, history."""

from tests.cli.desk import Desk
from tests.covers import covers


@covers("op.undo-and-redo-own")
def test_steps_back_and_forth_say_what_they_did(marie: Desk) -> None:
    said = marie.ok("say", "Why?")
    marie.ok("bookmark", said, "x")
    answer = marie("undo", "--steps", "2")
    assert answer.out == f"bookmark\nappend {said}\n"
    assert answer.err == (
        f'undid bookmark in "Marie"\nundid append [{said}] in "Marie"\nweft redo does it again\n'
    )
    assert "was undone" in marie.fail("NOT_FOUND", "read", said)
    assert marie.ok("history", "--hidden") == f"{said}\tWhy?"
    redone = marie.json("redo")
    assert [(step["direction"], step["kind"], len(step["nodes"])) for step in redone] == [
        ("redo", "append", 1)
    ]
    assert marie.ok("read", said) == "Why?"
    assert marie("redo").err == 'redid bookmark in "Marie"\n'
    assert "nothing of yours to redo" in marie.fail("NOT_FOUND", "redo")
    assert "2 steps" in marie.fail("NOT_FOUND", "undo", "--steps", "3")
    marie.fail("INVALID_SYNTAX", "undo", "--steps", "0")
    marie.fail("NOT_FOUND", "undo", "Nowhere")


def test_history_lists_who_did_what_and_marks_what_was_undone(marie: Desk) -> None:
    said = marie.ok("say", "Why?")
    marie.ok("undo")
    rows = [line.split("\t") for line in marie.ok("history").splitlines()]
    assert [(row[1], row[2], row[3], row[5]) for row in rows[1:]] == [
        ("append", f"[{said}]", "human", "undone"),
        ("undo", "append (event 2)", "human", ""),
    ]
    events = marie.json("history", "--limit", "2", "--by", "human")
    assert [(event["kind"], event["undone"]) for event in events] == [("append", True), ("undo", False)]
    assert "undone" in marie("history", width=80).out


def test_the_grove_has_a_history_of_its_own(marie: Desk) -> None:
    marie.ok("undo", "--in-grove")
    assert marie.ok("ls") == ""
    assert marie.ok("redo", "--in-grove") == "plant"
    assert "Marie" in marie.ok("ls")
    assert [line.split("\t")[1] for line in marie.ok("history", "--in-grove").splitlines()] == [
        "found",
        "plant",
        "undo",
        "redo",
    ]
    marie.ok("delete", "Marie", "--yes")
    assert "cannot be undone" in marie.fail("CONFLICT", "undo", "--in-grove")
