"""Notes of mounted vaults as context items: found by path, read fresh, expanded from tags and folders."""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote

from weft.context.layers.items import ContextItem, active_note, image_embeds, note, selection
from weft.context.layers.note_lookup import ListedNote, notes_in_folder, notes_with_tag
from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, LimitExceededError, NotFoundError, StorageError, WeftError
from weft.knowledge.folder import PICTURE_LIMIT, File, Folder, is_note
from weft.knowledge.pictures import measure_picture
from weft.knowledge.tags import tags_of
from weft.tree.content import Image
from weft.tree.item import Item
from weft.tree.progress import Progress, silent
from weft.tree.reference import Vault

_LINES = re.compile(r"(?P<path>.+)#L(?P<start>\d{1,9})(?:-L?(?P<end>\d{1,9}))?\Z", re.DOTALL)
_IMAGE_LIMIT = 20
"""Of one note: what most models take."""
_EXPANSION_LIMIT = 1_000
"""Notes that one tag or folder may stand for."""


class NotePlace(NamedTuple):
    """A note that is there."""

    vault: Vault
    path: str
    id: str
    """Its path; with the vault's name before it if a vault mounted earlier has a note of that path too."""


@dataclass(slots=True)
class Mounted:
    """All vaults, in the order in which they were mounted."""

    vaults: Sequence[Vault]
    warnings: list[str] = field(default_factory=list[str])
    """What could not be read where others could."""
    _folders: dict[str, Folder] = field(default_factory=dict[str, Folder])

    def folder(self, vault: Vault) -> Folder:
        """The folder of a vault, as it is now."""
        if vault.id not in self._folders:
            found = Folder.at(vault.path)
            if str(found.root) != vault.path:
                # Somebody put a link in its place: what is mounted is a folder, not whatever it leads to.
                raise StorageError(
                    f"the folder of {vault.name!r} is a link now", hint="unmount it and mount it again"
                )
            self._folders[vault.id] = found
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
            except NotFoundError:
                continue
            except (InvalidInputError, StorageError) as error:
                refused = refused or error
                continue
            return NotePlace(vault, path, self.id_of(vault, path))
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
        place = self.place(reference)
        return self._item(place)

    def _item(self, place: NotePlace) -> ContextItem:
        if not is_note(place.path):
            raise InvalidInputError(f"{place.path[:200]!r} is not a note", hint="notes end in .md or .txt")
        file = self.folder(place.vault).read(place.path)
        return note(place.id, _text(file), created=_moment(file.created), modified=_moment(file.modified))

    def active_note(self, reference: str, put: Callable[[bytes], str]) -> ContextItem:
        """The note that is open, with the pictures that it embeds; `put` keeps their bytes and gives the ref."""
        place = self.place(reference)
        read = self._item(place)
        shown = active_note(read.id, read.content, created=read.created, modified=read.modified)
        images: list[Image] = []
        for target in image_embeds(read.content):
            if len(images) == _IMAGE_LIMIT:
                self.warnings.append(f"{read.id}: only the first {_IMAGE_LIMIT} pictures are taken")
                break
            image = self._picture(place, target, put)
            if image is not None:
                images.append(image)
        return replace(shown, images=tuple(images))

    def _picture(self, place: NotePlace, target: str, put: Callable[[bytes], str]) -> Image | None:
        folder = self.folder(place.vault)
        for path in self._meant(folder, place.path, target):
            try:
                file = folder.read(path, limit=PICTURE_LIMIT)
            except WeftError as error:
                self.warnings.append(f"{place.id}: {error.message}")
                return None
            found = measure_picture(file.data)
            if found is None:
                self.warnings.append(f"{place.id}: {target} is no picture that models take")
                return None
            mime, width, height = found
            return Image(ref=put(file.data), mime_type=mime, width=width, height=height)
        self.warnings.append(f"{place.id}: there is no picture {target}")
        return None

    @staticmethod
    def _meant(folder: Folder, path: str, target: str) -> Iterator[str]:
        """Beside the note, from the vault's top, or the only file of that name; Markdown writes spaces as %20."""
        target = target.replace("\\", "/")
        written = tuple(dict.fromkeys((target, unquote(target))))
        for each in written:
            beside = posixpath.normpath(posixpath.join(path.rpartition("/")[0], each.lstrip("/")))
            for place in (beside, each.lstrip("/")):
                if folder.has(place):
                    yield place
                    return
        for each in written:
            found = folder.named(each.rsplit("/", 1)[-1])
            if len(found) == 1:
                yield found[0]
                return

    def selection(self, reference: str) -> ContextItem:
        """Lines of a note, `PATH#L3-L9`, both counted, as they are now."""
        found = _LINES.match(reference)
        if found is None:
            raise InvalidInputError(f"{reference[:200]!r} names no lines", hint="PATH#L3-L9")
        whole = self.note(found["path"])
        start, end = int(found["start"]), int(found["end"] or found["start"])
        lines = whole.content.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if not 0 < start <= end or start > len(lines):
            raise InvalidInputError(f"{whole.id} has {len(lines):,} lines, not {start} to {end}")
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

    def with_tag(self, tag: str, progress: Progress = silent) -> list[ContextItem]:
        """The notes that bear a tag, or one below it, of all vaults."""
        found: list[ContextItem] = []
        for vault in self.vaults:
            listing = self.listed(vault, progress)
            found += self._all(vault, notes_with_tag(tag, listing), f"tag {tag}")
        return found

    def each(self, vault: Vault) -> Iterator[ContextItem]:
        """Every note of a vault, as it is now; those that cannot be read are told about."""
        for path in self._paths(vault):
            item = self._readable(vault, path)
            if item is not None:
                yield item

    def listed(self, vault: Vault, progress: Progress = silent) -> list[ListedNote]:
        """Every note with its tags and the hash of its content; those that cannot be read are told about."""
        paths = self.folder(vault).notes().paths
        found: list[ListedNote] = []
        for number, path in enumerate(paths):
            item = self._readable(vault, path)
            if item is not None:
                found.append(ListedNote(path, tags_of(item.content), item.sha256))
            progress(number + 1, len(paths))
        return found

    def paths(self) -> list[ListedNote]:
        """The ids of all notes, for finding them again."""
        found: dict[str, ListedNote] = {}
        for vault in self.vaults:
            for path in self._paths(vault):
                name = path if path not in found else f"{vault.name}:{path}"
                found.setdefault(name, ListedNote(name))
        return list(found.values())

    def _paths(self, vault: Vault) -> Sequence[str]:
        try:
            return self.folder(vault).notes().paths
        except WeftError as error:
            self.warnings.append(f"vault {vault.name}: {error.message}")
            return ()

    def _all(self, vault: Vault, paths: Sequence[str], what: str) -> list[ContextItem]:
        if len(paths) > _EXPANSION_LIMIT:
            raise LimitExceededError(
                f"{what} stands for {len(paths):,} notes, the limit is {_EXPANSION_LIMIT:,}",
                hint="choose a smaller one, or single notes",
            )
        return [item for path in paths if (item := self._readable(vault, path)) is not None]

    def _readable(self, vault: Vault, path: str) -> ContextItem | None:
        try:
            return self._item(NotePlace(vault, path, self.id_of(vault, path)))
        except WeftError as error:
            self.warnings.append(f"{path} is left out: {error.message}")
            return None

    def fresh(self, items: Iterable[Item | ContextItem]) -> dict[str, ContextItem]:
        """Those of the items that are notes of a vault, as they are now; others stay as they were."""
        found: dict[str, ContextItem] = {}
        notes = [each for each in items if each.type in {"note", "active_note"}] if self.vaults else []
        if notes:
            self._warn_of_lost_vaults()
        for each in notes:
            if each.id in found:
                continue
            try:
                read = self._item(self.place(each.id))
                # The name by which it was attached stays its own, even if another would do by now.
                found[each.id] = replace(read, item=replace(read.item, id=each.id))
            except NotFoundError:
                continue
            except WeftError as error:
                self.warnings.append(f"{each.id} is shown as it was attached: {error.message}")
        return found

    def _warn_of_lost_vaults(self) -> None:
        for vault in self.vaults:
            try:
                self.folder(vault)
            except WeftError as error:
                self.warnings.append(
                    f"vault {vault.name}: {error.message}; its notes are shown as they were attached"
                )


def _plain(path: str) -> str:
    """One name for one note: `./a.md` and `b//c.md` are `a.md` and `b/c.md`."""
    return PurePosixPath(path).as_posix() if path else path


def _text(file: File) -> str:
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
