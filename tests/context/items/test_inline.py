"""Items that stay in the messages that introduced them."""

from dataclasses import replace

import pytest
from tests.context.talks import Talk, in_full, outcomes, reasons, referenced, text_of
from tests.covers import covers

from weft.context.items.blocks import ToolOutput
from weft.context.items.item_types import active_note, note, url
from weft.context.request import Strip
from weft.context.rows import Reason
from weft.tree.content import Image

SPEC = note("spec.md", "Build a piano.")
DOCS = note("docs.md", "play(note)")
PICTURE = Image(ref="0" * 64, mime_type="image/png", width=1, height=1)


def inline(**options):
    return Talk(settings={"library": "inline"} | options.pop("settings", {}), **options)


@covers("library.inline-placement")
def test_an_item_stays_in_its_message_and_later_turns_say_find_them_above():
    talk = inline()
    first = talk.ask("What?", SPEC, answer="A piano.")
    second = talk.ask("And?", SPEC, DOCS)
    assert second.system == "You are a careful assistant."
    assert second.messages[0] == first.messages[0]
    assert second.processed_user_text.startswith(
        "Context attached:\n- spec.md\nFind them above.\n\n<note_context>"
    )
    assert outcomes(second) == {"spec.md": "referenced", "docs.md": "kept"}
    assert reasons(second) == {"spec.md": "given above", "docs.md": "new on this path"}
    assert text_of(second).count("Build a piano.") == 1


@covers("library.inline-lost-item-given-again")
def test_an_item_whose_message_is_excluded_is_given_in_full_where_it_is_next_referred_to():
    talk = inline()
    talk.ask("What?", SPEC)
    talk.ask("And?", SPEC)
    talk.change(0, left_out=Reason.EXCLUDED)
    envelope = talk.look("So?", SPEC)
    assert text_of(envelope).count("Build a piano.") == 1
    assert "Build a piano." in envelope.messages[0].text
    assert referenced(envelope) == ["spec.md"]
    again = [entry.reason for entry in envelope.manifest if entry.id == "spec.md"]
    assert again == ["given again: the message that introduced it is left out", "given above"]


@covers("library.inline-lost-item-given-again")
def test_an_item_whose_message_was_cut_is_given_in_full_where_it_is_next_referred_to():
    talk = inline(budget=1_200, preferences={"truncationStrategy": "rollingWindow"}, window=1_200)
    big = note("big.md", "tune" * 200)
    talk.ask("What?", big, answer="x" * 400)
    for index in range(8):
        talk.ask(f"Filler {index}?", answer="y" * 600)
    envelope = talk.look("So?", big)
    assert envelope.truncated
    assert in_full(envelope) == ["big.md"]
    assert reasons(envelope)["big.md"] == "given again: the message that introduced it was cut"
    assert envelope.tokens <= 1_200
    talk.ask("So?", big)
    after = talk.look("And?", big)
    assert referenced(after) == ["big.md"]
    assert text_of(after).count("tune" * 200) == 1


@pytest.mark.long
def test_between_two_jumps_of_a_stepped_cut_requests_begin_with_the_ones_before():
    talk = inline(budget=3_000, window=4_000, preferences={"truncationStep": 0.25})
    kept = 0
    for index in range(60):
        items = [note(f"n{index // 5}.md", f"{index // 5} " * 200)] if index % 5 < 3 else []
        talk.ask(f"Question {index}? " + "x" * 60, *items, answer=f"Answer {index}. " + "y" * 120)
    for before, after in zip(talk.envelopes, talk.envelopes[1:], strict=False):
        assert after.tokens <= 3_000
        kept += after.messages[: len(before.messages)] == before.messages
    assert talk.envelopes[-1].truncated
    assert kept >= 52


def test_an_item_over_the_librarys_share_becomes_an_outline_once_its_turn_is_history():
    talk = inline(budget=2_000)
    big = note("big.md", "# Top\nfirst\n" + "tune " * 900)
    assert in_full(talk.ask("What?", big)) == ["big.md"]
    envelope = talk.ask("And?", big)
    assert "<outline>\n# Top\nfirst\n</outline>" in envelope.messages[0].text
    assert referenced(envelope) == ["big.md"]
    assert [e.outcome for e in envelope.manifest if e.id == "big.md"] == ["shortened", "referenced"]


def test_append_gives_a_changed_item_where_it_changed_and_refresh_where_it_was():
    newer = note("spec.md", "Build two pianos.")
    for changed, places in (
        ("append", ["Build a piano.", "Build two pianos."]),
        ("refresh", ["Build two pianos.", ""]),
    ):
        talk = inline(settings={"changed": changed})
        talk.ask("What?", SPEC)
        envelope = talk.ask("And?", newer)
        assert places[0] in envelope.messages[0].text
        assert places[1] in envelope.messages[-1].text
        assert in_full(envelope) == (["spec.md"] if changed == "append" else [])


def test_pictures_and_tool_outputs_do_not_stay():
    talk = inline()
    shown = replace(active_note("a.md", "![[a.png]]"), images=(PICTURE,))
    talk.ask("What is it?", shown, tools=[ToolOutput(name="look", content="seen")])
    envelope = talk.ask("And?", shown)
    assert envelope.messages[0].text == "What is it?"
    assert in_full(envelope) == ["a.md"]
    assert reasons(envelope)["a.md"] == "given again: what bears images is never promoted"


def test_a_strip_gives_again_what_its_summary_swallowed():
    talk = inline(strip=Strip(summary="So far.", turns=1))
    talk.ask("One?", SPEC)
    talk.ask("Two?", SPEC)
    talk.ask("Three?", SPEC)
    envelope = talk.look("Four?", SPEC)
    assert envelope.messages[0].text.startswith(
        "Summary of the conversation so far:\nSo far.\n\n<note_context>"
    )
    assert text_of(envelope).count("Build a piano.") == 1


def test_items_that_are_shortened_anyway_are_not_outlined_beyond_their_room():
    talk = inline(budget=361, preferences={"truncationStep": 0})
    talk.budget = 10_000
    page = "https://example.org/?a=1&b=0"
    talk.ask("?", answer="Because. " * 40)
    talk.ask("?", url(page, "."), note("a.md", ""), answer="Because. " * 40)
    talk.ask("?", answer="Yes.", left_out=Reason.EXCLUDED)
    talk.budget = 361
    envelope = talk.look(
        "And now?", url(page, "# A\ntext\n## B\nmore " + "y " * 300), note("a.md", "x" * 900)
    )
    assert envelope.tokens <= 361
    assert referenced(envelope) == [page, "a.md"]
