"""What people type to find something, read as words, phrases, beginnings and exceptions.

    loom warp          both words, anywhere
    "warp and weft"    these words in a row
    heddl*             words that begin so
    -cotton            not with this word (or -"this phrase")
    wool or silk       either of its neighbours

Everything else is read as words: `weft.open` is the two words in a row.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from weft.errors import InvalidInputError, LimitExceededError
from weft.tree.content import check_text
from weft.tree.word_splits import WordPlace, placed_words, split_words

_LONGEST = 4_000
_MOST_WORDS = 200
_PIECE = re.compile(r'(?P<minus>-(?=[^\s-]))?(?:"(?P<phrase>[^"]*)(?:"|\Z)(?P<star>\*?)|(?P<word>[^\s"]+))')
_EITHER = {"or", "|"}


@dataclass(frozen=True, slots=True)
class Atom:
    """Words in a row; of the last one perhaps only the beginning."""

    words: tuple[str, ...]
    prefix: bool = False

    def ends_at(self, index: int, words: Sequence[str]) -> int | None:
        """Where the atom ends if it begins at this word, else None."""
        end = index + len(self.words)
        if end > len(words):
            return None
        last = words[end - 1]
        fits = last.startswith(self.words[-1]) if self.prefix else last == self.words[-1]
        return end if fits and tuple(words[index : end - 1]) == self.words[:-1] else None


@dataclass(frozen=True, slots=True)
class Query:
    """Every clause must be met, by any of its atoms; none of `without` may occur."""

    clauses: tuple[tuple[Atom, ...], ...]
    without: tuple[Atom, ...] = ()

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """What is looked for, each once."""
        return tuple(dict.fromkeys(atom for clause in self.clauses for atom in clause))

    def matches(self, *fields: str) -> bool:
        """Whether a text (or a title and a text) is what is looked for."""
        cut = [split_words(text) for text in fields]
        present = {atom for words in cut for atom, _, _ in _occurrences(self._all_atoms(), words)}
        return all(any(atom in present for atom in clause) for clause in self.clauses) and not any(
            atom in present for atom in self.without
        )

    def places(self, text: str) -> list[tuple[Atom, int, int]]:
        """The offsets of each match in a text, in order."""
        placed: list[WordPlace] = list(placed_words(text))
        words = [place.word for place in placed]
        return [
            (atom, placed[first].start, placed[last - 1].end)
            for atom, first, last in _occurrences(self.atoms, words)
        ]

    def _all_atoms(self) -> tuple[Atom, ...]:
        return (*self.atoms, *self.without)


def _occurrences(atoms: Sequence[Atom], words: Sequence[str]) -> Iterator[tuple[Atom, int, int]]:
    """Atoms by where they begin; each word is compared only with atoms that could begin there."""
    exact: dict[str, list[Atom]] = {}
    begun: list[Atom] = []
    for atom in atoms:
        if atom.prefix and len(atom.words) == 1:
            begun.append(atom)
        else:
            exact.setdefault(atom.words[0], []).append(atom)
    for index, word in enumerate(words):
        for atom in exact.get(word, ()):
            end = atom.ends_at(index, words)
            if end is not None:
                yield atom, index, end
        for atom in begun:
            if word.startswith(atom.words[0]):
                yield atom, index, index + 1


def parse_query(text: str) -> Query:
    """Read a query. Anything can be typed; what has no word in it is refused in words."""
    if len(text) > _LONGEST:
        raise LimitExceededError(
            f"the query has {len(text):,} characters, the limit is {_LONGEST:,}", hint="use fewer words"
        )
    check_text(text, what="query")
    clauses: list[list[Atom]] = []
    without: list[Atom] = []
    pieces = list(_pieces(text))
    either = False
    for index, piece in enumerate(pieces):
        if piece.joins and clauses and index + 1 < len(pieces) and not either:
            either = True
            continue
        atom = piece.atom
        if atom is None:
            continue
        if piece.minus:
            if either:
                raise InvalidInputError(
                    f"-{piece.shown} cannot be one of two choices", hint="write or between what may occur"
                )
            without.append(atom)
        elif either:
            clauses[-1].append(atom)
        else:
            clauses.append([atom])
        either = False
    if not clauses:
        raise _nothing_to_find(text, without)
    query = Query(tuple(tuple(clause) for clause in clauses), tuple(without))
    if sum(len(atom.words) for atom in (*query.atoms, *without)) > _MOST_WORDS:
        raise LimitExceededError(f"a query takes at most {_MOST_WORDS} words", hint="use fewer words")
    return query


def _nothing_to_find(text: str, without: Sequence[Atom]) -> InvalidInputError:
    if without:
        return InvalidInputError(
            "the query has only words to leave out", hint="add a word that should occur: loom -cotton"
        )
    shown = text.strip()
    what = "an empty query" if not shown else f"{shown[:60]!r}"
    return InvalidInputError(
        f"{what} has no word to look for", hint='type a word, a "phrase" or the beginning of a word*'
    )


@dataclass(frozen=True, slots=True)
class _Piece:
    minus: bool
    joins: bool
    """Whether it may be the `or` between two others."""
    shown: str
    atom: Atom | None


def _pieces(text: str) -> Iterator[_Piece]:
    for piece in _PIECE.finditer(text):
        parts: Mapping[str, str | None] = piece.groupdict()
        minus = parts["minus"] is not None
        phrase, word = parts["phrase"], parts["word"] or ""
        body = word if phrase is None else phrase
        starred = word.endswith("*") if phrase is None else parts["star"] == "*"
        words = tuple(split_words(body))
        yield _Piece(
            minus=minus,
            joins=phrase is None and not minus and word.lower() in _EITHER,
            shown=body[:40],
            atom=Atom(words, starred) if words else None,
        )
