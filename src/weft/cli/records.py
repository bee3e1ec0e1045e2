"""Records and collapsed groups of messages: records append, ls, rm, index, open, close, forget."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, cast

import typer

from weft.cli.arguments import flag
from weft.cli.command import command, group
from weft.cli.output import Column, progress_bar
from weft.cli.session import CliSession
from weft.cli.text_input import STDIN, read_text
from weft.errors import InvalidInputError
from weft.tree.json_names import camel
from weft.tree.node import counted
from weft.tree.record import draft_from_wire, record_to_wire

if TYPE_CHECKING:
    from weft.tree.json import JsonObject, JsonValue

_PANEL = "Records and recipes"
_PART = 1_000

UserId = Annotated[str | None, typer.Option("--user", "-u", metavar="ID", help="The user; default: none.")]
ProjectId = Annotated[str | None, typer.Option("--project", metavar="ID", help="The project.")]
SessionId = Annotated[str | None, typer.Option("--session", "-s", metavar="ID", help="The session.")]
_TopicId = Annotated[str | None, typer.Option("--topic", metavar="ID", help="The topic.")]
_RequiredSession = Annotated[str, typer.Option("--session", "-s", metavar="ID", help="The session.")]
_GroupName = Annotated[str, typer.Argument(metavar="GROUP", help="The group's name.")]


def list_streams(session: CliSession) -> None:
    """Streams of records that other programs write and recipes read. Alone: list all streams.

    In a pipe: stream, user, project, session, topic, records, first and last time, separated by tabs.
    """
    _list_streams(session, user=None, everybody=True)


def _list_streams(
    session: CliSession,
    *,
    user: str | None,
    everybody: bool,
    session_id: str | None = None,
    topic: str | None = None,
) -> None:
    session.out.listing(
        session.grove.records.streams(user=user, session=session_id, topic=topic, everybody=everybody),
        Column("stream", lambda each: each.stream, shrinks=True),
        Column("user", lambda each: each.user),
        Column("project", lambda each: each.project),
        Column("session", lambda each: each.session),
        Column("topic", lambda each: each.topic),
        Column("records", lambda each: each.records, number=True),
        Column("first", lambda each: f"{each.first:.15g}"),
        Column("last", lambda each: f"{each.last:.15g}"),
        empty="no records; append some: weft records append NAME FILE",
    )


def append(
    session: CliSession,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The stream: messages, summaries or another.")],
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="JSON values, one a line or in one array; - for stdin.")
    ] = STDIN,
    *,
    user: UserId = None,
    project: ProjectId = None,
    session_id: SessionId = None,
    topic: _TopicId = None,
    identity: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="The id, if there is one record.")
    ] = None,
    time: Annotated[
        float | None, typer.Option("--time", metavar="SECONDS", help="The time; default: now.")
    ] = None,
    whole: Annotated[
        bool, flag("--records", help="Read whole records {id, createTime, value, …}, not values.")
    ] = False,
) -> None:
    """Append records to a stream.

    The whole input is checked first. Prints the ids, one a line.
    """
    values = _values(read_text(file))
    if identity is not None and len(values) != 1:
        raise InvalidInputError(f"--id needs exactly one record, the input has {len(values):,}")
    fields: dict[str, JsonValue] = {} if identity is None else {"id": identity}
    if time is not None:
        fields["createTime"] = time
    drafts = [
        draft_from_wire(
            {**fields, **value} if whole and isinstance(value, dict) else {**fields, "value": value},
            f"records[{index}]",
            stream=name,
            user=user,
            project=project,
            session=session_id,
            topic=topic,
        )
        for index, value in enumerate(values)
    ]
    ids: list[str] = []
    with progress_bar("appending") as progress:
        for start in range(0, len(drafts), _PART):
            ids += [each.id for each in session.grove.records.append_all(drafts[start : start + _PART])]
            progress(len(ids), len(drafts))
    if session.out.as_json:
        session.out.json({"records": ids})
    else:
        for each in ids:
            session.out.text(each)
    session.out.message(f"appended {counted(len(ids), 'record')} to {name!r}")


def _values(text: str) -> "list[JsonValue]":
    """The values of one array, or of one line each."""
    from weft.context.js_compat import parse_json  # noqa: PLC0415 - loads with the engine

    try:
        value = parse_json(text)
    except ValueError:
        value = [_line(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    values = list(value) if isinstance(value, list | tuple) else [value]
    if not values:
        raise InvalidInputError("the input is empty", hint="give JSON values, one a line")
    return values


def _line(number: int, line: str) -> "JsonValue":
    from weft.context.js_compat import parse_json  # noqa: PLC0415 - loads with the engine

    try:
        return parse_json(line)
    except ValueError as error:
        raise InvalidInputError(f"line {number} is not JSON: {error}") from None


def ls(
    session: CliSession,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The stream; default: all.")] = None,
    *,
    user: UserId = None,
    project: ProjectId = None,
    session_id: SessionId = None,
    topic: _TopicId = None,
    begin: Annotated[
        float | None, typer.Option("--begin", metavar="SECONDS", help="After this time.")
    ] = None,
    end: Annotated[
        float | None, typer.Option("--end", metavar="SECONDS", help="Up to and including this time.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most N.")] = 100,
    after: Annotated[
        str | None, typer.Option("--after", metavar="ID", help="Continue after this record.")
    ] = None,
    newest: Annotated[bool, flag("--newest", help="The newest first.")] = False,
    fallback: Annotated[
        bool,
        flag(
            "--fallback",
            help="As recipes read: if empty, the user's without project, then those without user.",
        ),
    ] = False,
) -> None:
    """List a stream's records, or a user's streams.

    In a pipe: id, time and value as JSON, separated by tabs.
    """
    if name is None:
        _list_streams(session, user=user, everybody=False, session_id=session_id, topic=topic)
        return
    session.out.listing(
        session.grove.records.list(
            name,
            user=user,
            project=project,
            session=session_id,
            topic=topic,
            begin=begin,
            end=end,
            limit=limit,
            after=after,
            newest=newest,
            fallback=fallback,
        ),
        Column("id", lambda record: record.id),
        Column("time", lambda record: f"{record.create_time:.15g}", number=True),
        Column("value", lambda record: json.dumps(record.value, ensure_ascii=False), shrinks=True),
        empty=f"no records {name!r} there",
        wire=record_to_wire,
    )


def rm(
    session: CliSession,
    *,
    user: UserId = None,
    project: ProjectId = None,
    session_id: SessionId = None,
    topic: _TopicId = None,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Only of this stream.")] = None,
    ids: Annotated[
        list[str] | None, typer.Option("--id", metavar="ID", help="Only these. Repeatable.")
    ] = None,
    confirm: Annotated[
        int | None, typer.Option("--confirm", metavar="NUMBER", help="Their number, to delete them.")
    ] = None,
) -> None:
    """Delete records permanently.

    Without --confirm: print their number.
    """
    given = {"user": user, "project": project, "session": session_id, "topic": topic, "stream": name}
    place = {key: value for key, value in given.items() if value is not None}
    if not place and not ids:
        raise InvalidInputError("name the records to delete", hint="by user, session, topic, stream or id")
    place.setdefault("user", "")
    if confirm is None:
        count = session.grove.records.count(place, ids)
        session.out.result(count, str(count), f"{counted(count, 'record')}; --confirm {count} deletes them")
        return
    gone = session.grove.records.delete(place, ids, confirm=confirm)
    session.out.result(gone, str(gone), f"deleted {counted(gone, 'record')}")


def index(
    session: CliSession,
    response: Annotated[
        str | None, typer.Argument(metavar="RESPONSE", help="The id of a record of the stream collapsed.")
    ] = None,
    *,
    session_id: _RequiredSession,
    user: UserId = None,
    groups: Annotated[
        str | None,
        typer.Option("--groups", metavar="FILE", help="The groups themselves, as JSON; - for stdin."),
    ] = None,
) -> None:
    """Index the groups that a response names: recipes show a placeholder for each.

    Repeating it changes nothing. Prints the numbers of groups and messages indexed.
    """
    body: dict[str, object] = {"sessionId": session_id, "responseId": response}
    if groups is not None:
        body["groups"] = _groups(groups)
    done = session.grove.groups.index(cast("JsonObject", body), user=user)
    named, messages = cast("int", done["indexed_groups"]), cast("int", done["indexed_messages"])
    message = f"indexed {counted(named, 'group')} with {counted(messages, 'message')}"
    session.out.result(_camel(done), f"{named}\t{messages}", message)


def _groups(file: str) -> object:
    from weft.context.js_compat import parse_json  # noqa: PLC0415 - loads with the engine

    try:
        value = parse_json(read_text(file))
    except ValueError as error:
        raise InvalidInputError(f"{'stdin' if file == STDIN else file} is not JSON: {error}") from None
    # A whole response may be given as well.
    return value.get("groups") if isinstance(value, Mapping) else value


def _camel(result: "JsonObject") -> dict[str, object]:
    return {camel(key): value for key, value in result.items()}


def open_group(
    session: CliSession, name: _GroupName, *, session_id: _RequiredSession, user: UserId = None
) -> None:
    """Show a group's messages."""
    _set_group(session, name, session_id, user, expanded=True)


def close_group(
    session: CliSession, name: _GroupName, *, session_id: _RequiredSession, user: UserId = None
) -> None:
    """Show a group's placeholder."""
    _set_group(session, name, session_id, user, expanded=False)


def _set_group(session: CliSession, name: str, session_id: str, user: str | None, *, expanded: bool) -> None:
    body: JsonObject = {"sessionId": session_id, "group": name, "expanded": expanded}
    done = session.grove.groups.set_state(body, user=user)
    session.out.result(_camel(done), None, f"{done['group']} is {'open' if expanded else 'closed'}")


def forget(
    session: CliSession,
    response: Annotated[str, typer.Argument(metavar="RESPONSE", help="The response that made the groups.")],
    *,
    session_id: _RequiredSession,
    user: UserId = None,
) -> None:
    """Remove a response's groups from the index, unless another response changed them."""
    done = session.grove.groups.remove(session_id, response, user=user)
    removed = cast("int", done["removed_groups"])
    session.out.result(_camel(done), str(removed), f"removed {counted(removed, 'group')}")


def add_to(app: typer.Typer) -> None:
    commands = group(app, "records", list_streams, panel=_PANEL)
    for function in (append, ls, rm, index, forget):
        command(commands, function.__name__, function)
    command(commands, "open", open_group)
    command(commands, "close", close_group)
