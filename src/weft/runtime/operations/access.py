"""Users, their roles, and the tokens that authenticate them. Owners manage them."""

import contextlib
import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, delete, or_, select, update

from weft.error_hints import Hint, HintKind
from weft.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    StorageError,
    UnauthenticatedError,
    UnavailableError,
)
from weft.ids import is_ulid
from weft.provenance.fingerprints import role_fingerprint, token_fingerprint, user_fingerprint
from weft.runtime.operations.agents import Managing, add_agent
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.grove_rows import require_free_name
from weft.runtime.operations.node_values import value_of
from weft.runtime.operations.permissions import (
    ROLE_RANKS,
    Actor,
    has_access,
    require_access,
    require_permission,
    trees_allowed,
)
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.lookup import find_agent, find_tree
from weft.store.session import Session
from weft.store.transaction import GROVE
from weft.tree.access import MemberRole, Membership, Token, User
from weft.tree.agent import AgentType, Configuration, Permission, check_agent
from weft.tree.content import check_text
from weft.tree.json_names import from_microseconds, to_microseconds

_agents, _users, _tokens, _memberships = schema.agents, schema.users, schema.tokens, schema.memberships
_USERS = select(_users, _agents.c.ulid.label("agent_id")).join(_agents, _agents.c.key == _users.c.agent)
_TOKENS = select(_tokens, _users.c.ulid.label("user_id")).join(_users, _users.c.key == _tokens.c.user)
_PREFIX = "weft_"
_USE_NOTED = 5 * 60 * 1_000_000
"""Microseconds: a use within five minutes of the last one is not written again."""
SESSION_LABEL = "browser"
"""Of tokens that were made by signing in."""


def _find_user(session: Session, reference: str) -> Any:
    """A user's row, by name or id."""
    text = check_text(reference, what="user", limit=300).strip()
    chosen = _users.c.ulid == text.upper() if is_ulid(text.upper()) else _users.c.name == text
    row = session.execute(_USERS.where(chosen)).one_or_none()
    if row is None:
        raise NotFoundError(f"no user {text[:60]!r}", hint=Hint(HintKind.LIST_USERS))
    return row


class AddUser(Managing, verb="add a user"):
    """Add a user with a role on the grove; without a role, the user gets in only where a tree gives one.

    A user acts through an agent: the one named, or a new human one of the same name.
    """

    name: str
    role: MemberRole | None = None
    agent: str | None = None

    def apply(self, scope: Scope) -> User:
        self.open_grove(scope)
        transaction = scope.transaction
        name = check_text(self.name, what="name", limit=200).strip()
        if not name or any(character.isspace() and character != " " for character in name):
            raise InvalidInputError(f"{self.name!r} is not a name", hint="a name is one line of visible text")
        require_free_name(scope, _users, name)
        if self.agent is not None:
            agent = transaction.agent(find_agent(transaction, self.agent))
        else:
            check_agent(name, AgentType.HUMAN, None, Configuration())
            require_free_name(scope, _agents, name)
            agent = add_agent(scope, name, AgentType.HUMAN)
        ulid = scope.new_ulid()
        row = {"ulid": ulid, "name": name, "agent": agent.key, "created_at": scope.now, "archived_at": None}
        key = transaction.insert(_users, row)
        scope.add_fingerprint(user_fingerprint(row, agent.ulid))
        if self.role is not None:
            _put_role(scope, GROVE, None, (key, ulid), self.role)
        scope.record(None, "user", {"user": ulid, "agent": agent.ulid, "role": self.role}, {})
        return value_of(User, _find_user(transaction, ulid))


def _put_role(
    scope: Scope, tree: int, tree_ulid: str | None, user: tuple[int, str], role: MemberRole | None
) -> None:
    """Give a user (key and id) a role on the grove or a tree; None removes it."""
    key, ulid = user
    rank = None if role is None else ROLE_RANKS.index(role)
    here = _memberships.c.user == key, _memberships.c.tree == tree
    scope.transaction.execute(delete(_memberships).where(*here))
    if rank is not None:
        scope.transaction.add(_memberships, {"tree": tree, "user": key, "role": rank})
    scope.add_fingerprint(role_fingerprint(ulid, tree_ulid, rank))


class ArchiveUser(Managing, verb="archive-user"):
    """Archive a user, or restore one. Tokens of an archived user are refused."""

    user: str
    restore: bool = False

    def apply(self, scope: Scope) -> User:
        self.open_grove(scope)
        row = _find_user(scope.transaction, self.user)
        if (row.archived_at is None) != self.restore:
            moment = None if self.restore else scope.now
            here = _users.c.key == row.key
            scope.transaction.execute(update(_users).where(here).values(archived_at=moment))
            scope.add_fingerprint(user_fingerprint({**row._asdict(), "archived_at": moment}, row.agent_id))
            kind = "restore-user" if self.restore else self.verb
            scope.record(None, kind, {"user": row.ulid}, {})
        return value_of(User, _find_user(scope.transaction, row.ulid))


class SetRole(Managing, verb="set-role"):
    """Give a user a role on the grove or on one tree; None takes it away."""

    user: str
    role: MemberRole | None
    tree: str | None = None

    def apply(self, scope: Scope) -> None:
        self.open_grove(scope)
        transaction, trees = scope.transaction, schema.trees
        row = _find_user(transaction, self.user)
        tree = GROVE if self.tree is None else find_tree(transaction, self.tree)
        ulid = transaction.execute(select(trees.c.ulid).where(trees.c.key == tree)).scalar_one_or_none()
        _put_role(scope, tree, ulid, (row.key, row.ulid), self.role)
        scope.record(None, self.verb, {"user": row.ulid, "role": self.role}, {})


class AddToken(Managing, verb="add-token"):
    """Store the hash of a token that authenticates a user; the token itself is not stored.

    A service token may act for any user whose id it names.
    """

    user: str
    digest: bytes
    label: str = ""
    service: bool = False
    expires_at: datetime | None = None

    def apply(self, scope: Scope) -> Token:
        self.open_grove(scope)
        user = _find_user(scope.transaction, self.user)
        if user.archived_at is not None:
            raise ConflictError(f"user {user.name!r} is archived", hint="restore the user first")
        row: dict[str, Any] = {
            "ulid": scope.new_ulid(),
            "user": user.key,
            "hash": self.digest,
            "label": check_text(self.label, what="label", limit=200),
            "service": self.service,
            "created_at": scope.now,
            "expires_at": None if self.expires_at is None else to_microseconds(self.expires_at),
            "revoked_at": None,
            "used_at": None,
        }
        scope.transaction.add(_tokens, row)
        scope.add_fingerprint(token_fingerprint(row, user.ulid))
        payload = {"token": row["ulid"], "user": user.ulid, "service": self.service}
        scope.record(None, self.verb, payload, {})
        return value_of(Token, _find_token(scope, row["ulid"]))


class RevokeToken(Managing, verb="revoke-token"):
    """Revoke a token for good."""

    token: str

    def apply(self, scope: Scope) -> None:
        self.open_grove(scope)
        row = _find_token(scope, check_text(self.token, what="token", limit=100).strip().upper())
        if row.revoked_at is None:
            here = _tokens.c.key == row.key
            scope.transaction.execute(update(_tokens).where(here).values(revoked_at=scope.now))
            scope.add_fingerprint(token_fingerprint({**row._asdict(), "revoked_at": scope.now}, row.user_id))
            scope.record(None, self.verb, {"token": row.ulid}, {})


def _find_token(scope: Scope, ulid: str) -> Any:
    row = scope.transaction.execute(_TOKENS.where(_tokens.c.ulid == ulid)).one_or_none()
    if row is None:
        raise NotFoundError(f"no token {ulid[:40]!r}", hint=Hint(HintKind.LIST_TOKENS))
    return row


def new_token() -> str:
    """A random secret; its prefix says that it is a token of Weft."""
    return _PREFIX + secrets.token_urlsafe(32)


def digest_of_token(token: str) -> bytes:
    """What is stored of a token. It has 256 random bits, so one round of SHA-256 keeps it secret."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The user that a token authenticates."""

    actor: Actor
    name: str
    service: bool
    token_key: int
    token_id: str


def admit(executor: Executor, token: str) -> Admitted:
    """The user of a token; the error does not say why a token is refused. Its use is noted now and then."""
    statement = (
        select(
            _users.c.key,
            _users.c.agent,
            _users.c.name,
            _tokens.c.service,
            _tokens.c.key.label("token_key"),
            _tokens.c.ulid.label("token_id"),
            _tokens.c.used_at,
        )
        .join(_users, _users.c.key == _tokens.c.user)
        .where(
            _tokens.c.hash == digest_of_token(token),
            _tokens.c.revoked_at.is_(None),
            or_(_tokens.c.expires_at.is_(None), _tokens.c.expires_at > executor.clock()),
            _users.c.archived_at.is_(None),
        )
    )
    with executor.store.read() as session:
        row = session.execute(statement).one_or_none()
    if row is None:
        raise UnauthenticatedError("this token is not valid", hint=Hint(HintKind.NEW_TOKEN))
    now = executor.clock()
    if row.used_at is None or now - row.used_at > _USE_NOTED:
        _note_use(executor, row.token_key, now)
    return Admitted(
        actor=Actor(row.agent, row.key),
        name=row.name,
        service=bool(row.service),
        token_key=row.token_key,
        token_id=row.token_id,
    )


def _note_use(executor: Executor, token: int, now: int) -> None:
    """Bookkeeping, not history; a grove that cannot be written to just now can still be read."""
    statement = update(_tokens).where(_tokens.c.key == token).values(used_at=now)
    with contextlib.suppress(StorageError, UnavailableError):
        executor.store.write(lambda transaction: transaction.execute(statement))


def open_session(executor: Executor, admitted: Admitted, *, days: int) -> str:
    """A token for a browser in which a user signs in with another token; it is shown once."""
    end = from_microseconds(executor.clock()) + timedelta(days=days)
    # The user's own agent acts, without the roles of a user: signing in needs none.
    users = Users(executor, Actor(admitted.actor.agent))
    return users.issue(admitted.name, label=SESSION_LABEL, service=admitted.service, expires_at=end)[0]


def end_session(executor: Executor, admitted: Admitted) -> None:
    """Revoke the token that a browser was given."""
    executor.perform(Actor(admitted.actor.agent), RevokeToken(token=admitted.token_id))


@dataclass(frozen=True, slots=True)
class Users:
    """The grove's users: owners manage them; others see those with whom they share a tree."""

    executor: Executor
    actor: Actor

    def add(
        self, name: str, *, role: MemberRole | str | None = MemberRole.READER, agent: str | None = None
    ) -> User:
        """Add a user: a reader of the whole grove by default; with role None, of nothing yet."""
        chosen = None if role is None else MemberRole(role)
        return self.executor.perform(self.actor, AddUser(name=name, role=chosen, agent=agent))

    def list(self, *, archived: bool = False) -> list[User]:
        """All of them for an owner; else those who may read a tree that this user may read."""
        statement = _USERS.order_by(_users.c.name)
        if not archived:
            statement = statement.where(_users.c.archived_at.is_(None))
        with self.executor.store.read() as session:
            require_permission(session, self.actor, Permission.LOOM_AWARE, "look")
            if not has_access(session, self.actor, MemberRole.OWNER):
                statement = statement.where(self._companions(session))
            return [value_of(User, row) for row in session.execute(statement)]

    def _companions(self, session: Session) -> ColumnElement[bool]:
        """Users with a role on a tree that every user in the chain may read, and these users themselves."""
        own = [link.user for link in self.actor.chain() if link.user is not None]
        trees = trees_allowed(session, self.actor)
        if trees == set():
            return _users.c.key.in_(own)
        there = select(_memberships.c.user)
        if trees is not None:
            there = there.where(session.dialect.among(_memberships.c.tree, [GROVE, *sorted(trees)]))
        return or_(_users.c.key.in_(own), _users.c.key.in_(there))

    def archive(self, user: str, *, restore: bool = False) -> User:
        return self.executor.perform(self.actor, ArchiveUser(user=user, restore=restore))

    def set_role(self, user: str, role: MemberRole | str | None, *, tree: str | None = None) -> None:
        """Give a role on the grove or on one tree; None takes it away."""
        chosen = None if role is None else MemberRole(role)
        self.executor.perform(self.actor, SetRole(user=user, role=chosen, tree=tree))

    def roles(self, user: str) -> "list[Membership]":
        """A user's roles: on the grove, and on single trees."""
        trees = schema.trees
        with self.executor.store.read() as session:
            self._require(session)
            row = _find_user(session, user)
            held = session.execute(
                select(_memberships.c.role, trees.c.ulid)
                .outerjoin(trees, trees.c.key == _memberships.c.tree)
                .where(_memberships.c.user == row.key)
                .order_by(_memberships.c.tree)
            )
            return [
                Membership(user_id=row.ulid, tree_id=each.ulid, role=ROLE_RANKS[int(each.role)])
                for each in held
            ]

    def issue(
        self, user: str, *, label: str = "", service: bool = False, expires_at: datetime | None = None
    ) -> tuple[str, Token]:
        """A new token for a user, to be shown once: only its hash is stored."""
        secret = new_token()
        operation = AddToken(
            user=user, digest=digest_of_token(secret), label=label, service=service, expires_at=expires_at
        )
        return secret, self.executor.perform(self.actor, operation)

    def tokens(self, user: str | None = None) -> "list[Token]":
        statement = _TOKENS.order_by(_tokens.c.key)
        with self.executor.store.read() as session:
            self._require(session)
            if user is not None:
                statement = statement.where(_tokens.c.user == _find_user(session, user).key)
            return [value_of(Token, row) for row in session.execute(statement)]

    def revoke(self, token: str) -> None:
        self.executor.perform(self.actor, RevokeToken(token=token))

    def _require(self, session: Session) -> None:
        require_permission(session, self.actor, Permission.LOOM_AWARE, "look")
        require_access(session, self.actor, MemberRole.OWNER)
