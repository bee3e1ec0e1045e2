"""All commands in one table: reading, writing, help, the trace and the MCP tools follow from these rows."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from weft.commands.grammar import CommandRow
from weft.commands.reply import done
from weft.commands.rows import document_rows, memory_rows, node_rows, query_rows, reference_rows
from weft.commands.scanner import Why
from weft.commands.vocabulary import Sort, VocabularyToken
from weft.errors import InvalidSyntaxError, PermissionDeniedError
from weft.tree.agent import Permission

ROWS: tuple[CommandRow, ...] = (
    *query_rows.ROWS,
    *memory_rows.ROWS,
    *node_rows.ROWS,
    *reference_rows.ROWS,
    *document_rows.ROWS,
)
CATALOG: Mapping[str, CommandRow] = MappingProxyType({row.name: row for row in ROWS})


def refusal(row: CommandRow, permissions: Iterable[Permission]) -> PermissionDeniedError | None:
    """The refusal that an agent with these permissions would get; None if it would not be refused."""
    if row.permission in frozenset(permissions):
        return None
    return PermissionDeniedError(
        f"{row.permission} not enabled",
        hint=f"request elevated permissions or ask the human to {row.verb or row.name}",
    )


HELP = "→ help shows what there is"
_LETTERS = range(3, 21)

DOUBTFUL: Mapping[str, tuple[str, ...]] = {
    verb: tuple(names.split())
    for said, names in {
        "delete erase remove clear": "prune exclude drop",
        "hide": "prune exclude collapse",
        "kill": "prune exclude",
        "forget": "drop exclude",
        "discard": "drop prune",
        "release": "drop restore",
        "save": "bookmark stash pin",
        "store": "stash write",
        "mark flag": "bookmark tag",
        "label": "tag bookmark",
        "remember": "pin stash",
        "keep": "pin stash bookmark",
        "add": "respond annotate attach tag",
        "put": "respond annotate attach",
        "insert": "respond write",
        "replace": "edit write",
        "back": "switch undo",
        "return": "switch respond",
        "revert": "undo restore",
        "get": "view recall",
        "give": "view continue",
        "take": "switch drop",
        "group": "collapse merge",
        "detach": "unlink untag",
        "branch": "respond continue view",
        "fork": "respond continue",
        "copy": "stash respond",
        "summarise summarize": "stash view",
        "summary": "stash view read",
        "make": "respond edit merge",
        "create": "respond link",
        "set": "edit switch",
        "let": "edit continue",
        "have": "continue pin prune",
    }.items()
    for verb in said.split()
}
"""Verbs that could mean things that differ in effect: without a noun that settles it they are asked about."""


@lru_cache(maxsize=1)
def verbs() -> dict[tuple[str, ...], tuple[str, ...]]:
    """Every verb, of one word or more, and the commands it may mean."""
    known: dict[tuple[str, ...], tuple[str, ...]] = {(row.name,): (row.name,) for row in ROWS}
    for row in ROWS:
        for verb in row.verbs:
            said = tuple(verb.partition("=")[0].split())
            if row.name not in known.get(said, ()):
                known[said] = (*known.get(said, ()), row.name)
    return known


def forms(names: Iterable[str]) -> str:
    """The forms of these commands, as a hint."""
    return " · ".join(f"→ {form}" for name in dict.fromkeys(names) for form in CATALOG[name].notations)


def near_misses(word: str) -> list[str]:
    """The commands with a verb written much like this: to ask which was meant, and not to run it."""
    if len(word) not in _LETTERS:
        return []
    singles = [verb[0] for verb in verbs() if len(verb) == 1]
    near = get_close_matches(word, singles, cutoff=0.75)
    return list(dict.fromkeys(name for each in near for name in verbs()[(each,)]))


def doubtful(items: Sequence[VocabularyToken]) -> tuple[str, tuple[str, ...]] | None:
    """The first verb of a line that could mean several commands, and those."""
    for item in items:
        if item.sort is Sort.WORD and item.text in DOUBTFUL:
            return item.text, DOUBTFUL[item.text]
        if item.sort in {Sort.TEXT, Sort.OPTION}:
            break
    return None


class NotRun(NamedTuple):
    """An arrow that would have been a command in another place."""

    command: str
    """In its canonical form, no longer than it takes to know it."""
    why: Why


def not_run_note(ignored: Sequence[NotRun]) -> str:
    """A line for each, to follow the results of a turn."""
    return "\n".join(f"not run, {each.why}: → {each.command}" for each in ignored)


def help_text(permissions: Iterable[Permission], *, crossing: bool = True) -> str:
    """All commands, those that would work first. `crossing`: whether the agent may leave its tree."""
    mine = frozenset(permissions)
    allowed = [row for row in ROWS if row.permission in mine]
    denied = [row for row in ROWS if row.permission not in mine]
    lines = [done(f"{len(allowed)} commands for you", f"{len(denied)} not permitted" if denied else "")]
    for row in allowed:
        lines += _forms(row, crossing=crossing)
    for permission in Permission:
        names = [row.name for row in denied if row.permission is permission]
        if names:
            lines.append(f"  not permitted ({permission} not enabled): {', '.join(names)}")
    beyond = [form for row in allowed for form in row.notations if _leaves(form)]
    if beyond and not crossing:
        lines.append(f"  not permitted (crossTree not enabled): {', '.join(beyond)}")
    if allowed:
        lines.append("  → help COMMAND tells more")
    return "\n".join(lines)


def help_on(name: str, permissions: Iterable[Permission], *, crossing: bool = True) -> str:
    """One command: its forms, what else it is called, and whether it would work."""
    row = CATALOG.get(name)
    if row is None:
        raise InvalidSyntaxError(f"there is no command {name[:40]!r}", hint="→ help shows what there is")
    denied = refusal(row, permissions)
    lines = [done(row.name, row.help)]
    lines += [
        f"  → {_within(form, crossing=crossing)}{_barred(form, crossing=crossing)}" for form in row.notations
    ]
    others = also_called(row)
    if others:
        lines.append(f"  also: {', '.join(others)}")
    if denied is None:
        lines.append(f"  permitted by {row.permission}")
    else:
        lines.append(f"  not permitted: {denied.message}; {denied.hint}")
    return "\n".join(lines)


def also_called(row: CommandRow) -> list[str]:
    """The single verbs that always mean this command."""
    single = (verb.partition("=")[0] for verb in row.verbs if " " not in verb)
    return [verb for verb in single if verb not in DOUBTFUL and verbs()[(verb,)] == (row.name,)]


def _leaves(form: str) -> bool:
    """Whether a form leaves the tree."""
    return form.endswith(" in:grove")


def _within(form: str, *, crossing: bool) -> str:
    """A form without what only who may leave the tree can name; a link that is there goes, wherever it leads."""
    return form if crossing or form.startswith("unlink ") else form.replace('|tree:"…"', "")


def _barred(form: str, *, crossing: bool) -> str:
    return " · not permitted: crossTree not enabled" if _leaves(form) and not crossing else ""


def _forms(row: CommandRow, *, crossing: bool) -> list[str]:
    first, *rest = [
        _within(form, crossing=crossing) for form in row.notations if crossing or not _leaves(form)
    ]
    return [f"  → {first} · {row.help}", *(f"  → {form}" for form in rest)]
