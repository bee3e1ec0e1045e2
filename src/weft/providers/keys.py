"""Keys of providers: from the environment, else from the system keyring, else from a file only its owner reads."""

import json
import os
import re
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol, cast

from weft.errors import InvalidInputError, NotFoundError, ProviderError, StorageError, Trouble, WeftError
from weft.providers.secret import Secret

__all__ = ["VARIABLES", "FoundKey", "KeyPlace", "Keys", "Ring"]

_SERVICE = "weft"
_INDEX = "weft-key-names"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")
_KEY_LIMIT = 4_096
_A_KEY = "a key is one line of letters, digits and signs"
_DAMAGED = "mend it or move it away, and set its keys again: weft keys set PROVIDER"

VARIABLES: dict[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "google": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "hyperbolic": ("HYPERBOLIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
}
"""Where providers' own tools look for a key. For others it is `WEFT_KEY_` and the name."""


class KeyPlace(StrEnum):
    ENVIRONMENT = "environment"
    KEYRING = "keyring"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundKey:
    """That there is a key, and where; not which."""

    name: str
    place: KeyPlace
    where: str
    """The variable, `keyring`, or the file."""


class Ring(Protocol):
    """A system keyring."""

    def get_password(self, service: str, username: str) -> str | None: ...
    def set_password(self, service: str, username: str, password: str) -> None: ...
    def delete_password(self, service: str, username: str) -> None: ...


def system_ring() -> Ring | None:
    """The keyring of this system, if it has one that keeps anything."""
    try:
        import keyring  # noqa: PLC0415 - looks for backends as it is imported
        from keyring.backends import fail, null  # noqa: PLC0415

        backend = keyring.get_keyring()
    except Exception:  # noqa: BLE001 - a broken keyring is no keyring: the file takes its place
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
    """Everything that is known of keys. Nothing here prints one."""

    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    ring: Callable[[], Ring | None] = field(default=system_ring, repr=False)
    file: Callable[[], Path] = field(default=default_file, repr=False)

    def variables(self, name: str) -> tuple[str, ...]:
        """Where in the environment a key of that name is looked for."""
        own = "WEFT_KEY_" + re.sub(r"[^A-Z0-9]", "_", _checked(name).upper())
        return (*VARIABLES.get(name, ()), own)

    def find(self, name: str) -> Secret | None:
        """The key of that name, from the first place that has one; what cannot be a key is refused there."""
        for variable in self.variables(name):
            if value := self.environment.get(variable, "").strip():
                return _found(value, name, variable)
        if value := (self._from_ring(name) or "").strip():
            return _found(value, name, "the keyring")
        if value := self._read_file().get(name, "").strip():
            return _found(value, name, str(self.file()))
        return None

    def place(self, name: str) -> FoundKey | None:
        """Where the key of that name comes from."""
        return self._place(name, self._read_file)

    def _place(self, name: str, kept: Callable[[], Mapping[str, str]]) -> FoundKey | None:
        for variable in self.variables(name):
            if self.environment.get(variable, "").strip():
                return FoundKey(name=name, place=KeyPlace.ENVIRONMENT, where=variable)
        if self._from_ring(name):
            return FoundKey(name=name, place=KeyPlace.KEYRING, where="keyring")
        if name in kept():
            return FoundKey(name=name, place=KeyPlace.FILE, where=str(self.file()))
        return None

    def names(self) -> list[FoundKey]:
        """Every key there is, by name; a name that was never heard of but in the keyring too.

        Where the file cannot be read, those that are elsewhere; `problem` says why.
        """
        kept: Mapping[str, str] = {}
        with suppress(StorageError):
            kept = self._read_file()
        known = {*VARIABLES, *self._ring_names(), *kept}
        own = [name[9:].lower() for name in self.environment if name.startswith("WEFT_KEY_")]
        known.update(name for name in own if _NAME.match(name))
        return [found for name in sorted(known) if (found := self._place(name, lambda: kept)) is not None]

    @property
    def problem(self) -> WeftError | None:
        """Why the file's keys cannot be used, where they cannot."""
        try:
            self._read_file()
        except StorageError as error:
            return error
        return None

    def set(self, name: str, value: str) -> FoundKey:
        """Keep a key: in the keyring, or in the file where there is no keyring."""
        _checked(name)
        value = value.strip()
        if not _is_key(value):
            raise InvalidInputError("that is not a key", hint=_A_KEY)
        ring = self.ring()
        if ring is not None and self._into_ring(ring, name, value):
            return FoundKey(name=name, place=KeyPlace.KEYRING, where="keyring")
        self._write_file({**self._read_file(), name: value})
        return FoundKey(name=name, place=KeyPlace.FILE, where=str(self.file()))

    def delete(self, name: str) -> None:
        """Forget a key that is kept; one in the environment is not ours to forget."""
        _checked(name)
        gone = self._out_of_ring(name)
        kept = self._read_file()
        if name in kept:
            self._write_file({each: value for each, value in kept.items() if each != name})
            gone = True
        if not gone:
            raise NotFoundError(f"no key is kept for {name!r}", hint="`weft keys` lists those there are")

    def _from_ring(self, name: str) -> str | None:
        ring = self.ring()
        if ring is None:
            return None
        try:
            return ring.get_password(_SERVICE, name)
        except Exception:  # noqa: BLE001 - a locked keyring has no key for us
            return None

    def _into_ring(self, ring: Ring, name: str, value: str) -> bool:
        try:
            ring.set_password(_SERVICE, name, value)
            names = sorted({*self._ring_names(), name})
            ring.set_password(_SERVICE, _INDEX, json.dumps(names))
        except Exception:  # noqa: BLE001 - a locked keyring takes nothing: the file does
            return False
        return True

    def _out_of_ring(self, name: str) -> bool:
        ring = self.ring()
        if ring is None or not self._from_ring(name):
            return False
        ring.delete_password(_SERVICE, name)
        ring.set_password(_SERVICE, _INDEX, json.dumps([each for each in self._ring_names() if each != name]))
        return True

    def _ring_names(self) -> list[str]:
        try:
            names = json.loads(self._from_ring(_INDEX) or "[]")
        except ValueError:
            return []
        return [str(name) for name in names if _NAME.match(str(name))]

    def _read_file(self) -> dict[str, str]:
        path = self.file()
        try:
            found = path.stat()
            if os.name == "posix" and stat.S_IMODE(found.st_mode) & 0o077:
                raise StorageError(f"others may read {path}", hint=f"chmod 600 {path}")
            kept = json.loads(path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            # The text of a damaged file may hold a key: its error must not be told.
            raise StorageError(f"{path} cannot be read ({type(error).__name__})", hint=_DAMAGED) from None
        if not isinstance(kept, dict) or not all(
            isinstance(value, str) for value in cast("dict[str, object]", kept).values()
        ):
            raise StorageError(f"{path} is not a file of keys", hint=_DAMAGED)
        return cast("dict[str, str]", kept)

    def _write_file(self, kept: Mapping[str, str]) -> None:
        path = self.file()
        beside = path.with_name(f"{path.name}.{os.getpid()}.new")
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as out:
                out.write(json.dumps(dict(sorted(kept.items())), indent=1).encode() + b"\n")
                out.flush()
                os.fsync(out.fileno())
            beside.replace(path)
        except OSError as error:
            with suppress(OSError):
                beside.unlink()
            raise StorageError(f"the key could not be kept in {path}: {error.strerror}") from None


def _checked(name: str) -> str:
    if not _NAME.match(name):
        raise InvalidInputError(
            f"{name!r} is not the name of a key", hint="use a provider's, such as anthropic"
        )
    return name


def _is_key(value: str) -> bool:
    """Whether it could stand in a header, and so be one."""
    return 0 < len(value) <= _KEY_LIMIT and value.isascii() and value.isprintable() and " " not in value


def _found(value: str, name: str, where: str) -> Secret:
    if not _is_key(value):
        raise ProviderError(
            Trouble.AUTHENTICATION,
            f"what {where} holds for {name} is not a key: nothing was sent",
            hint=f"{_A_KEY}; set it again",
        )
    return Secret(value)
