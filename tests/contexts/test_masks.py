"""Masked tool results of a tree: settings at three levels, and what is read of a long path."""

import random

import pytest
from tests.context.stories import Story
from tests.contexts.test_contexts import from_history
from tests.covers import covers

from weft.content import Mixed, Thinking, ToolCall, ToolResult
from weft.context.engine import assemble
from weft.context.fit import Strategy
from weft.errors import InvalidInputError
from weft.tree.item import Item
from weft.tree.node import Role


def session(loom, name, count, *, seed=1):
    """The nodes of an agent's session: calls with results of 20 to 2,000 tokens."""
    source, worker = random.Random(seed), f"worker of {name}"
    loom.add_agent(worker, model_ref="local:any")
    here = loom.plant(name, "Find the fault.").root
    nodes = [here]
    for number in range(count):
        call = ToolCall(id=f"c{number}", name="sh", arguments={"cmd": f"grep {number}"})
        thought = Mixed((Thinking(text="Hm.", opaque={"signature": f"s{number}"}), call))
        here = here.say(thought, author=worker)
        nodes.append(here)
        size = int(80 * 100 ** source.random())
        here = from_history(
            loom, here, ToolResult(call_id=f"c{number}", content=f"{number} " + "x" * size), Role.TOOL
        )
        nodes.append(here)
    return nodes


def lines(context):
    return [
        str(block.content)
        for message in context.messages
        for block in message.blocks
        if isinstance(block, ToolResult) and str(block.content).startswith("[result of")
    ]


@covers("mask.setting", "mask.one-line")
def test_masking_is_a_preference_of_the_grove_the_tree_and_the_call(fresh_loom):
    ends = session(fresh_loom, "Levels", 6)[2::2]
    tree, end = ends[0].tree, ends[-1]
    assert not lines(end.context())
    fresh_loom.prefer(maskToolResults=1, maskAbove=20)
    assert lines(end.context(step=0))
    assert lines(end.context(step=0))[0].endswith(f", node {ends[0].local_id}]")
    tree.prefer(maskToolResults="off")
    assert not lines(end.context())
    found = end.context(preferences={"maskToolResults": 2, "maskAbove": 0}, step=0)
    assert len(lines(found)) == 4
    assert found.masked == tuple(each.local_id for each in ends[:4])
    told = {
        entry.id: entry.outcome.value for entry in end.manifest(preferences={"maskToolResults": 2}, step=0)
    }
    assert told[ends[-1].local_id] == "kept"
    assert "masked" in told.values()
    with pytest.raises(InvalidInputError, match="maskToolResults must be off or a whole number"):
        tree.prefer(maskToolResults="some")


def story_of(nodes):
    """The same path in memory, where all of it is read."""
    story = Story()
    for node in nodes:
        content, role = node.value.content, node.value.role.value
        story.say(content, role)
    story.contents = {node.id: node.value.content for node in nodes}
    story.rows = [
        row._replace(id=node.id, local_id=node.local_id) for row, node in zip(story.rows, nodes, strict=True)
    ]
    return story


@covers("mask.stepped", "step.monotone", "cost.removed-stretches-are-ranges", "mask.before-anything-is-cut")
@pytest.mark.parametrize("step", [0, 0.25])
@pytest.mark.parametrize("strategy", list(Strategy)[:2])
def test_of_a_long_path_as_much_is_read_as_masks_and_cut_depend_on(loom, strategy, step):
    nodes = session(loom, f"Long {strategy} {step}", 60)
    story, ends = story_of(nodes), nodes[2::2]
    settings = {"truncationStrategy": strategy.value, "truncationStep": step, "maskToolResults": 2}
    rows, cuts = story.rows, list[int]()
    for count in range(7, 61, 3):
        story.rows = rows[: 2 * count + 1]
        whole = assemble(story.request(3_000, preferences=settings), story.contents)
        found = ends[count - 1].context(limit=3_000, preferences=settings)
        assert found.messages == whole.messages
        assert (found.masked, found.removed_nodes, found.tokens) == (
            whole.masked,
            whole.removed_nodes,
            whole.tokens,
        )
        cuts.append(found.removed_nodes)
    assert cuts == sorted(cuts) or not step
    assert cuts[-1] > 0
    plain = ends[-1].context(limit=3_000, preferences={**settings, "maskToolResults": "off"})
    assert cuts[-1] < plain.removed_nodes


@covers("mask.before-anything-is-cut", "mask.opaque-untouched")
def test_layers_and_loom_aware_agents_see_masked_results_too(loom):
    ends = session(loom, "Layered", 20)[2::2]
    aware = loom.add_agent("Aware of masks", model_ref="local:any", permissions=["loom_aware"])
    asked = ends[-1].say("And now?")
    asked.attach(Item(id="tide.md", type="note", content="High at six."))
    settings = {"maskToolResults": 3, "maskAbove": 20, "truncationStep": 0}
    wanted = [f", node {end.local_id}]" for end in ends[:17]]
    for found in (
        asked.context(preferences=settings),
        asked.envelope(preferences=settings),
        asked.context(agent=aware.name, preferences=settings),
    ):
        masked = lines(found)
        assert [line[-len(end) :] for line, end in zip(masked, wanted, strict=True)] == wanted
        outcomes = [entry.outcome.value for entry in found.manifest if entry.kind == "node"]
        assert outcomes.count("masked") == 17
        thoughts = [
            block for message in found.messages for block in message.blocks if isinstance(block, Thinking)
        ]
        assert [block.opaque for block in thoughts] == [{"signature": f"s{number}"} for number in range(20)]
    # Where masks alone are enough, no history is reduced.
    tight = asked.context(limit=5_000, agent=aware.name, preferences=settings)
    assert not tight.truncated
    assert "collapsed" not in {entry.outcome.value for entry in tight.manifest}
