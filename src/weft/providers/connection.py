"""How a provider is reached: where, with which key, within which limits. Light: nothing is opened here."""

import re
import ssl
from dataclasses import dataclass, field

from weft.errors import ProviderError, Trouble
from weft.providers.endpoint import Endpoint, Resolver, resolve
from weft.providers.keys import Keys, own_host
from weft.providers.secret import Secret
from weft.providers.troubles import missing_key

__all__ = ["SILENCE", "Connection", "Limits"]

SILENCE = 300.0
"""Seconds that a model may think without a word if nobody says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How large a response may be, in bytes."""

    received: int = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How to reach a provider: where, with which key, within which limits. Tests give their own."""

    endpoint: Endpoint
    key_name: str
    key_needed: bool = True
    keys: Keys = field(default_factory=Keys)
    limits: Limits = field(default_factory=Limits)
    resolver: Resolver = resolve
    tls: ssl.SSLContext | None = None

    def key(self) -> Secret | None:
        host = self.endpoint.authority
        found = self.keys.find(self.key_name, host)
        if found is None:
            # An endpoint that may do without a key is not asked without the one that was set for it.
            others = self.keys.kept_hosts(self.key_name)
            if self.key_needed or (others and own_host(self.key_name) is None):
                raise missing_key(self.key_name, self.keys.variables(self.key_name), host, others)
        if found is not None and self.endpoint.tells_keys:
            raise ProviderError(
                Trouble.INVALID_REQUEST,
                f"the key for {self.key_name} would go to {self.endpoint.host} unencrypted: nothing was sent",
                hint="use https; on a network that is your own, set"
                f" WEFT_COMPATIBLE_{re.sub(r'[^A-Z0-9]', '_', self.key_name.upper())}_PRIVATE=1",
            )
        return found
