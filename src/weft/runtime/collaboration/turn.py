"""One turn of a collaborator: what it says is looked through while it speaks, and cut where it says too much."""

from collections.abc import Callable, Sequence

from weft.commands.catalog import NotRun
from weft.commands.parse import parse_ignored
from weft.commands.scanner import Scan, ScannedCommand, Scanner
from weft.context.agent_view.loom_block import may_become_heading, strip_headings
from weft.context.tokens import DEFAULT, JOINT
from weft.providers.base import Request
from weft.providers.events import StopReason
from weft.runtime.collaboration.run_events import Commanded, RunEvent, TextChunk
from weft.runtime.collaboration.run_log import Batch, RunLog, end_run
from weft.runtime.generation.answer import CallProgress, clean_text
from weft.runtime.generation.finish_call import Continuation
from weft.runtime.operations.scope import Scope
from weft.store.rows import NodeRow, TreeState
from weft.tree.content import Text
from weft.tree.edge import EdgeType
from weft.tree.node import Status

_CHARACTERS = 4
"""Of a token, the least that is reported while the model writes."""


def joined_prose(before: str, scan: Scan) -> str:
    """What was said so far beside commands, without headings that only look like ours."""
    said = strip_headings(scan.prose).strip()
    return JOINT.join(filter(None, [before, said]))


def _sayable(text: str, *, within: bool, over: bool) -> tuple[str, str]:
    """What of a text can be sent on without the headings in it, and what has to wait.

    `within` is whether the text continues a line that was sent in part.
    """
    end = text.find("\n") + 1 or len(text) if within else 0
    last = text.rfind("\n", end) + 1 or end
    waits = "" if over or not may_become_heading(text[last:]) else text[last:]
    sendable = text[:end] + strip_headings(text[end : len(text) - len(waits)])
    trimmed = sendable.rstrip("\n")
    return trimmed, sendable[len(trimmed) :] + waits


class Turn:
    """Listens to one answer of the model. Afterwards: what to run, or the reply."""

    def __init__(
        self,
        log: RunLog,
        *,
        number: int,
        room: int,
        edge: EdgeType,
        cursor: str | None,
        tell: Callable[[RunEvent], None],
    ) -> None:
        self.cursor = cursor
        self.number = number
        self.is_final = False
        """Whether the run ends with it."""
        self.is_whole = False
        """Whether the model ended its answer itself."""
        self.is_over = False
        """Whether it said more than it may."""
        self.batch: tuple[ScannedCommand, ...] = ()
        self.thoughts: tuple[ScannedCommand, ...] = ()
        self.truncated: ScannedCommand | None = None
        """A command that the length limit cut off: its end is unknown."""
        self.not_run: tuple[NotRun, ...] = ()
        """What would have been commands, had it not stood where things are quoted or shown."""
        self.said = ""
        """Its own words up to the cut, commands and all."""
        self.tokens = 0
        self._log = log
        self._room = room
        self._edge = edge
        self._tell = tell
        self._given = ""
        self._heard: list[str] = []
        self._letters = 0
        self._prose = ""
        self._has_words = False
        self._attempt: str | None = None
        self._scanner = Scanner()
        self._untold, self._has_told = "", False
        self._commanded = 0

    def begin(self, request: Request) -> None:
        self._given = request.prefill
        self._scanner = Scanner(given=request.prefill)
        self._heard, self._letters, self._commanded = [], 0, 0

    def hear(self, text: str) -> bool:
        text = clean_text(text)
        self._heard.append(text)
        self._letters += len(text)
        self._tell_commands(self._scanner.feed(text))
        self._say()
        if self._scanner.cut is not None:
            return True
        self.is_over = self._letters > _CHARACTERS * self._room
        return self.is_over

    def _tell_commands(self, commands: Sequence[ScannedCommand]) -> None:
        for command in commands:
            self._say()
            self._tell(Commanded(command.text, command.think))
            self._commanded += 1

    def _say(self, *, over: bool = False) -> None:
        """What is certain to be prose; line ends wait for what follows them, headings for their end."""
        news = self._untold + self._scanner.news()
        said, self._untold = _sayable(news, within=self._has_told, over=over)
        if said:
            self._tell(TextChunk(0, said if self._has_told else said.lstrip("\n")))
            self._has_told = True

    def reply(self, progress: CallProgress, said: Sequence[Continuation]) -> list[Continuation]:
        """Nothing yet, if there are commands to be answered; else everything that was said in this run."""
        scan = self._scanner.finish()
        # A line is complete where the output ends, too.
        self._tell_commands(scan.commands[self._commanded :])
        self._say(over=True)
        end = len(self._given) + self._letters if scan.cut is None else scan.cut
        whole = self._given + "".join(self._heard)
        self.said = whole[len(self._given) : end]
        self.not_run = parse_ignored(whole, scan.ignored)
        self.tokens = progress.answer.usage.completion or DEFAULT.of_text("".join(self._heard))
        self._take_commands(progress, scan)
        self.is_whole = progress.error is None and not progress.stopped and not self.is_over
        self.is_final = not self.is_whole or not (self.batch or self.truncated)
        self._prose = joined_prose(self._log.row.said, scan)
        self._has_words = self._prose != self._log.row.said
        self._attempt = progress.call.attempt if self._has_words else self._log.row.attempt
        if not self.is_final or not self._has_words or not said:
            # Earlier text is stored with its own response: the run ends apart from this call.
            return []
        status = Status.COMPLETE if self.is_whole else Status.INTERRUPTED
        return [Continuation(0, Text(self._prose), status, self._edge)]

    def _take_commands(self, progress: CallProgress, scan: Scan) -> None:
        self.thoughts, self.batch = scan.thoughts, scan.batch
        choice = progress.answer.choices.get(0)
        finished = None if choice is None else choice.finished
        if finished is None or finished.ending is not StopReason.LENGTH or not self.batch:
            return
        last = self.batch[-1]
        after = (self._given + "".join(self._heard))[last.span.end :]
        if "\n" not in after:
            self.batch, self.truncated = self.batch[:-1], last

    def note(self, scope: Scope, tree: TreeState, nodes: Sequence[NodeRow]) -> None:
        """In the transaction that ends the call: how far the run has come by it."""
        log, transaction = self._log, scope.transaction
        if self.is_final and not nodes:
            return
        if self.is_final:
            end_run(transaction, tree, log.row.run, scope.now)
            if self._edge is EdgeType.CONTINUATION:
                transaction.move_cursor(tree.key, log.row.agent, nodes[0].key, scope.now)
        else:
            log.keep_turn(
                transaction,
                turns=self.number,
                said=self._prose,
                batch=Batch(tuple(command.text for command in self.batch)),
                attempt=self._attempt,
            )
