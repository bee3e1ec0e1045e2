"""Records of other programs, groups of messages, and recipes: records, recipe."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, cast

from weft.cli.arguments import argument, flag, option
from weft.cli.output import Column, progress_bar
from weft.cli.session import HERE, CliSession
from weft.cli.text_input import STDIN, read_setting, read_text
from weft.errors import InvalidInputError, NotFoundError
from weft.runtime.records.options import RecordListOptions
from weft.tree.json import camel
from weft.tree.node import counted
from weft.tree.record import draft_from_wire, record_to_wire

if TYPE_CHECKING:
    from weft.runtime.records.streams import RecordStream
    from weft.tree.json import JsonObject, JsonValue

UserId = Annotated[str | None, option("--user -u ID", RecordListOptions)]
ProjectId = Annotated[str | None, option("--project ID", RecordListOptions)]
SessionId = Annotated[str | None, option("--session -s ID", RecordListOptions)]
_TopicId = Annotated[str | None, option("--topic ID", RecordListOptions)]
_RequiredSession = Annotated[str, option("--session -s ID", RecordListOptions)]
_GroupName = Annotated[str, argument("GROUP", "The group's name.")]


def records(session: CliSession) -> None:
    """Streams of records that other programs write and recipes read. Alone: list all streams.

    In a pipe: stream, user, project, session, topic, records, first and last time, separated by tabs.
    """
    _list_streams(session, session.grove.records.streams(everybody=True))


def _list_streams(session: CliSession, streams: "Sequence[RecordStream]") -> None:
    session.out.listing(
        streams,
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


def records_append(
    session: CliSession,
    name: Annotated[str, argument("NAME", "The stream: messages, summaries or another.")],
    file: Annotated[str, argument("FILE", "JSON values, one a line or in one array; - for stdin.")] = STDIN,
    *,
    user: UserId = None,
    project: ProjectId = None,
    session_id: SessionId = None,
    topic: _TopicId = None,
    identity: Annotated[str | None, option("--id ID", "The id, if there is one record.")] = None,
    time: Annotated[float | None, option("--time SECONDS", "The time; default: now.")] = None,
    whole: Annotated[
        bool, flag("--records", "Read whole records {id, createTime, value, …}, not values.")
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
    with progress_bar("appending") as progress:
        values = session.grove.records.append_in_parts(drafts, progress=progress)
    ids = [each.id for each in values]
    if session.out.as_json:
        session.out.json({"records": ids})
    else:
        for each in ids:
            session.out.text(each)
    session.out.message(f"appended {counted(len(ids), 'record')} to {name!r}")


def _values(text: str) -> "list[JsonValue]":
    """The values of one array, or of one line each."""
    try:
        value = _json(text, "")
    except InvalidInputError:
        lines = enumerate(text.split("\n"), 1)
        value = [_json(line, f"line {number}") for number, line in lines if line.strip()]
    values = list(value) if isinstance(value, list | tuple) else [value]
    if not values:
        raise InvalidInputError("the input is empty", hint="give JSON values, one a line")
    return values


def _json(text: str, name: str) -> "JsonValue":
    from weft.context.recipes.js_compat import parse_json  # noqa: PLC0415 - loads with the engine

    try:
        return parse_json(text)
    except ValueError as error:
        raise InvalidInputError(f"{name} is not JSON: {error}") from None


def records_ls(
    session: CliSession,
    name: Annotated[str | None, argument("NAME", "The stream; default: all.")] = None,
    *,
    user: UserId = None,
    project: ProjectId = None,
    session_id: SessionId = None,
    topic: _TopicId = None,
    begin: Annotated[float | None, option("--begin SECONDS", RecordListOptions)] = None,
    end: Annotated[float | None, option("--end SECONDS", RecordListOptions)] = None,
    limit: Annotated[int, option("--limit -n", RecordListOptions)] = RecordListOptions.default("limit"),
    after: Annotated[str | None, option("--after ID", RecordListOptions)] = None,
    newest: Annotated[bool, flag("--newest", RecordListOptions)] = False,
    fallback: Annotated[bool, flag("--fallback", RecordListOptions)] = False,
) -> None:
    """List a stream's records, or a user's streams.

    In a pipe: id, time and value as JSON, separated by tabs.
    """
    if name is None:
        streams = session.grove.records.streams(user=user, session=session_id, topic=topic)
        _list_streams(session, streams)
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


def records_rm(
    session: CliSession,
    *,
    user: UserId = None,
    project: ProjectId = None,
    session_id: SessionId = None,
    topic: _TopicId = None,
    name: Annotated[str | None, option("--name NAME", "Only of this stream.")] = None,
    ids: Annotated[list[str] | None, option("--id ID", "Only these. Repeatable.")] = None,
    confirm: Annotated[int | None, option("--confirm NUMBER", "Their number, to delete them.")] = None,
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


def records_index(
    session: CliSession,
    response: Annotated[
        str | None, argument("RESPONSE", "The id of a record of the stream collapsed.")
    ] = None,
    *,
    session_id: _RequiredSession,
    user: UserId = None,
    groups: Annotated[
        str | None, option("--groups FILE", "The groups themselves, as JSON; - for stdin.")
    ] = None,
) -> None:
    """Index the groups that a response names: recipes show a placeholder for each.

    Repeating it changes nothing. Prints the numbers of groups and messages indexed.
    """
    body: dict[str, object] = {"sessionId": session_id, "responseId": response}
    if groups is not None:
        value = _json(read_text(groups), "stdin" if groups == STDIN else groups)
        # A whole response may be given as well.
        body["groups"] = value.get("groups") if isinstance(value, Mapping) else value
    done = session.grove.groups.index(cast("JsonObject", body), user=user)
    named, messages = cast("int", done["indexed_groups"]), cast("int", done["indexed_messages"])
    message = f"indexed {counted(named, 'group')} with {counted(messages, 'message')}"
    session.out.result(_camel(done), f"{named}\t{messages}", message)


def _camel(result: "JsonObject") -> dict[str, object]:
    return {camel(key): value for key, value in result.items()}


def records_open(
    session: CliSession, name: _GroupName, *, session_id: _RequiredSession, user: UserId = None
) -> None:
    """Show a group's messages."""
    _set_group(session, name, session_id, user, expanded=True)


def records_close(
    session: CliSession, name: _GroupName, *, session_id: _RequiredSession, user: UserId = None
) -> None:
    """Show a group's placeholder."""
    _set_group(session, name, session_id, user, expanded=False)


def _set_group(session: CliSession, name: str, session_id: str, user: str | None, *, expanded: bool) -> None:
    body: JsonObject = {"sessionId": session_id, "group": name, "expanded": expanded}
    done = session.grove.groups.set_state(body, user=user)
    session.out.result(_camel(done), None, f"{done['group']} is {'open' if expanded else 'closed'}")


def records_forget(
    session: CliSession,
    response: Annotated[str, argument("RESPONSE", "The response that made the groups.")],
    *,
    session_id: _RequiredSession,
    user: UserId = None,
) -> None:
    """Remove a response's groups from the index, unless another response changed them."""
    done = session.grove.groups.remove(session_id, response, user=user)
    removed = cast("int", done["removed_groups"])
    session.out.result(_camel(done), str(removed), f"removed {counted(removed, 'group')}")


def recipe_ls(session: CliSession) -> None:
    """Which streams of messages a request reads, in which order, and which filters run. Alone: list the built-in recipes.

    In a pipe: name, streams and filters, separated by tabs.
    """
    from weft.context.recipes.recipe import PRESETS  # noqa: PLC0415 - loads with the engine

    if session.out.as_json:
        session.out.json({name: model.to_wire() for name, model in PRESETS.items()})
        return
    session.out.table(
        sorted(PRESETS.items()),
        Column("name", lambda row: row[0]),
        Column("streams", lambda row: ", ".join(leaf.name for leaf in row[1].leaves())),
        Column("filters", lambda row: ", ".join(entry.name for entry in row[1].filters), shrinks=True),
    )


def recipe_show(session: CliSession, name: Annotated[str, argument("NAME", "A built-in recipe.")]) -> None:
    """Print a built-in recipe as JSON, as a start for your own."""
    from weft.context.recipes.recipe import PRESETS  # noqa: PLC0415 - loads with the engine

    model = PRESETS.get(name)
    if model is None:
        raise NotFoundError(f"no recipe {name!r}", hint=f"recipes are {', '.join(sorted(PRESETS))}")
    if session.out.as_json:
        session.out.json({"model": model.to_wire()})
    else:
        session.out.text(json.dumps({"model": model.to_wire()}, indent=2, ensure_ascii=False))


def recipe_run(
    session: CliSession,
    recipe: Annotated[str, argument("FILE|NAME", "JSON or YAML, - for stdin; or a built-in recipe.")] = STDIN,
    *,
    node: Annotated[str | None, option("--node NODE", "Read the path to this node.")] = None,
    settings: Annotated[
        list[str] | None, option("--set NAME=VALUE", "An option of the path: limit, … Repeatable.")
    ] = None,
    user: UserId = None,
    project: ProjectId = None,
    session_id: SessionId = None,
    manifest: Annotated[bool, flag("--manifest", "Print the manifest, not the messages.")] = False,
) -> None:
    """Run a recipe.

    Prints the messages, one JSON object a line; messages on stderr say what each source gave and each
    filter did.
    """
    body = _body(session, recipe, node, settings or [])
    done = session.grove.recipes.run(body, user=user, project=project, session=session_id)
    if session.out.as_json:
        session.out.json({"messages": done.messages, "manifest": done.manifest.to_wire()})
        return
    if manifest:
        for entry in done.manifest:
            session.out.text(f"{entry.kind}\t{entry.outcome}\t{entry.id}\t{entry.tokens}\t{entry.reason}")
    else:
        for message in done.messages:
            session.out.json_line(message)
    for served in done.served:
        session.out.message(served.reason)
    for step in done.steps:
        session.out.message(f"{step.name}: {step.reason}")
    session.out.message(f"{counted(len(done.messages), 'message')}, {done.manifest.tokens:,} tokens")


def _body(session: CliSession, recipe: str, node: str | None, settings: list[str]) -> "JsonObject":
    from weft.context.recipes.recipe import PRESETS  # noqa: PLC0415 - loads with the engine
    from weft.interop.recipe_file import read_recipe_text  # noqa: PLC0415 - few commands read YAML

    body: JsonValue = {"presetId": recipe} if recipe in PRESETS else read_recipe_text(read_text(recipe))
    if not isinstance(body, Mapping):
        raise InvalidInputError("a recipe is an object", hint="weft recipe show TopicContext prints one")
    options = dict(read_setting(each) for each in settings)
    if node is None and (options or (recipe in PRESETS and recipe != "TopicContext")):
        node = HERE
    if node is None:
        return body
    place = session.node(node)
    kala = {"kind": "Path", "treeId": place.value.tree_id, "nodeId": place.id, **options}
    return {**body, "kala": kala}
