"""Help, generated from the catalog: what is permitted, and what is not and why."""

from collections.abc import Iterable

from weft.commands.catalog import CATALOG, ROWS, refusal
from weft.commands.grammar import CommandRow
from weft.commands.hints import DOUBTFUL, verbs
from weft.commands.reply import done
from weft.errors import InvalidSyntaxError
from weft.tree.agent import Permission


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
