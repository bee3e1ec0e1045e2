"""Work with agents: collaborate, do."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.arguments import argument, flag, option
from weft.cli.output import quoted, shortened, visible
from weft.cli.session import CliSession
from weft.cli.terminal import (
    LiveText,
    Terminal,
    failure_to_wire,
    result_to_wire,
    show_until_stopped,
    starting_place,
)
from weft.cli.text_input import agrees, is_interactive, text_given
from weft.cli.typed_turns import TypedTurn
from weft.commands.lexer import quote
from weft.commands.scanner import ARROW
from weft.error_hints import Face
from weft.errors import InvalidInputError, NotFoundError
from weft.runtime.generation.options import RunOptions
from weft.tree.agent import Permission
from weft.tree.node import Status, counted
from weft.tree.tree import Mode

if TYPE_CHECKING:
    from weft.commands.reply import Result
    from weft.grove.agent import Collaborated, CollaboratorRun
    from weft.grove.tree import TreeHandle
    from weft.runtime.collaboration.run_events import RunEvent

_INTERRUPTED = 130
_SHOWN_LINES = 3
"""Lines of a command's result that are shown."""
_HELP = """\
What you type is saved as a turn, and the agent works on it. A line that ends with \\ continues.
→ COMMAND     run a command yourself: → tree, → view a7x2, → help; -> COMMAND is the same
/agent NAME   choose the agent
/resume       let the agent resume an interrupted run
/undo         undo the last step: the agent's turn first, then yours
/where        show the current node
/quit         end (or Ctrl-D); Ctrl-C stops the agent and keeps what it wrote"""


def do(
    session: CliSession,
    words: Annotated[
        list[str] | None, argument("COMMAND", "As agents write it; - or a pipe for one command a line.")
    ] = None,
    *,
    agent: Annotated[
        str | None,
        option("--agent -a AGENT", "Run as this agent, with its permissions as far as you have them."),
    ] = None,
) -> None:
    """Run agent commands: → view a7x2, → respond a7x2 "…", → help.

    A failure does not stop the others; the exit code is that of the first failure.
    """
    with text_given(_lines(words)) as text:
        from weft.runtime.collaboration.commands.session import run_commands  # noqa: PLC0415 - loads with the grove

        done = run_commands(session.grove.caller, session.tree.id, text, agent, face=Face.CLI)
    if session.out.as_json:
        session.out.json([result_to_wire(result) for result in done])
    else:
        for number, result in enumerate(done):
            if number:
                session.out.text("")
            session.out.text(result.text)
    if done.error is not None:
        raise typer.Exit(done.error.row.exit)


def _lines(words: list[str] | None) -> list[str] | None:
    """Several commands, one an argument; or one command, whose quotation marks the shell has removed."""
    if words is None or len(words) < 2:
        return words
    if all(word.lstrip().startswith(ARROW) for word in words[1:]):
        return ["\n".join(words)]
    plain = [word if not any(map(str.isspace, word)) or '"' in word else quote(word) for word in words]
    return [" ".join(plain)]


def collaborate(
    session: CliSession,
    reference: Annotated[
        str | None, argument("NODE", "Where to continue; a tree means its current node.")
    ] = None,
    *,
    agent: Annotated[
        str | None, option("--agent -a AGENT", "A loom-aware model; default: the default agent.")
    ] = None,
    once: Annotated[str | None, option("--once TEXT", "Send this, wait for the reply, and end.")] = None,
    resume: Annotated[bool, flag("--resume", "Resume the agent's interrupted run, and end.")] = False,
    turns: Annotated[int | None, option("--turns N", RunOptions)] = None,
    max_tokens: Annotated[int | None, option("--max-tokens TOKENS", RunOptions)] = None,
) -> None:
    """Work on a tree together with a model that runs commands of its own.

    Prints its text as it comes; messages show its commands and their results. In a pipe every line is
    a turn. At the prompt, a line that you type and that begins with → or -> is your own command; what is
    pasted or piped is text.
    """
    options = (
        RunOptions(max_tokens=max_tokens) if turns is None else RunOptions(turns=turns, max_tokens=max_tokens)
    )
    tree, node = starting_place(session, reference)
    terminal = _Collaboration(session, tree, agent, options, at=None if node is None else node.id)
    if once is not None and resume:
        raise InvalidInputError("--once and --resume exclude each other")
    from weft.runtime.collaboration.presence import being_present  # noqa: PLC0415 - loads with the grove

    with being_present(session.grove.caller, lambda: terminal.tree_id):
        if once is not None:
            terminal.say(once)
        elif resume:
            terminal.resume()
        elif terminal.has_agent():
            terminal.run()
            return
        else:
            return
    if terminal.was_stopped:
        raise typer.Exit(_INTERRUPTED)


class _Collaboration(Terminal):
    """One tree, a person, and an agent that works on it."""

    def __init__(
        self,
        session: CliSession,
        tree: "TreeHandle | None",
        agent: str | None,
        options: RunOptions,
        *,
        at: str | None = None,
    ) -> None:
        super().__init__(session, tree, agent)
        self._options = options
        self._at = at
        """This terminal's node. A person has one cursor in a tree, and another terminal may have moved it."""
        self.was_stopped = False

    @property
    def tree_id(self) -> str | None:
        return None if self._tree is None else self._tree.id

    def has_agent(self) -> bool:
        """Say before the prompt that no agent can work here, and offer to make one."""
        from weft.runtime.collaboration.task import collaborator  # noqa: PLC0415 - loads with the grove

        caller, named = self._session.grove.caller, self._agent
        try:
            with caller.reading() as session:
                agent, _ = collaborator(session, caller.actor, named)
        except NotFoundError as missing:
            if named is not None:
                raise
            return self._made_agent(missing)
        self._agent = agent.name
        return True

    def _made_agent(self, missing: NotFoundError) -> bool:
        model = self._session.grove.generations.answering_agent.model_ref
        out = self._session.out
        out.message(f"{missing.message}: nobody here can work on a tree with commands")
        if not is_interactive() or not agrees(f"Make the agent 'Muse' with {model}?"):
            raise missing
        made = self._session.grove.add_agent(
            "Muse", model_ref=model, permissions=[Permission.LOOM_AWARE, Permission.LOOM_WRITE]
        )
        self._agent = made.name
        out.message(f"added {made.name!r}; weft agents set {made.name} changes it")
        return True

    def _take(self, turn: TypedTurn) -> None:
        word, _, rest = turn.text.strip().partition(" ")
        if word in {"/undo", "/where"}:
            self._switch_back()
        if self._take_common(word):
            self._at = None if word == "/undo" else self._at
            return
        match word:
            case "/help":
                self._session.out.message(_HELP)
            case "/agent":
                self._choose_agent(rest.strip(), "works with you")
            case "/resume":
                self.resume()
            case _ if (command := _command_in(turn.text)) is not None:
                if turn.is_typed:
                    self._do(command)
                    return
                self._session.out.message(
                    "note: what is pasted or piped is said as text; weft do runs commands"
                )
                self.say(turn.text)
            case _:
                self.say(self._text_of(turn.text))

    def _do(self, turn: str) -> None:
        """Run the person's own command."""
        self._switch_back()
        from weft.runtime.collaboration.commands.session import run_commands  # noqa: PLC0415 - loads with the grove

        done = run_commands(self._session.grove.caller, self._current_tree().id, turn, face=Face.CLI)
        self._at = self._current_tree().cursor.id
        if self._session.out.as_json:
            self._session.out.json_line([result_to_wire(result) for result in done])
        else:
            self._session.out.text(done.text)

    def _switch_back(self) -> None:
        """Move the cursor to this terminal's node: commands without a node refer to it."""
        if self._at is not None and self._current_tree().cursor.id != self._at:
            self._current_tree().node(self._at).switch()

    def say(self, text: str) -> None:
        from weft.grove.agent import start_run  # noqa: PLC0415 - loads with the grove

        if not text.strip():
            raise InvalidInputError("the text is empty")
        tree = self._tree_for(text)
        self._show_run(
            lambda: start_run(self._session.grove, self._agent, text, self._options, tree=tree, node=self._at)
        )

    def resume(self) -> None:
        """Resume the interrupted run."""
        from weft.grove.agent import resume_run  # noqa: PLC0415 - loads with the grove

        tree = self._current_tree()
        self._show_run(lambda: resume_run(self._session.grove, self._agent, self._options, tree=tree))

    def _show_run(self, begin: "Callable[[], CollaboratorRun]") -> None:
        with begin() as run:
            display = _RunDisplay(self._session)
            self.was_stopped = show_until_stopped(run, display.show, display)
            self._at = display.node or self._at
            done = run.result()
            if done.reply is not None and self._current_tree().mode is Mode.DIALOGUE:
                self._at = done.reply.id
            self._show_result(done, display)

    def _show_result(self, done: "Collaborated", display: "_RunDisplay") -> None:
        out = self._session.out
        if out.as_json:
            out.json(_to_wire(done))
        if done.reply is not None:
            cut = ", interrupted" if done.reply.value.status is Status.INTERRUPTED else ""
            title = quoted(self._current_tree().title)
            out.message(f"{display.agent} wrote [{done.reply.local_id}] in {title}{cut}")
        if done.note is not None and not self.was_stopped:
            out.message(f"note: {done.note}")
        elif done.error is not None:
            out.message(f"incomplete: {done.error.message}")


class _RunDisplay(LiveText):
    """The agent's text as it comes; its commands and their results beside it, dim and shortened."""

    def __init__(self, session: CliSession) -> None:
        super().__init__(session)
        self._has_text = False
        self.agent = ""
        self.node: str | None = None
        """The node that is answered."""

    def show(self, event: "RunEvent") -> None:
        from weft.runtime.collaboration.run_events import (  # noqa: PLC0415 - loads with the grove
            Answered,
            Began,
            Commanded,
            Notice,
            Retrying,
            TextChunk,
            Turned,
        )

        match event:
            case Began():
                self.agent, self.node = event.agent, event.node_id
            case Turned():
                self.end_line()
            case TextChunk() if not self._session.out.as_json:
                self.write("\n" + event.text if self._ends_line and self._has_text else event.text)
                self._has_text = True
            case Commanded():
                text = " ".join(event.text.split())
                self._aside(f"{ARROW} {'think …' if event.think else shortened(text, 100)}")
            case Answered():
                self._aside(_first_lines(event.result))
            case Retrying():
                self._session.out.message(f"{event.error.message}: retrying in {event.wait:.1f} s")
            case Notice():
                self._session.out.message(event.message)
            case _:
                pass

    def _aside(self, text: str) -> None:
        if self._session.out.as_json:
            return
        self.end_line()
        if self._session.out.terminal:
            self._session.out.text(visible(text), "dim")
        else:
            self._session.out.message(text)


def _command_in(text: str) -> str | None:
    """The command of a line that begins with an arrow, of which → is hard to type."""
    line = text.lstrip()
    for arrow in (ARROW, "->"):
        if line.startswith(arrow):
            return f"{ARROW} {line.removeprefix(arrow).lstrip()}"
    return None


def _first_lines(result: "Result") -> str:
    lines = result.text.splitlines()
    shown = [f"  {line}" for line in lines[:_SHOWN_LINES]]
    if len(lines) > _SHOWN_LINES:
        shown.append(f"  … {counted(len(lines) - _SHOWN_LINES, 'more line')}")
    return "\n".join(shown)


def _to_wire(done: "Collaborated") -> dict[str, object]:
    return {
        "run": done.run,
        "reply": None if done.reply is None else done.reply.value,
        "results": [result_to_wire(result) for result in done.results],
        "ending": done.ending,
        "note": done.note,
        "error": None if done.error is None else failure_to_wire(done.error),
        "turns": done.turns,
        "tokens": done.tokens,
    }
