"""What the proxy does with the requests of a token: record, record or refuse, or fit."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import select

from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, NotFoundError
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.scope import Scope
from weft.runtime.operations.settings import ChangeSettings, load_settings
from weft.store import schema
from weft.store.session import Session
from weft.tree.access import MemberRole
from weft.tree.json import JsonValue

POLICIES = "proxyPolicies"
"""The grove setting with the policies, by the id of the token; `owner` is the server's own."""
OWNER = "owner"
_LEAST_WINDOW = 1_000


class ProxyMode(StrEnum):
    RECORD = "record"
    """Forwarded unchanged, and recorded afterwards."""
    STRICT = "strict"
    """Not forwarded unless it was recorded."""
    FIT = "fit"
    """Repaired, fitted to the window and laid out for the provider's cache."""


@dataclass(frozen=True, slots=True)
class TokenPolicy:
    """The policy of one token."""

    mode: ProxyMode = ProxyMode.RECORD
    window: int | None = None
    """Tokens that a fitted request may have; None: what the model takes."""


def policy_of(session: Session, token: str) -> TokenPolicy:
    """The policy of a token, by its id."""
    return _read(load_settings(session).get(POLICIES, {}).get(token, {}))


def _read(stored: Mapping[str, Any]) -> TokenPolicy:
    return TokenPolicy(ProxyMode(stored.get("mode", ProxyMode.RECORD)), stored.get("window"))


def policies(session: Session) -> dict[str, TokenPolicy]:
    """All that were set, by the id of the token."""
    stored: Mapping[str, Mapping[str, Any]] = load_settings(session).get(POLICIES, {})
    return {token: _read(each) for token, each in stored.items()}


def mode_named(name: str) -> ProxyMode:
    try:
        return ProxyMode(name)
    except ValueError:
        raise InvalidInputError(
            f"{name!r} is not a policy", hint=f"use {', '.join(ProxyMode)}", path="policy"
        ) from None


class SetProxyPolicy(Editing, verb="set preferences", access=MemberRole.OWNER):
    """Set what the proxy does with a token's requests: record, strict or fit."""

    token: str
    """The token's id, or `owner`."""
    policy: str
    window: int | None = None

    def __post_init__(self) -> None:
        mode_named(self.policy)
        if self.window is not None and self.window < _LEAST_WINDOW:
            raise InvalidInputError(f"window must be at least {_LEAST_WINDOW:,} tokens", path="window")

    def apply(self, scope: Scope) -> TokenPolicy:
        # Before they are read: two who set policies at once would each put back what the other changed.
        scope.open_grove()
        token = self._token(scope)
        stored: dict[str, Any] = dict(load_settings(scope.transaction).get(POLICIES, {}))
        chosen: dict[str, JsonValue] = {"mode": self.policy}
        if self.window is not None:
            chosen["window"] = self.window
        stored[token] = chosen
        ChangeSettings(settings={POLICIES: stored}).apply(scope)
        return _read(chosen)

    def _token(self, scope: Scope) -> str:
        tokens = schema.tokens
        if self.token == OWNER:
            return OWNER
        there = select(tokens.c.ulid).where(tokens.c.ulid == self.token.strip().upper())
        ulid = scope.transaction.execute(there).scalar_one_or_none()
        if ulid is None:
            raise NotFoundError(f"no token {self.token[:40]!r}", hint=Hint(HintKind.LIST_TOKENS))
        return ulid
