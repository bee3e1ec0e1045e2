"""The embedded model as a collaborator: it is weak, and the loop survives whatever it emits."""

import pytest
from tests.collaboration.stage import ALL, counts
from tests.covers import covers
from tests.soundness import check_sound

import weft
from weft.runtime.collaboration.run_events import Ending
from weft.tree.node import Status

pytestmark = [
    pytest.mark.long,
    pytest.mark.xdist_group("embedded"),
]


@covers("collaborate.survives-anything", "provider.embedded-model")
def test_the_embedded_model_collaborates_as_well_as_it_can(file_address):
    with weft.open(file_address) as grove:
        grove.add_agent("Muse", model_ref="local:smollm2", permissions=ALL, max_tokens=24)
        tree = grove.plant("Tea")
        tree.say("What goes well with tea?")
        for text in ("Answer with the line: → tree", "Say → help on a line of its own."):
            found = tree.collaborate("Muse", text, turns=2, seed=1)
            assert found.ending in {Ending.DONE, Ending.LIMIT}
            assert 1 <= found.turns <= 2
            if found.reply is not None:
                assert found.reply.value.status in set(Status)
        now = counts(grove)
        assert [now[name] for name in ("runs", "calls", "pieces", "leases")] == [0, 0, 0, 0]
        check_sound(grove)
