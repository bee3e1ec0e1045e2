"""What a command was given beside its verb, to be taken piece by piece until nothing is left."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from weft.commands.words import Option, Quoted, Token, Word, as_reference
from weft.ids import LOCAL_ID_LIMIT

__all__ = ["FILLER", "NUMBERS", "WHOLE", "Pieces", "Unfit", "lines_of", "node_id", "read_bare"]

FILLER = frozenset(
    {"a", "an", "the", "node", "nodes", "me", "please", "kindly", "now", "just", "pls", "plz", "my"}
)
NUMBERS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "once": 1,
    "twice": 2,
}
WHOLE = ("full", "complete", "whole", "entire", "fully", "completely", "in-full", "entirely")
_RANGE = re.compile(
    r"(\[?[0-9a-z]{4,26}['’′]*\]?)(?:-|–|—|\.{2,3}|…)(\[?[0-9a-z]{4,26}['’′]*\]?)\Z", re.IGNORECASE
)
_LINES = re.compile(r"(\d{1,9})(?:(?:-|–|\.\.)(\d{1,9}))?\Z")
_POSSESSIVE = re.compile(r"['’]s\Z")
_ARTICLES = frozenset({"a", "an", "the"})
_LONGEST = 40
_MANY = 10**18
_DIGITS = 18


class Unfit(Exception):  # noqa: N818 - no failure: one reading of several does not fit
    """A reading that does not take what was given. `others` are commands that may have been meant."""

    def __init__(self, why: str, *others: str) -> None:
        super().__init__(why)
        self.others = others


@dataclass(slots=True)
class Item:
    """A bare word, an id or a string, in the order in which they were said."""

    kind: str
    text: str
    place: int
    raw: str = ""


@dataclass(slots=True)
class Pieces:
    """Takes what a reading wants; `done` refuses if anything is left that nobody asked for."""

    items: list[Item]
    options: dict[str, list[Option]]
    explained: frozenset[str] = frozenset()
    """Words that may be left over, because they belong to the way in which this is said."""
    verb: tuple[str, ...] = ()
    connecting: list[Item] = field(default_factory=list[Item])

    @classmethod
    def of(
        cls,
        tokens: Sequence[Token],
        known: frozenset[str],
        *,
        verb: tuple[str, ...] = (),
        explained: frozenset[str] = frozenset(),
    ) -> "Pieces":
        """Sort tokens. A bare word is an id if it can be one and is no word of the language."""
        items: list[Item] = []
        options: dict[str, list[Option]] = {}
        for place, token in enumerate(tokens):
            before = tokens[place - 1] if place else None
            match token:
                case Quoted(text):
                    items.append(Item("string", text, place))
                case Option():
                    options.setdefault(token.name, []).append(token)
                case Word() if token.bracketed or token.text not in known:
                    named = isinstance(before, Word) and before.text in _ARTICLES
                    items += read_bare(token, place, known, article=named)
                case Word():
                    if token.text not in FILLER:
                        items.append(Item("word", token.text, place, token.raw))
        pieces = cls(items, options, explained, verb)
        for option in pieces.options.pop("id", []):
            pieces.items += [Item("id", node_id(value), -1) for value in option.values if value]
        for option in pieces.options.pop("to", []):
            pieces.items += [Item("id", node_id(value), len(tokens)) for value in option.values if value]
        return pieces

    def _take(self, kind: str) -> Item | None:
        for index, item in enumerate(self.items):
            if item.kind == kind:
                return self.items.pop(index)
        return None

    def id(self, what: str = "which node?") -> str:
        found = self._take("id")
        if found is None:
            raise Unfit(what)
        return found.text

    def maybe_id(self) -> str | None:
        found = self._take("id")
        return None if found is None else found.text

    def ids(self) -> tuple[str, ...]:
        found = tuple(item.text for item in self.items if item.kind == "id")
        self.items = [item for item in self.items if item.kind != "id"]
        return found

    def string(self, *names: str, what: str = "the text must be in quotes") -> str:
        """The next string, or the option that says the same."""
        for name in names:
            value = self.option(name)
            if value is not None:
                return value
        found = self._take("string")
        if found is None:
            raise Unfit(what)
        return found.text

    def string_after(self, *words: str) -> str | None:
        """The string that one of these words announces, `as "…"`; the words are taken with it."""
        for index, item in enumerate(self.items):
            first = index
            while first and (one := self.items[first - 1]).kind == "word" and one.text in words:
                first -= 1
            if item.kind == "string" and first < index:
                if first and (one := self.items[first - 1]).kind == "word" and one.text in {"with", "and"}:
                    first -= 1
                del self.items[first : index + 1]
                return item.text
        return None

    def words_between_strings(self) -> bool:
        """Whether two strings have more than `with` between them: then their order says nothing."""
        places = [item.place for item in self.items if item.kind == "string"]
        return len(places) > 1 and any(
            places[0] < item.place < places[1] and item.text != "with" for item in self.items
        )

    def maybe_string(self, *names: str) -> str | None:
        try:
            return self.string(*names)
        except Unfit:
            return None

    def word(self, *choices: str) -> bool:
        """Whether one of these words was said; it is taken."""
        for index, item in enumerate(self.items):
            if item.kind == "word" and item.text in choices:
                self.connecting.append(self.items.pop(index))
                return True
        return False

    def one_of(self, choices: dict[str, str]) -> str | None:
        """What the words name among these; two different ones do not go together."""
        words = [item.text for item in self.items if item.kind == "word" and item.text in choices]
        if len(set(words)) < len(words):
            twice = next(word for word, count in Counter(words).items() if count > 1)
            raise Unfit(f"{twice} once; the rest is a command of its own")
        named = {choices[word] for word in words}
        self.items = [item for item in self.items if not (item.kind == "word" and item.text in choices)]
        if len(named) > 1:
            raise Unfit(f"one of {', '.join(sorted(named))}, not several")
        return next(iter(named), None)

    def option(self, name: str) -> str | None:
        """The single value of an option."""
        found = self.options.pop(name, None)
        if found is None:
            return None
        values = [value for option in found for value in option.values if value]
        if len(values) != 1:
            raise Unfit(f"{name}: takes one value")
        return values[0]

    def values(self, name: str) -> tuple[str, ...]:
        found = self.options.pop(name, [])
        return tuple(value for option in found for value in option.values if value)

    def option_ids(self, name: str) -> tuple[str, ...]:
        if name not in self.options:
            return ()
        found = tuple(node_id(value) for value in self.values(name))
        if not found:
            raise Unfit(f"{name}: takes ids")
        return found

    def option_id(self, name: str) -> str | None:
        value = self.option(name)
        return None if value is None else node_id(value)

    def number(self, name: str, *words: str, least: int = 1) -> int | None:
        """A whole number: `depth:3`, `depth 3`, `3 continuations`."""
        value = self.option(name)
        if value is None:
            return self._spoken_number(words, least)
        return _whole(value, name, least)

    def _spoken_number(self, words: Sequence[str], least: int) -> int | None:
        numbers = [
            item for item in self.items if item.kind in {"number", "word"} and _value(item) is not None
        ]
        if not numbers or not any(item.text in words for item in self.items if item.kind == "word"):
            return None
        if len(numbers) > 1:
            raise Unfit("one number, not several")
        self.items.remove(numbers[0])
        self.word(*words)
        found = _value(numbers[0])
        return None if found is None else _whole(str(found), words[0], least)

    def range(self, name: str | None = None) -> tuple[str, str] | None:
        """Two ids with a dash between, or with `to`."""
        if name is not None:
            value = self.option(name)
            return None if value is None else _range_of(value)
        found = self._take("range")
        return None if found is None else _range_of(found.text)

    def done(self, *connecting: str) -> None:
        """Nothing may be left but the small words that this reading has."""
        left = [
            item
            for item in self.items
            if not (
                item.kind == "word"
                and (item.text in connecting or item.text in self.explained or item.text == "again")
            )
        ]
        if left:
            raise Unfit(f"{(left[0].raw or left[0].text)[:40]!r} was not expected")
        if self.options:
            raise Unfit(f"{next(iter(self.options))}: was not expected")


def _is_shown(word: str) -> bool:
    """Whether an id is ever written like this, where it has letters only."""
    return len(word) <= LOCAL_ID_LIMIT and not set(word.lower()) & set("ilou")


def lines_of(value: str) -> tuple[int, int]:
    """`12-20`, or one line."""
    found = _LINES.match(value.strip())
    if found is None:
        raise Unfit("lines are numbers such as 12-20")
    first, last = int(found[1]), int(found[2] or found[1])
    if not 1 <= first <= last:
        raise Unfit("lines count from 1, the first before the last")
    return first, last


def read_bare(token: Word, place: int, known: frozenset[str], *, article: bool) -> list[Item]:
    """A word that is none of the language: an id, several, a range, a number, or just a word."""
    text = token.raw
    if not token.bracketed and text.isalpha() and (article or not _is_shown(text)):
        # `open the door` speaks of a door, and ids are never shown with the letters i, l, o or u.
        return [Item("word", token.text, place, text)]
    if text.isdecimal() and not token.bracketed and (len(text) < 4 or len(text) > 26):
        return [Item("number", text, place, text)]
    if _RANGE.match(text) is not None:
        return [Item("range", text, place, text)]
    if "," in text:
        parts = [as_reference(part) for part in text.split(",") if part]
        if parts and all(parts):
            return [Item("id", part, place, text) for part in parts if part]
    reference = as_reference(text)
    if reference is None and len(text) <= _LONGEST:
        owner = _POSSESSIVE.sub("", text)
        reference = as_reference(owner) if owner != text and owner.lower() not in known else None
    return [Item("word" if reference is None else "id", reference or token.text, place, text)]


def node_id(value: str) -> str:
    """A value that must name a node."""
    reference = as_reference(value)
    if reference is None:
        raise Unfit(f"{value[:40]!r} is not a node id")
    return reference


def _range_of(text: str) -> tuple[str, str]:
    found = _RANGE.match(text.strip())
    if found is None:
        raise Unfit("a range is two ids with a dash between, such as r001-a7x2")
    return node_id(found[1]), node_id(found[2])


def _value(item: Item) -> int | None:
    if item.kind == "number":
        return int(item.text) if len(item.text) <= _DIGITS else _MANY
    return NUMBERS.get(item.text)


def _whole(value: str, name: str, least: int) -> int:
    if not value.isdecimal():
        raise Unfit(f"{name}: takes a whole number")
    found = int(value) if len(value) <= _DIGITS else _MANY
    if found < least:
        raise Unfit(f"{name}: is at least {least}")
    return found
