"""Replace our own key where a provider echoes it: in texts, and in response bodies however they are cut.

A replaced key leaves a mark of its own length, so that lengths and JSON stay valid.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast
from urllib.parse import quote, quote_plus

_MARK = "[redacted key]"
_SHORTEST_ENCODED = 8
"""Shorter keys are not looked for as base64: their encoding would occur by chance."""
_TEXT_MEMBERS = frozenset(
    {
        "arguments",
        "content",
        "delta",
        "partial_json",
        "reasoning",
        "reasoning_content",
        "refusal",
        "signature",
        "text",
        "thinking",
        "token",
    }
)
"""The members of stream events whose values are joined to one text."""
_TEXT = re.compile(rf'"({"|".join(sorted(_TEXT_MEMBERS))})"\s*+:\s*+"((?:[^"\\]|\\.)*+)"'.encode())
_CHARACTER = re.compile(rb"\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL)
_LINE = re.compile(rb"[^\r\n]*+[\r\n]")
_LATER_CHOICE = re.compile(rb'"index"\s*+:\s*+[1-9]')
_OPEN_LIMIT = 16
"""Beginnings of the key that are followed per text; more would only come from a hostile server."""
Span: TypeAlias = tuple[int, int]
Lane: TypeAlias = tuple[bytes, int]
"""The name of a member, and the choice that it belongs to: its values are one text."""


def redact_key(text: str, secret: str) -> str:
    """The text without the key, also where the key is quoted, escaped, or encoded."""
    if not secret:
        return text
    # The longest first: a shorter form may be a part of a longer one.
    for written in _forms(secret):
        text = text.replace(written, _mark(len(written)))
    return text


def marks_in(body: bytes) -> list[int]:
    """Where a key was replaced, as offsets; a mark may be spread over events as the key was."""
    marks = KeyRedactor(_MARK)
    marks.feed(body)
    return sorted(marks.replaced)


def _forms(secret: str) -> list[str]:
    """The ways in which errors, addresses and JSON write the key, the longest first."""
    encoded = secret.encode("utf-8", "surrogatepass")
    forms = {
        secret,
        repr(secret)[1:-1],
        repr(encoded)[2:-1],
        json.dumps(secret)[1:-1],
        quote(encoded, safe=""),
        quote_plus(encoded),
    }
    if len(encoded) >= _SHORTEST_ENCODED:
        # Whole groups only: the last ones depend on what follows the key.
        whole = encoded[: len(encoded) // 3 * 3]
        forms |= {base64.b64encode(whole).decode(), base64.urlsafe_b64encode(whole).decode()}
    return sorted(forms, key=len, reverse=True)


def _mark(length: int) -> str:
    return _MARK[:length].ljust(length, "*")


@dataclass(frozen=True, slots=True)
class _Beginning:
    """A beginning of the key at the end of a stream event's text, which the next event may continue."""

    matched: int
    spans: tuple[Span, ...]
    """Where its bytes are, counted from the beginning of the body."""


@dataclass(slots=True)
class _Value:
    """A text in a stream event, without JSON's escapes, and where each of its characters is."""

    text: bytes
    starts: Sequence[int]

    def span(self, start: int, end: int) -> Span:
        return self.starts[start], self.starts[end]


class _Form:
    """One way of writing the key, and its beginnings by their last byte: the search is quick without a match."""

    __slots__ = ("_sizes", "text")

    def __init__(self, text: bytes) -> None:
        self.text = text
        self._sizes: dict[int, list[int]] = {}
        for size in range(len(text) - 1, 0, -1):
            self._sizes.setdefault(text[size - 1], []).append(size)

    def beginnings(self, seen: bytes | bytearray) -> list[int]:
        """The lengths of the beginnings of the key at the end of `seen`, the longest first."""
        sizes = self._sizes.get(seen[-1], ()) if seen else ()
        return [size for size in sizes if seen.endswith(self.text[:size])]


@dataclass(slots=True)
class KeyRedactor:
    """Replaces a key in a response body that comes in pieces.

    The key is recognised wherever the pieces are cut, and where it is spread over several server-sent
    events. Only what may become the key is held back until more comes, or until `flush`.
    """

    secret: str = field(repr=False)
    replaced: set[int] = field(default_factory=set[int], init=False)
    """Where keys began, as offsets."""
    _forms: list[_Form] = field(init=False, repr=False)
    _key: _Form = field(init=False, repr=False)
    _held: bytearray = field(default_factory=bytearray, init=False, repr=False)
    _released: int = field(default=0, init=False)
    """How many bytes were given back: spans count from the beginning of the body."""
    _searched: int = field(default=0, init=False)
    _line: int = field(default=0, init=False)
    """Where the first incomplete line begins."""
    _open: dict[Lane, list[_Beginning]] = field(
        default_factory=dict[Lane, list[_Beginning]], init=False, repr=False
    )

    def __post_init__(self) -> None:
        self._key = _Form(self.secret.encode())
        self._forms = [_Form(form.encode()) for form in _forms(self.secret)] if self.secret else []

    def feed(self, data: bytes) -> bytes:
        """Take a piece; give back what can no longer become the key."""
        if not self._forms:
            return data
        self._held += data
        self._replace_whole()
        if b"\n" in data or b"\r" in data:
            self._read_events()
        return self._release(self._free())

    def flush(self) -> bytes:
        """Give back what was held: no more comes. Most of a key counts as the key."""
        end, key = self._released + len(self._held), self._key.text
        matched = max(self._key.beginnings(self._held), default=0)
        begun = [each for lane in self._open.values() for each in lane]
        for beginning in [*begun, _Beginning(matched, ((end - matched, end),))]:
            if 2 * beginning.matched > len(key):
                self._write_mark(beginning.spans)
        self._open.clear()
        return self._release(len(self._held))

    def _replace_whole(self) -> None:
        """Replace the key where its bytes follow each other."""
        start = max(0, self._searched - len(self._forms[0].text) - self._released)
        for form in (each.text for each in self._forms):
            at = self._held.find(form, start)
            while at >= 0:
                self._write_mark([(self._released + at, self._released + at + len(form))])
                at = self._held.find(form, at + len(form))
        self._searched = self._released + len(self._held)

    def _read_events(self) -> None:
        for line in _LINE.finditer(bytes(self._held[self._line - self._released :])):
            if line.group().startswith(b"data:"):
                self._read_event(line.group(), self._line)
            self._line += len(line.group())

    def _read_event(self, line: bytes, offset: int) -> None:
        texts = list(_TEXT.finditer(line))
        choices = _choices(line, len(texts))
        opened: dict[Lane, list[_Beginning]] = {}
        for match, choice in zip(texts, choices, strict=True):
            if match[2]:
                lane = (match[1], choice)
                begun = opened.setdefault(lane, [])
                value = _value(match[2], offset + match.start(2))
                begun += self._continue(value, [*self._open.get(lane, ()), *begun])
                del begun[:-_OPEN_LIMIT]
        # What an event of the same text does not continue is not the key.
        self._open.update(opened)

    def _continue(self, value: _Value, begun: Sequence[_Beginning]) -> Iterator[_Beginning]:
        """Replace the keys that end in this value; yield the beginnings of others at its end."""
        key = self._key.text
        at = value.text.find(key)
        while at >= 0:
            self._write_mark([value.span(at, at + len(key))])
            value.text = value.text.replace(key, bytes(len(key)), 1)
            at = value.text.find(key)
        for each in begun:
            rest = key[each.matched :]
            if value.text.startswith(rest):
                self._write_mark([*each.spans, value.span(0, len(rest))])
            elif rest.startswith(value.text):
                spans = (*each.spans, value.span(0, len(value.text)))
                yield _Beginning(each.matched + len(value.text), spans)
        length = len(value.text)
        for size in self._key.beginnings(value.text):
            yield _Beginning(size, (value.span(length - size, length),))

    def _write_mark(self, spans: Sequence[Span]) -> None:
        self.replaced.add(spans[0][0])
        mark = _mark(sum(end - start for start, end in spans)).encode()
        for start, end in spans:
            self._held[start - self._released : end - self._released] = mark[: end - start]
            mark = mark[end - start :]

    def _free(self) -> int:
        """How many of the held bytes can no longer become a part of the key."""
        begun = [each.spans[0][0] for lane in self._open.values() for each in lane]
        line = self._line - self._released
        if b"data:".startswith(bytes(self._held[line : line + 5])):
            begun.append(self._line)
        sizes = [size for form in self._forms for size in form.beginnings(self._held)]
        return min([len(self._held) - max(sizes, default=0), *(start - self._released for start in begun)])

    def _release(self, size: int) -> bytes:
        freed = bytes(self._held[:size])
        del self._held[:size]
        self._released += size
        self._line = max(self._line, self._released)
        return freed


def _value(raw: bytes, offset: int) -> _Value:
    if b"\\" not in raw:
        return _Value(raw, range(offset, offset + len(raw) + 1))
    text, starts = bytearray(), list[int]()
    for character in _CHARACTER.finditer(raw):
        text += _unescaped(character.group())
        starts.append(offset + character.start())
    return _Value(bytes(text), [*starts, offset + len(raw)])


def _unescaped(written: bytes) -> bytes:
    """One byte for each character; what is not ASCII cannot be in a key."""
    if len(written) == 1:
        return written
    try:
        character = str(json.loads(b'"%s"' % written))
    except ValueError:
        return b"\0"
    return character.encode() if character.isascii() else b"\0"


def _choices(line: bytes, count: int) -> list[int]:
    """The choice of each text in an event, in their order; all the first where the event does not say."""
    first = [0] * count
    if not _LATER_CHOICE.search(line):
        return first
    try:
        choices = list(_walk(json.loads(line[5:]), 0))
    except (ValueError, RecursionError):
        return first
    return choices if len(choices) == count else first


def _walk(value: object, choice: int) -> Iterator[int]:
    if isinstance(value, Mapping):
        for name, each in cast("Mapping[str, object]", value).items():
            if isinstance(each, str):
                if name in _TEXT_MEMBERS:
                    yield choice
            elif name in {"choices", "candidates"} and isinstance(each, list):
                for one in cast("list[object]", each):
                    yield from _walk(one, _index(one))
            else:
                yield from _walk(each, choice)
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            yield from _walk(each, choice)


def _index(choice: object) -> int:
    index = cast("Mapping[str, object]", choice).get("index") if isinstance(choice, Mapping) else None
    return index if isinstance(index, int) else 0
