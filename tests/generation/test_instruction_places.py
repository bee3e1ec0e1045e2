"""Instructions in mid-conversation: a system message at its place where the provider takes one, else part of L1."""

import json
from dataclasses import replace

import pytest
from tests.covers import covers
from tests.generation.stage import grove_with
from tests.generation.test_vendors import grove_of
from tests.providers.houses import HOUSES
from tests.providers.loopback import serving, streamed
from tests.soundness import check_sound

from weft.providers.scripted import PROFILE, Scripted
from weft.tree.node import Role

HERE = {
    "anthropic": replace(HOUSES["anthropic"], model="claude-opus-4-8"),
    "responses": replace(HOUSES["responses"], model="gpt-5.6"),
    "chat": HOUSES["chat"],
}
ANYWHERE = replace(PROFILE, system_anywhere=True)


def messages_of(body):
    return body.get("messages") or body["input"]


def words(message):
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


@covers("cache.instruction-in-place")
@pytest.mark.parametrize("name", HERE)
def test_an_instruction_is_a_system_message_at_its_place_and_costs_no_prefix(file_address, name):
    house = HERE[name]
    with serving(streamed(*house.text(["Yes."]))) as server, grove_of(file_address, house, server) as grove:
        tree = grove.plant("Tea", system_context="Be careful. " * 600)
        rule = tree.root.say("From now on, answer in French.")
        (one,) = tree.root.say("One?").generate()
        (two,) = one.say("Two?").generate()
        before = json.loads(server.heard[-1].body)
        asked = two.say("Three?", instructions=[rule])
        context = asked.context()
        assert not context.instabilities
        (answer,) = asked.generate()
        body = json.loads(server.heard[-1].body)
        assert context.request.data == server.heard[-1].body
        assert body.get("system") == before.get("system")
        *_, question, instruction = messages_of(body)
        assert (instruction["role"], words(instruction)) == ("system", "From now on, answer in French.")
        assert words(question) == "Three?"
        assert context.prediction.cached >= 0
        entry = next(each for each in context.manifest if each.id == rule.local_id)
        assert "at its place" in entry.reason
        answer.say("Four?").generate()
        after = [(each["role"], words(each)) for each in messages_of(json.loads(server.heard[-1].body))]
        assert after[: len(messages_of(body))] == [(each["role"], words(each)) for each in messages_of(body)]
        sent = grove.generations.sent(tree.id, answer.id)
        checked = grove.generations.check_sent(sent)
        assert (checked.is_whole, checked.again, checked.why) == (True, "same", "")
        assert asked.sent().messages == context.messages
        check_sound(grove)


@covers("cache.instruction-in-place")
def test_elsewhere_and_where_its_message_is_cut_an_instruction_is_part_of_l1(file_address):
    with grove_with(file_address, model := Scripted(profile=ANYWHERE)) as grove:
        tree = grove.plant("Tea", system_context="Be careful.")
        rule = tree.root.say("Answer in French.")
        node = tree.root.say("One?", instructions=[rule])
        agent = grove.agents()[-1].name
        (node,) = node.generate()
        assert [message.role for message in model.requests[-1].messages] == [Role.USER, Role.SYSTEM]
        assert model.requests[-1].system == ("Be careful.",)
        for turn in range(30):
            node = node.say(f"Question {turn}? " * 40).say("Yes. " * 40, author=agent)
        last = node.say("And now?")
        whole, cut = last.context(), last.context(limit=1_500, strategy="rollingWindow")
        assert whole.system == "Be careful."
        assert cut.truncated
        assert cut.system == "Be careful.\n\nAnswer in French."
        assert cut.tokens <= 1_500
        plain = last.context(system_anywhere=False)
        assert plain.system == "Be careful.\n\nAnswer in French."
        assert all(message.role is not Role.SYSTEM for message in plain.messages)


@covers("cache.instruction-in-place")
def test_an_instruction_given_with_a_generation_follows_the_last_user_message(file_address):
    with grove_with(file_address, model := Scripted(profile=ANYWHERE)) as grove:
        tree = grove.plant("Tea")
        rule = tree.root.say("Answer in French.")
        (answer,) = tree.root.say("One?").generate(instructions=[rule])
        assert [(message.role, message.text) for message in model.requests[-1].messages] == [
            (Role.USER, "One?"),
            (Role.SYSTEM, "Answer in French."),
        ]
        answer.say("Two?").generate()
        assert [message.role for message in model.requests[-1].messages] == [
            Role.USER,
            Role.SYSTEM,
            Role.ASSISTANT,
            Role.USER,
        ]
