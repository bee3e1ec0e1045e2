"""Contexts of what trees may hold and few do: notes on notes, white space, pictures, thoughts, empty results."""

import json

import pytest
from tests.contexts.test_contexts import from_history, picture
from tests.covers import covers

from weft.context.tokens import estimator_of
from weft.errors import ContextLimitError, InvalidInputError, NotFoundError
from weft.tree.content import Image, Mixed, Text, Thinking, ToolCall, ToolResult
from weft.tree.node import Role


@covers("exclusion.annotations-on-request", "manifest.entry-for-every-candidate")
def test_a_note_that_the_path_ends_with_is_said_once(loom):
    tree = loom.plant("Gap", "Where does it leak?")
    note = tree.root.annotate("At the seam.")
    deeper = note.annotate("And at the heel.")
    found = deeper.context(annotations=True)
    said = " ".join(message.text for message in found.messages)
    assert said.count("At the seam.") == 1
    assert said.count("And at the heel.") == 1
    assert [entry.id for entry in found.manifest if entry.id == note.local_id] == [note.local_id]


@covers("dialogue.skips-empty-content", "buffer.concatenated")
def test_white_space_is_nothing_in_a_dialogue_and_something_in_a_document(loom):
    loom.add_agent("bot-of-spaces", model_ref="local:any")
    tree = loom.plant("Spaces", "Hello.")
    tree.say(" \n\t ")
    tree.say("Well?", author="bot-of-spaces")
    leaf = tree.say(Mixed((Text("  "), Text("Yes."), Text("\n"))))
    found = leaf.context()
    assert [message.text for message in found.messages] == ["Hello.", "Well?", "Yes."]
    assert [entry.reason for entry in found.manifest if entry.tokens == 0 and entry.kind == "node"] == [
        "empty"
    ]
    poem = loom.plant("Poem", "one", mode="buffer")
    poem.say("\n\n")
    assert poem.say("two").context().document == "one\n\ntwo"


@covers("fit.limit-given", "fit.input-budget")
def test_numbers_without_measure_are_as_good_as_no_limit_and_none_is_not_a_window(loom):
    tree = loom.plant("Wide", "Hello.")
    for number in range(6):
        tree.say(f"line {number}")
    whole = tree.context()
    vast = tree.context(limit=2**53, preferences={"minimumRecentNodes": 2**70})
    assert vast.messages == whole.messages
    with pytest.raises(InvalidInputError, match="limit must be between 0 and 9,007"):
        tree.context(limit=2**80)
    with pytest.raises(InvalidInputError, match="window must be at least 1"):
        tree.context(window=0)


@covers("step.cut-on-a-grid")
def test_the_ruler_of_a_document_begins_with_its_first_version(loom):
    tree = loom.plant("Edited", "x" * 400, mode="buffer")
    tree.root.edit("y" * 4_000)
    for number in range(60):
        tree.say(f"{number:03} " * 25)
    found = tree.context(limit=500, step=0.25, strategy="rollingWindow")
    gap = next(entry for entry in found.manifest if entry.count > 1)
    assert gap.size == sum(100 if number < 0 else 25 for number in range(-1, gap.count - 1))


@covers("fit.tool-groups-whole", "exclusion.excluded")
def test_thoughts_and_pictures_are_no_tools_and_are_cut_like_words(loom):
    loom.add_agent("thinker", model_ref="local:any")
    tree = loom.plant("Thoughts", "Begin.")
    here = tree.root
    for number in range(20):
        thought = Mixed((Thinking(text="hm " * 40), Text(f"answer {number}")))
        here = here.say(Mixed((Text(f"question {number}"), picture(loom))))
        here = here.say(thought, author="thinker")
    cut = here.context(limit=8_000)
    assert cut.truncated
    assert not cut.shortened
    here.tree.node(loom.read.path(tree.id, here.id)[-2].id).exclude()
    assert here.context().removed_nodes == 0
    assert [entry.reason for entry in here.context().manifest if entry.outcome == "excluded"] == ["excluded"]


@covers("fit.tool-groups-whole", "cost.tail-is-one-query")
def test_calls_with_thoughts_are_cut_between_one_group_and_the_next(loom):
    loom.add_agent("worker", model_ref="local:any")
    here = loom.plant("Work", "Do it.").root
    for number in range(40):
        call = ToolCall(id=f"c{number}", name="sh", arguments={"cmd": "ls " * 10})
        here = here.say(Mixed((Thinking(text="hm"), call)), author="worker")
        here = from_history(loom, here, ToolResult(call_id=f"c{number}", content="file " * 40), Role.TOOL)
    found = here.context(limit=1_000)
    assert found.truncated
    assert not found.shortened
    assert found.tokens > 700


@covers("dialogue.skips-empty-content", "tokens.counts-stored-with-nodes", "fit.budget-never-exceeded")
@pytest.mark.parametrize(
    "given", ["", 42, True, None, [], {"count": 3}, {"rows": [[n, n * n] for n in range(900)]}]
)
def test_what_a_tool_gave_is_never_nothing_and_counts_as_it_is_sent(loom, given):
    if "maker" not in {agent.name for agent in loom.agents()}:
        loom.add_agent("maker", model_ref="local:any")
    tree = loom.plant("Tool", "Make a directory.")
    call = ToolCall(id="c1", name="sh", arguments={"cmd": "mkdir a"})
    here = tree.root.say(Mixed((Text("I will."), call)), author="maker")
    here = from_history(loom, here, ToolResult(call_id="c1", content=given), Role.TOOL)
    found = here.context()
    assert [message.role.value for message in found.messages] == ["user", "assistant", "tool"]
    assert found.tokens >= len(json.dumps(given, separators=(",", ":"))) // 4
    assert here.context(limit=100).tokens <= 100


@covers("engine.every-decision-in-the-manifest", "dialogue.tool-results-follow-calls")
def test_a_call_that_is_left_out_beside_words_stands_in_the_manifest(loom):
    loom.add_agent("asker", model_ref="local:any")
    tree = loom.plant("Half", "Make a directory.")
    call = ToolCall(id="c1", name="sh", arguments={"cmd": "mkdir " * 20})
    here = tree.root.say(Mixed((Text("I will."), call)), author="asker")
    found = here.context()
    assert [message.text for message in found.messages] == ["Make a directory.", "I will.", "Continue."]
    for manifest in (found.manifest, here.manifest()):
        (entry,) = [each for each in manifest if each.id == here.local_id]
        assert (entry.outcome, entry.tokens) == ("kept", 2)
        assert entry.size > 30
        assert entry.reason == "fits, without a tool's call or result that has no other half"


@covers("fit.budget-never-exceeded", "step.cut-on-a-grid", "step.ruler-immutable")
def test_pictures_are_on_the_ruler(loom):
    loom.add_agent("namer", model_ref="local:any")
    here = loom.plant("Pictures", picture(loom)).root
    for name in ("a cat", "a dog", "a hen"):
        here = here.say(name, author="namer").say(picture(loom))
    here = here.say("a cow", author="namer").say("thanks")
    for limit in range(1_650, 6_600, 330):
        found = here.context(
            limit=limit, strategy="rollingWindow", step=0.25, preferences={"minimumRecentNodes": 1}
        )
        assert found.tokens <= limit
    assert here.context(limit=4_000, step=0.25).tokens > 1_600


@covers("buffer.concatenated", "manifest.entry-for-every-candidate")
def test_a_document_counts_only_what_it_says(loom):
    tree = loom.plant("Fox", "Once upon a time ", mode="buffer")
    tree.say(picture(loom))
    tree.say(Mixed((Thinking(text="I think " * 100), Text("there was a fox."))))
    leaf = tree.say(ToolCall(id="x", name="look", arguments={"q": "w " * 50}))
    found = leaf.context()
    assert found.document == "Once upon a time there was a fox."
    assert found.tokens <= 10
    assert leaf.context(limit=50, strategy="stopAtLimit").document == found.document
    excluded = [entry.reason for entry in found.manifest if entry.outcome == "excluded"]
    assert excluded == ["no words, and a document is words"] * 2
    aside = tree.root.say("aside")
    beside = leaf.context(context=[aside], instructions=[aside]).manifest
    assert [(entry.id, entry.outcome) for entry in beside if entry.id == aside.local_id] == [
        (aside.local_id, "excluded")
    ] * 2


@covers("manifest.diffable", "fit.recent-texts-shortened")
def test_what_is_planned_is_what_is_rendered_sources_too(loom):
    loom.add_agent("planner", model_ref="local:any")
    tree = loom.plant("Plan", "root")
    fact = tree.root.say("fact " * 400)
    here = tree.root.say("ans " * 30, author="planner").say("q " * 40)
    planned, rendered = here.manifest(limit=100, context=[fact]), here.context(limit=100, context=[fact])
    assert planned.tokens <= 100
    shortened = [(entry.id, entry.reason) for entry in planned if entry.outcome == "shortened"]
    assert shortened == [(e.id, e.reason) for e in rendered.manifest if e.outcome == "shortened"]
    assert (fact.local_id, "beside a recent node, and too large for the room") in shortened
    last = here.say("after " * 30).context(limit=60, preferences={"minimumRecentNodes": 1})
    assert last.tokens <= 60


@covers(
    "manifest.entry-for-every-candidate", "source.left-out-like-any-node", "fit.recent-nodes-always-there"
)
def test_sources_that_are_not_there_are_told_and_are_no_recent_nodes(loom):
    tree = loom.plant("Sources", "root " * 10)
    far, empty = tree.root.say("far " * 10), tree.root.say("")
    first = tree.root.say("first " * 40, context=[far])
    second = first.say("second " * 10)
    third = second.say("third " * 10, context=[empty])
    silent = third.say("silent " * 10, context=[far])
    silent.exclude()
    last = silent.say("last " * 10, context=[far])
    found = last.context(
        limit=120, preferences={"minimumRecentNodes": 2, "truncationStrategy": "rollingWindow"}
    )
    told = {(entry.id, entry.outcome, entry.reason) for entry in found.manifest}
    assert (far.local_id, "cut", "its message is over the budget") in told
    assert (empty.local_id, "excluded", "empty") in told
    words = " ".join(message.text for message in found.messages)
    assert "last" in words
    assert "third" in words


@covers("dialogue.nothing-to-send", "fit.stop-never-cuts")
def test_blank_input_is_no_input_unknown_options_are_refused_and_what_never_cuts_cuts_no_merge(loom):
    tree = loom.plant("Odd", "root")
    tree.root.exclude()
    with pytest.raises(InvalidInputError, match="nothing is left"):
        tree.root.context(text="  ")
    with pytest.raises(InvalidInputError, match="limits"):
        tree.root.context(limits=50)
    tree.root.include()
    one, two = tree.root.say("one " * 100), tree.root.say("two " * 200)
    merged = one.merge(two, content="both")
    found = merged.context(limit=400, strategy="stopAtLimit")
    assert not found.shortened


@covers("fit.tool-groups-whole", "fit.recent-nodes-always-there", "dialogue.tool-results-follow-calls")
def test_a_call_that_nobody_answered_takes_no_room_and_is_not_recent(loom):
    loom.add_agent("caller", model_ref="local:any")
    tree = loom.plant("Weather", "What is the weather?")
    asked = ToolCall(id="c", name="look", arguments={"town": "x" * 4_000})
    alone = tree.root.say(asked, author="caller")
    for strategy in ("truncateMiddle", "rollingWindow", "stopAtLimit"):
        found = alone.context(limit=100, strategy=strategy)
        assert [message.text for message in found.messages] == ["What is the weather?"]
        assert found.tokens == 5
    # The words beside it are sent, and they alone are paid for.
    said = tree.root.say(Mixed((Text("Let me look."), asked)), author="caller")
    assert said.context(limit=100).tokens == said.context().tokens < 20
    assert said.context(limit=100).messages[1].text == "Let me look."
    node = tree.root
    for number in range(60):
        node = node.say(f"line {number} " * 10, author="caller" if number % 2 == 0 else None)
    last = node
    for number in range(6):
        node = node.say(ToolCall(id=f"d{number}", name="look", arguments="y" * 400), author="caller")
    node = node.say(ToolResult(call_id="nobody", content="z" * 4_000))
    # Read from both ends: the chat before it stands as if the calls had never been made.
    assert node.context(limit=500).messages == last.context(limit=500).messages
    assert node.context(limit=500).tokens == last.context(limit=500).tokens


@pytest.mark.long
@covers("fit.budget-never-exceeded", "tokens.exact-where-installed")
@pytest.mark.parametrize(
    ("mode", "pieces"),
    [("buffer", ("{}   ",)), ("buffer", ("\ndon'tAAA", "don't \t -")), ("dialogue", ("{} \n", " x\t{}"))],
)
def test_an_exact_count_of_the_whole_stays_within_the_budget(loom, mode, pieces):
    tree = loom.plant("Table", "0   ", mode=mode)
    node = tree.root
    for number in range(80):
        node = node.say(pieces[number % len(pieces)].format(number))
    exact = estimator_of("openai:o200k_base")
    for strategy in ("rollingWindow", "truncateMiddle"):
        found = node.context(limit=60, estimator="openai:o200k_base", strategy=strategy)
        sent = found.document if mode == "buffer" else found.messages[0].text
        assert exact.of_text(sent) <= 60
        assert found.tokens == found.manifest.tokens <= 60
    whole = node.context(estimator="openai:o200k_base")
    assert whole.tokens >= exact.of_text(whole.document if mode == "buffer" else whole.messages[0].text)


@covers("manifest.diffable", "dialogue.additions-in-the-manifest", "manifest.outcomes")
def test_a_plan_tells_the_same_as_the_request_made_of_it(loom):
    loom.add_agent("teller", model_ref="local:any")
    tree = loom.plant("Told", "Well?")
    beside = tree.root.say("F" * 800)
    node = tree.root.say("Yes.", author="teller", context=[beside])
    node = node.say("And more.", author="teller")
    for number in range(30):
        call = ToolCall(id=f"t{number // 2}", name="look", arguments="here")
        node = node.say(call, author="teller") if number % 2 == 0 else node.say("no words from it")
        node = node.say(f"line {number} " * 9, author="teller" if number % 3 else None)
    node = node.say(Mixed((Text("So."), ToolCall(id="open", name="look", arguments={}))), author="teller")
    options = [{}, *({"limit": limit} for limit in (60, 200, 400, 700))]
    options += [{**each, "preferences": {"nameAuthors": True}} for each in options]
    options += [{"limit": 300, "text": "Go on.", "context": [beside]}, {"prefill": True}]
    options += [{"limit": 300, "strategy": "rollingWindow"}, {"limit": 300, "estimator": "openai:o200k_base"}]
    for each in options:
        assert list(node.manifest(**each)) == list(node.context(**each).manifest)


@covers("fit.preferences-overridable", "tokens.exact-where-installed", "tokens.calibration-frozen")
@pytest.mark.parametrize("name", ["nope", "openai:nope", "calibrated:x:y@9", "calibrated:x", ""])
def test_an_estimator_that_is_none_is_refused_when_it_is_preferred(loom, name):
    tree = loom.plant("Preferring", "Hello.")
    for prefer in (loom.prefer, tree.prefer):
        with pytest.raises((InvalidInputError, NotFoundError)):
            prefer(estimator=name)
    assert tree.context().tokens == 2
    for known in ("calibrated", "openai:o200k_base", "utf16/4", None):
        tree.prefer(estimator=known)
        assert tree.context().tokens


@covers("fit.marker-configurable")
def test_half_a_character_is_refused_where_it_is_given(loom):
    tree = loom.plant("Halves", "Hello.")
    for wrong in ({"truncationMarker": "\ud800"}, {"estimator": "\ud800"}):
        with pytest.raises(InvalidInputError):
            loom.prefer(**wrong)
    with pytest.raises(InvalidInputError, match="truncationMarker contains a lone surrogate at offset 1"):
        tree.context(preferences={"truncationMarker": "x\ud800"})
    with pytest.raises(InvalidInputError, match="text contains a lone surrogate"):
        tree.context(text="\ud800")
    with pytest.raises(InvalidInputError, match="text must be a string, got b'x'"):
        tree.context(text=b"x")


WRONG = {
    "limit": ["100", 1.5, float("nan"), True, -1],
    "window": ["8k", 1.5, -1, 0, float("inf")],
    "max_tokens": [-5, "5", 1.5],
    "agent": [5],
    "step": ["0.25", 2, float("nan")],
    "estimator": [5],
    "annotations": [None, 5, [5], "abc"],
    "text": [5, b"x"],
    "context": [5, [5], [None], "abc"],
    "instructions": [None, [5]],
    "preferences": [5, [], "x"],
    "prefix_cache": ["x"],
    "prefill": [5],
}


@covers("fit.limit-given", "fit.preferences-overridable")
def test_options_of_the_wrong_kind_are_refused_by_their_name(loom):
    tree = loom.plant("Wrong", "Hello.")
    for name, values in WRONG.items():
        for value in values:
            with pytest.raises(InvalidInputError, match=f"{name}|truncationStep"):
                tree.context(**{"limit": 100, name: value})
    with pytest.raises(InvalidInputError, match="context"):
        tree.context(context=tree.root)
    with pytest.raises(InvalidInputError, match="preferences"):
        tree.envelope(preferences=5)


@covers("fit.stop-error-says-how-much")
def test_the_source_that_weighs_most_is_named_and_not_what_it_stands_beside(loom):
    loom.add_agent("heavy", model_ref="local:any")
    tree = loom.plant("Heavy", "Question")
    file = tree.root.say("F" * 8_000)
    answer = tree.root.say("Answer", author="heavy", context=[file])
    with pytest.raises(ContextLimitError, match=rf"largest: {file.local_id} 2,\d+, \w+ 2"):
        answer.context(limit=100, strategy="stopAtLimit")


@covers("fit.recent-texts-shortened", "buffer.one-string")
def test_a_document_without_room_keeps_the_end_that_is_gone_on_from(loom):
    tree = loom.plant("Long", "beginning " + "w" * 4_000 + " the end", mode="buffer")
    assert tree.context(limit=4).document.endswith(" the end")
    talk = loom.plant("Talk", "beginning " + "w" * 4_000 + " the end")
    assert talk.context(limit=6).messages[0].text.startswith("beginning ")
    family = "👩\u200d👩\u200d👧"
    for limit in range(6, 60):
        said = loom.plant("Families", family * 90, mode="buffer").context(limit=limit).document
        assert set(said.replace(family, "")) <= set("\n[…]"), limit


@covers("fit.stop-error-says-how-much")
def test_stop_at_limit_names_the_heaviest_of_the_whole_path(loom):
    tree = loom.plant("Heavy", "x" * 4_000)
    for _ in range(30):
        tree.say("y" * 40)
    with pytest.raises(ContextLimitError) as refused:
        tree.context(limit=200, strategy="stopAtLimit")
    assert f"{tree.root.local_id} 1,000" in refused.value.message
    assert tree.context(limit=2_000, strategy="stopAtLimit").truncated is False


@covers("dialogue.nothing-to-send")
def test_nothing_left_to_send_is_said(loom):
    tree = loom.plant("Empty")
    with pytest.raises(InvalidInputError, match="nothing is left to send"):
        tree.context()
    assert loom.plant("Blank", mode="buffer").context().document == ""
    spoken = loom.plant("Excluded", "hello")
    spoken.root.exclude()
    with pytest.raises(InvalidInputError, match="1 excluded"):
        spoken.context()


def test_images_are_counted_without_being_read(loom):
    ref = loom.put_blob(b"\x89PNG\r\n\x1a\n")
    tree = loom.plant("Picture", "Look.")
    tree.say(Image(ref=ref, mime_type="image/png", width=1, height=1))
    assert tree.context().tokens == tree.context().manifest.tokens
    assert tree.context().tokens > 1_600
