"""Processes in which an agent works until it dies at its Nth write: a child for each N, until one comes to its end."""

import os
import shutil
import signal
import sys
from pathlib import Path

from tests.runners.stage import staged
from tests.runners.workshop import calling, say

from weft.knowledge.tools.base import Tool, ToolRegistry
from weft.runtime.runners.options import AskOptions
from weft.runtime.runners.service import Runners
from weft.testing import Reply

NOTHING = {"type": "object", "properties": {}}
FIRST, SECOND = calling("ring", "first"), calling("ring", "second")
SCRIPT = (Reply(text="I ring.", calls=(FIRST, SECOND)), Reply(calls=(calling("ring", "third"),)), "It rang.")
PLAN = '[{"name": "ring", "arguments": {}}]'


def bell(effects: Path, *, dies: str = "") -> ToolRegistry:
    """A tool with an effect that outlives the process; `dies` is the call in which the process is killed."""
    calls = iter(("first", "second", "third", "fourth"))

    def ring(_context, _arguments):
        with effects.open("a") as file:
            file.write(f"{next(calls)}\n")
            file.flush()
            os.fsync(file.fileno())
        if dies and dies == effects.read_text().split()[-1]:
            os.kill(os.getpid(), signal.SIGKILL)
        return say("ring", "Ding.")

    return ToolRegistry(
        {"ring": Tool(name="ring", description="Ring.", arguments=NOTHING, run=ring, effects=True)}
    )


def child(folder: Path, runner: str, number: int, when: str, address: str) -> None:
    """Ask, and die at the write of that number: before it, or after it."""
    script = (PLAN, "It rang.") if runner == "tools" else SCRIPT
    with staged(address, folder, list(script)) as stage:
        stage.grove.tools.set_policy("ring", "allow")
        store = stage.grove.caller.store
        write, count = store.write, 0

        def counted(*given, **named):
            nonlocal count
            count += 1
            mine = count
            if when == "before" and mine == number:
                os.kill(os.getpid(), signal.SIGKILL)
            result = write(*given, **named)
            if when == "after" and mine == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        store.write = counted
        registry = bell(folder / "effects", dies=when if when in {"first", "second", "third"} else "")
        run = Runners(stage.grove.caller, registry).start(
            stage.tree.id, AskOptions("Ring, please.", runner=runner)
        )
        run.wait()
    os._exit(0)


def main() -> None:
    template, folder, runner, when = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]
    given = sys.argv[5] if len(sys.argv) > 5 else None
    for number in range(1, 200):
        place = folder / str(number)
        place.mkdir(parents=True)
        shutil.copy(template, place / "grove.db")
        # Forked before any thread has begun: Python is started once for all of them.
        process = os.fork()
        if process == 0:
            try:
                child(place, runner, number, when, given or str(place / "grove.db"))
            finally:
                os._exit(1)
        _, status = os.waitpid(process, 0)
        if not os.WIFSIGNALED(status):
            sys.stdout.write(f"{number} {os.waitstatus_to_exitcode(status)}\n")
            return
        if when not in {"before", "after"}:
            sys.stdout.write(f"{number} 0\n")
            return


if __name__ == "__main__":
    main()
