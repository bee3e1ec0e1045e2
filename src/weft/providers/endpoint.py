"""Where a provider is reached: an address its owner set, resolved once, and nowhere else."""

import asyncio
import ipaddress
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

from weft.errors import InvalidInputError, ProviderError, Trouble

__all__ = ["OFFLINE", "Endpoint", "Resolver", "check_name", "checked_addresses", "resolve"]

OFFLINE = "WEFT_OFFLINE"
"""Set to anything, this variable keeps every request on the machine; tests set it."""

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
_PORTS = {"http": 80, "https": 443}
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A base URL, and whether its owner meant a machine on the own network by it."""

    url: str
    private: bool = False
    """Names may lead to private addresses. Literal ones and `localhost` say so themselves."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise InvalidInputError(f"{self.url!r} is not an http or https address")
        if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
            raise InvalidInputError(
                f"the address of {parts.hostname} may hold no name, password, query or fragment",
                hint="keep keys in the environment or in `weft keys`",
            )
        _port(self.url)

    @property
    def host(self) -> str:
        return (urlsplit(self.url).hostname or "").rstrip(".")

    @property
    def scheme(self) -> str:
        return urlsplit(self.url).scheme

    @property
    def port(self) -> int:
        return _port(self.url)

    @property
    def origin(self) -> tuple[str, str, int]:
        return (self.scheme, self.host, self.port)

    @property
    def literal(self) -> Address | None:
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None

    @property
    def may_be_private(self) -> bool:
        named = self.host == "localhost" or self.host.endswith(".localhost")
        return self.private or named or self.literal is not None


def _port(url: str) -> int:
    parts = urlsplit(url)
    try:
        return parts.port or _PORTS[parts.scheme]
    except ValueError:
        raise InvalidInputError(f"{url!r} has no possible port") from None


async def resolve(host: str, port: int) -> Sequence[str]:
    """Ask the system for a name's addresses."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def check_name(endpoint: Endpoint) -> None:
    """Refuse to look a name up where nothing may leave the machine: the question would."""
    if os.environ.get(OFFLINE) and not endpoint.may_be_private:
        raise _refused(endpoint, f"is outside, and {OFFLINE} is set", trouble=Trouble.NETWORK)


def checked_addresses(endpoint: Endpoint, addresses: Sequence[str]) -> tuple[str, ...]:
    """The addresses that may be connected to; a forbidden one among them forbids all.

    A name that leads to the machine itself, its network or its cloud's metadata without the
    owner having said so is how a request is forged.
    """
    if not addresses:
        raise ProviderError(Trouble.NETWORK, f"{endpoint.host} has no address")
    for address in addresses:
        _check(endpoint, _unwrapped(ipaddress.ip_address(address.partition("%")[0])))
    return tuple(addresses)


def _check(endpoint: Endpoint, address: Address) -> None:
    if address.is_link_local or address.is_multicast or address.is_unspecified:
        raise _refused(endpoint, f"leads to {address}, where no model is")
    inside = address.is_loopback or not address.is_global
    if inside and not endpoint.may_be_private:
        raise _refused(
            endpoint,
            f"leads to {address}, on the own network",
            hint="if that is meant, set `private` for this endpoint, or write the address itself",
        )
    if not inside and endpoint.scheme == "http":
        raise _refused(endpoint, "is outside and not encrypted", hint="use https")
    if os.environ.get(OFFLINE) and not address.is_loopback:
        raise _refused(endpoint, f"is outside, and {OFFLINE} is set", trouble=Trouble.NETWORK)


def _unwrapped(address: Address) -> Address:
    """The IPv4 address that an IPv6 one stands for, in any of the usual disguises."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else address)


def _refused(
    endpoint: Endpoint, why: str, *, hint: str | None = None, trouble: Trouble = Trouble.INVALID_REQUEST
) -> ProviderError:
    return ProviderError(trouble, f"{endpoint.host} {why}: nothing was sent", hint=hint)
