"""Pictures beside the conversations of an export: found by the id that a message names, read when they are kept."""

import re
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from weft.errors import InvalidInputError, LimitExceededError, StorageError

_LIMIT = 64 * 1024 * 1024
_ID = re.compile(r"file[-_][A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class MediaFile:
    """A file of an export that is no conversation."""

    name: str
    read: Callable[[], bytes] = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class MediaFiles:
    """The files of one export, by their names and by the ids in them."""

    files: Mapping[str, MediaFile] = field(default_factory=dict[str, MediaFile])
    count: int = 0

    def find(self, *names: str) -> MediaFile | None:
        """The file of an id or a name, such as `sediment://file_0ab1` or `photo.png`."""
        for name in filter(None, names):
            known = _ID.search(name)
            found = self.files.get(PurePosixPath(name).name) or self.files.get(known.group() if known else "")
            if found is not None:
                return found
        return None


NO_MEDIA = MediaFiles()


def media_of_folder(paths: Iterable[tuple[str, Path]]) -> MediaFiles:
    """The files of a folder, read from where they are."""
    return _indexed(MediaFile(name, lambda path=path: _read_path(path)) for name, path in paths)


def media_of_zip(archive: zipfile.ZipFile, members: Iterable[zipfile.ZipInfo]) -> MediaFiles:
    """The files of an archive, unpacked one at a time."""
    return _indexed(
        MediaFile(member.filename, lambda member=member: _read_member(archive, member)) for member in members
    )


def _indexed(files: Iterable[MediaFile]) -> MediaFiles:
    found: dict[str, MediaFile] = {}
    count = 0
    for count, file in enumerate(files, start=1):  # noqa: B007 - the last number is the count
        base = PurePosixPath(file.name).name
        found.setdefault(base, file)
        if known := _ID.match(base):
            found.setdefault(known.group(), file)
    return MediaFiles(found, count)


def _read_path(path: Path) -> bytes:
    try:
        if path.stat().st_size > _LIMIT:
            raise LimitExceededError(f"{path.name} has more than {_LIMIT:,} bytes")
        return path.read_bytes()
    except OSError as error:
        raise StorageError(f"cannot read {path.name}: {error.strerror}") from error


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    try:
        with archive.open(member) as packed:
            data = packed.read(_LIMIT + 1)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise InvalidInputError(f"{member.filename} cannot be unpacked: {error}") from None
    if len(data) > _LIMIT:
        raise LimitExceededError(f"{member.filename} unpacks to more than {_LIMIT:,} bytes")
    return data
