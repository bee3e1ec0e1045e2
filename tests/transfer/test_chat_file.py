"""Chats as Markdown, and notes found again."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from weft.context.items.note_lookup import (
    ListedNote,
    NoteReference,
    Whereabouts,
    notes_in_folder,
    notes_with_tag,
    resolve_notes,
)
from weft.errors import InvalidInputError
from weft.interop.chat_file import Chat, ChatContext, ChatMessage, read_chat, write_chat

CONTEXT = ChatContext(
    notes=(NoteReference("Piano Lessons/Lesson 4.md", "0" * 64), NoteReference("Daily, notes/2025-01-27.md")),
    urls=("https://example.org/?a=1&b=2-->",),
    tags=("#music",),
    folders=("Piano Lessons",),
)

pieces = [
    "\n",
    "**user**: ",
    "**ai**: ",
    "[Context: Notes: a.md]",
    "\\",
    "<!-- weft-context: {} -->",
    "-->",
    "---",
]
characters = st.characters(exclude_categories=["Cs"])
texts = st.lists(st.sampled_from(pieces) | characters, max_size=12).map("".join)


@covers(
    "chatfile.displayed-text",
    "chatfile.context-lines",
    "chatfile.hidden-comment",
    "chatfile.envelope-not-saved",
)
def test_a_chat_keeps_what_was_displayed_and_what_was_attached():
    chat = Chat(
        title='On "pianos"',
        messages=(
            ChatMessage(role="user", text="Why?", context=CONTEXT, time="2026/01/01 18:30:00", id="m1"),
            ChatMessage(role="assistant", text="Because.\n\n**bold** and all.\n"),
        ),
    )
    text = write_chat(chat)
    assert (
        "\n**user**: Why?\n[Context: Notes: Piano Lessons/Lesson 4.md, Daily, notes/2025-01-27.md | URLs: https"
        in text
    )
    assert "\n**ai**: Because.\n\n**bold** and all.\n\n<!-- weft-context: {} -->\n" in text
    hidden = text.partition("<!-- weft-context: ")[2].partition(" -->")[0]
    assert json.loads(hidden)["urls"] == ["https://example.org/?a=1&b=2-->"]
    assert "Envelope" not in text
    assert read_chat(text) == chat


@pytest.mark.long
@given(
    st.lists(
        st.builds(
            ChatMessage,
            role=st.sampled_from(["user", "assistant", "system"]),
            text=texts,
            id=st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
            context=st.builds(
                ChatContext,
                notes=st.lists(st.builds(NoteReference, texts), max_size=2).map(tuple),
                urls=st.lists(texts, max_size=2).map(tuple),
            ),
        ),
        max_size=4,
    ).map(tuple),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=10),
)
def test_whatever_was_said_comes_back_as_it_was(messages, title):
    chat = Chat(title=title, messages=messages)
    assert read_chat(write_chat(chat)) == chat


@given(
    st.text(st.sampled_from('*user:ai []Context|,-><!{}"\\\n\r ') | st.characters(exclude_categories=["Cs"]))
)
def test_whatever_a_file_says_it_can_be_read(text):
    assert isinstance(read_chat(text), Chat)
    assert isinstance(read_chat(f"**user**: {text}\n<!-- copilot-context: {text} -->"), Chat)


@covers("chatfile.reads-copilot-context")
def test_chats_of_others_are_read_with_their_comments_lines_and_times():
    text = (
        '---\r\nepoch: 1\r\ntopic: "Lessons"\r\ntags:\r\n  - copilot-conversation\r\n---\r\n\r\n'
        "**user**: What is new?\r\n[Context: Notes: a.md, b/c.md | Tags: #x]\r\n[Timestamp: 2025/01/27 10:00:00]\r\n\r\n"
        '**AI**: \r\nThis.\r\n<!-- copilot-context: {"notes": ["d.md", {"path": "e.md"}, 3], "urls": "no"} -->\r\n'
    )
    chat = read_chat(text)
    assert chat.title == "Lessons"
    assert chat.messages == (
        ChatMessage(
            role="user",
            text="What is new?",
            context=ChatContext(notes=(NoteReference("a.md"), NoteReference("b/c.md")), tags=("#x",)),
            time="2025/01/27 10:00:00",
        ),
        ChatMessage(
            role="assistant",
            text="This.",
            context=ChatContext(notes=(NoteReference("d.md"), NoteReference("e.md"))),
        ),
    )


def test_a_line_that_was_changed_by_hand_counts_more_than_the_comment():
    text = write_chat(Chat(messages=(ChatMessage(role="user", text="Why?", context=CONTEXT),)))
    text = text.replace("[Context: Notes: Piano Lessons/Lesson 4.md, ", "[Context: Notes: other.md, ")
    found = read_chat(text).messages[0].context
    assert [note.path for note in found.notes] == ["other.md", "Daily", "notes/2025-01-27.md"]
    broken = read_chat("**user**: Why?\n[Context: Notes: a.md]\n<!-- weft-context: {no -->\n")
    assert broken.messages[0].context.notes == (NoteReference("a.md"),)
    assert broken.warnings == ("the hidden context of message 1 cannot be read; its visible line is used",)


def test_a_chat_of_nobody_is_refused():
    with pytest.raises(InvalidInputError, match="no role 'tool'"):
        write_chat(Chat(messages=(ChatMessage(role="tool", text="x"),)))


@covers("chatfile.notes-by-full-path", "chatfile.notes-by-unique-name", "chatfile.unresolved-note-skipped")
def test_notes_are_found_by_path_then_by_a_name_that_only_one_has_else_skipped():
    listing = [
        ListedNote("a/x.md", sha256="1"),
        ListedNote("b/x.md"),
        ListedNote("b/y.md", sha256="2"),
        ListedNote("caf\u0065\u0301.md"),
    ]
    asked = ["a/x.md", NoteReference("old/y.md", "1"), "x", "gone.md", "caf\u00e9.md", "y.md"]
    found = resolve_notes(asked, listing)
    assert [(each.where, each.path) for each in found] == [
        (Whereabouts.HERE, "a/x.md"),
        (Whereabouts.MOVED, "b/y.md"),
        (Whereabouts.AMBIGUOUS, None),
        (Whereabouts.DELETED, None),
        (Whereabouts.HERE, "caf\u0065\u0301.md"),
        (Whereabouts.MOVED, "b/y.md"),
    ]
    assert [each.changed for each in found] == [False, True, False, False, False, False]
    assert [each.warning for each in found[:4]] == [
        None,
        "old/y.md is not there any more; b/y.md is taken, the only note of that name",
        "x is skipped: several notes have this name: a/x.md, b/x.md",
        "gone.md is skipped: no note has this path or this name",
    ]


@covers("item.tags-and-folders-expand")
def test_tags_and_folders_expand_to_their_notes_in_the_order_of_their_paths():
    listing = [
        ListedNote("b/y.md", frozenset({"#music"})),
        ListedNote("a/x.md", frozenset({"music/piano"})),
        ListedNote("ab/z.md", frozenset({"musical"})),
    ]
    assert notes_with_tag("#music", listing) == ("a/x.md", "b/y.md")
    assert notes_with_tag("#", listing) == ()
    assert notes_in_folder("a/", listing) == ("a/x.md",)
    assert notes_in_folder("", listing) == ("a/x.md", "ab/z.md", "b/y.md")
