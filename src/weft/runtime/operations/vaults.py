"""Vaults: mount folders of notes, and unmount them."""

from pathlib import Path

from sqlalchemy import select, update

from weft.errors import ConflictError, InvalidInputError, LimitExceededError, NotFoundError
from weft.knowledge.folder import Folder
from weft.runtime.operations.agents import Managing
from weft.runtime.operations.grove_rows import fingerprint_row, require_free_name
from weft.runtime.operations.node_values import value_of
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.session import Session
from weft.tree.content import check_text
from weft.tree.json_names import from_microseconds
from weft.tree.reference import Vault, check_vault_name

_vaults = schema.vaults
_LIMIT = 100


def load_vaults(session: Session) -> list[Vault]:
    """All mounted vaults, in the order of mounting."""
    there = select(_vaults).where(_vaults.c.removed.is_(None)).order_by(_vaults.c.key)
    return [value_of(Vault, row) for row in session.execute(there)]


class MountVault(Managing, verb="mount a vault"):
    """Mount a folder: its notes can be attached, and are never written to."""

    path: str | Path
    name: str | None = None
    """Else the folder's own."""

    def apply(self, scope: Scope) -> Vault:
        self.open_grove(scope)
        check_text(str(self.path), what="path", limit=4_096)
        folder = Folder.at(self.path)
        name = check_vault_name(folder.root.name if self.name is None else self.name)
        require_free_name(scope, _vaults, name)
        mounted = load_vaults(scope.transaction)
        if len(mounted) >= _LIMIT:
            raise LimitExceededError(f"at most {_LIMIT} vaults are mounted at a time")
        path = check_text(str(folder.root), what="path", limit=4_096)
        for other in mounted:
            if other.path == path:
                raise ConflictError(f"{path} is mounted already, as {other.name!r}")
        ulid = scope.new_ulid()
        row = {"ulid": ulid, "name": name, "path": path, "created_at": scope.now, "removed": None}
        scope.transaction.insert(_vaults, row)
        fingerprint_row(scope, _vaults, ulid)
        scope.record(None, "mount", {"vault": ulid}, {"unmount": ulid})
        return Vault(id=ulid, name=name, path=path, created_at=from_microseconds(scope.now))


class UnmountVault(Managing, verb="unmount a vault"):
    """Unmount a folder. What was attached from it stays attached."""

    vault: str

    def apply(self, scope: Scope) -> Vault:
        grove = self.open_grove(scope)
        wanted = self.vault.strip()
        if not wanted:
            raise InvalidInputError("name the vault to unmount")
        for each in load_vaults(scope.transaction):
            if wanted == each.id or wanted.lower() == each.name.lower():
                there = update(_vaults).where(_vaults.c.ulid == each.id)
                scope.transaction.execute(there.values(removed=grove.events + 1))
                fingerprint_row(scope, _vaults, each.id)
                scope.record(None, "unmount", {"vault": each.id}, {"mount": each.id})
                return each
        raise NotFoundError(f"no vault {wanted[:60]!r}", hint="weft vault ls shows those that are mounted")
