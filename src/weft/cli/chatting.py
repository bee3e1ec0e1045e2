"""A conversation in the terminal."""

from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.call import Call
from weft.cli.completing import complete_agents, complete_nodes
from weft.cli.speaking import show_stream, tell_nodes
from weft.cli.terminal import Terminal, tree_to_go_on_in
from weft.cli.wording import quoted
from weft.errors import InvalidInputError
from weft.tree.tree import Mode

if TYPE_CHECKING:
    from weft.grove.node import NodeHandle

__all__ = ["chat"]

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
    tree = tree_to_go_on_in(call, reference)
    if tree is not None and tree.mode is Mode.BUFFER:
        raise InvalidInputError(
            f"{quoted(tree.title)} is one text, not a conversation", hint="weft type and weft gen continue it"
        )
    _Talk(call, tree, agent).run()


class _Talk(Terminal):
    def _take(self, turn: str) -> None:
        word, _, rest = turn.strip().partition(" ")
        rest = rest.strip()
        if self._take_usual(word):
            return
        match word:
            case "/help":
                self._call.out.talk(_HELP)
            case "/agent":
                self._name_agent(rest, "answers")
            case "/next" | "/previous":
                self._show(self._here().switch(word.removeprefix("/")))
            case "/again":
                self._again(rest)
            case _:
                said = self._said(turn)
                self._answer(self._planted(said).say(said), 1)

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
