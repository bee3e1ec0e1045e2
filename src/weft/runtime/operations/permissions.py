"""The acting agent, its user and its callers, and what they may do."""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Select, select

from weft.error_hints import Hint, HintKind
from weft.errors import NotFoundError, PermissionDeniedError, StorageError
from weft.store import schema
from weft.store.lookup import find_agent, find_tree, no_match
from weft.store.rows import AgentRow, permissions_from
from weft.store.session import Session
from weft.store.transaction import GROVE, Transaction
from weft.store.tree_statements import AGENT_BY_KEY
from weft.tree.access import MemberRole
from weft.tree.agent import REQUIRED_PERMISSION, Permission

ROLE_RANKS = (MemberRole.READER, MemberRole.EDITOR, MemberRole.OWNER)
"""Stored as their index."""


@dataclass(frozen=True, slots=True)
class Actor:
    """An agent acts with the intersection of its own and its caller's rights.

    Without a user no roles are checked: the grove belongs to one person.
    """

    agent: int
    user: int | None = None
    caller: "Actor | None" = None
    within: frozenset[Permission] | None = None
    """A limit to the agent's own rights; None: no limit."""
    run: str | None = None
    """The run that it acts for: what that run has leased is no obstacle to it."""
    granted: frozenset[Permission] = frozenset()
    """What a person granted the agent beyond its own rights, for what it does now."""

    def chain(self) -> Iterator["Actor"]:
        link: Actor | None = self
        while link is not None:
            yield link
            link = link.caller


def require_permission(session: Session, actor: Actor, permission: Permission, verb: str) -> None:
    """Every agent in the chain must have it."""
    for link in actor.chain():
        row = agent_row(session, link.agent)
        if row.archived_at is not None:
            raise PermissionDeniedError(f"agent {row.name!r} is archived", hint=Hint(HintKind.RESTORE_AGENT))
        granted = permissions_from(row.permissions) | link.granted
        if permission not in granted or (link.within is not None and permission not in link.within):
            wanted = sorted({*granted, permission, REQUIRED_PERMISSION.get(permission, permission)})
            raise PermissionDeniedError(
                f"{permission} not enabled",
                hint=Hint(
                    HintKind.GRANT,
                    name=row.name,
                    names=", ".join(f'"{each}"' for each in wanted),
                    flags=" ".join(f"--may {each}" for each in wanted),
                    verb=verb,
                ),
            )


def permissions_of(session: Session, actor: Actor) -> frozenset[Permission]:
    """What every agent in the chain has."""
    granted = frozenset(Permission)
    for link in actor.chain():
        granted &= permissions_from(agent_row(session, link.agent).permissions) | link.granted
        if link.within is not None:
            granted &= link.within
    return granted


def require_access(session: Session, actor: Actor, role: MemberRole, tree: int = GROVE) -> None:
    """Every user in the chain must have this role, on the grove or on the tree."""
    table = schema.memberships
    for link in actor.chain():
        if link.user is None:
            continue
        held = session.execute(
            select(table.c.role).where(table.c.user == link.user, table.c.tree.in_({GROVE, tree}))
        ).scalars()
        rank = max(held, default=-1)
        if rank < 0 and tree != GROVE:
            # Said as of a tree that does not exist: that it exists is a secret, too.
            ulid = session.execute(select(schema.trees.c.ulid).where(schema.trees.c.key == tree))
            raise no_match("tree", ulid.scalar_one())
        if rank < ROLE_RANKS.index(role):
            raise PermissionDeniedError(
                f"this needs the role {role} here", hint="ask an owner of the grove for it"
            )


def has_access(session: Session, actor: Actor, role: MemberRole, tree: int = GROVE) -> bool:
    """True if `require_access` would not refuse."""
    try:
        require_access(session, actor, role, tree)
    except (NotFoundError, PermissionDeniedError):
        return False
    return True


def require_access_somewhere(session: Session, actor: Actor, role: MemberRole) -> None:
    """Every user in the chain must have this role, on the grove or on some tree."""
    table = schema.memberships
    for link in actor.chain():
        if link.user is None:
            continue
        held = session.execute(select(table.c.role).where(table.c.user == link.user)).scalars()
        if max(held, default=-1) < ROLE_RANKS.index(role):
            raise PermissionDeniedError(
                f"this needs the role {role}", hint="ask an owner of the grove for it"
            )


def trees_allowed(session: Session, actor: Actor) -> set[int] | None:
    """The trees that every user in the chain may look at; None: all of them."""
    table = schema.memberships
    allowed: set[int] | None = None
    for user in {link.user for link in actor.chain() if link.user is not None}:
        theirs = set(session.execute(select(table.c.tree).where(table.c.user == user)).scalars())
        if GROVE not in theirs:
            allowed = theirs if allowed is None else allowed & theirs
    return allowed


def tree_for(session: Session, actor: Actor, reference: str, role: MemberRole = MemberRole.READER) -> int:
    """The tree that a reference names, where every user in the chain must have the role.

    Only trees that may be read are looked at: of others neither the existence nor the title shows.
    """
    key = find_tree(session, reference, trees_allowed(session, actor))
    require_access(session, actor, role, key)
    return key


def agents_allowed(session: Session, actor: Actor) -> set[int] | None:
    """The agents that every user in the chain may see; None: all of them.

    Who may read single trees only sees who takes part in these: authors, agents with a cursor, agents
    of users with a role there, and the chain's own agents.
    """
    trees = trees_allowed(session, actor)
    if trees is None:
        return None
    nodes, cursors, users, members = schema.nodes, schema.cursors, schema.users, schema.memberships
    here, everywhere = sorted(trees), [GROVE, *sorted(trees)]
    among = session.dialect.among
    sources: tuple[Select[int], ...] = (
        select(nodes.c.author).where(among(nodes.c.tree, here)).distinct(),
        select(cursors.c.agent).where(among(cursors.c.tree, here)),
        select(users.c.agent)
        .join(members, members.c.user == users.c.key)
        .where(among(members.c.tree, everywhere)),
    )
    seen = {key for source in sources for key in session.execute(source).scalars()}
    return seen | {link.agent for link in actor.chain()}


def agent_for(session: Session, actor: Actor, reference: str) -> int:
    """The agent that a reference names among those that the actor may see."""
    return find_agent(session, reference, agents_allowed(session, actor))


def agent_row(session: Session, key: int) -> AgentRow:
    if isinstance(session, Transaction):
        return session.agent(key)
    return session.once((AgentRow, key), lambda: _agent_row(session, key))


def _agent_row(session: Session, key: int) -> AgentRow:
    rows = session.rows(AGENT_BY_KEY, {"by_agent": key})
    if not rows:
        raise StorageError(f"agent number {key} is not in the grove", hint=Hint(HintKind.VERIFY))
    return AgentRow._make(rows[0])
