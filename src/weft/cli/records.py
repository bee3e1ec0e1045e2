"""Records: records append, ls, rm, and the groups beside them."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli import groups
from weft.cli.call import Call
from weft.cli.command import command, flag, group
from weft.cli.output import Column
from weft.cli.progress import progress_bar
from weft.cli.texts import STDIN, read_text
from weft.cli.wording import one_line
from weft.errors import InvalidInputError
from weft.tree.node_labels import counted

if TYPE_CHECKING:
    from weft.tree.json import JsonValue
    from weft.tree.record import RecordDraft

__all__ = ["add_to"]

_PANEL = "Records and recipes"
_PART = 1_000

User = Annotated[str | None, typer.Option("--user", "-u", metavar="ID", help="Whose; else nobody's.")]
Project = Annotated[str | None, typer.Option("--project", metavar="ID", help="Of which project.")]
SessionName = Annotated[str | None, typer.Option("--session", "-s", metavar="ID", help="Of which session.")]
Topic = Annotated[str | None, typer.Option("--topic", metavar="ID", help="Of which topic.")]


def streams(call: Call) -> None:
    """What outside programs keep in streams, for recipes to read. Alone: list all streams.

    In a pipe: stream, user, project, session, topic, records, first and last time, with tabs between.
    """
    _list_streams(call, user=None, everybody=True)


def _list_streams(
    call: Call,
    *,
    user: str | None,
    everybody: bool,
    session: str | None = None,
    topic: str | None = None,
) -> None:
    found = call.grove.records.streams(user=user, session=session, topic=topic, everybody=everybody)
    if call.out.as_json:
        call.out.json(found)
        return
    if not found:
        call.out.talk("there are no records yet: weft records append NAME FILE")
        return
    rows = [
        (
            each.stream,
            each.user or "",
            each.project or "",
            each.session or "",
            each.topic or "",
            f"{each.records}",
            f"{each.first:.15g}",
            f"{each.last:.15g}",
        )
        for each in found
    ]
    names = ("stream", "user", "project", "session", "topic", "records", "first", "last")
    columns = [Column(name, number=name == "records", gives=name == "stream") for name in names]
    call.out.table(columns, rows, rows)


def append(
    call: Call,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The stream: messages, summaries, any other.")],
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="JSON values, one on each line or in one array; - for stdin."),
    ] = STDIN,
    *,
    user: User = None,
    project: Project = None,
    session: SessionName = None,
    topic: Topic = None,
    identity: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="The record's id, where there is one record.")
    ] = None,
    time: Annotated[
        float | None, typer.Option("--time", metavar="SECONDS", help="When; else now, or as it says itself.")
    ] = None,
    whole: Annotated[
        bool, flag("--records", help="Whole records: {id, createTime, value, …}; else each is a value.")
    ] = False,
) -> None:
    """Append records to a stream.

    All of the input is read and checked first. Prints the ids, one on each line.
    """
    values = _values(read_text(file))
    if identity is not None and len(values) != 1:
        raise InvalidInputError(f"--id is for one record, there are {len(values):,}")
    drafts = _drafts(
        values, whole=whole, place=(name, user, project, session, topic), identity=identity, time=time
    )
    kept: list[str] = []
    with progress_bar("appending") as progress:
        for start in range(0, len(drafts), _PART):
            kept += [each.id for each in call.grove.records.append_all(drafts[start : start + _PART])]
            progress(len(kept), len(drafts))
    if call.out.as_json:
        call.out.json({"records": kept})
    else:
        for each in kept:
            call.out.text(each)
    call.out.talk(f"{counted(len(kept), 'record')} in {name!r}")


def _drafts(
    values: "list[JsonValue]",
    *,
    whole: bool,
    place: tuple[str, str | None, str | None, str | None, str | None],
    identity: str | None,
    time: float | None,
) -> "list[RecordDraft]":
    from weft.tree.record import draft_from_wire  # noqa: PLC0415 - loads when it is used

    stream, user, project, session, topic = place
    defaults = {"stream": stream, "user": user, "project": project, "session": session, "topic": topic}
    more: dict[str, JsonValue] = {} if identity is None else {"id": identity}
    if time is not None:
        more["createTime"] = time
    return [
        draft_from_wire(
            {**more, **value} if whole and isinstance(value, dict) else {**more, "value": value},
            f"records[{index}]",
            **defaults,
        )
        for index, value in enumerate(values)
    ]


def _values(text: str) -> "list[JsonValue]":
    """The values of one array, or of one line each."""
    from weft.context.js_compat import parse_json  # noqa: PLC0415 - loads when it is used

    try:
        found = parse_json(text)
    except ValueError:
        found = [_line(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    values = list(found) if isinstance(found, list | tuple) else [found]
    if not values:
        raise InvalidInputError("there is nothing to append", hint="give JSON values, one on each line")
    return values


def _line(number: int, line: str) -> "JsonValue":
    from weft.context.js_compat import parse_json  # noqa: PLC0415

    try:
        return parse_json(line)
    except ValueError as error:
        raise InvalidInputError(f"line {number} is not JSON: {error}") from None


def ls(
    call: Call,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The stream; else all of them.")] = None,
    *,
    user: User = None,
    project: Project = None,
    session: SessionName = None,
    topic: Topic = None,
    begin: Annotated[
        float | None, typer.Option("--begin", metavar="SECONDS", help="After this time.")
    ] = None,
    end: Annotated[
        float | None, typer.Option("--end", metavar="SECONDS", help="Up to and including this.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many.")] = 100,
    after: Annotated[str | None, typer.Option("--after", metavar="ID", help="Go on behind this one.")] = None,
    newest: Annotated[bool, flag("--newest", help="The newest first.")] = False,
    fallback: Annotated[
        bool,
        flag("--fallback", help="As recipes read: where there are none, the user's of no project, nobody's."),
    ] = False,
) -> None:
    """List a stream's records, or a user's streams.

    In a pipe: id, time and value as JSON, with tabs between.
    """
    if name is None:
        _list_streams(call, user=user, everybody=False, session=session, topic=topic)
        return
    found = call.grove.records.list(
        name,
        user=user,
        project=project,
        session=session,
        topic=topic,
        begin=begin,
        end=end,
        limit=limit,
        after=after,
        newest=newest,
        fallback=fallback,
    )
    if call.out.as_json:
        from weft.tree.record import record_to_wire  # noqa: PLC0415

        call.out.json([record_to_wire(record) for record in found])
        return
    if not found:
        call.out.talk(f"there are no records {name!r} there")
        return
    rows = [
        (each.id, f"{each.create_time:.15g}", one_line(json.dumps(each.value, ensure_ascii=False)))
        for each in found
    ]
    call.out.table((Column("id"), Column("time", number=True), Column("value", gives=True)), rows, rows)


def rm(
    call: Call,
    *,
    user: User = None,
    project: Project = None,
    session: SessionName = None,
    topic: Topic = None,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Of this stream only.")] = None,
    ids: Annotated[
        list[str] | None, typer.Option("--id", metavar="ID", help="Only these; may be repeated.")
    ] = None,
    confirm: Annotated[
        int | None, typer.Option("--confirm", metavar="NUMBER", help="How many: say it to destroy them.")
    ] = None,
) -> None:
    """Destroy records for good.

    Without --confirm: say how many there are.
    """
    given = {"user": user, "project": project, "session": session, "topic": topic, "stream": name}
    place = {key: value for key, value in given.items() if value is not None}
    if not place and not ids:
        raise InvalidInputError("which records?", hint="name a user, session, topic, stream or id")
    place.setdefault("user", "")
    if confirm is None:
        count = call.grove.records.count(place, ids)
        call.out.answer(count, str(count), f"{counted(count, 'record')}; --confirm {count} destroys them")
        return
    gone = call.grove.records.delete(place, ids, confirm=confirm)
    call.out.answer(gone, str(gone), f"destroyed {counted(gone, 'record')}")


def add_to(app: typer.Typer) -> None:
    family = group(app, "records", streams, panel=_PANEL)
    command(family, "append", append, creates=True)
    for function in (ls, rm):
        command(family, function.__name__, function)
    groups.add_to(family)
