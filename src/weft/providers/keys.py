"""Keys of providers: from the environment, else from the system keyring, else from a file only its owner reads.

A key is bound to a host. Keys of known vendors belong to the vendor's own host, stored keys to the host that
they were set for; no other address receives them.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol, cast

from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, NotFoundError, ProviderError, StorageError, Trouble, WeftError
from weft.providers.endpoint import Endpoint
from weft.providers.private_file import damaged, read_private, write_private
from weft.redaction import protect_secret


class Secret:
    """A key. Only `reveal` gives it; its representation and its pickle do not."""

    __slots__ = ("__weakref__", "_value")

    def __init__(self, value: str) -> None:
        self._value = value
        protect_secret(self)

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "<Secret>"

    def __reduce__(self) -> str:
        raise TypeError("a key is not pickled")


_SERVICE = "weft"
_INDEX = "weft-key-names"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")
_PREFIX = "WEFT_KEY_"
_FOR = "_FOR"
"""After the variable of a key: the host that the key is for."""
_KEY_LIMIT = 4_096
_A_KEY = "a key is one line of letters, digits and signs"

VARIABLES: dict[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "google": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "hyperbolic": ("HYPERBOLIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
}
"""Where providers' own tools look for a key. For others it is `WEFT_KEY_` and the name."""
ADDRESSES: dict[str, str] = {
    "anthropic": "https://api.anthropic.com",
    "brave": "https://api.search.brave.com",
    "google": "https://generativelanguage.googleapis.com",
    "hyperbolic": "https://api.hyperbolic.xyz/v1",
    "openai": "https://api.openai.com/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "tavily": "https://api.tavily.com",
}
"""The vendors' own addresses: their keys go there."""


class KeyPlace(StrEnum):
    ENVIRONMENT = "environment"
    KEYRING = "keyring"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundKey:
    """A key's name, place and host; not the key itself."""

    name: str
    place: KeyPlace
    where: str
    """The variable, `keyring`, or the file."""
    host: str | None = None
    """The host that it is for; None: the address that its endpoint has in the same environment."""


class Ring(Protocol):
    """A system keyring."""

    def get_password(self, service: str, username: str) -> str | None: ...
    def set_password(self, service: str, username: str, password: str) -> None: ...
    def delete_password(self, service: str, username: str) -> None: ...


def system_ring() -> Ring | None:
    """The system keyring, or None if there is none."""
    try:
        import keyring  # noqa: PLC0415 - looks for backends as it is imported
        from keyring.backends import fail, null  # noqa: PLC0415

        backend = keyring.get_keyring()
    except Exception:  # noqa: BLE001 - a broken keyring counts as none: the file is used
        return None
    return None if isinstance(backend, fail.Keyring | null.Keyring) else cast("Ring", backend)


def default_file() -> Path:
    given = os.environ.get("WEFT_KEYS")
    if given:
        return Path(given)
    import platformdirs  # noqa: PLC0415 - not needed where a key is in the environment

    return Path(platformdirs.user_config_dir("weft", appauthor=False)) / "keys.json"


@dataclass(slots=True)
class Keys:
    """All keys. Nothing here prints one."""

    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    ring: Callable[[], Ring | None] = field(default=system_ring, repr=False)
    file: Callable[[], Path] = field(default=default_file, repr=False)

    def variables(self, name: str) -> tuple[str, ...]:
        """Where in the environment a key of that name is looked for."""
        return (*VARIABLES.get(name, ()), variable_of(name))

    def find(self, name: str, host: str | None = None) -> Secret | None:
        """The key of that name for a host, by default the vendor's own, from the first place that has one.

        A value that cannot be a key is refused where it is read.
        """
        for place, value in self._places(name, host or own_host(name), self._read_file):
            if not _is_key(value):
                where = "the keyring" if place.place is KeyPlace.KEYRING else place.where
                raise ProviderError(
                    Trouble.AUTHENTICATION,
                    f"the value in {where} for {name} is not a valid key: nothing was sent",
                    hint=f"{_A_KEY}; set it again",
                )
            return Secret(value)
        return None

    def place(self, name: str, host: str | None = None) -> FoundKey | None:
        """Where the key of that name for a host comes from."""
        return next((key for key, _ in self._places(name, host or own_host(name), self._read_file)), None)

    def _places(
        self, name: str, host: str | None, stored: Callable[[], Mapping[str, str]]
    ) -> Iterator[tuple[FoundKey, str]]:
        """Every place with a key of that name for a host, and its value; each is looked at when it is asked for."""
        for variable in self.variables(name):
            bound = self._host(name, variable)
            if (value := self._variable(variable)) and bound in {None, host}:
                yield FoundKey(name=name, place=KeyPlace.ENVIRONMENT, where=variable, host=bound), value
        entry = _entry(name, host)
        if value := (self._from_ring(entry) or "").strip():
            yield FoundKey(name=name, place=KeyPlace.KEYRING, where="keyring", host=host), value
        if value := stored().get(entry, "").strip():
            yield FoundKey(name=name, place=KeyPlace.FILE, where=str(self.file()), host=host), value

    def _variable(self, variable: str) -> str:
        return self.environment.get(variable, "").strip()

    def _host(self, name: str, variable: str) -> str | None:
        """The host that a variable's key is for."""
        chosen = self._variable(variable + _FOR) if variable.startswith(_PREFIX) else ""
        return host_of(chosen) if chosen else own_host(name)

    def kept_hosts(self, name: str) -> list[str]:
        """The hosts that a key of that name is stored for, in the keyring or the file."""
        entries = {*self._ring_entries(), *self._read_file()}
        return sorted(host for each in entries if (split := _split(each))[0] == name and (host := split[1]))

    def names(self) -> list[FoundKey]:
        """Every key there is, by name and host.

        Where the file cannot be read, those that are elsewhere; `problem` says why.
        """
        stored: Mapping[str, str] = {}
        with suppress(StorageError):
            stored = self._read_file()
        known = {(name, own_host(name)) for name in VARIABLES}
        known.update(_split(each) for each in (*self._ring_entries(), *stored))
        for variable in self.environment:
            name = variable.removeprefix(_PREFIX).lower()
            if variable.startswith(_PREFIX) and not variable.endswith(_FOR) and _NAME.match(name):
                known.add((name, self._host(name, variable)))
        by_name = sorted(known, key=lambda each: (each[0], each[1] or ""))
        places = (next(self._places(name, host, lambda: stored), None) for name, host in by_name)
        return [place[0] for place in places if place is not None]

    @property
    def problem(self) -> WeftError | None:
        """Why the key file cannot be read, or None."""
        try:
            self._read_file()
        except StorageError as error:
            return error
        return None

    def set(self, name: str, value: str, host: str | None = None) -> FoundKey:
        """Keep a key for a host, by default the vendor's own: in the keyring, or else in the file."""
        check_key_name(name)
        host = host or own_host(name)
        if host is None:
            raise InvalidInputError(f"a key for {name} needs a host")
        value = value.strip()
        if not _is_key(value):
            raise InvalidInputError("not a valid key", hint=_A_KEY)
        ring, entry = self.ring(), _entry(name, host)
        if ring is not None and self._into_ring(ring, entry, value):
            return FoundKey(name=name, place=KeyPlace.KEYRING, where="keyring", host=host)
        self._write_file({**self._read_file(), entry: value})
        return FoundKey(name=name, place=KeyPlace.FILE, where=str(self.file()), host=host)

    def delete(self, name: str, host: str | None = None) -> None:
        """Forget the keys of that name that are stored, or the one for a host; the environment stays."""
        check_key_name(name)
        stored = self._read_file()
        entries = [
            each
            for each in {*self._ring_entries(), *stored}
            if _split(each)[0] == name and host in {None, _split(each)[1]}
        ]
        if not entries:
            raise NotFoundError(f"no stored key for {name!r}", hint=Hint(HintKind.LIST_KEYS))
        for entry in entries:
            self._out_of_ring(entry)
        if not stored.keys().isdisjoint(entries):
            self._write_file({each: value for each, value in stored.items() if each not in entries})

    def _from_ring(self, entry: str) -> str | None:
        ring = self.ring()
        if ring is None:
            return None
        try:
            return ring.get_password(_SERVICE, entry)
        except Exception:  # noqa: BLE001 - a locked keyring has no key for us
            return None

    def _into_ring(self, ring: Ring, entry: str, value: str) -> bool:
        try:
            ring.set_password(_SERVICE, entry, value)
            entries = sorted({*self._ring_entries(), entry})
            ring.set_password(_SERVICE, _INDEX, json.dumps(entries))
        except Exception:  # noqa: BLE001 - a locked keyring cannot be written: the file is used
            return False
        return True

    def _out_of_ring(self, entry: str) -> None:
        ring = self.ring()
        if ring is not None and self._from_ring(entry):
            ring.delete_password(_SERVICE, entry)
            left = [each for each in self._ring_entries() if each != entry]
            ring.set_password(_SERVICE, _INDEX, json.dumps(left))

    def _ring_entries(self) -> list[str]:
        try:
            entries = json.loads(self._from_ring(_INDEX) or "[]")
        except ValueError:
            return []
        return [str(each) for each in entries if _NAME.match(_split(str(each))[0])]

    def _read_file(self) -> dict[str, str]:
        stored = read_private(self.file(), "key")
        if not all(isinstance(value, str) for value in stored.values()):
            raise damaged(self.file(), "key")
        return stored

    def _write_file(self, stored: Mapping[str, str]) -> None:
        write_private(self.file(), stored, "key")


def own_host(name: str) -> str | None:
    """The vendor's own host, where the name is a vendor's."""
    return Endpoint(ADDRESSES[name]).authority if name in ADDRESSES else None


def host_of(text: str) -> str:
    """The host of an address, or of a host that is written alone, with its port if it is not the usual one."""
    return Endpoint(text if "://" in text else f"https://{text}").authority


def variable_of(name: str) -> str:
    """The variable of a key of that name."""
    return _PREFIX + re.sub(r"[^A-Z0-9]", "_", check_key_name(name).upper())


def _entry(name: str, host: str | None) -> str:
    """The name of a stored key; a vendor's own host is left out."""
    return name if host == own_host(name) else f"{name}@{host}"


def _split(entry: str) -> tuple[str, str | None]:
    name, _, host = entry.partition("@")
    return name, host or own_host(name)


def check_key_name(name: str) -> str:
    if not _NAME.match(name):
        raise InvalidInputError(
            f"{name!r} is not a valid key name", hint="use a provider's, such as anthropic"
        )
    return name


def _is_key(value: str) -> bool:
    """True if the value can be sent in a header."""
    return 0 < len(value) <= _KEY_LIMIT and value.isascii() and value.isprintable() and " " not in value
