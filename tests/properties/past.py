"""Undo on paper: what each operation changed, cell by cell, and who has built on it since."""

from dataclasses import dataclass, field
from typing import Any

from tests.properties.model import Fold, Person, Piece
from tests.properties.moves import Paper as Written
from tests.properties.moves import refuse, rehang

Cell = tuple[Any, ...]
_PRUNING = {"prune", "restore"}


@dataclass
class Entry:
    """One operation: the pieces it made, and cells as they were and as it left them."""

    kind: str
    made: tuple[int, ...]
    changed: dict[Cell, tuple[Any, Any]]
    before: int
    """How many pieces there were after it."""
    items: Any = None
    """What hung above models' words when it was undone."""


@dataclass
class Paper(Written):
    """A tree whose past can be walked."""

    past: dict[str, list[Entry]] = field(default_factory=dict[str, list[Entry]])
    future: dict[str, list[Entry]] = field(default_factory=dict[str, list[Entry]])

    def remember(self, who: str, kind: str, old: "Paper") -> None:
        """What was just done, by comparing with the paper as it was."""
        was, now = old._cells(), self._cells()
        changed = {
            cell: (was.get(cell), now.get(cell)) for cell in {**was, **now} if was.get(cell) != now.get(cell)
        }
        made = tuple(range(len(old.pieces), len(self.pieces)))
        changed = {
            cell: pair for cell, pair in changed.items() if not (cell[0] in _OF_PIECES and cell[1] in made)
        }
        self.past.setdefault(who, []).append(Entry(kind, made, changed, len(self.pieces)))
        self.future[who] = []

    def undo(self, who: Person) -> None:
        entry = self._next(who, self.past)
        for number in entry.made:
            self._require_unbuilt(who, self.pieces[number], entry)
        entry.items = self._items_above(entry)
        self._turn(entry, forth=False)
        for number in entry.made:
            self.pieces[number].hidden = True
        self.past[who.name].pop()
        self.future.setdefault(who.name, []).append(entry)

    def redo(self, who: Person) -> None:
        entry = self._next(who, self.future)
        for number in entry.made:
            piece = self.pieces[number]
            needed = {source for source, _ in piece.sources} | {piece.edited_from}
            if any(n is not None and n not in entry.made and self.pieces[n].hidden for n in needed):
                refuse("CONFLICT")
            above = self.above(piece.place)
            if above is not None and above not in entry.made and not self.lives(above):
                refuse("CONFLICT")
        if self._items_above(entry) != entry.items:
            refuse("CONFLICT")
        for number in entry.made:
            self.pieces[number].hidden = False
        self._turn(entry, forth=True)
        self.future[who.name].pop()
        self.past[who.name].append(entry)

    def _next(self, who: Person, stack: dict[str, list[Entry]]) -> Entry:
        self._open(who, "loom_write", archived=True)
        entries = stack.get(who.name)
        if not entries:
            refuse("NOT_FOUND")
        entry = entries[-1]
        though_archived = entry.kind in {"archive", "unarchive"} or (
            entry.kind == "switch" and not entry.made
        )
        if entry.kind != "switch" or entry.made:
            self._open(who, archived=though_archived)
        return entry

    def _require_unbuilt(self, who: Person, piece: Piece, entry: Entry) -> None:
        number = piece.number
        built = any(
            number in {source for source, _ in other.sources} or other.edited_from == number
            for other in self.shown
            if other.number not in entry.made
        )
        marked = piece.excluded or piece.bookmarked or piece.pruned is not None
        marked = marked or piece.things != piece.born_with
        end = "node", number
        referred = any(end in pair for pair in self.links) or any(tagged == end for tagged, _ in self.tags)
        watched = any(at == number for name, at in self.stands.items() if name != who.name) or any(
            number in chosen.values() for name, chosen in self.chosen.items() if name != who.name
        )
        folded = any(number in {fold.first, fold.last} for fold in self.folds.values())
        others = [v for v in self.versions(piece.place) if v is not piece and v.pruned is None]
        last = piece.place != number and piece.place not in entry.made and not others
        if built or marked or referred or watched or folded or last:
            refuse("CONFLICT")

    def _turn(self, entry: Entry, *, forth: bool) -> None:
        """Every cell is as one end of the step left it, and becomes as the other did."""
        present = self._cells()
        top = None
        for cell, (was, now) in entry.changed.items():
            there = was if forth else now
            if cell[0] in _OF_PIECES and self.pieces[cell[1]].hidden:
                refuse("CONFLICT")
            if cell[0] == "pruned":
                depth = self.depth(self.pieces[cell[1]].place), cell[1]
                top = min(top or depth, depth)
            elif present.get(cell) != there:
                refuse("CONFLICT")
        if top is not None:
            self._turn_prune(entry, top[1], forth=forth)
        for cell, (was, now) in entry.changed.items():
            if cell[0] != "pruned":
                self._put(cell, now if forth else was)

    def _turn_prune(self, entry: Entry, top: int, *, forth: bool) -> None:
        """Restore all of it, or prune as much as then, of what was there then."""
        cells = [cell[1] for cell in entry.changed if cell[0] == "pruned"]
        piece = self.pieces[top]
        was, now = entry.changed["pruned", top]
        number = was or now
        if (entry.kind == "prune") != forth:
            above = self.above(piece.place)
            if piece.pruned != number or (above is not None and not self.lives(above)):
                refuse("CONFLICT")
            for each in self.shown:
                each.pruned = None if each.pruned == number else each.pruned
            return
        if piece.pruned is not None:
            refuse("CONFLICT")
        alone = any(v is not piece and v.pruned is None for v in self.versions(piece.place))
        hit = [piece] + [
            each
            for each in self.shown
            if not alone
            and each.place != piece.place
            and each.pruned is None
            and self.is_at_or_below(each.place, piece.place)
        ]
        if len(hit) != len(cells) or any(each.number >= entry.before for each in hit):
            refuse("CONFLICT")
        for each in hit:
            each.pruned = number

    def _items_above(self, entry: Entry) -> list[tuple[int, int]]:
        """What hangs at or above what models wrote."""
        return [
            (each.number, index)
            for number in entry.made
            if self.pieces[number].author.type == "model"
            for each in self.pieces
            if self.is_at_or_below(self.pieces[number].place, each.place)
            for index in range(len(each.ever))
            if index not in each.off
        ]

    def _cells(self) -> dict[Cell, Any]:
        """The paper as a table of what can change."""
        cells: dict[Cell, Any] = {("archived",): self.archived}
        for piece in self.pieces:
            cells["excluded", piece.number] = piece.excluded
            cells["bookmark", piece.number] = piece.bookmarked, piece.label
            cells["pruned", piece.number] = piece.pruned
            for index in range(len(piece.ever)):
                if index not in piece.off:
                    cells["item", piece.number, index] = True
        cells.update({("stands", who): at for who, at in self.stands.items()})
        cells.update({("chosen", who, p): v for who, made in self.chosen.items() for p, v in made.items()})
        cells.update({("typed", who): text for who, text in self.typed.items()})
        cells.update(
            {
                ("fold", name): (fold.first, fold.last, fold.description, fold.expanded, fold.stamp)
                for name, fold in self.folds.items()
            }
        )
        cells.update({("tag", tag): True for tag in self.tags})
        cells.update({("link", ends): (note, self.link_stamps[ends]) for ends, note in self.links.items()})
        cells.update({("about", name): value for name, value in self.about.items()})
        return cells

    def _put(self, cell: Cell, value: Any) -> None:  # noqa: C901, PLR0912 - one line for each kind of cell
        match cell:
            case ("archived",):
                self.archived = value
            case ("excluded", number):
                self.pieces[number].excluded = value
            case ("bookmark", number):
                self.pieces[number].bookmarked, self.pieces[number].label = value
            case ("item", number, index):
                self._hang(self.pieces[number], index, on=bool(value))
            case ("stands", name):
                _set(self.stands, name, self._there(value))
            case ("chosen", name, place):
                _set(self.chosen.setdefault(name, {}), place, self._there(value))
                if not self.chosen[name]:
                    del self.chosen[name]
            case ("typed", name):
                _set(self.typed, name, value)
            case ("fold", name):
                for end in (value or ())[:2]:
                    self._there(end)
                _set(self.folds, name, None if value is None else Fold(*value))
            case ("tag", tag):
                self._end_there(tag[0])
                (self.tags.add if value else self.tags.discard)(tag)
            case ("link", ends):
                for end in ends if value else ():
                    self._end_there(end)
                _set(self.links, ends, value and value[0])
                _set(self.link_stamps, ends, value and value[1])
            case ("about", name):
                self.about[name] = value
            case _:
                raise AssertionError(cell)

    def _hang(self, piece: Piece, index: int, *, on: bool) -> None:
        self._open_turn(piece.number)
        if on and any(thing.id == piece.ever[index].id for thing in piece.things):
            refuse("CONFLICT")
        piece.off = piece.off - {index} if on else piece.off | {index}
        rehang(piece)

    def _there(self, number: int | None) -> int | None:
        """A piece to stand at or look at: not one that was undone."""
        if number is not None and self.pieces[number].hidden:
            refuse("CONFLICT")
        return number

    def _end_there(self, end: tuple[str, int]) -> None:
        if end[0] == "node":
            self._there(end[1])


_OF_PIECES = {"excluded", "bookmark", "pruned", "item"}


def _set(table: dict[Any, Any], key: Any, value: Any) -> None:
    table.pop(key, None)
    if value is not None:
        table[key] = value
