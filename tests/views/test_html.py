"""What notebooks show of groves, trees and nodes, whatever people wrote in them."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from weft.grove.node import NodeHandle
from weft.grove.tree import TreeHandle
from weft.runtime.views.html import AUTHOR_COLOURS, node_html, outline_html, trees_html
from weft.runtime.views.outline import OutlineRow
from weft.tree.agent import AgentType
from weft.tree.attempt import RawResponse
from weft.tree.content import Audio, Image, Mixed, Text, Thinking, ToolCall, ToolResult
from weft.tree.item import Item
from weft.tree.node import Metadata, Node, Role, Status
from weft.tree.tree import Counters, Mode, Tree

ELEMENTS = {"bdi", "div", "em", "li", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"}
ATTRIBUTES = {"style", "title"}
PAYLOADS = [
    "<script>alert(1)</script>",
    "</span></div><script src=//evil.example/x.js></script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<svg/onload=alert(1)>",
    '<a href="javascript:alert(1)">x</a>',
    "<style>@import url(//evil.example)</style>",
    "<!--><script>alert(1)</script>-->",
    "]]><script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;",
]
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)

Nested: TypeAlias = "str | list[Nested]"
"""A local id, or the item of a list with what it holds."""


class Page(HTMLParser):
    """A drawing as a browser would read it; anything but plain, closed elements is a failure."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self.lists: list[Nested] = []
        self.deepest = 0
        self._open: list[str] = []
        self._items: list[list[Nested]] = [self.lists]
        self.feed(source)
        self.close()
        assert self._open == [], "every element is closed"

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ELEMENTS
        assert {name for name, _ in attrs} <= ATTRIBUTES
        assert not any("url(" in (value or "") for _, value in attrs)
        self._open.append(tag)
        self.deepest = max(self.deepest, len(self._open))
        if tag == "li":
            item: list[Nested] = []
            self._items[-1].append(item)
            self._items.append(item)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag
        if tag == "li":
            self._items.pop()

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if re.fullmatch(r"\[[0-9a-z]+'*\]", data):
            self._items[-1].append(data[1:-1])

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"a declaration: {decl}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data}")


def shown(thing: weft.Grove | TreeHandle | NodeHandle) -> str:
    """What a notebook would show."""
    return thing._repr_html_()  # pyright: ignore[reportPrivateUsage] - notebooks call it by this name


def a_tree(title: str = "Marie", *, project: str | None = None) -> Tree:
    return Tree(
        id="01KDZ00000000000000000TREE",
        title=title,
        mode=Mode.DIALOGUE,
        created_at=NOON,
        updated_at=NOON,
        root="01KDZ00000000000000000R00T",
        counters=Counters(1, 1, 0),
        project=project,
    )


A_NODE = Node(
    id="01KDZ00000000000000000R00T",
    local_id="a7x2",
    tree_id="01KDZ00000000000000000TREE",
    content=Text("Hello"),
    author_id="01KDZ00000000000000000H0ME",
    author_type=AgentType.HUMAN,
    role=Role.USER,
    content_hash="0" * 64,
    created_at=NOON,
    edge=None,
    depth=0,
)


def a_node(text: str) -> Node:
    return replace(A_NODE, content=Text(text))


def a_row(node: Node = A_NODE, *, indent: int = 0, hidden_below: int = 0) -> OutlineRow:
    return OutlineRow(node, indent, 0, 0, hidden_below)


def test_a_tree_is_drawn_as_lists_that_branch_where_it_branches(loom: weft.Grove) -> None:
    tree = loom.plant("Lists")
    asked = tree.say("Why?")
    first = asked.say("Because.")
    onward = first.say("Go on.")
    second = asked.say("No reason.")
    trunk = [tree.root.local_id, asked.local_id]
    branches = [[first.local_id, onward.local_id], [second.local_id]]
    assert Page(shown(tree.refresh())).lists == [[*trunk, *branches]]


def test_badges_tell_bookmarks_exclusion_annotations_and_attachments(loom: weft.Grove) -> None:
    tree = loom.plant("Badges")
    asked = tree.say("Why?", attachments=[Item(id="a.md", type="note", content="x")])
    asked.annotate("A good question.")
    asked.annotate("Or is it?")
    asked.bookmark("the turn")
    tree.say("Aside.").exclude()
    text = Page(shown(tree.refresh())).text
    assert "★ the turn" in text
    assert "2 annotations" in text
    assert "1 attached" in text
    assert "excluded" in text


def test_a_merge_names_the_other_place_and_versions_are_no_merge(loom: weft.Grove) -> None:
    tree = loom.plant("Merge")
    one, other = tree.root.say("One."), tree.root.say("Other.")
    tree.merge([one, other], "Both.")
    assert f"merges [{other.local_id}]" in Page(shown(tree.refresh())).text
    text = loom.plant("Versions", "The river", mode="buffer")
    text.say(" runs").edit(" walks")
    text.say(" on.")
    assert "merges" not in Page(shown(text.refresh())).text


def test_a_persons_and_a_models_words_have_their_own_colours(loom: weft.Grove) -> None:
    loom.add_agent("Colour", model_ref="local:sample")
    tree = loom.plant("Colours")
    asked = tree.say("Why?")
    answer = asked.say("Because.", author="Colour", response=RawResponse(body=b"{}", provider="l", model="s"))
    human, model = AUTHOR_COLOURS[AgentType.HUMAN], AUTHOR_COLOURS[AgentType.MODEL]
    assert human in shown(asked)
    assert model not in shown(asked)
    assert model in shown(answer)
    whole = shown(tree.refresh())
    assert human in whole
    assert model in whole


@pytest.mark.parametrize("paper", ["#ffffff", "#111111"])
@pytest.mark.parametrize("author", list(AgentType))
def test_author_colours_can_be_read_on_light_and_on_dark_paper(author: AgentType, paper: str) -> None:
    lighter, darker = sorted((luminance(AUTHOR_COLOURS[author]), luminance(paper)), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 4


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_script_in_a_title_text_label_or_project_stays_text(loom: weft.Grove, payload: str) -> None:
    tree = loom.plant(payload, payload)
    tree.root.bookmark(payload)
    node = tree.root.say(payload)
    for drawing in (shown(tree.refresh()), shown(node), shown(loom)):
        assert payload in Page(drawing).text
    assert payload in Page(trees_html([a_tree(project=payload)])).text
    assert payload in Page(outline_html(tree.refresh().value, loom.read.outline(tree.id))).text


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_script_in_any_kind_of_content_stays_text(payload: str) -> None:
    blocks = (
        Text(payload),
        Thinking(text=payload),
        Image(ref="0" * 64, mime_type=payload, width=1, height=1, alt_text=payload),
        Audio(ref="0" * 64, mime_type="audio/ogg", duration_ms=1, transcript=payload),
        ToolCall(id="1", name=payload, arguments={"key": payload}),
        ToolResult(call_id="1", content=payload, is_error=True),
    )
    whole = Page(node_html(replace(A_NODE, content=Mixed(blocks)))).text
    assert whole.count(payload) >= 7
    for block in blocks:
        Page(outline_html(a_tree(), [a_row(replace(A_NODE, content=block))]))


@given(st.text(), st.text(), st.text())
def test_no_text_whatsoever_breaks_out_of_a_drawing(title: str, words: str, label: str) -> None:
    marks = Metadata(bookmarked=True, bookmark_label=label, excluded=True)
    node = replace(a_node(words), metadata=marks)
    Page(trees_html([a_tree(title)]))
    Page(node_html(node))
    Page(outline_html(a_tree(title), [a_row(node, hidden_below=1)]))


def test_a_text_that_turns_its_direction_does_not_turn_what_stands_beside_it() -> None:
    drawn = outline_html(a_tree("\u202eevil"), [a_row(a_node("\u202eevil"))])
    assert drawn.count("<bdi>\u202eevil</bdi>") == 2


def test_a_path_that_branches_at_every_node_stays_within_what_browsers_take() -> None:
    outline = [
        a_row(replace(A_NODE, local_id=f"{side}{depth:03}", depth=depth), indent=depth)
        for side, depths in (("a", range(400)), ("b", range(399, 0, -1)))
        for depth in depths
    ]
    page = Page(outline_html(a_tree(), outline))
    assert page.deepest < 100
    assert all(f"[{row.node.local_id}]" in page.texts for row in outline)


def test_a_drawing_says_where_it_stops() -> None:
    assert "… more below" in Page(outline_html(a_tree(), [a_row(hidden_below=7)])).text
    assert "… more below" not in Page(outline_html(a_tree(), [a_row()])).text


def test_an_outline_shows_first_words_and_a_node_the_whole() -> None:
    long = "word " * 500
    outline = Page(outline_html(a_tree(), [a_row(a_node(long))])).text
    assert outline.count("word") < 20
    assert "…" in outline
    assert Page(node_html(a_node(long))).text.count("word") == 500


def test_what_is_empty_says_so(loom: weft.Grove) -> None:
    assert "no trees yet" in Page(trees_html([])).text
    assert "(empty)" in Page(shown(loom.plant())).text
    assert "(empty)" in Page(node_html(a_node(""))).text


def test_an_interrupted_node_says_so() -> None:
    assert "interrupted" in Page(node_html(replace(A_NODE, status=Status.INTERRUPTED))).text
