"""The address of a provider, as its owner set it; checked and resolved once."""

import asyncio
import ipaddress
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, ProviderError, Trouble

OFFLINE = "WEFT_OFFLINE"
"""If this variable is set, no request leaves the machine; tests set it."""

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
_PORTS = {"http": 80, "https": 443}
_PRIVATE_NAMES = (".local", ".lan", ".internal", ".home.arpa")
"""Endings of names on one's own network."""
_WRAPPING = tuple(ipaddress.IPv6Network(each) for each in ("64:ff9b::/96", "::/96"))
"""Networks whose last four bytes are an IPv4 address: translated and IPv4-compatible ones."""
# Written out, because `is_global` differs between versions of Python.
_REFUSED = tuple(
    ipaddress.ip_network(each)
    for each in (
        "0.0.0.0/8",
        "100.100.100.200/32",
        "169.254.0.0/16",
        "192.0.0.192/32",
        "224.0.0.0/4",
        "255.255.255.255/32",
        "::/128",
        "fd00:ec2::254/128",
        "fe80::/10",
        "ff00::/8",
    )
)
"""Refused for every endpoint: cloud metadata, link-local, multicast, unspecified."""
_PRIVATE = tuple(
    ipaddress.ip_network(each)
    for each in (
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "240.0.0.0/4",
        "2001::/23",
        "2001:db8::/32",
        "3fff::/20",
    )
)
_PUBLIC_IPV6 = ipaddress.IPv6Network("2000::/3")
"""The public part of IPv6; `_PRIVATE` has the exceptions."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A base URL, and whether it may be on the owner's own network."""

    url: str
    private: bool = False
    """The owner allows private addresses, and keys without encryption.

    Literal addresses, names without a dot and those like `box.local` say the first of it themselves.
    """
    public: bool = False
    """Only public addresses, also where the name says otherwise: the address is not the owner's own."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise InvalidInputError(f"{self.url!r} is not an http or https address")
        if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
            raise InvalidInputError(
                f"the address of {parts.hostname} must not have a user name, password, query or fragment",
                hint=Hint(HintKind.KEEP_KEYS),
            )
        _port(self.url)

    @property
    def host(self) -> str:
        return (urlsplit(self.url).hostname or "").rstrip(".")

    @property
    def authority(self) -> str:
        """The host, with its port if it is not the usual one: what a key is bound to."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

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
        named = "." not in self.host or self.host.endswith(_PRIVATE_NAMES)
        own = self.private or named or self.is_here or self.literal is not None
        return own and not self.public

    @property
    def is_here(self) -> bool:
        """True for this machine, by name or by address."""
        literal = self.literal
        if literal is not None:
            return _unwrapped(literal).is_loopback
        return self.host == "localhost" or self.host.endswith(".localhost")

    @property
    def exposes_keys(self) -> bool:
        """True if a key would be sent over the network without encryption."""
        return self.scheme == "http" and not self.is_here and not self.private


def _port(url: str) -> int:
    parts = urlsplit(url)
    try:
        return parts.port or _PORTS[parts.scheme]
    except ValueError:
        raise InvalidInputError(f"{url!r} has an invalid port") from None


async def resolve(host: str, port: int) -> Sequence[str]:
    """Resolve a name with the system's resolver."""
    loop = asyncio.get_running_loop()
    entries = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


def check_name(endpoint: Endpoint) -> None:
    """Refuse to resolve a name in offline mode: the query would leave the machine."""
    if os.environ.get(OFFLINE) and not (endpoint.private or endpoint.is_here):
        raise _refused(endpoint, f"is not on this machine, and {OFFLINE} is set")


def checked_addresses(endpoint: Endpoint, addresses: Sequence[str]) -> tuple[str, ...]:
    """The addresses, if all of them are allowed.

    A name that leads to the machine itself, its network or its cloud's metadata that its
    owner did not allow is how a request is forged.
    """
    if not addresses:
        raise ProviderError(Trouble.NETWORK, f"{endpoint.host} has no address")
    for address in addresses:
        _check(endpoint, _unwrapped(ipaddress.ip_address(address.partition("%")[0])))
    return tuple(addresses)


def _check(endpoint: Endpoint, address: Address) -> None:
    if _within(address, _REFUSED):
        raise _refused(endpoint, f"resolves to {address}, which is never allowed")
    if endpoint.is_here and not address.is_loopback:
        raise _refused(endpoint, f"resolves to {address}, which is another machine")
    private = _is_private(address)
    if private and not endpoint.may_be_private:
        raise _refused(
            endpoint,
            f"resolves to {address}, a private address",
            hint="the owner of this machine can allow it: weft tools urls private"
            if endpoint.public
            else Hint(
                HintKind.SETUP,
                text="if that is meant, write the address itself, or set WEFT_COMPATIBLE_NAME_PRIVATE=1",
            ),
        )
    if not private and endpoint.scheme == "http":
        raise _refused(endpoint, "is public and not encrypted", hint="use https")
    if os.environ.get(OFFLINE) and not address.is_loopback:
        raise _refused(endpoint, f"is not on this machine, and {OFFLINE} is set")


def _within(address: Address, networks: Sequence[Network]) -> bool:
    return any(address.version == each.version and address in each for each in networks)


def _is_private(address: Address) -> bool:
    public = isinstance(address, ipaddress.IPv4Address) or address in _PUBLIC_IPV6
    return not public or _within(address, _PRIVATE)


def _unwrapped(address: Address) -> Address:
    """The IPv4 address inside an IPv6 one: mapped, translated, 6to4 or Teredo."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    # `::` and `::1` look like IPv4-compatible addresses, and are not.
    if int(address) > 1 and _within(address, _WRAPPING):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else address)


def _refused(endpoint: Endpoint, why: str, *, hint: str | None = None) -> ProviderError:
    """Not a network error: a retry would not help."""
    return ProviderError(Trouble.INVALID_REQUEST, f"{endpoint.host} {why}: nothing was sent", hint=hint)
