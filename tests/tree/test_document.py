"""Documents: sections by slug, lines by number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from weft.errors import InvalidInputError, NotFoundError
from weft.tree.document import (
    lines_of,
    section_of,
    sections_of,
    with_appended,
    with_inserted,
    with_lines,
    with_section_appended,
)

TEXT = """intro
# Marie
who
## Her past
long
```
# not a heading
```
## Her past
again
# Théo & Co.
end
"""


@covers("document.sections-by-slug")
def test_a_section_runs_to_the_next_heading_of_its_level():
    section = section_of(TEXT, "marie")
    assert TEXT[section.start : section.end].startswith("# Marie\nwho")
    assert TEXT[section.start : section.end].endswith("again\n")


@covers("document.sections-by-slug")
def test_slugs_are_unique_and_code_is_not_a_heading():
    assert [section.slug for section in sections_of(TEXT)] == ["marie", "her-past", "her-past-2", "théo-co"]


def test_a_section_is_found_by_its_heading_too():
    assert section_of(TEXT, "Théo & Co.").title == "Théo & Co."


def test_an_unknown_section_names_those_there_are():
    with pytest.raises(NotFoundError, match="no section 'nobody'") as caught:
        section_of(TEXT, "nobody")
    assert "her-past" in str(caught.value.hint)


@given(st.text(alphabet="#ab -\n`~", max_size=200))
def test_sections_nest_and_cover_their_headings(text):
    sections = sections_of(text)
    assert len({section.slug for section in sections}) == len(sections)
    for section in sections:
        assert 0 <= section.start < section.end <= len(text)


def test_lines_count_from_one_and_include_the_last():
    assert lines_of("a\nb\nc\n", 2, 3) == "b\nc\n"
    with pytest.raises(InvalidInputError):
        lines_of("a", 0, 1)
    with pytest.raises(NotFoundError, match="the document has 1 lines"):
        lines_of("a", 2, 3)


@pytest.mark.parametrize(
    ("text", "change", "after"),
    [
        ("", lambda text: with_appended(text, "end"), "end\n"),
        ("no line end", lambda text: with_appended(text, "end\n"), "no line end\nend\n"),
        ("a\nb\n", lambda text: with_inserted(text, 1, "new"), "new\na\nb\n"),
        ("a\nb", lambda text: with_inserted(text, 3, "new"), "a\nb\nnew\n"),
        ("", lambda text: with_inserted(text, 1, "new"), "new\n"),
        ("a\nb\nc", lambda text: with_lines(text, 2, 3, "new"), "a\nnew"),
        ("a\nb\nc\n", lambda text: with_lines(text, 2, 2, "new"), "a\nnew\nc\n"),
        ("a\r\nb\r\n", lambda text: with_lines(text, 1, 1, ""), "b\r\n"),
        ("# A\nx\n\n\n# B\n", lambda text: with_section_appended(text, "a", "new"), "# A\nx\nnew\n\n\n# B\n"),
        ("# A\n# B\n", lambda text: with_section_appended(text, "a", "new"), "# A\nnew\n# B\n"),
        ("# A\nx", lambda text: with_section_appended(text, "a", "new"), "# A\nx\nnew\n"),
    ],
)
def test_a_part_is_changed_and_the_rest_stays_on_its_lines(text, change, after):
    assert change(text) == after


def test_lines_that_are_not_there_are_refused():
    for change in (lambda: with_lines("a\n", 2, 2, "x"), lambda: with_inserted("a\n", 3, "x")):
        with pytest.raises(NotFoundError, match="past the end"):
            change()
    for change in (lambda: with_lines("a\n", 2, 1, "x"), lambda: with_inserted("a\n", 0, "x")):
        with pytest.raises(InvalidInputError, match="lines count from 1"):
            change()


@given(st.text(alphabet="ab#\n ", max_size=60), st.text(alphabet="ab#\n ", max_size=20))
def test_what_is_appended_or_inserted_is_there_whole(text, new):
    assert new in with_appended(text, new)
    for line in range(1, len(text.splitlines()) + 2):
        assert new in with_inserted(text, line, new)
    for section in sections_of(text):
        changed = with_section_appended(text, section.slug, new)
        assert new in changed
        assert changed.endswith(text[section.end :])
