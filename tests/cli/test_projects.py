"""project on the command line, and what doc has learnt."""

from tests.cli.desk import Desk
from tests.covers import covers


@covers("project.holds-trees", "project.prompt-and-context")
def test_a_project_from_beginning_to_end(marie: Desk) -> None:
    assert marie("project").err == "the grove has no projects; create one: weft project new NAME\n"
    marie.ok("doc", "new", "Notes", "# Marie")
    made = marie.ok(
        "project",
        "new",
        "Novel",
        "--system",
        "You edit prose.",
        "-c",
        "doc:Notes",
        "-c",
        "https://example.org/a",
    )
    assert len(made) == 26
    assert marie.ok("project", "show", "novel").splitlines() == [
        "You edit prose.",
        "doc:Notes",
        "https://example.org/a",
    ]
    marie.ok("project", "add", "Novel")
    marie.ok("new", "Other")
    marie.ok("project", "add", "Novel", "Other")
    assert marie.ok("project", "ls").split("\t")[1:] == ["Novel", "1", "2", "2"]
    assert "Novel" in marie("project", width=60).out
    assert len(marie.json("project", "show", "Novel")["trees"]) == 2
    marie.ok("project", "remove", "Novel", "Other")
    marie.fail("INVALID_INPUT", "project", "remove", "Novel", "Other")
    assert marie.ok("project", "change", "Novel", "--name", "Story", "--no-context", "--revision", "1") == "2"
    marie.fail("CONFLICT", "project", "change", "Story", "--system", "x", "--revision", "1")
    marie.fail("INVALID_INPUT", "project", "change", "Story")
    assert marie.json("project", "show", "Story", "--revision", "1")["project"]["name"] == "Novel"
    assert marie.ok("project", "change", "Story", "--system", "-", stdin="piped") == "3"
    marie.ok("project", "archive", "Story")
    assert marie.json("project") == []
    assert marie.json("project", "archive", "Story", "--undo")["archivedAt"] is None
    marie.fail("NOT_FOUND", "project", "show", "none")


@covers("proof.no-silent-overwrite")
def test_a_document_remembers_and_is_written_section_by_section(marie: Desk) -> None:
    marie.ok("doc", "new", "Notes", "-", stdin="# A\none\n# B\ntwo\n")
    assert marie.ok("doc", "write", "Notes", "new", "--section", "a", "--revision", "1") == "2"
    assert marie("doc", "read", "Notes").out == "# A\nnew\n# B\ntwo\n"
    marie.fail("CONFLICT", "doc", "write", "Notes", "late", "--section", "b", "--revision", "1")
    assert marie.ok("doc", "rename", "Notes", "Better notes") == "3"
    rows = [line.split("\t") for line in marie.ok("doc", "history", "Better notes").splitlines()]
    assert [(row[0], row[3], row[4]) for row in rows] == [
        ("3", "16", "Better notes"),
        ("2", "16", "Notes"),
        ("1", "16", "Notes"),
    ]
    assert "human" in marie("doc", "history", "Better notes", width=80).out
    assert marie("doc", "read", "Better notes", "--revision", "1").out == "# A\none\n# B\ntwo\n"
    marie.ok("doc", "archive", "Better notes")
    assert marie.json("doc") == []
    marie.ok("doc", "archive", "Better notes", "--undo")
    assert len(marie.json("doc")) == 1
