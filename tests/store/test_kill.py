"""`kill -9` of sixteen writers at random moments: nothing acknowledged is lost, the file stays sound.

In each process a further thread opens the grove again and again, and programs that list the trees
open and close it meanwhile: each of them would be the last to close it, as far as it can see.
"""

import os
import random
import signal
import subprocess
import sys
from io import BufferedReader
from pathlib import Path

import pytest
from tests.covers import covers
from tests.finding import texts_and_labels
from tests.soundness import check_file, check_sound

import weft

ROUNDS = 100 if os.environ.get("WEFT_PROVE") else 4
SCRIPT = Path(__file__).with_name("killed.py")
LIST = [sys.executable, "-m", "weft.cli", "ls", "--grove"]


def a_round(address: str, tree_id: str, name: str, chance: random.Random) -> list[tuple[str, str]]:
    """Start sixteen writers in some processes, kill them one by one, return what they were told is safe."""
    layouts = (
        [(16, 1), (4, 4), (2, 8), (1, 16)] if os.environ.get("WEFT_PROVE") else [(4, 4), (2, 8), (1, 16)]
    )
    processes, threads = chance.choice(layouts)
    writers = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), address, tree_id, f"{name}.{number}", str(threads)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONHASHSEED": str(number)},
        )
        for number in range(processes)
    ]
    acknowledged: list[tuple[str, str]] = []
    for number, writer in enumerate(writers):
        said = writer.stdout.readline()
        if number % 4 == 0:
            subprocess.run([*LIST, address], check=True, capture_output=True)
            said += drained(writer.stdout)
        for _ in range(chance.randrange(1, 8)):
            said += writer.stdout.readline()
        os.kill(writer.pid, signal.SIGKILL)
        said += writer.stdout.read()
        writer.stdout.close()
        assert writer.wait() == -signal.SIGKILL
        for line in said.splitlines(keepends=True):
            if line.endswith(b"\n"):
                node, _, text = line.decode().rstrip("\n").partition(" ")
                acknowledged.append((node, text))
    return acknowledged


def drained(pipe: BufferedReader) -> bytes:
    """All that was said so far, so that what is read next was said later."""
    os.set_blocking(pipe.fileno(), False)
    said = pipe.read() or b""
    os.set_blocking(pipe.fileno(), True)
    return said


@covers("proof.writers-killed", "proof.reopened-while-killed")
@pytest.mark.long
def test_nothing_acknowledged_is_lost_when_writers_are_killed(address, figure):
    chance = random.Random(address.startswith("postgresql"))
    with weft.open(address) as grove:
        tree_id = grove.plant("Marie").id
    told: list[tuple[str, str]] = []
    for number in range(ROUNDS):
        told += a_round(address, tree_id, f"r{number}", chance)
        with weft.open(address) as grove:
            if number % 10 == 0 or number == ROUNDS - 1:
                # What is damaged stays so; checking all of a growing grove takes longer every time.
                check_sound(grove)
            kept = texts_and_labels(grove)
            assert [line for line in told if line not in kept] == []
        if not address.startswith("postgresql"):
            check_file(address)
    assert len(told) > ROUNDS * 5
    figure("acknowledged writes lost to kill -9", f"0 of {len(told):,} in {ROUNDS} rounds")
