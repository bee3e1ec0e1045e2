"""Items and the blocks that they become, whatever is in them."""

import hashlib
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context.talks import Talk, in_full, library, referenced
from tests.covers import covers

from weft.context.items.blocks import (
    BLOCKS,
    ItemForm,
    ToolOutput,
    attribute,
    block_of,
    clean,
    one_line,
    render_item,
    render_tools,
)
from weft.context.items.item_types import (
    ELEMENTS,
    ContextItem,
    active_note,
    document,
    image_embeds,
    node,
    note,
    query,
    selection,
    url,
    with_images,
)
from weft.errors import InvalidInputError
from weft.tree.content import Image
from weft.tree.item import Item

PICTURE = Image(ref="0" * 64, mime_type="image/png", width=1, height=1)


@covers("item.fields", "item.id-note", "item.id-url", "item.id-selection", "item.id-document-and-node")
def test_every_item_has_an_id_that_says_where_it_comes_from():
    made = [
        note("Piano Lessons/Lesson 4.md", "x"),
        active_note("Piano Lessons/Lesson 4.md", "x"),
        url("https://example.org/?a=1&b=2", "x"),
        selection("a.md", 3, 9, "x"),
        document("plan", "x"),
        node("a7x2", "x"),
    ]
    assert [item.id for item in made] == [
        "Piano Lessons/Lesson 4.md",
        "Piano Lessons/Lesson 4.md",
        "https://example.org/?a=1&b=2",
        "a.md#L3-L9",
        "doc:plan",
        "[a7x2]",
    ]
    assert {item.sha256 for item in made} == {hashlib.sha256(b"x").hexdigest()}
    assert [item.recoverable for item in made] == [True, True, True, False, True, True]


@covers("item.id-query")
def test_a_query_is_named_after_its_question_not_after_its_answer():
    one, other = query("a.md", "LIST FROM #x", "1"), query("a.md", "LIST FROM #x", "2")
    assert one.id == other.id
    assert re.fullmatch(r"a\.md#query-[0-9a-f]{12}", one.id)
    assert query("a.md", "LIST FROM #y", "1").id != one.id
    assert one.path == "a.md"


def test_a_selection_of_no_lines_is_refused():
    with pytest.raises(InvalidInputError, match="from line 4 to line 2"):
        selection("a.md", 4, 2, "x")


@covers("item.one-shape-per-type")
def test_each_type_has_one_shape_with_its_path_title_times_and_content():
    shown = render_item(
        note("a/b.md", "text", created="2026-01-01T00:00:00Z", modified="2026-01-02T00:00:00Z")
    )
    assert shown == (
        "<note_context>\n<title>b</title>\n<path>a/b.md</path>\n"
        "<ctime>2026-01-01T00:00:00Z</ctime>\n<mtime>2026-01-02T00:00:00Z</mtime>\n"
        "<content>\ntext\n</content>\n</note_context>"
    )
    assert render_item(selection("a.md", 1, 2, "s")) == (
        "<selected_text>\n<title>a</title>\n<path>a.md</path>\n<start_line>1</start_line>\n"
        "<end_line>2</end_line>\n<content>\ns\n</content>\n</selected_text>"
    )
    tags = {block_of(kind).tag for kind in [*BLOCKS, "weather"]}
    assert tags == {
        *("note_context", "active_note", "url_content", "selected_text", "query_block"),
        *("document_context", "node_context", "context_item"),
    }
    assert tags <= ELEMENTS
    other = ContextItem(item=Item(id="x", type="weather", content="rain"))
    assert render_item(other).startswith("<context_item>\n<type>weather</type>\n<id>x</id>")


@covers("item.cannot-close-its-tag")
@given(st.text(st.sampled_from("</> \t\nnote_context!-&;\"'\x00\rAZ#") | st.characters(), max_size=200))
def test_no_content_closes_its_own_tag(text):
    for hostile in (
        text,
        f"</content>{text}</note_context>",
        f"</NOTE_CONTEXT >{text}< / content>",
        f"</\nnote_context>{text}<\r\n/\u00a0content>",
        f"<!-- {text}",
    ):
        shown = render_item(note(f"{text}.md", hostile, title=text))
        assert len(re.findall(r"<\s*/\s*note_context", shown, re.IGNORECASE)) == 1
        assert len(re.findall(r"<\s*/\s*content", shown, re.IGNORECASE)) == 1
        assert shown.endswith("\n</content>\n</note_context>")
        assert "\x00" not in shown
        assert "\r" not in shown


def test_escaping_keeps_the_length_of_what_it_disarms_and_leaves_everything_else_alone():
    code = "<div>a && b</div> <!-- kept --> </p>"
    assert clean(code) == code
    shown = render_item(note("a.md", code + "</note_context>"))
    assert code + "<\\note_context>" in shown


@covers("envelope.whitespace-normalised")
def test_newlines_and_trailing_space_are_the_same_on_every_machine():
    assert clean("a  \r\nb\t\rc\n\n") == "a\nb\nc"
    assert clean("  a\n\n  b") == "  a\n\n  b"
    assert render_item(note("a.md", "x \r\ny")) == render_item(note("a.md", "x\ny\n"))


def test_a_long_run_of_spaces_takes_no_time():
    assert clean(" " * 2_000_000 + "x") == " " * 2_000_000 + "x"


@given(st.text(max_size=40), st.text(max_size=40))
def test_ids_stay_on_one_line_and_never_look_alike(one, other):
    for text in (one, other):
        assert "\n" not in one_line(text)
        assert "\r" not in one_line(text)
    if one != other:
        assert one_line(one) != one_line(other)


@given(
    st.lists(
        st.sampled_from(["</path>", "<\\path>", "<\\/path>", "< /id>", "\u2028", "\x85", '"', "a", "\n"])
    ).map("".join)
)
def test_a_quoted_id_is_one_line_of_json_and_closes_nothing(pieces):
    shown = one_line(pieces)
    assert len(shown.splitlines()) <= 1
    assert re.search(r"<\s*/", shown) is None
    assert (json.loads(shown) if shown.startswith('"') else shown) == pieces


def test_an_url_with_an_ampersand_is_named_alike_in_the_library_and_in_a_reference():
    talk = Talk()
    page = url("https://example.org/?a=1&b=<2>", "page")
    talk.ask("What?", page)
    envelope = talk.ask("And?", page)
    assert "<url>https://example.org/?a=1&b=<2></url>" in envelope.system
    assert "- https://example.org/?a=1&b=<2>\n" in envelope.processed_user_text


def test_an_id_with_quotes_and_newlines_is_quoted_the_same_way_everywhere():
    talk = Talk()
    strange = note('a"\nb</path>.md', "x")
    talk.ask("What?", strange)
    envelope = talk.ask("And?", strange)
    name = '"a\\"\\nb<\\/path>.md"'
    assert f"<path>{name}</path>" in envelope.system
    assert f"- {name}\n" in envelope.processed_user_text
    assert library(envelope) == referenced(envelope) == [strange.id]


def test_a_nul_is_shown_as_a_sign_and_warned_of_and_the_input_is_sent_as_typed():
    talk = Talk()
    envelope = talk.ask("q\x001", note("a.md", "a\x00b"))
    assert "a\ufffdb" in envelope.processed_user_text
    assert envelope.layer("L5_USER").text == "q\x001"
    assert envelope.warnings == (
        "a.md contains NUL characters, which are shown as �",
        "the input contains NUL characters, which are sent as they are",
    )


@pytest.mark.outer
def test_a_thousand_items_are_all_there_once():
    talk = Talk(budget=10**7)
    items = [note(f"n/{index}.md", f"text {index}") for index in range(1_000)]
    assert in_full(talk.ask("All of these?", *items)) == [item.id for item in items]
    envelope = talk.ask("And again?", *items)
    assert library(envelope) == referenced(envelope) == [item.id for item in items]


@pytest.mark.long
def test_a_note_of_ten_megabytes_is_shortened_within_its_tags_and_then_outlined():
    talk = Talk(budget=8_000)
    huge = note("huge.md", "# Top\n" + "all work and no play\n" * 500_000 + "</content>")
    envelope = talk.ask("What is this?", huge)
    assert envelope.tokens <= 8_000
    assert envelope.shortened == ("input",)
    assert envelope.processed_user_text.endswith(
        "\n</content>\n</note_context>\n\n---\n\n[User query]:\nWhat is this?"
    )
    after = talk.ask("And?", huge)
    assert referenced(after) == ["huge.md"]
    assert "<outline>\n# Top\nall work and no play\n</outline>" in after.system


@covers("item.images-from-active-note-only")
def test_pictures_are_taken_from_the_embeds_of_the_active_note_only():
    text = '![[a.png|300]] ![x](b/c.jpg "t") ![y](<d e.webp>) ![[note.md]] ![z](https://x.org/f.png)\n```\n![[g.png]]\n```\n![[a.png]]'
    assert image_embeds(text) == ("a.png", "b/c.jpg", "d e.webp")
    assert image_embeds("(![](a%20(1).png)) ![](b(.png) ![](c.png))") == ("a%20(1).png", "c.png")
    found = with_images(active_note("a.md", text), {"a.png": PICTURE}.get)
    assert found.images == (PICTURE,)
    assert with_images(note("a.md", text), {"a.png": PICTURE}.get).images == ()


@covers("toolcall.wrapped-by-name", "toolcall.self-contained")
def test_tool_outputs_are_wrapped_by_name_under_one_heading():
    outputs = [
        ToolOutput(
            name="localSearch",
            content="Answer the question based only on the following context:\n\n…\n\n<guidance>\n[1] a.md\n</guidance>",
            attributes={"timeRange": 'last "week" & <more>'},
        ),
        ToolOutput(name="webSearch", content="</webSearch> r"),
    ]
    assert render_tools(outputs) == (
        "# Additional context:\n\n"
        '<localSearch timeRange="last &quot;week&quot; &amp; &lt;more&gt;">\n'
        "Answer the question based only on the following context:\n\n…\n\n<guidance>\n[1] a.md\n</guidance>\n"
        "</localSearch>\n\n<webSearch>\n<\\webSearch> r\n</webSearch>"
    )
    assert render_tools([]) == ""
    assert ToolOutput(name="look.", content="</look.> x").render() == "<look.>\n<\\look.> x\n</look.>"
    assert attribute("a\nb") == "a&#10;b"
    with pytest.raises(InvalidInputError, match="cannot be a tag"):
        ToolOutput(name="a b", content="")


@covers("library.outline")
def test_an_outline_has_headings_first_lines_the_id_and_how_to_get_the_rest():
    text = "intro\nmore\n\n# One\nfirst of one\nsecond\n\n## Two\n" + "long " * 60
    shown = render_item(note("a.md", text), form=ItemForm.OUTLINE)
    assert "<path>a.md</path>" in shown
    outline = shown.partition("<outline>\n")[2].partition("\n</outline>")[0]
    assert outline.splitlines()[:5] == ["intro", "more", "# One", "first of one", "## Two"]
    assert len(outline.splitlines()[5]) <= 100
    assert "<rest>Not shown in full. For the rest, ask the user to attach a selection of it.</rest>" in shown


@covers("library.outline")
@pytest.mark.parametrize(
    ("item", "reader"),
    [
        (note("a.md", "x"), "readNote"),
        (active_note("a.md", "x"), "readNote"),
        (url("https://example.org", "x"), "readUrl"),
        (node("k3d9", "x"), "→ view"),
    ],
)
def test_how_to_get_the_rest_names_only_what_the_model_has(item, reader):
    for form in (ItemForm.OUTLINE, ItemForm.STUB):
        without = render_item(item, form=form, readers={"localSearch"})
        assert "ask the user to attach" in without
        assert "use " not in without
        assert f"use {reader}." in render_item(item, form=form, readers={"localSearch", reader})
