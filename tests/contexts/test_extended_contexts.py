"""A context that is extended from an earlier one is, byte for byte, the one that is read afresh."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.covers import covers
from tests.statements import statements

import weft
from weft.errors import WeftError
from weft.tree.content import Mixed, Text, ToolCall, ToolResult
from weft.tree.item import Item
from weft.tree.tree import Mode

WAYS = (
    {"limit": 60, "strategy": "rollingWindow"},
    {"limit": 90, "strategy": "truncateMiddle", "step": 0.25},
    {"limit": 120, "strategy": "truncateMiddle", "step": 0},
    {"limit": 100, "annotations": True},
    {"limit": 100, "preferences": {"maskToolResults": 1, "maskAbove": 5}},
    {},
)
PLACES = st.integers(0, 40)
WORDS = st.integers(0, 60)
MOVES = st.one_of(
    st.tuples(st.sampled_from(["say", "say", "say", "answer", "answer", "call"]), WORDS, PLACES),
    st.tuples(
        st.sampled_from(
            [
                *("edit", "exclude", "include", "prune", "restore", "annotate", "switch", "attach", "detach"),
                *("collapse", "uncollapse", "expand", "undo", "redo", "describe", "prefer", "merge", "under"),
                *("sourced", "type", "commit", "bookmark", "split"),
            ]
        ),
        WORDS,
        PLACES,
    ),
)


class Walk:
    """Two groves on one store: one remembers the paths that it has read, the other one forgets them."""

    def __init__(self, one: weft.Grove, other: weft.Grove, mode: Mode) -> None:
        self.groves = one, other
        self.mode = mode
        self.tree = one.plant("Walk", "The beginning.", mode=mode).id
        self.written = 0

    def move(self, kind: str, size: int, place: int, *, by: int) -> None:
        tree = self.groves[by].tree(self.tree)
        path = tree.path
        node = path[place % len(path)]
        self.written += 1
        words = " ".join(f"w{self.written}" for _ in range(size))
        call, note = f"c{self.written}", f"note:{place % 3}"
        asked = Mixed((Text("Look."), ToolCall(id=call, name="find", arguments={"q": size})))
        moves = {
            "say": lambda: tree.say(words),
            "answer": lambda: tree.say(words, author="Bot"),
            "call": lambda: (
                tree.say(asked, author="Bot"),
                tree.say(ToolResult(call_id=call, content=words)),
            ),
            "edit": lambda: node.edit(words),
            "annotate": lambda: node.annotate(words),
            "attach": lambda: node.attach(Item(id=note, type="note", content=words)),
            "detach": lambda: node.detach(note),
            "collapse": lambda: tree.collapse(node, path[-1], "range"),
            "uncollapse": lambda: tree.uncollapse("range"),
            "expand": lambda: tree.expand("range"),
            "undo": tree.undo,
            "redo": tree.redo,
            "describe": lambda: tree.describe(system_context=words),
            "prefer": lambda: tree.prefer(minimum_recent_nodes=1 + place % 5),
            "merge": lambda: tree.merge([path[-1], node], words),
            "under": lambda: node.say(words),
            "sourced": lambda: tree.say(words, context=[node], instructions=[path[0]] if place % 2 else []),
            "type": lambda: tree.type(words),
            "commit": tree.commit,
            "split": lambda: node.split(max(1, len(node.text) // 2)),
        }
        with contextlib.suppress(WeftError):
            (moves.get(kind) or getattr(node, kind))()

    def check(self) -> None:
        remembering, forgetting = self.groves
        for way in WAYS:
            forgetting.caller.executor.contents.clear()
            assert seen_in(remembering, self.tree, way) == seen_in(forgetting, self.tree, way), way


def seen_in(grove: weft.Grove, tree: str, way: dict) -> object:
    try:
        context = grove.tree(tree).context(**way)
    except WeftError as error:
        return str(error)
    return (
        context.system,
        context.messages,
        context.document,
        context.truncated,
        context.removed_nodes,
        context.removed_tokens,
        context.shortened,
        context.manifest.to_wire(),
    )


@pytest.fixture(scope="module")
def pair(loom, module_address):
    loom.add_agent("Bot", model_ref="scripted:bot")
    with weft.open(module_address) as other:
        yield loom, other


@covers("cost.context-extended")
@settings(max_examples=15)
@given(
    mode=st.sampled_from(list(Mode)),
    moves=st.lists(st.tuples(MOVES, st.integers(0, 1)), min_size=1, max_size=30),
)
@pytest.mark.outer
def test_an_extended_context_is_the_fresh_one(pair, mode, moves):
    walk = Walk(*pair, mode)
    for number in range(6):
        walk.move("answer" if number % 2 else "say", 12, 0, by=0)
    walk.check()
    for (kind, size, place), by in moves:
        walk.move(kind, size, place, by=by)
        walk.check()


@covers("cost.context-extended", "cost.context-statements")
def test_what_is_known_of_a_path_is_not_read_again(fresh_loom):
    tree = fresh_loom.plant("Chat", "Hello")
    for number in range(300):
        tree.say(f"What of {number}? " * 8)
    store = fresh_loom.read.store
    way = {"limit": 2_000, "strategy": "rollingWindow"}
    with statements(store, mine=True) as fresh:
        before = tree.context(**way)
    assert before.truncated
    assert len(fresh) <= 12
    tree.say("And now?")
    tree.say("And then?")
    with statements(store, mine=True) as extended:
        after = tree.context(**way)
    assert after.messages[-1].text.endswith("And then?")
    rows = [each for each in extended if "FROM texts" in each or "RECURSIVE" in each]
    # The two new nodes, with their texts.
    assert len(rows) == 1
    assert len(extended) < len(fresh)
