"""History as a strip: the summaries that nodes have stand for all but the last turns."""

from sqlalchemy import select

from weft.context.layers.request import Strip
from weft.context.layers.settings import LayerSettings
from weft.runtime.views.reader import Opened
from weft.store import schema
from weft.store.rows import Flag, NodeRow
from weft.store.tree_queries import walk_up

_texts = schema.texts
_TURNS = 4


def strip_of(opened: Opened, end: NodeRow, settings: LayerSettings, summary: str | None) -> Strip | None:
    """The given summary, or those of the nodes from the root on as far as every one has one."""
    turns = settings.strip_turns
    if summary is not None:
        return Strip(summary=summary, turns=_TURNS if turns is None else turns)
    if turns is None:
        return None
    rows = walk_up(opened.session, opened.key, end.position)
    told = _summaries(opened, rows)
    lines: list[str] = []
    through = -1
    for row in rows:
        if row.key in told:
            lines.append(f"- [{row.local_id}] {told[row.key]}")
        elif (row.narrow or row.wide) and not row.flags & Flag.EXCLUDED:
            # From here on nobody has told what was said: it stays as it is.
            break
        through = row.depth
    return Strip(summary="\n".join(lines), turns=turns, through=through) if lines else None


def _summaries(opened: Opened, rows: list[NodeRow]) -> dict[int, str]:
    there = select(_texts.c.node, _texts.c.summary).where(
        _texts.c.tree == opened.key,
        _texts.c.summary.is_not(None),
        opened.session.dialect.among(_texts.c.node, [row.key for row in rows]),
    )
    return {row.node: " ".join(row.summary.split()) for row in opened.session.execute(there)}
