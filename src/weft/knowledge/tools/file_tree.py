"""`getFileTree`: which notes there are, as folders within folders."""

from collections.abc import Iterator
from typing import TypeAlias

from pydantic import Field

from weft.context.layers.blocks import ToolOutput
from weft.context.layers.escaping import one_line
from weft.errors import UnavailableError
from weft.knowledge.tools.base import Arguments, Desk, Tool
from weft.knowledge.tools.composing import say

__all__ = ["GET_FILE_TREE", "TreeArguments"]

_INSTRUCTION = (
    "These are the notes that may be read; a note's path is its folders and its name with / between:"
)
_NONE = "No folder of notes is mounted: there are no files to list."
_MOST_LINES = 1_000
_INDENT = "  "

Folder: TypeAlias = dict[str, "Folder | None"]
"""Names in a folder: each a note, or a folder again."""


class TreeArguments(Arguments):
    vault: str | None = Field(default=None, max_length=200, description="Only this vault.")
    folder: str = Field(default="", max_length=1_000, description="Only this folder, by its path.")


def _run(desk: Desk, asked: TreeArguments) -> ToolOutput:
    mounted = desk.mounted()
    vaults = list(mounted.vaults) if asked.vault is None else [mounted.vault(asked.vault)]
    if not vaults:
        raise UnavailableError(_NONE, hint="mount one: weft vault add FOLDER")
    attributes = {name: value for name, value in (("vault", asked.vault), ("folder", asked.folder)) if value}
    drawn: list[str] = []
    for vault in vaults:
        folder = mounted.folder(vault)
        within = asked.folder.strip("/")
        if within and len(vaults) > 1 and not (folder.root / within).is_dir():
            continue
        drawn.append(f"{one_line(vault.name)}:")
        drawn += _drawn(_nested(folder.notes(within).paths))
    return say("getFileTree", _INSTRUCTION, "\n".join(drawn), attributes=attributes)


def _nested(paths: tuple[str, ...]) -> Folder:
    top: Folder = {}
    for path in paths:
        *folders, name = path.split("/")
        here = top
        for each in folders:
            inner = here.setdefault(each, {})
            here = inner if inner is not None else here
        here[name] = None
    return top


def _drawn(top: Folder) -> list[str]:
    """Every line; where there are too many, only folders down to a depth that fits, with how much is in them."""
    for depth in (None, 4, 3, 2, 1):
        lines = list(_lines(top, 1, depth))
        if len(lines) <= _MOST_LINES:
            return lines
    left = len(lines) - _MOST_LINES
    return [*lines[:_MOST_LINES], f"{_INDENT}… and {left:,} more: ask for one folder"]


def _lines(folder: Folder, level: int, depth: int | None) -> Iterator[str]:
    indent = _INDENT * level
    notes = [name for name, inner in folder.items() if inner is None]
    for name, inner in sorted(folder.items()):
        if inner is not None:
            shown = one_line(name)
            if depth is not None and level >= depth:
                yield f"{indent}{shown}/ ({_count(inner):,} notes)"
            else:
                yield f"{indent}{shown}/"
                yield from _lines(inner, level + 1, depth)
    if depth is None:
        yield from (f"{indent}{one_line(name)}" for name in sorted(notes))
    elif notes:
        yield f"{indent}({len(notes):,} notes)"


def _count(folder: Folder) -> int:
    return sum(1 if inner is None else _count(inner) for inner in folder.values())


GET_FILE_TREE = Tool(
    name="getFileTree",
    description="List the user's notes as a tree of folders.",
    arguments=TreeArguments,
    run=_run,
)
