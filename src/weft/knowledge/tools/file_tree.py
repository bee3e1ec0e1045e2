"""`getFileTree`: the notes of the vaults as a tree of folders."""

from collections.abc import Iterable, Iterator

from pydantic import Field

from weft.context.items.blocks import ToolOutput, one_line
from weft.error_hints import Hint, HintKind
from weft.errors import NotFoundError, StorageError, UnavailableError
from weft.knowledge.notes import Mounted
from weft.knowledge.tools.base import Tool, ToolArguments, ToolContext, say
from weft.tree.node import counted
from weft.tree.reference import Vault

_INSTRUCTION = (
    "These are the notes that may be read; a note's path is its folders and its name with / between:"
)
_SEVERAL = "\n(Where an earlier vault has the same path, the vault's name and a colon precede it.)"
_NONE = "No folder of notes is mounted: there are no files to list."
_MOST_LINES = 1_000
_INDENT = "  "


class FileTreeArguments(ToolArguments):
    vault: str | None = Field(default=None, max_length=200, description="Only this vault.")
    folder: str = Field(
        default="", max_length=1_000, description="Only this folder, by its path, or VAULT/PATH."
    )


def _run(desk: ToolContext, asked: FileTreeArguments) -> ToolOutput:
    mounted = desk.mounted()
    if not mounted.vaults:
        raise UnavailableError(_NONE, hint=Hint(HintKind.ADD_VAULT))
    attributes = {name: value for name, value in asked.model_dump().items() if value}
    within = asked.folder.strip("/")
    if asked.vault is not None:
        vault = mounted.vault(asked.vault)
        drawn = _of_vault(vault, mounted.folder(vault).notes(within).paths)
    else:
        drawn = _of_all(mounted, within) or _of_named(mounted, within)
    several = _SEVERAL if len(mounted.vaults) > 1 else ""
    return say("getFileTree", _INSTRUCTION + several, "\n".join(drawn), attributes=attributes)


def _of_all(mounted: Mounted, within: str) -> list[str]:
    """What all vaults have at that path; one that cannot be read is only named."""
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
    """The folder `VAULT/PATH`."""
    name, _, rest = within.partition("/")
    for vault in mounted.vaults:
        if vault.name.lower() == name.lower():
            return _of_vault(vault, mounted.folder(vault).notes(rest).paths)
    raise NotFoundError(
        f"no vault has a folder {within[:200]!r}", hint="getFileTree without a folder lists them"
    )


def _of_vault(vault: Vault, paths: tuple[str, ...]) -> list[str]:
    """A vault's notes, one a line; if there are too many, only folders to a depth that fits, with counts."""
    title = f"{one_line(vault.name)}:"
    for depth in (None, 4, 3, 2, 1):
        lines = [title, *_lines(paths, 1, depth)]
        if len(lines) <= _MOST_LINES + 1:
            return lines
    left = len(lines) - _MOST_LINES - 1
    return [*lines[: _MOST_LINES + 1], f"{_INDENT}… and {left:,} more: ask for one folder"]


def _lines(paths: Iterable[str], level: int, depth: int | None) -> Iterator[str]:
    """Folders, then notes. From `depth` on, only how many notes there are."""
    indent = _INDENT * level
    folders: dict[str, list[str]] = {}
    notes: list[str] = []
    for path in paths:
        name, slash, rest = path.partition("/")
        if slash:
            folders.setdefault(name, []).append(rest)
        else:
            notes.append(name)
    for name, inner in sorted(folders.items()):
        if depth is not None and level >= depth:
            yield f"{indent}{one_line(name)}/ ({counted(len(inner), 'note')})"
        else:
            yield f"{indent}{one_line(name)}/"
            yield from _lines(inner, level + 1, depth)
    if depth is None:
        yield from (f"{indent}{one_line(name)}" for name in sorted(notes))
    elif notes:
        yield f"{indent}({counted(len(notes), 'note')})"


GET_FILE_TREE = Tool(
    name="getFileTree",
    description="List the user's notes as a tree of folders.",
    arguments=FileTreeArguments,
    run=_run,
)
