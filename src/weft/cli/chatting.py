"""A conversation in the terminal."""

import contextlib
import importlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.call import Call
from weft.cli.completing import complete_agents, complete_nodes
from weft.cli.output import visible
from weft.cli.speaking import show_stream, tell_nodes
from weft.cli.texts import person_is_there
from weft.cli.wording import quoted, shortened
from weft.errors import InvalidInputError, NotFoundError, WeftError
from weft.tree.tree import Mode

if TYPE_CHECKING:
    from weft.runtime.handles import NodeHandle, TreeHandle

__all__ = ["chat", "typed_turns"]

_QUOTE = '"""'
_HELP = """\
Type and press Enter. A line that ends with \\ goes on; \"\"\" begins and ends several lines.
/next /previous   another answer to the same question
/again [N]        ask for another answer, or N of them
/agent NAME       who answers from now on
/undo             take back the last step
/where            where you stand
/quit             end (or Ctrl-D); Ctrl-C stops an answer, and what came is kept"""


def chat(
    call: Call,
    reference: Annotated[
        str | None,
        typer.Argument(
            metavar="NODE",
            help="Where to go on; a tree's title means where you stand in it.",
            autocompletion=complete_nodes,
        ),
    ] = None,
    *,
    agent: Annotated[
        str | None,
        typer.Option("--agent", "-a", metavar="AGENT", help="Who answers.", autocompletion=complete_agents),
    ] = None,
) -> None:
    """Talk with a model, turn by turn; every turn is kept. Without a tree, a new one is planted.

    In a pipe every line is a turn. /help shows what else can be typed.
    """
    tree = _tree(call, reference)
    if tree is not None and tree.mode is Mode.BUFFER:
        raise InvalidInputError(
            f"{quoted(tree.title)} is one text, not a conversation", hint="weft type and weft gen continue it"
        )
    talk = _Talk(call, tree, agent)
    if person_is_there():
        call.out.talk("/help says how; Ctrl-D ends")
    for turn in typed_turns():
        if not talk.take(turn):
            break


def _tree(call: Call, reference: str | None) -> "TreeHandle | None":
    try:
        tree, node = call.place(reference)
    except NotFoundError:
        if reference is not None:
            raise
        return None
    if node is not None:
        node.switch()
    return tree


class _Talk:
    def __init__(self, call: Call, tree: "TreeHandle | None", agent: str | None) -> None:
        self._call = call
        self._tree = tree
        self._agent = agent

    def take(self, turn: str) -> bool:
        """One turn; False at the end. What goes wrong is said, and the conversation goes on."""
        if turn.strip() in {"/quit", "/exit", "/q"}:
            return False
        try:
            self._take(turn)
        except WeftError as error:
            self._call.out.talk(f"✗ {error.code}: {error.message}")
            if error.hint is not None:
                self._call.out.talk(f"  hint: {error.hint}")
        return True

    def _take(self, turn: str) -> None:
        word, _, rest = turn.strip().partition(" ")
        rest = rest.strip()
        match word:
            case "":
                return
            case "/help":
                self._call.out.talk(_HELP)
            case "/agent":
                if rest:
                    self._agent = self._call.grove.read.agent(rest).name
                self._call.out.talk(f"{self._agent or 'the default agent'} answers")
            case "/next" | "/previous":
                self._show(self._here().switch(word.removeprefix("/")))
            case "/undo":
                done = self._here().undo()
                self._call.out.talk(f"took back {len(done)} step{'s' if len(done) != 1 else ''}")
            case "/where":
                self._show(self._here().cursor)
            case "/again":
                self._again(rest)
            case _ if word.startswith("/") and not word.startswith("//"):
                raise InvalidInputError(
                    f"{word} is nothing that can be done here", hint="/help lists what can"
                )
            case _:
                self._say(turn.removeprefix("/") if turn.startswith("//") else turn)

    def _here(self) -> "TreeHandle":
        if self._tree is None:
            raise InvalidInputError("nothing was said yet", hint="say something first")
        return self._tree

    def _say(self, text: str) -> None:
        if self._tree is None:
            self._tree = self._call.grove.plant(shortened(text, 40))
            self._call.out.talk(f"planted {quoted(self._tree.title)}")
        self._answer(self._tree.say(text), 1)

    def _again(self, rest: str) -> None:
        if rest and not rest.isdecimal():
            raise InvalidInputError(f"{rest!r} is no number", hint="/again 3, for example")
        at = self._here().cursor
        asked = at.tail(2).nodes[0] if at.role.value == "assistant" and at.depth else at.value
        self._answer(self._here().node(asked.id), int(rest or 1))

    def _answer(self, node: "NodeHandle", n: int) -> None:
        with node.stream(n=n, agent=self._agent) as stream:
            show_stream(self._call, stream)
        title = quoted(self._here().title)
        if stream.nodes:
            tell_nodes(self._call, stream, title)
        elif stream.failures:
            raise stream.failures[0]

    def _show(self, node: "NodeHandle") -> None:
        self._call.out.text(f"[{node.local_id}] {visible(node.text)}")


def typed_turns() -> Iterator[str]:
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
            line = sys.stdin.readline()
            return line.rstrip("\r\n") if line else None
        except EOFError:
            return None
        except KeyboardInterrupt:
            sys.stderr.write("\n(Ctrl-D ends)\n")
