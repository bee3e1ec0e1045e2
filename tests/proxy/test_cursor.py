"""Recording happens beside what people do."""

import pytest
from tests.covers import covers
from tests.proxy.conversations import Desk

import weft
from weft.runtime.proxy.wires import Wire

pytestmark = pytest.mark.outer


@covers("proxy.leaves-people-where-they-are")
def test_a_recorded_tree_is_not_the_one_its_owner_was_last_in(tmp_path):
    with weft.open(tmp_path / "grove.db", background=False) as grove:
        mine = grove.plant("Mine")
        Desk(grove).send(Wire.CHAT, {"messages": [{"role": "user", "content": "hello"}]})
        assert len(grove.trees()) == 2
        assert grove.read.latest_tree() == mine.id
