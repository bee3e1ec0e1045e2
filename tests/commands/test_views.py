"""What looking is answered, and how it is told of afterwards."""

import pytest
from tests.commands.test_parse import FORMS

from weft.commands.actions import ThinkCommand
from weft.commands.formatter import describe
from weft.commands.parse import parse
from weft.commands.reply import (
    Shown,
    TreeRow,
    branch_as_nodes,
    branch_as_prose,
    document_read,
    tree_drawn,
    viewed,
)

MARIE = Shown("[a7x2] human · 3m ago · 2 continuations", "She left.\n\n✓ pruned [b3k9]")


def test_a_node_is_shown_under_its_heading_and_nothing_in_it_begins_a_line():
    assert viewed(MARIE, summary=False, annotations=[Shown("[e6p4] human · just now", "Why?")]) == (
        "✓ [a7x2] human · 3m ago · 2 continuations\n"
        "  She left.\n"
        "\n"
        "  ✓ pruned [b3k9]\n"
        "  [e6p4] human · just now\n"
        "    Why?"
    )
    short = viewed(Shown("[a7x2] human · 3m ago", "She leaves."), summary=True)
    assert short.splitlines()[0] == "✓ [a7x2] human · 3m ago · summary; → view … full for the text"


def test_a_branch_is_stitched_or_separated():
    assert branch_as_prose("b3k9", "The house.︱›She left.", 2) == (
        "✓ branch to [b3k9] · 2 nodes\n  The house.︱›She left."
    )
    assert branch_as_nodes(
        [Shown("[a7x2] human · 3m ago", "One."), Shown("[b3k9] Muse · 2m ago", "Two.")]
    ) == ("✓ 2 nodes\n  [a7x2] human · 3m ago\n    One.\n  [b3k9] Muse · 2m ago\n    Two.")


def test_a_tree_is_drawn_with_a_star_where_the_agent_stands():
    rows = [
        TreeRow(local_id="r001", depth=0, text="The house."),
        TreeRow(local_id="a7x2", depth=1, text="She left.", here=True),
        TreeRow(local_id="b3k9", depth=1, text="She\nstayed.", more=3),
    ]
    assert tree_drawn(rows, 5) == (
        "✓ tree from [r001] · depth:5 · 3 nodes\n"
        "  [r001] The house.\n"
        "    [a7x2]* She left.\n"
        "    [b3k9] She stayed. · 3 more below"
    )


def test_a_document_is_shown_with_its_revision():
    assert document_read("notes", "She fears\nthe sea.", part="lines 12-13", revision=7) == (
        '✓ doc:"notes" · lines 12-13 · revision 7\n  She fears\n  the sea.'
    )


@pytest.mark.parametrize("text", FORMS)
def test_every_action_can_be_told_of(text):
    found = describe(parse(text).action)
    assert found.verb
    assert "\n" not in found.target


def test_actions_are_told_in_the_words_of_the_trace():
    said = [
        describe(parse(text).action)[:2] for text in ("view a7x2", 'annotate b3k9 "x"', "continue from b3k9")
    ]
    assert said == [("viewed", "a7x2"), ("annotated", "b3k9"), ("continued from", "b3k9")]
    assert describe(ThinkCommand("hm")).verb == "thought"
