"""A tree on paper: lists and dictionaries, every answer found by looking at all of it.

It shares no code with Weft and takes no shortcut, so that where the two agree they do
not agree by making the same mistake. This half is what can be seen; `moves` is what can
be done.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

CONTINUATION, ANNOTATION = "continuation", "annotation"
PRIMARY, CONTEXT, INSTRUCTION = "primary", "context", "instruction"
DIALOGUE, BUFFER = "dialogue", "buffer"
HERE, ELSEWHERE = 0, 1

End = tuple[str, int]
"""What a link or tag is on: ("node", its number), ("tree", HERE or ELSEWHERE), ("document", 0)."""


class RefusedError(Exception):
    """What the tree on paper says no to, with the code that Weft must say."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class Person:
    """A participant, and what it may do."""

    name: str
    type: str
    may: frozenset[str]


@dataclass(frozen=True)
class Words:
    """What a node says. Only plain text can be split and joined."""

    content: Any
    """Whatever Weft is given; the paper does not look into it."""
    text: str | None
    """None where it is not plain text."""
    spoken: str
    """What of it stands in a document."""

    @classmethod
    def plain(cls, text: str) -> "Words":
        return cls(text, text, text)


@dataclass(frozen=True)
class Thing:
    """A context item; the content stands for its hash."""

    id: str
    type: str
    content: str
    recoverable: bool


@dataclass
class Piece:
    """One node: a number in the order of writing, and a place it may share with versions."""

    number: int
    place: int
    """The number of the first piece at its place."""
    words: Words
    author: Person
    role: str
    status: str
    edge: str
    sources: tuple[tuple[int, str], ...]
    edited_from: int | None
    response: object | None
    born_with: tuple[Thing, ...]
    things: tuple[Thing, ...]
    excluded: bool = False
    bookmarked: bool = False
    label: str | None = None
    pruned: int | None = None
    """Which prune hid it."""
    hidden: bool = False
    """Whether its writing was undone."""
    off: frozenset[int] = frozenset()
    """Which of all that ever hung on it, in order, does not any more."""
    ever: tuple[Thing, ...] = ()

    @property
    def parent(self) -> int | None:
        """The piece it was written after: the first primary source."""
        return next((number for number, role in self.sources if role == PRIMARY), None)


@dataclass
class Fold:
    """A range of a path folded in context."""

    first: int
    last: int
    description: str
    expanded: bool = False
    stamp: int = 0
    """Which collapse it is of."""


@dataclass
class Sight:
    """A tree, and what each agent sees of it."""

    mode: str
    pieces: list[Piece] = field(default_factory=list[Piece])
    names: dict[int, str] = field(default_factory=dict[int, str])
    """Local ids."""
    stands: dict[str, int] = field(default_factory=dict[str, int])
    chosen: dict[str, dict[int, int]] = field(default_factory=dict[str, dict[int, int]])
    """For each agent: place → the version it looks at."""
    typed: dict[str, str] = field(default_factory=dict[str, str])
    folds: dict[str, Fold] = field(default_factory=dict[str, Fold])
    tags: set[tuple[End, str]] = field(default_factory=set[tuple[End, str]])
    links: dict[frozenset[End], str] = field(default_factory=dict[frozenset[End], str])
    about: dict[str, object] = field(default_factory=dict[str, object])
    archived: int = 0
    """Which archiving put it away; 0: none."""
    stamps: int = 0
    link_stamps: dict[frozenset[End], int] = field(default_factory=dict[frozenset[End], int])
    prunes: int = 0
    ever_attached: set[int] = field(default_factory=set[int])
    """Pieces that something was hung on after they were written."""

    def versions(self, place: int) -> list[Piece]:
        return [piece for piece in self.shown if piece.place == place]

    @property
    def shown(self) -> list[Piece]:
        """All but those that were undone."""
        return [piece for piece in self.pieces if not piece.hidden]

    def lives(self, place: int) -> bool:
        return any(piece.pruned is None for piece in self.versions(place))

    def seen(self, who: str, place: int) -> Piece:
        """The version an agent looks at: chosen, else the latest that lives, else the latest."""
        versions = self.versions(place)
        living = [piece for piece in versions if piece.pruned is None]
        chosen = self.chosen.get(who, {}).get(place)
        picked = [piece for piece in living if piece.number == chosen]
        return (picked or living or versions)[-1]

    def standing(self, who: str) -> Piece:
        """Where an agent stands, at first at the root."""
        return self.seen(who, self.pieces[self.stands.get(who, 0)].place)

    def above(self, place: int) -> int | None:
        """The place that a place hangs from."""
        parent = self.pieces[place].parent
        return None if parent is None else self.pieces[parent].place

    def places_to(self, place: int) -> list[int]:
        """From the root to a place."""
        found = [place]
        while (above := self.above(found[-1])) is not None:
            found.append(above)
        return found[::-1]

    def depth(self, place: int) -> int:
        return len(self.places_to(place)) - 1

    def is_at_or_below(self, place: int, top: int) -> bool:
        return top in self.places_to(place)

    def all_above(self, place: int) -> set[int]:
        """A place and all that any version at it comes from, by whatever way."""
        found, pending = {place}, [place]
        while pending:
            for version in self.versions(pending.pop()):
                places = {self.pieces[source].place for source, _ in version.sources} - found
                found |= places
                pending.extend(places)
        return found

    def path(self, who: str, piece: Piece) -> list[Piece]:
        """Root to a piece, each place above it as the version the agent sees."""
        return [*(self.seen(who, place) for place in self.places_to(piece.place)[:-1]), piece]

    def places(self, edge: str | None = None) -> list[int]:
        """Places in the order they were made."""
        return [p.number for p in self.shown if p.number == p.place and edge in {None, p.edge}]

    def hanging(self, place: int, edge: str = CONTINUATION) -> list[int]:
        """Living places below a place, oldest first."""
        return [below for below in self.places(edge) if self.above(below) == place and self.lives(below)]

    def children(self, who: str, piece: Piece, edge: str = CONTINUATION) -> list[Piece]:
        return [self.seen(who, place) for place in self.hanging(piece.place, edge)]

    def siblings(self, who: str, piece: Piece) -> list[Piece]:
        """The living continuations (or annotations) of the parent, the piece itself in its place."""
        above = self.above(piece.place)
        if above is None:
            return [piece]
        beside = self.hanging(above, piece.edge)
        return [piece if place == piece.place else self.seen(who, place) for place in beside]

    def leaves(self) -> list[int]:
        return [p for p in self.places(CONTINUATION) if self.lives(p) and not self.hanging(p)]

    def branch_points(self) -> list[int]:
        return [place for place in self.places() if len(self.hanging(place)) > 1]

    def counters(self) -> tuple[int, int, int]:
        """Living nodes of every kind, leaves, depth of the deepest continuation."""
        living = [place for place in self.places(CONTINUATION) if self.lives(place)]
        return (
            sum(piece.pruned is None for piece in self.shown),
            len(self.leaves()),
            max(self.depth(place) for place in living),
        )

    def drawn(self, place: int = 0) -> Iterator[int]:
        """Living continuations in drawing order."""
        yield place
        for below in self.hanging(place):
            yield from self.drawn(below)

    def nearest(self, place: int, having: Iterable[int]) -> int | None:
        """The nearest of some places, at or above."""
        wanted = set(having)
        return next((above for above in reversed(self.places_to(place)) if above in wanted), None)

    def with_things(self) -> Iterator[int]:
        """Places where something hangs or has hung: what was taken off was there once."""
        return (p.place for p in self.pieces if p.born_with or p.number in self.ever_attached)

    def with_instructions(self) -> Iterator[int]:
        """Places where a version has an instruction among its sources."""
        for piece in self.pieces:
            is_told = piece.role == "system" or any(role == INSTRUCTION for _, role in piece.sources)
            # What a later version brings is looked up when a context is assembled.
            if is_told and piece.number == piece.place:
                yield piece.place

    def shown_sources(self, piece: Piece) -> list[tuple[int, str]]:
        """As the API lists them: in a buffer, a continuation's parent stands for all its versions."""
        shown: list[tuple[int, str]] = []
        parent_met = False
        for number, role in piece.sources:
            is_parent = not parent_met and role == PRIMARY
            parent_met = parent_met or is_parent
            if is_parent and self.mode == BUFFER and piece.edge == CONTINUATION:
                shown.extend((version.number, role) for version in self.versions(self.pieces[number].place))
            else:
                shown.append((number, role))
        return shown

    def name_for(self, piece: Piece, random_part: str) -> str:
        """The local id a new piece must get."""
        taken = set(self.names.values())
        if piece.edited_from is None:
            sizes: Sequence[int] = range(4, 9)
            return next(random_part[:size] for size in sizes if random_part[:size] not in taken)
        name = self.names[piece.edited_from].rstrip("'") + "'"
        while name in taken:
            name += "'"
        return name
