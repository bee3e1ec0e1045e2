"""Export, import, backup, migrate and doctor at 100,000 nodes: how long, and with how much memory."""

import subprocess
import sys
import time
from pathlib import Path

from tests.growing import say_many

import weft
from bench.report import Bar, Section, Table, at_most, number
from bench.scene import Scene, sample_texts

__all__ = ["run"]

_MINUTES = 120
"""Seconds that anything here may take at full size."""
_MEMORY = 400
"""Megabytes that it may take: a hundred-odd bytes a node, and the program itself."""
_RATIO = 3
"""How much longer the import of another program's file may take than that of the same tree in Weft JSON."""


def run(scene: Scene) -> Section:
    count = scene.size(100_000, 2_000)
    section = Section(
        "Moving a grove",
        f"One conversation of {count:,} nodes of 200 characters, said one after another with every third "
        "beside the one before, each with its event. Seconds, and the most memory that the process held, "
        "each measured in a process of its own.",
    )
    with (
        scene.address("SQLite") as here,
        scene.address("PostgreSQL") as there,
        scene.address("SQLite") as back,
    ):
        scene.say(f"  growing {count:,} nodes")
        _say_many(here, count)
        folder = Path(here).parent
        steps = (
            ("export", "export", here, str(folder / "all.json")),
            ("import, SQLite", "import", str(folder / "imported.db"), str(folder / "all.json")),
            ("backup", "backup", here, str(folder / "copy.db")),
            ("backup, every hash recomputed", "verify", here, str(folder / "verified.db")),
            ("migrate SQLite → PostgreSQL", "migrate", here, there),
            ("migrate PostgreSQL → SQLite", "migrate", there, back),
            ("export from PostgreSQL", "export", there, str(folder / "there.json")),
            ("doctor", "doctor", here, ""),
        )
        rows: list[tuple[str, ...]] = []
        slowest = largest = 0.0
        for name, *words in steps:
            scene.say(f"  {name}")
            seconds, megabytes = _measure(*words)
            slowest, largest = max(slowest, seconds), max(largest, megabytes)
            rows.append((name, number(seconds), number(count / seconds), number(megabytes)))
        scene.say("  import of the same tree from ChatGPT's form")
        _say_as_chatgpt(here, folder / "conversations.json")
        seconds, megabytes = _measure(
            "foreign", str(folder / "foreign.db"), str(folder / "conversations.json")
        )
        rows.append(("import, ChatGPT's form", number(seconds), number(count / seconds), number(megabytes)))
        ratio = seconds / float(rows[1][1].replace(",", ""))
        same = (folder / "all.json").read_bytes() == (folder / "there.json").read_bytes()
    section.tables.append(Table("Moving", ("what", "seconds", "nodes a second", "peak MB"), rows))
    if not scene.quick:
        section.hold(at_most("moving 100,000 nodes, the slowest way", slowest, _MINUTES, " s"))
        section.hold(at_most("moving 100,000 nodes, peak memory", largest, _MEMORY, " MB"))
        section.hold(at_most("importing 100,000 messages of ChatGPT ÷ of Weft JSON", ratio, _RATIO))
        section.hold(at_most("importing 100,000 messages of ChatGPT, peak memory", megabytes, _MEMORY, " MB"))
    told = "equal" if same else "different"
    bar = Bar("exports before and after two migrations", told, "equal", same, "met" if same else "not met")
    section.hold(bar)
    return section


def _say_many(address: str, count: int) -> None:
    with weft.open(address) as grove:
        say_many(grove, "Long", sample_texts(500), count)


def _say_as_chatgpt(address: str, path: Path) -> None:
    with weft.open(address) as grove, path.open("w", encoding="utf-8") as file:
        file.writelines(grove.trees()[0].export("chatgpt"))


def _measure(what: str, one: str, other: str) -> tuple[float, float]:
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "bench.moving", what, one, other], check=True, stdout=subprocess.PIPE
    )
    return time.monotonic() - start, int(done.stdout) / 1024


def _peak() -> int:
    """Kilobytes; not what the system counts for a child, which includes what its parent held."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0


def _move(what: str, one: str, other: str) -> None:
    from weft.runtime.transfer.copy_backup import (  # noqa: PLC0415 - only the measured process needs it
        migrate_grove,
    )
    from weft.runtime.transfer.doctor import examine  # noqa: PLC0415

    if what == "migrate":
        migrate_grove(one, other)
    elif what == "doctor":
        if not examine(one).sound:
            sys.exit(1)
    else:
        with weft.open(one) as grove:
            match what:
                case "export":
                    grove.export(other)
                case "import":
                    grove.import_(other)
                case "foreign":
                    grove.import_conversations(other)
                case _:
                    grove.backup(other, verify=what == "verify")


if __name__ == "__main__":
    _move(*sys.argv[1:])
    print(_peak())
