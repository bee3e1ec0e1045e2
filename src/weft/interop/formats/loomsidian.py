"""Loomsidian notes: all of a vault's, or one note's state."""

import re
from collections.abc import Iterator, Mapping

from weft.interop.conversation import SourceConversation, SourceRecord, StrippedKey
from weft.interop.importer import FileValues, Importer
from weft.interop.loose_json import mapping, moment, secret_names, sequence, text
from weft.interop.source_file import SourceFile
from weft.tree.content import Text
from weft.tree.json import JsonObject
from weft.tree.node import Role
from weft.tree.tree import Mode

_ESCAPED = re.compile(r"\\([<\[])")
"""Completions escape what Markdown would read."""


def _states(fields: JsonObject) -> Mapping[str, JsonObject]:
    """The notes of a data file, or the one state."""
    states = {name: mapping(state) for name, state in mapping(fields.get("state")).items()}
    if any("nodes" in state for state in states.values()):
        return states
    is_state = {"current", "nodes"} <= fields.keys() and isinstance(fields.get("nodes"), Mapping)
    return {"": fields} if is_state else {}


def _split(file: SourceFile) -> Iterator[FileValues]:
    for placed in file.values():
        fields = mapping(placed.value)
        secrets = secret_names(fields.get("settings"))
        for name, state in _states(fields).items():
            place = f"state.{name}" if name else placed.place
            yield FileValues(file, place, (state, name, list(secrets)), placed.start)
            # The settings are of all the notes: their keys are said once.
            secrets = []


def _convert(values: FileValues) -> SourceConversation:
    state, name = mapping(values.values[0]), text(values.values[1])
    keys = [StrippedKey(kind=f"settings.{text(each)}") for each in sequence(values.values[2])]
    records: list[SourceRecord] = []
    for key, node in ((key, mapping(each)) for key, each in mapping(state.get("nodes")).items()):
        generated = node.get("unread") is not None and bool(text(node.get("parentId")))
        records.append(
            SourceRecord(
                id=key,
                parent=text(node.get("parentId")) or None,
                role=Role.ASSISTANT if generated else Role.USER,
                parts=(Text(_ESCAPED.sub(r"\1", text(node.get("text")))),),
                created_at=moment(node.get("lastVisited")),
                bookmarked=node.get("bookmarked") is True,
            )
        )
    title = name.removesuffix(".md") or values.file.base_name.removesuffix(".json")
    return SourceConversation(
        id=name or values.file.base_name,
        title=title,
        mode=Mode.BUFFER,
        records=records,
        current=text(state.get("current")) or None,
        keys=tuple(keys),
    )


LOOMSIDIAN = Importer(
    name="loomsidian",
    label="Loomsidian notes",
    matches=lambda file: any(_states(mapping(value)) for value in file.sample),
    split=_split,
    convert=_convert,
)
