"""Collapsed groups of a session's messages: records index, open, close, forget."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, cast

import typer

from weft.cli.call import Call
from weft.cli.command import command
from weft.cli.texts import STDIN, read_text
from weft.errors import InvalidInputError
from weft.tree.json_names import camel
from weft.tree.node_labels import counted

if TYPE_CHECKING:
    from weft.tree.json import JsonObject

__all__ = ["add_to"]

_User = Annotated[str | None, typer.Option("--user", "-u", metavar="ID", help="Whose; else nobody's.")]
_Session = Annotated[str, typer.Option("--session", "-s", metavar="ID", help="Of which session.")]
_Group = Annotated[str, typer.Argument(metavar="GROUP", help="The group's name.")]


def index(
    call: Call,
    response: Annotated[
        str | None, typer.Argument(metavar="RESPONSE", help="The id of a record of the stream collapsed.")
    ] = None,
    *,
    session: _Session,
    user: _User = None,
    groups: Annotated[
        str | None,
        typer.Option("--groups", metavar="FILE", help="The groups themselves, as JSON; - for stdin."),
    ] = None,
) -> None:
    """Index the groups that a response names: recipes show a placeholder for each.

    Indexing again changes nothing. Prints how many groups and messages were indexed.
    """
    body: dict[str, object] = {"sessionId": session, "responseId": response}
    if groups is not None:
        body["groups"] = _groups(groups)
    found = call.grove.groups.index(cast("JsonObject", body), user=user)
    named, messages = found["indexed_groups"], found["indexed_messages"]
    told = f"indexed {counted(cast('int', named), 'group')} of {counted(cast('int', messages), 'message')}"
    call.out.answer({camel(key): value for key, value in found.items()}, f"{named}\t{messages}", told)


def _groups(file: str) -> object:
    from weft.context.js_compat import parse_json  # noqa: PLC0415 - loads when it is used

    try:
        value = parse_json(read_text(file))
    except ValueError as error:
        raise InvalidInputError(f"{'stdin' if file == STDIN else file} is not JSON: {error}") from None
    # A whole response may be given as well.
    return value.get("groups") if isinstance(value, Mapping) else value


def open_group(call: Call, name: _Group, *, session: _Session, user: _User = None) -> None:
    """Show a group's messages themselves."""
    _set(call, name, session, user, expanded=True)


def close_group(call: Call, name: _Group, *, session: _Session, user: _User = None) -> None:
    """Show a group's placeholder again."""
    _set(call, name, session, user, expanded=False)


def _set(call: Call, name: str, session: str, user: str | None, *, expanded: bool) -> None:
    body = {"sessionId": session, "group": name, "expanded": expanded}
    found = call.grove.groups.set_state(body, user=user)
    call.out.answer(
        {camel(key): value for key, value in found.items()},
        None,
        f"{found['group']} is {'open' if expanded else 'closed'}",
    )


def forget(
    call: Call,
    response: Annotated[str, typer.Argument(metavar="RESPONSE", help="The response that made the groups.")],
    *,
    session: _Session,
    user: _User = None,
) -> None:
    """Take a response's groups out of the index again, as far as they still are its own."""
    found = call.grove.groups.remove(session, response, user=user)
    removed = cast("int", found["removed_groups"])
    call.out.answer(
        {camel(key): value for key, value in found.items()},
        str(removed),
        f"forgot {counted(removed, 'group')}",
    )


def add_to(family: typer.Typer) -> None:
    """Beside the records whose messages they fold."""
    command(family, "index", index)
    command(family, "open", open_group)
    command(family, "close", close_group)
    command(family, "forget", forget)
