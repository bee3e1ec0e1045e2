"""`kill -9` of the server at random moments under sixteen writers: nothing acknowledged is lost."""

import contextlib
import http.client
import json
import os
import random
import threading

import pytest
from tests.covers import covers
from tests.finding import texts_and_labels
from tests.server.served import Served
from tests.soundness import check_file, check_sound

import weft
from weft.errors import UnavailableError

ROUNDS = 100 if os.environ.get("WEFT_PROVE") else 3
WRITERS = 16


class Writer(threading.Thread):
    """Says one thing after another until nobody answers."""

    def __init__(self, server: Served, tree: str, root: str, name: str, told: list, tick) -> None:
        super().__init__(name=name)
        self.server, self.tree, self.root, self.told, self.tick = server, tree, root, told, tick

    def run(self) -> None:
        at, number = self.root, 0
        parts = self.server.parts
        headers = {"Authorization": f"Bearer {self.server.address['token']}"}
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
            while True:
                text = f"{self.name}.{number} — 🌊"
                body = json.dumps({"content": text})
                connection.request("POST", f"/api/trees/{self.tree}/nodes/{at}/children", body, headers)
                answer = connection.getresponse()
                said = answer.read()
                assert answer.status == 200, said
                node = json.loads(said)["id"]
                self.told.append((node, text))
                self.tick()
                # Sometimes on, sometimes beside: a branch at every third.
                at, number = (self.root if number % 3 == 2 else node), number + 1


def a_round(address: str, tree: str, root: str, name: str, chance: random.Random) -> list[tuple[str, str]]:
    server, told = Served(address), []
    enough, wanted = threading.Event(), chance.randrange(1, 160)

    def tick() -> None:
        if len(told) >= wanted:
            enough.set()

    writers = [Writer(server, tree, root, f"{name}.{number}", told, tick) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    assert enough.wait(120)
    server.process.kill()
    server.process.communicate()
    for writer in writers:
        writer.join()
    return told


@covers("proof.kill-nine")
@pytest.mark.long
def test_nothing_acknowledged_is_lost_when_the_server_is_killed(address, figure):
    chance = random.Random(9)
    with weft.open(address) as grove:
        planted = grove.plant("Marie")
        tree, root = planted.id, planted.root.id
    told: list[tuple[str, str]] = []
    for number in range(ROUNDS):
        told += a_round(address, tree, root, f"r{number}", chance)
        with reopened(address) as grove:
            check_sound(grove)
            kept = texts_and_labels(grove)
            assert [line for line in told if line not in kept] == []
        if not address.startswith("postgresql"):
            check_file(address)
    figure("acknowledged writes over HTTP lost to kill -9", f"0 of {len(told):,} in {ROUNDS} rounds")


def reopened(address: str) -> weft.Grove:
    """PostgreSQL may take a moment to see that the other end is gone."""
    while True:
        try:
            return weft.open(address)
        except UnavailableError:
            continue
