"""What a command is answered: one line that begins with ✓ or ✗, then what was asked for, set in by two spaces."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from weft.commands.lexer import quote
from weft.error_hints import Face, hint_on
from weft.errors import CrossTreeError, NotFoundError, WeftError
from weft.tree.measure import measure
from weft.tree.tree import Mode

_FACTS = " · "
_BREAKS = re.compile(r"\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")


def one_line(text: str) -> str:
    """A name or a text on one line: it cannot begin a line of the answer."""
    return _BREAKS.sub(" ", text)


def failed(error: WeftError) -> str:
    """An error as a model reads it."""
    advice = hint_on(Face.AGENT, error.hint)
    hint = "" if advice is None else f"\n  hint: {one_line(advice)}"
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
    return done(f"linked [{node}] to {other}", f'"{short(note)}"' if note else "")


def unlinked(node: str, other: str) -> str:
    return done(f"unlinked [{node}] from {other}")


def tagged(node: str, name: str) -> str:
    return done(f"tagged [{node}]", f"#{short(name)}")


def untagged(node: str, name: str) -> str:
    return done(f"untagged [{node}]", f"#{short(name)}")


def bookmarked(node: str, label: str | None = None) -> str:
    return done(f"bookmarked [{node}]", f'"{short(label)}"' if label else "")


def unbookmarked(node: str) -> str:
    return done(f"unbookmarked [{node}]")


def pruned(node: str, count: int) -> str:
    return done(f"pruned [{node}]", counted(count, "node"), f"→ restore {node} brings it back")


def restored(node: str, count: int) -> str:
    return done(f"restored [{node}]", counted(count, "node"))


def excluded(node: str) -> str:
    return done(f"excluded [{node}]", "left out of contexts")


def included(node: str) -> str:
    return done(f"included [{node}]", "in contexts again")


def collapsed(first: str, last: str, name: str, count: int) -> str:
    return done(f'collapsed [{first}]-[{last}] as "{short(name)}"', counted(count, "node"))


def expanded(name: str, count: int) -> str:
    return done(f'expanded "{short(name)}"', counted(count, "node"))


def quoted(text: str) -> str:
    """A name in quotation marks, on one line and shortened."""
    return f'"{short(text)}"'


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
    return done(f'stashed "{short(label)}"', counted(tokens, "token"))


def recalled(label: str) -> str:
    return done(f'recalled "{short(label)}"', "in your memory block until the end of the next turn")


def dropped(what: str) -> str:
    return done(f"dropped {what}")


def continued(start: str, new: Sequence[str], agent: str) -> str:
    return done(f"continued from [{start}]", counted(len(new), "result"), _ids(new), f"by {short(agent)}")


def wrote(title: str, what: str, revision: int) -> str:
    """`what` is `appended`, `inserted`, `replaced` or `nothing changed`."""
    return done(f"{what} in {called('doc', title)}", f"revision {revision}")


def listed(node: str, what: str, rows: Sequence[str], *, more: int = 0) -> str:
    """`what` is the plural: `continuations`."""
    count = counted(len(rows) + more, what.removesuffix("s"))
    head = done(f"[{node}] has {count}", f"{len(rows)} shown" if more else "")
    return "\n".join([head, *(f"  {one_line(row)}" for row in rows)])


def searched(query: str, rows: Sequence[str], *, more: int = 0) -> str:
    head = done(
        f'"{short(query)}"', counted(len(rows) + more, "result"), f"{len(rows)} shown" if more else ""
    )
    return "\n".join([head, *(f"  {one_line(row)}" for row in rows)])


def _ids(nodes: Iterable[str]) -> str:
    return ", ".join(f"[{node}]" for node in nodes)


def counted(number: int, noun: str) -> str:
    """`2 nodes`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def short(text: str, most: int = 80) -> str:
    """A text on one line, no longer than this."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


INLINE_TOKENS = 1_000
"""From here on a result is given in short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one command came to. The number is its handle for the rest of the run."""

    number: int
    command: str
    """In its canonical form."""
    text: str
    ok: bool
    turn: int
    """The turn of the run in which it was made."""
    tokens: int
    short: str | None = None
    """What is shown instead, if the whole is too long."""
    error: WeftError | None = None
    nodes: tuple[str, ...] = ()
    """Local ids of the nodes that it made."""

    @property
    def shown(self) -> str:
        return self.text if self.short is None else self.short


def shortened(result: Result, summarise: Callable[[str], str], *, inline: int = INLINE_TOKENS) -> Result:
    """The result as it goes back: whole up to the threshold, else its summary and the handle for the rest.

    Whole, too, where the summary and the handle would be longer.
    """
    if result.tokens <= inline:
        return result
    first, _, _ = result.text.partition("\n")
    note = f"  {result.tokens:,} tokens in all · → view result:{result.number} for the rest"
    summary = summarise(result.text).rstrip().lstrip("\n")
    text = f"{first}\n{summary}\n{note}"
    shorter = len(text) < len(result.text) and measure(text).tokens < result.tokens
    return replace(result, short=text) if shorter else result


def results_message(results: Sequence[Result]) -> str:
    """One user message with the results of a batch, in order."""
    return "\n\n".join(
        f"[result:{each.number}] → {short(each.command, 120)}\n{each.shown}" for each in results
    )


@dataclass(frozen=True, slots=True)
class Shown:
    """A node under its heading."""

    heading: str
    """`[a7x2] human · 3m ago`."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRow:
    """One node of a drawing, in the order in which they are drawn."""

    local_id: str
    depth: int
    """From where the drawing begins."""
    text: str
    """An excerpt, or the summary."""
    here: bool = False
    more: int = 0
    """Continuations that lie too deep to be drawn."""


def viewed(node: Shown, *, summary: bool, annotations: Sequence[Shown] = ()) -> str:
    """One node, in short unless it was asked for in full."""
    note = "summary; → view … full for the text" if summary else ""
    lines = [done(node.heading, note), _set_in(node.text)]
    for each in annotations:
        lines += [f"  {each.heading}", _set_in(each.text, "    ")]
    return "\n".join(lines)


def branch_as_nodes(nodes: Sequence[Shown]) -> str:
    """A branch, each node by itself with its full heading."""
    lines = [done(counted(len(nodes), "node"))]
    for each in nodes:
        lines += [f"  {each.heading}", _set_in(each.text, "    ")]
    return "\n".join(lines)


def branch_as_prose(node: str, prose: str, count: int) -> str:
    """A branch stitched together, for reading."""
    return "\n".join([done(f"branch to [{node}]", counted(count, "node")), _set_in(prose)])


def tree_drawn(rows: Sequence[TreeRow], depth: int) -> str:
    """A drawing by indentation; `*` is the cursor."""
    first = rows[0].local_id if rows else ""
    lines = [done(f"tree from [{first}]" if first else "tree", f"depth:{depth}", counted(len(rows), "node"))]
    for row in rows:
        star = "*" if row.here else ""
        more = f" · {row.more:,} more below" if row.more else ""
        lines.append(f"  {'  ' * row.depth}[{row.local_id}]{star} {short(row.text, 80)}{more}".rstrip())
    return "\n".join(lines)


def document_read(title: str, text: str, *, part: str = "", revision: int) -> str:
    """`part` is `summary`, `lines 12-20` or `§motivation`; empty for all of it."""
    return "\n".join([done(called("doc", title), part, f"revision {revision}"), _set_in(text)])


def _set_in(text: str, by: str = "  ") -> str:
    """Nothing in a text can begin a line of ours."""
    return "\n".join(f"{by}{line}".rstrip() for line in text.splitlines() or [""])
