"""Turn by turn: what stands in which layer, and in which words."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.context.talks import Talk, in_full, library, outcomes, reasons, referenced, text_of
from tests.covers import covers

from weft.context.conversation import (
    Conversation,
    ConversationTurn,
    PromptContextRequest,
    assemble_turn,
    read_prompt_request,
)
from weft.context.engine import assemble
from weft.context.items.blocks import ToolOutput
from weft.context.items.item_types import LayerId, active_note, note, selection, url
from weft.context.items.library import Attached
from weft.context.request import ContextRequest, Pending, Strip
from weft.context.rows import Candidate, PathOutline, Reason
from weft.context.settings import LayerSettings, resolve_layer_settings
from weft.context.system import Instruction, Standing, SystemParts
from weft.errors import ContextLimitError, InvalidInputError
from weft.tree.content import Image, Text
from weft.tree.tree import Mode

VECTORS = Path(__file__).parents[1] / "data" / "vectors" / "layers.jsonl"
SPEC = note("Piano Lessons/project-spec.md", "Build a piano.")
DOCS = note("Piano Lessons/api-docs.md", "play(note)")
REFERRED = "Context attached:\n- Piano Lessons/project-spec.md\nFind them in the Context Library above."
PICTURE = Image(ref="0" * 64, mime_type="image/png", width=1, height=1)


@covers("library.membership-decides", "layer.l2-library", "layer.l3-turn", "layer.l5-user")
@pytest.mark.parametrize(
    "row", [json.loads(line) for line in VECTORS.read_text().splitlines()], ids=lambda row: row["name"]
)
def test_recorded_conversations_give_the_same_ids_turn_by_turn(row):
    given, vault = row["input"], dict(row["input"]["vault"])
    talk = Talk(system=SystemParts(agent=given["system_prompt"]))
    for turn, expected in zip(given["turns"], row["expected"], strict=True):
        if turn.get("op") == "truncate_after":
            kept = [each.id for each in talk.conversation.turns].index(turn["id"]) + 1
            talk.conversation = replace(talk.conversation, turns=talk.conversation.turns[:kept])
            continue
        vault |= turn.get("vault_update", {})
        fresh = {path: note(path, each["content"]) for path, each in vault.items()}
        envelope = talk.look(turn["user"], *(fresh[path] for path in turn.get("notes", ())), fresh=fresh)
        assert {
            "l2_ids": library(envelope),
            "l3_reference_ids": referenced(envelope),
            "l3_new_ids": in_full(envelope),
            "L5": envelope.layer(LayerId.USER).text,
        } == expected
        taken = ConversationTurn(
            id=turn["id"],
            text=turn["user"],
            items=tuple(fresh[path] for path in turn.get("notes", ())),
            answer=turn["assistant"],
        )
        talk.conversation = replace(talk.conversation, turns=(*talk.conversation.turns, taken))


@covers(
    "layer.stable-to-volatile",
    "layer.system-message",
    "layer.user-message",
    "layer.history-between",
    "library.auto-promoted",
    "library.reference-lines",
    "library.separator-before-question",
    "library.system-placement-by-default",
    "envelope.two-newlines-between-layers",
)
def test_the_example_of_three_turns():
    talk = Talk()
    one = talk.ask("Summarize this", SPEC, answer="A piano.")
    assert one.system == "You are a careful assistant."
    assert one.processed_user_text == (
        "<note_context>\n<title>project-spec</title>\n<path>Piano Lessons/project-spec.md</path>\n"
        "<content>\nBuild a piano.\n</content>\n</note_context>\n\n---\n\n[User query]:\nSummarize this"
    )
    two = talk.ask("What's the API?", SPEC, DOCS, answer="One function.")
    assert library(two) == [SPEC.id]
    assert two.processed_user_text.startswith(
        "Context attached:\n- Piano Lessons/project-spec.md\nFind them in the Context Library above.\n\n<note_context>\n"
        "<title>api-docs</title>"
    )
    three = talk.ask("Explain that", SPEC)
    assert three.system == (
        "You are a careful assistant.\n\n## Context Library\n\n"
        "<note_context>\n<title>project-spec</title>\n<path>Piano Lessons/project-spec.md</path>\n"
        "<content>\nBuild a piano.\n</content>\n</note_context>\n\n"
        "<note_context>\n<title>api-docs</title>\n<path>Piano Lessons/api-docs.md</path>\n"
        "<content>\nplay(note)\n</content>\n</note_context>"
    )
    assert three.llm_messages == [
        {"role": "system", "content": three.system},
        {"role": "user", "content": "Summarize this"},
        {"role": "assistant", "content": "A piano."},
        {"role": "user", "content": "What's the API?"},
        {"role": "assistant", "content": "One function."},
        {
            "role": "user",
            "content": f"{REFERRED}\n\n---\n\n[User query]:\nExplain that",
        },
    ]
    assert [layer.id.value for layer in three.layers] == [
        *("L1_SYSTEM", "L2_LIBRARY", "L3_TURN", "L4_HISTORY", "L5_USER"),
    ]


@covers("library.current-items-stay")
def test_a_note_that_stays_attached_is_in_the_library_and_never_sent_twice():
    """The defect of 25 January 2025: the current turn's items were taken out of the library."""
    talk = Talk()
    talk.ask("One?", SPEC)
    hashes = set()
    for question in ("Two?", "Three?", "Four?"):
        envelope = talk.ask(question, SPEC)
        assert library(envelope) == [SPEC.id]
        assert referenced(envelope) == [SPEC.id]
        assert in_full(envelope) == []
        assert "Build a piano." not in envelope.processed_user_text
        hashes.add(envelope.layer_hashes["L2_LIBRARY"])
    assert len(hashes) == 1


def test_a_question_without_context_is_sent_as_typed_and_nothing_else():
    envelope = Talk().ask("  Why?\t\n")
    assert envelope.llm_messages[-1] == {"role": "user", "content": "  Why?\t\n"}
    assert envelope.layer(LayerId.TURN).text == ""


def test_a_branch_that_leaves_before_a_note_was_attached_does_not_have_it():
    talk = Talk()
    talk.ask("One?", SPEC)
    talk.ask("Two?", DOCS)
    assert library(talk.at(1).look("Or?", DOCS)) == [SPEC.id]
    assert in_full(talk.at(1).look("Or?", DOCS)) == [DOCS.id]


@covers("library.changed-refresh")
def test_a_changed_note_is_shown_as_it_is_now_at_its_old_place():
    talk = Talk()
    talk.ask("One?", SPEC)
    talk.ask("Two?", DOCS)
    newer = note(SPEC.id, "Build two pianos.")
    envelope = talk.ask("Three?", newer)
    assert library(envelope) == [SPEC.id, DOCS.id]
    assert referenced(envelope) == [SPEC.id]
    assert "two pianos" in envelope.system
    assert "Build a piano" not in envelope.system
    said = [entry.reason for entry in envelope.manifest if entry.id == SPEC.id]
    assert said[0].startswith("its current content at its old place; where it changed, the cache is lost")


def test_touching_a_file_without_changing_it_changes_no_byte():
    talk = Talk()
    talk.ask("One?", note("a.md", "same", modified="2026-01-01T00:00:00Z"))
    before = talk.look("Two?").system
    touched = note("a.md", "same", modified="2026-02-02T00:00:00Z")
    assert talk.look("Two?", touched).system == before
    assert talk.look("Two?", fresh={"a.md": touched}).system == before


@covers("library.changed-append")
def test_append_keeps_what_was_sent_and_holds_the_new_text_as_a_revision():
    talk = Talk(settings={"changed": "append"})
    talk.ask("One?", SPEC)
    talk.ask("Two?", DOCS)
    before = talk.look("Three?").system
    newer = note(SPEC.id, "Build two pianos.")
    changing = talk.ask("Three?", newer)
    assert changing.system == before
    assert in_full(changing) == [SPEC.id]
    assert "<revision>2</revision>\n<content>\nBuild two pianos." in changing.processed_user_text
    after = talk.ask("Four?", newer)
    assert after.system.startswith(before + "\n\n<note_context>")
    assert library(after) == [SPEC.id, DOCS.id, SPEC.id]
    assert "- Piano Lessons/project-spec.md (revision 2)\n" in after.processed_user_text
    back = talk.ask("Five?", SPEC)
    assert "<revision>3</revision>" in back.processed_user_text


@covers("library.never-tool-outputs", "toolcall.under-additional-context", "toolcall.turn-only")
def test_tool_outputs_stand_before_everything_else_in_their_turn_and_nowhere_after_it():
    talk = Talk()
    tools = [ToolOutput(name="getTimeInfo", content="noon")]
    envelope = talk.ask("When?", SPEC, tools=tools)
    assert envelope.processed_user_text.startswith(
        "# Additional context:\n\n<getTimeInfo>\nnoon\n</getTimeInfo>\n\n<note_context>"
    )
    assert envelope.processed_user_text.endswith("\n\n---\n\n[User query]:\nWhen?")
    assert "noon" not in envelope.system
    after = talk.ask("And now?")
    assert "noon" not in json.dumps(after.to_wire())
    assert library(after) == [SPEC.id]


@covers("library.never-images")
def test_an_item_with_images_is_never_promoted_and_its_pictures_stand_before_the_question():
    talk = Talk()
    open_note = replace(active_note("a.md", "![[a.png]]"), images=(PICTURE,))
    envelope = talk.ask("What is on it?", open_note)
    last = envelope.messages[-1]
    assert [type(block).__name__ for block in last.blocks] == ["Text", "Image", "Text"]
    assert last.blocks[0].text.startswith("<active_note>")
    assert last.blocks[-1].text == "---\n\n[User query]:\nWhat is on it?"
    assert last.text == f"{last.blocks[0].text}{last.blocks[-1].text}"
    after = talk.ask("And?")
    assert library(after) == []
    assert reasons(after)["a.md"] == "bears images, and is never promoted"
    again = talk.look("Once more?", open_note)
    assert in_full(again) == ["a.md"]


@pytest.mark.parametrize("placement", ["system", "inline"])
def test_a_note_that_is_attached_and_open_is_one_item_and_the_active_one(placement):
    for items in (
        [active_note("a.md", "x"), note("a.md", "x")],
        [note("a.md", "x"), active_note("a.md", "x")],
    ):
        envelope = Talk(settings={"library": placement}).ask("What?", *items)
        assert in_full(envelope) == ["a.md"]
        assert envelope.processed_user_text.startswith("<active_note>")


@pytest.mark.parametrize("placement", ["system", "inline"])
def test_items_without_a_word_are_sent_alone(placement):
    talk = Talk(settings={"library": placement})
    envelope = talk.ask("", SPEC, answer="What of it?")
    assert envelope.processed_user_text.endswith("</note_context>")
    assert envelope.layer(LayerId.USER).text == ""
    after = talk.ask("And?")
    assert (SPEC.id in library(after)) == (placement == "system")
    assert "Build a piano." in text_of(after)


def test_a_promoted_note_is_no_longer_the_active_one():
    talk = Talk()
    talk.ask("What?", active_note("a.md", "x"))
    envelope = talk.ask("And?", note("a.md", "x"))
    assert "<active_note>" not in envelope.system
    assert referenced(envelope) == ["a.md"]


def test_a_pinned_item_is_in_the_library_at_once_and_stays_whole():
    talk = Talk(budget=2_000)
    big = note("big.md", "# Top\n" + "x" * 3_600)
    talk.ask("One?", big, pinned=[big.id])
    pinned = ContextRequest(
        mode=Mode.DIALOGUE,
        outline=PathOutline(tail=[Candidate("N", "n", "user", 1, 1)]),
        budget=2_000,
        attached=[Attached(0, big, pinned=True)],
    )
    envelope = assemble(replace(pinned, layered=True), {"N": Text("One?")}).laid_out
    assert library(envelope) == referenced(envelope) == [big.id]
    assert reasons(talk.look("Two?"))[big.id] == "in the library, pinned"


@covers(
    "library.compacted-over-its-share", "library.selections-never-compacted", "library.compaction-is-one-step"
)
def test_over_its_share_the_largest_items_become_outlines_in_one_step():
    talk = Talk(budget=4_000)
    text = "# Top\nfirst line\n" + "word " * 500
    picked = selection("s.md", 1, 9, "picked " * 200)
    own = replace(note("own.md", text), item=replace(note("own.md", text).item, recoverable=False))
    talk.ask("?", picked)
    talk.ask("?", own)
    talk.ask("?", note("a.md", text + "more " * 50))
    before = talk.ask("?", note("b.md", text))
    assert set(outcomes(before).values()) == {"kept"}
    after = talk.ask("?", note("c.md", "small"))
    assert outcomes(after) == {
        "s.md#L1-L9": "kept",
        "own.md": "kept",
        "a.md": "shortened",
        "b.md": "shortened",
        "c.md": "kept",
    }
    assert reasons(after)["a.md"] == "over the library's share: outline, an intended change of the prefix"
    later = talk.ask("?")
    assert later.system.startswith(after.system)


def test_where_outlines_are_too_much_stubs_are_left_and_every_id_is_still_there():
    talk = Talk(budget=3_000)
    items = [note(f"n{index}.md", "# Top\n" + "line of words\n" * 40) for index in range(30)]
    for item in items:
        talk.ask("?", item)
    envelope = talk.look("All?", *items)
    assert library(envelope) == referenced(envelope) == [item.id for item in items]
    assert envelope.tokens <= 3_000
    assert "<rest>" in envelope.system


def test_a_library_of_what_cannot_be_had_again_is_an_error_that_names_it():
    talk = Talk(budget=ROOM)
    for index in range(4):
        talk.ask("?", selection(f"s{index}.md", 1, 9, "picked " * 50))
    talk.budget = 300
    with pytest.raises(ContextLimitError, match="L2_LIBRARY") as error:
        talk.look("?")
    assert (error.value.hint or "").startswith("exclude the turns that brought the largest items")


ROOM = 100_000


@covers("layer.l4-history")
def test_history_holds_the_messages_without_their_items():
    talk = Talk()
    talk.ask("One?", SPEC, answer="A piano.")
    envelope = talk.ask("Two?")
    assert [segment.content for segment in envelope.layer(LayerId.HISTORY).segments] == ["One?", "A piano."]
    longer = talk.ask("Three?")
    assert longer.layer(LayerId.HISTORY).text.startswith(envelope.layer(LayerId.HISTORY).text)


def test_history_is_cut_by_the_same_engine_and_the_manifest_says_so():
    talk = Talk(budget=400, preferences={"truncationStrategy": "rollingWindow"})
    talk.ask("One?", SPEC, answer="x" * 1_200)
    for index in range(5):
        talk.ask(f"More {index}?", answer="y" * 200)
    envelope = talk.ask("Last?", SPEC)
    assert envelope.truncated
    assert library(envelope) == [SPEC.id]
    assert [entry.reason for entry in envelope.manifest if entry.outcome == "cut"] == ["over the budget"]
    assert envelope.tokens <= 400


@covers("layer.l4-strip")
def test_a_strip_is_a_summary_and_the_last_turns():
    talk = Talk(strip=Strip(summary="They spoke of {levels} pianos.", turns=2))
    for index in range(1, 6):
        talk.ask(f"Question {index}?", SPEC, answer=f"Answer {index}.")
    envelope = talk.envelopes[-1]
    assert [message.text for message in envelope.messages] == [
        "Summary of the conversation so far:\nThey spoke of {levels} pianos.\n\nQuestion 3?",
        "Answer 3.",
        "Question 4?",
        "Answer 4.",
        f"{REFERRED}\n\n---\n\n[User query]:\nQuestion 5?",
    ]
    collapsed = [entry for entry in envelope.manifest if entry.outcome == "collapsed"]
    assert [(entry.id, entry.last, entry.count, entry.reason) for entry in collapsed] == [
        ("m1", "m2.answer", 4, "told by the summary")
    ]
    positions = [entry.position for entry in envelope.manifest if entry.kind == "node" and entry.count == 1]
    assert positions == [4, 5, 6, 7]
    assert library(envelope) == [SPEC.id]


def test_nothing_falls_between_a_summary_and_its_strip():
    talk = Talk(strip=Strip(summary="So far.", turns=1, through=1))
    for index in range(1, 5):
        talk.ask(f"Question {index}?", answer=f"Answer {index}.")
    envelope = talk.envelopes[-1]
    assert [message.text for message in envelope.messages][::2] == [
        "Summary of the conversation so far:\nSo far.\n\nQuestion 2?",
        "Question 3?",
        "Question 4?",
    ]
    early = Talk(strip=Strip(summary="So far.", turns=3))
    assert early.ask("One?").warnings == (
        "there is nothing for the summary to stand for, so all turns are sent",
    )


@covers("layer.l1-system", "project.blocks-in-l1")
def test_l1_is_the_system_context_then_memory_project_and_addendum():
    talk = Talk(
        system=SystemParts(
            agent="Agent. \r\n",
            tree="Tree.",
            instructions=(Instruction(id="N", local_id="n", text="Be brief."),),
        ),
        standing=Standing(
            memory="Likes </user_memory> tea. </note_context>",
            project_prompt="Weave.",
            project_context="A loom.",
            addendum="You are in a loom.",
        ),
    )
    expected = (
        "Agent.\n\nTree.\n\nBe brief.\n\n<user_memory>\nLikes <\\user_memory> tea. </note_context>\n</user_memory>\n\n"
        "<project_system_prompt>\nWeave.\n</project_system_prompt>\n\n"
        "<project_context>\nA loom.\n</project_context>\n\nYou are in a loom."
    )
    for question in ("One?", "Two?"):
        envelope = talk.ask(question)
        assert envelope.layer(LayerId.SYSTEM).text == envelope.system == expected
    assert [segment.id for segment in envelope.layer(LayerId.SYSTEM).segments] == [
        *("agent", "tree", "[n]", "memory", "project_system_prompt", "project_context", "addendum"),
    ]


@covers("project.absent-block-omitted")
@pytest.mark.parametrize("absent", [None, "", " \n "])
def test_an_absent_block_is_left_out_and_never_spelled(absent):
    standing = Standing(memory=absent, project_prompt="Weave.", project_context=absent, addendum=absent)
    envelope = Talk(standing=standing).ask("Why?")
    assert envelope.system == (
        "You are a careful assistant.\n\n<project_system_prompt>\nWeave.\n</project_system_prompt>"
    )


@covers("layer.tool-descriptions-after-l2", "layer.memory-block-uncached", "layer.loom-context-before-l3")
def test_descriptions_follow_the_library_the_memory_block_is_apart_and_the_loom_stands_before_l3():
    talk = Talk(tool_descriptions="You may call look().", memory_block="[memory]", loom_context="[loom]")
    talk.ask("One?", SPEC)
    envelope = talk.ask("Two?", SPEC, tools=[ToolOutput(name="look", content="seen")])
    assert envelope.system.endswith("</note_context>\n\nYou may call look().")
    assert envelope.system_blocks[-1] == "You may call look()."
    assert envelope.llm_messages[0]["content"] == [
        {"type": "text", "text": envelope.system},
        {"type": "text", "text": "[memory]"},
    ]
    assert envelope.processed_user_text.startswith(
        "# Additional context:\n\n<look>\nseen\n</look>\n\n[loom]\n\nContext attached:\n"
    )
    assert all(each.block < len(envelope.system_blocks) for each in envelope.breakpoints[:2])


@covers("envelope.message-without-one-loads")
def test_a_message_that_was_saved_without_an_envelope_is_sent_as_it_was():
    baked = "<note_context>old</note_context>\n\nWhat?"
    talk = Talk()
    talk.ask("What?")
    talk.change(0, processed_text=baked)
    assert talk.look("And?").messages[0].text == baked


@covers("item.hangs-on-its-turn")
def test_items_of_an_excluded_turn_are_left_out_with_it():
    talk = Talk()
    talk.ask("One?", SPEC, left_out=Reason.EXCLUDED)
    envelope = talk.ask("Two?", DOCS)
    assert library(envelope) == []
    assert reasons(envelope)[SPEC.id] == "its turn is left out: excluded"
    assert in_full(talk.look("Three?", SPEC)) == [SPEC.id]


def test_a_turn_of_several_nodes_has_one_l3_before_its_first_words():
    rows = [
        Candidate("A", "a", "user", 2, 2),
        Candidate("B", "b", "assistant", 2, 4),
        Candidate("C", "c", "user", 2, 6),
        Candidate("D", "d", "user", 2, 8),
    ]
    contents = {"A": Text("First."), "B": Text("Answer."), "C": Text("Second."), "D": Text("Third.")}
    request = ContextRequest(
        mode=Mode.DIALOGUE,
        outline=PathOutline(tail=rows),
        budget=1_000,
        pending=Pending(text="Fourth."),
        attached=[Attached(0, SPEC), Attached(2, DOCS), Attached(3, SPEC)],
        items=[url("https://example.org", "page")],
    )
    envelope = assemble(replace(request, layered=True), contents).laid_out
    assert library(envelope) == [SPEC.id]
    assert referenced(envelope) == [SPEC.id]
    assert in_full(envelope) == [DOCS.id, "https://example.org"]
    assert envelope.processed_user_text.endswith("[User query]:\nSecond.\n\nThird.\n\nFourth.")
    assert envelope.layer(LayerId.USER).text == "Second.\n\nThird.\n\nFourth."
    assert len(envelope.messages) == 3


def test_a_path_that_ends_with_an_answer_has_no_current_turn():
    rows = [Candidate("A", "a", "user", 2, 2), Candidate("B", "b", "assistant", 2, 4)]
    contents = {"A": Text("First."), "B": Text("Answer.")}
    request = ContextRequest(
        mode=Mode.DIALOGUE,
        outline=PathOutline(tail=rows),
        budget=1_000,
        attached=[Attached(0, SPEC)],
    )
    envelope = assemble(replace(request, layered=True), contents).laid_out
    assert library(envelope) == [SPEC.id]
    assert envelope.processed_user_text == "Continue."
    assert envelope.history == 2


@covers("envelope.request-names")
def test_the_wire_says_what_a_turn_brings():
    wire = {
        "chatId": "c",
        "currentMessageId": "m",
        "userText": "Why?",
        "attachments": [{"id": "a.md", "type": "note", "content": "x", "title": "A"}],
        "toolOutputs": [{"name": "look", "content": "seen", "attributes": {"at": "noon"}}],
        "provider": "anthropic",
        "budget": 4_000,
    }
    request = read_prompt_request(wire)
    assert request == PromptContextRequest(
        chat_id="c",
        current_message_id="m",
        user_text="Why?",
        attachments=(note("a.md", "x", title="A"),),
        tool_outputs=(ToolOutput(name="look", content="seen", attributes={"at": "noon"}),),
        provider="anthropic",
        budget=4_000,
    )
    assert read_prompt_request(request.to_wire()) == request
    envelope = assemble_turn(Conversation(), request)
    assert (envelope.conversation_id, envelope.message_id) == ("c", "m")


@covers("library.auto-promoted", "layer.l5-user")
def test_a_turn_that_nobody_answered_is_an_earlier_one_all_the_same():
    talk = Talk()
    talk.ask("First", SPEC, answer=None)
    envelope = talk.look("Second", SPEC, DOCS)
    assert (library(envelope), referenced(envelope), in_full(envelope)) == ([SPEC.id], [SPEC.id], [DOCS.id])
    assert envelope.layer(LayerId.USER).text == "Second"
    assert envelope.layer(LayerId.HISTORY).text == "user: First"
    assert [message.role.value for message in envelope.messages] == ["user"]
    assert envelope.processed_user_text.startswith(
        "First\n\nContext attached:\n- Piano Lessons/project-spec.md"
    )
    again = assemble_turn(talk.conversation, PromptContextRequest(budget=1_000))
    assert (library(again), in_full(again), again.layer(LayerId.USER).text) == ([], [SPEC.id], "First")


def test_a_request_may_leave_its_budget_open_and_brings_its_pictures_along():
    seen = replace(active_note("a.md", "![[p.png]]"), images=(PICTURE,))
    request = PromptContextRequest(user_text="Why?", attachments=(seen,))
    assert read_prompt_request(request.to_wire()) == request
    envelope = assemble_turn(Conversation(), request)
    assert envelope.messages[-1].blocks[1] == PICTURE
    assert not envelope.truncated


@pytest.mark.parametrize(
    ("wire", "said"),
    [
        ([], "request must be an object"),
        ({"budget": -1}, "request.budget must be a whole number"),
        ({"budget": 1, "attachments": {}}, "request.attachments must be a list"),
        ({"budget": 1, "attachments": [{"id": "a"}]}, r"attachments\[0\] needs an id and a type"),
        ({"budget": 1, "attachments": [{"id": "a", "type": "note", "sha256": "0"}]}, "is not the hash"),
        (
            {"attachments": [{"id": "a", "type": "note", "images": [{"type": "text", "text": ""}]}]},
            r"attachments\[0\].images\[0\] must be an image",
        ),
        ({"budget": 1, "userText": 3}, "request.userText must be a string"),
        ({"budget": 1, "toolOutputs": [{"name": "a b"}]}, "cannot be a tag"),
    ],
)
def test_a_wrong_request_names_its_field(wire, said):
    with pytest.raises(InvalidInputError, match=said):
        read_prompt_request(wire)


def test_settings_come_from_the_same_levels_as_all_others():
    assert resolve_layer_settings(
        {"library": "inline", "other": 1}, {"changed": "append"}, {"libraryShare": 0.25}
    ) == (LayerSettings(library="inline", changed="append", library_share=0.25))
    for wrong in ({"library": "top"}, {"changed": None}, {"libraryShare": 2}, {"cacheLifetime": "2h"}):
        with pytest.raises(InvalidInputError, match="preferences"):
            resolve_layer_settings(wrong)
