"""Finding notes again: by their path, by their name if only one has it, or not at all, and then saying so."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple
from unicodedata import normalize


class ListedNote(NamedTuple):
    """A note that is there now."""

    path: str
    tags: frozenset[str] = frozenset()
    """With or without their sign."""
    sha256: str | None = None


class NoteReference(NamedTuple):
    """A note as somebody named it: a full path, or in older chats only a name."""

    path: str
    sha256: str | None = None
    """Of its content when it was attached, where that was kept."""


class Whereabouts(StrEnum):
    HERE = "here"
    MOVED = "moved"
    DELETED = "deleted"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """What became of a reference. Contents are read fresh; a changed one is only told about."""

    asked: str
    where: Whereabouts
    path: str | None = None
    matches: tuple[str, ...] = ()
    changed: bool = False

    @property
    def warning(self) -> str | None:
        """What a person should know; None if the note was where it was said to be."""
        match self.where:
            case Whereabouts.HERE:
                return None
            case Whereabouts.MOVED:
                return f"{self.asked} is not there any more; {self.path} is taken, the only note of that name"
            case Whereabouts.DELETED:
                return f"{self.asked} is skipped: no note has this path or this name"
            case Whereabouts.AMBIGUOUS:
                return f"{self.asked} is skipped: several notes have this name: {', '.join(self.matches)}"


def resolve_notes(asked: Iterable[NoteReference | str], listing: Iterable[ListedNote]) -> list[Resolved]:
    """Each reference in turn: by full path, then by unique base name, else skipped."""
    by_path: dict[str, ListedNote] = {}
    by_name: dict[str, list[ListedNote]] = {}
    for note in sorted(listing, key=_path):
        by_path.setdefault(_same(note.path), note)
        by_name.setdefault(_name(note.path), []).append(note)
    return [_resolve(_reference(each), by_path, by_name) for each in asked]


def _reference(asked: NoteReference | str) -> NoteReference:
    return NoteReference(asked) if isinstance(asked, str) else asked


def _resolve(
    asked: NoteReference, by_path: dict[str, ListedNote], by_name: dict[str, list[ListedNote]]
) -> Resolved:
    by_its_path = by_path.get(_same(asked.path))
    if by_its_path is not None:
        return _found(asked, by_its_path, Whereabouts.HERE)
    matches = by_name.get(_name(asked.path), [])
    if len(matches) == 1:
        return _found(asked, matches[0], Whereabouts.MOVED)
    where = Whereabouts.AMBIGUOUS if matches else Whereabouts.DELETED
    return Resolved(asked=asked.path, where=where, matches=tuple(note.path for note in matches))


def _found(asked: NoteReference, note: ListedNote, where: Whereabouts) -> Resolved:
    known = asked.sha256 is not None and note.sha256 is not None
    return Resolved(
        asked=asked.path,
        where=where,
        path=note.path,
        matches=(note.path,),
        changed=known and asked.sha256 != note.sha256,
    )


def _same(path: str) -> str:
    """Some file systems take an accented letter apart; the path is still the same."""
    return normalize("NFC", path.replace("\\", "/").removeprefix("./"))


def _name(path: str) -> str:
    return _same(path).rsplit("/", 1)[-1].removesuffix(".md")


def notes_with_tag(tag: str, listing: Iterable[ListedNote]) -> tuple[str, ...]:
    """The notes that bear a tag, or one below it, in the order of their paths."""
    wanted = tag.removeprefix("#")
    return tuple(note.path for note in sorted(listing, key=_path) if wanted and _bears(note.tags, wanted))


def _bears(tags: Iterable[str], wanted: str) -> bool:
    plain = (tag.removeprefix("#") for tag in tags)
    return any(tag == wanted or tag.startswith(f"{wanted}/") for tag in plain)


def notes_in_folder(folder: str, listing: Iterable[ListedNote]) -> tuple[str, ...]:
    """The notes in a folder and below it, in the order of their paths; all of them for the vault itself."""
    inside = _same(folder).strip("/")
    paths: Sequence[str] = [note.path for note in sorted(listing, key=_path)]
    return tuple(path for path in paths if not inside or _same(path).startswith(f"{inside}/"))


def _path(note: ListedNote) -> str:
    return note.path
