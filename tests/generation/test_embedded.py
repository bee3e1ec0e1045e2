"""A newcomer's first words: no key, no network, no agent, and a real model."""

import pytest
from tests.covers import covers
from tests.soundness import check_sound

import weft
from weft.runtime.generation.stream import TextChunk
from weft.tree.attempt import Usage
from weft.tree.node import Status

pytestmark = [
    pytest.mark.long,
    pytest.mark.xdist_group("embedded"),
]


@covers("generate.default-agent", "generate.streams", "provider.embedded-model", "response.embedded-model")
def test_a_new_grove_answers_at_once_n_ways_and_streamed(file_address):
    with weft.open(file_address) as grove:
        asked = grove.plant("Tea").say("Name a kind of tea.")
        with asked.stream(n=2, max_tokens=8, seed=1) as stream:
            said = [event for event in stream if isinstance(event, TextChunk)]
        assert {event.slot for event in said} == {0, 1}
        assert len(said) > 4
        assert [node.value.status for node in stream.nodes] == [Status.COMPLETE] * 2
        assert [agent.name for agent in grove.agents()] == ["human", "smollm2"]
        told = stream.nodes[0].provenance()
        assert isinstance(told.value.usage, Usage)
        assert told.value.usage.prompt
        sent = grove.generations.sent(asked.value.tree_id, stream.nodes[0].id)
        checked = grove.generations.check_sent(sent)
        assert (checked.is_whole, checked.again) == (True, "same")
        # What the runtime itself answered, line by line.
        assert told.raw_response.startswith(b"HTTP/1.1 200 OK")
        assert b'"chat.completion.chunk"' in told.raw_response
        check_sound(grove)


@covers("provider.embedded-model")
def test_it_continues_a_text_and_summarises(file_address):
    with weft.open(file_address) as grove:
        tree = grove.plant("Story", "Once upon a time", mode="buffer")
        tree.type(", in a village by the sea,")
        (kid,) = tree.generate(max_tokens=8, logprobs=2)
        assert tree.text.startswith("Once upon a time, in a village by the sea,")
        assert tree.text.endswith(kid.text)
        assert kid.summarise()
        check_sound(grove)
