"""`getFileTree`: which notes there are, as folders within folders."""

from collections.abc import Iterator
from typing import TypeAlias

from pydantic import Field

from weft.context.layers.blocks import ToolOutput, one_line
from weft.error_hints import Hint, HintKind
from weft.errors import NotFoundError, StorageError, UnavailableError
from weft.knowledge.notes import Mounted
from weft.knowledge.tools.base import Desk, Tool, ToolArguments
from weft.knowledge.tools.tool_output import say
from weft.tree.node import counted
from weft.tree.reference import Vault

_INSTRUCTION = (
    "These are the notes that may be read; a note's path is its folders and its name with / between:"
)
_SEVERAL = "\n(Where an earlier vault has the same path, the vault's name and a colon stand before it.)"
_NONE = "No folder of notes is mounted: there are no files to list."
_MOST_LINES = 1_000
_INDENT = "  "

Folder: TypeAlias = dict[str, "Folder | None"]
"""Names in a folder: each a note, or a folder again."""


class FileTreeArguments(ToolArguments):
    vault: str | None = Field(default=None, max_length=200, description="Only this vault.")
    folder: str = Field(
        default="", max_length=1_000, description="Only this folder, by its path, or VAULT/PATH."
    )


def _run(desk: Desk, asked: FileTreeArguments) -> ToolOutput:
    mounted = desk.mounted()
    if not mounted.vaults:
        raise UnavailableError(_NONE, hint=Hint(HintKind.ADD_VAULT))
    attributes = {name: value for name, value in (("vault", asked.vault), ("folder", asked.folder)) if value}
    within = asked.folder.strip("/")
    if asked.vault is not None:
        vault = mounted.vault(asked.vault)
        drawn = _of_vault(vault, mounted.folder(vault).notes(within).paths)
    else:
        drawn = _of_all(mounted, within) or _of_named(mounted, within)
    several = _SEVERAL if len(mounted.vaults) > 1 else ""
    return say("getFileTree", _INSTRUCTION + several, "\n".join(drawn), attributes=attributes)


def _of_all(mounted: Mounted, within: str) -> list[str]:
    """What the vaults have there; one that cannot be read keeps no others."""
    drawn: list[str] = []
    for vault in mounted.vaults:
        try:
            folder = mounted.folder(vault)
            if not within or folder.has_folder(within):
                drawn += _of_vault(vault, folder.notes(within).paths)
        except (NotFoundError, StorageError):
            drawn.append(f"{one_line(vault.name)}: cannot be read now")
    return drawn


def _of_named(mounted: Mounted, within: str) -> list[str]:
    """`VAULT/PATH`, as folders are named elsewhere."""
    name, _, rest = within.partition("/")
    for vault in mounted.vaults:
        if vault.name.lower() == name.lower():
            return _of_vault(vault, mounted.folder(vault).notes(rest).paths)
    raise NotFoundError(
        f"no vault has a folder {within[:200]!r}", hint="getFileTree without a folder lists them"
    )


def _of_vault(vault: Vault, paths: tuple[str, ...]) -> list[str]:
    return [f"{one_line(vault.name)}:", *_drawn(_nested(paths))]


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
                yield f"{indent}{shown}/ ({counted(_count(inner), 'note')})"
            else:
                yield f"{indent}{shown}/"
                yield from _lines(inner, level + 1, depth)
    if depth is None:
        yield from (f"{indent}{one_line(name)}" for name in sorted(notes))
    elif notes:
        yield f"{indent}({counted(len(notes), 'note')})"


def _count(folder: Folder) -> int:
    return sum(1 if inner is None else _count(inner) for inner in folder.values())


GET_FILE_TREE = Tool(
    name="getFileTree",
    description="List the user's notes as a tree of folders.",
    arguments=FileTreeArguments,
    run=_run,
)
