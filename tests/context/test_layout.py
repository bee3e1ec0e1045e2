"""Long paths that are known at both ends only, as a store reads them."""

from dataclasses import replace

import pytest
from tests.context.stories import Story
from tests.context.talks import library

from weft.context.columns import SkippedRange
from weft.context.engine import assemble, plan_context, write_context
from weft.context.items.item_types import note
from weft.context.items.library import Attached
from weft.context.request import ContextRequest, Pending, Profile
from weft.context.rows import PathOutline
from weft.context.settings import resolve_layer_settings, resolve_preferences
from weft.tree.tree import Mode

LEVELS = 600


def told():
    """A long conversation in which every tenth question brings a note, and the last ones name old ones."""
    story, attached = Story(), []
    for level in range(LEVELS):
        story.say(f"{level} ".ljust(80, "x"), "assistant" if level % 2 else "user")
        if level % 10 == 0:
            attached.append(Attached(level, note(f"n{level}.md", f"{level} " * 60)))
        elif level % 2 == 0 and level > LEVELS - 40:
            attached.append(Attached(level, note(f"n{level // 100 * 100}.md", f"{level // 100 * 100} " * 60)))
    return story, attached


def both_ends(story, context, tail):
    reach, on_ruler = context.head_reach()
    if on_ruler:
        count = sum(row.ruler <= reach for row in story.rows) + 1
    else:
        count = next(
            index for index in range(LEVELS) if sum(row.tokens for row in story.rows[:index]) > reach
        )
    if context.preferences.truncation_strategy == "rollingWindow":
        count = 0
    between = SkippedRange(
        levels=LEVELS - tail - count,
        first=story.rows[count].local_id,
        last=story.rows[-tail - 1].local_id,
        start=story.rows[count - 1].ruler if count else 0,
        end=story.rows[-tail - 1].ruler,
    )
    return PathOutline(head=story.rows[:count], between=between, tail=story.rows[-tail:])


@pytest.mark.parametrize("placement", ["system", "inline"])
@pytest.mark.parametrize("step", [0, 0.25])
@pytest.mark.parametrize("strategy", ["truncateMiddle", "rollingWindow"])
def test_layers_over_both_ends_are_the_layers_over_the_whole(placement, step, strategy):
    story, attached = told()
    context = ContextRequest(
        mode=Mode.DIALOGUE,
        outline=PathOutline(tail=story.rows),
        budget=6_000,
        window=7_000,
        preferences=resolve_preferences({"truncationStep": step, "truncationStrategy": strategy}),
        profile=Profile(prefix_cache=True),
        pending=Pending(text="And now?"),
    )
    whole = replace(
        context,
        attached=attached,
        layered=True,
        items=[note("n0.md", "0 " * 60), note("n590.md", "590 " * 60), note("new.md", "new")],
        settings=resolve_layer_settings({"library": placement}),
    )
    parts = replace(whole, outline=both_ends(story, context, 320))
    planned = plan_context(parts)
    assert len(planned.wanted) < 320
    found = write_context(planned, {name: story.contents[name] for name in planned.wanted}).laid_out
    full = assemble(whole, story.contents).laid_out
    assert found.truncated
    assert found.tokens <= 6_000
    assert [message.text for message in found.messages] == [message.text for message in full.messages]
    assert found.to_wire() == full.to_wire()
    assert len(library(found)) == (60 if placement == "system" else 0)
