"""For your own tests: a grove that is thrown away, in which the same things happen in every run.

from weft import testing

def test_a_question_is_kept():
with testing.grove() as loom:
tree = loom.plant("Marie")
assert tree.say("Why?").path.text == "Why?"
"""

import contextlib
import random
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from weft.grove.grove import Grove, open_grove
from weft.providers.base import ProviderRegistry
from weft.providers.scripted import Gate, Reply, Scripted

__all__ = ["START", "Gate", "Reply", "Scripted", "SteppingClock", "grove"]

START = 1_700_000_000_000_000
"""November 2023, in microseconds: before now, so that a real clock may go on in the same grove."""


@dataclass
class SteppingClock:
    """A clock that is a millisecond later each time it is looked at."""

    moment: int = START

    def __call__(self) -> int:
        self.moment += 1_000
        return self.moment

    def pass_by(self, *, seconds: float) -> None:
        """Let time pass."""
        self.moment += int(seconds * 1_000_000)


@contextlib.contextmanager
def grove(
    *, clock: SteppingClock | None = None, seed: int = 0, model: Scripted | None = None
) -> Generator[Grove]:
    """A grove in a temporary folder, gone at the end; times and ids are the same in every run.

    Give a clock to let time pass, another seed to get other ids, and a scripted model to be asked.
    """
    with tempfile.TemporaryDirectory(prefix="weft-") as folder:
        entropy = random.Random(seed).randbytes  # noqa: S311 - ids in tests need not be unguessable
        with open_grove(
            Path(folder) / "grove.db",
            clock=clock or SteppingClock(),
            entropy=entropy,
            # Background work looks at the clock by itself, and would make two runs differ.
            background=False,
            providers=None if model is None else ProviderRegistry({model.name: model}),
        ) as opened:
            yield opened
