"""Who may enter a grove, and by which token."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, or_, select

from weft.errors import UnauthenticatedError
from weft.runtime.actor import ROLE_RANKS, Actor, require_access, require_permission
from weft.runtime.gate import Gate
from weft.runtime.operations.users import (
    AddToken,
    AddUser,
    ArchiveUser,
    RevokeToken,
    SetRole,
    find_user,
    token_value,
    user_value,
)
from weft.store import schema
from weft.store.session import Session
from weft.tree.access import MemberRole, Membership, Token, User
from weft.tree.agent import Permission

__all__ = ["Admitted", "Users", "admit", "digest_of_token", "new_token"]

_users, _tokens, _memberships = schema.users, schema.tokens, schema.memberships
_PREFIX = "weft_"
_REFUSED = "this token lets nobody in"


def new_token() -> str:
    """A secret that nobody can guess; its beginning says what it is to whoever finds it."""
    return _PREFIX + secrets.token_urlsafe(32)


def digest_of_token(token: str) -> bytes:
    """What is kept of a token. It has 256 random bits, so one round of SHA-256 keeps it secret."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """Whoever a token let in."""

    actor: Actor
    name: str
    service: bool


def admit(gate: Gate, token: str) -> Admitted:
    """Who comes with this token; whoever cannot say is not told why."""
    now = gate.clock()
    statement = (
        select(_users.c.key, _users.c.agent, _users.c.name, _tokens.c.service)
        .join(_users, _users.c.key == _tokens.c.user)
        .where(
            _tokens.c.hash == digest_of_token(token),
            _tokens.c.revoked_at.is_(None),
            or_(_tokens.c.expires_at.is_(None), _tokens.c.expires_at > now),
            _users.c.archived_at.is_(None),
        )
    )
    with gate.store.read() as session:
        row = session.execute(statement).one_or_none()
    if row is None:
        raise UnauthenticatedError(_REFUSED, hint="ask an owner of the grove for one: weft users token NAME")
    return Admitted(actor=Actor(row.agent, row.key), name=row.name, service=bool(row.service))


@dataclass(frozen=True, slots=True)
class Users:
    """People and programs that may enter, as an owner sees them."""

    gate: Gate
    actor: Actor

    def add(self, name: str, *, role: MemberRole | str | None = None, agent: str | None = None) -> User:
        """Let somebody in."""
        chosen = None if role is None else MemberRole(role)
        return self.gate.perform(self.actor, AddUser(name=name, role=chosen, agent=agent))

    def list(self, *, archived: bool = False) -> list[User]:
        agents = schema.agents
        statement = (
            select(_users, agents.c.ulid.label("agent_id"))
            .join(agents, agents.c.key == _users.c.agent)
            .order_by(_users.c.name)
        )
        with self.gate.store.read() as session:
            self._require(session)
            rows = session.execute(statement if archived else statement.where(_users.c.archived_at.is_(None)))
            return [user_value(row) for row in rows]

    def archive(self, user: str, *, restore: bool = False) -> User:
        return self.gate.perform(self.actor, ArchiveUser(user=user, restore=restore))

    def set_role(self, user: str, role: MemberRole | str | None, *, tree: str | None = None) -> None:
        """Give a role on the grove or on one tree; None takes it away."""
        chosen = None if role is None else MemberRole(role)
        self.gate.perform(self.actor, SetRole(user=user, role=chosen, tree=tree))

    def roles(self, user: str) -> "list[Membership]":
        """A user's roles: on the grove, and on single trees."""
        trees = schema.trees
        with self.gate.store.read() as session:
            self._require(session)
            row = find_user(session, user)
            statement: Select[*tuple[Any, ...]] = (
                select(_memberships.c.role, trees.c.ulid)
                .outerjoin(trees, trees.c.key == _memberships.c.tree)
                .where(_memberships.c.user == row.key)
                .order_by(_memberships.c.tree)
            )
            return [
                Membership(user_id=row.ulid, tree_id=each.ulid, role=ROLE_RANKS[int(each.role)])
                for each in session.execute(statement)
            ]

    def issue(
        self, user: str, *, label: str = "", service: bool = False, expires_at: datetime | None = None
    ) -> tuple[str, Token]:
        """A new token for a user, to be shown once: only its hash is kept."""
        secret = new_token()
        made = self.gate.perform(
            self.actor,
            AddToken(
                user=user,
                digest=digest_of_token(secret),
                label=label,
                service=service,
                expires_at=expires_at,
            ),
        )
        return secret, made

    def tokens(self, user: str | None = None) -> "list[Token]":
        statement = select(_tokens, _users.c.ulid.label("user_id")).join(
            _users, _users.c.key == _tokens.c.user
        )
        with self.gate.store.read() as session:
            self._require(session)
            if user is not None:
                statement = statement.where(_tokens.c.user == find_user(session, user).key)
            rows = session.execute(statement.order_by(_tokens.c.key))
            return [token_value(row, row.user_id) for row in rows]

    def revoke(self, token: str) -> None:
        self.gate.perform(self.actor, RevokeToken(token=token))

    def _require(self, session: Session) -> None:
        require_permission(session, self.actor, Permission.LOOM_AWARE, "look")
        require_access(session, self.actor, MemberRole.OWNER)
