"""From a path to a request: whatever the path, the budget and the settings."""

import contextlib
import json
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.context.conversations import texts
from tests.context.stories import PICTURE, Story, chat, stories
from tests.covers import covers

from weft.context.columns import SkippedLevel, SkippedRange
from weft.context.engine import assemble, plan_context, write_context
from weft.context.items.item_types import note
from weft.context.items.library import Attached
from weft.context.manifest_entries import EntryKind, Outcome
from weft.context.request import ContextRequest, Pending, Profile
from weft.context.rows import PathOutline, Reason, reason_to_leave_out, tokens_of_content
from weft.context.system import Instruction, SystemParts
from weft.context.tokens import DEFAULT, estimator_of
from weft.errors import ContextLimitError, InvalidInputError
from weft.tree.content import Image, Mixed, Text, ToolResult, content_to_wire
from weft.tree.edge import SourceRole
from weft.tree.node import Metadata, Role
from weft.tree.tree import Mode

preferences = st.fixed_dictionaries(
    {
        "truncationStrategy": st.sampled_from(["truncateMiddle", "rollingWindow"]),
        "truncationStep": st.sampled_from([0, 0.1, 0.25]),
        "minimumRecentNodes": st.integers(0, 5),
        "nameAuthors": st.booleans(),
    },
    optional={
        "truncationMarker": st.sampled_from(["", "(cut)"]),
        "mergeShare": st.sampled_from([0.0, 0.1, 1.0]),
    },
)
budgets = st.one_of(st.integers(0, 400), st.integers(0, 4_000))


@st.composite
def requests(draw, *, mode=Mode.DIALOGUE):
    story = draw(stories())
    pending = Pending(
        text=draw(st.one_of(st.just(""), texts)),
        sources=(story.source(draw(texts)),) if draw(st.booleans()) else (),
    )
    request = story.request(
        draw(budgets),
        mode=mode,
        pending=pending,
        preferences=draw(preferences),
        system=SystemParts(agent=draw(st.sampled_from(["", " Be brief. "])), tree="Ferry."),
        profile=Profile(prefill=draw(st.booleans()), prefix_cache=True, completion=draw(st.booleans())),
        attached=[Attached(0, note("n.md", draw(texts)))]
        if mode is Mode.BUFFER and draw(st.booleans())
        else (),
        authors={"ann": "Ann", "bob": "Bob"},
        buffer_system_context=draw(st.booleans()),
    )
    return story, request


def assembled(story, request):
    """The context, or None where the engine says that it cannot be."""
    try:
        return assemble(request, story.contents)
    except (ContextLimitError, InvalidInputError):
        return None


def tokens_of(context):
    said = [tokens_of_content(Mixed(message.blocks), DEFAULT) for message in context.messages]
    return sum(said) + DEFAULT.of_text(context.system) + DEFAULT.of_text(context.document or "")


@covers("fit.budget-never-exceeded")
@given(st.one_of(requests(), requests(mode=Mode.BUFFER)))
def test_an_assembled_context_is_never_over_its_budget(drawn):
    story, request = drawn
    context = assembled(story, request)
    assume(context is not None)
    assert context.tokens <= request.budget
    assert tokens_of(context) <= context.tokens


@covers("fit.budget-never-exceeded")
def test_pictures_cost_a_document_nothing():
    story = Story()
    story.say(PICTURE)
    story.say("Words.")
    context = assembled(story, story.request(budget=400, mode=Mode.BUFFER))
    assert (context.document, context.tokens) == ("Words.", 2)
    assert [entry.reason for entry in context.manifest] == ["no words, and a document is words", "fits"]


@covers(
    "dialogue.alternates",
    "dialogue.starts-with-user",
    "dialogue.ends-with-user",
    "dialogue.tool-results-follow-calls",
)
@given(requests())
def test_the_strictest_provider_would_accept_it(drawn):
    story, request = drawn
    context = assembled(story, request)
    assume(context is not None)
    messages = context.messages
    assert messages[0].role is Role.USER
    assert not messages[0].results
    assert messages[-1].role is not Role.ASSISTANT or request.profile.prefill
    assert all(message.blocks for message in messages)
    for before, after in pairwise(messages):
        assert before.role is not after.role or after.role is Role.TOOL
    open_calls: set[str] = set()
    for message in messages:
        if message.results:
            assert set(message.results) <= open_calls
        else:
            open_calls = set(message.calls)
    answered = [call for message in messages for call in message.results]
    assert sorted({call for message in messages for call in message.calls}) == sorted(set(answered))


@covers(
    "manifest.entry-for-every-candidate",
    "manifest.returned-with-every-assembly",
    "exclusion.reason-in-the-manifest",
    "manifest.outcomes",
)
@given(st.one_of(requests(), requests(mode=Mode.BUFFER)))
def test_the_manifest_accounts_for_every_level(drawn):
    story, request = drawn
    context = assembled(story, request)
    assume(context is not None)
    entries = list(context.manifest)
    assert sum(entry.tokens for entry in entries) == context.tokens
    levels = sorted(
        level
        for entry in entries
        if entry.position is not None
        for level in range(entry.position, entry.position + entry.count)
    )
    assert levels == list(range(len(story.rows)))
    assert all(entry.reason for entry in entries)
    assert all(entry.size >= entry.tokens for entry in entries)
    stays = [
        e
        for e in entries
        if e.kind is EntryKind.NODE and e.count == 1 and e.outcome is Outcome.EXCLUDED and e.last is None
    ]
    for entry in stays:
        assert entry.reason
    assert json.dumps(context.to_wire(), ensure_ascii=False)


@given(requests())
def test_without_a_limit_every_word_comes_back(drawn):
    story, request = drawn
    unlimited = ContextRequest(
        mode=request.mode,
        outline=request.outline,
        budget=10**9,
        pending=request.pending,
        system=request.system,
    )
    context = assembled(story, unlimited)
    assume(context is not None)
    assert not context.truncated
    assert not context.shortened
    said = "".join(message.text for message in context.messages)
    for row in story.rows:
        if row.left_out is None and row.kind == "text":
            assert story.contents[row.id].text in said


@covers("cost.planning-reads-light-columns", "cost.texts-of-kept-nodes-only")
@given(requests())
def test_only_contents_that_the_plan_asks_for_are_needed(drawn):
    story, request = drawn
    try:
        plan = plan_context(request)
        whole = write_context(plan, story.contents)
    except (ContextLimitError, InvalidInputError):
        assume(False)
    few = {name: story.contents[name] for name in plan.wanted}
    assert write_context(plan, few) == whole


@covers("step.prefix-stable-between-jumps", "step.change-costs-one-miss")
@given(
    st.lists(st.tuples(texts, texts), min_size=2, max_size=25),
    st.integers(200, 3_000),
    st.sampled_from(["truncateMiddle", "rollingWindow"]),
)
def test_between_two_jumps_a_request_begins_with_the_one_before(turns, window, strategy):
    story, before, cut = Story(), None, None
    for said, answered in turns:
        story.say(said)
        request = story.request(
            window,
            window=window,
            preferences={"truncationStrategy": strategy, "truncationStep": 0.25, "minimumRecentNodes": 2},
            system=SystemParts(tree="Ferry."),
        )
        plan = plan_context(request)
        context = write_context(plan, story.contents)
        place = (plan.cut.head, plan.cut.tail)
        if cut == place and not context.shortened and not before.shortened:
            earlier = before.messages[:-1]
            assert context.messages[: len(earlier)] == earlier
            assert context.messages[len(earlier)] == before.messages[-1]
        before, cut = context, place
        story.answer(answered)


@covers(
    "system.order",
    "system.trimmed-and-joined",
    "source.instructions-along-the-path",
    "source.instructions-last",
)
def test_the_system_context_is_agent_tree_instructions():
    story = chat(2)
    parts = SystemParts(
        agent="  Agent. ",
        tree="\n",
        instructions=(
            Instruction(id="I1", local_id="i1", text="First.", edge="n1"),
            Instruction(id="I2", local_id="i2", text="Out.", edge="n2", left_out=Reason.EXCLUDED),
            Instruction(id="I3", local_id="i3", text=" Second. ", edge="n3"),
        ),
    )
    context = assemble(story.request(500, system=parts), story.contents)
    assert context.system == "Agent.\n\nFirst.\n\nSecond."
    newest = Pending(instructions=(Instruction(id="I4", local_id="i4", text="Now.", edge="?"),))
    last = story.request(500, system=parts, pending=newest, preferences={"instructions": "last"})
    assert assemble(last, story.contents).system == "Agent.\n\nNow."


@covers("source.instruction-is-a-recorded-trigger", "source.pending-generation")
def test_a_new_instruction_is_told_as_the_reason_for_a_changed_prefix():
    story = chat(2)
    before = assemble(story.request(500), story.contents)
    pending = Pending(instructions=(Instruction(id="I", local_id="i1", text="Rhyme."),))
    after = assemble(story.request(500, pending=pending), story.contents)
    (change,) = before.manifest.diff(after.manifest)
    assert (change.kind, change.id, change.before, change.after) == (
        EntryKind.SOURCE,
        "i1",
        None,
        Outcome.KEPT,
    )
    assert any("changes the prefix" in entry.reason for entry in after.manifest)


@covers("fit.system-never-cut")
def test_a_system_context_over_the_budget_is_refused_with_its_largest_parts():
    story = chat(1)
    request = story.request(900, system=SystemParts(tree="x" * 4_000))
    with pytest.raises(ContextLimitError, match=r"needs 1,000 tokens, the budget is 900 \(tree 1,000\)"):
        assemble(request, story.contents)


@covers("source.order-of-roles", "source.context-before-primary", "source.left-out-like-any-node")
def test_a_context_source_stands_before_the_message_that_is_answered():
    story = Story().say("Look at this.")
    seen = story.source("A map </reference> of the harbour")
    gone = story.source("secret", left_out=Reason.PRUNED)
    story.answer("I see it.", sources=[seen, gone]).say("And now?")
    context = assemble(story.request(500), story.contents)
    assert [message.text for message in context.messages] == [
        '<reference node="x1">\nA map <\\reference> of the harbour\n</reference>\n\nLook at this.',
        "I see it.",
        "And now?",
    ]
    dropped = next(entry for entry in context.manifest if entry.id == "x2")
    assert (dropped.outcome, dropped.reason) == (Outcome.EXCLUDED, "pruned")


@covers("source.own-message", "source.left-out-like-any-node")
def test_what_came_with_a_persons_own_message_is_directly_before_it():
    story = Story().say("Which way?").answer("The short one.")
    before = assemble(story.request(500, profile=Profile(prefill=True)), story.contents)
    seen, gone = story.source("A map."), story.source("secret", left_out=Reason.EXCLUDED)
    other = story.source("The long one.", SourceRole.PRIMARY)
    story.say("The first or the second?", sources=[seen, gone, other])
    after = assemble(story.request(500), story.contents)
    assert after.messages[:2] == before.messages
    assert after.messages[2].text == (
        f'<reference node="{seen.local_id}">\nA map.\n</reference>\n\n'
        f'<reference node="{other.local_id}">\nThe long one.\n</reference>\n\nThe first or the second?'
    )
    story.answer("The second.", sources=[story.source("A guide.")]).say("Thanks.")
    answered = assemble(story.request(500), story.contents).messages
    assert answered[:2] == before.messages
    words = ["A map.", "The long one.", "A guide.", "The first or the second?"]
    places = [answered[2].text.index(each) for each in words]
    assert places == sorted(places)


@covers("source.own-message", "exclusion.reason-in-the-manifest")
def test_what_came_with_a_message_is_left_out_with_it():
    story = Story().say("Which way?").answer("The short one.")
    other = story.source("The long one.", SourceRole.PRIMARY)
    story.say("Both.", sources=[other], left_out=Reason.EXCLUDED).say("Go on.")
    context = assemble(story.request(500), story.contents)
    assert [message.text for message in context.messages] == ["Which way?", "The short one.", "Go on."]
    dropped = next(entry for entry in context.manifest if entry.id == other.local_id)
    assert (dropped.outcome, dropped.reason) == (Outcome.EXCLUDED, "its message is left out")


@covers("source.own-message", "fit.budget-never-exceeded")
@given(story=stories(), budget=st.integers(1, 400))
def test_a_merge_leaves_the_messages_before_it_as_they_were(story, budget):
    story.answer("So far.")
    before = assemble(story.request(100_000, profile=Profile(prefill=True)), story.contents)
    other = story.source("the other way " * 9, SourceRole.PRIMARY)
    story.say("And both?", sources=[other])
    after = assemble(story.request(100_000), story.contents)
    assert after.messages[:-1] == before.messages
    assert after.messages[-1].text.endswith("</reference>\n\nAnd both?")
    with contextlib.suppress(ContextLimitError):
        assert assemble(story.request(budget), story.contents).tokens <= budget


@covers("source.images-as-image-blocks")
def test_an_image_given_as_context_becomes_an_image_block():
    story = Story().say("What is this?")
    picture = Image(ref="a" * 64, mime_type="image/png", width=1, height=1)
    context = assemble(
        story.request(5_000, pending=Pending(sources=(story.source(picture),))), story.contents
    )
    (message,) = context.messages
    assert picture in message.blocks
    assert message.text.endswith("What is this?")
    assert context.tokens > 1_600


@covers("source.further-primaries")
def test_further_primaries_of_a_merge_stand_like_context_within_their_share():
    story = Story().say("One way.")
    other = story.source("another way " * 200, SourceRole.PRIMARY)
    story.answer("Both.", sources=[other]).say("Go on.")
    context = assemble(story.request(1_000, preferences={"mergeShare": 0.1}), story.contents)
    first = context.messages[0].text
    assert first.startswith('<reference node="x1">\nanother way')
    assert "\n[…]\n" in first
    assert first.endswith("One way.")
    shortened = next(entry for entry in context.manifest if entry.kind is EntryKind.SOURCE)
    assert shortened.outcome is Outcome.SHORTENED
    assert shortened.tokens < 120


@covers(
    "exclusion.excluded",
    "exclusion.pruned-or-hidden",
    "exclusion.annotations",
    "exclusion.annotations-on-request",
)
def test_what_is_left_out_and_what_is_taken_on_request():
    def reason(metadata=Metadata(), **options):  # noqa: B008 - a frozen value
        return reason_to_leave_out(metadata, node="N1", **{"annotation": False, **options})

    assert reason() is None
    assert reason(Metadata(excluded=True)) is Reason.EXCLUDED
    assert reason(Metadata(pruned=True)) is Reason.PRUNED
    assert reason(Metadata(hidden=True)) is Reason.HIDDEN
    assert reason(annotation=True) is Reason.ANNOTATION
    assert reason(annotation=True, annotations=True) is None
    assert reason(annotation=True, annotations=frozenset({"N1"})) is None
    assert reason(annotation=True, annotations=frozenset({"N2"})) is Reason.ANNOTATION
    assert reason(Metadata(excluded=True), annotation=True, annotations=True) is Reason.EXCLUDED


@covers("dialogue.roles", "dialogue.merges-same-role", "dialogue.skips-empty-content")
def test_consecutive_messages_of_one_role_are_merged():
    story = Story().say("").say("One.").say("Two.").answer("Three.").answer("Four.").say("Five.")
    context = assemble(story.request(500), story.contents)
    assert [(m.role.value, m.text) for m in context.messages] == [
        ("user", "One.\n\nTwo."),
        ("assistant", "Three.\n\nFour."),
        ("user", "Five."),
    ]
    outcomes = [(entry.id, entry.outcome.value) for entry in context.manifest]
    assert outcomes == [
        ("n0", "excluded"),
        ("n1", "merged"),
        ("n2", "merged"),
        ("n3", "merged"),
        ("n4", "merged"),
        ("n5", "kept"),
    ]


@covers("dialogue.names-authors")
def test_parts_of_several_authors_are_headed_by_them_if_asked():
    story = (
        Story().say("Tea?", author="a1").say("Coffee!", author="b2").answer("Both.").say("Fine.", author="a1")
    )
    names = {"a1": "Ann", "b2": "Bob"}
    context = assemble(story.request(500, preferences={"nameAuthors": True}, authors=names), story.contents)
    assert [m.text for m in context.messages] == ["Ann:\nTea?\n\nBob:\nCoffee!", "Both.", "Fine."]


@covers("dialogue.additions-in-the-manifest")
def test_a_request_that_neither_starts_nor_ends_with_a_user_gets_both():
    story = Story().answer("Once upon a time")
    context = assemble(story.request(500), story.contents)
    assert [m.text for m in context.messages] == ["…", "Once upon a time", "Continue."]
    added = [entry.id for entry in context.manifest if entry.outcome is Outcome.ADDED]
    assert added == ["opening", "closing"]
    prefilled = assemble(story.request(500, profile=Profile(prefill=True)), story.contents)
    assert prefilled.messages[-1].text == "Once upon a time"


@covers("dialogue.nothing-to-send")
def test_with_nothing_left_to_send_the_error_says_what_was_left_out():
    story = Story().say("").say("a", left_out=Reason.EXCLUDED).answer("b", left_out=Reason.PRUNED)
    with pytest.raises(InvalidInputError, match=r"nothing is left to send \(1 excluded, 1 pruned, 1 empty\)"):
        assemble(story.request(500), story.contents)
    alone = Story().say("")
    with pytest.raises(InvalidInputError, match=r"nothing is left to send \(1 empty\)"):
        assemble(alone.request(500), alone.contents)
    said = alone.request(500, pending=Pending(text="Hello"))
    assert assemble(said, alone.contents).messages[0].text == "Hello"


def test_an_excluded_tool_call_takes_its_results_along():
    story = Story().say("Look.").use_tool("found", left_out=Reason.EXCLUDED).answer("Done.").say("Thanks.")
    context = assemble(story.request(500), story.contents)
    assert [m.text for m in context.messages] == ["Look.", "Done.", "Thanks."]
    result = next(entry for entry in context.manifest if entry.id == "n2")
    assert result.reason == "its tool call or result is left out"


@covers(
    "buffer.concatenated",
    "buffer.working-buffer-last",
    "buffer.one-string",
    "buffer.system-context-only-if-asked",
)
def test_a_document_is_its_nodes_and_the_working_buffer():
    story = (
        Story().say("The river").answer(" runs").say(" nowhere", left_out=Reason.EXCLUDED).say(" to the sea.")
    )
    request = story.request(
        500, mode=Mode.BUFFER, pending=Pending(text=" And"), system=SystemParts(tree="Prose.")
    )
    context = assemble(request, story.contents)
    assert (context.document, context.system, context.messages) == ("The river runs to the sea. And", "", ())
    asked = story.request(
        500, mode=Mode.BUFFER, system=SystemParts(tree="Prose."), buffer_system_context=True
    )
    assert assemble(asked, story.contents).system == "Prose."


@covers("buffer.empty-document-allowed")
def test_an_empty_document_can_be_sent():
    story = Story().say("")
    assert assemble(story.request(0, mode=Mode.BUFFER), story.contents).document == ""


def test_a_long_document_is_cut_in_its_middle_with_a_sign():
    story = Story()
    for index in range(40):
        story.say(f"{index:04}" * 10)
    context = assemble(story.request(200, mode=Mode.BUFFER), story.contents)
    assert context.document.startswith("0000")
    assert "\n[…]\n" in context.document
    assert context.document.endswith("0039")
    assert context.tokens <= 200
    assert context.removed_nodes == 40 - (len(context.document) - 5) // 40
    one = Story().say("word " * 4_000)
    short = assemble(one.request(100, mode=Mode.BUFFER), one.contents)
    assert short.shortened == ("n0",)
    assert short.tokens <= 100


def test_the_seeds_default_strategy_marks_what_was_left_out():
    story = chat(60)
    context = assemble(story.request(500, window=1_000), story.contents)
    marked = next(m.text for m in context.messages if "left out" in m.text)
    assert "earlier messages, about" in marked
    assert context.truncated
    gap = next(entry for entry in context.manifest if entry.count > 1)
    assert f"n{gap.position} to {gap.last}" in marked
    assert context.removed_tokens == gap.size == 25 * gap.count


_AGAIN = """
import json, sys
from tests.context.stories import chat
from weft.context.engine import assemble
from weft.context import fit_messages
story = chat(80)
context = assemble(story.request(700, window=1_000, preferences={"truncationStep": 0.25}), story.contents)
fitted = fit_messages([{"role": "user", "content": "é" * n} for n in range(1, 90)], 900)
print(json.dumps([context.to_wire(), fitted.messages, fitted.manifest.stored()]))
"""


@covers("engine.pure", "engine.assemble", "engine.variables-are-arguments")
@pytest.mark.long
def test_equal_inputs_give_equal_bytes_in_every_process():
    seen = {
        subprocess.run(
            [sys.executable, "-c", _AGAIN],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
        ).stdout
        for seed in ("0", "1")
    }
    assert len(seen) == 1
    assert len(seen.pop()) > 1_000


def test_a_text_with_cjk_and_emoji_is_counted_by_character():
    story = Story().say("日本語🙂" * 100)
    context = assemble(story.request(250, preferences={"minimumRecentNodes": 1}), story.contents)
    assert context.shortened
    assert context.tokens <= 250
    assert tokens_of_content(Text("日本語🙂"), DEFAULT) == 4
    assert content_to_wire(context.messages[0].blocks[0])["text"].startswith("日本語🙂")


def test_a_plan_over_both_ends_is_the_plan_over_the_whole():
    story = chat(400)
    whole = story.request(600, window=1_000, preferences={"truncationStep": 0.25})
    from weft.context.columns import SkippedRange

    reach, on_ruler = whole.head_reach()
    assert on_ruler
    head = [row for row in story.rows if row.ruler <= reach]
    head = story.rows[: len(head) + 1]
    tail = story.rows[-40:]
    between = SkippedRange(
        levels=400 - 40 - len(head),
        first=story.rows[len(head)].local_id,
        last=story.rows[-41].local_id,
        start=head[-1].ruler,
        end=story.rows[-41].ruler,
    )
    parts = story.request(600, window=1_000, preferences={"truncationStep": 0.25})
    both = replace(parts, outline=PathOutline(head=head, between=between, tail=tail))
    assert assemble(both, story.contents) == assemble(whole, story.contents)


@covers("fit.budget-never-exceeded", "fit.recent-texts-shortened")
def test_a_recent_picture_keeps_its_tokens_and_the_words_beside_it_give_way():
    story = Story().say("old " * 500).answer("old answer " * 300)
    story.say(Mixed((Text("look at this " * 400), PICTURE)))
    one = {"minimumRecentNodes": 1}
    context = assemble(story.request(1_700, preferences=one), story.contents)
    assert context.tokens <= 1_700
    assert context.shortened == ("n2",)
    assert any(isinstance(block, Image) for block in context.messages[-1].blocks)
    with pytest.raises(ContextLimitError, match="1,6"):
        assemble(story.request(1_500, preferences=one), story.contents)


@covers("dialogue.ends-with-user", "fit.budget-never-exceeded")
@pytest.mark.parametrize("role", ["tool", "user"])
def test_a_result_that_answers_nothing_at_the_end_leaves_room_for_the_closing(role):
    story = Story().say("Where?").answer("There. " * 20)
    story.say(ToolResult(call_id="nobody", content="12"), role)
    whole = assemble(story.request(10_000), story.contents)
    assert whole.messages[-1].text == "Continue."
    for budget in range(whole.tokens - 4, whole.tokens + 2):
        assert assemble(story.request(budget), story.contents).tokens <= budget


@covers("dialogue.tool-results-follow-calls")
def test_of_two_results_of_one_call_the_newest_is_sent():
    story = Story().say("Where?").use_tool("over there", "no, here")
    context = assemble(story.request(10_000), story.contents)
    results = [block for message in context.messages for block in message.blocks]
    assert [block.content for block in results if isinstance(block, ToolResult)] == ["no, here"]
    assert [entry.reason for entry in context.manifest if entry.outcome is Outcome.EXCLUDED] == [
        "a tool call without its result, or a result without its call or with a newer one"
    ]


@covers("fit.tool-groups-whole")
def test_words_do_not_go_with_a_result_that_merely_follows_them():
    story = Story().say("Say this.")
    story.say(ToolResult(call_id="nobody", content="12"), "tool", left_out=Reason.EXCLUDED)
    assert assemble(story.request(100), story.contents).messages[0].text == "Say this."


@covers("dialogue.skips-empty-content")
def test_an_estimator_that_says_nothing_of_short_words_does_not_silence_them():
    story = Story().say("Hi")
    request = story.request(100, pending=Pending(text="So?"))
    coarse = estimator_of(lambda text: len(text) // 1_000)
    rows = [row._replace(tokens=tokens_of_content(story.contents[row.id], coarse)) for row in story.rows]
    request = replace(request, estimator=coarse, outline=PathOutline(tail=rows))
    assert assemble(request, story.contents).messages[0].text == "Hi\n\nSo?"


@covers("system.order", "source.instructions-last")
def test_system_messages_of_a_history_stay_where_only_the_last_instruction_is_wanted():
    told = [
        Instruction(id="S", local_id="s", text="From a history.", edge="S"),
        Instruction(id="A", local_id="a", text="Be brief.", edge="N1"),
        Instruction(id="A", local_id="a", text="Be brief.", edge="N2"),
    ]
    story = Story().say("Hi")
    parts = SystemParts(instructions=tuple(told))
    both = assemble(story.request(100, system=parts), story.contents)
    assert both.system == "From a history.\n\nBe brief.\n\nBe brief."
    assert sum(entry.tokens for entry in both.manifest) == both.tokens
    last = assemble(story.request(100, system=parts, preferences={"instructions": "last"}), story.contents)
    assert last.system == "From a history.\n\nBe brief."


@covers("fit.recent-texts-shortened", "step.room-leaves-a-marker-allowance")
def test_where_nothing_is_cut_the_marker_takes_no_room():
    story = Story().say("x" * 4_000)
    context = assemble(story.request(500, preferences={"truncationMarker": "(cut) " * 300}), story.contents)
    assert not context.truncated
    assert context.tokens > 400


@covers("fit.removed-is-what-the-cut-removed")
@given(requests())
def test_what_the_cut_removed_is_counted_without_what_was_left_out(drawn):
    story, request = drawn
    context = assembled(story, request)
    assume(context is not None and context.truncated)
    cut = [
        entry for entry in context.manifest if entry.kind is EntryKind.NODE and entry.outcome is Outcome.CUT
    ]
    assert context.removed_nodes == sum(entry.count for entry in cut)
    assert context.removed_tokens == sum(entry.size for entry in cut)
    told = {entry.id: entry.reason for entry in context.manifest if entry.kind is EntryKind.NODE}
    for row in story.rows:
        if row.left_out in {Reason.EXCLUDED, Reason.PRUNED}:
            assert told[row.local_id] == row.left_out.value


@covers("fit.removed-is-what-the-cut-removed")
def test_a_level_left_out_among_those_not_read_keeps_its_reason():
    story = chat(60)
    whole = story.request(300, preferences={"truncationStep": 0})
    rows = story.rows
    rows[30] = rows[30]._replace(left_out=Reason.EXCLUDED)
    skipped = SkippedLevel(30, "n30", "excluded", "n29", "n31", rows[29].ruler, rows[30].ruler)
    between = SkippedRange(30, "n10", "n39", rows[9].ruler, rows[39].ruler, (skipped,))
    part = replace(whole, outline=PathOutline(head=rows[:10], between=between, tail=rows[40:]))
    found = [assemble(request, story.contents) for request in (whole, part)]
    assert found[0].manifest == found[1].manifest
    assert found[0].removed_nodes == found[1].removed_nodes
    (entry,) = [entry for entry in found[1].manifest if entry.id == "n30"]
    assert (entry.outcome, entry.reason, entry.position) == (Outcome.EXCLUDED, "excluded", 30)
