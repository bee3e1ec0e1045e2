"""Commands that look: view, list, tree, switch, search, help."""

from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from weft.commands import actions as v
from weft.commands import reply
from weft.commands.catalog import help_on, help_text
from weft.commands.reply import Shown, branch_as_nodes, branch_as_prose, tree_drawn, viewed
from weft.context.agent_view.loom_block import HeadingFacts, escape_look_alikes, marked_prose
from weft.context.items.blocks import one_line
from weft.errors import LimitExceededError, NotFoundError
from weft.knowledge.tools.base import part_of
from weft.runtime.collaboration.commands.context import CommandContext, CommandOutcome, names_of
from weft.runtime.contexts.loom_view import words_of
from weft.runtime.operations.cursors import Direction, Switch
from weft.runtime.operations.references import TargetRef
from weft.runtime.operations.tool_results import FIRST_HANDLE
from weft.runtime.search.options import SearchOptions
from weft.runtime.search.results import Hit, HitKind
from weft.runtime.search.search import search
from weft.runtime.summaries.summariser import on_demand
from weft.tree.agent import AgentType
from weft.tree.citation import cited_sources
from weft.tree.document import Document
from weft.tree.node import Node
from weft.tree.reference import Target, TargetKind
from weft.tree.snippet import EXTRACT, extract
from weft.tree.tree import Mode

_MOST_NODES = 200
"""Of a branch, the last."""
_MOST_ROWS = 100
_MOST_NOTES = 50
_MOST_HITS = 20
_MOST_FOUND = 100
DEEPEST = 100
_EXCERPT = 80


def run_query(context: CommandContext, action: v.QueryAction) -> CommandOutcome:
    match action:
        case v.ViewCommand():
            return _view(context, action)
        case v.ViewBranchCommand():
            return _branch(context, action)
        case v.ViewResultCommand(number, part):
            return _result(context, number, part)
        case v.ListCommand():
            return _list(context, action)
        case v.TreeCommand():
            return _draw(context, action)
        case v.SwitchCommand(to):
            where = Direction(to.value) if isinstance(to, v.SwitchDirection) else context.row(to).ulid
            at = context.see.row(context.tree, context.caller.perform(Switch(tree=context.tree, to=where)))
            return CommandOutcome(text=reply.switched(at.local_id, at.depth))
        case v.SearchCommand(query):
            return _search(context, query)
        case v.HelpCommand(name):
            mine, crossing = context.session.permissions, context.session.crossing
            on = None if name is None else help_on(name, mine, crossing=crossing)
            return CommandOutcome(text=on or help_text(mine, crossing=crossing))
        case _:
            assert_never(action)


def summed_up(nodes: Iterable[Node]) -> str:
    """Node by node in short."""
    return "\n".join(f"[{node.local_id}] {in_brief(node)[0].removeprefix(EXTRACT)}" for node in nodes)


def _view(context: CommandContext, action: v.ViewCommand) -> CommandOutcome:
    node = context.node(action.node)
    notes, count = [], 0
    if action.annotations:
        notes, count = context.see.hanging(context.tree, node.id, annotations=True, limit=_MOST_NOTES)
    facts = context.facts([node, *notes])
    text, is_short = (words_of(node.content), False) if action.full else brief_node(context, node)
    shown = [_shown(context, each, facts) for each in notes]
    whole = Shown(context.heading(node, facts), escape_look_alikes(text))
    answer = viewed(whole, summary=is_short, annotations=shown)
    if node.citations:
        answer += f"\n  cites {' · '.join(map(one_line, cited_sources(node.citations)))}"
    if count > len(notes):
        answer += f"\n  {count - len(notes):,} more annotations · → list {node.local_id} annotations"
    return CommandOutcome(text=answer, brief=in_brief(node)[0].removeprefix(EXTRACT))


def _shown(context: CommandContext, node: Node, facts: Mapping[str, HeadingFacts]) -> Shown:
    return Shown(context.heading(node, facts), escape_look_alikes(words_of(node.content)))


def _branch(context: CommandContext, action: v.ViewBranchCommand) -> CommandOutcome:
    end = context.row(action.node)
    nodes = list(context.read.path(context.tree, end.ulid, tail=_MOST_NODES))
    if action.shape is v.BranchShape.NODES:
        facts = context.facts(nodes)
        text = branch_as_nodes([_shown(context, each, facts) for each in nodes])
    else:
        text = branch_as_prose(end.local_id, _prose(context, nodes), len(nodes))
    before = nodes[0].depth
    if before:
        more = reply.counted(before, "earlier node")
        text += f"\n  {more} left out · → view branch:{nodes[0].local_id} as:{action.shape} shows them"
    return CommandOutcome(text=text, brief=summed_up(nodes))


def _prose(context: CommandContext, nodes: list[Node]) -> str:
    if context.see.mode(context.tree) is Mode.BUFFER:
        return marked_prose((node.text, node.author_type is AgentType.MODEL) for node in nodes)
    return "\n\n".join(words_of(node.content) for node in nodes)


def no_result(number: int) -> NotFoundError:
    hint = "results of this run and of the last one can be viewed, and pinned ones; do it again"
    return NotFoundError(f"there is no result:{number}", hint=hint)


def _result(context: CommandContext, number: int, part: v.LineSpan | None) -> CommandOutcome:
    result = context.session.result(number)
    if result is None:
        text = context.read.tool_result(context.tree, number) if number >= FIRST_HANDLE else None
        if text is None:
            raise no_result(number)
        return CommandOutcome(text=_lines(number, escape_look_alikes(text), part))
    if result.ok:
        return CommandOutcome(text=_lines(number, result.text, part) if part else result.text)
    # To see a refusal again is none.
    lines = (f"  {line}" for line in result.text.split("\n"))
    return CommandOutcome(text="\n".join([reply.done(f"result:{number}", "refused"), *lines]))


def _lines(number: int, text: str, part: v.LineSpan | None) -> str:
    """Some lines of a result, with the way to the next ones."""
    lines = text.split("\n")
    first, last = (1, None) if part is None else (part.first, part.last)
    if first > len(lines):
        raise NotFoundError(f"result:{number} has lines 1-{len(lines)}", hint=f"→ view result:{number}")
    shown, end, cut = part_of(lines, first, last)
    after = f"→ view result:{number} lines:{end + 1}-{min(2 * end + 1 - first, len(lines))} shows more"
    head = reply.done(f"result:{number}", f"lines {first}-{end} of {len(lines)}", cut)
    return "\n".join([head, shown, *([] if end == len(lines) else [f"  {after}"])])


def _list(context: CommandContext, action: v.ListCommand) -> CommandOutcome:
    row, what = context.row(action.node), action.what
    match what:
        case v.ListingKind.LINKS:
            rows = _links(context, row.ulid)
            count = len(rows)
        case v.ListingKind.CONTINUATIONS | v.ListingKind.ANNOTATIONS:
            notes = what is v.ListingKind.ANNOTATIONS
            nodes, count = context.see.hanging(context.tree, row.ulid, annotations=notes, limit=_MOST_ROWS)
            rows = _nodes(context, nodes)
        case v.ListingKind.VERSIONS:
            nodes = context.see.lineage(context.tree, row.ulid)
            rows, count = _nodes(context, nodes[:_MOST_ROWS]), len(nodes)
        case _:
            assert_never(what)
    shown = rows[:_MOST_ROWS]
    return CommandOutcome(text=reply.listed(row.local_id, what, shown, more=count - len(shown)))


def _nodes(context: CommandContext, nodes: list[Node]) -> list[str]:
    facts = context.facts(nodes)
    return [
        f"{context.heading(node, facts)} · {reply.quoted(in_brief(node)[0].removeprefix(EXTRACT))}"
        for node in with_summaries(context, nodes)
    ]


def _links(context: CommandContext, node: str) -> list[str]:
    links = context.read.links(TargetRef(TargetKind.NODE, node, context.tree))
    here = Target(TargetKind.NODE, node)
    names = names_of(context.see, context.tree, {link.other(here) for link in links})
    return [
        f"{names[link.other(here)]}{f' · {reply.quoted(link.note)}' if link.note else ''}"
        for link in links
        if link.other(here) in names
    ]


def _draw(context: CommandContext, action: v.TreeCommand) -> CommandOutcome:
    if not 0 <= action.depth <= DEEPEST:
        raise LimitExceededError(f"max depth of a drawing is {DEEPEST}", hint=f"use depth:{DEEPEST} or less")
    start = None if action.start is None else context.row(action.start).ulid
    drawn = context.see.drawn(context.tree, start, depth=action.depth, summary=action.summary)
    if action.summary and drawn.nodes:
        nodes = [context.read.node(context.tree, node) for node in drawn.nodes]
        if with_summaries(context, nodes) != nodes:
            drawn = context.see.drawn(context.tree, start, depth=action.depth, summary=True)
    return CommandOutcome(text=tree_drawn(drawn.rows, drawn.depth))


def _search(context: CommandContext, query: str) -> CommandOutcome:
    everywhere = context.command.grove
    wanted = SearchOptions(query=query, tree=None if everywhere else context.tree, limit=_MOST_FOUND)
    hits = search(context.caller.store, context.caller.actor, wanted)
    rows = [_hit(hit, everywhere=everywhere) for hit in hits[:_MOST_HITS]]
    text = reply.searched(query, rows, more=len(hits) - len(rows))
    return CommandOutcome(text=text, detail=f"{len(hits)} {'result' if len(hits) == 1 else 'results'}")


def _hit(hit: Hit, *, everywhere: bool) -> str:
    where = f" in {reply.called('tree', hit.title)}" if everywhere else ""
    snippet = reply.short(hit.snippet.text, 2 * _EXCERPT)
    match hit.kind:
        case HitKind.NODE:
            return f"[{hit.local_id}]{where} {reply.short(hit.author or '')} · {snippet}"
        case HitKind.TAG:
            on = f"[{hit.local_id}]{where}" if hit.local_id is not None else f'"{reply.short(hit.title)}"'
            return f"{on} #{snippet}"
        case HitKind.DOCUMENT:
            return f"{reply.called('doc', hit.title)} · {snippet}"
        case HitKind.TREE:
            return reply.called("tree", hit.title)
        case _:
            assert_never(hit.kind)


def in_brief(node: Node) -> tuple[str, bool]:
    """A node in short, and whether that leaves something out: its summary, else its first sentence."""
    words = words_of(node.content).strip()
    first = extract(words)
    if first.removeprefix(EXTRACT) == " ".join(words.split()):
        return words, False
    return node.summary or first, True


def brief_node(context: CommandContext, node: Node) -> tuple[str, bool]:
    """The same; a missing summary is made, also of an excluded node: it was named."""
    text, is_short = in_brief(node)
    if not is_short or node.summary is not None:
        return text, is_short
    return on_demand(context.session.executor, lambda make: make.node(node.tree_id, node.id)) or text, True


def brief_document(context: CommandContext, document: Document) -> str:
    """A document's summary, which is made if it is missing."""
    if document.summary is not None:
        return document.summary
    made = on_demand(context.session.executor, lambda make: make.document(document.id))
    return made or extract(document.content)


def with_summaries(context: CommandContext, nodes: Sequence[Node]) -> list[Node]:
    """The nodes, with summaries where they are longer than one sentence; missing ones are made."""
    missing = [node for node in nodes if node.summary is None and in_brief(node)[1]]
    if not missing:
        return list(nodes)
    made = on_demand(context.session.executor, lambda make: make.nodes(context.tree, missing)) or ()
    return list(({node.id: node for node in nodes} | {node.id: node for node in made}).values())
