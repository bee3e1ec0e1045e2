"""A terminal in which one line after another is taken: what chats and collaborations share."""

import contextlib
import importlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

from weft.cli.call import Call
from weft.cli.output import visible
from weft.cli.texts import person_is_there
from weft.cli.wording import quoted, shortened
from weft.errors import InvalidInputError, NotFoundError, WeftError

if TYPE_CHECKING:
    from weft.grove.node import NodeHandle
    from weft.grove.tree import TreeHandle

__all__ = ["Terminal", "place_to_go_on_at", "tree_to_go_on_in"]

_QUOTE = '"""'


def tree_to_go_on_in(call: Call, reference: str | None) -> "TreeHandle | None":
    """The tree that is meant, standing where it says; None where nothing is there and nothing was named."""
    tree, _ = place_to_go_on_at(call, reference)
    return tree


def place_to_go_on_at(call: Call, reference: str | None) -> tuple["TreeHandle | None", "NodeHandle | None"]:
    """The same, and the node that was named, if one was."""
    try:
        tree, node = call.place(reference)
    except NotFoundError:
        if reference is not None:
            raise
        return None, None
    if node is not None:
        node.switch()
    return tree, node


class Terminal(ABC):
    """One tree, a person, and whoever answers."""

    def __init__(self, call: Call, tree: "TreeHandle | None", agent: str | None) -> None:
        self._call = call
        self._tree = tree
        self._agent = agent

    @abstractmethod
    def _take(self, turn: str) -> None:
        """One turn, as it was typed."""

    def run(self) -> None:
        """Until there is no more, or it is enough."""
        if person_is_there():
            self._call.out.talk("/help says how; Ctrl-D ends")
        for turn in _typed_turns():
            if not self._take_safely(turn):
                break

    def _take_safely(self, turn: str) -> bool:
        """One turn; False at the end. What goes wrong is said, and it goes on."""
        if turn.strip() in {"/quit", "/exit", "/q"}:
            return False
        try:
            self._take(turn)
        except WeftError as error:
            self._call.out.talk(f"✗ {error.code}: {error.message}")
            if error.hint is not None:
                self._call.out.talk(f"  hint: {error.hint}")
        return True

    def _take_usual(self, word: str) -> bool:
        """What can be typed in every terminal; whether it was that."""
        match word:
            case "":
                pass
            case "/undo":
                done = self._here().undo()
                self._call.out.talk(f"took back {len(done)} step{'s' if len(done) != 1 else ''}")
            case "/where":
                self._show(self._here().cursor)
            case _:
                return False
        return True

    def _name_agent(self, name: str, does: str) -> None:
        if name:
            self._agent = self._call.grove.read.agent(name).name
        self._call.out.talk(f"{self._agent or 'the default agent'} {does}")

    def _said(self, turn: str) -> str:
        """What is meant to be said; two slashes say one."""
        word = turn.split(maxsplit=1)[0]
        if word.startswith("/") and not word.startswith("//"):
            raise InvalidInputError(f"{word} is nothing that can be done here", hint="/help lists what can")
        return turn.removeprefix("/") if turn.startswith("//") else turn

    def _here(self) -> "TreeHandle":
        if self._tree is None:
            raise InvalidInputError("nothing was said yet", hint="say something first")
        return self._tree

    def _planted(self, text: str) -> "TreeHandle":
        """The tree, begun by the first words if there is none."""
        if self._tree is None:
            self._tree = self._call.grove.plant(shortened(text, 40))
            self._call.out.talk(f"planted {quoted(self._tree.title)}")
        return self._tree

    def _show(self, node: "NodeHandle") -> None:
        self._call.out.text(f"[{node.local_id}] {visible(node.text)}")


def _typed_turns() -> Iterator[str]:
    """What is typed, turn by turn."""
    asking = person_is_there()
    if asking:
        with contextlib.suppress(ImportError):
            importlib.import_module("readline")  # makes input() remember and edit lines
    lines: list[str] = []
    quoting = False
    while True:
        line = _line("… " if lines or quoting else "> ", asking=asking)
        if line is None:
            if lines:
                yield "\n".join(lines)
            return
        if line.strip() == _QUOTE:
            quoting = not quoting
            if not quoting:
                yield "\n".join(lines)
                lines = []
            continue
        if not quoting and line.endswith("\\"):
            lines.append(line[:-1])
            continue
        lines.append(line)
        if not quoting:
            yield "\n".join(lines)
            lines = []


def _line(prompt: str, *, asking: bool) -> str | None:
    """One line; None at the end. Ctrl-C at the prompt throws away what was typed."""
    while True:
        try:
            if asking:
                sys.stdout.flush()
                return input(prompt)
            # Where there is no input at all, Python has no object for it.
            line = "" if sys.stdin is None else sys.stdin.readline()
            return line.rstrip("\r\n") if line else None
        except EOFError:
            return None
        except KeyboardInterrupt:
            sys.stderr.write("\n(Ctrl-D ends)\n")
