"""Paths with contents, for assembling."""

from hypothesis import strategies as st
from tests.context.conversations import texts

from weft.context.request import ContextRequest, Pending
from weft.context.rows import Candidate, ExtraSource, PathOutline, Reason, least_of_content, tokens_of_content
from weft.context.settings import resolve_preferences
from weft.context.tokens import DEFAULT
from weft.context.tool_pairs import tools_of
from weft.tree.content import (
    Image,
    Mixed,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    holds_results,
    kind_of,
    makes_calls,
)
from weft.tree.edge import SourceRole
from weft.tree.measure import measure_content
from weft.tree.tree import Mode


class Story:
    """A path that is written level by level, and the nodes beside it."""

    def __init__(self):
        self.rows = []
        self.contents = {}
        self.ruler = 0
        self.calls = 0

    def say(self, content, role="user", *, left_out=None, sources=(), author=None):
        content = Text(content) if isinstance(content, str) else content
        number = len(self.rows)
        name = f"N{number}"
        tokens = tokens_of_content(content, DEFAULT)
        self.ruler += measure_content(content).tokens
        row = Candidate(
            name,
            f"n{number}",
            role,
            tokens,
            self.ruler,
            kind=kind_of(content),
            author=author or role,
            left_out=left_out,
            sources=tuple(sources),
            least=least_of_content(content, DEFAULT) if isinstance(content, Mixed) else None,
            asks=makes_calls(content),
            answers=holds_results(content),
            tools=tools_of(content),
        )
        self.rows.append(row)
        self.contents[name] = content
        return self

    def answer(self, content, **options):
        return self.say(content, "assistant", **options)

    def use_tool(self, *results, left_out=None):
        self.calls += 1
        call = ToolCall(id=f"c{self.calls}", name="look", arguments={"at": self.calls})
        # Every other call comes with a thought, as models like it.
        self.answer(Mixed((Thinking(text="Hm."), call)) if self.calls % 2 else call, left_out=left_out)
        for result in results:
            self.say(ToolResult(call_id=f"c{self.calls}", content=result), "tool")
        return self

    def source(self, content, role=SourceRole.CONTEXT, *, left_out=None):
        """A node that is not on the path."""
        content = Text(content) if isinstance(content, str) else content
        name = f"X{len(self.contents)}"
        self.contents[name] = content
        tokens = tokens_of_content(content, DEFAULT)
        least = least_of_content(content, DEFAULT) if isinstance(content, Mixed) else None
        return ExtraSource(name, name.lower(), role, tokens, kind_of(content), left_out, least)

    def request(self, budget, *, mode=Mode.DIALOGUE, pending=None, preferences=None, **options):
        return ContextRequest(
            mode=mode,
            outline=PathOutline(tail=self.rows),
            budget=budget,
            pending=pending or Pending(),
            preferences=resolve_preferences(preferences or {}),
            **options,
        )


def chat(count, size=100):
    story = Story()
    for index in range(count):
        story.say(f"{index} ".ljust(size, "x"), "assistant" if index % 2 else "user")
    return story


PICTURE = Image(ref="0" * 64, mime_type="image/png", width=9, height=9)
pictures = st.one_of(
    st.just(PICTURE),
    texts.map(lambda text: Mixed((Text(text or "."), PICTURE))),
    st.tuples(texts, texts).map(lambda two: Mixed((Text(two[0] or "."), PICTURE, Text(two[1] or ".")))),
)
stray_results = st.sampled_from(["c1", "c2", "nobody"]).map(
    lambda call: ToolResult(call_id=call, content="late " * 30)
)


@st.composite
def stories(draw, *, most=14, tools=True):
    story = Story()
    for _ in range(draw(st.integers(1, most))):
        left_out = draw(st.sampled_from([None] * 8 + [Reason.EXCLUDED, Reason.PRUNED]))
        kind = draw(
            st.sampled_from(["user", "user", "assistant", "assistant", "tool", "empty", "picture", "stray"])
        )
        if kind == "tool" and tools:
            story.use_tool(*draw(st.lists(texts, min_size=1, max_size=2)), left_out=left_out)
            continue
        if kind == "stray" and tools:
            story.say(draw(stray_results), draw(st.sampled_from(["tool", "user"])), left_out=left_out)
            continue
        sources = []
        if draw(st.integers(0, 5)) == 0:
            role = draw(st.sampled_from([SourceRole.CONTEXT, SourceRole.PRIMARY]))
            source = draw(st.one_of(texts, pictures))
            sources = [story.source(source, role, left_out=left_out)] if story.rows else []
        text = "" if kind == "empty" else draw(pictures if kind == "picture" else texts)
        author = draw(st.sampled_from([None, "ann", "bob"]))
        role = "assistant" if kind == "assistant" else "user"
        story.say(text, role, left_out=left_out, sources=sources, author=author)
    return story
