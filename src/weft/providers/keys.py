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

from weft.errors import InvalidInputError, NotFoundError, StorageError
from weft.providers.secret import Secret

__all__ = ["VARIABLES", "FoundKey", "KeyPlace", "Keys", "Ring"]

_SERVICE = "weft"
_INDEX = "weft-key-names"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")
_KEY_LIMIT = 4_096

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
        """The key of that name, from the first place that has one."""
        for variable in self.variables(name):
            if value := self.environment.get(variable, "").strip():
                return Secret(value)
        value = self._from_ring(name) or self._read_file().get(name)
        return Secret(value) if value else None

    def place(self, name: str) -> FoundKey | None:
        """Where the key of that name comes from."""
        for variable in self.variables(name):
            if self.environment.get(variable, "").strip():
                return FoundKey(name=name, place=KeyPlace.ENVIRONMENT, where=variable)
        if self._from_ring(name):
            return FoundKey(name=name, place=KeyPlace.KEYRING, where="keyring")
        if name in self._read_file():
            return FoundKey(name=name, place=KeyPlace.FILE, where=str(self.file()))
        return None

    def names(self) -> list[FoundKey]:
        """Every key there is, by name; a name that was never heard of but in the keyring too."""
        known = {*VARIABLES, *self._ring_names(), *self._read_file()}
        own = [name[9:].lower() for name in self.environment if name.startswith("WEFT_KEY_")]
        known.update(name for name in own if _NAME.match(name))
        return [found for name in sorted(known) if (found := self.place(name)) is not None]

    def set(self, name: str, value: str) -> FoundKey:
        """Keep a key: in the keyring, or in the file where there is no keyring."""
        _checked(name)
        value = value.strip()
        if (
            not value
            or len(value) > _KEY_LIMIT
            or not value.isascii()
            or not value.isprintable()
            or " " in value
        ):
            raise InvalidInputError(
                "that is not a key", hint="a key is one line of letters, digits and signs"
            )
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
            raise StorageError(f"{path} cannot be read ({type(error).__name__})") from None
        if not isinstance(kept, dict):
            raise StorageError(f"{path} is not a file of keys")
        return {str(name): str(value) for name, value in cast("dict[str, str]", kept).items()}

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
