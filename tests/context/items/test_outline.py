"""What is left of a long text: its headings, and how each section begins."""

from tests.covers import covers

from weft.context.items.blocks import outline_of


@covers("library.outline")
def test_an_outline_has_the_headings_and_the_first_line_of_each_section():
    text = "before\n\n# One\n\nfirst\nsecond\n  ## Two\n### Three\n" + "\n\n" * 3 + "third\nfourth"
    assert outline_of(text) == "before\n# One\nfirst\n## Two\n### Three\nthird"
    assert outline_of("\na\n\nb\nc\nd") == "a\nb\nc"
    assert outline_of("") == ""


def test_of_many_sections_the_rest_are_counted():
    text = "".join(f"# {number}\ntext\n" for number in range(1_500))
    assert outline_of(text).split("\n")[-3:] == ["# 11", "text", "[1,488 more sections]"]


def test_a_long_line_says_that_it_is_cut_wherever_it_begins():
    for line in ("x" * 101, "    " + "x" * 101, "x" * 1_000_000):
        assert outline_of(f"# Top\n{line}") == f"# Top\n{'x' * 99}…"
    assert outline_of("    " + "x" * 100) == "x" * 100
