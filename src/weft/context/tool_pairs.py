"""Which tool calls and results can be sent at all, and which results as one line: decided before anything is fitted.

Providers refuse a call without its result and a result without its call. What will not be
sent must not take room from what will, nor count as recent.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from weft.context.call_answers import call_answers
from weft.context.masking import Mask, MaskRule, ToolResults, mask_of
from weft.context.rows import (
    Candidate,
    PathOutline,
    Reason,
    ToolTraffic,
    bound_of,
    least_of_content,
    left_out_of,
    results_in,
    tokens_of_content,
)
from weft.context.tokens import Estimator
from weft.tree.content import Block, Content, Mixed, ToolCall, ToolResult, blocks_of, is_blank

_NO_TOOLS = ToolTraffic((), ())


def tools_in(blocks: Iterable[Block]) -> ToolTraffic:
    """The calls and results among blocks. Results come with no calls: no provider takes both in one message."""
    listed = list(blocks)
    results = tuple(block.call_id for block in listed if isinstance(block, ToolResult))
    calls = [] if results else [block for block in listed if isinstance(block, ToolCall)]
    return ToolTraffic(tuple(call.id for call in calls), results, names=tuple(call.name for call in calls))


def tools_of(content: Content) -> ToolTraffic | None:
    """The tool traffic of one node, where it has any."""
    blocks = blocks_of(content)
    if not any(isinstance(block, ToolCall | ToolResult) for block in blocks):
        return None
    return tools_in(blocks)._replace(content=content if isinstance(content, Mixed) else None)


def without_unpaired(content: Content, tools: ToolTraffic) -> Content:
    """The same content with the calls and results that have their other half, and all that is neither."""
    blocks = blocks_of(content)
    kept = tuple(
        block
        for block in blocks
        if not (isinstance(block, ToolCall) and block.id not in tools.calls)
        and not (isinstance(block, ToolResult) and block.call_id not in tools.results)
    )
    if len(kept) == len(blocks) or not kept:
        return content
    return kept[0] if len(kept) == 1 else Mixed(kept)


def settled(outline: PathOutline, estimator: Estimator) -> PathOutline:
    """The path with everything left out that lost its other half.

    Where only both ends are known, what lies between is cut in any case: a half that lies
    there is not sent.
    """
    if not outline.has_tools:
        return outline
    head = len(outline.head) if outline.between is not None else 0
    before = list(outline.head[:head])
    rows = paired_rows([*before, *outline.tail], estimator, apart=head)
    return replace(outline, head=rows[:head], tail=rows[head:])


def paired_rows(rows: Sequence[Candidate], estimator: Estimator, *, apart: int = 0) -> list[Candidate]:
    """Rows as they can be sent. `apart` is where the second of two stretches begins."""
    if not any(row.tools for row in rows):
        return list(rows)
    first, second = rows[:apart], rows[apart:]
    reasons = [*left_out_of(first, bound_of(first)), *left_out_of(second, bound_of(second))]
    live = [index for index, row in enumerate(rows) if row.tools is not None and reasons[index] is None]
    traffic = [rows[index].tools or _NO_TOOLS for index in live]
    answered = answers_in(traffic)
    results = {(place, call) for (_, call), place in answered.items()}
    paired_up = list(rows)
    for place, (index, tools) in enumerate(zip(live, traffic, strict=True)):
        paired = tools._replace(
            calls=tuple(call for call in tools.calls if (place, call) in answered),
            names=tuple(
                name
                for call, name in zip(tools.calls, tools.names, strict=False)
                if (place, call) in answered
            ),
            results=tuple(call for call in tools.results if (place, call) in results),
        )
        paired_up[index] = _sent(rows[index], paired, estimator)
    return paired_up


def answers_in(traffic: Iterable[ToolTraffic]) -> dict[tuple[int, str], int]:
    """(place of the call, its id) → place of its result.

    Of two results for one call the newer counts: providers refuse a second one.
    """
    messages = ((place, tools.calls, tools.results) for place, tools in enumerate(traffic))
    return {(each.made, each.call): each.answered for each in call_answers(messages, {})}


class PairedPart(NamedTuple):
    """What is sent of one message: these calls and results; its own words, unless another part has them."""

    place: int
    calls: frozenset[str] = frozenset()
    results: frozenset[str] = frozenset()
    words: bool = True


def in_pairs(traffic: Sequence[ToolTraffic]) -> list[PairedPart]:
    """Every message in its order, each result right after its call; a half without its other half is not sent.

    A message may answer several others: its own words follow the last of them.
    """
    answers: dict[int, dict[int, set[str]]] = {}
    for (maker, call), index in answers_in(traffic).items():
        answers.setdefault(maker, {}).setdefault(index, set()).add(call)
    moved = {index: maker for maker in sorted(answers) for index in answers[maker]}
    parts: list[PairedPart] = []
    for index in range(len(traffic)):
        if index not in moved:
            mine = answers.get(index, {})
            parts.append(PairedPart(index, calls=frozenset[str]().union(*mine.values())))
            parts += [
                PairedPart(answer, results=frozenset(mine[answer]), words=moved[answer] == index)
                for answer in sorted(mine)
            ]
    return parts


def _sent(row: Candidate, tools: ToolTraffic, estimator: Estimator) -> Candidate:
    """One level with the traffic that is left to it."""
    if tools == row.tools:
        return row
    content = tools.content
    if content is None:
        return row if tools.calls or tools.results else row._replace(left_out=Reason.UNPAIRED)
    words = without_unpaired(content, tools)
    if words is content or is_blank(words):
        unsaid = not tools.calls and not tools.results
        return row._replace(left_out=Reason.UNPAIRED) if unsaid else row
    saved = tokens_of_content(content, estimator) - tokens_of_content(words, estimator)
    return row._replace(
        tokens=max(1, row.tokens - saved),
        unpaired=row.unpaired + row.tokens - max(1, row.tokens - saved),
        least=least_of_content(words, estimator),
        tools=tools._replace(content=words if isinstance(words, Mixed) else None),
        asks=bool(tools.calls),
        answers=bool(tools.results),
        role="user" if row.role == "tool" and not tools.results else row.role,
    )


def masked_outline(outline: PathOutline, rule: MaskRule, estimator: Estimator) -> PathOutline:
    """The path with its old tool results as one line each; one that has them stays as it is.

    Where only both ends are known, the tail holds all results that stay whole.
    """
    if any(row.masks for rows in (outline.head, outline.tail) for row in rows):
        return outline
    apart = len(outline.head) if outline.between is not None else 0
    rows = with_masks([*outline.head[:apart], *outline.tail], rule, estimator)
    if not any(row.masks for row in rows):
        return outline
    head, tail = rows[:apart], rows[apart:]
    results = results_in(tail, [outline.tail_start, *(row.ruler for row in tail)], rule)
    first, line = results.masked, results.line
    if apart and not rule.step and len(results.levels) >= rule.newest:
        line = outline.tail_start
    before = results_in(head, [0, *(row.ruler for row in head)], rule)
    head = _masked_rows(head, before, before.before(line), estimator)
    tail = _masked_rows(tail, results, first, estimator)
    return replace(outline, head=head if apart else outline.head, tail=tail)


def _masked_rows(
    rows: list[Candidate], results: ToolResults, masked: int, estimator: Estimator
) -> list[Candidate]:
    """Rows of whose results the first so many are lines."""
    for level, several in groupby(results.levels[:masked]):
        rows[level] = _masked(rows[level], len(list(several)), estimator)
    return rows


def with_masks(rows: Sequence[Candidate], rule: MaskRule, estimator: Estimator) -> list[Candidate]:
    """Rows with what their tool results would be as lines."""
    names: dict[str, str] = {}
    masked = list(rows)
    for index, row in enumerate(rows):
        tools = row.tools
        if tools is not None and tools.results:
            masked[index] = row._replace(masks=_masks_of(row, tools, names, rule, estimator))
        elif tools is not None:
            names |= zip(tools.calls, tools.names, strict=False)
    return masked


def _masks_of(
    row: Candidate, tools: ToolTraffic, names: Mapping[str, str], rule: MaskRule, estimator: Estimator
) -> tuple[Mask, ...]:
    place, of_text = f", node {row.local_id}", estimator.of_text
    if tools.content is None:
        return (mask_of(names.get(tools.results[0], ""), row.tokens, place, rule, of_text),)
    masks: list[Mask] = []
    content: Content = tools.content
    tokens = tokens_of_content(content, estimator)
    for block in blocks_of(tools.content):
        if isinstance(block, ToolResult):
            mask = mask_of(
                names.get(block.call_id, ""), tokens_of_content(block, estimator), place, rule, of_text
            )
            content = masked_content(tools.content, [*masks, mask])
            # Sizes of parts do not quite add up to the size of the whole.
            after = tokens_of_content(content, estimator) if mask.line else tokens
            masks.append(Mask(mask.line, tokens - after) if after < tokens else Mask())
            tokens = min(tokens, after)
    return tuple(masks)


def _masked(row: Candidate, masked: int, estimator: Estimator) -> Candidate:
    """A row whose first results are lines."""
    if not any(mask.line for mask in row.masks[:masked]):
        return row._replace(masked=masked)
    content = None if row.tools is None else row.tools.content
    least = row.least
    if content is not None:
        least = least_of_content(masked_content(content, row.masks[:masked]), estimator)
    changed = row._replace(masked=masked, least=least)
    return changed._replace(tokens=max(1, row.tokens - changed.hidden))


def masked_content(content: Content, masks: Sequence[Mask]) -> Content:
    """The same content with its first tool results as lines; all else of it is untouched and in place."""
    lines = iter(masks)
    blocks = tuple(
        replace(block, content=mask.line)
        if isinstance(block, ToolResult) and (mask := next(lines, None)) is not None and mask.line
        else block
        for block in blocks_of(content)
    )
    return blocks[0] if len(blocks) == 1 else Mixed(blocks)
