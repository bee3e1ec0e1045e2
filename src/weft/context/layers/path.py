"""The path of a request: which levels are the current turn, what each attached, where the strip begins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from weft.context.assemble import ContextRequest
from weft.context.layers.items import ContextItem
from weft.context.layers.library import Attached
from weft.context.layers.request import LayeredRequest
from weft.context.rows import Candidate, PathOutline
from weft.context.settings import Changed

INPUT_ROW = "input"
_INPUT_ID = "\x00input"
"""No node has this id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """An attachment as it is shown, with the number of its revision along the path."""

    level: int
    item: ContextItem
    revision: int
    pinned: bool
    left_out: str
    first: bool
    """Whether this revision was not attached before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayeredPath:
    """Levels keep their numbers on the path; `offset` of them are not given to the engine."""

    outline: PathOutline
    """With the input as its last row, without what the strip's summary stands for."""
    offset: int
    turn: int
    """The level at which the current turn begins."""
    spoken: int
    """The level at which what a model is to answer begins: the turn's, unless a run has gone on since."""
    first_live: int | None
    """The level before whose words the turn's context stands."""
    attached: tuple[Attached, ...]
    input_text: str
    stripped: tuple[Candidate, ...] = ()

    rows: Mapping[int, Candidate] = field(init=False)
    """Known rows by their levels, in order."""

    def __post_init__(self) -> None:
        outline, offset = self.outline, self.offset
        rows = {offset + index: row for index, row in enumerate(outline.head)}
        rows |= {offset + outline.first + index: row for index, row in enumerate(outline.tail)}
        object.__setattr__(self, "rows", rows)

    @property
    def input_id(self) -> str:
        return _INPUT_ID

    def placed(self, changed: Changed, fresh: Mapping[str, ContextItem]) -> list[Placed]:
        """Every attachment as it is shown: with `refresh` the newest content, with `append` its own."""
        rows = [
            each._replace(item=_as_attached(fresh[each.item.id], each.item))
            if each.level >= self.turn and each.item.id in fresh
            else each
            for each in self.attached
        ]
        newest = {each.item.id: each.item for each in rows if each.left_out is None} | dict(fresh)
        first: dict[str, ContextItem] = {}
        last: dict[str, tuple[str, int]] = {}
        found: list[Placed] = []
        for each in rows:
            name = each.item.id
            item = each.item
            if changed is Changed.REFRESH:
                current = newest.get(name, item)
                before = first.setdefault(name, item)
                item = _as_attached(before if current.sha256 == before.sha256 else current, each.item)
            sha, revision = last.get(name, ("", 0))
            new = sha != item.sha256
            if each.left_out is None:
                last[name] = (item.sha256, revision + new)
            found.append(
                Placed(
                    level=each.level,
                    item=item,
                    revision=revision + new,
                    pinned=each.pinned,
                    left_out="" if each.left_out is None else each.left_out.value,
                    first=new,
                )
            )
        return found


def _as_attached(shown: ContextItem, attached: ContextItem) -> ContextItem:
    """The content that is shown, as what it was attached: the note that is open stays it, with its pictures."""
    if shown.type != attached.type:
        shown = replace(shown, item=replace(shown.item, type=attached.type))
    return replace(shown, images=attached.images)


def read_path(request: LayeredRequest) -> LayeredPath:
    context = request.context
    outline = context.outline
    offset = max(0, request.folded - 1)
    count = outline.first + len(outline.tail)
    turn = count if request.alone else _turn(outline, count - request.run)
    live = _live(outline, turn, count - request.run)
    if request.run and not live:
        # The turn itself is folded: what it brought along is an earlier turn's now.
        return read_path(replace(request, run=0))
    needs_input = bool(context.pending.text or request.items)
    needs_place = bool(request.tool_outputs or request.loom_context) and not live
    attached = _before_folded(request.attached, offset) if request.folded else list(request.attached)
    if needs_input or needs_place:
        attached += [Attached(offset + count, item) for item in request.items]
        outline = _with_input(outline, context)
        live.append(count)
    said = [level for level in live if outline.at(level).tokens]
    # Of a turn of many messages only the recent ones are always sent: what it brings along must stand there.
    said = said[-max(1, context.preferences.minimum_recent_nodes) :]
    # A turn may begin with an empty node, as a tree does; what is said comes after it.
    first = next(iter(said or live), None)
    path = LayeredPath(
        outline=_with_start(outline),
        offset=offset,
        turn=offset + turn,
        spoken=offset + (count - 1 if request.run else turn),
        first_live=None if first is None else offset + first,
        attached=tuple(attached),
        input_text=context.pending.text,
    )
    return path if request.strip is None else _stripped(path, request)


def _live(outline: PathOutline, start: int, stop: int) -> list[int]:
    """Known levels of a stretch that are not left out."""
    levels = range(max(start, outline.first), stop)
    return [level for level in levels if outline.at(level).left_out is None]


def _before_folded(attached: Sequence[Attached], offset: int) -> list[Attached]:
    """What the folded levels brought along hangs on none of those that are left."""
    return [each._replace(level=offset - 1) if each.level == offset else each for each in attached]


def _with_start(outline: PathOutline) -> PathOutline:
    """The first level's tokens will be others once something stands before its words; its place is not."""
    if outline.start is not None or outline.between is not None or not outline.tail:
        return outline
    return replace(outline, start=max(0, outline.tail[0].ruler - outline.tail[0].tokens))


def _turn(outline: PathOutline, end: int) -> int:
    """Where the users' words before `end` begin; there, if the last word is not theirs."""
    level = end
    for row in reversed(outline.tail[: end - outline.first]):
        if row.role != "user" or row.kind == "tool_result":
            break
        level -= 1
    return level


def _with_input(outline: PathOutline, context: ContextRequest) -> PathOutline:
    rows = outline.tail or outline.head
    tokens = context.estimator.of_text(context.pending.text) if context.pending.text else 0
    before = rows[-1].ruler if rows else 0
    row = Candidate(_INPUT_ID, INPUT_ROW, "user", tokens, before + tokens)
    return replace(outline, tail=[*outline.tail, row])


def _stripped(path: LayeredPath, request: LayeredRequest) -> LayeredPath:
    strip, outline = request.strip, path.outline
    if strip is None or not strip.summary.strip():
        return path
    start = _last_turns(path, strip.turns)
    if strip.through is not None:
        start = min(start, strip.through + 1)
    if start <= outline.first:
        # What is kept was not read, or there is nothing before it to stand for.
        return path
    cut = start - outline.first
    return replace(
        path,
        outline=PathOutline(tail=outline.tail[cut:], start=outline.tail[cut - 1].ruler),
        offset=start,
        stripped=(*outline.head, *outline.tail[:cut]),
    )


def _last_turns(path: LayeredPath, wanted: int) -> int:
    """The level at which the last turns before the current one begin."""
    rows: Sequence[Candidate] = path.outline.tail
    level = path.turn
    while wanted > 0 and level > path.outline.first:
        index = level - 1 - path.outline.first
        while index > 0 and not _begins(rows, index):
            index -= 1
        level = path.outline.first + index
        wanted -= 1
    return level


def _begins(rows: Sequence[Candidate], index: int) -> bool:
    spoken = rows[index].role == "user" and rows[index].kind != "tool_result"
    return spoken and rows[index - 1].role != "user"
