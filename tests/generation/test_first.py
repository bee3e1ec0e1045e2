"""First generations at once, in a grove without agents: they share the default agent."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

from tests.covers import covers
from tests.soundness import check_sound

import weft
from weft.providers.base import ProviderRegistry
from weft.testing import Scripted
from weft.tree.agent import AgentType

SCRIPT = Path(__file__).with_name("first.py")
ROOT = SCRIPT.parent.parent.parent
AT_ONCE = 8


def models(grove) -> list[str]:
    return [agent.id for agent in grove.agents() if agent.type is AgentType.MODEL]


@covers("generate.default-agent-shared")
def test_threads_that_generate_first_share_the_default_agent(address):
    with weft.open(address, providers=ProviderRegistry({"local": Scripted(name="local")})) as grove:
        tree = grove.plant("Marie")
        nodes = [tree.root.say(f"Question {number}?") for number in range(AT_ONCE)]
        together = Barrier(AT_ONCE)

        def generate(node):
            together.wait()
            return node.generate()[0].value.author_id

        with ThreadPoolExecutor(AT_ONCE) as threads:
            answered = set(threads.map(generate, nodes))
        assert list(answered) == models(grove)
        check_sound(grove)


@covers("generate.default-agent-shared")
def test_processes_that_generate_first_share_the_default_agent(address):
    with weft.open(address) as grove:
        tree = grove.plant("Marie")
        nodes = [tree.root.say(f"Question {number}?").id for number in range(3)]
    processes = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), address, node],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for node in nodes
    ]
    for each in processes:
        assert each.stdout.readline() == "ready\n"
    for each in processes:
        each.stdin.write("go\n")
        each.stdin.flush()
    answered = {each.communicate()[0].strip() for each in processes}
    assert [each.returncode for each in processes] == [0, 0, 0]
    with weft.open(address) as grove:
        assert list(answered) == models(grove)
        check_sound(grove)
