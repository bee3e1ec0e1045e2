"""What agents wait for a person to allow: approvals."""

import json
from typing import TYPE_CHECKING, Annotated

from weft.cli.arguments import argument, flag
from weft.cli.output import Column, visible
from weft.cli.session import CliSession
from weft.tree.agent import Permission

if TYPE_CHECKING:
    from weft.tree.approval import Approval, TreeGrants

_Id = Annotated[str, argument("ID", "weft approvals lists them.")]
_Agent = Annotated[str, argument("AGENT", "A name or id.")]
_What = Annotated[str, argument("WHAT", "A tool, or a permission such as loom_write.")]


def approvals_ls(
    session: CliSession,
    *,
    decided: Annotated[bool, flag("--decided", "Also those that were decided in the last day.")] = False,
) -> None:
    """What agents wait for a person to allow. Alone: list it.

    In a pipe: id, agent, what it wants, arguments, state and time limit, separated by tabs.
    """
    session.out.listing(
        session.grove.approvals.all(session.options.tree, decided=decided),
        Column("id", lambda each: each.id),
        Column("agent", lambda each: each.agent),
        Column("wants", lambda each: each.name),
        Column("arguments", _arguments, shrinks=True),
        Column("state", lambda each: each.state.value.replace("_", " ")),
        Column("until", lambda each: each.expires_at),
        empty="nothing waits for approval",
    )


def approvals_allow(
    session: CliSession,
    approval: _Id,
    *,
    always: Annotated[bool, flag("--in-tree", "Allow it always in this tree.")] = False,
) -> None:
    """Allow what an agent asks for: once, or always in its tree."""
    _decided(session, session.grove.approvals.allow(approval, in_tree=always))


def approvals_deny(session: CliSession, approval: _Id) -> None:
    """Deny what an agent asks for; its run goes on without it."""
    _decided(session, session.grove.approvals.deny(approval))


def approvals_grants(session: CliSession) -> None:
    """What agents may do in the tree without being asked."""
    _list_grants(session, session.grove.approvals.grants(session.tree))


def approvals_grant(session: CliSession, agent: _Agent, what: _What) -> None:
    """Let an agent use a tool, or have a permission, in the tree."""
    _list_grants(session, _granted(session, agent, what, allowed=True))


def approvals_revoke(session: CliSession, agent: _Agent, what: _What) -> None:
    """Take a grant back."""
    _list_grants(session, _granted(session, agent, what, allowed=False))


def _granted(session: CliSession, agent: str, what: str, *, allowed: bool) -> "list[TreeGrants]":
    is_permission = what in list(Permission)
    return session.grove.approvals.grant(
        session.tree,
        agent,
        tool=None if is_permission else what,
        permission=what if is_permission else None,
        allowed=allowed,
    )


def _list_grants(session: CliSession, grants: "list[TreeGrants]") -> None:
    session.out.listing(
        grants,
        Column("agent", lambda each: each.agent),
        Column("tools", lambda each: list(each.tools)),
        Column("permissions", lambda each: list(each.permissions)),
        empty="nothing is granted in this tree",
    )


def _decided(session: CliSession, approval: "Approval") -> None:
    state = approval.state.value.replace("_", " ")
    session.out.result(approval, None, f"{approval.agent}: {approval.name} {state}")


def _arguments(approval: "Approval") -> str:
    return visible(json.dumps(approval.arguments, ensure_ascii=False)) if approval.arguments else ""
