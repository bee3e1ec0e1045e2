"""`readNote`: one note, whole or part by part."""

from pydantic import Field

from weft.context.layers.blocks import ToolOutput
from weft.context.layers.items import ContextItem, note, selection
from weft.context.layers.resolving import NoteReference, resolve_notes
from weft.errors import InvalidInputError, NotFoundError
from weft.knowledge.notes import Mounted
from weft.knowledge.tools.base import Arguments, Desk, Tool
from weft.knowledge.tools.composing import compose

__all__ = ["READ_NOTE", "ReadArguments"]

_INSTRUCTION = "This is the note that was asked for, as it is now:"
_PART = "This is a part of the note that was asked for, as it is now:"
_MOST_LINES = 400
_MOST_CHARACTERS = 16_000


class ReadArguments(Arguments):
    path: str = Field(min_length=1, max_length=1_000, description="Its path in a vault, or its name.")
    start: int = Field(default=1, ge=1, description="The line to begin at.")


def _run(desk: Desk, asked: ReadArguments) -> ToolOutput:
    mounted = desk.mounted()
    whole = _note(mounted, asked.path)
    lines = whole.content.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if asked.start > len(lines):
        raise InvalidInputError(f"{whole.id} has {len(lines):,} lines, and none {asked.start:,}")
    end = _end(lines, asked.start)
    part = "\n".join(lines[asked.start - 1 : end])
    if asked.start == 1 and end == len(lines) and len(part) <= _MOST_CHARACTERS:
        shown = note(whole.id, whole.content, created=whole.created, modified=whole.modified)
        return compose("readNote", _INSTRUCTION, [shown], first=desk.first, attributes={"path": whole.id})
    shown = selection(whole.id, asked.start, end, part[:_MOST_CHARACTERS], modified=whole.modified)
    left = "" if end == len(lines) else f"It goes on: readNote with start {end + 1}."
    if len(part) > _MOST_CHARACTERS:
        left = f"Line {end:,} is longer than what is shown of it. {left}".strip()
    return compose(
        "readNote",
        _PART,
        [shown],
        first=desk.first,
        attributes={"path": whole.id, "lines": f"{asked.start}-{end} of {len(lines)}"},
        after=left,
    )


def _end(lines: list[str], start: int) -> int:
    """The last line of a part: as many as fit, and always one."""
    size = 0
    for number in range(start, min(len(lines), start + _MOST_LINES - 1) + 1):
        size += len(lines[number - 1]) + 1
        if size > _MOST_CHARACTERS and number > start:
            return number - 1
    return min(len(lines), start + _MOST_LINES - 1)


def _note(mounted: Mounted, path: str) -> ContextItem:
    """By its path; else the only note of that name, with or without brackets around it."""
    wanted = path.strip().removeprefix("[[").removesuffix("]]").partition("|")[0]
    try:
        return mounted.note(wanted)
    except NotFoundError:
        found = resolve_notes([NoteReference(wanted)], mounted.paths())[0]
        if found.path is None:
            raise NotFoundError(
                f"there is no note {wanted[:200]!r}", hint=found.warning or "getFileTree lists them"
            ) from None
        return mounted.note(found.path)


READ_NOTE = Tool(
    name="readNote",
    description="Read one of the user's notes, by its path or name.",
    arguments=ReadArguments,
    run=_run,
)
