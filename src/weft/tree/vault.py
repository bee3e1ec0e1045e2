"""Vaults: folders of notes that are mounted read-only."""

from dataclasses import dataclass
from datetime import datetime

from weft.errors import InvalidInputError
from weft.tree.content import check_text

_NAME_LIMIT = 100
_TAKEN = frozenset({"active", "doc", "document", "folder", "node", "tree", "http", "https"})
"""Words that mean something else where they stand before a colon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    id: str
    name: str
    path: str
    """Of the folder, on this machine."""
    created_at: datetime


def check_vault_name(name: str) -> str:
    """A name that can stand before a path: `VAULT/PATH`, `VAULT:PATH`."""
    cleaned = check_text(name, what="name", limit=_NAME_LIMIT).strip()
    if not cleaned or cleaned.lower() in _TAKEN or any(sign in cleaned for sign in "/\\:\n\r#[]"):
        raise InvalidInputError(
            f"{name[:60]!r} cannot be the name of a vault", hint="one line, without / : # and brackets"
        )
    return cleaned
