"""Folded ranges of a path: a tree's groups, for contexts and in the words that recipes have for groups."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select

from weft.context.recipes.collapsed_groups import Documents, GroupScope, Telling, placeholder_text
from weft.errors import NotFoundError
from weft.store import schema
from weft.store.lookup import find_tree
from weft.store.path_queries import ancestor_at_depth, walk_up
from weft.store.rows import LightRow, NodeRow
from weft.store.session import Session
from weft.store.tree_queries import node_rows
from weft.tree.content import Text
from weft.tree.tree import Mode

_groups, _nodes = schema.groups, schema.nodes
_AT_ONCE = 400
_SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Fold:
    """One folded range, from its upper end to its lower."""

    id: str
    name: str
    description: str
    first: NodeRow
    last: NodeRow
    expanded: bool
    created_at: int

    @property
    def size(self) -> int:
        return self.last.depth - self.first.depth + 1

    def text(self, mode: Mode) -> str:
        """What stands in its place: in a conversation as recipes have it, in a document as a remark."""
        if mode is Mode.DIALOGUE:
            return placeholder_text(self.name, self.id, Telling(self.description))
        return f"\n[… {self.name}: {self.description} …]\n"


def folds_of(session: Session, tree: int) -> list[Fold]:
    """A tree's folded ranges, the latest first: of several, the newest has a node."""
    order = _groups.c.created_at.desc(), _groups.c.name
    rows: list[Any] = list(session.execute(select(_groups).where(_groups.c.tree == tree).order_by(*order)))
    ends = node_rows(session, tree, [key for row in rows for key in (row.first, row.last)])
    return [
        Fold(
            row.ulid,
            row.name,
            row.description,
            ends[row.first],
            ends[row.last],
            bool(row.expanded),
            row.created_at,
        )
        for row in rows
        if ends[row.first].hidden is None and ends[row.last].hidden is None
    ]


@dataclass(frozen=True, slots=True)
class PathFolds:
    """What is folded on the way to one node: levels, and what stands for them."""

    ranges: Sequence[tuple[int, int, Fold]] = ()
    """Upper and lower level, the newest fold first."""
    texts: dict[str, Text] = field(default_factory=dict[str, Text])
    """By node: what it says in place of its own words."""

    @classmethod
    def on(cls, session: Session, tree: int, end: NodeRow) -> "PathFolds":
        ranges: list[tuple[int, int, Fold]] = []
        for fold in folds_of(session, tree):
            shared = _shared_depth(session, tree, end, fold.last)
            if shared >= fold.first.depth:
                ranges.append((fold.first.depth, min(shared, fold.last.depth), fold))
        return cls(ranges if any(not fold.expanded for _, _, fold in ranges) else ())

    def at(self, depth: int) -> Fold | None:
        """The fold that a level is in; none where the newest is open, even if an older one is not."""
        newest = next((fold for top, bottom, fold in self.ranges if top <= depth <= bottom), None)
        return None if newest is None or newest.expanded else newest

    def stand_in(self, row: LightRow, fold: Fold, mode: Mode) -> str | None:
        """What the level says for all of the fold, if it is the one that does."""
        if row.depth != self._first(fold):
            return None
        self.texts[row.ulid] = Text(fold.text(mode))
        return self.texts[row.ulid].text

    def _first(self, fold: Fold) -> int:
        """The fold's uppermost level that no newer fold has."""
        newer: list[tuple[int, int]] = []
        for top, bottom, each in self.ranges:
            if each is fold:
                break
            newer.append((top, bottom))
        depth = fold.first.depth
        for top, bottom in sorted(newer):
            depth = bottom + 1 if top <= depth <= bottom else depth
        return depth


def _shared_depth(session: Session, tree: int, one: NodeRow, other: NodeRow) -> int:
    """How far down two paths are the same."""
    low, high = 0, min(one.depth, other.depth)

    def same(depth: int) -> bool:
        return ancestor_at_depth(session, tree, one.position, depth) == ancestor_at_depth(
            session, tree, other.position, depth
        )

    if same(high):
        return high
    while low < high - 1:
        middle = (low + high) // 2
        low, high = (middle, high) if same(middle) else (low, middle)
    return low


@dataclass(frozen=True, slots=True)
class TreeGroups:
    """A tree's folded ranges as the groups that recipes know; messages are its nodes."""

    session: Session
    tree: str

    def memberships(self, scope: GroupScope, message_ids: Collection[str]) -> Documents:
        del scope
        folds = self._folds()
        if not folds:
            return {}
        positions = self._positions(message_ids)
        documents: dict[str, dict[str, Any]] = {}
        for fold in folds:
            inside = {
                row.position for row in walk_up(self.session, self._key(), fold.last.position, fold.size)
            }
            for name, position in positions.items():
                if position in inside:
                    entry = {"responseId": fold.id, "updated_at": fold.created_at / _SECOND}
                    documents.setdefault(name, {})[fold.name] = entry
        return {name: {"groups": groups} for name, groups in documents.items()}

    def states(self, scope: GroupScope, names: Collection[str]) -> Documents:
        del scope
        return {fold.name: {"expanded": fold.expanded} for fold in self._folds() if fold.name in names}

    def responses(self, scope: GroupScope, response_ids: Collection[str]) -> Documents:
        del scope
        return {
            fold.id: {"groups": [{"name": fold.name, "description": fold.description}]}
            for fold in self._folds()
            if fold.id in response_ids
        }

    def _key(self) -> int:
        return find_tree(self.session, self.tree)

    def _folds(self) -> list[Fold]:
        try:
            return folds_of(self.session, self._key())
        except NotFoundError:
            return []

    def _positions(self, ulids: Collection[str]) -> Mapping[str, int]:
        listed, positions = list(ulids), dict[str, int]()
        for start in range(0, len(listed), _AT_ONCE):
            some = listed[start : start + _AT_ONCE]
            statement = select(_nodes.c.ulid, _nodes.c.position).where(
                _nodes.c.tree == self._key(), _nodes.c.ulid.in_(some)
            )
            positions.update((row.ulid, row.position) for row in self.session.execute(statement))
        return positions
