"""What was done, and what is due: undo, redo, history, events, jobs."""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated

from weft.cli.arguments import TreeName, argument, flag, option
from weft.cli.output import Column, Piece, first_words, quoted, where
from weft.cli.session import CliSession
from weft.errors import NotFoundError
from weft.tree.event_kinds import HistoryEntry, HistoryStep
from weft.tree.json_names import iso

if TYPE_CHECKING:
    from weft.grove.tree import TreeHandle
    from weft.runtime.events.log import Event

_PAGE = 1_000

_Steps = Annotated[int, option("--steps -n", "How many: all or none.", min=1, max=1_000)]
_InGrove = Annotated[bool, flag("--in-grove", "In the grove itself: documents, agents, creating trees.")]
_JobNumber = Annotated[int, argument("JOB", "Its number in weft jobs.", min=1)]


def undo(
    session: CliSession, tree: TreeName = None, *, steps: _Steps = 1, of_grove: _InGrove = False
) -> None:
    """Undo your last operation in a tree.

    Only your own operations, the latest first, and not where others have built on them. Prints what was
    undone.
    """
    handle = None if of_grove else session.tree_or_current(tree)
    _show_steps(session, handle, session.grove.undo(steps) if handle is None else handle.undo(steps))


def redo(
    session: CliSession, tree: TreeName = None, *, steps: _Steps = 1, of_grove: _InGrove = False
) -> None:
    """Redo what you have just undone.

    Prints what was redone.
    """
    handle = None if of_grove else session.tree_or_current(tree)
    _show_steps(session, handle, session.grove.redo(steps) if handle is None else handle.redo(steps))


def _show_steps(session: CliSession, tree: "TreeHandle | None", steps: Sequence[HistoryStep]) -> None:
    """One line for each step."""
    place = "in the grove" if tree is None else where(tree.title)
    plain: list[str] = []
    messages: list[str] = []
    for step in steps:
        read = session.grove.read
        names = [read.node(tree.id, node, hidden=True).local_id for node in step.nodes] if tree else []
        plain.append(" ".join([step.kind, *names]))
        done = "undid" if step.direction == "undo" else "redid"
        messages.append(" ".join([done, step.kind, *(f"[{name}]" for name in names), place]))
    if steps[0].direction == "undo":
        messages.append(f"weft redo{'' if tree else ' --in-grove'} does it again")
    session.out.result(steps, "\n".join(plain), "\n".join(messages))


def history(
    session: CliSession,
    tree: TreeName = None,
    *,
    limit: Annotated[int, option("--limit -n", "The last N.", min=1)] = 20,
    agent: Annotated[str | None, option("--by AGENT", "Only this agent's.")] = None,
    hidden: Annotated[bool, flag("--hidden", "Instead: the nodes that undo has hidden.")] = False,
    of_grove: _InGrove = False,
) -> None:
    """List operations with author and time, the latest last; undone ones are marked."""
    handle = None if of_grove else session.tree_or_current(tree)
    if hidden and handle is not None:
        session.out.listing(
            [node.value for node in handle.hidden],
            Column("", lambda node: node.local_id),
            Column("text", first_words, shrinks=True),
            empty=f"undo has hidden no nodes {where(handle.title)}",
        )
        return
    source = session.grove if handle is None else handle
    session.out.listing(
        source.history(limit, agent=agent),
        Column("", lambda event: event.ordinal, number=True),
        Column("what", lambda event: event.kind),
        Column("about", _about, shrinks=True),
        Column("who", lambda event: event.agent_name),
        Column("when", lambda event: event.created_at),
        Column("", lambda event: "undone" if event.undone else ""),
        empty="no operations",
    )


def _about(event: HistoryEntry) -> str:
    """The nodes and fields an event names."""
    payload = event.payload
    if event.kind in {"undo", "redo"}:
        return f"{payload['kind']} (event {payload.get('undoes') or payload.get('redoes')})"
    fields = payload.get("fields")
    names = ", ".join(str(name) for name in fields) if isinstance(fields, list) else ""
    return " ".join([f"[{name}]" for name in event.nodes] + [names]).strip()


def events(
    session: CliSession,
    *,
    follow: Annotated[bool, flag("--follow -f", "Wait for further events, until Ctrl-C.")] = False,
    after: Annotated[
        str | None, option("--after CURSOR", "Only later events; now leaves out the past.")
    ] = None,
    limit: Annotated[int | None, option("--limit -n", "Stop after N.", min=1)] = None,
) -> None:
    """List events, oldest first; with --tree, of that tree.

    With --json one JSON value a line. In a pipe: cursor, time, tree, kind, agent and payload, separated by
    tabs. --after takes the cursor of an event.
    """
    names = cache(partial(_place_and_author, session))
    trees = None if session.options.tree is None else [session.options.tree]
    cursor = after
    shown = False
    for event in _read(session, after, trees, limit, follow=follow):
        _show(session, event, names)
        cursor, shown = event.cursor, True
        if follow:
            session.out.flush()
    if not shown:
        session.out.message("no events" if after is None else "no later events")
    elif cursor is not None:
        session.out.message(f"to continue: --after {cursor}")


def _read(
    session: CliSession, after: str | None, trees: list[str] | None, limit: int | None, *, follow: bool
) -> Iterable["Event"]:
    left = sys.maxsize if limit is None else limit
    if follow:
        with session.grove.follow(after=after, trees=trees) as live:
            for event in live:
                yield event
                left -= 1
                if not left:
                    return
    while left:
        batch = session.grove.events(after=after, trees=trees, limit=min(left, _PAGE))
        yield from batch.events
        left -= len(batch.events)
        if batch.cursor == after or not batch.events:
            return
        after = batch.cursor


def _place_and_author(session: CliSession, tree: str | None, agent: str) -> tuple[str, str]:
    author = session.grove.read.agent(agent).name
    try:
        return "the grove" if tree is None else quoted(session.grove.read.tree(tree).title), author
    except NotFoundError:
        return "a deleted tree", author


def _show(session: CliSession, event: "Event", names: Callable[[str | None, str], tuple[str, str]]) -> None:
    if session.out.as_json:
        session.out.json_line(event)
    elif session.out.terminal:
        place, author = names(event.tree_id, event.agent_id)
        session.out.line(
            [
                Piece(iso(event.created_at)[:19].replace("T", " ") + "  ", "dim"),
                Piece(f"{event.kind:<16}"),
                Piece(place, shrinks=True),
                Piece(f"  {author}", "dim"),
            ]
        )
    else:
        payload = json.dumps(event.payload, separators=(",", ":"))
        where = (event.cursor, iso(event.created_at), event.tree_id or "")
        session.out.text("\t".join((*where, event.kind, event.agent_id, payload)))


def jobs_ls(session: CliSession) -> None:
    """Background jobs: waiting, retried and failed. Alone: list them.

    In a pipe: number, kind, status, tree, attempts, due time and last error, separated by tabs.
    """
    session.out.listing(
        session.grove.jobs.all(),
        Column("job", lambda job: str(job.id), number=True),
        Column("kind", lambda job: job.kind),
        Column("status", lambda job: job.status),
        Column(None, lambda job: job.tree_id),
        Column("attempts", lambda job: job.attempts, number=True),
        Column("since", lambda job: job.created_at, field=lambda job: job.due_at),
        Column("error", lambda job: job.error, shrinks=True),
        empty="no jobs",
    )


def jobs_retry(session: CliSession, number: _JobNumber) -> None:
    """Retry a failed job now."""
    job = session.grove.jobs.retry(number)
    session.out.result(job, str(job.id), f"job {job.id} ({job.kind}) is due again")


def jobs_cancel(session: CliSession, number: _JobNumber) -> None:
    """Cancel a job; what it has done stays done."""
    session.grove.jobs.cancel(number)
    session.out.result({"job": number}, str(number), f"cancelled job {number}")
