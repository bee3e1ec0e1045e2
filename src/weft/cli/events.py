"""What happened and what is to be done: events, jobs."""

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.call import Call
from weft.cli.command import command, flag, group
from weft.cli.output import Column, Piece
from weft.cli.wording import ago, quoted
from weft.errors import NotFoundError
from weft.tree.json_names import iso

if TYPE_CHECKING:
    from weft.runtime.events.log import Event

__all__ = ["add_to"]

_PANEL = "History"
_PAGE = 1_000


def events(
    call: Call,
    *,
    follow: Annotated[bool, flag("--follow", "-f", help="Go on as things happen, until Ctrl-C.")] = False,
    after: Annotated[
        str | None,
        typer.Option("--after", metavar="CURSOR", help="Only what came after; now leaves out the past."),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="Stop after so many.")] = None,
) -> None:
    """Show what happened, oldest first; with --tree, in that tree.

    With --json one JSON value a line. In a pipe: cursor, time, tree, kind, agent and payload, with tabs
    between. Each event has the cursor to go on after it.
    """
    names = _Names(call)
    trees = None if call.choices.tree is None else [call.choices.tree]
    given = 0
    cursor = after
    for event in _read(call, after, trees, limit, follow=follow):
        _show(call, names, event)
        given += 1
        cursor = event.cursor
        if follow:
            call.out.flush()
    if given == 0:
        call.out.talk("nothing happened" + ("" if after is None else " since"))
    elif cursor is not None:
        call.out.talk(f"go on with --after {cursor}")


def _read(
    call: Call, after: str | None, trees: list[str] | None, limit: int | None, *, follow: bool
) -> Iterable["Event"]:
    left = sys.maxsize if limit is None else limit
    if follow:
        with call.grove.follow(after=after, trees=trees) as live:
            for event in live:
                yield event
                left -= 1
                if not left:
                    return
    while left:
        batch = call.grove.events(after=after, trees=trees, limit=min(left, _PAGE))
        yield from batch.events
        left -= len(batch.events)
        if batch.cursor == after or not batch.events:
            return
        after = batch.cursor


class _Names:
    """What ids are called, looked up once."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._trees: dict[str | None, str] = {None: "the grove"}
        self._agents = {agent.id: agent.name for agent in call.grove.read.agents(archived=True)}

    def tree(self, identity: str | None) -> str:
        if identity not in self._trees:
            try:
                self._trees[identity] = quoted(self._call.grove.read.tree(identity or "").title)
            except NotFoundError:
                self._trees[identity] = "a tree that is gone"
        return self._trees[identity]

    def agent(self, identity: str) -> str:
        if identity not in self._agents:
            self._agents[identity] = self._call.grove.read.agent(identity).name
        return self._agents[identity]


def _show(call: Call, names: _Names, event: "Event") -> None:
    if call.out.as_json:
        call.out.json_line(event)
    elif call.out.terminal:
        call.out.line(
            [
                Piece(iso(event.created_at)[:19].replace("T", " ") + "  ", "dim"),
                Piece(f"{event.kind:<16}"),
                Piece(names.tree(event.tree_id), gives=True),
                Piece(f"  {names.agent(event.agent_id)}", "dim"),
            ]
        )
    else:
        payload = json.dumps(event.payload, separators=(",", ":"))
        fields = (
            event.cursor,
            iso(event.created_at),
            event.tree_id or "",
            event.kind,
            event.agent_id,
            payload,
        )
        call.out.text("\t".join(fields))


JobNumber = Annotated[int, typer.Argument(metavar="JOB", help="Its number in weft jobs.", min=1)]


def ls(call: Call) -> None:
    """Work in the background: what waits, what is tried again, what failed. Alone: list it.

    In a pipe: number, kind, status, tree, attempts, when it is due and the last error, with tabs between.
    """
    jobs = call.grove.jobs.all()
    if call.out.as_json:
        call.out.json(jobs)
        return
    if not jobs:
        call.out.talk("there is nothing to do")
        return
    call.out.table(
        (
            Column("job", number=True),
            Column("kind"),
            Column("status"),
            Column("attempts", number=True),
            Column("since"),
            Column("error", gives=True),
        ),
        (
            (
                str(job.id),
                job.kind,
                job.status,
                str(job.attempts),
                ago(job.created_at, call.now),
                job.error or "",
            )
            for job in jobs
        ),
        (
            (
                str(job.id),
                job.kind,
                job.status,
                job.tree_id or "",
                str(job.attempts),
                iso(job.due_at),
                job.error or "",
            )
            for job in jobs
        ),
    )


def retry(call: Call, job: JobNumber) -> None:
    """Try a failed job again now."""
    again = call.grove.jobs.retry(job)
    call.out.answer(again, str(again.id), f"job {again.id} ({again.kind}) is due again")


def cancel(call: Call, job: JobNumber) -> None:
    """Take a job away; what it has done stays done."""
    call.grove.jobs.cancel(job)
    call.out.answer({"job": job}, str(job), f"cancelled job {job}")


def add_to(app: typer.Typer) -> None:
    command(app, "events", events, panel=_PANEL)
    family = group(app, "jobs", ls, panel=_PANEL)
    command(family, "ls", ls)
    command(family, "retry", retry)
    command(family, "cancel", cancel)
