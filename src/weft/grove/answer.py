"""Questions and their answers by a runner: `tree.ask("Why the fog?", runner="vault")`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.errors import NotFoundError, WeftError
from weft.grove.node import NodeHandle
from weft.runtime.collaboration.run_events import Began, Ending, Finished
from weft.runtime.generation.stream import EventStream, Notice
from weft.runtime.runners.keyed_run import KeyedRun
from weft.runtime.runners.options import AskOptions, GroveAskOptions, Runner
from weft.runtime.runners.run import RunnerRun
from weft.runtime.runners.run_events import RunnerEvent, ToolEnded
from weft.runtime.tools.policy import Approver
from weft.runtime.tools.service import ToolRun
from weft.tree.json import JsonObject
from weft.tree.json_names import to_wire
from weft.tree.tree import title_from

if TYPE_CHECKING:
    from weft.grove.grove import Grove
    from weft.grove.tree import TreeHandle


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnAnswer:
    """What a runner's turn came to."""

    run: str
    runner: Runner
    tree_id: str
    question: NodeHandle
    """The node that is answered."""
    node: NodeHandle | None
    """The answer; None if there is none."""
    tools: tuple[ToolRun, ...]
    """The tools that ran, in order."""
    ending: Ending
    note: str | None
    """Why it ended, where that was not the model's own decision."""
    notices: tuple[str, ...]
    error: WeftError | None
    turns: int
    tokens: int

    @property
    def text(self) -> str:
        return "" if self.node is None else self.node.text

    def __str__(self) -> str:
        return self.text

    def to_wire(self) -> JsonObject:
        """As every face gives it."""
        error = self.error
        return {
            "run": self.run,
            "runner": self.runner.value,
            "tree": self.tree_id,
            "question": to_wire(self.question.value),
            "node": None if self.node is None else to_wire(self.node.value),
            "tools": [
                {
                    "name": each.call.name,
                    "arguments": each.call.arguments,
                    "status": each.status.value,
                    "error": None if each.error is None else each.error.message,
                    "sources": [
                        {"number": source.number, "id": source.id, "title": source.title}
                        for source in each.sources
                    ],
                }
                for each in self.tools
            ],
            "ending": self.ending.value,
            "note": self.note,
            "notices": list(self.notices),
            "error": None if error is None else {"code": error.code, "message": error.message},
            "turns": self.turns,
            "tokens": self.tokens,
        }


class AnswerStream(EventStream[RunnerEvent, TurnAnswer]):
    """A runner's turn as it goes on: iterate it for events, plainly or in an event loop.

    Leave its `with` early, or call `stop`, and it ends: what came is kept.
    Its result raises the error, if nothing came of the turn.
    """

    def __init__(self, grove: "Grove", run: RunnerRun | KeyedRun) -> None:
        super().__init__(run)
        self._grove = grove
        self._run = run
        self._tools: list[ToolRun] = []
        self._notices: list[str] = []
        self._began: Began | None = None
        self._finished: Finished | None = None

    @property
    def id(self) -> str:
        return self._run.id

    def _take(self, event: RunnerEvent) -> None:
        match event:
            case Began():
                self._began = event
            case ToolEnded():
                self._tools.append(event.run)
            case Notice():
                self._notices.append(event.message)
            case Finished():
                self._finished = event
            case _:
                pass

    def _result(self) -> TurnAnswer:
        began, finished = self._began, self._finished
        if began is None or finished is None:
            raise RuntimeError("the run has no end yet")
        if finished.error is not None and finished.reply is None:
            raise finished.error
        reply = finished.reply
        return TurnAnswer(
            run=self._run.id,
            runner=self._run.runner,
            tree_id=began.tree_id,
            question=NodeHandle(self._grove, self._grove.read.node(began.tree_id, began.node_id)),
            node=None if reply is None else NodeHandle(self._grove, reply),
            tools=tuple(self._tools),
            ending=finished.ending,
            note=finished.note,
            notices=tuple(self._notices),
            error=finished.error,
            turns=finished.turns,
            tokens=finished.tokens,
        )


def start_answer(
    grove: "Grove", tree: str | Callable[[], str], options: AskOptions, approver: Approver | None = None
) -> AnswerStream:
    """Say the question and start, and return at once; the stream reports what happens."""
    return AnswerStream(grove, grove.runners.start(tree, options, approver))


def start_in_grove(
    grove: "Grove", options: GroveAskOptions, approver: Approver | None = None
) -> AnswerStream:
    """The same in the tree that the options choose; with an idempotency key it is planted once."""
    if options.tree is not None:
        return start_answer(grove, tree_to_ask(grove, options).id, options, approver)
    return start_answer(grove, lambda: tree_to_ask(grove, options).id, options, approver)


def tree_to_ask(grove: "Grove", options: GroveAskOptions) -> "TreeHandle":
    """The tree that is named, else the last one used; a new one where there is none, or if asked for."""
    if options.tree is not None:
        named = options.tree
        return grove.tree(named if isinstance(named, str) else named.id)
    if not options.new:
        try:
            return grove.tree(grove.read.latest_tree())
        except NotFoundError:
            if options.text is None:
                raise
    return grove.plant(title_from(options.text or ""))
