"""Timestamps: whom to ask, what to have certified, and what came back."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import orjson
from sqlalchemy import select, update

from weft.errors import ConflictError, InvalidInputError, NotFoundError
from weft.provenance.authority import Token, check_authority, load_anchors
from weft.provenance.facts import timestamp_fact
from weft.provenance.stamps import STAMP_STATES, StampStatus, heads_statement
from weft.runtime.operations.agents import require_person
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.scope import Scope
from weft.runtime.operations.settings import put_preferences
from weft.store import schema
from weft.store.jobs import TIMESTAMP_JOB, enqueue
from weft.store.session import Session
from weft.store.transaction import GROVE
from weft.tree.access import MemberRole
from weft.tree.wire import to_microseconds

__all__ = ["Authority", "Certify", "RequestTimestamp", "SetAuthorities", "authorities_of"]

_stamps = schema.timestamps
_PREFERENCE = "timestampAuthorities"
_AUTHORITY_LIMIT = 16


@dataclass(frozen=True, slots=True)
class Authority:
    """Who certifies times: its address, and the certificates its answers are checked against."""

    url: str
    certificates: str


def authorities_of(session: Session) -> list[Authority]:
    """Those the owner chose; none by default, so that nothing leaves the machine unasked."""
    preferences = orjson.loads(session.execute(select(schema.grove.c.preferences)).scalar_one())
    return [Authority(each["url"], each["certificates"]) for each in preferences.get(_PREFERENCE, ())]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAuthorities(Editing):
    """Choose the timestamp authorities, all of them at once."""

    verb: ClassVar[str] = "choose timestamp authorities"
    access: ClassVar[MemberRole] = MemberRole.OWNER
    authorities: Sequence[Authority]

    def apply(self, scope: Scope) -> None:
        require_person(scope)
        scope.open_grove()
        if len(self.authorities) > _AUTHORITY_LIMIT:
            raise InvalidInputError(f"a grove has at most {_AUTHORITY_LIMIT} authorities")
        for authority in self.authorities:
            check_authority(authority.url)
            load_anchors(authority.certificates.encode())
        kept = scope.transaction.execute(select(schema.grove.c.preferences)).scalar_one()
        preferences = orjson.loads(kept)
        listed = [{"url": each.url, "certificates": each.certificates} for each in self.authorities]
        if preferences.get(_PREFERENCE, []) == listed:
            return
        put_preferences(scope, {**preferences, _PREFERENCE: listed})
        scope.record(None, "prefer", {"authorities": len(listed)}, {})


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTimestamp(Editing):
    """Ask for a node's hash, or (without a node) the heads of all chains, to be certified.

    Only notes the wish: one for each authority. Asking them is done in the background.
    """

    verb: ClassVar[str] = "timestamp"
    tree: str | None = None
    node: str | None = None
    authorities: Sequence[str] = ()

    def apply(self, scope: Scope) -> list[str]:
        transaction = scope.transaction
        tree = None if self.tree is None else scope.open_tree(self.tree, archived=True)
        if tree is None:
            grove = scope.open_grove()
            transaction.flush()
            statement = heads_statement(transaction)
            target, digest = grove.ulid, hashlib.sha256(statement.encode()).digest()
        else:
            row = scope.node(tree, self.node or "")
            statement, target, digest = None, row.ulid, row.hash
        made: list[str] = []
        for url in self._chosen(transaction):
            stamp: dict[str, Any] = {
                "tree": GROVE if tree is None else tree.key,
                "ulid": scope.new_ulid(),
                "target": target,
                "statement": statement,
                "digest": digest,
                "authority": url,
                "status": STAMP_STATES.index(StampStatus.PENDING),
                "token": None,
                "certificates": None,
                "certified_at": None,
                "attempts": 0,
                "next_try": scope.now,
                "error": None,
                "created_at": scope.now,
            }
            transaction.add(_stamps, stamp)
            scope.note(timestamp_fact(stamp))
            made.append(stamp["ulid"])
        enqueue(transaction, TIMESTAMP_JOB, now=scope.now)
        scope.record(tree, self.verb, {"timestamps": made, "target": target}, {})
        return made

    def _chosen(self, session: Session) -> list[str]:
        known = [authority.url for authority in authorities_of(session)]
        if not known:
            raise InvalidInputError(
                "no timestamp authority is set: nothing leaves the machine unasked",
                hint="choose one: weft authority add URL --trust CERTIFICATES.pem",
            )
        for url in self.authorities:
            if url not in known:
                raise NotFoundError(
                    f"{url[:200]!r} is not one of the grove's authorities",
                    hint="weft authority shows them, weft authority add adds one",
                )
        return list(dict.fromkeys(self.authorities)) or known


@dataclass(frozen=True, slots=True, kw_only=True)
class Certify(Editing):
    """Keep what an authority answered. It was checked before."""

    verb: ClassVar[str] = "certify"
    tree: str | None
    stamp: str
    token: Token

    def apply(self, scope: Scope) -> None:
        transaction = scope.transaction
        tree = None if self.tree is None else scope.open_tree(self.tree, archived=True)
        if tree is None:
            scope.open_grove()
        mine = (_stamps.c.tree == (GROVE if tree is None else tree.key)) & (_stamps.c.ulid == self.stamp)
        row = transaction.execute(select(_stamps).where(mine)).mappings().one_or_none()
        if row is None:
            raise NotFoundError(f"no timestamp {self.stamp}")
        if row["token"] is not None:
            raise ConflictError("it is certified already")
        changes: dict[str, Any] = {
            "status": STAMP_STATES.index(StampStatus.CERTIFIED),
            "token": self.token.response,
            "certificates": self.token.certificates,
            "certified_at": to_microseconds(self.token.time),
            "next_try": None,
            "error": None,
        }
        transaction.execute(update(_stamps).where(mine).values(**changes))
        scope.note(timestamp_fact({**row, **changes}))
        scope.record(tree, self.verb, {"timestamp": self.stamp}, {})
