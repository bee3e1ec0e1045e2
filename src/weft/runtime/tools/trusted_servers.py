"""Servers that were added on this machine: a grove from elsewhere must not start commands here."""

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import orjson

from weft.errors import StorageError
from weft.providers.keys import default_file
from weft.tree.json import JsonObject

_MOST = 10_000


def trust_file() -> Path:
    """Beside the keys."""
    return default_file().with_name("tool-servers.json")


@dataclass(frozen=True, slots=True)
class TrustedServers:
    """Digests of the servers that a person added here, by grove."""

    file: Callable[[], Path] = trust_file

    def has(self, grove: str, server: JsonObject) -> bool:
        return _digest(grove, server) in self._read()

    def add(self, grove: str, server: JsonObject) -> None:
        digests = [*self._read(), _digest(grove, server)][-_MOST:]
        place = self.file()
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            fresh = place.with_suffix(f".{os.getpid()}.tmp")
            fresh.write_text(json.dumps(sorted(set(digests))), encoding="utf-8")
            fresh.replace(place)
        except OSError as error:
            raise StorageError(f"{place} cannot be written: {error.strerror}") from None

    def _read(self) -> list[str]:
        try:
            value = json.loads(self.file().read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return []
        return [str(each) for each in cast("list[object]", value)] if isinstance(value, list) else []


def _digest(grove: str, server: JsonObject) -> str:
    return hashlib.sha256(orjson.dumps([grove, server], option=orjson.OPT_SORT_KEYS)).hexdigest()
