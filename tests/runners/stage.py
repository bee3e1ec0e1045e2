"""A grove with notes and a scripted model, for turns of runners."""

import random
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from weft.grove.grove import Grove, open_grove
from weft.grove.tree import TreeHandle
from weft.providers.base import ModelProfile, ProviderRegistry, Request
from weft.providers.scripted import PROFILE, Script
from weft.testing import START, Gate, Scripted, SteppingClock

NOTES = {
    "Harbour/Lamp.md": "# Lamp\n\nThe lamp of the tower burns whale oil. It was lit in 1821.\n",
    "Harbour/Fog.md": "# Fog\n\nThe fog horn sounds every ninety seconds.\n",
    "Ideas.md": "Marie keeps the ledger.\n",
}


@dataclass
class Stage:
    """A grove whose model says what the test scripts."""

    grove: Grove
    folder: Path
    model: Scripted
    plants: bool = True
    tree: TreeHandle = field(init=False)

    def __post_init__(self) -> None:
        if not self.plants:
            return
        self.grove.add_agent("Teller", model_ref="scripted:teller")
        self.tree = self.grove.plant("Harbour", system_context="You keep the harbour's log.")

    def mount(self, name: str = "Notes", notes: dict[str, str] = NOTES) -> None:
        folder = self.folder / name
        for path, text in notes.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        self.grove.vaults.mount(str(folder), name)

    @property
    def sent(self) -> list[Request]:
        """Every request that the model got, the planner's among them."""
        return self.model.requests

    def last_words(self) -> str:
        return self.sent[-1].messages[-1].text


@contextmanager
def staged(
    address: str,
    folder: Path,
    script: Script,
    profile: ModelProfile = PROFILE,
    gate: Gate | None = None,
    *,
    plants: bool = True,
) -> Generator[Stage]:
    model = Scripted(script, profile=profile, gate=gate)
    with open_grove(
        address,
        # A process that comes later has a later clock.
        clock=SteppingClock(START if plants else START + 5_000_000),
        entropy=random.Random(0).randbytes,
        providers=ProviderRegistry({model.name: model}),
    ) as grove:
        yield Stage(grove, folder, model, plants)
