"""How fast a large tree is verified, and how much memory that takes.

`python -m bench.verify ADDRESS` verifies one grove in a process of its own and prints the figures.
"""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.growing import say_many

import weft
from bench.report import Section, Table, number
from bench.scene import STORES, Scene, sample_texts

__all__ = ["run"]

_CHARACTERS = 200


def run(scene: Scene) -> Section:
    count = scene.size(100_000, 5_000)
    section = Section(
        "Verifying",
        f"One path of {count:,} nodes of {_CHARACTERS} characters, each said by its own operation with its own "
        "event. Every hash, place, event and counter is computed again. Memory is what the process had at "
        "most, beyond what it had with the grove open.",
    )
    rows: list[tuple[str, ...]] = []
    for store in STORES:
        scene.say(f"  {store}")
        with scene.address(store) as address:
            with weft.open(address) as grove:
                say_many(grove, "Long", sample_texts(count, _CHARACTERS), count)
            told = _measure(address)
        rows.append(
            (
                store,
                number(told["seconds"]),
                number(told["nodes"] / told["seconds"]),
                number(told["kilobytes"] / 1024),
                told["verdict"],
            )
        )
    section.tables.append(Table("A whole grove", ("store", "s", "nodes/s", "MB", "verdict"), rows))
    return section


def _measure(address: str) -> dict[str, Any]:
    ended = subprocess.run(
        [sys.executable, "-m", "bench.verify", address],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ,
    )
    return json.loads(ended.stdout)


def _most_kilobytes() -> int:
    """The most memory this program had. Not from getrusage where it can be helped: that begins with
    what the program had which started this one."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _verify(address: str) -> None:
    with weft.open(address) as grove:
        grove.evidence.verify_tree(grove.plant("Warm", "up").id)
        before = _most_kilobytes()
        start = time.monotonic()
        report = grove.verify()
        seconds = time.monotonic() - start
        after = _most_kilobytes()
    figures = {
        "seconds": seconds,
        "nodes": report.nodes,
        "kilobytes": after - before,
        "verdict": str(report.verdict),
    }
    sys.stdout.write(json.dumps(figures))


if __name__ == "__main__":
    _verify(sys.argv[1])
