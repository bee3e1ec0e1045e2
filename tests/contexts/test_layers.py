"""Requests in layers over a store: the library of a path, notes read fresh, memory and projects."""

import os
import random
import re

import pytest
from tests import recorded
from tests.contexts.shelves import PNG, Desk, in_full, library, referenced
from tests.covers import covers
from tests.events.listening import member
from tests.soundness import check_sound
from tests.transfer.rich import Summarise

import weft
from weft.context.items.item_types import LayerId, query
from weft.errors import (
    ContextLimitError,
    InvalidInputError,
    LimitExceededError,
    NotFoundError,
    PermissionDeniedError,
)
from weft.runtime.contexts.items import given_item
from weft.runtime.operations.executor import Caller
from weft.tree.access import MemberRole
from weft.tree.item import Item
from weft.tree.tool_spec import ToolSpec

_TIMES = re.compile(r"<[cm]time>[^<]*</[cm]time>\n")


@covers(
    "item.from-vault-or-call", "item.hangs-on-its-turn", "library.auto-promoted", "library.reference-lines"
)
def test_the_example_of_three_turns_over_a_store(desk):
    spec = desk.write("Piano Lessons/project-spec.md", "Build a piano.")
    docs = desk.write("Piano Lessons/api-docs.md", "play(note)")
    one = desk.ask("Summarize this", spec)
    first = one.envelope(agent=desk.agent)
    assert first.system == "Be brief."
    assert _TIMES.sub("", first.processed_user_text) == (
        "<note_context>\n<title>project-spec</title>\n<path>Piano Lessons/project-spec.md</path>\n"
        "<content>\nBuild a piano.\n</content>\n</note_context>\n\n---\n\n[User query]:\nSummarize this"
    )
    desk.answer(one)
    two = desk.ask("What's the API?", spec, docs)
    second = two.envelope(agent=desk.agent)
    assert (library(second), referenced(second), in_full(second)) == ([spec], [spec], [docs])
    desk.answer(two)
    third = desk.ask("Explain that", spec).envelope(agent=desk.agent)
    assert (library(third), referenced(third), in_full(third)) == ([spec, docs], [spec], [])
    assert third.processed_user_text == (
        "Context attached:\n- Piano Lessons/project-spec.md\nFind them in the Context Library above.\n\n"
        "---\n\n[User query]:\nExplain that"
    )
    assert [message.text for message in third.messages[:-1]] == [
        "Summarize this",
        "Yes.",
        "What's the API?",
        "Yes.",
    ]


@pytest.mark.outer
@covers("library.membership-decides")
@pytest.mark.parametrize("row", recorded.rows("layers"), ids=lambda row: row["name"])
def test_recorded_conversations_give_the_same_ids_from_a_store(desk, row):
    for path, note in row["input"]["vault"].items():
        desk.write(path, note["content"])
    answers = {}
    for turn, expected in zip(row["input"]["turns"], row["expected"], strict=True):
        if turn.get("op") == "truncate_after":
            answers[turn["id"]].switch()
            continue
        for path, note in turn.get("vault_update", {}).items():
            desk.write(path, note["content"])
        # A node's words hold no NUL; a note may.
        asked = desk.ask(turn["user"].replace("\x00", "�"), *turn.get("notes", ()))
        envelope = asked.envelope(agent=desk.agent)
        assert {
            "l2_ids": library(envelope),
            "l3_reference_ids": referenced(envelope),
            "l3_new_ids": in_full(envelope),
            "L5": envelope.layer(LayerId.USER).text,
        } == {**expected, "L5": expected["L5"].replace("\x00", "�")}
        answers[turn["id"]] = desk.answer(asked, turn["assistant"])


@covers("library.siblings-share", "library.current-items-stay")
def test_siblings_share_the_system_message_to_the_byte(desk):
    spec, docs = desk.write("spec.md", "one"), desk.write("docs.md", "two")
    answered = desk.answer(desk.ask("First", spec))
    left = desk.ask("Left", docs, under=answered).envelope(agent=desk.agent)
    right = desk.ask("Right", spec, under=answered).envelope(agent=desk.agent)
    alone = desk.ask("Alone", under=answered).envelope(agent=desk.agent)
    assert left.system == right.system == alone.system
    # The note that is attached again stays in the library, and is only named.
    assert library(right) == referenced(right) == [spec]


@covers("item.vault-read-fresh", "library.changed-refresh")
def test_a_changed_note_is_read_fresh_and_told_about(desk):
    path = desk.write("a.md", "first version")
    desk.answer(desk.ask("One", path))
    desk.write("a.md", "second version")
    envelope = desk.ask("Two").envelope(agent=desk.agent)
    assert "second version" in envelope.system
    assert "first version" not in envelope.system
    assert "first version" in desk.tree.envelope(agent=desk.agent, fresh=False).system
    (told,) = [entry for entry in envelope.manifest if entry.id == "a.md"]
    assert "the cache is lost from here on" in told.reason
    (desk.folder / "a.md").unlink()
    kept = desk.tree.envelope(agent=desk.agent)
    assert "first version" in kept.system


@covers("library.changed-append")
def test_with_append_what_was_sent_stays_and_the_new_text_follows(desk):
    path = desk.write("a.md", "first version")
    desk.answer(desk.ask("One", path))
    desk.write("a.md", "second version")
    quiet = desk.ask("Two").envelope(agent=desk.agent, changed="append")
    assert library(quiet) == ["a.md"]
    assert "second version" not in quiet.system
    turn = desk.tree.cursor.attach(path)
    again = turn.envelope(agent=desk.agent, changed="append")
    assert (library(again), in_full(again)) == (["a.md"], ["a.md"])
    assert "<revision>2</revision>" in again.processed_user_text
    desk.answer(turn)
    after = desk.ask("Three").envelope(agent=desk.agent, changed="append")
    assert library(after) == ["a.md", "a.md"]
    assert after.system.startswith(again.system)


def test_an_excluded_turn_takes_its_items_with_it_until_another_brings_them(desk):
    path = desk.write("a.md", "text")
    first = desk.ask("One", path)
    desk.answer(first)
    second = desk.ask("Two", path)
    desk.answer(second)
    first.exclude()
    assert library(desk.ask("Three").envelope()) == ["a.md"]
    second.exclude()
    envelope = desk.tree.envelope()
    assert library(envelope) == []
    (told,) = [entry for entry in envelope.manifest if entry.id == "a.md"]
    assert told.outcome.value == "excluded"
    first.include()
    assert library(desk.tree.envelope()) == ["a.md"]


@covers("library.inline-placement", "library.inline-lost-item-given-again")
def test_inline_items_stay_in_their_messages(desk):
    path = desk.write("a.md", "text " * 40)
    desk.answer(desk.ask("One", path))
    turn = desk.ask("Two", path)
    inline = turn.envelope(agent=desk.agent, library="inline")
    assert inline.system == "Be brief."
    assert "text text" in inline.messages[0].text
    assert "Find them above." in inline.processed_user_text
    desk.answer(turn)
    after = desk.ask("Three").envelope(agent=desk.agent, library="inline")
    assert [each.text for each in after.messages][: len(inline.messages)] == [
        each.text for each in inline.messages
    ]
    for number in range(12):
        desk.answer(desk.ask(f"Filler {number} " * 20))
    cut = desk.ask("Last", path).envelope(
        agent=desk.agent, library="inline", limit=500, strategy="rollingWindow"
    )
    assert in_full(cut) == ["a.md"]
    assert [entry.reason for entry in cut.manifest if entry.id == "a.md"] == [
        "given again: the message that introduced it was cut"
    ]


@covers("memory.user-memory-in-l1", "memory.appended-by-agents")
def test_the_users_memory_stands_in_every_request(fresh_loom, tmp_path):
    desk = Desk(fresh_loom, tmp_path / "vault")
    turn = desk.ask("Hello")
    assert "<user_memory>" not in turn.envelope(agent=desk.agent).system
    saved = fresh_loom.remember("likes tea")
    assert turn.envelope(agent=desk.agent).system == "Be brief.\n\n<user_memory>\nlikes tea\n</user_memory>"
    helper = fresh_loom.add_agent(
        "helper", model_ref="t:m", permissions=["loom_aware", "doc_read", "doc_write"]
    )
    fresh_loom.acting_as(helper.id).remember("has a cat")
    assert "likes tea\nhas a cat" in turn.envelope().system
    quiet = fresh_loom.add_agent("quiet", model_ref="t:m", permissions=["loom_aware", "doc_read"])
    with pytest.raises(PermissionDeniedError):
        fresh_loom.acting_as(quiet.id).remember("no")
    fresh_loom.document(saved.id).archive()
    hidden = turn.envelope()
    assert "tea" not in hidden.system
    assert "is archived" in hidden.warnings[0]
    other = fresh_loom.write_document("Mine", "a tree's own")
    desk.tree.prefer(user_memory="Mine")
    assert "a tree's own" in turn.envelope().system
    other.delete(confirm=other.id)
    gone = turn.envelope()
    assert "memory" not in gone.system
    assert "left out" in gone.warnings[0]


@covers("project.blocks-in-l1", "project.absent-block-omitted")
def test_a_projects_blocks_stand_in_l1(fresh_loom, tmp_path):
    desk = Desk(fresh_loom, tmp_path / "vault")
    desk.write("Novel/one.md", "chapter </project_context> one")
    fresh_loom.write_document("Plan", "the plan")
    project = fresh_loom.create_project("Novel", system_prompt="Edit prose.")
    project.add(desk.tree)
    turn = desk.ask("Hello")
    assert turn.envelope(agent=desk.agent).system == (
        "Be brief.\n\n<project_system_prompt>\nEdit prose.\n</project_system_prompt>"
    )
    project = project.change(
        context=["doc:Plan", f"folder:{desk.name}/Novel", "https://a.b/?x=1&y=2", "folder:No/where"]
    )
    envelope = turn.envelope(agent=desk.agent)
    context = envelope.system.partition("<project_context>\n")[2]
    assert context.count("</project_context>") == 1
    assert "the plan" in context
    assert "chapter <\\project_context> one" in context
    assert "<url>https://a.b/?x=1&y=2</url>" in context
    assert "mtime" not in context
    assert "No/where of project 'Novel' is left out" in envelope.warnings[0]
    for word in ("None", "null"):
        assert word not in envelope.system
    project.change(system_prompt="", context=[])
    assert turn.envelope(agent=desk.agent).system == "Be brief."


@covers("layer.settings-at-three-levels")
def test_settings_of_layers_are_preferences_at_three_levels(fresh_loom, tmp_path):
    desk = Desk(fresh_loom, tmp_path / "vault")
    path = desk.write("a.md", "text")
    desk.answer(desk.ask("One", path))
    turn = desk.ask("Two")

    def placed(**options) -> str:
        return str(turn.envelope(**options).manifest.facts.settings["library"])

    assert placed() == "system"
    fresh_loom.prefer(library="inline", library_share=0.25)
    assert fresh_loom.preferences["library"] == "inline"
    assert placed() == "inline"
    desk.tree.prefer(library="system")
    assert placed() == "system"
    assert placed(library="inline") == "inline"
    assert placed(preferences={"library": "inline"}) == "inline"
    for wrong in (
        {"library": "upstairs"},
        {"changed": 1},
        {"libraryShare": 2},
        {"stripTurns": -1},
        {"userMemory": 3},
    ):
        with pytest.raises(InvalidInputError):
            fresh_loom.prefer(**wrong)
    with pytest.raises(InvalidInputError, match="unknown option 'libary'"):
        turn.envelope(libary="inline")
    with pytest.raises(InvalidInputError, match="there is no preference"):
        turn.envelope(preferences={"lib": "inline"})
    fresh_loom.undo()
    assert "library" not in fresh_loom.preferences


@covers("layer.l4-strip")
def test_history_can_be_a_strip_of_summaries(desk):
    first = desk.ask("A long story about snow")
    desk.answer(first)
    second = desk.ask("And about rain")
    desk.answer(second)
    desk.answer(desk.ask("And wind"))
    turn = desk.ask("What was it about?")
    given = turn.envelope(strip=1, summary="Weather was spoken of.")
    assert given.messages[0].text.startswith("Summary of the conversation so far:\nWeather was spoken of.")
    assert [each.text for each in given.messages][-1] == "What was it about?"
    assert "rain" not in str([each.text for each in given.messages])
    untold = turn.envelope(strip=1)
    assert "snow" in untold.messages[0].text
    for node in desk.tree.path:
        if node.text and node.id not in {turn.id, second.id}:
            desk.grove.perform(Summarise(tree=desk.tree.id, node=node.id, text=f"told: {node.local_id}"))
    told = turn.envelope(strip=1)
    assert f"- [{first.local_id}] told: {first.local_id}" in told.messages[0].text
    # Nobody has summed up the second turn, so it and all after it stay as they were.
    assert "And about rain" in told.messages[0].text
    assert "snow" not in str([each.text for each in told.messages])
    first.exclude()
    assert f"told: {first.local_id}" not in str([each.text for each in turn.envelope(strip=1).messages])


@covers("library.deleted-notes")
@pytest.mark.parametrize("placement", ["system", "inline"])
def test_a_deleted_note_stays_in_the_library_as_it_was_last_read(desk, placement):
    desk.tree.prefer(library=placement)
    path = desk.write("a.md", "first")
    desk.send(desk.ask("One", path))
    desk.write("a.md", "second")
    os.utime(desk.folder / "a.md", (1_700_000_000, 1_700_000_000))
    desk.send(desk.ask("Two"))
    (desk.folder / "a.md").unlink()
    for text in ("Three", "Four"):
        prepared, _ = desk.send(desk.ask(text))
        shown = prepared.system + str([each.text for each in prepared.messages])
        assert "second" in shown
        assert "first" not in shown
        assert prepared.warnings == ("a.md was deleted: it is shown as it was last read",)
        assert prepared.instabilities == ()
    check_sound(desk.grove)


@covers("library.deleted-notes")
def test_a_note_that_is_deleted_before_its_turn_is_sent_is_skipped(desk):
    turn = desk.ask("One", desk.write("a.md", "gone"), desk.write("b.md", "there"))
    given = turn.say("Given").attach(Item(id="given.md", type="note", content="from the call"))
    document = desk.grove.write_document(f"Doc {desk.name}", "a document")
    turn.attach(f"doc:{document.id}")
    (desk.folder / "a.md").unlink()
    document.delete(confirm=document.id)
    envelope = turn.envelope(agent=desk.agent)
    assert in_full(envelope) == ["b.md"]
    assert "gone" not in envelope.messages[-1].text
    assert envelope.warnings == (
        "a.md is skipped: it was deleted",
        f"doc:{document.id} is skipped: it was deleted",
    )
    assert {each.id: each.reason for each in envelope.manifest}["a.md"] == "its source was deleted"
    # Its text came in the call: it never was in a vault.
    assert "given.md" in in_full(given.envelope(agent=desk.agent))


@covers("library.outline")
def test_an_outline_and_a_page_of_the_project_offer_the_tools_of_the_turn(desk):
    desk.grove.create_project(f"P {desk.name}", context=["https://example.org/a"]).add(desk.tree)
    desk.answer(desk.ask("One", desk.write("a.md", "# A\n" + "word " * 4_000)))
    turn = desk.ask("Two")
    tools = [
        ToolSpec(name=name, description="Read.", schema={"type": "object"})
        for name in ("readNote", "readUrl")
    ]
    plain, able = (turn.envelope(agent=desk.agent, limit=3_000, tools=each).system for each in ((), tools))
    assert "<outline>" in plain
    assert "readNote" not in plain
    assert "readUrl" not in plain
    assert "ask the user to attach its text" in plain
    assert "For the rest, use readNote." in able
    assert "For the rest, use readUrl." in able


@covers("library.outline", "chatfile.unread-pages")
def test_a_page_without_its_text_is_for_models_that_can_read_it(desk):
    page = "https://example.org/b"
    tools = [ToolSpec(name="readUrl", description="Read.", schema={"type": "object"})]
    first = desk.tree.say("One", attachments=[Item(id=page, type="url", content="")])
    plain, able = (first.envelope(agent=desk.agent, tools=each) for each in ((), tools))
    assert (in_full(plain), plain.warnings) == ([], (f"{page} is omitted: its page was not read",))
    assert (in_full(able), able.warnings) == ([page], ())
    assert (
        f"<url>{page}</url>\n<rest>Not shown in full. For the rest, use readUrl.</rest>"
        in able.messages[0].text
    )
    desk.answer(first)
    later = desk.ask("Two")
    assert library(later.envelope(agent=desk.agent)) == []
    assert library(later.envelope(agent=desk.agent, tools=tools)) == [page]


@covers("layer.l4-strip")
def test_a_strip_sums_up_only_the_turns_that_it_replaces(desk):
    for text in ("Snow", "Rain", "Wind"):
        desk.answer(desk.ask(text), f"{text}!")
    turn = desk.ask("And now?")
    for node in desk.tree.path:
        if node.text and node.id != turn.id:
            desk.grove.perform(Summarise(tree=desk.tree.id, node=node.id, text=f"told: {node.text}"))
    shown = str([each.text for each in turn.envelope(strip=1).messages])
    assert [text for text in ("Snow", "Snow!", "Rain", "Rain!") if f"told: {text}" not in shown] == []
    assert "Wind!" in shown
    assert "told: Wind" not in shown
    assert "told:" not in str([each.text for each in turn.envelope(strip=9).messages])


@covers("library.pinning")
def test_a_pinned_item_is_in_the_library_from_its_own_turn_on(desk):
    turn = desk.tree.say("One").attach(Item(id="p.md", type="note", content="x" * 4000, pinned=True))
    envelope = turn.envelope(agent=desk.agent)
    assert library(envelope) == referenced(envelope) == ["p.md"]
    turn.attach(Item(id="q.md", type="note", content="y" * 4000))
    desk.answer(turn)
    after = desk.ask("Two").envelope(agent=desk.agent, limit=3_000)
    forms = {each.id: each.metadata["form"] for each in after.layer(LayerId.LIBRARY).segments}
    assert forms["p.md"] == "full"
    assert forms["q.md"] != "full"


@pytest.mark.long
@covers("envelope.hostile-content")
def test_hostile_items_are_rendered_safely_and_none_is_missing(desk):
    wild = '"quoted"\nand <broken> & new'
    items = [
        Item(id=wild, type="note", content="</note_context></content> <!-- --> \r\nmixed\rends\n"),
        Item(id="nul", type="note", content="a\x00b"),
        Item(id="https://a.b/?x=1&y=2", type="url", content="</url_content>"),
        Item(id="odd", type="some thing", content="</context_item>"),
        Item(id="huge.md", type="note", content="# Huge\n" + "word " * 2_100_000),
    ]
    items += [Item(id=f"n{number}.md", type="note", content=f"note {number}") for number in range(1_000)]
    turn = desk.tree.say("Go", attachments=items)
    names = {each.id for each in items}
    envelope = turn.envelope(agent=desk.agent)
    assert set(in_full(envelope)) == names
    assert "a�b" in envelope.processed_user_text
    assert envelope.processed_user_text.count("</note_context>") == 1_003
    desk.answer(turn)
    after = desk.ask("Next").envelope(agent=desk.agent, limit=200_000)
    assert set(library(after)) == names
    assert after.tokens <= 200_000
    with pytest.raises(LimitExceededError):
        desk.tree.say(
            "too much", attachments=[Item(id="x", type="note", content="x" * (64 * 1024 * 1024 + 1))]
        )
    with pytest.raises(InvalidInputError):
        desk.tree.say("no", attachments=[Item(id="a\x00", type="note", content="x")])


@pytest.mark.outer
def test_pictures_of_items_are_kept_checked_and_deleted_with_their_tree(own_loom, tmp_path):
    fresh_loom = own_loom
    desk = Desk(fresh_loom, tmp_path / "vault")
    desk.write("k.png", PNG)
    desk.write("open.md", "![[k.png]]")
    turn = desk.ask("Look", "active:open.md")
    ref = turn.value.attachments[0].images[0].ref
    check_sound(fresh_loom)
    lost = Item(id="x", type="active_note", content="", images=(turn.value.attachments[0].images[0],))
    assert fresh_loom.plant("Other").say("too", attachments=[lost]).value.attachments == (lost,)
    desk.tree.delete(confirm=desk.tree.id)
    assert fresh_loom.blob(ref) == PNG
    fresh_loom.tree("Other").delete(confirm=fresh_loom.tree("Other").id)
    with pytest.raises(NotFoundError):
        fresh_loom.blob(ref)
    with pytest.raises(NotFoundError):
        fresh_loom.plant("Third").say("lost", attachments=[lost])


@covers("memory.only-for-members-of-the-grove")
def test_whoever_may_enter_one_tree_alone_sees_no_memory_no_project_and_no_vault(fresh_loom, tmp_path):
    desk = Desk(fresh_loom, tmp_path / "vault")
    fresh_loom.remember("a private matter")
    fresh_loom.create_project("Novel", system_prompt="A private plan").add(desk.tree)
    written = fresh_loom.write_document("Plan", "a plan that was shown")
    desk.answer(desk.ask("One", desk.write("a.md", "as it was attached"), "doc:Plan"))
    desk.write("a.md", "what it became")
    written.save("a plan kept back")
    seen = desk.tree.envelope()
    assert "private matter" in seen.system
    assert "what it became" in seen.system
    assert "a plan kept back" in seen.system
    guest = weft.Grove(
        Caller(fresh_loom.caller.executor, member(fresh_loom, MemberRole.READER, desk.tree.id))
    )
    shown = guest.tree(desk.tree.id).envelope()
    assert "private" not in shown.system
    assert "as it was attached" in shown.system
    assert "a plan that was shown" in shown.system
    assert "kept back" not in shown.system
    assert "belong to the grove" in shown.warnings[0]
    with pytest.raises(PermissionDeniedError):
        guest.vaults.note("a.md")


@covers("item.vault-read-fresh")
def test_a_vault_that_is_gone_is_told_about_and_its_notes_stay_as_they_were(desk):
    turn = desk.ask("One", desk.write("a.md", "as it was attached"))
    assert turn.envelope(agent=desk.agent).warnings == ()
    desk.folder.rename(desk.folder.with_name("elsewhere"))
    envelope = turn.envelope(agent=desk.agent)
    assert "as it was attached" in envelope.processed_user_text
    assert [each.partition(":")[0] for each in envelope.warnings] == [f"vault {desk.name}"]
    assert desk.ask("Nothing attached", under=desk.tree.root).envelope().warnings == ()


def test_a_text_in_buffer_mode_has_no_layers(loom):
    with pytest.raises(InvalidInputError, match="layers are made of dialogues"):
        loom.plant(mode="buffer", text="Once").envelope()


@covers("python.context", "manifest.entry-for-every-candidate")
def test_every_context_has_layers_and_items_are_told_wherever_one_looks(desk):
    note = desk.write("tide.md", "High at six.")
    before = desk.ask("Can we cross?")
    plain = before.context(limit=500, agent=desk.agent)
    assert {layer.id: layer.text for layer in plain.layers if layer.text} == {
        LayerId.SYSTEM: "Be brief.",
        LayerId.USER: "Can we cross?",
    }
    desk.answer(before)
    asked = desk.ask("And now?", note)
    options = {"limit": 500, "agent": desk.agent}
    context, envelope = asked.context(**options), asked.envelope(**options)
    assert context.layers == envelope.layers
    assert context.messages == envelope.messages
    assert (note, "kept") in [(entry.id, entry.outcome) for entry in context.manifest]
    assert [line["tokens"] for line in context.to_wire()["layers"]] == [
        each.tokens for each in context.layers
    ]
    assert context.diff(before.context(limit=500))
    assert (
        desk.grove.recipes.at(asked, "dialogue", **options).messages[-1]["content"]
        == context.messages[-1].text
    )
    cut = asked.context(limit=60, strategy="rollingWindow")
    assert cut.tokens <= 60
    page = desk.grove.plant("A document", "Fog.", mode="buffer")
    assert [layer.text for layer in page.context().layers if layer.text] == ["Fog."]


@covers("item.id-url", "item.id-query", "item.id-selection", "item.from-vault-or-call")
def test_pages_queries_and_lines_come_with_their_text_and_nothing_is_fetched_or_run(desk):
    given = [
        ("https://a.b/?x=1&y=2", "url", "https://a.b/?x=1&y=2"),
        ("books.md#query: LIST FROM #book", "query", query("books.md", "LIST FROM #book", "").id),
        ("a/b.md#L3-L9", "selection", "a/b.md#L3-L9"),
        ("a/b.md#L4", "selection", "a/b.md#L4-L4"),
        ("a/b.md", "note", "a/b.md"),
    ]
    turn = desk.ask("One")
    for reference, kind, identity in given:
        item = given_item(reference, "its text")
        assert (item.type, item.id, item.recoverable) == (kind, identity, kind != "selection")
        turn = turn.attach(item)
    said = turn.envelope(agent=desk.agent).processed_user_text
    assert "<query_block>" in said
    assert "<url_content>" in said
    for reference in ("https://a.b", "books.md#query: LIST"):
        with pytest.raises(InvalidInputError, match="not"):
            turn.attach(reference)
    for reference in ("", "#query: LIST", "books.md#query: "):
        with pytest.raises(InvalidInputError):
            given_item(reference, "")
    with pytest.raises(InvalidInputError):
        given_item("a.md#L9-L3", "")


@pytest.mark.outer
@covers("envelope.hostile-content", "fit.budget-never-exceeded")
@pytest.mark.parametrize("placement", ["system", "inline"])
@pytest.mark.parametrize("count", [1, 4, 5, 7])
def test_a_turn_of_many_messages_keeps_what_they_bring_along_and_its_budget(desk, placement, count):
    large = Item(id="large.md", type="note", content="word " * 10_000)
    first = Item(id="first.md", type="note", content="The very first.")
    turn = desk.tree.root
    for number in range(count):
        items = [first, large] if number == 0 else [large] if number == count - 1 else []
        turn = desk.tree.say(f"Message {number}", attachments=items)
    for limit in (900, 4_000, None):
        found = turn.envelope(agent=desk.agent, limit=limit, library=placement)
        assert found.tokens <= found.budget
        assert found.tokens == sum(entry.tokens for entry in found.manifest)
        said = found.system + "".join(message.text for message in found.messages)
        assert "The very first." in said
        assert "large.md" in said


def random_path(desk, chance):
    """A path of many shapes: runs of one speaker, items of all sizes, exclusions, a fold."""
    nodes = []
    for number in range(chance.randrange(1, 14)):
        author = chance.choice([None, None, desk.agent])
        items = {
            f"n{chance.randrange(5)}.md": f"w{chance.randrange(3)} " * chance.choice([1, 50, 2_000])
            for _ in range(0 if author else chance.choice([0, 0, 1, 2]))
        }
        attached = [Item(id=name, type="note", content=content) for name, content in items.items()]
        text = f"m{number} " + "t " * chance.choice([0, 5, 200, 1_500])
        nodes.append(desk.tree.say(text, author=author, attachments=attached))
    for node in chance.sample(nodes, min(2, len(nodes))):
        if chance.random() < 0.5:
            node.exclude()
    if len(nodes) > 4 and chance.random() < 0.4:
        start = chance.randrange(len(nodes) - 2)
        desk.tree.collapse(nodes[start], nodes[start + 1], "fold", "told")
    return nodes[-1]


@pytest.mark.outer
@covers("envelope.hostile-content", "fit.budget-never-exceeded")
@pytest.mark.parametrize("seed", range(6))
def test_whatever_a_path_is_like_its_budget_holds_and_what_is_told_is_there(desk, seed):
    node = random_path(desk, random.Random(seed))
    for limit in (300, 1_500, 6_000):
        for placement in ("system", "inline"):
            for strategy in ("truncateMiddle", "rollingWindow"):
                options = {"limit": limit, "library": placement, "strategy": strategy, "step": 0}
                try:
                    found = node.envelope(agent=desk.agent, **options)
                except (ContextLimitError, InvalidInputError):
                    # The system alone is too large, or all is excluded.
                    continue
                assert found.tokens == sum(entry.tokens for entry in found.manifest) <= limit
                said = found.system + "".join(message.text for message in found.messages)
                items = [entry for entry in found.manifest if entry.kind == "item" and entry.tokens]
                assert all(entry.id in said for entry in items)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"items": ["a.md"]}, "items must be a list of Item or ContextItem, got list"),
        ({"items": None}, "items must be a list"),
        ({"items": [Item(id="", type="note", content="")]}, "needs an id and a type"),
        ({"tool_outputs": ["x"]}, "tool_outputs must be a list of ToolOutput"),
        ({"tool_outputs": "x"}, "tool_outputs must be a list of ToolOutput"),
        ({"tool_descriptions": 5}, "tool_descriptions must be a string"),
        ({"memory_block": None}, "memory_block must be a string"),
        ({"summary": 5}, "summary must be a string"),
        ({"fresh": "no"}, "fresh must be true or false"),
    ],
)
def test_a_wrong_option_of_an_envelope_is_refused_by_its_name(desk, options, said):
    turn = desk.ask("One")
    with pytest.raises(InvalidInputError, match=said):
        turn.envelope(agent=desk.agent, **options)
    with pytest.raises(InvalidInputError, match="items must be Item or a string, got"):
        turn.attach(5)


@covers("library.compacted-over-its-share")
@pytest.mark.parametrize("options", [{"limit": 8_000}, {"preferences": {"libraryShare": 0.01}}])
def test_a_share_far_below_the_models_window_still_holds_what_fits_into_it(loom, tmp_path, options):
    desk = Desk(loom, tmp_path / "vault", provider="anthropic:claude-sonnet-4-5")
    path = desk.write("a.md", "word " * 1_000)
    desk.answer(desk.ask("One", path))
    (held,) = desk.ask("Two").envelope(agent=desk.agent, **options).layer(LayerId.LIBRARY).segments
    assert held.metadata["form"] == "full"
