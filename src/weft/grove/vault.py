"""Vaults: mount, list, read notes as items to attach."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from weft.argument_checks import checks_arguments
from weft.error_hints import Hint, HintKind
from weft.errors import NotFoundError, WeftError
from weft.grove.handle import Handle
from weft.knowledge.folder import FolderListing
from weft.knowledge.notes import Mounted
from weft.knowledge.retrieval import Period, Retrieval
from weft.runtime.contexts.items import item_of, notes_tagged, read_items
from weft.runtime.operations.projects import MountVault, UnmountVault, mounted_in
from weft.runtime.search.retrieval import retrieve
from weft.runtime.search.vault_indexer import index_vault, rebuild_vault
from weft.runtime.search.vault_status import VaultStatus, status_of
from weft.tree.item import Item
from weft.tree.progress import Progress, silent
from weft.tree.reference import Vault

if TYPE_CHECKING:
    from weft.grove.grove import Grove


class VaultHandle(Handle[Vault]):
    """One mounted folder."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<Vault {self.name!r} {self.path}>"

    @property
    def name(self) -> str:
        return self.value.name

    @property
    def path(self) -> str:
        return self.value.path

    def notes(self, folder: str = "") -> FolderListing:
        """The notes in it, or in one of its folders, by path."""
        return mounted_in(self._grove.caller).folder(self.value).notes(folder)

    def index(self, *, rebuild: bool = False, progress: Progress = silent) -> VaultStatus:
        """Index what was changed in the folder since the last time, so that it can be searched.

        Searching does this by itself; `rebuild` makes the whole index again.
        """
        index = rebuild_vault if rebuild else index_vault
        mounted_in(self._grove.caller)
        index(self._grove.caller.store, self.value, progress=progress)
        return self.status()

    def status(self) -> VaultStatus:
        """How much of it is indexed, what was skipped and why, and how far the index is behind."""
        mounted_in(self._grove.caller)
        return status_of(self._grove.caller.store, self.value)

    def unmount(self) -> None:
        """Unmount it; what was attached from it stays."""
        self._grove.perform(UnmountVault(vault=self.id))


@checks_arguments
class Vaults:
    """The folders of notes that a grove may read. Iterate it, or ask it for one by name."""

    __slots__ = ("_grove",)

    def __init__(self, grove: "Grove") -> None:
        self._grove = grove

    def __repr__(self) -> str:
        return f"<Vaults {', '.join(each.name for each in self) or 'none'}>"

    def __iter__(self) -> Iterator[VaultHandle]:
        return iter(self.all())

    def __len__(self) -> int:
        return len(self.all())

    def __getitem__(self, name: str) -> VaultHandle:
        for each in self.all():
            if name == each.id or name.lower() == each.name.lower():
                return each
        raise NotFoundError(f"no vault {name[:60]!r}", hint=Hint(HintKind.LIST_VAULTS))

    def all(self) -> list[VaultHandle]:
        """In the order in which they were mounted."""
        return [VaultHandle(self._grove, each) for each in self._mounted().vaults]

    def mount(self, path: str | Path, name: str | None = None, *, progress: Progress = silent) -> VaultHandle:
        """Mount a folder read-only, and index it. Its name is the folder's by default."""
        vault = VaultHandle(self._grove, self._grove.perform(MountVault(path=path, name=name)))
        # It is mounted, whatever is wrong with the folder: its status says so, and so does a search.
        with contextlib.suppress(WeftError):
            vault.index(progress=progress)
        return vault

    def search(
        self, query: str, *, vaults: Sequence[str] | None = None, limit: int = 8, period: Period | None = None
    ) -> Retrieval:
        """Passages of notes about a question, the best first; none if no note is about it."""
        return retrieve(self._grove.caller, query, vaults=vaults, limit=limit, period=period)

    def note(self, reference: str) -> Item:
        """A note, read now, ready to be attached: a path within a vault, or `VAULT:PATH`."""
        return item_of(self._mounted().note(reference))

    def active_note(self, reference: str) -> Item:
        """The note that is open, with the pictures that it embeds."""
        return item_of(self._mounted().active_note(reference, self._grove.put_blob))

    def selection(self, reference: str) -> Item:
        """Lines of a note: `PATH#L3-L9`."""
        return item_of(self._mounted().selection(reference))

    def folder(self, reference: str) -> list[Item]:
        """All notes in a folder: `VAULT/PATH`, or a path within a vault."""
        return [item_of(each) for each in self._mounted().in_folder(reference)]

    def tag(self, tag: str) -> list[Item]:
        """All notes that bear a tag, or one below it."""
        return [item_of(each) for each in notes_tagged(self._grove.caller, self._mounted(), tag)]

    def items(self, *references: str) -> "Sequence[Item]":
        """The items that references name, each once: see `read_items`."""
        return read_items(self._grove.caller, references).items

    def _mounted(self) -> Mounted:
        return mounted_in(self._grove.caller)
