"""doc new, ls, read, write, delete."""

import re
import shutil
from pathlib import Path

import pytest
from tests.cli.desk import Desk
from tests.covers import covers
from tests.statements import statements

import weft

TEXT = "# One\nfirst\n\n# Two\nsecond\nthird"


@pytest.fixture
def desk(desk: Desk, empty_tables: Path) -> Desk:
    """A grove with nothing in it."""
    shutil.copy(empty_tables, desk.address)
    return desk


@pytest.fixture
def notes(desk: Desk) -> Desk:
    desk.ok("doc", "new", "Notes", "-", stdin=TEXT)
    return desk


def test_a_document_is_begun_from_words_a_pipe_or_nothing(desk: Desk) -> None:
    answer = desk("doc", "new", "Notes", "some", "words")
    assert answer.err == 'wrote "Notes" at revision 1\n'
    assert desk("doc", "read", answer.out.strip()).out == "some words"
    desk.ok("doc", "new", "Piped", stdin="a\n\n")
    assert desk("doc", "read", "Piped").out == "a\n\n"
    assert desk.json("doc", "new", "Empty")["content"] == ""
    desk.fail("CONFLICT", "doc", "new", "notes")
    desk.fail("INVALID_INPUT", "doc", "new", " ")


def test_a_long_title_gives_way_where_the_terminal_is_narrow(notes: Desk) -> None:
    notes.ok("doc", "new", "Of the tides, the harbour and all that lies beyond it", "text")
    (line,) = [line for line in notes("doc", "ls", width=60).out.splitlines() if "Of the" in line]
    assert len(line) <= 60
    assert "beyond it" not in line


def test_documents_are_listed_by_name_alone_too(notes: Desk) -> None:
    fields = notes.ok("doc", "ls").split("\t")
    assert fields[1:4] == ["Notes", "1", str(len(TEXT))]
    assert notes.ok("doc") == notes.ok("doc", "ls")
    listed = notes.json("doc")
    assert listed[0]["title"] == "Notes"
    assert "content" not in listed[0]
    assert "revision" in notes("doc", "ls", width=60).out
    with weft.open(notes.address) as grove, statements(grove.caller.store) as heard:
        assert grove.read.document_sizes() == {listed[0]["id"]: len(TEXT)}
        assert grove.read.documents(contents=False)[0].content == ""
    assert not any(re.search(r"revisions\.content(?!\))", statement) for statement in heard)
    notes.ok("doc", "delete", "Notes", "--yes")
    assert notes("doc").err == "the grove has no documents; create one: weft doc new TITLE\n"


def test_a_document_is_read_whole_by_section_by_lines_and_as_it_was(notes: Desk) -> None:
    answer = notes("doc", "read", "Notes")
    assert (answer.out, answer.err) == (TEXT, '"Notes" at revision 1\n')
    assert notes("doc", "read", "Notes", width=40).out == TEXT + "\n"
    assert notes.ok("doc", "read", "Notes", "--section", "two") == "# Two\nsecond\nthird"
    assert notes.ok("doc", "read", "Notes", "--lines", "2-3") == "first\n"
    assert notes.ok("doc", "read", "Notes", "--section", "Two", "--lines", "3") == "third"
    notes.ok("doc", "write", "Notes", "new", "--revision", "1")
    assert notes("doc", "read", "Notes", "--revision", "1").out == TEXT
    assert notes.json("doc", "read", "Notes", "--revision", "1", "--lines", "1")["content"] == "# One\n"
    notes.fail("NOT_FOUND", "doc", "read", "Notes", "--revision", "9")
    assert "sections: one, two" in notes.fail(
        "NOT_FOUND", "doc", "read", "Notes", "--revision", "1", "--section", "three"
    )
    assert "--lines 3-10" in notes.fail("INVALID_INPUT", "doc", "read", "Notes", "--lines", "two")
    notes.fail("INVALID_INPUT", "doc", "read", "Notes", "--lines", "3-1")
    notes.fail("NOT_FOUND", "doc", "read", "Nothing")


@covers("document.revision-named-on-save")
def test_a_save_names_the_revision_it_started_from(notes: Desk) -> None:
    text = notes("doc", "read", "Notes").out + "\nfourth\n"
    assert "--revision 1" in notes.fail("CONFLICT", "doc", "write", "Notes", stdin=text)
    answer = notes("doc", "write", "Notes", "--revision", "1", stdin=text)
    assert (answer.out, answer.err) == ("2\n", 'saved "Notes" at revision 2\n')
    assert notes("doc", "read", "Notes").out == text
    assert "is at revision 2" in notes.fail("CONFLICT", "doc", "write", "Notes", "-r", "1", stdin="mine")
    assert "revision 7 does not exist" in notes.fail(
        "CONFLICT", "doc", "write", "Notes", "-r", "7", stdin="mine"
    )
    assert notes("doc", "read", "Notes").out == text
    assert notes.json("doc", "write", "Notes", "words", "-r", "2")["revision"] == 3
    assert "no text given" in notes.fail("INVALID_INPUT", "doc", "write", "Notes", "-r", "3")
    notes.fail("NOT_FOUND", "doc", "write", "Nothing", "-r", "1", stdin="x")


def test_a_document_is_destroyed_only_when_confirmed(notes: Desk) -> None:
    assert "--yes" in notes.fail("INVALID_INPUT", "doc", "delete", "Notes")
    assert notes("doc", "delete", "Notes", "--yes").err == 'deleted "Notes"\n'
    notes.fail("NOT_FOUND", "doc", "read", "Notes")
