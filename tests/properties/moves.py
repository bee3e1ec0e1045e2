"""What can be done to a tree on paper: each move refuses with a code, or changes the lists.

A move that is refused may have changed something by then; whoever plays tries it on a
copy. Refusals are looked for in one order: the right, the tree, the places, the rest.
"""

from collections.abc import Sequence
from typing import NoReturn

from tests.properties.model import (
    ANNOTATION,
    BUFFER,
    CONTINUATION,
    DIALOGUE,
    HERE,
    PRIMARY,
    End,
    Fold,
    Person,
    Piece,
    RefusedError,
    Sight,
    Thing,
    Words,
)

Ref = int | str
"""A piece's number; or "unknown", "nonsense", "foreign" (a node of another tree)."""
EndRef = tuple[str, Ref]
"""The same as an end of a link, but the node may be one that is not there."""
Answer = Piece | Sequence[Piece] | Sequence[Thing] | int | None
"""What an operation must return."""
Extra = Sequence[tuple[Ref, str]]


def refuse(code: str) -> NoReturn:
    raise RefusedError(code)


class Paper(Sight):
    """A tree that is written on."""

    def _open(self, who: Person, right: str = "loom_write", *, archived: bool = False) -> None:
        if right not in who.may:
            refuse("PERMISSION_DENIED")
        if self.archived and not archived:
            refuse("CONFLICT")

    def _find(self, ref: Ref, foreign: str = "NOT_FOUND") -> Piece:
        match ref:
            case "unknown":
                refuse("NOT_FOUND")
            case "nonsense":
                refuse("INVALID_INPUT")
            case "foreign":
                refuse(foreign)
            case _:
                piece = self.pieces[int(ref)]
                return refuse("NOT_FOUND") if piece.hidden else piece

    def _live(self, ref: Ref, foreign: str = "NOT_FOUND") -> Piece:
        piece = self._find(ref, foreign)
        return piece if piece.pruned is None else refuse("CONFLICT")

    def _source(self, ref: Ref) -> Piece:
        return self._live(ref, "CROSS_TREE")

    def _extra(self, extra: Extra) -> tuple[tuple[int, str], ...]:
        return tuple((self._source(ref).number, role) for ref, role in extra)

    def _write(
        self,
        author: Person,
        words: Words,
        sources: Sequence[tuple[int, str]],
        *,
        edge: str = CONTINUATION,
        edited_from: Piece | None = None,
        place: int | None = None,
        things: tuple[Thing, ...] = (),
        role: str | None = None,
        status: str = "complete",
        response: object | None = None,
    ) -> Piece:
        if words.text is not None and "\x00" in words.text:
            refuse("INVALID_INPUT")
        if len({thing.id for thing in things}) < len(things):
            refuse("INVALID_INPUT")
        primary = [self.pieces[source].place for source, role in sources if role == PRIMARY]
        if len(set(primary)) < len(primary):
            refuse("INVALID_INPUT")
        if response is not None and author.type != "model":
            refuse("INVALID_INPUT")
        number = len(self.pieces)
        piece = Piece(
            number=number,
            place=number if place is None else place,
            words=words,
            author=author,
            role=role or ("assistant" if author.type == "model" else "user"),
            status=status,
            edge=edge,
            sources=tuple(sources),
            edited_from=None if edited_from is None else edited_from.number,
            response=response,
            born_with=things,
            things=things,
            ever=things,
        )
        self.pieces.append(piece)
        return piece

    def plant(self, who: Person, words: Words) -> None:
        self._open(who)
        self._write(who, words, ())
        self.stands[who.name] = 0

    def append(
        self,
        who: Person,
        words: Words,
        *,
        parent: Ref | None = None,
        extra: Extra = (),
        things: tuple[Thing, ...] = (),
        author: Person | None = None,
        role: str | None = None,
        status: str = "complete",
        response: object | None = None,
        history: bool = False,
    ) -> Piece:
        self._open(who)
        named = None if parent is None else self._source(parent)
        self._commit(who)
        at = named or self.standing(who.name)
        if at.pruned is not None:
            refuse("CONFLICT")
        if at.edge == ANNOTATION:
            refuse("INVALID_INPUT")
        others = self._extra(extra)
        writer = author or who
        if writer != who and (who.type, writer.type) != ("human", "model"):
            refuse("PERMISSION_DENIED")
        if not history and role not in {None, "assistant" if writer.type == "model" else "user"}:
            refuse("INVALID_INPUT")
        piece = self._write(
            writer,
            words,
            ((at.number, PRIMARY), *others),
            things=things,
            role=role,
            status=status,
            response=response,
        )
        self.stands[who.name] = piece.number
        return piece

    def annotate(self, who: Person, ref: Ref, words: Words) -> Piece:
        self._open(who)
        return self._write(who, words, ((self._source(ref).number, PRIMARY),), edge=ANNOTATION)

    def edit(self, who: Person, ref: Ref, words: Words, extra: Extra | None = None) -> Piece:
        self._open(who)
        original = self._source(ref)
        if not original.sources and self.mode == DIALOGUE:
            refuse("INVALID_INPUT")
        self._commit(who)
        return self._rewrite(who, original, words, extra)

    def _rewrite(self, who: Person, original: Piece, words: Words, extra: Extra | None) -> Piece:
        """A version in a buffer, where whoever stood at an older one stands at it; else a branch."""
        piece = self._write(
            who,
            words,
            self._sources_again(who, original, extra),
            edge=original.edge,
            edited_from=original,
            place=original.place if self.mode == BUFFER else None,
            things=original.things,
            role=original.role,
        )
        if self.mode == BUFFER:
            self.chosen.setdefault(who.name, {})[piece.place] = piece.number
            if self.standing(who.name).place == piece.place:
                self.stands[who.name] = piece.number
        elif piece.edge == CONTINUATION:
            self.stands[who.name] = piece.number
        return piece

    def erase(self, who: Person, start: int, end: int) -> list[Piece]:
        """Edit each piece of the document that the stretch touches."""
        self._open(who)
        if self.mode != BUFFER:
            refuse("INVALID_INPUT")
        self._commit(who)
        at = self.standing(who.name)
        if at.pruned is not None:
            refuse("CONFLICT")
        path = self.path(who.name, at)
        owners = [(piece, offset) for piece in path for offset in range(len(piece.words.spoken))]
        if not 0 <= start < end <= len(owners):
            refuse("INVALID_INPUT")
        edited: list[Piece] = []
        for piece in path:
            gone = {offset for owner, offset in owners[start:end] if owner is piece}
            if gone:
                left = "".join(c for offset, c in enumerate(_plain(piece)) if offset not in gone)
                edited.append(self._rewrite(who, piece, Words.plain(left), None))
        return edited

    def _sources_again(
        self, who: Person, original: Piece, extra: Extra | None
    ) -> tuple[tuple[int, str], ...]:
        """The original's sources, its parent as the version that the editor sees now."""
        parent = original.parent
        if parent is None:
            return refuse("INVALID_INPUT") if self._extra(extra or ()) else ()
        if extra is None:
            return tuple(
                (self.seen(who.name, self.pieces[number].place).number, role)
                if role == PRIMARY and original.edge == CONTINUATION
                else (number, role)
                for number, role in original.sources
            )
        if original.edge == CONTINUATION:
            parent = self.seen(who.name, self.pieces[parent].place).number
        others = self._extra(extra)
        for number, _ in others:
            if self.mode == BUFFER and original.place in self.all_above(self.pieces[number].place):
                refuse("INVALID_INPUT")
        return ((parent, PRIMARY), *others)

    def merge(self, who: Person, refs: Sequence[Ref], words: Words, extra: Extra = ()) -> Piece:
        self._open(who)
        merged = [self._source(ref) for ref in refs]
        places = {piece.place for piece in merged}
        if any(piece.edge == ANNOTATION for piece in merged):
            refuse("INVALID_INPUT")
        if len(places) < 2 or len(places) < len(merged):
            refuse("INVALID_INPUT")
        self._commit(who)
        others = self._extra(extra)
        piece = self._write(who, words, (*((each.number, PRIMARY) for each in merged), *others))
        self.stands[who.name] = piece.number
        return piece

    def _branchable(self, ref: Ref) -> Piece:
        piece = self._source(ref)
        if not piece.sources or piece.edge == ANNOTATION:
            refuse("INVALID_INPUT")
        return piece

    def _beside(self, who: Person, *originals: Piece, text: str) -> Piece:
        """A branch beside the first, with what hangs on any of them and what else the second came from."""
        things = {thing.id: thing for original in originals for thing in original.things}
        sources = list(self._sources_again(who, originals[0], None))
        for original in originals[1:]:
            for number, role in self._sources_again(who, original, None):
                known = {(self.pieces[n].place, r) for n, r in sources}
                place = self.pieces[number].place
                if (place, role) not in known and (place, role) != (originals[0].place, PRIMARY):
                    sources.append((number, role))
        return self._write(
            who,
            Words.plain(text),
            sources,
            edited_from=originals[0],
            things=tuple(things.values()),
            role=originals[0].role,
        )

    def split(self, who: Person, ref: Ref, at: int | str) -> tuple[Piece, Piece]:
        self._open(who)
        original = self._branchable(ref)
        text = _plain(original)
        if isinstance(at, str):
            found = text.count(at) if at else 0
            if found == 0:
                refuse("NOT_FOUND")
            if text.find(at) != text.rfind(at):
                refuse("INVALID_INPUT")
            at = text.index(at)
        if not 0 < at < len(text):
            refuse("INVALID_INPUT")
        self._commit(who)
        first = self._beside(who, original, text=text[:at])
        second = self._write(
            who,
            Words.plain(text[at:]),
            ((first.number, PRIMARY),),
            edited_from=original,
            role=original.role,
        )
        self.stands[who.name] = second.number
        return first, second

    def join(self, who: Person, ref: Ref, following: Ref | None = None) -> Piece:
        self._open(who)
        original = self._branchable(ref)
        next_one = self._following(who, original, following)
        if self.mode == DIALOGUE and next_one.role != original.role:
            refuse("INVALID_INPUT")
        text = _plain(original) + _plain(next_one)
        self._commit(who)
        piece = self._beside(who, original, next_one, text=text)
        self.stands[who.name] = piece.number
        return piece

    def _following(self, who: Person, original: Piece, following: Ref | None) -> Piece:
        below = self.hanging(original.place)
        if following is not None:
            named = self._source(following)
            return named if named.place in below else refuse("INVALID_INPUT")
        if not below:
            refuse("NOT_FOUND")
        onward = [place for place in below if place in self.places_to(self.standing(who.name).place)]
        if len(onward or below) > 1:
            refuse("INVALID_INPUT")
        return self.seen(who.name, (onward or below)[0])

    def exclude(self, who: Person, ref: Ref, *, on: bool) -> Piece:
        self._open(who)
        piece = self._live(ref)
        piece.excluded = on
        return piece

    def bookmark(self, who: Person, ref: Ref, label: str | None, *, on: bool) -> Piece:
        self._open(who)
        piece = self._live(ref)
        piece.bookmarked, piece.label = on, label if on else None
        return piece

    def prune(self, who: Person, ref: Ref) -> int:
        self._open(who)
        piece = self._live(ref)
        others = [v for v in self.versions(piece.place) if v is not piece and v.pruned is None]
        if not piece.sources and not others:
            refuse("INVALID_INPUT")
        self.prunes += 1
        before = self.standing(who.name)
        hidden = [piece]
        if not others:
            hidden += [
                below
                for below in self.shown
                if below.place != piece.place
                and below.pruned is None
                and self.is_at_or_below(below.place, piece.place)
            ]
        for each in hidden:
            each.pruned = self.prunes
        above = self.above(piece.place)
        # Weft also moves who stood on what was pruned before, wherever that is: add
        # `and before.pruned == self.prunes` once it does not.
        if above is not None and not self.lives(before.place):
            self.stands[who.name] = self.seen(who.name, above).number
        return len(hidden)

    def restore(self, who: Person, ref: Ref) -> int:
        self._open(who)
        piece = self._find(ref)
        if piece.pruned is None:
            refuse("CONFLICT")
        hidden = [each for each in self.pieces if each.pruned == piece.pruned]
        top = min(hidden, key=lambda each: self.depth(each.place))
        above = self.above(top.place)
        if above is not None and not self.lives(above):
            refuse("CONFLICT")
        for each in hidden:
            each.pruned = None
        return len(hidden)

    def _open_turn(self, ref: Ref) -> Piece:
        """A human piece below which no model has ever spoken."""
        piece = self._live(ref)
        below = [
            each
            for each in self.shown
            if each.place != piece.place and self.is_at_or_below(each.place, piece.place)
        ]
        if any(each.author.type == "model" for each in (piece, *below)):
            refuse("CONFLICT")
        return piece

    def attach(self, who: Person, ref: Ref, thing: Thing) -> tuple[Thing, ...]:
        self._open(who)
        piece = self._open_turn(ref)
        if any(there.id == thing.id for there in piece.things):
            refuse("CONFLICT")
        piece.ever = (*piece.ever, thing)
        rehang(piece)
        self.ever_attached.add(piece.number)
        return piece.things

    def detach(self, who: Person, ref: Ref, thing_id: str) -> tuple[Thing, ...]:
        self._open(who)
        piece = self._open_turn(ref)
        gone = [i for i, thing in enumerate(piece.ever) if thing.id == thing_id and i not in piece.off]
        if not gone:
            refuse("NOT_FOUND")
        piece.off |= set(gone)
        return rehang(piece)

    def switch(self, who: Person, to: Ref, *, step: bool) -> Piece:
        """To a piece, or one step: next, previous, parent, child, leaf."""
        self._open(who, "loom_aware", archived=True)
        target = self._step(who, str(to)) if step else self._live(to)
        may_write = "loom_write" in who.may and not self.archived
        if target.place != self.standing(who.name).place and may_write:
            self._commit(who)
        if self.seen(who.name, target.place) is not target:
            self.chosen.setdefault(who.name, {})[target.place] = target.number
        self.stands[who.name] = target.number
        return target

    def _step(self, who: Person, direction: str) -> Piece:
        at = self.standing(who.name)
        above = self.above(at.place)
        match direction:
            case "parent":
                places = [] if above is None else [above]
            case "child":
                places = self.hanging(at.place)[:1]
            case "leaf":
                places = [at.place]
                while below := self.hanging(places[-1]):
                    places = [below[-1]]
            case _:
                beside = [] if above is None else self.hanging(above, at.edge)
                if direction == "next":
                    places = [place for place in beside if place > at.place][:1]
                else:
                    places = [place for place in beside if place < at.place][-1:]
        return self.seen(who.name, places[0]) if places else refuse("NOT_FOUND")

    def type_text(self, who: Person, text: str) -> None:
        self._open(who)
        if self.mode != BUFFER or "\x00" in text:
            refuse("INVALID_INPUT")
        self.typed.pop(who.name, None)
        if text:
            self.typed[who.name] = text

    def commit(self, who: Person) -> Piece | None:
        self._open(who)
        if self.mode != BUFFER:
            refuse("INVALID_INPUT")
        return self._commit(who)

    def _commit(self, who: Person) -> Piece | None:
        """The typed text becomes a piece where its author stands, or as near above as can be."""
        text = self.typed.get(who.name)
        if not text:
            return None
        above = self.places_to(self.standing(who.name).place)
        at = [place for place in above if self.lives(place) and self.pieces[place].edge == CONTINUATION]
        piece = self._write(who, Words.plain(text), ((self.seen(who.name, at[-1]).number, PRIMARY),))
        del self.typed[who.name]
        self.stands[who.name] = piece.number
        return piece

    def collapse(self, who: Person, first: Ref, last: Ref, name: str, description: str) -> None:
        self._open(who)
        top, end = self._live(first), self._live(last)
        if not self.is_at_or_below(end.place, top.place):
            refuse("INVALID_INPUT")
        known = self.folds.get(name)
        if known is not None and (known.first, known.last) != (top.number, end.number):
            refuse("CONFLICT")
        self.stamps += 1
        self.folds[name] = Fold(top.number, end.number, description, stamp=self.stamps)

    def expand(self, who: Person, name: str) -> None:
        self._open(who)
        if name not in self.folds:
            refuse("NOT_FOUND")
        self.folds[name].expanded = True

    def uncollapse(self, who: Person, name: str) -> None:
        self._open(who)
        if name not in self.folds:
            refuse("NOT_FOUND")
        del self.folds[name]

    def _end(self, end: EndRef) -> End:
        kind, ref = end
        return kind, self._find(ref).number if kind == "node" else int(ref)

    def _open_ends(self, who: Person, *ends: EndRef, apart: bool = False) -> frozenset[End]:
        """Nothing in an archived tree is linked, unlinked or tagged, whatever is at the other end."""
        self._open(who, archived=True)
        found = frozenset(self._end(end) for end in ends)
        if apart and len(found) < 2:
            refuse("INVALID_INPUT")
        if self.archived and any(kind == "node" or (kind, which) == ("tree", HERE) for kind, which in found):
            refuse("CONFLICT")
        return found

    def link(self, who: Person, one: EndRef, other: EndRef, note: str) -> None:
        ends = self._open_ends(who, one, other, apart=True)
        if ends in self.links:
            refuse("CONFLICT")
        self.stamps += 1
        self.links[ends], self.link_stamps[ends] = note, self.stamps

    def unlink(self, who: Person, one: EndRef, other: EndRef) -> None:
        ends = self._open_ends(who, one, other)
        if ends not in self.links:
            refuse("NOT_FOUND")
        del self.links[ends]

    def tag(self, who: Person, end: EndRef, label: str) -> None:
        self._open_ends(who, end)
        self.tags.add((self._end(end), label))

    def untag(self, who: Person, end: EndRef, label: str) -> None:
        self._open_ends(who, end)
        if (self._end(end), label) not in self.tags:
            refuse("NOT_FOUND")
        self.tags.remove((self._end(end), label))

    def describe(self, who: Person, **fields: object) -> None:
        self._open(who)
        if fields.get("title") == "":
            refuse("INVALID_INPUT")
        self.about.update(fields)

    def archive(self, who: Person, *, away: bool) -> None:
        self._open(who, archived=True)
        if away != bool(self.archived):
            self.stamps += 1
            self.archived = self.stamps if away else 0


def rehang(piece: Piece) -> tuple[Thing, ...]:
    """What hangs on a piece, of all that ever did."""
    piece.things = tuple(thing for index, thing in enumerate(piece.ever) if index not in piece.off)
    return piece.things


def _plain(piece: Piece) -> str:
    return refuse("INVALID_INPUT") if piece.words.text is None else piece.words.text
