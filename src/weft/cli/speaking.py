"""Words of models on the screen, as they come: one continuation after another."""

import sys
from typing import TYPE_CHECKING

from weft.cli.call import Call
from weft.cli.output import visible
from weft.errors import ProviderError, WeftError
from weft.tree.node import Status

if TYPE_CHECKING:
    from weft.grove.generations import Stream
    from weft.runtime.generation.stream import GenerationEvent, Slot
    from weft.tree.json import JsonObject

__all__ = ["failure_to_wire", "show_stream", "tell_nodes"]


class _Screen:
    """Shows the first continuation that is not over yet live; the others wait for their turn."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._slots: tuple[Slot, ...] = ()
        self._waiting: dict[int, list[str]] = {}
        self._over: set[int] = set()
        self._now = 0
        self._begun = False
        self._ends_line = True

    def take(self, event: "GenerationEvent") -> None:
        from weft.runtime.generation.stream import (  # noqa: PLC0415 - the runtime loads when it is used
            Failed,
            NodeCompleted,
            Retrying,
            Started,
            TextChunk,
        )

        match event:
            case Started():
                self._slots = event.slots
            case TextChunk():
                self._say(event.slot, event.text)
            case NodeCompleted():
                if not self._slots:
                    # A call that was made before: its words come whole.
                    self._say(event.slot, event.node.text)
                self._end(event.slot)
            case Failed():
                for slot in event.slots:
                    self._end(slot)
            case Retrying():
                self._call.out.talk(f"{event.error.message}: again in {event.wait:.1f} s")
            case _:
                pass

    def _say(self, slot: int, text: str) -> None:
        if slot == self._now:
            self._write(text)
        else:
            self._waiting.setdefault(slot, []).append(text)

    def _end(self, slot: int) -> None:
        self._over.add(slot)
        while self._now in self._over:
            self._finish_line()
            self._now += 1
            self._begun = False
            self._write("".join(self._waiting.pop(self._now, ())))

    def _write(self, text: str) -> None:
        if not text:
            return
        if not self._begun:
            self._begin()
        # Noted first: whoever interrupts in between still gets the end of the line.
        self._ends_line = text.endswith("\n")
        sys.stdout.write(visible(text) if self._call.out.terminal else text)
        sys.stdout.flush()

    def _begin(self) -> None:
        self._begun = True
        if len(self._slots) <= 1:
            return
        if self._now:
            sys.stdout.write("\n")
        if self._call.out.terminal and self._now < len(self._slots):
            slot = self._slots[self._now]
            self._call.out.text(f"{self._now + 1}/{len(self._slots)} {slot.agent}", "dim")

    def _finish_line(self) -> None:
        if self._begun and not self._ends_line:
            sys.stdout.write("\n")
            sys.stdout.flush()
        self._ends_line = True

    def close(self) -> None:
        self._finish_line()


def show_stream(call: Call, stream: "Stream", *, quiet: bool = False) -> bool:
    """Print what comes until it is over; Ctrl-C stops, and what came is kept. Whether it was stopped."""
    screen = _Screen(call)
    stopped = False
    try:
        try:
            for event in stream:
                if not quiet:
                    screen.take(event)
        except KeyboardInterrupt:
            stopped = True
            stream.stop()
            for event in stream:
                if not quiet:
                    screen.take(event)
    finally:
        screen.close()
    return stopped


def tell_nodes(call: Call, stream: "Stream", title: str) -> None:
    """On stderr: which nodes there are now, and what did not come."""
    names = {agent.id: agent.name for agent in call.grove.read.agents(archived=True)}
    for node in stream.nodes:
        cut = ", interrupted" if node.value.status is Status.INTERRUPTED else ""
        call.out.talk(f"{names.get(node.value.author_id, 'a model')} wrote [{node.local_id}] in {title}{cut}")
    for error in stream.failures:
        call.out.talk(f"not all came: {error.message}")


def failure_to_wire(error: WeftError) -> "JsonObject":
    told: dict[str, str | None] = {"code": error.code, "message": error.message, "hint": error.hint}
    if isinstance(error, ProviderError):
        told["trouble"] = error.trouble.value
    return told
