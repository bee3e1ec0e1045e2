"""Tools of a test's own: one that looks, one with an effect, one that hangs, one that breaks."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from weft.knowledge.tools.base import Tool, ToolRegistry, installed_tools, say
from weft.tree.content import ToolCall

NOTHING = {"type": "object", "properties": {}}


def calling(name: str, id: str = "1", /, **arguments) -> ToolCall:  # noqa: A002 - the wire's word
    return ToolCall(id=id, name=name, arguments=arguments)


@dataclass
class Workshop:
    """What its tools did."""

    done: list[str] = field(default_factory=list)
    hanging: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    def _hang(self, _context, _arguments):
        self.hanging.set()
        self.over.wait(30)
        return say("hang", "Late.")

    def _ring(self, _context, _arguments):
        self.done.append("ring")
        return say("ring", "It rang.")

    @property
    def registry(self) -> ToolRegistry:
        tools = {
            "look": Tool(
                name="look", description="Look.", arguments=NOTHING, run=lambda *_: say("look", "Fog.")
            ),
            "ring": Tool(name="ring", description="Ring.", arguments=NOTHING, run=self._ring, effects=True),
            "hang": Tool(name="hang", description="Hang.", arguments=NOTHING, run=self._hang),
            "boom": Tool(name="boom", description="Break.", arguments=NOTHING, run=lambda *_: 1 / 0),
            "readNote": installed_tools().tool("readNote"),
        }
        return ToolRegistry(tools)


@contextmanager
def workshop() -> Generator[Workshop]:
    made = Workshop()
    try:
        yield made
    finally:
        made.over.set()
