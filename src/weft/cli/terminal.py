"""Interactive sessions in a terminal: typed turns and streamed answers."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeVar

from weft.cli.output import quoted, shortened, visible
from weft.cli.session import CliSession
from weft.cli.text_input import is_interactive
from weft.cli.typed_turns import TypedTurn, typed_turns
from weft.cli.word_wrap import WordWrap
from weft.error_hints import Face, hint_on
from weft.errors import InvalidInputError, NotFoundError, ProviderError, WeftError
from weft.tree.node import Status, counted

if TYPE_CHECKING:
    from weft.commands.reply import Result
    from weft.grove.node import NodeHandle
    from weft.grove.tree import TreeHandle
    from weft.runtime.generation.service import Stream
    from weft.runtime.generation.stream import GenerationEvent, StreamSlot

E_co = TypeVar("E_co", covariant=True)


class _Run(Protocol[E_co]):
    def __iter__(self) -> Iterator[E_co]: ...
    def stop(self) -> None: ...


class LiveText:
    """Text on stdout as it comes, wrapped at words on a terminal; what follows begins on a line of its own."""

    def __init__(self, session: CliSession) -> None:
        self._session = session
        self._ends_line = True
        self._wrap = WordWrap(session.out.width) if session.out.terminal else None

    def write(self, text: str) -> None:
        # Noted first: after an interrupt in between, the line is still ended.
        self._ends_line = text.endswith("\n")
        sys.stdout.write(text if self._wrap is None else self._wrap.add(visible(text)))
        sys.stdout.flush()

    def end_line(self) -> None:
        if not self._ends_line:
            self.write("\n")


def show_until_stopped(run: _Run[E_co], show: Callable[[E_co], None], live: LiveText) -> bool:
    """Show the events of a run until it ends; Ctrl-C stops it and keeps what came. True if it was stopped."""
    stopped = False
    try:
        try:
            for event in run:
                show(event)
        except KeyboardInterrupt:
            stopped = True
            run.stop()
            for event in run:
                show(event)
    finally:
        live.end_line()
    return stopped


class _StreamDisplay(LiveText):
    """Shows the first unfinished continuation live; the others wait until it ends."""

    def __init__(self, session: CliSession) -> None:
        super().__init__(session)
        self._slots: tuple[StreamSlot, ...] = ()
        self._waiting: dict[int, list[str]] = {}
        self._over: set[int] = set()
        self._now = 0
        self._begun = False

    def show(self, event: "GenerationEvent") -> None:
        from weft.runtime.generation.stream import (  # noqa: PLC0415 - loads with the grove
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
                self._add(event.slot, event.text)
            case NodeCompleted():
                if not self._slots:
                    # The result of an earlier call with the same key: its text comes whole.
                    self._add(event.slot, event.node.text)
                self._end(event.slot)
            case Failed():
                for slot in event.slots:
                    self._end(slot)
            case Retrying():
                self._session.out.message(f"{event.error.message}: retrying in {event.wait:.1f} s")
            case _:
                pass

    def _add(self, slot: int, text: str) -> None:
        if slot == self._now:
            self._show(text)
        else:
            self._waiting.setdefault(slot, []).append(text)

    def _end(self, slot: int) -> None:
        self._over.add(slot)
        while self._now in self._over:
            self.end_line()
            self._now += 1
            self._begun = False
            self._show("".join(self._waiting.pop(self._now, ())))

    def _show(self, text: str) -> None:
        if text:
            self._begin()
            self.write(text)

    def _begin(self) -> None:
        begun, self._begun = self._begun, True
        if begun or len(self._slots) <= 1:
            return
        if self._now:
            sys.stdout.write("\n")
        if self._session.out.terminal and self._now < len(self._slots):
            slot = self._slots[self._now]
            self._session.out.text(f"{self._now + 1}/{len(self._slots)} {slot.agent}", "dim")


def show_stream(session: CliSession, stream: "Stream[NodeHandle]", *, quiet: bool = False) -> bool:
    """Print a stream until it ends; Ctrl-C stops it and keeps what came. True if it was stopped."""
    display = _StreamDisplay(session)
    return show_until_stopped(stream, (lambda _: None) if quiet else display.show, display)


def show_nodes(session: CliSession, stream: "Stream[NodeHandle]", title: str) -> None:
    """Messages that name the new nodes and the failures."""
    for node in stream.nodes:
        cut = ", interrupted" if node.value.status is Status.INTERRUPTED else ""
        author = session.agent_names.get(node.value.author_id, "a model")
        session.out.message(f"{author} wrote [{node.local_id}] in {title}{cut}")
    for error in stream.failures:
        session.out.message(f"incomplete: {error.message}")
    session.out.notes(stream.notices)


def failure_to_wire(error: WeftError) -> dict[str, object]:
    hint = hint_on(Face.CLI, error.hint)
    wire: dict[str, object] = {"code": error.code, "message": error.message, "hint": hint}
    return {**wire, "trouble": error.trouble} if isinstance(error, ProviderError) else wire


def result_to_wire(result: "Result") -> dict[str, object]:
    error = {} if result.error is None else failure_to_wire(result.error)
    error.pop("trouble", None)
    return {
        "command": result.command,
        "ok": result.ok,
        "text": result.text,
        "nodes": result.nodes,
        **error,
    }


def plant_for(session: CliSession, text: str) -> "TreeHandle":
    """A new tree, titled by the first words of a text."""
    tree = session.grove.plant(shortened(text, 40))
    session.out.message(f"created {quoted(tree.title)}")
    return tree


def starting_place(
    session: CliSession, reference: str | None, *, switch: bool = True
) -> tuple["TreeHandle | None", "NodeHandle | None"]:
    """The tree to continue in, switched to the node that was named, if any.

    Both are None if nothing was named and the grove has no tree.
    """
    try:
        tree, node = session.place(reference)
    except NotFoundError:
        if reference is not None:
            raise
        return None, None
    if node is not None and switch:
        node.switch()
    return tree, node


class Terminal(ABC):
    """A person types turns in one tree, and an agent answers."""

    def __init__(self, session: CliSession, tree: "TreeHandle | None", agent: str | None) -> None:
        self._session = session
        self._tree = tree
        self._agent: str | None = agent

    @abstractmethod
    def _take(self, turn: TypedTurn) -> None:
        """Execute one turn."""

    def _default_agent(self) -> str:
        """The name of the agent that answers if none is named."""
        return self._session.grove.generations.answering_agent.name

    def run(self) -> None:
        """Take turns until the input ends or /quit is typed."""
        place = "a new tree" if self._tree is None else quoted(self._tree.title)
        ending = "; /help lists the commands, Ctrl-D ends" if is_interactive() else ""
        self._session.out.message(f"{place} with {self._agent or self._default_agent()}{ending}")
        for turn in typed_turns():
            if turn.text.strip() in {"/quit", "/exit", "/q"}:
                break
            try:
                self._take(turn)
            except WeftError as error:
                # An error does not end the session.
                self._session.out.message(f"✗ {error.code}: {error.message}")
                if error.hint is not None:
                    self._session.out.message(f"  hint: {hint_on(Face.CLI, error.hint)}")

    def _take_common(self, word: str) -> bool:
        """Execute a command that every terminal has. False if it is none."""
        match word:
            case "":
                pass
            case "/undo":
                done = self._current_tree().undo()
                self._session.out.message(f"undid {counted(len(done), 'step')}")
            case "/where":
                self._show(self._current_tree().cursor)
            case _:
                return False
        return True

    def _choose_agent(self, name: str, does: str) -> None:
        if name:
            self._agent = self._session.grove.read.agent(name).name
        self._session.out.message(f"{self._agent or 'the default agent'} {does}")

    def _text_of(self, turn: str) -> str:
        """The text of a turn; a leading // is one slash."""
        word = turn.split(maxsplit=1)[0]
        if word.startswith("/") and not word.startswith("//"):
            raise InvalidInputError(f"unknown command {word}", hint="/help lists the commands")
        return turn.removeprefix("/") if turn.startswith("//") else turn

    def _current_tree(self) -> "TreeHandle":
        if self._tree is None:
            raise InvalidInputError("there is no tree yet", hint="type a text first")
        return self._tree

    def _tree_for(self, text: str) -> "TreeHandle":
        """The tree; a new one, titled by its first words, if there is none."""
        if self._tree is None:
            self._tree = plant_for(self._session, text)
        return self._tree

    def _show(self, node: "NodeHandle") -> None:
        self._session.out.text(f"[{node.local_id}] {visible(node.text)}")
