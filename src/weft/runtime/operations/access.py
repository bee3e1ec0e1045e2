"""Who may enter: users, their roles, and the tokens that let them in. Owners decide."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import Select, delete, func, or_, select, update

from weft.error_hints import Hint, HintKind
from weft.errors import ConflictError, InvalidInputError, NotFoundError, UnauthenticatedError
from weft.ids import is_ulid
from weft.provenance.fingerprints import (
    agent_fingerprint,
    role_fingerprint,
    token_fingerprint,
    user_fingerprint,
)
from weft.runtime.operations.agents import require_free_name, require_person
from weft.runtime.operations.executor import Editing, Executor
from weft.runtime.operations.permissions import ROLE_RANKS, Actor, require_access, require_permission
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.lookup import find_agent, find_tree
from weft.store.rows import AGENT_TYPES, permission_bits
from weft.store.session import Session
from weft.store.transaction import GROVE
from weft.tree.access import MemberRole, Membership, Token, User
from weft.tree.agent import ALL_PERMISSIONS, AgentType, Configuration, Permission, check_agent
from weft.tree.content import check_text
from weft.tree.json_names import from_microseconds, to_microseconds

_users, _tokens, _memberships = schema.users, schema.tokens, schema.memberships


class _Letting(Editing):
    access: ClassVar[MemberRole] = MemberRole.OWNER


def find_user(session: Session, reference: str) -> Any:
    """A user's row, by name or id."""
    text = check_text(reference, what="user", limit=300).strip()
    columns = select(_users, schema.agents.c.ulid.label("agent_id")).join(
        schema.agents, schema.agents.c.key == _users.c.agent
    )
    chosen = _users.c.ulid == text.upper() if is_ulid(text.upper()) else _users.c.name == text
    row = session.execute(columns.where(chosen)).one_or_none()
    if row is None:
        raise NotFoundError(f"no user {text[:60]!r}", hint=Hint(HintKind.LIST_USERS))
    return row


def user_value(row: Any) -> User:
    return User(
        id=row.ulid,
        name=row.name,
        agent_id=row.agent_id,
        created_at=from_microseconds(row.created_at),
        archived_at=None if row.archived_at is None else from_microseconds(row.archived_at),
    )


def token_value(row: Any, user: str) -> Token:
    return Token(
        id=row.ulid,
        user_id=user,
        label=row.label,
        service=bool(row.service),
        created_at=from_microseconds(row.created_at),
        expires_at=None if row.expires_at is None else from_microseconds(row.expires_at),
        revoked_at=None if row.revoked_at is None else from_microseconds(row.revoked_at),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AddUser(_Letting):
    """Let somebody in, with a role on the grove; without one, only where a tree gives it.

    A user acts through an agent: the one named, or a new human one of the same name.
    """

    verb: ClassVar[str] = "add a user"
    name: str
    role: MemberRole | None = None
    agent: str | None = None

    def apply(self, scope: Scope) -> User:
        require_person(scope)
        scope.open_grove()
        transaction = scope.transaction
        name = check_text(self.name, what="name", limit=200).strip()
        if not name or any(character.isspace() and character != " " for character in name):
            raise InvalidInputError(f"{self.name!r} is not a name", hint="a name is one line of visible text")
        taken = select(_users.c.key).where(func.lower(_users.c.name) == name.lower())
        if transaction.execute(taken).first() is not None:
            raise ConflictError(f"there is a user {name!r}", hint="choose another name")
        agent = self._new_agent(scope, name) if self.agent is None else find_agent(transaction, self.agent)
        ulid = scope.new_ulid()
        row = {"ulid": ulid, "name": name, "agent": agent, "created_at": scope.now, "archived_at": None}
        key = transaction.insert(_users, row)
        if self.role is not None:
            rank = ROLE_RANKS.index(self.role)
            transaction.add(_memberships, {"tree": GROVE, "user": key, "role": rank})
            scope.add_fingerprint(role_fingerprint(ulid, None, rank))
        scope.add_fingerprint(user_fingerprint(row, transaction.agent(agent).ulid))
        role = None if self.role is None else self.role.value
        scope.record(None, "user", {"user": ulid, "agent": transaction.agent(agent).ulid, "role": role}, {})
        return user_value(find_user(transaction, ulid))

    def _new_agent(self, scope: Scope, name: str) -> int:
        check_agent(name, AgentType.HUMAN, None, Configuration())
        require_free_name(scope, name)
        key = scope.transaction.insert(
            schema.agents,
            {
                "ulid": scope.new_ulid(),
                "name": name,
                "type": AGENT_TYPES.index(AgentType.HUMAN),
                "model_ref": None,
                "configuration": "{}",
                "permissions": permission_bits(ALL_PERMISSIONS),
                "created_at": scope.now,
                "archived_at": None,
            },
        )
        scope.add_fingerprint(agent_fingerprint(scope.transaction.agent(key)._asdict()))
        return key


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveUser(_Letting):
    """Shut somebody out, or let them in again. Their tokens open nothing meanwhile."""

    verb: ClassVar[str] = "archive-user"
    user: str
    restore: bool = False

    def apply(self, scope: Scope) -> User:
        require_person(scope)
        scope.open_grove()
        row = find_user(scope.transaction, self.user)
        if (row.archived_at is None) != self.restore:
            moment = None if self.restore else scope.now
            scope.transaction.execute(
                update(_users).where(_users.c.key == row.key).values(archived_at=moment)
            )
            agent = scope.transaction.agent(row.agent).ulid
            scope.add_fingerprint(user_fingerprint({**row._asdict(), "archived_at": moment}, agent))
            kind = "restore-user" if self.restore else self.verb
            scope.record(None, kind, {"user": row.ulid}, {})
        return user_value(find_user(scope.transaction, row.ulid))


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRole(_Letting):
    """Give a user a role on the grove or on one tree; None takes it away."""

    verb: ClassVar[str] = "set-role"
    user: str
    role: MemberRole | None
    tree: str | None = None

    def apply(self, scope: Scope) -> None:
        require_person(scope)
        scope.open_grove()
        transaction = scope.transaction
        row = find_user(transaction, self.user)
        tree = GROVE if self.tree is None else find_tree(transaction, self.tree)
        here = _memberships.c.user == row.key, _memberships.c.tree == tree
        transaction.execute(delete(_memberships).where(*here))
        if self.role is not None:
            rank = ROLE_RANKS.index(self.role)
            transaction.add(_memberships, {"tree": tree, "user": row.key, "role": rank})
        ulid = (
            None
            if tree == GROVE
            else transaction.execute(
                select(schema.trees.c.ulid).where(schema.trees.c.key == tree)
            ).scalar_one()
        )
        scope.add_fingerprint(
            role_fingerprint(row.ulid, ulid, None if self.role is None else ROLE_RANKS.index(self.role))
        )
        told = {"user": row.ulid, "role": None if self.role is None else self.role.value}
        scope.record(None, self.verb, told, {})


@dataclass(frozen=True, slots=True, kw_only=True)
class AddToken(_Letting):
    """Keep the hash of a token that lets a user in. Who made the token shows it once, and forgets it.

    A service token may act for any user whose id it names.
    """

    verb: ClassVar[str] = "add-token"
    user: str
    digest: bytes
    label: str = ""
    service: bool = False
    expires_at: datetime | None = None

    def apply(self, scope: Scope) -> Token:
        require_person(scope)
        scope.open_grove()
        user = find_user(scope.transaction, self.user)
        if user.archived_at is not None:
            raise ConflictError(f"user {user.name!r} is archived", hint="restore the user first")
        label = check_text(self.label, what="label", limit=200)
        ulid = scope.new_ulid()
        row: dict[str, Any] = {
            "ulid": ulid,
            "user": user.key,
            "hash": self.digest,
            "label": label,
            "service": self.service,
            "created_at": scope.now,
            "expires_at": None if self.expires_at is None else to_microseconds(self.expires_at),
            "revoked_at": None,
        }
        scope.transaction.add(_tokens, row)
        scope.add_fingerprint(token_fingerprint(row, user.ulid))
        scope.record(None, self.verb, {"token": ulid, "user": user.ulid, "service": self.service}, {})
        found = scope.transaction.execute(select(_tokens).where(_tokens.c.ulid == ulid)).one()
        return token_value(found, user.ulid)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeToken(_Letting):
    """A token lets nobody in any more."""

    verb: ClassVar[str] = "revoke-token"
    token: str

    def apply(self, scope: Scope) -> None:
        require_person(scope)
        scope.open_grove()
        ulid = check_text(self.token, what="token", limit=100).strip().upper()
        owned = select(_tokens, _users.c.ulid.label("user_id")).join(_users, _users.c.key == _tokens.c.user)
        row: Any = scope.transaction.execute(owned.where(_tokens.c.ulid == ulid)).one_or_none()
        if row is None:
            raise NotFoundError(f"no token {ulid[:40]!r}", hint=Hint(HintKind.LIST_TOKENS))
        if row.revoked_at is None:
            here = _tokens.c.key == row.key
            scope.transaction.execute(update(_tokens).where(here).values(revoked_at=scope.now))
            scope.add_fingerprint(token_fingerprint({**row._asdict(), "revoked_at": scope.now}, row.user_id))
            scope.record(None, self.verb, {"token": ulid}, {})


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


def admit(executor: Executor, token: str) -> Admitted:
    """Who comes with this token; whoever cannot say is not told why."""
    now = executor.clock()
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
    with executor.store.read() as session:
        row = session.execute(statement).one_or_none()
    if row is None:
        raise UnauthenticatedError(_REFUSED, hint=Hint(HintKind.NEW_TOKEN))
    return Admitted(actor=Actor(row.agent, row.key), name=row.name, service=bool(row.service))


@dataclass(frozen=True, slots=True)
class Users:
    """People and programs that may enter, as an owner sees them."""

    executor: Executor
    actor: Actor

    def add(self, name: str, *, role: MemberRole | str | None = None, agent: str | None = None) -> User:
        """Let somebody in."""
        chosen = None if role is None else MemberRole(role)
        return self.executor.perform(self.actor, AddUser(name=name, role=chosen, agent=agent))

    def list(self, *, archived: bool = False) -> list[User]:
        agents = schema.agents
        statement = (
            select(_users, agents.c.ulid.label("agent_id"))
            .join(agents, agents.c.key == _users.c.agent)
            .order_by(_users.c.name)
        )
        with self.executor.store.read() as session:
            self._require(session)
            rows = session.execute(statement if archived else statement.where(_users.c.archived_at.is_(None)))
            return [user_value(row) for row in rows]

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
        made = self.executor.perform(
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
        with self.executor.store.read() as session:
            self._require(session)
            if user is not None:
                statement = statement.where(_tokens.c.user == find_user(session, user).key)
            rows = session.execute(statement.order_by(_tokens.c.key))
            return [token_value(row, row.user_id) for row in rows]

    def revoke(self, token: str) -> None:
        self.executor.perform(self.actor, RevokeToken(token=token))

    def _require(self, session: Session) -> None:
        require_permission(session, self.actor, Permission.LOOM_AWARE, "look")
        require_access(session, self.actor, MemberRole.OWNER)
