"""Chats saved as Markdown and loaded again: what is displayed, what was attached, where notes have gone."""

import pytest
from sqlalchemy import func, select
from tests.contexts.shelves import KeepLegacyText, library
from tests.covers import covers
from tests.providers.loopback import plain, serving

from weft.errors import InvalidInputError, NotFoundError
from weft.interop.chat_file import read_chat
from weft.runtime.transfer.markdown_chats import load_chat
from weft.store import schema
from weft.tree.content import ToolResult
from weft.tree.item import Item


def said(text: str) -> list[tuple]:
    return [(each.role, each.text, each.context) for each in read_chat(text).messages]


@covers("chatfile.displayed-text", "chatfile.context-lines", "chatfile.round-trip")
def test_what_a_chat_keeps_comes_back(desk):
    desk.write("Piano/a.md", "---\ntags: [keys]\n---\nA")
    desk.write("Piano/b.md", "B")
    document = desk.grove.write_document(f"Plan {desk.name}", "plan")
    first = desk.ask(
        "**user**: not a header\n[Context: no] --> <!-- x", "Piano/b.md", "#keys", "Piano/b.md#L1"
    )
    first.attach(Item(id="https://a.b/?x=1&y=2", type="url", content="page"), f"doc:{document.title}")
    desk.answer(first, "Line one\n\n**ai**: still the same\n")
    desk.answer(desk.ask("In a folder", "folder:Piano"))
    text = desk.tree.chat()
    assert "[Context: Notes: Piano/b.md | URLs: https://a.b/?x=1&y=2 | Tags: #keys]" in text
    assert "[Context: Folders: Piano]" in text
    assert "page" not in text
    loaded = load_chat(desk.grove.caller, text)
    again = desk.grove.tree(loaded.tree.id)
    assert said(again.chat()) == said(text)
    assert [node.text for node in again.path] == [node.text for node in desk.tree.path]
    assert [node.role for node in again.path][1:] == [node.role for node in desk.tree.path][1:]
    page = "https://a.b/?x=1&y=2"
    assert loaded.warnings == (f"{page} is omitted from contexts: its page was not read (readUrl is off)",)
    shown = again.envelope()
    assert set(library(shown)) == set(library(desk.tree.envelope())) - {page}
    assert shown.warnings == (f"{page} is omitted: its page was not read",)
    assert {each.id: each.reason for each in shown.manifest}[page] == "its page was not read"
    with pytest.raises(InvalidInputError, match="not a chat"):
        desk.grove.plant(mode="buffer", text="x").chat()


@covers("chatfile.unread-pages")
def test_pages_of_a_loaded_chat_are_read_where_the_owner_allows_it(desk):
    html = b"<title>Lamp</title><p>Lit by day.</p>"
    with serving(plain(200, html, content_type="text/html")) as server:
        good, bad = f"{server.url}/lamp", "http://127.0.0.1:1/none"
        urls = [Item(id=url, type="url", content="") for url in (good, bad)]
        desk.answer(desk.tree.say("Look.", attachments=urls))
        desk.grove.tools.set_urls("private")
        try:
            loaded = load_chat(desk.grove.caller, desk.tree.chat())
        finally:
            desk.grove.tools.set_urls("off")
    again = desk.grove.tree(loaded.tree.id)
    (page, empty) = again.path[1].attachments
    assert (page.id, page.title, page.content) == (good, "Lamp", "Lit by day.")
    assert (empty.id, empty.content) == (bad, "")
    (warning,) = loaded.warnings
    assert warning.startswith(f"{bad} is omitted from contexts: its page was not read (127.0.0.1")
    assert library(again.cursor.say("And?").envelope()) == [good]


@covers("chatfile.unresolved-note-skipped", "chatfile.read-fresh")
def test_notes_are_found_again_or_skipped_with_a_warning(desk):
    for path in ("stays.md", "old/moves.md", "goes.md", "twice.md", "changes.md"):
        desk.write(path, path)
    paths = ("stays.md", "old/moves.md", "goes.md", "twice.md", "changes.md")
    desk.answer(desk.ask("All", *paths))
    text = desk.tree.chat()
    desk.write("new/moves.md", "old/moves.md")
    for path in ("old/moves.md", "goes.md", "twice.md"):
        (desk.folder / path).unlink()
    desk.write("x/twice.md", "1")
    desk.write("y/twice.md", "2")
    desk.write("changes.md", "changed")
    loaded = load_chat(desk.grove.caller, text)
    assert loaded.warnings == (
        "old/moves.md is not there any more; new/moves.md is taken, the only note of that name",
        "goes.md is skipped: no note has this path or this name",
        "twice.md is skipped: several notes have this name: x/twice.md, y/twice.md",
        "changes.md has changed since the chat was saved; its present content is attached",
    )
    turn = desk.grove.tree(loaded.tree.id).path[1]
    assert {item.id: item.content for item in turn.attachments} == {
        "stays.md": "stays.md",
        "new/moves.md": "old/moves.md",
        "changes.md": "changed",
    }


@covers("chatfile.notes-by-full-path")
def test_a_note_is_found_by_its_vault_when_no_other_has_that_path_any_more(desk, tmp_path):
    desk.write("a.md", "one")
    second = tmp_path / "second"
    second.mkdir()
    (second / "a.md").write_text("two")
    other = desk.grove.vaults.mount(second, f"Second {desk.name}")
    desk.answer(desk.ask("Both", "a.md", f"{other.name}:a.md"))
    text = desk.tree.chat()
    (desk.folder / "a.md").rename(desk.folder / "b.md")
    loaded = load_chat(desk.grove.caller, text)
    turn = desk.grove.tree(loaded.tree.id).path[1]
    assert [(item.id, item.content) for item in turn.attachments] == [("a.md", "two")]
    assert loaded.warnings == ("a.md has changed since the chat was saved; its present content is attached",)


@covers("chatfile.reads-copilot-context")
def test_a_chat_of_another_program_is_read(desk):
    desk.write("Piano Lessons/Lesson 4.md", "four")
    text = (
        "---\ntopic: Lessons\n---\n\n**user**: What now?\n[Context: Notes: Lesson 4.md]\n"
        "[Timestamp: 2025/01/27]\n\n**ai**: Practise.\n\n**user**: Again\n"
        '<!-- copilot-context: {"notes": [{"path": "Piano Lessons/Lesson 4.md"}], "processedText": "sent\\n\\nAgain"} -->\n'
    )
    loaded = load_chat(desk.grove.caller, text, agent=desk.agent)
    tree = desk.grove.tree(loaded.tree.id)
    assert (tree.title, loaded.messages) == ("Lessons", 3)
    assert [[item.id for item in node.attachments] for node in tree.path][1:] == [
        ["Piano Lessons/Lesson 4.md"],
        [],
        ["Piano Lessons/Lesson 4.md"],
    ]
    assert tree.cursor.processed_text == "sent\n\nAgain"
    assert desk.grove.read.agent(tree.path[2].author_id).name == desk.agent


@covers("envelope.message-without-one-loads")
def test_what_was_sent_for_a_legacy_message_survives_a_file(desk):
    turn = desk.ask("Why?")
    desk.grove.perform(KeepLegacyText(tree=desk.tree.id, node=turn.id, text="baked -- in > Why?"))
    loaded = load_chat(desk.grove.caller, desk.tree.chat())
    assert desk.grove.tree(loaded.tree.id).cursor.processed_text == "baked -- in > Why?"


@covers("chatfile.all-or-nothing")
def test_a_bad_file_imports_nothing(desk):
    def trees() -> int:
        with desk.grove.read.store.read() as session:
            return session.execute(select(func.count()).select_from(schema.trees)).scalar_one()

    before = trees()
    for text in ("", "# A note\nnothing said", "{}", "\x00"):
        with pytest.raises(InvalidInputError):
            load_chat(desk.grove.caller, text)
    with pytest.raises(NotFoundError):
        load_chat(desk.grove.caller, "**user**: a\n\n**ai**: b\n", agent="nobody at all")
    with pytest.raises(InvalidInputError):
        load_chat(desk.grove.caller, "**user**: a\n\n**ai**: \x00\n")
    assert trees() == before


def test_what_tools_gave_is_not_part_of_a_chat(desk):
    turn = desk.ask("Look")
    desk.answer(turn, "I look.").say(ToolResult(call_id="c", content="seen"))
    assert [each.role for each in read_chat(desk.tree.chat()).messages] == ["user", "assistant", "user"]
