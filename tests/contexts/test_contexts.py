"""Contexts over a store: what is planned from both ends of a path is what planning all of it would give."""

import json
import random
from dataclasses import replace

import pytest
from tests.attempts import RecordAttempt
from tests.covers import covers

from weft.context.engine import assemble, plan_context
from weft.context.request import ContextRequest, Pending, Profile
from weft.context.result import Context
from weft.context.rows import (
    Candidate,
    ExtraSource,
    PathOutline,
    Reason,
    least_of_content,
    reason_to_leave_out,
    tokens_of_content,
)
from weft.context.settings import resolve_preferences
from weft.context.system import Instruction, SystemParts
from weft.context.tokens import estimator_of
from weft.context.tool_pairs import tools_of
from weft.errors import InvalidInputError, NotFoundError, WeftError
from weft.runtime.contexts.options import ContextOptions
from weft.runtime.operations.node_values import ContentCache
from weft.runtime.operations.nodes import AppendHistory
from weft.tree.attempt import AttemptOutcome, RawResponse, Usage
from weft.tree.content import (
    Image,
    Mixed,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    holds_results,
    is_blank,
    kind_of,
    makes_calls,
)
from weft.tree.edge import EdgeType, SourceRole
from weft.tree.item import Item
from weft.tree.measure import measure_content
from weft.tree.node import Role
from weft.tree.tree import Mode

SENTENCES = ("Well.", "It depends on the thread, and on the hand that holds it. ", "織機は布を織る。", "😀 ")


def read_by_hand(grove, tree, leaf, *, estimator="default"):
    """The same path as light rows, made from whole nodes: nothing is left to reading in pieces."""
    estimator = estimator_of(estimator)
    rulers, rows, contents, instructions, ruler = {}, [], {}, [], 0
    nodes = {}

    def look(node_id):
        if node_id not in nodes:
            nodes[node_id] = grove.read.node(tree.id, node_id)
        return nodes[node_id]

    def reason(node):
        annotation = node.edge is not None and node.edge.type is EdgeType.ANNOTATION
        return reason_to_leave_out(node.metadata, annotation=annotation, node=node.id)

    dialogue = tree.mode is Mode.DIALOGUE
    for node in grove.read.path(tree.id, leaf):
        contents[node.id] = node.content
        first = grove.read.versions(tree.id, node.id)[0]
        ruler = rulers[node.id] = ruler + measure_content(first.content).tokens
        extras, primaries = [], 0
        for source in () if node.edge is None or not dialogue else node.edge.sources:
            other = look(source.node)
            primaries += source.role is SourceRole.PRIMARY
            if source.role is SourceRole.INSTRUCTION:
                instructions.append(
                    Instruction(
                        id=other.id,
                        local_id=other.local_id,
                        text=other.text,
                        edge=node.id,
                        left_out=reason(other),
                    )
                )
            elif source.role is SourceRole.CONTEXT or primaries > 1:
                contents[other.id] = other.content
                tokens = cost_of(other.content, estimator, dialogue=dialogue)
                extras.append(
                    ExtraSource(
                        other.id,
                        other.local_id,
                        source.role,
                        tokens,
                        kind_of(other.content),
                        reason(other),
                        least_of(other.content, estimator),
                    )
                )
        extras.sort(key=lambda each: each.role is SourceRole.PRIMARY)
        system = dialogue and node.role is Role.SYSTEM
        if system:
            instructions.append(
                Instruction(
                    id=node.id, local_id=node.local_id, text=node.text, edge=node.id, left_out=reason(node)
                )
            )
        rows.append(
            Candidate(
                node.id,
                node.local_id,
                "user" if node.role is Role.SYSTEM else node.role.value,
                cost_of(node.content, estimator, dialogue=dialogue),
                ruler,
                kind=kind_of(node.content),
                author=node.author_id,
                left_out=reason(node) or (Reason.IN_SYSTEM if system else None),
                sources=tuple(extras),
                least=least_of(node.content, estimator),
                asks=makes_calls(node.content),
                answers=holds_results(node.content),
                tools=tools_of(node.content),
            )
        )
    return rows, contents, tuple(instructions)


def cost_of(content, estimator, *, dialogue):
    return 0 if dialogue and is_blank(content) else tokens_of_content(content, estimator)


def least_of(content, estimator):
    return least_of_content(content, estimator) if isinstance(content, Mixed) else None


def outcome(make):
    try:
        return make()
    except WeftError as error:
        return type(error), error.message


def seen(found):
    if not isinstance(found, Context):
        return found
    return (
        found.system,
        found.messages,
        found.document,
        found.tokens,
        found.shortened,
        found.manifest.stored(),
    )


def wild_dialogue(grove, seed, length=45):
    """A conversation with everything in it: tools, merges, sources, system messages, exclusions, empties."""
    dice = random.Random(seed)
    if "bot" not in {agent.name for agent in grove.agents()}:
        grove.add_agent("bot", model_ref="local:any")
    tree = grove.plant(f"Wild {seed}", "Tell me about looms.", system_context="Be kind.")
    beside = [tree.root.say(dice.choice(SENTENCES) * dice.randrange(1, 30)) for _ in range(3)]
    beside[2].exclude()
    here = tree.root
    for number in range(length):
        words = dice.choice(SENTENCES) * dice.randrange(0, 25)
        here = dice.choice(TURNS)(grove, here, words, dice, beside, number)
        if dice.random() < 0.12:
            here.exclude()
    return tree, here


def picture(grove):
    return Image(ref=grove.put_blob(b"GIF89a"), mime_type="image/gif", width=1, height=1)


def from_history(grove, here, content, role):
    operation = AppendHistory(tree=here.value.tree_id, parent=here.id, content=content, role=role)
    return here.tree.node(grove.perform(operation).id)


def use_a_tool(grove, here, words, dice, _beside, number):
    call = ToolCall(id=f"c{number}", name="look", arguments={"at": words})
    here = here.say(Mixed((Thinking(text="Hm."), call)) if dice.random() < 0.5 else call, author="bot")
    for _ in range(dice.randrange(1, 3)):
        result = ToolResult(
            call_id=f"c{number}", content=dice.choice([words, words, "", 42, {"rows": [1, 2]}])
        )
        here = from_history(grove, here, result, Role.TOOL)
    return here


TURNS = [
    use_a_tool,
    lambda grove, here, words, *_: from_history(grove, here, words, Role.SYSTEM),
    lambda _, here, words, dice, beside, *__: here.say(words, context=dice.sample(beside, 2)),
    lambda _, here, words, dice, beside, *__: here.say(words, instructions=[dice.choice(beside)]),
    lambda _, here, words, dice, beside, *__: here.merge(dice.choice(beside[:2]), content=words),
    lambda _, here, words, *__: here.say(Mixed((Text(words or "a"), Text("and another block")))),
    lambda _, here, words, *__: here.say(" \n" * len(words[:3])),
    lambda grove, here, words, dice, *_: here.say(
        Mixed((Text(words or "a"), *[picture(grove)] * dice.randrange(1, 3)))
    ),
    lambda grove, here, *_: here.say(picture(grove)),
    lambda _, here, words, *__: here.say(
        Mixed((Thinking(text=words or "hm"), Text(words or "So it is."))), author="bot"
    ),
    *[lambda _, here, words, *__: here.say(words, author="bot")] * 3,
    *[lambda _, here, words, *__: here.say(words)] * 3,
]


def requests(dice, total):
    budgets = [0, 1, 5, 20, 60, total // 5, total // 3, total // 2, total - 1, total, total + 40]
    for budget in budgets + [dice.randrange(total + 1) for _ in range(10)]:
        strategy = dice.choice(["truncateMiddle", "truncateMiddle", "rollingWindow", "stopAtLimit"])
        yield (
            budget,
            {
                "truncationStrategy": strategy,
                "truncationStep": dice.choice([0, 0, 0.25, 0.1]),
                "minimumRecentNodes": dice.choice([0, 1, 4, 7]),
                "instructions": dice.choice(["path", "last"]),
            },
        )


@pytest.mark.long
@covers("engine.assemble", "cost.tail-is-one-query", "system.order", "source.instructions-along-the-path")
@pytest.mark.parametrize("seed", range(4))
def test_a_dialogue_read_from_both_ends_gives_what_all_of_it_gives(loom, seed):
    tree, leaf = wild_dialogue(loom, seed)
    rows, contents, instructions = read_by_hand(loom, tree, leaf.id)
    dice = random.Random(seed)
    total = sum(row.tokens for row in rows) + 200
    for budget, preferences in requests(dice, total):
        prefill = dice.random() < 0.3
        request = ContextRequest(
            mode=Mode.DIALOGUE,
            outline=PathOutline(tail=rows, start=0),
            budget=budget,
            window=4 * budget or None,
            system=SystemParts(tree="Be kind.", instructions=instructions),
            preferences=resolve_preferences(preferences),
            profile=Profile(prefill=prefill),
            pending=Pending(text="And now?" if prefill else ""),
        )
        expected = outcome(lambda request=request: assemble_dialogue(request, contents))
        found = outcome(
            lambda budget=budget, preferences=preferences, prefill=prefill: leaf.context(
                limit=budget,
                window=4 * budget or None,
                preferences=preferences,
                prefill=prefill,
                text="And now?" if prefill else None,
            )
        )
        assert _without_gaps(seen(found)) == _without_gaps(seen(expected)), (seed, budget, preferences)


def assemble_dialogue(request, contents):
    return assemble(replace(request, layered=True), contents)


def _without_gaps(told):
    """Halves of tool groups inside a range that was not read are part of it; read, they have a reason of their own."""
    if not isinstance(told, tuple) or len(told) != 6:
        return told
    manifest = told[-1]
    kept = [run for run in manifest["runs"] if run[1] not in {"cut", "excluded"}]
    halves = {Reason.TOOL_GROUP, Reason.UNPAIRED}
    excluded = [
        (each, run[2])
        for run in manifest["runs"]
        if run[0] == "node" and run[1] == "excluded" and run[2] not in halves
        for each in run[4]
    ]
    return (*told[:-1], {**manifest, "runs": kept}, excluded)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
@covers("buffer.concatenated", "engine.assemble")
def test_a_document_read_from_both_ends_gives_what_all_of_it_gives(loom, seed):
    dice = random.Random(seed)
    tree = loom.plant(f"Story {seed}", "Once", mode="buffer")
    nodes = [tree.say(dice.choice(SENTENCES) * dice.randrange(0, 9)) for _ in range(40)]
    for node in dice.sample(nodes, 8):
        version = node.edit(dice.choice(SENTENCES) * dice.randrange(0, 40))
        if dice.random() < 0.3:
            version.exclude()
    leaf = tree.cursor
    rows, contents, _ = read_by_hand(loom, tree, leaf.id)
    for budget, preferences in requests(dice, sum(row.tokens for row in rows) + 20):
        request = ContextRequest(
            mode=Mode.BUFFER,
            outline=PathOutline(tail=rows, start=0),
            budget=budget,
            preferences=resolve_preferences(preferences),
        )
        expected = outcome(lambda request=request: assemble(request, contents))
        found = outcome(
            lambda budget=budget, preferences=preferences: leaf.context(limit=budget, preferences=preferences)
        )
        assert _without_gaps(seen(found)) == _without_gaps(seen(expected)), (seed, budget, preferences)


@pytest.fixture(scope="module")
def chat(loom):
    """A long chat, and its last node."""
    if "bot" not in {agent.name for agent in loom.agents()}:
        loom.add_agent("bot", model_ref="local:any")
    loom.add_agent(
        "sage", model_ref="local:any", system_prompt=" Be brief. ", custom={"contextWindow": 3_000}
    )
    tree = loom.plant("Chat", "What is a loom?", system_context="You are kind.")
    here = tree.root
    for number in range(60):
        here = here.say(f"answer {number} " * 20, author="bot").say(f"question {number} " * 20)
    return here.switch()


@covers("system.order", "fit.input-budget")
def test_the_agent_that_would_answer_brings_its_prompt_and_its_window(loom, chat):
    found = chat.context(agent="sage")
    assert found.system == "Be brief.\n\nYou are kind."
    assert found.budget == 3_000 - 1_024
    assert found.truncated
    assert chat.context(agent="sage", max_tokens=2_000).budget == 1_000
    assert chat.context(agent="sage", limit=500).budget == 500
    with pytest.raises(NotFoundError):
        chat.context(agent="nobody")


@covers("fit.preferences-overridable")
def test_the_tree_overrides_the_grove_and_the_call_the_tree(fresh_loom):
    tree = fresh_loom.plant("Settings", "Hello")
    for number in range(20):
        tree.say(f"word {number} " * 10)
    settings = lambda **call: tree.cursor.context(limit=200, **call).manifest.facts.settings  # noqa: E731
    assert settings()["truncationStrategy"] == "truncateMiddle"
    fresh_loom.prefer(truncation_strategy="rollingWindow", minimum_recent_nodes=2)
    assert settings()["truncationStrategy"] == "rollingWindow"
    tree = tree.prefer(minimumRecentNodes=1)
    assert (settings()["minimumRecentNodes"], settings()["truncationStrategy"]) == (1, "rollingWindow")
    assert settings(preferences={"minimumRecentNodes": 3})["minimumRecentNodes"] == 3
    assert settings(strategy="truncateMiddle")["truncationStrategy"] == "truncateMiddle"
    assert fresh_loom.preferences == {"truncationStrategy": "rollingWindow", "minimumRecentNodes": 2}
    tree = tree.prefer(minimum_recent_nodes=None)
    assert settings()["minimumRecentNodes"] == 2
    fresh_loom.undo()
    assert fresh_loom.preferences == {}
    fresh_loom.redo()
    assert fresh_loom.preferences == {"truncationStrategy": "rollingWindow", "minimumRecentNodes": 2}
    assert fresh_loom.verify().valid


@pytest.mark.parametrize(
    "settings",
    [{"nonsense": 1}, {"truncation_strategy": "middle"}, {"token_buffer": -1}, {"truncation_step": 2}],
)
def test_a_preference_that_cannot_be_is_refused_and_nothing_changes(loom, chat, settings):
    before = loom.preferences
    with pytest.raises(InvalidInputError):
        loom.prefer(**settings)
    with pytest.raises(InvalidInputError):
        chat.tree.prefer(**settings)
    with pytest.raises(InvalidInputError):
        chat.context(preferences=settings)
    assert loom.preferences == before
    assert chat.tree.value.preferences == {}


def test_without_a_limit_or_a_window_everything_is_kept(chat):
    found = chat.context()
    assert not found.truncated
    assert len([entry for entry in found.manifest if entry.kind == "node"]) == 121
    assert "of" not in repr(found)


@covers("buffer.working-buffer-last", "buffer.system-context-only-if-asked")
def test_a_document_ends_with_what_is_typed_where_its_writer_stands(loom):
    tree = loom.plant("Fox", "Once", mode="buffer", system_context="In verse.")
    first = tree.say(" upon")
    last = tree.say(" a time")
    tree.type(" there")
    assert tree.context().document == "Once upon a time there"
    assert tree.context().system == ""
    assert last.context().document == "Once upon a time there"
    assert first.context().document == "Once upon"
    assert tree.context(text=" was").document == "Once upon a time was"
    told = loom.plant(
        "Hen", "Once", mode="buffer", system_context="In verse.", buffer_mode_system_context=True
    )
    assert (told.context().system, told.context().document) == ("In verse.", "Once")


@covers("source.pending-generation", "exclusion.annotations-on-request")
def test_sources_that_come_with_a_generation_stand_before_it(loom):
    tree = loom.plant("Sources", "Compare.")
    fact, rule = tree.root.say("Wool is warm."), tree.root.say("Answer in French.")
    here = tree.root.say("Go on.")
    found = here.context(context=[fact], instructions=[rule.local_id])
    assert found.system == "Answer in French."
    assert "Wool is warm." in found.messages[-1].text
    assert found.messages[-1].text.endswith("Go on.")
    note = here.annotate("Mind the gap.")
    assert "Mind the gap." not in note.context().messages[-1].text
    assert "Mind the gap." in note.context(annotations=True).messages[-1].text
    assert "Mind the gap." in note.context(annotations=[note]).messages[-1].text
    with pytest.raises(InvalidInputError):
        here.context(context="abcd")


@covers("source.own-message")
@pytest.mark.parametrize("way", ["plain", "layered", "loom-aware"])
def test_the_ways_of_a_merge_are_read_in_order_before_what_was_said_of_them(loom, way):
    permissions = ["loom_aware"] if way == "loom-aware" else None
    model = loom.add_agent(f"Way {way}", model_ref="local:any", permissions=permissions)
    tree = loom.plant("Ways", "Which way?")
    one, two = tree.root.say("Over the hill.", author=model.id), tree.root.say("By the sea.", author=model.id)
    merged = one.merge(two, content="The first is steep, the second is long.")
    if way == "layered":
        merged.attach(Item(id="note.md", type="note", content="Wind from the north."))
    text = [message.text for message in merged.context(agent=model.id).messages]
    assert "Which way?" in text[0]
    assert "Over the hill." in text[1]
    assert text[2].index("By the sea.") < text[2].index("The first is steep")
    assert ("Wind from" in "".join(text)) is (way == "layered")


@covers("exclusion.annotations", "exclusion.annotations-on-request", "exclusion.reason-in-the-manifest")
def test_notes_on_the_path_stand_before_their_message_where_they_are_wanted(loom):
    tree = loom.plant("Notes", "What is a loom?")
    one, other = tree.root.annotate("He means the tool."), tree.root.annotate("Or the process?")
    other.exclude()
    last = tree.root.say("And a weft?")
    late = last.annotate("Patience.")
    plain = last.context()
    assert "tool" not in plain.messages[0].text
    left = {entry.id: entry.reason for entry in plain.manifest if entry.outcome == "excluded"}
    assert left == {one.local_id: "annotation", other.local_id: "excluded", late.local_id: "annotation"}
    with_all = last.context(annotations=True).messages[0].text
    assert with_all.index("He means the tool.") < with_all.index("What is a loom?")
    assert with_all.index("What is a loom?") < with_all.index("Patience.") < with_all.index("And a weft?")
    assert "process" not in with_all
    with_one = last.context(annotations=[late.local_id]).messages[0].text
    assert "Patience." in with_one
    assert "tool" not in with_one
    assert last.context(annotations=True, limit=30).tokens <= 30


def test_an_edit_that_brings_instructions_into_a_document_is_heeded(loom):
    from weft.runtime.operations.edits import Edit
    from weft.tree.edge import Source

    tree = loom.plant("Edited", "Once", mode="buffer", buffer_mode_system_context=True)
    rule = tree.root.say("In verse.")
    middle = tree.root.say(" upon")
    last = middle.say(" a time")
    assert last.context().system == ""
    loom.perform(
        Edit(
            tree=tree.id,
            node=middle.id,
            content=" under",
            sources=(Source(rule.id, SourceRole.INSTRUCTION),),
        )
    )
    assert (last.context().system, last.context().document) == ("In verse.", "Once under a time")


@covers("manifest.diffable", "cost.planning-reads-light-columns")
def test_what_other_settings_would_drop_is_answered_without_reading_texts(loom, chat):
    contents = loom.caller.executor.contents
    contents.clear()
    with loom.contexts.pinned() as contexts_now, contexts_now.opened(chat.value.tree_id) as opened:
        plans = [
            plan_context(
                contexts_now.gather(opened, chat.id, ContextOptions(limit=800, **each), None).request
            )
            for each in ({}, {"strategy": "rollingWindow"})
        ]
    assert not contents._contents._values
    assert plans[0].sent != plans[1].sent
    middle, rolling = chat.manifest(limit=800), chat.manifest(limit=800, strategy="rollingWindow")
    changes = middle.diff(rolling)
    assert {(change.before, change.after) for change in changes} >= {
        ("kept", "cut"),
        ("cut", "kept"),
    }
    rendered = chat.context(limit=800).diff(chat.context(limit=800, strategy="rollingWindow"))
    assert list(changes) == list(rendered)


@covers("cost.texts-of-kept-nodes-only")
def test_texts_are_read_for_what_is_kept_and_kept_at_hand(loom, chat):
    contents = loom.caller.executor.contents
    contents.clear()
    found = chat.context(limit=800)
    kept = sum(count for outcome, (count, _) in found.manifest.totals().items() if outcome == "kept")
    assert len(contents._contents._values) <= kept
    again = chat.context(limit=800)
    assert again == found


def test_a_destroyed_tree_leaves_nothing_in_memory(fresh_loom):
    tree = fresh_loom.plant("Gone", "a secret")
    tree.context()
    assert fresh_loom.caller.executor.contents._contents._values
    tree.delete(confirm=tree.id)
    assert not fresh_loom.caller.executor.contents._contents._values


def test_the_contents_at_hand_stay_within_their_room(loom, chat):
    small = ContentCache(room=3_000)
    narrow = replace(loom.contexts, cache=small)
    wide = chat.context()
    assert narrow.at(chat.value.tree_id, chat.id, ContextOptions()) == wide
    assert small._contents._used <= 3_000
    assert 0 < len(small._contents._values) < 60


def test_an_estimator_that_needs_texts_gets_them(loom, chat):
    counted = chat.context(limit=800, estimator=lambda text: len(text.split()))
    assert counted.tokens <= 800
    assert counted.tokens == counted.manifest.tokens
    assert chat.context(limit=800, preferences={"estimator": "utf16/4"}).tokens <= 800
    with pytest.raises(InvalidInputError, match="estimator"):
        chat.context(limit=800, preferences={"estimator": "guess"})


@pytest.mark.outer
@covers("tokens.calibrated", "tokens.calibration-frozen", "tokens.calibration-needs-eight")
def test_what_providers_counted_is_learned_as_numbered_versions(fresh_loom):
    model = "local:any"
    fresh_loom.add_agent("bot", model_ref=model, max_tokens=64)
    tree = fresh_loom.plant("Usage", "What is a loom? " * 30)

    def call(ratio, **options):
        context = tree.root.context(agent="bot", **options)
        manifest = json.dumps(context.manifest.stored()).encode()
        usage = Usage(prompt=int(context.tokens * ratio))
        response = RawResponse(body=b"{}", provider="local", model="any", usage=usage)
        fresh_loom.perform(
            RecordAttempt(
                tree=tree.id,
                parent=tree.root.id,
                agent="bot",
                outcome=AttemptOutcome.COMPLETE,
                segments=[b"{}"],
                manifest=manifest,
                response=response,
            )
        )
        return context

    plain = tree.root.context(agent="bot")
    for _ in range(7):
        call(1.5)
    assert fresh_loom.calibrate(model) is None
    by_name = {"preferences": {"estimator": "calibrated"}}
    assert tree.root.context(agent="bot", **by_name) == plain
    call(1.5)
    first = fresh_loom.calibrate(model)
    assert (first.version, first.samples) == (1, 8)
    assert 1_450 <= first.thousandths <= 1_500
    learned = call(1.0, **by_name)
    assert learned.tokens == pytest.approx(plain.tokens * 1.5, rel=0.05)
    assert learned.manifest.facts.settings["estimator"] == "calibrated:local:any@1"
    assert fresh_loom.calibrate(model) == first, "the same lesson is no new version"
    for _ in range(40):
        call(2.0)
    assert fresh_loom.calibrate(model).version == 2
    old = {"preferences": {"estimator": "calibrated:local:any@1"}}
    assert tree.root.context(agent="bot", **old).tokens == learned.tokens
    assert tree.root.context(agent="bot", **by_name).tokens > learned.tokens
    for wrong in ("calibrated:local:any@9", "calibrated:local:any", "calibrated:@1"):
        with pytest.raises(WeftError):
            tree.root.context(agent="bot", preferences={"estimator": wrong})
    with pytest.raises(InvalidInputError):
        fresh_loom.calibrate("any")
    assert fresh_loom.verify().valid


def test_who_may_not_look_sees_no_context(loom, chat):
    from weft.errors import PermissionDeniedError

    with pytest.raises(PermissionDeniedError):
        loom.acting_as("bot").contexts.at(chat.value.tree_id, chat.id, _options())


def _options():
    from weft.runtime.contexts.options import ContextOptions

    return ContextOptions()


@covers("manifest.returned-with-every-assembly")
def test_contexts_show_themselves(chat):
    found = chat.context(limit=800)
    assert repr(found) == f"<Context {found.tokens:,} of 800 tokens, {found.removed_nodes} left out>"
    page = found._repr_html_()
    assert "over the budget" in page
    assert "<script" not in page
    rolling = chat.context(limit=800, strategy="rollingWindow")
    assert "kept → cut" in repr(found.diff(rolling))
    assert "kept → cut" in found.diff(rolling)._repr_html_()
    assert repr(found.diff(found)) == "no difference"


def test_two_nodes_are_compared_where_they_part(loom):
    tree = loom.plant("Fork", "Tell me a story.")
    one = tree.root.say("Once upon a time there was a fox.")
    other = tree.root.say("Once upon a hill there was a hen.")
    found = one.diff(other)
    assert (found.common, found.one_beyond, found.other_beyond) == (tree.root.local_id, 1, 1)
    assert str(found) == "Once upon a [-time-]{+hill+} there was a [-fox-]{+hen+}."
    assert one.diff(one).same
    further = other.say("It ran.")
    assert str(one.diff(further, paths=True)).endswith("{+hen.\n\nIt ran+}.")
    assert "<del>time</del>" in found._repr_html_()
