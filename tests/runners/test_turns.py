"""Turns of the runners chat, vault, tools and project: what is sent, and what comes of it."""

import json
from dataclasses import replace

import pytest
from tests.covers import covers
from tests.runners.stage import staged

from weft.errors import InvalidInputError, NotFoundError, UnavailableError
from weft.providers.scripted import PROFILE
from weft.runtime.collaboration.run_events import Ending
from weft.testing import Reply

_PLAN = '[{"name": "readNote", "arguments": {"path": "Harbour/Lamp.md"}}]'


@covers("runner.chat", "runner.no-intent-for-chat", "ask.python")
def test_a_question_becomes_a_node_and_its_answer_one_below_it(file_address, tmp_path):
    with staged(file_address, tmp_path, ["Because of the fog."]) as stage:
        answer = stage.tree.ask("Why is it dark?")
        assert (answer.text, answer.ending, answer.runner) == ("Because of the fog.", Ending.DONE, "chat")
        assert [each.text for each in stage.tree.path][1:] == ["Why is it dark?", "Because of the fog."]
        assert stage.tree.cursor == answer.node
        [request] = stage.sent
        assert request.system == ("You keep the harbour's log.",)
        assert request.messages[-1].text == "Why is it dark?"


@covers("runner.vault", "runner.vault-citations-checked", "runner.not-in-the-notes")
def test_the_vault_runner_puts_notes_and_rules_for_citing_before_the_question(file_address, tmp_path):
    with staged(file_address, tmp_path, ["Whale oil [1].", "I do not know."]) as stage:
        stage.mount()
        answer = stage.tree.ask("What does the lamp burn?", runner="vault", tool_names=["readNote"])
        words = stage.last_words()
        assert words.startswith("# Additional context:\n\n<localSearch")
        assert "burns whale oil" in words
        assert "[1] Harbour/Lamp.md" in words
        assert words.endswith("What does the lamp burn?")
        assert stage.sent[0].system == ("You keep the harbour's log.",)
        assert [each.call.name for each in answer.tools] == ["localSearch"]
        assert answer.notices == ()
        assert [each.source for each in answer.node.citations] == ["Harbour/Lamp.md"]
        none = stage.tree.ask("Who invented zeppelins?", runner="vault")
        assert none.notices == ("not in the notes: nothing was found about this",)
        assert "Nothing was found" in stage.last_words()


@covers("runner.vaults-named")
def test_only_the_vaults_that_are_named_are_looked_into(file_address, tmp_path):
    with staged(file_address, tmp_path, ["One.", "Two."]) as stage:
        stage.mount()
        stage.mount("Diary", {"Lamp.md": "Bought a lamp for the kitchen."})
        stage.tree.ask("Which lamp was bought?", vaults=["Diary"])
        assert "kitchen" in stage.last_words()
        assert "whale oil" not in stage.last_words()
        with pytest.raises(NotFoundError, match="no vault 'Attic'"):
            stage.tree.ask("Which lamp?", vaults=["Attic"])
        assert stage.tree.cursor.text == "One."


@covers("runner.tools", "runner.tools-composer-once", "runner.intent-by-own-model")
def test_a_planner_picks_tools_from_the_question_and_they_run_once(file_address, tmp_path):
    with staged(file_address, tmp_path, [_PLAN, "In 1821."]) as stage:
        stage.mount()
        answer = stage.tree.ask(
            "When was it lit?", runner="tools", attachments=["Harbour/Fog.md"], composer="Answer in one line."
        )
        planner, asked = stage.sent
        assert "Harbour/Fog.md" in planner.messages[-1].text
        assert "ninety seconds" not in planner.messages[-1].text
        assert "When was it lit?" in planner.messages[-1].text
        assert '"name":"readNote"' in planner.system[0]
        words = asked.messages[-1].text
        assert words.index("<readNote") < words.index("<composer>") < words.index("ninety seconds")
        assert words.count("<composer>") == 1
        assert words.endswith("When was it lit?")
        assert answer.text == "In 1821."
        assert [(each.call.name, each.status) for each in answer.tools] == [("readNote", "ok")]
        assert [each.text for each in stage.tree.path][1:] == ["When was it lit?", "In 1821."]


@pytest.mark.parametrize(
    "reply",
    [
        "I would read the lamp's note.",
        '{"name": "readNote"}',
        '[{"name": "writeNote", "arguments": {}}]',
        '[{"name": "readNote", "arguments": {"paths": []}}]',
    ],
)
def test_a_list_that_is_not_valid_is_asked_for_once_more(file_address, tmp_path, reply):
    with staged(file_address, tmp_path, [reply, f"```json\n{_PLAN}\n```", "In 1821."]) as stage:
        stage.mount()
        answer = stage.tree.ask("When was it lit?", runner="tools")
        assert [each.call.name for each in answer.tools] == ["readNote"]
        again = stage.sent[1].messages
        assert again[-2].text == reply
        assert again[-1].text.startswith("That was not valid: ")


@covers("runner.planner-retry")
def test_rules_choose_where_the_model_gives_no_valid_list(file_address, tmp_path):
    with staged(file_address, tmp_path, ["no", "no", "Whale oil."]) as stage:
        stage.mount()
        answer = stage.tree.ask("What does the lamp burn?", runner="tools")
        assert [each.call.name for each in answer.tools] == ["localSearch"]
        assert answer.notices[0].startswith("tools were chosen by rules")


@covers("runner.intent-by-rules", "runner.planner-capable")
def test_a_model_without_tools_plans_by_rules_and_is_asked_once(file_address, tmp_path):
    plain = replace(PROFILE, tools=False)
    with staged(file_address, tmp_path, ["Whale oil."], plain) as stage:
        stage.mount()
        answer = stage.tree.ask("What did [[Lamp]] burn yesterday?", runner="tools")
        assert [each.call.name for each in answer.tools] == ["readNote", "getTimeInfo", "localSearch"]
        assert len(stage.sent) == 1


@covers("runner.project")
def test_the_project_runner_needs_a_project_and_sends_its_blocks_in_the_system_message(
    file_address, tmp_path
):
    with staged(file_address, tmp_path, ["[]", "Aye."]) as stage:
        with pytest.raises(InvalidInputError, match="belongs to no project"):
            stage.tree.ask("Ready?", runner="project")
        assert stage.tree.cursor == stage.tree.root
        project = stage.grove.create_project("Log", system_prompt="Write as a pilot.")
        project.add(stage.tree)
        assert stage.tree.ask("Ready?", runner="project").text == "Aye."
        assert "<project_system_prompt>\nWrite as a pilot." in "\n\n".join(stage.sent[-1].system)


@covers("runner.needs-an-envelope")
def test_a_document_has_no_envelope_and_every_runner_fails_at_once(file_address, tmp_path):
    with staged(file_address, tmp_path, []) as stage:
        story = stage.grove.plant("Story", "Once", mode="buffer")
        for runner in ("chat", "vault", "tools", "agent", "project"):
            with pytest.raises(InvalidInputError, match="a document has no envelope"):
                story.ask("And then?", runner=runner)
        assert story.refresh().counters.nodes == 1
        assert stage.sent == []


@covers("runner.refused-changes-nothing")
def test_what_is_refused_changes_nothing(file_address, tmp_path):
    with staged(file_address, tmp_path, []) as stage:
        with pytest.raises(UnavailableError, match="no folder of notes"):
            stage.tree.ask("Why?", runner="vault")
        for options in ({"runner": "magic"}, {"planner": "luck"}, {"agent": "a", "model": "b:c"}):
            with pytest.raises(InvalidInputError):
                stage.tree.ask("Why?", **options)
        for options in ({"tool_names": ["nothing"]}, {"agent": "Nobody"}, {"model": "nowhere:x"}):
            with pytest.raises(NotFoundError):
                stage.tree.ask("Why?", **options)
        assert stage.tree.refresh().counters.nodes == 1


@covers("runner.pending-in-preview")
def test_a_preview_marks_what_a_planner_has_yet_to_choose_as_pending(file_address, tmp_path):
    with staged(file_address, tmp_path, []) as stage:
        stage.mount()
        node = stage.tree.say("What does the lamp burn?")
        pending = [each for each in node.context(runner="tools").manifest if each.id == "tool outputs"]
        assert [(each.outcome, each.tokens) for each in pending] == [("excluded", 0)]
        assert pending[0].reason.startswith("pending")
        retrieved = node.context(runner="vault")
        assert "whale oil" in retrieved.messages[-1].text
        assert not [each for each in retrieved.manifest if each.reason.startswith("pending")]
        assert stage.sent == []


@covers("ask.python")
def test_a_grove_without_a_tree_plants_one_and_continues_it(file_address, tmp_path):
    with staged(file_address, tmp_path, ["One.", "Two.", "Three."]) as stage:
        stage.tree.delete(confirm=stage.tree.id)
        first = stage.grove.ask("What is the sea?")
        assert stage.grove.tree(first.tree_id).title == "What is the sea?"
        assert stage.grove.ask("And the shore?").tree_id == first.tree_id
        assert stage.grove.ask("Something else.", new=True).tree_id != first.tree_id


@covers("ask.model")
def test_a_model_that_has_no_agent_yet_gets_one_and_the_default_stays(file_address, tmp_path):
    with staged(file_address, tmp_path, ["One.", "Two.", "Three."]) as stage:
        answer = stage.tree.ask("Who?", model="scripted:other/big")
        assert answer.node.author == "big"
        assert stage.tree.ask("And again?", model="scripted:other/big").node.author == "big"
        assert stage.tree.ask("Now you?").node.author == "Teller"


def test_a_failed_call_leaves_the_question_and_says_why(file_address, tmp_path):
    from weft.errors import ProviderError, Trouble

    with staged(file_address, tmp_path, [ProviderError(Trouble.AUTHENTICATION, "no key")]) as stage:
        with pytest.raises(ProviderError, match="no key"):
            stage.tree.ask("Why?")
        assert stage.tree.cursor.text == "Why?"
        stage.tree.switch("parent")
        assert stage.tree.refresh().counters.nodes == 2


def test_a_stopped_turn_keeps_what_came(file_address, tmp_path):
    with staged(file_address, tmp_path, [Reply(text="One two three", ending=None)]) as stage:
        answer = stage.tree.ask("Count.")
        assert answer.node.text == "One two three"
        assert answer.error is not None
        assert json.dumps(answer.to_wire())


@pytest.mark.outer
@covers("layers.stable-with-tools")
@pytest.mark.parametrize("runner", ["tools", "vault"])
def test_the_system_message_stays_the_same_while_outputs_of_tools_come_and_go(file_address, tmp_path, runner):
    def say(request, _):
        return _PLAN if "You choose the tools" in request.system[0] else "In 1821 [1]."

    with staged(file_address, tmp_path, say) as stage:
        stage.mount()
        for number in range(20):
            attached = ["Ideas.md"] if number == 0 else []
            stage.tree.ask(f"When was the lamp lit, {number}?", runner=runner, attachments=attached)
        asked = [each for each in stage.sent if "You choose the tools" not in each.system[0]]
        assert len(asked) == 20
        assert len({each.system for each in asked[1:]}) == 1
        assert all(each.messages[-1].text.startswith("# Additional context:") for each in asked)
        assert not any("# Additional context:" in message.text for message in asked[-1].messages[:-1])
