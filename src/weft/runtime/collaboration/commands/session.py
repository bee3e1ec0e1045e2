"""An agent at work in a tree: what it says is carried out, what it did is remembered.

session = CommandSession(caller, tree.id, agent, run=new_ulid(…))
scanner.feed(text); scan = scanner.finish()
session.think(scan.thoughts)
results = session.run(scan.batch, turn=1)
results_message(results)      # goes back to the model
session.memory(), session.place()   # for its next turn
"""

import contextlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from weft.commands import actions as v
from weft.commands.actions import Command
from weft.commands.catalog import CATALOG, NotRun
from weft.commands.formatter import describe, write_command
from weft.commands.parse import check_limits, parse_scanned
from weft.commands.reply import Result, failed, one_line, shortened
from weft.commands.scanner import ARROW, ScannedCommand, arrow_lines, scan
from weft.context.agent_view.loom_block import LoomPlace
from weft.context.agent_view.operational_memory import Action, MemoryContents
from weft.context.tokens import DEFAULT
from weft.error_hints import Face, hint_on
from weft.errors import (
    ContextLimitError,
    InvalidInputError,
    InvalidSyntaxError,
    LimitExceededError,
    PermissionDeniedError,
    WeftError,
)
from weft.ids import is_ulid, new_ulid
from weft.runtime.collaboration.commands.context import (
    CommandContext,
    CommandOutcome,
    reached_tree,
)
from weft.runtime.collaboration.commands.memory_commands import run_memory_command
from weft.runtime.collaboration.commands.node_commands import read_document, run_node_command, write_document
from weft.runtime.collaboration.commands.queries import run_query
from weft.runtime.collaboration.commands.reference_commands import run_reference_command
from weft.runtime.contexts.agent_memory import (
    AgentMemory,
    BegunRun,
    CommandResult,
    begin_run,
    note_actions,
)
from weft.runtime.contexts.linked_documents import may_cross
from weft.runtime.contexts.loom_view import LoomView, inline_tokens
from weft.runtime.coordination.approval_desk import ApprovalDesk, ApprovalWish
from weft.runtime.operations.agent_memory import KeepThought
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.grants import granted
from weft.runtime.operations.node_values import agent_value, heading_of
from weft.runtime.operations.permissions import (
    Actor,
    agent_for,
    agent_row,
    permissions_of,
    require_permission,
    tree_for,
)
from weft.runtime.views.reader import Reader
from weft.store.rows import AGENT_TYPES, permissions_from
from weft.tree.agent import Agent, AgentType, Permission, parse_permissions
from weft.tree.approval import ApprovalSubject
from weft.tree.content import check_text
from weft.tree.node import Node

if TYPE_CHECKING:
    from weft.runtime.generation.service import Generations, Stream
    from weft.runtime.generation.stream import GenerationEvent

_EFFECTS = frozenset({Permission.LOOM_WRITE, Permission.LOOM_GENERATE, Permission.DOC_WRITE})
"""What a command needs that changes something for others."""
_SHORT = 1_200
"""Characters of a long result that are shown at once."""


class CommandSession:
    """One agent at work in one tree, for one run.

    It acts with the intersection of its own rights, those of `caller`, and
    `within`. What its run has leased is no obstacle to it. Everything here blocks: call it
    in a thread from an event loop.
    """

    def __init__(
        self,
        caller: Caller,
        tree_id: str,
        agent: Agent,
        *,
        run: str,
        within: frozenset[Permission] | None = None,
        chain: tuple[str, ...] = (),
        unattended: bool = False,
        face: Face = Face.PYTHON,
        desk: ApprovalDesk | None = None,
    ) -> None:
        """`run` is a ULID; `chain` are the ids of the agents that led here, who must not be asked again.

        At the `desk` a person is asked for a permission that a command lacks.
        """
        if not is_ulid(run):
            raise InvalidInputError("a run is named by a ULID")
        allowed = None if within is None else parse_permissions(within)
        self.caller = caller.calling(agent.id, within=allowed, run=run)
        """The agent, with the rights that it has here."""
        self.read = Reader.of(self.caller)
        self.executor = self.caller.executor
        self.see = LoomView(self.executor.store, self.caller.actor)
        self.agent = agent
        self.desk = desk
        self.run_id = run
        self.chain = self._led_here(chain)
        """Who must not be asked: those who led here, and the agent itself."""
        self.unattended = unattended
        self.face = Face.AGENT if agent.type is AgentType.MODEL else face
        """Where its errors are read."""
        self.results: list[Result] = []
        """Of this run, with their whole texts."""
        self._shown: dict[str, str] = {}
        """Arrow lines of what the agent was shown in this run and did not write, and where they come from."""
        self.read_revisions: dict[str, int] = {}
        """Document id → the revision that this run has seen."""
        self.stream: Stream[Node] | None = None
        """The generation that a `→ continue` waits for, so that it can be stopped."""
        self.on_event: Callable[[GenerationEvent], None] | None = None
        """Called with each event of a `→ continue`, in the thread that waits for it."""
        with self.executor.store.read() as session:
            tree = tree_for(session, self.see.actor, tree_id)
            self.tree_id = heading_of(session, tree).ulid
            self._place = tree, self.caller.actor.agent
        self._known: BegunRun | None = None
        self._stopped = False

    def _led_here(self, chain: tuple[str, ...]) -> tuple[str, ...]:
        """Ids of agents, the first to act first: those given, the models through whom this one acts, itself."""
        with self.executor.store.read() as session:
            links = [agent_row(session, link.agent) for link in self.see.actor.chain()][::-1]
        models = [row.ulid for row in links if AGENT_TYPES[row.type] is AgentType.MODEL]
        return tuple(dict.fromkeys((*chain, *models, self.agent.id)))

    @property
    def permissions(self) -> frozenset[Permission]:
        """What the agent may do now, within the rights of everyone it acts for."""
        with self.executor.store.read() as session:
            return permissions_of(session, self.see.actor)

    @property
    def crossing(self) -> bool:
        """Whether it may leave the tree."""
        with self.executor.store.read() as session:
            return may_cross(session, self.see.actor)

    @property
    def turn(self) -> int:
        """The number of this run among the agent's runs in this tree: what recalled stashes are counted by."""
        return self._begun.number

    @property
    def _begun(self) -> BegunRun:
        if self._known is None:
            self._known = begin_run(self.executor, self._place, self.run_id)
        return self._known

    def run(self, commands: Sequence[ScannedCommand], *, turn: int) -> list[Result]:
        """Carry out a batch, in order; a failure does not stop the rest.

        Only what a scanner found in words that the agent said in this run is to be given here.
        """
        return list(self.steps(commands, turn=turn))

    def steps(self, commands: Iterable[ScannedCommand], *, turn: int) -> Iterator[Result]:
        """The same one by one: each is carried out when the one before it has been taken."""
        for each in commands:
            if self._stopped:
                return
            yield self._answer(each, turn)

    def perform(self, command: Command, *, turn: int = 1) -> Result:
        """Carry out a command given as a value, not as a line."""
        return self._carry_out(write_command(command), command, turn)

    def think(self, thoughts: Iterable[ScannedCommand]) -> None:
        """Keep thoughts. They are private: no other agent's context has them."""
        for each in thoughts:
            if each.think and each.text.strip():
                self.caller.perform(KeepThought(tree=self.tree_id, text=each.text.strip()))

    def note_not_run(self, lines: Sequence[NotRun]) -> None:
        """Note in the agent's trace which of its lines were not run, where there are no results to say it with."""
        if lines:
            actions = [
                Action(verb="did not run", target=each.command, noun="command", detail=each.why)
                for each in lines
            ]
            note_actions(self.executor, self._place, actions)

    @property
    def generations(self) -> "Generations[Node]":
        from weft.runtime.generation.service import Generations  # noqa: PLC0415 - few commands generate

        return Generations(self.caller, lambda node: node)

    def memory(self) -> MemoryContents:
        """The memory block of the agent's next turn."""
        return self._remembered.memory(self.tree_id, turn=self.turn, crossing=self.crossing)

    def thoughts(self, limit: int = 50) -> list[str]:
        """The agent's last thoughts in this tree, oldest first."""
        return self._remembered.thoughts(self.tree_id, limit)

    def place(self) -> LoomPlace:
        """The tree, the agent's cursor in it, and who else is active."""
        return self.see.place(self.tree_id, self.executor.clock())

    def stop(self) -> None:
        """Carry out no more, and ask for no more words. Returns at once; may come from another thread."""
        self._stopped = True
        if self.desk is not None:
            self.desk.cancel()
        if (stream := self.stream) is not None:
            stream.stop()

    @property
    def is_stopped(self) -> bool:
        return self._stopped

    @property
    def _remembered(self) -> AgentMemory:
        return AgentMemory(self.executor.store, self.caller.actor)

    def note_shown(self, text: str) -> None:
        """Remember the arrow lines of a text that the agent is shown: to repeat one is no command."""
        for line, source in arrow_lines(text, own=self.agent.name):
            self._shown.setdefault(line, source)

    def _refuse_echo(self, line: ScannedCommand, command: Command) -> None:
        source = self._shown.get("".join(line.text.split()))
        if source is not None and CATALOG[command.name].permission in _EFFECTS:
            raise PermissionDeniedError(
                f"this line repeats {source}",
                hint="say it in other words if you mean it: please …, or an option more",
            )

    def _answer(self, line: ScannedCommand, turn: int) -> Result:
        try:
            command = parse_scanned(line)
            if not line.closed and not line.think:
                raise InvalidSyntaxError("a string is never closed", hint='close it with "; nothing was done')
            self._refuse_echo(line, command)
        except WeftError as error:
            return self._keep(line.text, None, CommandOutcome(text=""), error, turn)
        return self._carry_out(write_command(command), command, turn)

    def _carry_out(self, text: str, command: Command, turn: int) -> Result:
        outcome, error = CommandOutcome(text=""), None
        try:
            outcome = self._act(command)
        except WeftError as trouble:
            error = self.in_words(trouble)
        return self._keep(text, command, outcome, error, turn)

    def in_words(self, error: WeftError) -> WeftError:
        """An error as this agent reads it."""
        error = _in_words(error)
        error.hint = hint_on(self.face, error.hint)
        return error

    def _act(self, command: Command) -> CommandOutcome:
        row = CATALOG[command.name]
        try:
            with self.executor.store.read() as session:
                # Asked here too, so that the answer comes first and names the command; the operations ask anyway.
                require_permission(session, self.caller.actor, row.permission, row.verb or row.name)
        except PermissionDeniedError:
            if not self._is_granted(command, row.permission):
                raise
            with self._having(row.permission):
                return self._done(command)
        return self._done(command)

    def _is_granted(self, command: Command, permission: Permission) -> bool:
        """Whether a person grants what the agent lacks: in this tree, or now for this command."""
        with self.executor.store.read() as session:
            own = agent_row(session, self.caller.actor.agent)
            if permission in permissions_from(own.permissions) or own.archived_at is not None:
                # Another agent of the chain lacks it, or this one is not to act at all.
                return False
            if command.crosses:
                return False
            if permission in granted(session, self._place[0], self.agent.id, ApprovalSubject.PERMISSION):
                return True
        if self.desk is None:
            return False
        wish = ApprovalWish(
            agent=self.agent.id,
            subject=ApprovalSubject.PERMISSION,
            name=permission.value,
            description=f"{self.agent.name} may not {CATALOG[command.name].verb or command.name}",
            call=f"command-{self._begun.last + 1 + len(self.results)}",
            arguments={"command": write_command(command)},
        )
        return self.desk.ask(wish).allows

    @contextlib.contextmanager
    def _having(self, permission: Permission) -> Generator[None]:
        """While this lasts, the agent has a permission that it was granted."""
        before = self.caller
        self._act_as(replace(before.actor, granted=before.actor.granted | {permission}))
        try:
            yield
        finally:
            self._act_as(before.actor)

    def _act_as(self, actor: Actor) -> None:
        self.caller = Caller(self.executor, actor)
        self.read = Reader.of(self.caller)
        self.see = LoomView(self.executor.store, actor)

    def _done(self, command: Command) -> CommandOutcome:
        check_limits(command)
        context, action = CommandContext(self, command, reached_tree(self, command)), command.action
        if isinstance(action, v.QueryAction):
            return run_query(context, action)
        if isinstance(action, v.MemoryAction):
            return run_memory_command(context, action)
        if isinstance(action, v.NodeAction):
            return run_node_command(context, action)
        if isinstance(action, v.ReadCommand):
            return read_document(context, action)
        if isinstance(action, v.WriteCommand):
            return write_document(context, action)
        return run_reference_command(context, action)

    def _keep(
        self, text: str, command: Command | None, outcome: CommandOutcome, error: WeftError | None, turn: int
    ) -> Result:
        answer = outcome.text if error is None else failed(error)
        result = Result(
            number=self._begun.last + 1 + len(self.results),
            command=text,
            text=answer,
            ok=error is None,
            turn=turn,
            tokens=DEFAULT.of_text(answer),
            error=error,
            nodes=outcome.nodes,
        )
        self.results.append(result)
        if result.ok and self.agent.type is AgentType.MODEL and not text.startswith("help"):
            self.note_shown(answer)
        self._trace(None if command is None else command.action, outcome.detail, result)
        if command is not None and isinstance(command.action, v.ViewResultCommand):
            return result
        inline = inline_tokens(self.agent)
        return shortened(result, partial(_in_short, brief=outcome.brief, inline=inline), inline=inline)

    def _trace(self, action: v.Action | None, detail: str, result: Result) -> None:
        error = result.error
        why = "" if error is None else f"{error.code}: {one_line(error.message)}"
        saved = CommandResult(self.run_id, result.number, result.command, result.text) if result.ok else None
        verb, target, noun = ("said", "what is no command", "") if action is None else describe(action)
        done = Action(verb=verb, target=target, noun=noun, detail=detail, error=why)
        note_actions(self.executor, self._place, [done], saved)

    def is_here(self, reference: str) -> bool:
        """Whether a tree that a command names is the one that the agent works in anyway."""
        name = reference.strip().casefold()
        return name in {self.tree_id.casefold(), self.read.tree(self.tree_id).title.casefold()}

    def result(self, number: int) -> Result | None:
        """A result by its handle: of this run, of the one before, or pinned."""
        index = number - self._begun.last - 1
        if 0 <= index < len(self.results):
            return self.results[index]
        saved = self._remembered.result(self.tree_id, number)
        if saved is None:
            return None
        tokens = DEFAULT.of_text(saved.text)
        return Result(number=number, command=saved.command, text=saved.text, ok=True, turn=0, tokens=tokens)


def _in_words(error: WeftError) -> WeftError:
    """An error in the codes that commands have."""
    if isinstance(error, InvalidInputError):
        return InvalidSyntaxError(error.message, hint=error.hint)
    if isinstance(error, ContextLimitError):
        return LimitExceededError(error.message, hint=error.hint)
    return error


def _in_short(text: str, brief: str, inline: int) -> str:
    """How a long answer goes on after its first line: what it is about, and how it begins."""
    most = min(_SHORT, 2 * inline)
    _, _, rest = text.partition("\n")
    beginning = _beginning(rest, most)
    summary = "\n  ".join(_beginning(brief, most).splitlines())
    return f"  summary: {summary}\n{beginning}" if brief else beginning


def _beginning(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    cut = text.rfind("\n", 0, most)
    return f"{text[: cut if cut > 0 else most].rstrip()}\n  …"


class CommandResults(list[Result]):
    """What commands came to, in order. A failure does not stop the rest."""

    def __init__(self, results: Iterable[Result]) -> None:
        super().__init__(results)

    @property
    def text(self) -> str:
        """All answers, whole."""
        return "\n\n".join(result.text for result in self)

    @property
    def error(self) -> WeftError | None:
        """The first that went wrong."""
        return next((result.error for result in self if result.error is not None), None)


def run_commands(
    caller: Caller, tree: str, text: str, agent: str | None = None, *, face: Face = Face.PYTHON
) -> CommandResults:
    """Carry out lines of commands as the grove's caller, or as an agent that acts for it."""
    commands = read_commands(text)
    session = session_for(caller, tree, agent, face=face)
    session.run(commands, turn=1)
    return CommandResults(session.results)


def session_for(
    caller: Caller, tree: str, agent: str | None = None, *, face: Face = Face.PYTHON
) -> CommandSession:
    """A run of its own."""
    executor = caller.executor
    with executor.store.read() as session:
        key = caller.actor.agent if agent is None else agent_for(session, caller.actor, agent)
        value = agent_value(agent_row(session, key))
    return CommandSession(caller, tree, value, run=new_ulid(executor.clock(), executor.entropy), face=face)


def read_commands(text: str) -> tuple[ScannedCommand, ...]:
    """The commands of a text that holds nothing else; without any arrow it is one command.

    With prose in it nothing is done: more would be expected than is done.
    """
    given = check_text(text).strip()
    if not given:
        raise InvalidInputError("do what?", hint="→ help shows what there is")
    if ARROW not in given:
        given = f"{ARROW} {given}"
    scanned = scan(given)
    if scanned.cut is not None or scanned.prose.strip() or scanned.ignored:
        place = scanned.cut or (scanned.ignored[0].start if scanned.ignored else 0)
        line = given[place:].lstrip().partition("\n")[0][:60]
        why = f" ({scanned.ignored[0].why})" if scanned.ignored and scanned.cut is None else ""
        raise InvalidSyntaxError(
            f"{line!r} is no command{why}; nothing was done", hint="every line of commands begins with →"
        )
    return scanned.commands
