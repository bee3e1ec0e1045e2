"""Processes in which an agent works until it dies at its Nth write: a child for each N."""

import os
import signal
import sys
import threading
from pathlib import Path

from tests.runners.stage import staged
from tests.runners.workshop import calling, say

from weft.knowledge.tools.base import Tool, ToolRegistry
from weft.runtime.runners.options import AskOptions
from weft.runtime.runners.run_events import ApprovalAsked
from weft.runtime.runners.service import Runners
from weft.testing import Reply

BACKGROUND = {"weft-jobs", "weft-summaries", "weft-indexer", "weft-vaults"}
"""Threads whose writes come when they like: none of them is the agent's."""
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
        asks = when == "asked"
        if not asks:
            stage.grove.tools.set_policy("ring", "allow")
        store = stage.grove.caller.store
        write, count = store.write, 0

        def counted(*given, **named):
            nonlocal count
            if threading.current_thread().name in BACKGROUND:
                return write(*given, **named)
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
            stage.tree.id,
            AskOptions("Ring, please.", runner=runner, approval_seconds=3_600 if asks else None),
        )
        while asks and not isinstance(run.channel.get(), ApprovalAsked):
            pass
        if asks:
            os.kill(os.getpid(), signal.SIGKILL)
        run.wait()
    os._exit(0)


def main() -> None:
    """For each line on stdin, a child that dies; its exit code on stdout. Python is started once for all of them."""
    runner, when = sys.argv[1:]
    for line in sys.stdin:
        number, place, address = line.split()
        # Forked before any thread has begun.
        process = os.fork()
        if process == 0:
            try:
                child(Path(place), runner, int(number), when, address)
            finally:
                os._exit(1)
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201 - the answer


if __name__ == "__main__":
    main()
