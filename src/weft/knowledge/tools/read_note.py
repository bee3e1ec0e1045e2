"""`readNote`: one note, whole or in parts."""

import re

from pydantic import Field

from weft.context.items.blocks import ToolOutput
from weft.context.items.item_types import ContextItem, note, selection
from weft.context.items.note_lookup import ListedNote, NoteReference, resolve_notes
from weft.errors import InvalidInputError, NotFoundError
from weft.knowledge.notes import Mounted
from weft.knowledge.tools.base import Tool, ToolArguments, ToolContext, compose, part_of

_INSTRUCTION = "This is the note that was asked for, as it is now:"
_PART = "This is a part of the note that was asked for, as it is now:"
_LINES = re.compile(r"L([1-9]\d{0,8})(?:-L?\d{1,9})?")


class ReadArguments(ToolArguments):
    path: str = Field(min_length=1, max_length=1_000, description="Its path in a vault, or its name.")
    start: int = Field(default=1, ge=1, description="The line to begin at.")


def _run(desk: ToolContext, asked: ReadArguments) -> ToolOutput:
    mounted = desk.mounted()
    whole, named = _note(mounted, asked.path)
    begin = named if asked.start == 1 else asked.start
    lines = whole.content.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if begin > len(lines):
        raise InvalidInputError(f"{whole.id} has {len(lines):,} lines; line {begin:,} is not there")
    part, end, cut = part_of(lines, begin)
    if begin == 1 and end == len(lines) and not cut:
        shown = note(whole.id, whole.content, created=whole.created, modified=whole.modified)
        return compose("readNote", _INSTRUCTION, [shown], first=desk.first, attributes={"path": whole.id})
    shown = selection(whole.id, begin, end, part, modified=whole.modified)
    left = "" if end == len(lines) else f"It goes on: readNote with start {end + 1}."
    return compose(
        "readNote",
        _PART,
        [shown],
        first=desk.first,
        attributes={"path": whole.id, "lines": f"{begin}-{end} of {len(lines)}"},
        after=f"{cut} {left}".strip(),
    )


def _note(mounted: Mounted, path: str) -> tuple[ContextItem, int]:
    """A note by its path, else the only one of that name, with or without [[ ]]; and the line to begin at.

    A search result `PATH#L3-L9` is read from line 3, `PATH#Heading` from the beginning.
    """
    wanted = path.strip().removeprefix("[[").removesuffix("]]").partition("|")[0].strip()
    before, mark, within = wanted.rpartition("#")
    lines = _LINES.fullmatch(within)
    listing: list[ListedNote] = []
    matches: tuple[str, ...] = ()
    for name, begin in ((wanted, 1), (before, int(lines[1]) if lines else 1)) if mark else ((wanted, 1),):
        try:
            return mounted.note(name), begin
        except NotFoundError:
            listing = listing or mounted.paths()
        resolved = resolve_notes([NoteReference(name)], listing)[0]
        if resolved.path is not None:
            return mounted.note(resolved.path), begin
        matches = matches or resolved.matches
    hint = f"several have this name: {', '.join(matches)}" if matches else "getFileTree lists the notes"
    raise NotFoundError(f"there is no note {wanted[:200]!r}", hint=hint)


READ_NOTE = Tool(
    name="readNote",
    description="Read one of the user's notes, by its path or name.",
    arguments=ReadArguments,
    run=_run,
    pages=True,
)
