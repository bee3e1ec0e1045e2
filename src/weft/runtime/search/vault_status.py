"""What the index knows of a vault: how much is indexed, what was skipped and why, and the tags of its notes."""

from dataclasses import dataclass

import orjson

from weft.context.items.note_lookup import ListedNote
from weft.errors import WeftError
from weft.knowledge import embeddings
from weft.knowledge.notes import Mounted
from weft.runtime.search.vault_indexer import index_vault, is_new, vault_key
from weft.store.base import Store
from weft.store.vault_index import counts_of, described_notes, known_notes
from weft.tree.progress import Progress
from weft.tree.reference import Vault


@dataclass(frozen=True, slots=True)
class SkippedNote:
    """A file that is not indexed."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultStatus:
    """How much of a vault is indexed."""

    id: str
    name: str
    notes: int
    passages: int
    embedded: int
    """Passages that can be found by meaning."""
    semantic: bool
    """Whether the extra `semantic` is installed here."""
    skipped: tuple[SkippedNote, ...]
    behind: int = 0
    """Files that were changed, added or removed since."""
    problem: str | None = None
    """Why the folder cannot be read, if so."""


def status_of(store: Store, vault: Vault) -> VaultStatus:
    """What is indexed of a vault, and how many of its files are not indexed as they are now."""
    problem, behind = None, 0
    with store.read() as session:
        key = vault_key(session, vault)
        counts = counts_of(session, key)
        notes = known_notes(session, key)
    try:
        files = Mounted([vault]).folder(vault).scan()
        here = {file.path for file in files}
        behind = sum(is_new(file, notes, surely=True) for file in files) + sum(
            path not in here for path in notes
        )
    except WeftError as error:
        problem = error.message
    return VaultStatus(
        id=vault.id,
        name=vault.name,
        notes=counts.notes,
        passages=counts.passages,
        embedded=counts.embedded,
        semantic=embeddings.is_installed(),
        skipped=tuple(SkippedNote(path, reason) for path, reason in counts.skipped),
        behind=behind,
        problem=problem,
    )


def list_notes(
    store: Store, vault: Vault, progress: Progress | None = None
) -> tuple[list[ListedNote], list[str]]:
    """Every note of a vault with its tags, and a line for each file or folder that cannot be indexed."""
    warnings: list[str] = []
    try:
        index_vault(store, vault, progress=progress)
    except WeftError as error:
        warnings.append(f"vault {vault.name}: {error.message}")
    with store.read() as session:
        key = vault_key(session, vault)
        warnings += [f"{path} is left out: {reason}" for path, reason in counts_of(session, key).skipped]
        rows = described_notes(session, key)
    return [ListedNote(path, frozenset(orjson.loads(about)["tags"])) for path, about in rows], warnings
