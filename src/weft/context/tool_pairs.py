"""Which tool calls and results can be sent at all: decided before anything is fitted, by their ids.

Providers refuse a call without its result and a result without its call. What will not be
sent must not take room from what will, nor count as recent.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from weft.context.rows import (
    Candidate,
    PathOutline,
    Reason,
    ToolTraffic,
    bound_of,
    least_of_content,
    left_out_of,
    tokens_of_content,
)
from weft.context.tokens import Estimator
from weft.tree.content import Content, Mixed, ToolCall, ToolResult, blocks_of, is_blank


def tools_of(content: Content) -> ToolTraffic | None:
    """The tool traffic of one node. Who answers does not ask in the same breath: no provider takes that."""
    blocks = blocks_of(content)
    results = tuple(block.call_id for block in blocks if isinstance(block, ToolResult))
    calls = tuple(block.id for block in blocks if isinstance(block, ToolCall))
    if not calls and not results:
        return None
    return ToolTraffic(() if results else calls, results, content if isinstance(content, Mixed) else None)


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
    if not any(row.tools for rows in (outline.head, outline.tail) for row in rows):
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
    live = [
        (index, row.tools)
        for index, row in enumerate(rows)
        if row.tools is not None and reasons[index] is None
    ]
    found = list(rows)
    for index, tools in _pairs(live):
        found[index] = _sent(rows[index], tools, estimator)
    return found


def _pairs(live: Iterable[tuple[int, ToolTraffic]]) -> list[tuple[int, ToolTraffic]]:
    """Each level's traffic without what has no other half. Of two results for one call the newer stands."""
    known = list(live)
    made: dict[str, int] = {}
    answered: dict[tuple[int, str], int] = {}
    for index, tools in known:
        for call in tools.results:
            if call in made:
                answered[made[call], call] = index
        made.update((call, index) for call in tools.calls)
    results: dict[int, set[str]] = {}
    for (_, call), index in answered.items():
        results.setdefault(index, set()).add(call)
    return [
        (
            index,
            tools._replace(
                calls=tuple(call for call in tools.calls if (index, call) in answered),
                results=tuple(call for call in tools.results if call in results.get(index, ())),
            ),
        )
        for index, tools in known
    ]


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
