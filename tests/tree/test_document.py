"""Documents: sections by slug, lines by number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from weft.errors import InvalidInputError, NotFoundError
from weft.tree.document import lines_of, section_of, sections_of

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
