"""A runner's turn in a terminal: the answer as it comes, its tools beside it, and approval by the person."""

import sys
from typing import TYPE_CHECKING

from weft.cli.output import quoted, shortened, visible
from weft.cli.session import CliSession
from weft.cli.terminal import LiveText, show_until_stopped
from weft.cli.text_input import is_interactive
from weft.tree.citation import cited_sources
from weft.tree.node import Status

if TYPE_CHECKING:
    from weft.grove.answer import AnswerStream, TurnAnswer
    from weft.runtime.runners.run_events import RunnerEvent
    from weft.runtime.tools.policy import ApprovalRequest, Approver
    from weft.tree.content import ToolCall

_ARGUMENTS = 100
_YES = frozenset({"y", "yes"})


def show_answer(session: CliSession, stream: "AnswerStream") -> "tuple[TurnAnswer, bool]":
    """Print a turn until it ends; Ctrl-C stops it and keeps what came. The result, and whether it was stopped."""
    display = _AnswerDisplay(session)
    stopped = show_until_stopped(stream, display.show, display)
    answer, out = stream.result(), session.out
    if out.as_json:
        out.json(answer.to_wire())
    if answer.node is not None:
        cut = ", interrupted" if answer.node.value.status is Status.INTERRUPTED else ""
        title = quoted(session.grove.tree(answer.tree_id).title)
        out.message(f"{display.agent} wrote [{answer.node.local_id}] in {title}{cut}")
        for line in cited_sources(answer.node.citations):
            out.message(f"  {line}")
    if answer.error is not None:
        out.message(f"incomplete: {answer.error.message}")
    elif answer.note is not None and not stopped:
        out.message(f"note: {answer.note}")
    return answer, stopped


def approver_of(session: CliSession) -> "Approver | None":
    """Asks the person at the terminal before a tool with effects runs; None where no person is present."""
    if not is_interactive() or session.out.as_json:
        return None
    return _approves


def _approves(request: "ApprovalRequest") -> bool:
    sys.stderr.write(f"{request.agent} wants to run {_described(request.call)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in _YES


def _described(call: "ToolCall") -> str:
    arguments = call.arguments
    if isinstance(arguments, dict):
        given = ", ".join(f"{name}={value}" for name, value in arguments.items())
    else:
        given = str(arguments)
    return f"{call.name}({visible(shortened(given, _ARGUMENTS))})"


class _AnswerDisplay(LiveText):
    """The text as it comes; tools and notices as messages."""

    def __init__(self, session: CliSession) -> None:
        super().__init__(session)
        self.agent = ""

    def show(self, event: "RunnerEvent") -> None:
        from weft.runtime.collaboration.run_events import Began, Turned  # noqa: PLC0415 - loads with the grove
        from weft.runtime.generation.stream import (  # noqa: PLC0415 - as above
            Notice,
            Retrying,
            TextChunk,
        )
        from weft.runtime.runners.run_events import (  # noqa: PLC0415 - as above
            ApprovalAsked,
            ToolEnded,
            ToolStarted,
        )

        match event:
            case Began():
                self.agent = event.agent
            case Turned():
                self.end_line()
            case TextChunk() if not self._session.out.as_json:
                self.write(event.text)
            case ToolStarted():
                self._aside(f"→ {_described(event.call)}")
            case ApprovalAsked():
                wish = event.approval
                self._aside(f"  waits for approval: weft approvals allow {wish.id}, or deny {wish.id}")
            case ToolEnded() if event.run.error is not None:
                self._aside(f"  {event.run.error.message}")
            case Retrying():
                self._aside(f"{event.error.message}: retrying in {event.wait:.1f} s")
            case Notice():
                self._aside(event.message)
            case _:
                pass

    def _aside(self, text: str) -> None:
        self.end_line()
        self._session.out.message(text)
