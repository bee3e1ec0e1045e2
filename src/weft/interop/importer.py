"""Importers of foreign formats: found by entry point, chosen by what a file holds."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from weft.errors import InvalidInputError, WeftError
from weft.interop.conversation import ArrangedConversation, SourceConversation, arrange, merged
from weft.interop.found_keys import without_keys, without_keys_in
from weft.interop.loose_json import first_text, mapping
from weft.interop.source_file import PlacedValue, SourceFile
from weft.plugins import Plugins
from weft.redaction import redact
from weft.tree.json import JsonValue

_TITLE = 200


@dataclass(frozen=True, slots=True)
class FileValues:
    """What an importer converts: one conversation's values, where they are, and their file."""

    file: SourceFile
    place: str
    values: Sequence[JsonValue]
    start: int = 0
    """Where it begins in the file."""

    @property
    def value(self) -> JsonValue:
        """The value, where there is one."""
        return self.values[0] if self.values else None


def each_value(file: SourceFile) -> Iterator[FileValues]:
    """Each value of the file is a conversation."""
    # By `map`, which holds nothing of the value before: one conversation is in memory at a time.
    return map(partial(_values_of, file), file.values())


def _values_of(file: SourceFile, placed: PlacedValue) -> FileValues:
    return FileValues(file, placed.place, (placed.value,), placed.start)


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """One format: how its files are recognised, and how a conversation of it is read."""

    name: str
    label: str
    matches: Callable[[SourceFile], bool]
    convert: Callable[[FileValues], SourceConversation]
    split: Callable[[SourceFile], Iterator[FileValues]] = each_value
    gathers: bool = False
    """True if one conversation may lie in several files, joined by its id or by a common beginning."""
    rank: int = 0
    """Importers of a lower rank are asked first: general shapes have a higher one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableConversation:
    """A conversation of which nothing is imported, and why."""

    file: str
    place: str
    message: str
    number: int = 1
    """Which conversation of its file it is."""
    line: int = 1
    """The line of the file where it begins."""
    title: str = ""
    format: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadConversation:
    """A conversation that can be planted."""

    file: str
    place: str
    format: str
    number: int = 1
    line: int = 1
    arranged: ArrangedConversation


class ImporterRegistry(Plugins[Importer]):
    GROUP = "weft.importers"
    KIND = "importer"

    def importer(self, name: str) -> Importer:
        return self._named(name)

    def _made(self, name: str, loaded: Any) -> Importer:
        del name
        if not isinstance(loaded, Importer):
            raise TypeError("it is not an Importer")
        return loaded

    def chosen(self, file: SourceFile) -> Importer | None:
        """The importer of a file, by its content; None if it is in no known format."""
        known = sorted((self.importer(name) for name in self.names), key=lambda each: (each.rank, each.name))
        return next((each for each in known if each.matches(file)), None)


def all_values(file: SourceFile) -> Iterator[FileValues]:
    """The values of the file are one conversation."""
    yield FileValues(file, "", [placed.value for placed in file.values()])


def text_file(file: SourceFile) -> Iterator[FileValues]:
    """The file's text is one conversation."""
    yield FileValues(file, "", (file.text(),))


def nested(name: str) -> Callable[[SourceFile], Iterator[FileValues]]:
    """The conversations are a list in this field of the file's objects."""

    def split(file: SourceFile) -> Iterator[FileValues]:
        for outer in file.values():
            held = outer.value.get(name) if isinstance(outer.value, dict) else None
            for index, value in enumerate(held if isinstance(held, list) else ()):
                yield FileValues(file, f"{outer.place}{name}[{index}]", (value,), outer.start)

    return split


def read_files(
    files: Sequence[SourceFile], registry: ImporterRegistry, format_name: str | None = None
) -> Iterator[ReadConversation | UnreadableConversation]:
    """Every conversation of the files. A file that cannot be read at all raises."""
    gathered: dict[tuple[str, str], list[tuple[SourceFile, SourceConversation]]] = {}
    recognised = False
    for file in files:
        importer = registry.importer(format_name) if format_name else registry.chosen(file)
        if importer is None:
            file.require_readable()
            continue
        recognised = True
        file.forget_sample()
        for place, source in map(_Conversion(importer, file), importer.split(file)):
            if isinstance(source, UnreadableConversation):
                yield source
            elif importer.gathers and len(files) > 1:
                gathered.setdefault((importer.name, source.id), []).append((file, source))
            else:
                yield _arranged(importer.name, place, source)
    for (name, _), parts in gathered.items():
        place = _Place(parts[0][0].name, "", 1, 1)
        yield _arranged(name, place, merged([source for _, source in parts]))
    if not recognised:
        raise _unknown(files, registry)


def require_known(files: Sequence[SourceFile], registry: ImporterRegistry) -> None:
    """Refuse files of which none is in a known format."""
    for file in files:
        if registry.chosen(file) is not None:
            return
        file.require_readable()
    raise _unknown(files, registry)


def _unknown(files: Sequence[SourceFile], registry: ImporterRegistry) -> InvalidInputError:
    names = ", ".join(file.name for file in files[:3])
    return InvalidInputError(
        f"no importer knows the format of {names or 'an empty folder'}",
        hint=f"formats are {', '.join(registry.names)}; name one with --format",
    )


class _Conversion:
    """Converts the conversations of a file one after the other, and knows the place of each."""

    def __init__(self, importer: Importer, file: SourceFile) -> None:
        self._importer = importer
        self._file = file
        self._lines = _Lines(file)
        self._number = 0

    def __call__(self, values: FileValues) -> "tuple[_Place, SourceConversation | UnreadableConversation]":
        self._number += 1
        place = _Place(self._file.name, values.place, self._number, self._lines.of(values.start))
        return place, _converted(self._importer, values, place)


class _Place(NamedTuple):
    file: str
    place: str
    number: int
    line: int


class _Lines:
    """Lines of a file, counted on from the place before."""

    def __init__(self, file: SourceFile) -> None:
        self._file = file
        self._at, self._line = 0, 1

    def of(self, at: int) -> int:
        if at > self._at:
            self._line += self._file.lines_between(self._at, at)
            self._at = at
        return self._line


def _converted(
    importer: Importer, values: FileValues, place: _Place
) -> SourceConversation | UnreadableConversation:
    try:
        return without_keys_in(importer.convert(values))
    except WeftError as error:
        message = error.message
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
        message = f"cannot be read: {type(error).__name__}: {error}"
    fields = mapping(values.value)
    title, _ = without_keys(first_text(fields, "title", "name")[:_TITLE])
    return UnreadableConversation(
        **place._asdict(), message=redact(message), title=title, format=importer.name
    )


def _arranged(
    name: str, place: _Place, source: SourceConversation
) -> ReadConversation | UnreadableConversation:
    try:
        return ReadConversation(**place._asdict(), format=name, arranged=arrange(source))
    except WeftError as error:
        return UnreadableConversation(
            **place._asdict(), message=error.message, title=source.title, format=name
        )
