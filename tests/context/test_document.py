"""Documents: the system context by the tree's setting, references before the text for chat models."""

import json
from dataclasses import replace

import pytest
from tests.context.stories import PICTURE, Story
from tests.covers import covers

from weft.context.engine import assemble
from weft.context.items.item_types import active_note, note
from weft.context.items.library import Attached
from weft.context.manifest_entries import Outcome
from weft.context.plain_messages import plain_request
from weft.context.request import Pending, Profile
from weft.context.rows import Reason
from weft.context.system import Instruction, Standing, SystemParts
from weft.errors import ContextLimitError
from weft.tree.content import Text
from weft.tree.edge import SourceRole
from weft.tree.node import Role
from weft.tree.tree import Mode

CHAT = Profile(completion=False)


def entries(context):
    return {entry.id: (entry.kind.value, entry.outcome, entry.reason) for entry in context.manifest}


@pytest.fixture
def story():
    story = Story().say("The river")
    story.merged, story.seen = story.source("The lake", SourceRole.PRIMARY), story.source("A map.")
    story.gone = story.source("secret", left_out=Reason.PRUNED)
    return story.answer(" runs", sources=[story.seen, story.gone, story.merged]).say(" to the sea.")


def written(story, budget=2_000, **options):
    pending = Pending(text=" And", sources=(story.source("A song."),))
    attached = [
        Attached(0, note("style.md", "Long sentences.")),
        Attached(2, note("style.md", "Short sentences.")),
        Attached(1, note("old.md", "Old."), left_out=Reason.EXCLUDED),
    ]
    options = {"pending": pending, "attached": attached, "profile": CHAT, **options}
    return assemble(story.request(budget, mode=Mode.BUFFER, **options), story.contents)


@covers("buffer.references-for-chat-models", "source.left-out-like-any-node")
def test_a_chat_model_is_sent_sources_and_attachments_before_the_text(story):
    context = written(story)
    (message,) = context.messages
    assert (context.document, message.role) == ("The river runs to the sea. And", Role.USER)
    assert message.text == (
        f'<reference node="{story.seen.local_id}">\nA map.\n</reference>\n\n'
        f'<reference node="{story.merged.local_id}">\nThe lake\n</reference>\n\n'
        '<reference node="x6">\nA song.\n</reference>\n\n'
        '<reference item="style.md">\nShort sentences.\n</reference>'
    )
    assert [each["role"] for each in context.to_openai()] == ["user", "user"]
    sent = json.loads(json.dumps(context.to_anthropic()))
    assert sent["messages"][-1]["content"].endswith("The river runs to the sea. And")
    assert [str(each["content"])[:10] for each in plain_request(context)] == ["<reference", "The river "]
    assert [layer.id.value for layer in context.layers if layer.text] == ["L4_HISTORY"]
    found = entries(context)
    assert found[story.seen.local_id] == ("source", Outcome.KEPT, "context source, before the text")
    assert found["style.md"] == ("item", Outcome.KEPT, "attached, before the text")
    assert found[story.gone.local_id] == ("source", Outcome.EXCLUDED, "pruned")
    assert found["old.md"] == ("item", Outcome.EXCLUDED, "excluded")


@covers("buffer.one-string", "exclusion.reason-in-the-manifest")
def test_a_completion_endpoint_is_sent_the_text_alone_and_the_manifest_says_what_is_not(story):
    context = written(story, profile=Profile())
    assert (context.document, context.messages) == ("The river runs to the sea. And", ())
    found = entries(context)
    for name, kind in [
        (story.seen.local_id, "source"),
        (story.merged.local_id, "source"),
        ("style.md", "item"),
    ]:
        assert found[name] == (kind, Outcome.EXCLUDED, "a completion endpoint takes the text alone")
    assert context.tokens == sum(entry.tokens for entry in context.manifest)


@covers("buffer.system-context-only-if-asked", "exclusion.reason-in-the-manifest")
@pytest.mark.parametrize("sent", [True, False])
def test_instructions_projects_and_memory_follow_the_trees_setting(story, sent):
    rule = Instruction(id="I", local_id="rule", text="In verse.")
    late = Instruction(id="J", local_id="late", text="In French.")
    context = written(
        story,
        system=SystemParts(agent="You write.", tree="A tale.", instructions=(rule,)),
        standing=Standing(memory="Likes tea.", project_prompt="Looms."),
        pending=Pending(instructions=(late,)),
        buffer_system_context=sent,
    )
    found = entries(context)
    assert {"agent", "tree", "rule", "late", "memory", "project_system_prompt"} <= set(found)
    if sent:
        assert context.system.startswith("You write.\n\nA tale.\n\nIn verse.\n\nIn French.\n\n<user_memory>")
        assert "<project_system_prompt>\nLooms." in context.system
        assert found["memory"][1] is Outcome.KEPT
    else:
        assert context.system == ""
        reasons = {found[name][1:] for name in ("agent", "tree", "rule", "late", "memory")}
        assert reasons == {(Outcome.EXCLUDED, "the document goes without its system context")}


@covers("fit.system-never-cut")
def test_a_system_context_with_its_blocks_over_the_budget_is_refused(story):
    standing = Standing(project_context="Looms. " * 400)
    with pytest.raises(ContextLimitError, match="project_context"):
        written(story, 500, standing=standing, buffer_system_context=True)
    assert written(story, 500, standing=standing).system == ""


@covers("buffer.references-for-chat-models", "fit.budget-never-exceeded", "fit.recent-texts-shortened")
@pytest.mark.parametrize("budget", [60, 100, 200, 400, 800])
def test_references_count_and_long_ones_are_shortened(budget):
    story = Story().say("The river")
    story.say(" runs" * 40, sources=[story.source("The lake " * 90, SourceRole.PRIMARY)])
    for _ in range(9):
        story.say(" to the sea" * 9)
    attached = [Attached(0, note("style.md", "Short sentences. " * 50))]
    request = story.request(budget, mode=Mode.BUFFER, attached=attached, profile=CHAT)
    context = assemble(request, story.contents)
    assert context.tokens <= budget
    assert context.document.endswith(" to the sea" if budget > 60 else "sea")
    assert 'item="style.md"' in context.messages[0].text
    cut = [entry for entry in context.manifest if entry.kind.value == "source"]
    assert [(entry.outcome, entry.reason) for entry in cut] == [
        (Outcome.CUT, "its message is over the budget")
        if budget < 800
        else (Outcome.SHORTENED, "over its share of the budget")
    ]


@covers("buffer.references-for-chat-models", "buffer.empty-document-allowed")
def test_pictures_are_references_too_also_of_an_empty_document():
    story = Story().say("")
    attached = [Attached(0, replace(active_note('a "b".md', "See."), images=(PICTURE,)))]
    pending = Pending(sources=(story.source(PICTURE),))
    request = story.request(9_000, mode=Mode.BUFFER, attached=attached, pending=pending, profile=CHAT)
    context = assemble(request, story.contents)
    assert context.document == ""
    (message,) = context.messages
    assert [type(block) is Text for block in message.blocks] == [True, False, True, False, True]
    assert 'item="a &quot;b&quot;.md"' in message.text


@covers("buffer.references-for-chat-models")
def test_what_came_with_an_excluded_node_is_left_out_with_it():
    story = Story().say("The river")
    story.say(" runs", sources=[story.source("A map.")], left_out=Reason.EXCLUDED).say(" on.")
    context = assemble(story.request(500, mode=Mode.BUFFER, profile=CHAT), story.contents)
    assert (context.document, context.messages) == ("The river on.", ())
    assert entries(context)["x1"] == ("source", Outcome.EXCLUDED, "its message is left out")
