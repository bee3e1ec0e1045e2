"""Notes of mounted vaults as context items: by path, by tag, by folder; read again on every use."""

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote

from weft.context.items.item_types import ContextItem, active_note, image_embeds, note, selection
from weft.context.items.note_lookup import ListedNote, notes_in_folder, notes_with_tag
from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, LimitExceededError, NotFoundError, StorageError, WeftError
from weft.knowledge.folder import PICTURE_LIMIT, File, Folder, is_note, measure_picture
from weft.tree.content import Image
from weft.tree.item import Item
from weft.tree.reference import Vault

_LINES = re.compile(r"(?P<path>.+)#L(?P<start>\d{1,9})(?:-L?(?P<end>\d{1,9}))?\Z", re.DOTALL)
_IMAGE_LIMIT = 20
"""Pictures of one note: the maximum of most models."""
_EXPANSION_LIMIT = 1_000
"""Notes of one tag or folder."""


class NotePlace(NamedTuple):
    """An existing note."""

    vault: Vault
    path: str
    id: str
    """Its path; with the vault's name before it if a vault mounted earlier has a note of the same path."""


class FreshItems(NamedTuple):
    """Items as they are now, by id, and the ids of those whose source is gone."""

    items: dict[str, ContextItem]
    deleted: frozenset[str] = frozenset()


@dataclass(slots=True)
class Mounted:
    """All vaults, in the order in which they were mounted."""

    vaults: Sequence[Vault]
    warnings: list[str] = field(default_factory=list[str])
    """What could not be read, one line each."""
    _folders: dict[str, Folder] = field(default_factory=dict[str, Folder])

    def folder(self, vault: Vault) -> Folder:
        """The folder of a vault, as it is now."""
        if vault.id not in self._folders:
            folder = Folder.at(vault.path)
            if str(folder.root) != vault.path:
                # The vault is the folder that was mounted, not what a link in its place leads to.
                raise StorageError(
                    f"the folder of {vault.name!r} is a link now", hint="unmount it and mount it again"
                )
            self._folders[vault.id] = folder
        return self._folders[vault.id]

    def vault(self, name: str) -> Vault:
        for each in self.vaults:
            if name == each.id or name.lower() == each.name.lower():
                return each
        raise NotFoundError(f"no vault {name[:60]!r}", hint=Hint(HintKind.LIST_VAULTS))

    def place(self, reference: str) -> NotePlace:
        """The note that a path names, or `VAULT:PATH`."""
        name, colon, rest = reference.partition(":")
        if colon:
            path = _plain(rest)
            for vault in self.vaults:
                if name.lower() == vault.name.lower() and self._has(vault, path):
                    return NotePlace(vault, path, self.id_of(vault, path))
        path = _plain(reference)
        refused: WeftError | None = None
        for vault in self.vaults:
            try:
                self.folder(vault).locate(path)
                return NotePlace(vault, path, self.id_of(vault, path))
            except (InvalidInputError, NotFoundError, StorageError) as error:
                if not isinstance(error, NotFoundError):
                    refused = refused or error
        if refused is not None:
            raise refused
        raise NotFoundError(
            f"no note {reference[:200]!r} in any vault",
            hint="a path within a vault, or VAULT:PATH" if self.vaults else Hint(HintKind.ADD_VAULT),
        )

    def id_of(self, vault: Vault, path: str) -> str:
        for earlier in self.vaults:
            if earlier.id == vault.id:
                break
            if self._has(earlier, path):
                return f"{vault.name}:{path}"
        return path

    def _has(self, vault: Vault, path: str) -> bool:
        try:
            return self.folder(vault).has(path)
        except WeftError:
            return False

    def note(self, reference: str) -> ContextItem:
        """A note, as it is now."""
        return self._item(self.place(reference))

    def _item(self, place: NotePlace) -> ContextItem:
        if not is_note(place.path):
            raise InvalidInputError(f"{place.path[:200]!r} is not a note", hint="notes end in .md or .txt")
        file = self.folder(place.vault).read(place.path)
        return note(place.id, note_text(file), created=_moment(file.created), modified=_moment(file.modified))

    def active_note(self, reference: str, put: Callable[[bytes], str]) -> ContextItem:
        """The open note with the pictures that it embeds; `put` stores their bytes and returns the ref."""
        place = self.place(reference)
        read = self._item(place)
        shown = active_note(read.id, read.content, created=read.created, modified=read.modified)
        images: list[Image] = []
        for target in image_embeds(read.content):
            if len(images) == _IMAGE_LIMIT:
                self.warnings.append(f"{read.id}: only the first {_IMAGE_LIMIT} pictures are included")
                break
            image = self._picture(place, target, put)
            if image is not None:
                images.append(image)
        return replace(shown, images=tuple(images))

    def _picture(self, place: NotePlace, target: str, put: Callable[[bytes], str]) -> Image | None:
        folder = self.folder(place.vault)
        path = self._embedded(folder, place.path, target)
        if path is None:
            self.warnings.append(f"{place.id}: there is no picture {target}")
            return None
        try:
            file = folder.read(path, limit=PICTURE_LIMIT)
        except WeftError as error:
            self.warnings.append(f"{place.id}: {error.message}")
            return None
        picture = measure_picture(file.data)
        if picture is None:
            self.warnings.append(f"{place.id}: {target} is not a PNG, JPEG, GIF or WebP picture")
            return None
        return Image(ref=put(file.data), **picture._asdict())

    @staticmethod
    def _embedded(folder: Folder, path: str, target: str) -> str | None:
        """Beside the note, from the vault's top, or the only file of that name; Markdown writes spaces as %20."""
        target = target.replace("\\", "/")
        spellings = tuple(dict.fromkeys((target, unquote(target))))
        for each in spellings:
            beside = posixpath.normpath(posixpath.join(path.rpartition("/")[0], each.lstrip("/")))
            for place in (beside, each.lstrip("/")):
                if folder.has(place):
                    return place
        for each in spellings:
            paths = folder.named(each.rsplit("/", 1)[-1])
            if len(paths) == 1:
                return paths[0]
        return None

    def selection(self, reference: str) -> ContextItem:
        """Lines of a note, `PATH#L3-L9`, both included, as they are now."""
        match = _LINES.match(reference)
        if match is None:
            raise InvalidInputError(f"{reference[:200]!r} names no lines", hint="PATH#L3-L9")
        whole = self.note(match["path"])
        start, end = int(match["start"]), int(match["end"] or match["start"])
        lines = whole.content.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if not 0 < start <= end or start > len(lines):
            raise InvalidInputError(f"{whole.id} has {len(lines):,} lines; {start} to {end} are not there")
        end = min(end, len(lines))
        return selection(whole.id, start, end, "\n".join(lines[start - 1 : end]), modified=whole.modified)

    def in_folder(self, reference: str) -> list[ContextItem]:
        """The notes in a folder, `VAULT/PATH` or a path within a vault, and below it."""
        vault, path = self._folder_named(reference)
        listing = [ListedNote(each) for each in self.folder(vault).notes(path).paths]
        return self._all(vault, notes_in_folder(path, listing), f"folder {reference}")

    def _folder_named(self, reference: str) -> tuple[Vault, str]:
        name, _, rest = _plain(reference.strip("/")).partition("/")
        for vault in self.vaults:
            if vault.name.lower() == name.lower():
                return vault, rest
        for vault in self.vaults:
            try:
                if (self.folder(vault).root / reference.strip("/")).is_dir():
                    return vault, reference
            except (WeftError, OSError, ValueError):
                continue
        raise NotFoundError(f"no folder {reference[:200]!r} in any vault", hint="VAULT/PATH")

    def with_tag(self, tag: str, listings: Mapping[str, Sequence[ListedNote]]) -> list[ContextItem]:
        """The notes that have a tag, or one below it; `listings` are all notes with their tags, by vault."""
        return [
            item
            for vault in self.vaults
            for item in self._all(vault, notes_with_tag(tag, listings.get(vault.id, ())), f"tag {tag}")
        ]

    def paths(self) -> list[ListedNote]:
        """The ids of all notes."""
        ids: dict[str, None] = {}
        for vault in self.vaults:
            for path in self._paths(vault):
                ids[f"{vault.name}:{path}" if path in ids else path] = None
        return list(map(ListedNote, ids))

    def _paths(self, vault: Vault) -> Sequence[str]:
        try:
            return self.folder(vault).notes().paths
        except WeftError as error:
            self.warnings.append(f"vault {vault.name}: {error.message}")
            return ()

    def _all(self, vault: Vault, paths: Sequence[str], what: str) -> list[ContextItem]:
        if len(paths) > _EXPANSION_LIMIT:
            raise LimitExceededError(
                f"{what} has {len(paths):,} notes, the limit is {_EXPANSION_LIMIT:,}",
                hint="choose a smaller one, or name notes",
            )
        return [item for path in paths if (item := self._readable(vault, path)) is not None]

    def _readable(self, vault: Vault, path: str) -> ContextItem | None:
        try:
            return self._item(NotePlace(vault, path, self.id_of(vault, path)))
        except WeftError as error:
            self.warnings.append(f"{path} is left out: {error.message}")
            return None

    def fresh(self, items: Iterable[Item | ContextItem]) -> "FreshItems":
        """The notes of vaults among the items, by id, as they are now; other items are left out."""
        current: dict[str, ContextItem] = {}
        deleted: set[str] = set()
        notes = [each for each in items if each.type in {"note", "active_note"}] if self.vaults else []
        complete = bool(notes) and self._has_all_vaults()
        for each in notes:
            if each.id in current:
                continue
            try:
                read = self._item(self.place(each.id))
                # It keeps the id by which it was attached, even if a shorter one is unique now.
                current[each.id] = replace(read, item=replace(read.item, id=each.id))
            except NotFoundError:
                # A note whose text came in a call has no time, and never was in a vault.
                if complete and each.modified is not None:
                    deleted.add(each.id)
            except WeftError as error:
                self.warnings.append(f"{each.id} is shown as it was attached: {error.message}")
        return FreshItems(current, frozenset(deleted))

    def _has_all_vaults(self) -> bool:
        """False if a folder cannot be read; a warning names each."""
        count = len(self.warnings)
        for vault in self.vaults:
            try:
                self.folder(vault)
            except WeftError as error:
                self.warnings.append(
                    f"vault {vault.name}: {error.message}; its notes are shown as they were attached"
                )
        return len(self.warnings) == count


def _plain(path: str) -> str:
    """One name for one note: `./a.md` and `b//c.md` are `a.md` and `b/c.md`."""
    return PurePosixPath(path).as_posix() if path else path


def note_text(file: File) -> str:
    try:
        return file.data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInputError(f"{file.path[:200]} is not UTF-8 text", hint="save it as UTF-8") from None


def _moment(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(int(seconds), UTC).isoformat()[:19] + "Z"
    except (OverflowError, OSError, ValueError):
        return None
