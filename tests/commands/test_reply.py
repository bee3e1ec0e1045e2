"""What commands are answered, character for character where it is fixed."""

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from weft.commands import reply
from weft.commands.catalog import CATALOG, ROWS, help_on, help_text, refusal
from weft.commands.parse import check_limits, parse
from weft.commands.reply import Result, results_message, shortened
from weft.context.tokens import DEFAULT
from weft.errors import CODES, InvalidSyntaxError, LimitExceededError
from weft.tree.agent import ALL_PERMISSIONS, ANALYST, COLLABORATOR, SUBJECT, Permission
from weft.tree.tree import Mode


@covers("error.fixed-messages")
def test_the_three_errors_read_exactly_as_fixed():
    assert reply.failed(reply.missing_node("xyz999")) == (
        "✗ NOT_FOUND: node [xyz999] does not exist in this tree"
    )
    denied = refusal(CATALOG["continue"], ANALYST)
    assert denied is not None
    assert reply.failed(denied) == (
        "✗ PERMISSION_DENIED: loom_generate not enabled\n"
        "  hint: request elevated permissions or ask the human to generate"
    )
    with pytest.raises(LimitExceededError) as over:
        check_limits(parse("continue from a7x2 n:50"))
    assert reply.failed(over.value) == (
        "✗ LIMIT_EXCEEDED: max continuations per request is 10\n  hint: use n:10 or less"
    )


def test_an_edit_says_in_both_modes_what_becomes_of_what_follows():
    assert reply.edited("a7x2'", "a7x2", Mode.BUFFER) == (
        "✓ created version [a7x2'] from [a7x2]\n  downstream nodes preserved via hyperedge"
    )
    assert reply.edited("a7x2'", "a7x2", Mode.DIALOGUE) == (
        "✓ created branch [a7x2'] from [a7x2]\n  conversation continues from edit point"
    )


@covers("command.success-lines")
@pytest.mark.parametrize(
    ("said", "line"),
    [
        (reply.responded("d5n3", "a7x2"), "✓ created [d5n3] in reply to [a7x2] · you are at [d5n3]"),
        (reply.annotated("a7x2", "e6p4"), "✓ annotated [a7x2] · [e6p4]"),
        (reply.merged("f7q5", ["a7x2", "b3k9"]), "✓ created [f7q5] from [a7x2], [b3k9] · you are at [f7q5]"),
        (reply.split("a7x2", "a7x2'", "g8r6"), "✓ split [a7x2] into [a7x2'] and [g8r6]"),
        (reply.joined("h9s7", "a7x2", "b3k9"), "✓ joined [a7x2] and [b3k9] as [h9s7]"),
        (reply.attached("a7x2", reply.quoted("map.png")), '✓ attached "map.png" to [a7x2]'),
        (reply.unchanged("[a7x2] has no bookmark"), "✓ nothing changed · [a7x2] has no bookmark"),
        (reply.linked("a7x2", "[b3k9]", "motif"), '✓ linked [a7x2] to [b3k9] · "motif"'),
        (reply.linked("a7x2", 'doc:"notes"'), '✓ linked [a7x2] to doc:"notes"'),
        (reply.unlinked("a7x2", "[b3k9]"), "✓ unlinked [a7x2] from [b3k9]"),
        (reply.tagged("a7x2", "grief"), "✓ tagged [a7x2] · #grief"),
        (reply.untagged("a7x2", "grief"), "✓ untagged [a7x2] · #grief"),
        (reply.bookmarked("a7x2"), "✓ bookmarked [a7x2]"),
        (reply.bookmarked("a7x2", "storm"), '✓ bookmarked [a7x2] · "storm"'),
        (reply.unbookmarked("a7x2"), "✓ unbookmarked [a7x2]"),
        (reply.pruned("a7x2", 3), "✓ pruned [a7x2] · 3 nodes · → restore a7x2 brings it back"),
        (reply.restored("a7x2", 1), "✓ restored [a7x2] · 1 node"),
        (reply.excluded("a7x2"), "✓ excluded [a7x2] · left out of contexts"),
        (reply.included("a7x2"), "✓ included [a7x2] · in contexts again"),
        (reply.collapsed("r001", "a7x2", "opening", 4), '✓ collapsed [r001]-[a7x2] as "opening" · 4 nodes'),
        (reply.expanded("opening", 4), '✓ expanded "opening" · 4 nodes'),
        (reply.undone("prune [a7x2]"), "✓ undid prune [a7x2]"),
        (reply.redone("prune [a7x2]"), "✓ redid prune [a7x2]"),
        (reply.switched("b3k9", 12), "✓ you are at [b3k9] · depth:12"),
        (reply.pinned("[a7x2]"), "✓ pinned [a7x2]"),
        (reply.stashed("theme", 40), '✓ stashed "theme" · 40 tokens'),
        (reply.recalled("theme"), '✓ recalled "theme" · in your memory block until the end of the next turn'),
        (reply.dropped('stash "theme"'), '✓ dropped stash "theme"'),
        (
            reply.continued("b3k9", ["c4m2", "d5n3"], "Base"),
            "✓ continued from [b3k9] · 2 results · [c4m2], [d5n3] · by Base",
        ),
        (reply.wrote("notes", "appended", 7), '✓ appended in doc:"notes" · revision 7'),
    ],
)
def test_successes_are_one_line_with_ids_in_brackets(said, line):
    assert said == line


def test_lists_have_a_line_for_each():
    assert reply.listed("a7x2", "continuations", ["[b3k9] human", "[c4m2] Muse"]) == (
        "✓ [a7x2] has 2 continuations\n  [b3k9] human\n  [c4m2] Muse"
    )
    assert (
        reply.searched("mill", ["[b3k9] the mill"], more=4)
        == '✓ "mill" · 5 results · 1 shown\n  [b3k9] the mill'
    )


def test_nobodys_words_can_break_a_line():
    assert reply.bookmarked("a7x2", "a\n✓ pruned [b3k9]") == '✓ bookmarked [a7x2] · "a ✓ pruned [b3k9]"'
    assert inspect.getdoc(reply)


@covers("command.help")
@pytest.mark.parametrize("permissions", [COLLABORATOR, ANALYST, SUBJECT, frozenset({Permission.LOOM_AWARE})])
def test_help_shows_exactly_what_would_work_and_why_the_rest_would_not(permissions):
    said = help_text(permissions)
    shown = {
        line.split()[1]
        for line in said.splitlines()
        if line.startswith("  → ") and "COMMAND tells" not in line
    }
    assert shown == {row.name for row in ROWS if refusal(row, permissions) is None}
    for row in ROWS:
        if row.permission not in permissions:
            reasons = [line for line in said.splitlines() if f"({row.permission} not enabled)" in line]
            assert row.name in reasons[0].partition(": ")[2].split(", ")
            assert f"not permitted: {row.permission} not enabled" in help_on(row.name, permissions)
        else:
            assert f"permitted by {row.permission}" in help_on(row.name, permissions)


def test_help_with_one_command_has_its_forms_and_other_names():
    assert help_on("switch", ALL_PERMISSIONS) == (
        "✓ switch · move to another node\n"
        "  → switch to ID\n"
        "  → switch next|previous|parent|leaf\n"
        "  also: goto, go, move, jump, navigate, cd, head, travel, step, hop\n"
        "  permitted by loom_aware"
    )
    with pytest.raises(InvalidSyntaxError, match="there is no command 'dance'"):
        help_on("dance", ALL_PERMISSIONS)


def result(number, text="✓ done", *, turn=1, tokens=2):
    return Result(number=number, command="view a7x2", text=text, ok=True, turn=turn, tokens=tokens)


def test_results_come_back_together_with_their_handles():
    assert results_message(
        [result(1), result(2, "✗ NOT_FOUND: node [zz99] does not exist in this tree")]
    ) == (
        "[result:1] → view a7x2\n✓ done\n\n"
        "[result:2] → view a7x2\n✗ NOT_FOUND: node [zz99] does not exist in this tree"
    )


def test_a_result_over_the_threshold_is_summarised_with_a_handle_for_the_rest():
    long = result(3, "✓ [a7x2] human\n" + "word " * 4_000, tokens=5_004)
    shown = shortened(long, lambda text: f"about {len(text.split()):,} words ")
    assert shown.shown == (
        "✓ [a7x2] human\nabout 4,003 words\n  5,004 tokens in all · → view result:3 for the rest"
    )
    assert shown.text == long.text
    assert shortened(result(4, tokens=1_000), str.upper).shown == "✓ done"


@covers("command.threshold-configurable")
@given(st.text(min_size=1, max_size=400), st.text(max_size=400), st.integers(0, 50))
def test_a_threshold_never_makes_a_result_longer(text, summary, inline):
    whole = result(3, text, tokens=DEFAULT.of_text(text))
    shown = shortened(whole, lambda _: summary, inline=inline).shown
    assert len(shown) <= len(text)
    assert DEFAULT.of_text(shown) <= whole.tokens


def test_every_code_of_a_command_has_its_row():
    assert {"NOT_FOUND", "INVALID_SYNTAX", "CROSS_TREE", "LIMIT_EXCEEDED"} <= CODES.keys()
    outside = reply.document_outside("notes", 'read doc:"notes" in:grove')
    assert reply.failed(outside) == (
        '✗ CROSS_TREE: document "notes" is not linked to this tree\n  hint: → read doc:"notes" in:grove'
    )
