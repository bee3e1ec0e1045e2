"""A grove with a folder of notes and a model to talk to, for tests of layers over a store."""

import itertools
import json
import os
import random
from pathlib import Path

import weft
from weft.context.items.item_types import LayerId
from weft.grove.node import NodeHandle
from weft.grove.tree import TreeHandle
from weft.runtime.operations.envelopes import add_legacy_text
from weft.runtime.operations.executor import Editing
from weft.testing import SteppingClock

_numbers = itertools.count()
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (3).to_bytes(4) + (4).to_bytes(4)


class Desk:
    """A tree, a vault of its own, and questions put one after the other."""

    def __init__(
        self,
        grove: weft.Grove,
        folder: Path,
        *,
        provider: str = "openai:gpt",
        prompt: str = "Be brief.",
        number: int | None = None,
    ):
        self.grove = grove
        self.folder = folder
        number = next(_numbers) if number is None else number
        self.name = f"Notes {number}"
        for vault in grove.vaults:
            vault.unmount()
        folder.mkdir(parents=True, exist_ok=True)
        grove.vaults.mount(folder, self.name)
        self.agent = grove.add_agent(f"Muse {number}", model_ref=provider, system_prompt=prompt).name
        self.tree: TreeHandle = grove.plant(f"Lessons {number}")

    def write(self, path: str, text: str | bytes) -> str:
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def ask(self, text: str, *references: str, under: NodeHandle | None = None) -> NodeHandle:
        said = (self.tree if under is None else under).say(text)
        return said.attach(*references) if references else said

    def answer(self, turn: NodeHandle, text: str = "Yes.") -> NodeHandle:
        return turn.say(text, author=self.agent)

    def send(self, turn: NodeHandle, **options):
        """The request as a generation would make it: prepared, kept, answered."""
        prepared = turn.prepare(agent=self.agent, **options)
        kept = self.grove.layers.keep(prepared)
        self.answer(turn)
        return prepared, kept


def library(envelope) -> list[str]:
    return [segment.id for segment in envelope.layer(LayerId.LIBRARY).segments]


def _turn(envelope, *, referenced: bool) -> list[str]:
    segments = envelope.layer(LayerId.TURN).segments
    return [each.id for each in segments if (each.metadata.get("outcome") == "referenced") is referenced]


def referenced(envelope) -> list[str]:
    return _turn(envelope, referenced=True)


def in_full(envelope) -> list[str]:
    return _turn(envelope, referenced=False)


def _conversation(grove: weft.Grove, folder: Path) -> list[str]:
    """The same conversation wherever it is held: what every request of it was."""
    notes = {"a.md": "# A\ntext " * 300, "b/ü.md": "zwei\r\n" * 200, "c.md": "</note_context>"}
    desk = Desk(grove, folder, prompt="Be brief. " * 200, number=0)
    for path, text in notes.items():
        desk.write(path, text)
        os.utime(folder / path, (1_700_000_000, 1_700_000_000))
    grove.remember("likes tea")
    told: list[str] = []
    for number, (placed, limit) in enumerate([("system", 4_000), ("inline", 4_000), ("system", 1_500)]):
        turn = desk.ask(f"Question {number} " * 30, *list(notes)[: number + 1])
        prepared, _ = desk.send(turn, library=placed, limit=limit)
        wire = prepared.to_wire()
        told.append(json.dumps(wire, sort_keys=True).replace(desk.tree.id, "TREE"))
    return told


def held(address: str, folder: Path) -> list[str]:
    source = random.Random(11)
    with weft.open(address, clock=SteppingClock(), entropy=source.randbytes, background=False) as grove:
        return _conversation(grove, folder)


class KeepLegacyText(Editing, verb="envelope"):
    """What was sent for a message that was saved elsewhere, without an envelope."""

    tree: str
    node: str
    text: str

    def apply(self, scope):
        tree = scope.open_tree(self.tree)
        return add_legacy_text(scope, tree, scope.node(tree, self.node), self.text)
