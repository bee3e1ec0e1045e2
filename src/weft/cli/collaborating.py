"""A terminal where a person and an agent work on one tree: collaborate."""

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.call import Call
from weft.cli.command import command, flag
from weft.cli.completing import complete_agents, complete_nodes
from weft.cli.output import visible
from weft.cli.results import result_to_wire
from weft.cli.speaking import failure_to_wire
from weft.cli.terminal import Terminal, place_to_go_on_at
from weft.cli.wording import quoted, shortened
from weft.commands.scanner import ARROW
from weft.errors import InvalidInputError
from weft.tree.json import JsonObject
from weft.tree.node import Status
from weft.tree.tree import Mode

if TYPE_CHECKING:
    from weft.commands.reply import Result
    from weft.grove.tree import TreeHandle
    from weft.runtime.collaborating.handles import Collaborated, CollaboratorRun, RunWishes
    from weft.runtime.collaborating.telling import RunEvent

__all__ = ["add_to"]

_PANEL = "Models"
_INTERRUPTED = 130
_FOLDED = 3
"""Lines of a result that are shown; the rest is folded."""
_HELP = """\
What you type is said, and the agent works on it. A line that ends with \\ goes on.
→ COMMAND     do it yourself: → tree, → view a7x2, → help
/agent NAME   who works with you from now on
/resume       let it go on where it was interrupted
/undo         take back your last step
/where        where you stand
/quit         end (or Ctrl-D); Ctrl-C stops the agent, and what it said is kept"""


def collaborate(
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
        typer.Option(
            "--agent",
            "-a",
            metavar="AGENT",
            help="A loom-aware model; else the default one.",
            autocompletion=complete_agents,
        ),
    ] = None,
    once: Annotated[
        str | None, typer.Option("--once", metavar="TEXT", help="Say this, wait for the reply, and end.")
    ] = None,
    resume: Annotated[
        bool, flag("--resume", help="Let the agent go on with its run that was interrupted, and end.")
    ] = False,
    turns: Annotated[
        int | None, typer.Option("--turns", metavar="N", help="How often the agent may speak in a run.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", metavar="TOKENS", help="How long each turn may be.")
    ] = None,
) -> None:
    """Work on a tree together with a model that has commands of its own.

    Its words are printed as they come; what it does, and what came of that, is told beside them. In
    a pipe every line is said; a line that begins with → is your own command.
    """
    wishes: RunWishes = {}
    if turns is not None:
        wishes["turns"] = turns
    if max_tokens is not None:
        wishes["max_tokens"] = max_tokens
    tree, node = place_to_go_on_at(call, reference)
    desk = _Desk(call, tree, agent, wishes, at=None if node is None else node.id)
    if once is not None and resume:
        raise InvalidInputError("--once says something new, --resume goes on with what was", hint="take one")
    from weft.runtime.collaborating.presence import being_present  # noqa: PLC0415 - the runtime loads when used

    with being_present(call.grove, lambda: desk.tree_id):
        if once is not None:
            desk.say(once)
        elif resume:
            desk.resume()
        else:
            desk.run()
            return
    if desk.was_stopped:
        raise typer.Exit(_INTERRUPTED)


class _Desk(Terminal):
    """One tree, a person and an agent that works on it."""

    def __init__(
        self,
        call: Call,
        tree: "TreeHandle | None",
        agent: str | None,
        wishes: "RunWishes",
        *,
        at: str | None = None,
    ) -> None:
        super().__init__(call, tree, agent)
        self._wishes = wishes
        self._at = at
        """Where this conversation is. A person has one cursor in a tree, and another terminal may have moved it."""
        self.was_stopped = False

    @property
    def tree_id(self) -> str | None:
        return None if self._tree is None else self._tree.id

    def _take(self, turn: str) -> None:
        word, _, rest = turn.strip().partition(" ")
        if word in {"/undo", "/where"}:
            self._stand()
        if self._take_usual(word):
            self._at = None if word == "/undo" else self._at
            return
        match word:
            case "/help":
                self._call.out.talk(_HELP)
            case "/agent":
                self._name_agent(rest.strip(), "works with you")
            case "/resume":
                self.resume()
            case _ if turn.lstrip().startswith(ARROW):
                self._do(turn)
            case _:
                self.say(self._said(turn))

    def _do(self, turn: str) -> None:
        """The person's own command."""
        self._stand()
        done = self._here().do(turn)
        self._at = self._here().cursor.id
        if self._call.out.as_json:
            self._call.out.json_line([result_to_wire(result) for result in done])
        else:
            self._call.out.text(done.text)

    def _stand(self) -> None:
        """Be where this conversation is: what names no place is about that one."""
        if self._at is not None and self._here().cursor.id != self._at:
            self._here().node(self._at).switch()

    def say(self, text: str) -> None:
        from weft.runtime.collaborating.handles import start_run  # noqa: PLC0415 - the runtime loads when used

        if not text.strip():
            raise InvalidInputError("say what?")
        tree = self._planted(text)
        self._show_run(
            lambda: start_run(
                self._call.grove, self._agent, text, tree=tree, node=self._at, wishes=self._wishes
            )
        )

    def resume(self) -> None:
        """Let the agent go on with what was interrupted."""
        from weft.runtime.collaborating.handles import resume_run  # noqa: PLC0415 - the runtime loads when used

        tree = self._here()
        self._show_run(lambda: resume_run(self._call.grove, self._agent, tree=tree, wishes=self._wishes))

    def _show_run(self, begin: "Callable[[], CollaboratorRun]") -> None:
        with begin() as run:
            screen = _Screen(self._call)
            self.was_stopped = screen.show(run)
            self._at = screen.node or self._at
            done = run.result()
            if done.reply is not None and self._here().mode is Mode.DIALOGUE:
                self._at = done.reply.id
            self._tell(done, screen)

    def _tell(self, done: "Collaborated", screen: "_Screen") -> None:
        out = self._call.out
        if out.as_json:
            out.json(_to_wire(done))
        if done.reply is not None:
            cut = ", interrupted" if done.reply.value.status is Status.INTERRUPTED else ""
            title = quoted(self._here().title)
            out.talk(f"{screen.agent} wrote [{done.reply.local_id}] in {title}{cut}")
        if done.note is not None and not self.was_stopped:
            out.talk(f"note: {done.note}")
        elif done.error is not None:
            out.talk(f"not all came: {done.error.message}")


class _Screen:
    """Words as they come; commands and what came of them beside them, dim and folded."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._ends_line = True
        self._has_said = False
        self.agent = ""
        self.node: str | None = None
        """What is answered."""

    def show(self, run: "CollaboratorRun") -> bool:
        """Until it is over; Ctrl-C stops, and what was said is kept. Whether it was stopped."""
        stopped = False
        try:
            try:
                self._take_all(run)
            except KeyboardInterrupt:
                stopped = True
                run.stop()
                self._take_all(run)
        finally:
            self._end_line()
        return stopped

    def _take_all(self, events: "Iterable[RunEvent]") -> None:
        for event in events:
            self._take(event)

    def _take(self, event: "RunEvent") -> None:
        from weft.runtime.collaborating.telling import (  # noqa: PLC0415 - the runtime loads when it is used
            Answered,
            Began,
            Commanded,
            Retrying,
            TextChunk,
            Turned,
        )

        match event:
            case Began():
                self.agent, self.node = event.agent, event.node_id
            case Turned():
                self._end_line()
            case TextChunk():
                self._say(event.text)
            case Commanded():
                said = " ".join(event.text.split())
                self._aside(f"{ARROW} {'think …' if event.think else shortened(said, 100)}")
            case Answered():
                self._aside(_folded(event.result))
            case Retrying():
                self._call.out.talk(f"{event.error.message}: again in {event.wait:.1f} s")
            case _:
                pass

    def _say(self, text: str) -> None:
        if self._call.out.as_json:
            return
        if self._ends_line and self._has_said:
            sys.stdout.write("\n")
        self._ends_line, self._has_said = text.endswith("\n"), True
        sys.stdout.write(visible(text) if self._call.out.terminal else text)
        sys.stdout.flush()

    def _aside(self, text: str) -> None:
        if self._call.out.as_json:
            return
        self._end_line()
        if self._call.out.terminal:
            self._call.out.text(visible(text), "dim")
        else:
            self._call.out.talk(text)

    def _end_line(self) -> None:
        if not self._ends_line:
            sys.stdout.write("\n")
            sys.stdout.flush()
        self._ends_line = True


def _folded(result: "Result") -> str:
    lines = result.text.splitlines()
    shown = [f"  {line}" for line in lines[:_FOLDED]]
    if len(lines) > _FOLDED:
        more = len(lines) - _FOLDED
        shown.append(f"  … {more:,} more line{'' if more == 1 else 's'}")
    return "\n".join(shown)


def _to_wire(done: "Collaborated") -> JsonObject:
    from weft.tree.json_names import to_wire  # noqa: PLC0415

    return {
        "run": done.run,
        "reply": None if done.reply is None else to_wire(done.reply.value),
        "results": [result_to_wire(result) for result in done.results],
        "ending": done.ending.value,
        "note": done.note,
        "error": None if done.error is None else failure_to_wire(done.error),
        "turns": done.turns,
        "tokens": done.tokens,
    }


def add_to(app: typer.Typer) -> None:
    command(app, "collaborate", collaborate, panel=_PANEL, creates=True)
