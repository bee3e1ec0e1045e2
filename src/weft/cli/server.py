"""Serve a grove and manage its users: serve, mcp, users."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

from weft.cli.arguments import Archived, argument, flag, option
from weft.cli.output import Column, quoted
from weft.cli.session import CliSession
from weft.errors import InvalidInputError
from weft.tree.access import MemberRole
from weft.tree.agent import ANALYST, Permission, parse_permissions
from weft.tree.json_names import from_microseconds, iso

if TYPE_CHECKING:
    from weft.mcp_server.transports import HttpAddress
    from weft.server.lifecycle import ServerAddress
    from weft.tree.access import Token, User

_PORT = 7370
_MCP_PORT = 7371

_Host = Annotated[str, option("--host ADDRESS", "The local address to listen at.")]
_HostNames = Annotated[
    list[str] | None, option("--host-name NAME", "A further host name to accept. Repeatable.")
]
_UserName = Annotated[str, argument("USER", "A name or id.")]


def serve(
    session: CliSession,
    *,
    port: Annotated[int, option("--port -p", "The port; 0 for any free one.", min=0, max=65_535)] = _PORT,
    host: _Host = "127.0.0.1",
    names: _HostNames = None,
    origins: Annotated[
        list[str] | None,
        option(
            "--origin ORIGIN",
            "A further origin whose pages may call it, such as https://example.org. Repeatable.",
        ),
    ] = None,
) -> None:
    """Serve the grove over HTTP until it is stopped.

    Prints a link that opens it in a browser, once. Programs send the token instead, which --json prints;
    users have tokens of their own: weft users.
    """
    from weft.server import ServerSettings  # noqa: PLC0415 - fastapi takes 400 ms
    from weft.server import serve as serve_grove  # noqa: PLC0415 - as above

    def ready(address: "ServerAddress") -> None:
        if session.out.as_json:
            session.out.json(address)
        else:
            # A terminal shows it too: it is the command's result.
            session.out.text(address.link)
        session.out.message(f"serving at {address.url}; stop with Ctrl-C")
        session.out.flush()

    serve_grove(
        session.open_grove(background=True),
        host=host,
        port=port,
        names=names or (),
        settings=ServerSettings(origins=origins or ()),
        ready=ready,
    )
    session.out.message("stopped")


def mcp(
    session: CliSession,
    *,
    http: Annotated[
        bool, flag("--http", "Over HTTP, for several clients; default: over stdin and stdout.")
    ] = False,
    agent: Annotated[
        str | None, option("--agent AGENT", "The agent that acts and is the author, for all clients.")
    ] = None,
    read_only: Annotated[bool, flag("--read-only", "Allow no changes of trees and documents.")] = False,
    allow: Annotated[
        str | None, option("--allow PERMISSIONS", "Allow only these, separated by commas.")
    ] = None,
    port: Annotated[
        int, option("--port -p", "The port for HTTP; 0 for any free one.", min=0, max=65_535)
    ] = _MCP_PORT,
    host: _Host = "127.0.0.1",
    names: _HostNames = None,
) -> None:
    """Serve the grove to Claude, editors and other MCP clients.

    Over stdin and stdout it serves the program that starts it; over HTTP clients with a token, which
    is printed. No client has more permissions than its user.
    """
    from weft.mcp_server.server import McpFace  # noqa: PLC0415 - the MCP library takes 500 ms

    within = _within(allow, read_only=read_only)
    grove = session.open_grove(background=True)
    if agent is not None:
        # An unknown name is refused now, not in every call.
        grove.read.agent(agent)
    if not http:
        from weft.mcp_server.transports import serve_stdio  # noqa: PLC0415 - as above

        serve_stdio(McpFace(grove, agent, within))
        return
    from weft.mcp_server.transports import serve_http  # noqa: PLC0415 - as above

    def ready(address: "HttpAddress") -> None:
        if session.out.as_json:
            session.out.json(address)
        else:
            session.out.text(address.url)
            session.out.text(address.token)
        session.out.message("serving MCP; send the token as Authorization: Bearer; stop with Ctrl-C")
        session.out.flush()

    serve_http(grove, McpFace(None, agent, within), host=host, port=port, names=names or (), ready=ready)
    session.out.message("stopped")


def _within(allow: str | None, *, read_only: bool) -> frozenset[Permission] | None:
    if allow is None:
        return ANALYST if read_only else None
    if read_only:
        raise InvalidInputError("--read-only and --allow exclude each other")
    return parse_permissions(name.strip() for name in allow.split(",") if name.strip())


def _role(text: str) -> MemberRole | None:
    if text == "none":
        return None
    try:
        return MemberRole(text)
    except ValueError:
        raise InvalidInputError(f"{text!r} is not a role", hint="use owner, editor, reader or none") from None


def users_ls(session: CliSession, *, archived: Archived = False) -> None:
    """The users of the server. Alone: list them.

    In a pipe: id, name and roles, separated by tabs.
    """
    users = session.grove.users

    def roles(user: "User") -> str:
        return ", ".join(
            each.role.value if each.tree_id is None else f"{each.role.value} of {each.tree_id}"
            for each in users.roles(user.id)
        )

    session.out.listing(
        users.list(archived=archived),
        Column(None, lambda user: user.id),
        Column("name", lambda user: user.name),
        Column("roles", roles, shrinks=True),
        Column("since", lambda user: "archived" if user.archived_at else user.created_at, piped=False),
        empty="no users; add one: weft users add NAME",
    )


def users_add(
    session: CliSession,
    name: Annotated[str, argument("NAME", "One line; unique among users.")],
    *,
    role: Annotated[str, option("--role ROLE", "On the grove: owner, editor, reader or none.")] = "editor",
    agent: Annotated[
        str | None, option("--agent AGENT", "The user's agent; default: a new one of that name.")
    ] = None,
) -> None:
    """Add a user.

    Prints the user's id.
    """
    user = session.grove.users.add(name, role=_role(role), agent=agent)
    message = f"added {quoted(user.name)}; create a token: weft users token {name!r}"
    session.out.result(user, user.id, message)


def users_role(
    session: CliSession,
    user: _UserName,
    role: Annotated[str, argument("ROLE", "owner, editor, reader or none.")],
) -> None:
    """Set a user's role on the grove, or with --tree on that tree."""
    tree = session.options.tree
    session.grove.users.set_role(user, _role(role), tree=tree)
    place = "the grove" if tree is None else quoted(tree)
    session.out.result(session.grove.users.roles(user), None, f"{user}: {role} on {place}")


def users_token(
    session: CliSession,
    user: _UserName,
    *,
    label: Annotated[str, option("--label -l TEXT", "What it is for.")] = "",
    service: Annotated[bool, flag("--service", "Let it act for any user it names.")] = False,
    days: Annotated[int | None, option("--days", "Days until it expires.", min=1)] = None,
) -> None:
    """Create a token for a user.

    Prints it once: only its hash is stored.
    """
    end = None if days is None else from_microseconds(session.now) + timedelta(days=days)
    secret, token = session.grove.users.issue(user, label=label, service=service, expires_at=end)
    if session.out.as_json:
        session.out.json(
            {"token": secret, "id": token.id, "service": token.service, "expiresAt": token.expires_at}
        )
    else:
        # On a terminal too: it is shown this once.
        session.out.text(secret)
    session.out.message(f"token {token.id}; it is not shown again")


def users_tokens(
    session: CliSession,
    user: Annotated[str | None, argument("USER", "Only of this user.")] = None,
) -> None:
    """List tokens, without their secrets."""
    users = session.grove.users
    names = {each.id: each.name for each in users.list(archived=True)}
    session.out.listing(
        users.tokens(user),
        Column("id", lambda token: token.id),
        Column("user", lambda token: names[token.user_id]),
        Column("label", lambda token: token.label, shrinks=True),
        Column("kind", lambda token: "service" if token.service else ""),
        Column("state", _state),
        empty="no tokens",
    )


def _state(token: "Token") -> str:
    if token.revoked_at:
        return "revoked"
    return "" if token.expires_at is None else f"until {iso(token.expires_at)}"


def users_revoke(
    session: CliSession,
    token: Annotated[str, argument("ID", "The token's id, not itself.")],
) -> None:
    """Revoke a token."""
    session.grove.users.revoke(token)
    session.out.result(None, None, f"revoked {token}")


def users_archive(
    session: CliSession,
    user: _UserName,
    *,
    undo: Annotated[bool, flag("--undo", "Restore the user's access.")] = False,
) -> None:
    """Archive a user: tokens stop working, nothing is lost."""
    after = session.grove.users.archive(user, restore=undo)
    session.out.result(after, after.id, f"{'restored' if undo else 'archived'} {quoted(after.name)}")
