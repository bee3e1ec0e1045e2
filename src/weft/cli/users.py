"""Who may enter: users add, role, token, tokens, revoke, archive."""

from datetime import timedelta
from typing import Annotated

import typer

from weft.cli.call import Call
from weft.cli.command import command, flag, group
from weft.cli.output import Column
from weft.cli.wording import ago, quoted
from weft.errors import InvalidInputError
from weft.tree.access import MemberRole
from weft.tree.json_names import from_microseconds, iso

__all__ = ["add_to"]

_PANEL = "Serving"
UserName = Annotated[str, typer.Argument(metavar="USER", help="A name or id.")]


def _role(text: str | None) -> MemberRole | None:
    if text is None or text == "none":
        return None
    try:
        return MemberRole(text)
    except ValueError:
        raise InvalidInputError(f"{text!r} is not a role", hint="use owner, editor, reader or none") from None


def ls(
    call: Call, *, archived: Annotated[bool, flag("--archived", "-a", help="Also those shut out.")] = False
) -> None:
    """Who may enter over HTTP. Alone: list the users.

    In a pipe: id, name and roles, with tabs between.
    """
    users = call.grove.users.list(archived=archived)
    if call.out.as_json:
        call.out.json(users)
        return
    if not users:
        call.out.talk("nobody but you yet: weft users add NAME")
        return
    roles = {
        user.id: ", ".join(
            each.role.value if each.tree_id is None else f"{each.role.value} of {each.tree_id}"
            for each in call.grove.users.roles(user.id)
        )
        for user in users
    }
    call.out.table(
        (Column("name"), Column("roles", gives=True), Column("since")),
        (
            (each.name, roles[each.id], "shut out" if each.archived_at else ago(each.created_at, call.now))
            for each in users
        ),
        ((each.id, each.name, roles[each.id]) for each in users),
    )


def add(
    call: Call,
    name: Annotated[str, typer.Argument(metavar="NAME", help="One line; no other user has it.")],
    *,
    role: Annotated[
        str, typer.Option("--role", metavar="ROLE", help="On the grove: owner, editor, reader or none.")
    ] = "editor",
    agent: Annotated[
        str | None,
        typer.Option("--agent", metavar="AGENT", help="Acts through this one; else a new one of that name."),
    ] = None,
) -> None:
    """Let somebody in.

    Prints the user's id.
    """
    made = call.grove.users.add(name, role=_role(role), agent=agent)
    call.out.answer(made, made.id, f"{quoted(made.name)} may enter with a token: weft users token {name!r}")


def role(
    call: Call,
    user: UserName,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="owner, editor, reader or none.")],
) -> None:
    """Give a user a role on the grove, or with --tree on that tree."""
    tree = call.choices.tree
    call.grove.users.set_role(user, _role(role), tree=tree)
    on = "the grove" if tree is None else quoted(tree)
    call.out.answer(call.grove.users.roles(user), None, f"{user}: {role} on {on}")


def token(
    call: Call,
    user: UserName,
    *,
    label: Annotated[str, typer.Option("--label", "-l", metavar="TEXT", help="What it is for.")] = "",
    service: Annotated[bool, flag("--service", help="May act for any user that it names.")] = False,
    days: Annotated[int | None, typer.Option("--days", min=1, help="How long it opens.")] = None,
) -> None:
    """Make a token for a user.

    Prints it, once: only its hash is kept.
    """
    end = None if days is None else from_microseconds(call.now) + timedelta(days=days)
    secret, made = call.grove.users.issue(user, label=label, service=service, expires_at=end)
    if call.out.as_json:
        call.out.json({"token": secret, "id": made.id, "service": made.service, "expiresAt": made.expires_at})
    else:
        # On a terminal too: it is shown this once.
        call.out.text(secret)
    call.out.talk(f"token {made.id}; it is shown only now")


def tokens(
    call: Call, user: Annotated[str | None, typer.Argument(metavar="USER", help="Of this user only.")] = None
) -> None:
    """List tokens: what is kept of them."""
    found = call.grove.users.tokens(user)
    if call.out.as_json:
        call.out.json(found)
        return
    if not found:
        call.out.talk("there are no tokens")
        return
    names = {each.id: each.name for each in call.grove.users.list(archived=True)}
    rows = [
        (
            each.id,
            names[each.user_id],
            each.label,
            "service" if each.service else "",
            "revoked"
            if each.revoked_at
            else ""
            if each.expires_at is None
            else f"until {iso(each.expires_at)}",
        )
        for each in found
    ]
    columns = (Column("id"), Column("user"), Column("label", gives=True), Column("kind"), Column("state"))
    call.out.table(columns, rows, rows)


def revoke(
    call: Call, token: Annotated[str, typer.Argument(metavar="ID", help="The token's id, not itself.")]
) -> None:
    """Let a token open nothing any more."""
    call.grove.users.revoke(token)
    call.out.answer(None, None, f"revoked {token}")


def archive(
    call: Call, user: UserName, *, undo: Annotated[bool, flag("--undo", help="Let them in again.")] = False
) -> None:
    """Shut a user out; nothing of theirs is lost."""
    after = call.grove.users.archive(user, restore=undo)
    call.out.answer(after, after.id, f"{quoted(after.name)} {'may enter again' if undo else 'is shut out'}")


def add_to(app: typer.Typer) -> None:
    family = group(app, "users", ls, panel=_PANEL)
    command(family, "ls", ls)
    command(family, "add", add, creates=True)
    for function in (role, token, tokens, revoke, archive):
        command(family, function.__name__, function)
