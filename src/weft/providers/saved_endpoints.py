"""Endpoints that their owner added by name: addresses in a private file; their keys are kept with all other keys."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from weft.errors import InvalidInputError, NotFoundError, StorageError
from weft.providers.endpoint import Endpoint
from weft.providers.keys import check_key_name, default_file
from weft.providers.private_file import damaged, read_private, write_private

_FILE = "endpoints.json"
_WHAT = "endpoint"


def default_endpoint_file() -> Path:
    """Beside the keys."""
    given = os.environ.get("WEFT_ENDPOINTS")
    return Path(given) if given else default_file().with_name(_FILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedEndpoint:
    """An address by name."""

    name: str
    url: str
    private: bool = False
    """It is on the owner's own network."""

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(self.url, private=self.private)

    @property
    def host(self) -> str:
        """What its key is bound to."""
        return self.endpoint.authority


@dataclass(frozen=True, slots=True)
class SavedEndpoints:
    """All endpoints that were added."""

    file: Callable[[], Path] = field(default=default_endpoint_file, repr=False)
    _known: list[tuple[object, dict[str, SavedEndpoint]]] = field(
        default_factory=list[tuple[object, dict[str, SavedEndpoint]]], repr=False, compare=False
    )
    """What was read last, and what the file looked like then."""

    def usable(self) -> dict[str, SavedEndpoint]:
        """All of them, read again only if the file has changed; none if it cannot be read."""
        try:
            status = self.file().stat()
        except OSError:
            return {}
        seen = (status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode)
        for before, endpoints in self._known:
            if before == seen:
                return endpoints
        try:
            endpoints = self.all()
        except StorageError:
            return {}
        self._known[:] = [(seen, endpoints)]
        return endpoints

    def all(self) -> dict[str, SavedEndpoint]:
        return {name: self._endpoint(name, value) for name, value in read_private(self.file(), _WHAT).items()}

    def add(self, name: str, url: str, *, private: bool = False) -> SavedEndpoint:
        """Keep an address; one that is kept under the name is replaced."""
        added = SavedEndpoint(name=check_key_name(name), url=url.strip(), private=private)
        if added.endpoint.exposes_keys:
            raise InvalidInputError(
                f"{added.endpoint.host} is not encrypted: a key would be readable on the way",
                hint="use https, or say that it is on your own network",
            )
        self._write({**self.all(), name: added})
        return added

    def remove(self, name: str) -> SavedEndpoint:
        kept = self.all()
        if name not in kept:
            raise NotFoundError(f"no endpoint {name[:60]!r}", hint=f"there are {', '.join(kept) or 'none'}")
        removed = kept.pop(name)
        self._write(kept)
        return removed

    def _write(self, kept: dict[str, SavedEndpoint]) -> None:
        wire = {name: {"url": each.url, "private": each.private} for name, each in kept.items()}
        write_private(self.file(), wire, _WHAT)

    def _endpoint(self, name: str, value: object) -> SavedEndpoint:
        fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        if not isinstance(fields.get("url"), str) or not isinstance(fields.get("private"), bool):
            raise damaged(self.file(), _WHAT)
        return SavedEndpoint(name=name, url=fields["url"], private=fields["private"])
