"""How long commands take to start, next to the import of SQLAlchemy, on which every grove is built."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence

import weft
from bench.report import Section, Table, at_most, number
from bench.scene import Scene

__all__ = ["run"]

_VERSION_BAR = 0.6
_LS_BAR = 2.0
_TREES = 3


def run(scene: Scene) -> Section:
    rounds = scene.size(15, 3)
    grove = scene.folder / "startup.db"
    with weft.open(grove) as loom:
        for index in range(_TREES):
            loom.plant(f"Tree {index}", "Once upon a time")
    commands = {
        "python -c 'import sqlalchemy'": [sys.executable, "-c", "import sqlalchemy"],
        "weft --version": [sys.executable, "-m", "weft.cli", "--version"],
        "weft ls": [sys.executable, "-m", "weft.cli", "ls"],
    }
    # As installed: byte code is kept, whatever this shell says about it.
    environment = os.environ | {
        "WEFT_GROVE": str(grove),
        "PYTHONPYCACHEPREFIX": str(scene.folder / "pycache"),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    # The first round fills caches and is not counted; the commands take turns, so that noise hits all alike.
    for round_number in range(rounds + 1):
        for name, command in commands.items():
            taken = _seconds(command, environment)
            if round_number:
                seconds[name].append(taken)
    least = {name: min(taken) for name, taken in seconds.items()}
    base, version, listing = least.values()
    section = Section(
        "Start-up",
        f"The least of {rounds} runs each, taken in turns, in processes of their own. `weft ls` lists {_TREES} "
        "trees of a SQLite grove into a pipe.",
    )
    header = ("command", "ms", "÷ import of SQLAlchemy")
    rows = [(name, number(1_000 * taken), number(taken / base)) for name, taken in least.items()]
    section.tables.append(Table("Time from start to end", header, rows))
    section.hold(at_most("start of `weft --version` ÷ import of SQLAlchemy", version / base, _VERSION_BAR))
    section.hold(at_most("`weft ls` ÷ import of SQLAlchemy", listing / base, _LS_BAR))
    return section


def _seconds(command: Sequence[str], environment: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return time.perf_counter() - start
