"""Manage users and their tokens: users."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

from weft.cli.arguments import Archived, argument, flag, option
from weft.cli.output import Column, quoted
from weft.cli.session import CliSession
from weft.errors import InvalidInputError
from weft.tree.access import MemberRole
from weft.tree.json_names import from_microseconds, iso

if TYPE_CHECKING:
    from weft.tree.access import Token, User


_UserName = Annotated[str, argument("USER", "A name or id.")]


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
    role: Annotated[str, option("--role ROLE", "On the grove: owner, editor, reader or none.")] = "reader",
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
    policy: Annotated[
        str | None, option("--policy", "What the proxy does with its requests: record, strict or fit.")
    ] = None,
) -> None:
    """Create a token for a user.

    Prints it once: only its hash is stored.
    """
    end = None if days is None else from_microseconds(session.now) + timedelta(days=days)
    if policy is not None:
        from weft.runtime.proxy.policy import mode_named  # noqa: PLC0415 - loads with the proxy

        mode_named(policy)
    secret, token = session.grove.users.issue(user, label=label, service=service, expires_at=end)
    if policy is not None:
        session.grove.proxy.set_policy(token.id, policy)
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
        Column("used", lambda token: "never" if token.used_at is None else token.used_at),
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
