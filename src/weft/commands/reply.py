"""What a command is answered: one line that begins with ✓ or ✗, ids in brackets, ` · ` between facts."""

import re
from collections.abc import Iterable, Sequence

from weft.commands.lexer import quote
from weft.errors import CrossTreeError, NotFoundError, WeftError
from weft.tree.tree import Mode

__all__ = [
    "annotated",
    "attached",
    "bookmarked",
    "called",
    "collapsed",
    "continued",
    "document_outside",
    "done",
    "dropped",
    "edited",
    "excluded",
    "expanded",
    "failed",
    "included",
    "joined",
    "linked",
    "listed",
    "merged",
    "missing_node",
    "one_line",
    "pinned",
    "pruned",
    "quoted",
    "recalled",
    "redone",
    "responded",
    "restored",
    "searched",
    "split",
    "stashed",
    "switched",
    "tagged",
    "unbookmarked",
    "unchanged",
    "undone",
    "unlinked",
    "untagged",
    "wrote",
]

_FACTS = " · "
_BREAKS = re.compile(r"\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")


def one_line(text: str) -> str:
    """What somebody named or wrote cannot begin a line of ours."""
    return _BREAKS.sub(" ", text)


def failed(error: WeftError) -> str:
    """An error as a model reads it."""
    hint = "" if error.hint is None else f"\n  hint: {one_line(error.hint)}"
    return f"✗ {error.code}: {one_line(error.message)}{hint}"


def missing_node(reference: str) -> NotFoundError:
    return NotFoundError(f"node [{reference}] does not exist in this tree")


def document_outside(title: str, flagged: str) -> CrossTreeError:
    """A document that is linked neither to this tree nor to its nodes."""
    return CrossTreeError(f'document "{title}" is not linked to this tree', hint=f"→ {flagged}")


def done(*facts: str) -> str:
    """A success in one line; what is empty is left out."""
    return f"✓ {_FACTS.join(map(one_line, filter(None, facts)))}"


def unchanged(*facts: str) -> str:
    """A command that found everything as it asks for, or nothing to change."""
    return done("nothing changed", *facts)


def edited(new: str, old: str, mode: Mode) -> str:
    if mode is Mode.BUFFER:
        return f"✓ created version [{new}] from [{old}]\n  downstream nodes preserved via hyperedge"
    return f"✓ created branch [{new}] from [{old}]\n  conversation continues from edit point"


def responded(new: str, to: str) -> str:
    return done(f"created [{new}] in reply to [{to}]", f"you are at [{new}]")


def annotated(node: str, note: str) -> str:
    return done(f"annotated [{node}]", f"[{note}]")


def merged(new: str, sources: Sequence[str]) -> str:
    return done(f"created [{new}] from {_ids(sources)}", f"you are at [{new}]")


def split(node: str, first: str, second: str) -> str:
    return done(f"split [{node}] into [{first}] and [{second}]")


def joined(new: str, first: str, second: str) -> str:
    return done(f"joined [{first}] and [{second}] as [{new}]")


def attached(node: str, item: str) -> str:
    """`item` is as a link would call it: `[a7x2]`, `doc:"…"`; anything else in quotation marks."""
    return done(f"attached {item} to [{node}]")


def linked(node: str, other: str, note: str = "") -> str:
    return done(f"linked [{node}] to {other}", f'"{_short(note)}"' if note else "")


def unlinked(node: str, other: str) -> str:
    return done(f"unlinked [{node}] from {other}")


def tagged(node: str, name: str) -> str:
    return done(f"tagged [{node}]", f"#{_short(name)}")


def untagged(node: str, name: str) -> str:
    return done(f"untagged [{node}]", f"#{_short(name)}")


def bookmarked(node: str, label: str | None = None) -> str:
    return done(f"bookmarked [{node}]", f'"{_short(label)}"' if label else "")


def unbookmarked(node: str) -> str:
    return done(f"unbookmarked [{node}]")


def pruned(node: str, count: int) -> str:
    return done(f"pruned [{node}]", _count(count, "node"), f"→ restore {node} brings it back")


def restored(node: str, count: int) -> str:
    return done(f"restored [{node}]", _count(count, "node"))


def excluded(node: str) -> str:
    return done(f"excluded [{node}]", "left out of contexts")


def included(node: str) -> str:
    return done(f"included [{node}]", "in contexts again")


def collapsed(first: str, last: str, name: str, count: int) -> str:
    return done(f'collapsed [{first}]-[{last}] as "{_short(name)}"', _count(count, "node"))


def expanded(name: str, count: int) -> str:
    return done(f'expanded "{_short(name)}"', _count(count, "node"))


def quoted(text: str) -> str:
    """What somebody called something, on one line and no longer than an answer bears."""
    return f'"{_short(text)}"'


def called(kind: str, title: str) -> str:
    """`doc:"…"` or `tree:"…"`, as a command can say it again."""
    return f"{kind}:{quote(one_line(title))}"


def undone(what: str) -> str:
    return done(f"undid {what}")


def redone(what: str) -> str:
    return done(f"redid {what}")


def switched(node: str, depth: int) -> str:
    return done(f"you are at [{node}]", f"depth:{depth}")


def pinned(what: str) -> str:
    return done(f"pinned {what}")


def stashed(label: str, tokens: int) -> str:
    return done(f'stashed "{_short(label)}"', _count(tokens, "token"))


def recalled(label: str) -> str:
    return done(f'recalled "{_short(label)}"', "in your memory block until the end of the next turn")


def dropped(what: str) -> str:
    return done(f"dropped {what}")


def continued(start: str, new: Sequence[str], agent: str) -> str:
    return done(f"continued from [{start}]", _count(len(new), "result"), _ids(new), f"by {_short(agent)}")


def wrote(title: str, what: str, revision: int) -> str:
    """`what` is `appended`, `inserted`, `replaced` or `nothing changed`."""
    return done(f"{what} in {called('doc', title)}", f"revision {revision}")


def listed(node: str, what: str, rows: Sequence[str], *, more: int = 0) -> str:
    """`what` is the plural: `continuations`."""
    count = _count(len(rows) + more, what.removesuffix("s"))
    head = done(f"[{node}] has {count}", f"{len(rows)} shown" if more else "")
    return "\n".join([head, *(f"  {one_line(row)}" for row in rows)])


def searched(query: str, rows: Sequence[str], *, more: int = 0) -> str:
    head = done(
        f'"{_short(query)}"', _count(len(rows) + more, "result"), f"{len(rows)} shown" if more else ""
    )
    return "\n".join([head, *(f"  {one_line(row)}" for row in rows)])


def _ids(nodes: Iterable[str]) -> str:
    return ", ".join(f"[{node}]" for node in nodes)


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:79] + "…"
