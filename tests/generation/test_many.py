"""Many generations at once in one process, and what their recorded usage teaches."""

import threading
import tracemalloc

from tests.covers import covers
from tests.generation.stage import attempts, count, grove_with
from tests.soundness import check_sound

from weft.providers.base import Request
from weft.runtime.generation.stream import TextChunk
from weft.store import schema
from weft.store.rows import OUTCOMES
from weft.testing import Reply, Scripted
from weft.tree.attempt import AttemptOutcome, Usage
from weft.tree.content import plain_text

GENERATIONS = 50
WORDS = 50


def counted(request: Request, choice: int) -> Reply:
    """Words that say whose they are, so that none can be another's unseen."""
    name = plain_text(request.messages[-1].blocks[0])
    return Reply(chunks=tuple(f"{name}.{choice}.{number} " for number in range(WORDS)))


@covers("generate.fifty-at-once")
def test_fifty_generations_at_once_lose_and_mix_nothing(address):
    with grove_with(address, Scripted(counted)) as grove:
        tree = grove.plant("Many")
        nodes = [tree.root.say(f"g{number}") for number in range(GENERATIONS)]
        heard: dict[str, dict[int, str]] = {}
        tracemalloc.start()

        def listen(node):
            said: dict[int, str] = {}
            with node.stream(n=2) as stream:
                for event in stream:
                    if isinstance(event, TextChunk):
                        said[event.slot] = said.get(event.slot, "") + event.text
            heard[node.text] = said

        threads = [threading.Thread(target=listen, args=(node,)) for node in nodes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        for node in nodes:
            expected = [
                "".join(f"{node.text}.{choice}.{word} " for word in range(WORDS)) for choice in (0, 1)
            ]
            assert [kid.text for kid in node.children] == expected
            assert [heard[node.text][slot] for slot in (0, 1)] == expected
        assert {OUTCOMES[row.outcome] for row in attempts(grove)} == {AttemptOutcome.COMPLETE}
        assert count(grove, schema.calls) == count(grove, schema.pieces) == count(grove, schema.leases) == 0
        # Everything that was said, its wire bytes and its events, for fifty at once.
        assert peak < 40_000_000
        check_sound(grove)


@covers("tokens.calibrated")
def test_what_providers_count_calibrates_the_estimator(address):
    def twice(request: Request, _choice: int) -> Reply:
        size = sum(len(message.text) for message in request.messages)
        return Reply(text="Yes.", usage=Usage(prompt=size // 2, completion=1))

    with grove_with(address, Scripted(twice)) as grove:
        tree = grove.plant("Tea")
        for number in range(12):
            tree.root.say(f"{number} " * 200).generate()
        found = grove.calibrate("scripted:echo")
        assert found is not None
        assert (found.samples, round(found.thousandths, -2)) == (12, 2000)
        node = tree.root.say("word " * 400)
        plain = node.preflight(agent="Echo").tokens
        assert node.preflight(agent="Echo", estimator="calibrated").tokens > 1.8 * plain
