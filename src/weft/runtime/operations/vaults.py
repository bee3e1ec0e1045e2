"""Vaults: mount a folder of notes, let it go again. People decide which folders are read; models do not."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from sqlalchemy import func, select, update

from weft.errors import ConflictError, InvalidInputError, LimitExceededError, NotFoundError
from weft.knowledge.folder import Folder
from weft.provenance.fingerprints import vault_fingerprint
from weft.runtime.operations.agents import require_person
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.session import Session
from weft.tree.access import MemberRole
from weft.tree.content import check_text
from weft.tree.json_names import from_microseconds
from weft.tree.reference import Vault, check_vault_name

_vaults = schema.vaults
_LIMIT = 100


def load_vaults(session: Session) -> list[Vault]:
    """All that are mounted, in the order in which they were."""
    there = select(_vaults).where(_vaults.c.removed.is_(None)).order_by(_vaults.c.key)
    return [_value(row) for row in session.execute(there)]


def _value(row: Any) -> Vault:
    return Vault(id=row.ulid, name=row.name, path=row.path, created_at=from_microseconds(row.created_at))


def require_free_vault(scope: Scope, name: str) -> None:
    taken = scope.transaction.execute(
        select(_vaults.c.name).where(func.lower(_vaults.c.name) == name.lower(), _vaults.c.removed.is_(None))
    ).scalar()
    if taken is not None:
        raise ConflictError(f"there is a vault {taken!r} already", hint="choose another name")


def note_vault(scope: Scope, ulid: str) -> None:
    """Let the event vouch for it as it is now."""
    scope.add_fingerprint(
        vault_fingerprint(
            scope.transaction.execute(select(_vaults).where(_vaults.c.ulid == ulid)).mappings().one()
        )
    )


class _Mounting(Editing):
    access: ClassVar[MemberRole] = MemberRole.OWNER


@dataclass(frozen=True, slots=True, kw_only=True)
class MountVault(_Mounting):
    """Mount a folder: its notes can be attached, and are never written to."""

    verb: ClassVar[str] = "mount a vault"
    path: str | Path
    name: str | None = None
    """Else the folder's own."""

    def apply(self, scope: Scope) -> Vault:
        require_person(scope)
        scope.open_grove()
        check_text(str(self.path), what="path", limit=4_096)
        folder = Folder.at(self.path)
        name = check_vault_name(folder.root.name if self.name is None else self.name)
        require_free_vault(scope, name)
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
        note_vault(scope, ulid)
        scope.record(None, "mount", {"vault": ulid}, {"unmount": ulid})
        return Vault(id=ulid, name=name, path=path, created_at=from_microseconds(scope.now))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmountVault(_Mounting):
    """Let a folder go. What was attached from it stays as it was attached."""

    verb: ClassVar[str] = "unmount a vault"
    vault: str

    def apply(self, scope: Scope) -> Vault:
        require_person(scope)
        grove = scope.open_grove()
        wanted = self.vault.strip()
        if not wanted:
            raise InvalidInputError("which vault?")
        for each in load_vaults(scope.transaction):
            if wanted == each.id or wanted.lower() == each.name.lower():
                there = update(_vaults).where(_vaults.c.ulid == each.id)
                scope.transaction.execute(there.values(removed=grove.events + 1))
                note_vault(scope, each.id)
                scope.record(None, "unmount", {"vault": each.id}, {"mount": each.id})
                return each
        raise NotFoundError(f"no vault {wanted[:60]!r}", hint="weft vault ls shows those that are mounted")
