"""Summaries: what a model is asked, when, and what there is without one."""

import signal
import subprocess
import sys

import orjson
import pytest
from tests.covers import covers
from tests.generation.stage import attempts, count, grove_with
from tests.soundness import check_sound

import weft
from weft.context.manifest import Manifest
from weft.errors import ProviderError, Trouble
from weft.providers.base import ModelPrices, ProviderRegistry, installed_providers
from weft.providers.keys import Keys
from weft.providers.scripted import PROFILE
from weft.runtime.operations.due_summaries import queue_missing
from weft.runtime.summaries.summariser import NODE, TREE
from weft.runtime.summaries.summary_models import summary_models
from weft.store import schema
from weft.store.jobs import drop_waiting
from weft.store.lookup import find_tree
from weft.store.request_records import manifest_of, request_segments
from weft.store.rows import OUTCOMES
from weft.testing import Reply, Scripted
from weft.tree.snippet import extract, is_extract
from weft.tree.tree import Mode

SEEDS_NODE = """\
Given this conversation context:
---
Tree: {tree.title}
Previous: {parent.summary or parent.content}
---

Summarize the following message in ONE sentence (max 30 words).
Capture the key point, action, or decision. Be specific, not generic.

Message: {node.content}"""
SEEDS_TREE = """\
This is a branching conversation tree. The user describes it as:
"{tree.description}"

Key node summaries from the main path:
{node_summaries}

Branch points explored: {branch_count}

Summarize this tree's purpose and main themes in 2 sentences."""


@pytest.fixture
def model():
    return Scripted(lambda request, _choice: f"About\n{len(request.messages[0].text)}")


@pytest.fixture
def grove(file_address, model):
    with grove_with(file_address, model) as opened:
        opened.summaries.choose_model("scripted:small")
        yield opened


def asked(model):
    return model.requests[-1].messages[0].text


@covers("summary.templates-exact")
def test_the_templates_are_the_words_that_were_given():
    slots = {"tree.title": "title", "parent.summary or parent.content": "previous", "node.content": "content"}
    expected = SEEDS_NODE
    for theirs, ours in slots.items():
        expected = expected.replace(f"{{{theirs}}}", f"{{{ours}}}")
    assert expected == NODE
    assert SEEDS_TREE.replace("tree.description", "description") == TREE


@covers("summary.on-demand", "summary.at-most-fifty-tokens", "summary.model-overridable")
def test_a_summary_is_made_when_it_is_needed_and_kept(grove, model):
    node = grove.plant("Tea").say("Let it steep.")
    first = node.summarise()
    assert first == node.refresh().value.summary
    assert "\n" not in first
    assert node.summarise() == first
    assert len(model.requests) == 1
    assert model.requests[0].parameters.max_tokens == 50
    node.summarise(refresh=True)
    assert len(model.requests) == 2
    check_sound(grove)


@covers("summary.node", "summary.short-node-adds-grandparent", "summary.template-slots")
def test_a_node_is_summarised_with_what_came_before_it(grove, model):
    tree = grove.plant("Tea", "The kettle sings.")
    tree.root.summarise()
    assert "Tree: Tea\nPrevious: (start)\n---" in asked(model)
    parent = tree.root.say("Then pour.")
    short = parent.say("And wait.")
    short.summarise()
    # The root has a summary by now; the parent has not.
    assert f"Previous: {tree.root.value.summary}\nThen pour.\n---" in asked(model)
    assert asked(model).endswith("Message: And wait.")
    long = parent.say("word " * 100)
    long.summarise()
    assert "Previous: Then pour.\n---" in asked(model)


def first_words(request, _choice):
    """A model that makes of a message its first sentence."""
    _, message, said = request.messages[0].text.partition("Message: ")
    return f"Of {said.split('.')[0]}." if message else "All of it."


@covers("summary.tree", "summary.template-slots", "summary.on-demand", "tree.described-fields")
def test_a_tree_is_summarised_from_its_path_and_its_branch_points(file_address):
    model = Scripted(first_words)
    with grove_with(file_address, model) as grove:
        grove.summaries.choose_model("scripted:small")
        tree = grove.plant("Tea", "First. More.", description="All about tea")
        fork = tree.root.say("A fork. Here.")
        other = fork.say("Not this. One.")
        fork.say("This. One.").switch()
        left = other.say("Left.")
        other.say("Right.")
        tree.node(fork.id).children[1].switch()
        fork.summarise()
        assert tree.summarise() == tree.refresh().value.summary == "All of it."
        text = asked(model)
        assert '"All about tea"' in text
        assert (
            "main path:\nOf First.\nOf A fork.\nOf This.\nOf Not this.\n\nBranch points explored: 2" in text
        )
        # What was missing was made and is kept, each once, and only what the tree's needed.
        assert len(model.requests) == 5
        assert [node.summary for node in tree.path.nodes] == ["Of First.", "Of A fork.", "Of This."]
        assert tree.node(other.id).value.summary == "Of Not this."
        assert tree.node(left.id).value.summary is None
        tree.summarise(refresh=True)
        assert len(model.requests) == 6
        check_sound(grove)


@covers("summary.on-demand", "summary.extractive")
def test_a_model_that_fails_is_not_asked_for_every_node_of_a_tree(file_address):
    model = Scripted(lambda *_: ProviderError(Trouble.AUTHENTICATION, "who are you?"))
    with grove_with(file_address, model) as grove:
        grove.summaries.choose_model("scripted:small")
        tree = grove.plant("Tea", "Root.")
        for number in range(8):
            tree.say(f"Turn {number}.")
        assert is_extract(tree.summarise())
        # The first node's, and the tree's.
        assert len(model.requests) == 2
        assert [node.summary for node in tree.path.nodes[1:]] == [None] * 8
        grove.summaries.choose_model("none")
        tree.summarise(refresh=True)
        assert [node.summary for node in tree.path.nodes[1:]] == [f"[extract] Turn {n}." for n in range(8)]


@covers("summary.kept-tidy")
@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("It is\0 about\x07 tea.\n", "It is about tea."),
        ("Half \ud83d a face \N{SLIGHTLY SMILING FACE}", "Half a face \N{SLIGHTLY SMILING FACE}"),
        ("word " * 1_000, "word " * 98 + "word…"),
        ("x" * 5_000, "x" * 499 + "…"),
        ("\0\n", "[extract] Let it steep."),
    ],
)
def test_what_a_model_says_is_made_fit_to_be_kept(file_address, said, kept):
    with grove_with(file_address, Scripted(lambda *_: Reply(chunks=(said,)))) as grove:
        grove.summaries.choose_model("scripted:small")
        tree = grove.plant("Tea", "Let it steep.")
        document = grove.write_document("Notes", "Let it steep.")
        assert [each.summarise() for each in (tree.root, tree, document)] == [kept] * 3
        assert tree.root.refresh().value.summary == kept
        check_sound(grove)


@covers("provider.broken-keeps-no-others")
def test_keys_that_cannot_be_read_leave_the_other_models(monkeypatch, tmp_path):
    monkeypatch.setattr("weft.runtime.summaries.summary_models._is_installed", lambda: True)
    path = tmp_path / "keys.json"
    path.write_text("{")
    path.chmod(0o600)
    keys = Keys(environment={"OPENAI_API_KEY": "k"}, ring=lambda: None, file=lambda: path)
    found = [str(name) for name in summary_models({}, installed_providers(), keys)]
    assert found == ["openai:gpt-4o-mini", "openai:gpt-5-mini", "local:smollm2"]


@covers("summary.extractive")
def test_without_a_model_the_first_sentence_stands_for_the_whole_and_says_so(file_address):
    with grove_with(file_address, Scripted()) as grove:
        node = grove.plant("Tea").say("Let it steep. Then pour.")
        assert node.summarise() == "[extract] Let it steep."
        assert is_extract(node.refresh().value.summary)
        check_sound(grove)
    assert extract("") == extract("  \n") == ""
    assert extract("# A title without an end") == "[extract] A title without an end"
    assert len(extract("x " * 10_000)) < 220


@covers("summary.node", "summary.tree")
def test_what_is_written_is_summarised_in_the_background_and_the_tree_every_ten_nodes(address, model):
    with grove_with(address, model) as grove:
        grove.summaries.choose_model("scripted:small")
        summarise_ten(grove)


def summarise_ten(grove):
    grove.summaries.work_off()
    tree = grove.plant("Tea", "Root.")
    for number in range(8):
        tree.say(f"Turn {number}.")
    assert grove.summaries.work_off() == 9
    assert tree.refresh().value.summary is None
    tree.say("Turn 8.")
    # One for the node, and one for the tree, which has ten now.
    assert grove.summaries.work_off() == 2
    assert tree.refresh().value.summary is not None
    assert all(node.summary is not None for node in tree.path.nodes)
    assert grove.summaries.work_off() == 0
    assert count(grove, schema.jobs) == 0
    check_sound(grove)


def waiting(grove):
    """Targets of the summaries that are due, by key; None is the tree."""
    return [job.target for job in grove.jobs.all(kind="summarise")]


WRITES = {
    "planted root": lambda tree: tree.root,
    "say": lambda tree: tree.say("Then pour."),
    "annotate": lambda tree: tree.root.annotate("Why?"),
    "edit": lambda tree: tree.root.say("Wait.").edit("Then pour."),
    "merge": lambda tree: tree.merge([tree.root.say("One."), tree.root.say("Other.")], "Both."),
    "split": lambda tree: tree.root.say("Wait. Pour.").split("Pour")[1],
    "join": lambda tree: (tree.root.say("Wait."), tree.say("Pour."))[0].join(),
    "generate": lambda tree: tree.root.generate(agent="Echo")[0],
}


@covers("summary.due-row", "summary.node")
@pytest.mark.parametrize("write", WRITES)
def test_every_way_to_write_a_node_queues_its_summary_with_it(address, model, write):
    with grove_with(address, model) as grove:
        grove.summaries.choose_model("scripted:small")
        tree = grove.plant("Tea", "Let it steep.")
        node = WRITES[write](tree)
        with grove.caller.executor.store.read() as session:
            keys = {row.ulid: row.key for row in session.execute(schema.nodes.select())}
        assert keys[node.id] in waiting(grove)
        grove.summaries.work_off()
        assert tree.node(node.id).value.summary is not None
        assert waiting(grove) == []


@covers("summary.due-row", "summary.node")
def test_text_that_a_switch_commits_is_due(grove):
    tree = grove.plant("Tea", "Let it steep.", mode=Mode.BUFFER)
    grove.summaries.work_off()
    tree.say("First.")
    tree.type("Then pour.")
    tree.root.switch()
    assert grove.summaries.work_off() == 2
    (committed,) = tree.root.children[0].children
    assert committed.text == "Then pour."
    assert committed.value.summary is not None


@covers("summary.due-row")
def test_nodes_that_say_nothing_are_not_due(grove):
    tree = grove.plant("Tea")
    tree.say(" \n ")
    assert waiting(grove) == []


@covers("summary.due-row")
def test_imported_nodes_without_summaries_are_due_except_excluded_ones(grove, model, tmp_path):
    tree = grove.plant("Tea", "Let it steep.")
    tree.root.summarise()
    tree.say("Then pour.")
    tree.say("A secret.").exclude()
    grove.export(tmp_path / "tea.json", [tree])
    with grove_with(str(tmp_path / "other.db"), model) as other:
        other.import_(tmp_path / "tea.json")
        assert waiting(other) == [2]
        other.summaries.choose_model("scripted:small")
        assert other.summaries.work_off() == 1
        imported = [other.tree(tree.id).node(node.id).value for node in tree.path.nodes]
        assert [node.summary is not None for node in imported] == [True, True, False]
        check_sound(other)


SPEAK = """
import os, signal, sys, weft
grove = weft.open(sys.argv[1], background=False)
grove.plant("Tea", "Let it steep.").say("Then pour.")
os.kill(os.getpid(), signal.SIGKILL)
"""


@covers("summary.due-row", "job.durable")
def test_a_process_killed_right_after_say_leaves_the_summary_to_a_later_one(address, model):
    ended = subprocess.run([sys.executable, "-c", SPEAK, address], check=False, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    with grove_with(address, model) as grove:
        grove.summaries.choose_model("scripted:small")
        assert grove.summaries.work_off() == 2
        (tree,) = grove.trees()
        assert all(node.summary is not None for node in grove.tree(tree.id).path.nodes)


@covers("summary.due-row")
def test_a_command_that_ends_at_once_leaves_the_summary_to_a_later_process(tmp_path, model):
    address = str(tmp_path / "grove.db")
    for words in (["new", "Tea"], ["say", "Then pour."]):
        subprocess.run(
            [sys.executable, "-m", "weft.cli", *words, "--grove", address], check=True, capture_output=True
        )
    with grove_with(address, model) as grove:
        grove.summaries.choose_model("scripted:small")
        assert grove.summaries.work_off() == 1
        (tree,) = grove.trees()
        assert grove.tree(tree.id).cursor.value.summary is not None


@covers("summary.due-row")
def test_missing_summaries_are_queued_once_unless_they_were_tried(address):
    down = Scripted(lambda *_: ProviderError(Trouble.SERVER_ERROR, "down"))
    with grove_with(address, down) as grove:
        tree = grove.plant("Tea", "Let it steep.")
        nodes = [tree.root, tree.say("Pour."), tree.say(" "), tree.say("A secret.").exclude()]
        assert grove.summaries.work_off() == 3
        grove.summaries.choose_model("scripted:small")
        written = [tree.say(f"Turn {number}.") for number in range(3)]
        assert grove.summaries.work_off(1) == 1
        ids = [node.id for node in (*nodes, *written)]
        for _ in range(2):
            grove.caller.executor.store.write(
                lambda transaction: queue_missing(transaction, tree_key(grove, tree), ids, now=1)
            )
        # The first two have extracts, two have nothing to send, one was tried and waits for its next try.
        assert sorted(waiting(grove)) == [5, 6, 7]
        retried = [job.target for job in grove.jobs.all() if job.attempts]
        assert retried == [5]


@covers("summary.due-row", "summary.assembly-asks-no-model")
def test_a_generation_queues_what_its_context_showed_as_extracts_and_a_preview_does_not(address):
    model = Scripted(lambda *_: "Yes.")
    with grove_with(address, model) as grove:
        grove.add_agent("Loomer", model_ref="scripted:echo", permissions=["loom_aware"])
        tree = grove.plant("Tea", "Let it steep. " * 30)
        for number in range(40):
            tree.say(f"Turn {number} is about tea. " + "It goes on. " * 40)
        grove.caller.executor.store.write(lambda transaction: drop_waiting(transaction, "summarise"))
        shown = tree.context(agent="Loomer", limit=3_000)
        assert shown.unsummarised
        assert waiting(grove) == []
        assert model.requests == []
        (node,) = tree.generate(agent="Loomer", limit=3_000)
        with grove.caller.executor.store.read() as session:
            keys = {row.ulid: row.key for row in session.execute(schema.nodes.select())}
        assert sorted(waiting(grove)) == sorted(keys[each] for each in (*shown.unsummarised, node.id))
        assert len(model.requests) == 1


def tree_key(grove, tree):
    with grove.caller.executor.store.read() as session:
        return find_tree(session, tree.id)


@covers("summary.excluded-not-sent")
def test_an_excluded_or_pruned_node_is_sent_only_by_name(address):
    model = Scripted(first_words)
    with grove_with(address, model) as grove:
        grove.summaries.choose_model("scripted:small")
        tree = grove.plant("Tea", "Let it steep.")
        secret = tree.say("The safe is behind the mirror.")
        secret.summarise()
        secret.exclude()
        after = tree.say("Then pour.")
        tree.say("Drink.")
        tree.node(after.id).say("Not this.").prune()
        grove.summaries.work_off()
        tree.summarise()
        sent = [request.messages[0].text for request in model.requests[1:]]
        assert not any("mirror" in text or "Not this" in text for text in sent)
        assert sent[1].endswith("Message: Then pour.")
        assert "Previous: Of Let it steep.\n---" in sent[1]
        assert "main path:\nOf Let it steep.\nOf Then pour.\n\n" in sent[-1]
        assert len(sent) == 4
        secret.summarise(refresh=True)
        assert asked(model).endswith("Message: The safe is behind the mirror.")


@covers("summary.document")
def test_closing_a_document_that_was_not_edited_makes_no_call(grove, model):
    document = grove.write_document("Notes", "Some words.")
    document.close()
    assert grove.summaries.work_off() == 1
    document.close()
    assert grove.summaries.work_off() == 0
    saved = document.save("Other words.")
    saved.summarise(refresh=True)
    saved.close()
    assert grove.summaries.work_off() == 0
    grove.undo()
    grove.document("Notes").close()
    assert grove.summaries.work_off() == 1
    assert asked(model).endswith("Document: Some words.")


@covers("summary.due-row")
def test_switched_on_again_summaries_begin_with_what_is_written_then(grove):
    grove.summaries.switch(on=False)
    tree = grove.plant("Tea", "Let it steep.")
    grove.summaries.switch(on=True)
    tree.say("Then pour.")
    assert waiting(grove) == [2]


@covers("summary.document", "summary.tree")
def test_closing_a_document_or_a_tree_has_it_summarised_again(grove, model):
    document = grove.write_document("Notes", "Some words.")
    document.close()
    grove.summaries.work_off()
    first = grove.document("Notes").value.summary
    assert asked(model).endswith("Document: Some words.")
    document.save("Other words, and more.").close()
    grove.summaries.work_off()
    assert grove.document("Notes").value.summary != first
    tree = grove.plant("Tea", "Root.")
    tree.close()
    grove.summaries.work_off()
    assert tree.refresh().value.summary is not None
    check_sound(grove)


@covers("job.failure-blocks-no-write")
def test_a_model_that_fails_keeps_nobody_from_writing_and_the_job_for_later(file_address):
    model = Scripted(lambda *_: ProviderError(Trouble.SERVER_ERROR, "down", retry_after=10_000))
    with grove_with(file_address, model) as grove:
        grove.summaries.choose_model("scripted:small")
        grove.summaries.work_off()
        tree = grove.plant("Tea")
        node = tree.say("Let it steep.")
        assert grove.summaries.work_off() == 1
        tree.say("More.")
        (_, job) = grove.jobs.all()
        assert (job.kind, job.attempts, job.error) == ("summarise", 1, "ProviderError: down")
        assert node.refresh().value.summary is None


@covers("summary.model-preference")
def test_the_models_are_tried_in_their_order_where_there_is_a_key(monkeypatch, tmp_path):
    registry = installed_providers()
    monkeypatch.setattr("weft.runtime.summaries.summary_models._is_installed", lambda: True)

    def order(**environment):
        keys = Keys(environment=environment, ring=lambda: None, file=lambda: tmp_path / "keys.json")
        return [str(name) for name in summary_models({}, registry, keys)]

    assert order() == ["local:smollm2"]
    assert order(OPENAI_API_KEY="k")[0] == "openai:gpt-4o-mini"
    both = order(OPENAI_API_KEY="k", ANTHROPIC_API_KEY="k")
    assert both[:2] == ["anthropic:claude-3-5-haiku-latest", "openai:gpt-4o-mini"]
    assert both[-1] == "local:smollm2"
    assert summary_models({"summaryModel": "none"}, registry) == []


@covers("summary.paid-only-under-a-cap")
def test_in_the_background_a_model_that_costs_money_is_asked_only_under_a_cap(file_address):
    from dataclasses import replace
    from decimal import Decimal

    paid = replace(PROFILE, local=False, prices=ModelPrices(input=Decimal(1), output=Decimal(1)))
    model = Scripted(lambda *_: "Paid for.", profile=paid)
    with grove_with(file_address, model) as grove:
        grove.summaries.choose_model("scripted:small")
        grove.summaries.work_off()
        tree = grove.plant("Tea")
        one = tree.say("Let it steep.")
        grove.summaries.work_off()
        assert is_extract(one.refresh().value.summary)
        assert model.requests == []
        grove.generations.set_cap(1)
        two = tree.say("And pour.")
        grove.summaries.work_off()
        assert two.refresh().value.summary == "Paid for."
        assert grove.generations.spent().total > 0


def test_undo_passes_over_summaries(grove):
    tree = grove.plant("Tea")
    node = tree.say("Let it steep.")
    node.summarise()
    tree.undo()
    assert tree.cursor.id == tree.root.id
    tree.redo()
    assert tree.node(node.id).value.summary is not None
    check_sound(grove)


def test_two_processes_make_no_summary_twice(address):
    model = Scripted(lambda *_: "Said.")
    registry = ProviderRegistry({"scripted": model})
    with weft.open(address, providers=registry) as one, weft.open(address, providers=registry) as two:
        one.summaries.choose_model("scripted:small")
        one.summaries.work_off()
        one.plant("Tea").say("Let it steep.")
        assert one.summaries.work_off() + two.summaries.work_off() == 1
        assert len(model.requests) == 1


@covers("summary.node")
@pytest.mark.long
def test_an_open_grove_summarises_when_it_is_quiet(file_address, monkeypatch):
    monkeypatch.setenv("WEFT_SUMMARIES", "on")
    model = Scripted(lambda *_: "Said in short.")
    with grove_with(file_address, model) as grove:
        grove.summaries.choose_model("scripted:small")
    with grove_with(file_address, model, background=True) as grove:
        node = grove.plant("Tea").say("Let it steep.")
        with grove.follow(after="now", timeout=60) as events:
            assert any(event.kind == "summarise" for event in events)
        assert node.refresh().value.summary == "Said in short."


@covers("attempt.one-model-call", "manifest.stored-with-every-attempt")
def test_asking_for_a_summary_leaves_what_was_sent_and_what_came(address):
    trouble = ProviderError(Trouble.AUTHENTICATION, "who are you?")
    small = Scripted([trouble, "It is about tea.", "A tree about tea."], name="anthropic")
    with grove_with(address, Scripted(), small) as grove:
        grove.summaries.choose_model("anthropic:small")
        tree = grove.plant("Tea", "Green tea, or black?")
        assert is_extract(tree.root.summarise())
        assert tree.root.summarise(refresh=True) == "It is about tea."
        tree.summarise(refresh=True)
        calls = attempts(grove)
        assert [OUTCOMES[each.outcome] for each in calls] == ["failed", "complete", "complete"]
        assert calls[0].error == "authentication: who are you?"
        with grove.caller.executor.store.read() as session:
            for call, words in zip(calls, [b"Green tea", b"Green tea", b"It is about tea."], strict=True):
                assert words in b"".join(request_segments(session, call.tree, call.key))
                told = Manifest.from_stored(orjson.loads(manifest_of(session, call.tree, call.key)))
                assert [entry.id for entry in told] == [tree.root.id]
        check_sound(grove)
