"""JSON that a strict parser refuses and programs write all the same: NaN, lone surrogates, very deep trees."""

import json
import re
from typing import cast

from weft.tree.json import JsonValue

_LIMIT = 128 * 1024 * 1024
"""Bytes: this parser is slow."""
_TOKEN = re.compile(r'[ \t\r\n]*(?:("[^"\\]*(?:\\.[^"\\]*)*")|([\[\]{},:])|([^\s\[\]{},:"]+))', re.DOTALL)
_CONSTANTS: dict[str, JsonValue] = {
    "null": None,
    "true": True,
    "false": False,
    # No number of ours: what is not one counts as absent.
    "NaN": None,
    "Infinity": None,
    "-Infinity": None,
}


_SURROGATES = re.compile(r"\\\\|(?:\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w)|\\u[dD][89a-fA-F]\w\w")


def _paired(escape: re.Match[str]) -> str:
    """Half of a character, which no database can give back, becomes the sign for one that is lost."""
    return escape[0] if len(escape[0]) != len("\\udfff") else "\\ufffd"


def lenient_loads(data: bytes) -> JsonValue:
    """A JSON value, however deep; a `ValueError` if it is none."""
    if len(data) > _LIMIT:
        raise ValueError("too large for the lenient parser")
    text = _SURROGATES.sub(_paired, data.decode("utf-8"))
    try:
        return cast("JsonValue", json.loads(text, parse_constant=lambda _: None))
    except RecursionError:
        return _Builder(text).value()


class _Builder:
    """Builds values with a stack of its own, so that depth is limited by memory only."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._open: list[tuple[list[JsonValue] | dict[str, JsonValue], str | None]] = []
        self._key: str | None = None
        self._expects_key = False

    def value(self) -> JsonValue:
        at = 0
        while token := _TOKEN.match(self._text, at):
            at = token.end()
            string, sign, word = token.groups()
            if sign in {"{", "["}:
                self._open.append(({} if sign == "{" else [], self._key))
                self._key, self._expects_key = None, sign == "{"
            elif sign == ",":
                self._expects_key = bool(self._open) and isinstance(self._open[-1][0], dict)
            elif string is not None and self._expects_key:
                self._key, self._expects_key = str(json.loads(string)), False
            elif sign != ":":
                complete = self._closed(sign) if sign else _scalar(string, word)
                if not self._open:
                    self._require_end(at)
                    return complete
                self._add(complete)
        raise ValueError("the value has no end")

    def _closed(self, sign: str) -> JsonValue:
        if not self._open:
            raise ValueError(f"{sign} without a beginning")
        made, self._key = self._open.pop()
        if isinstance(made, dict) is not (sign == "}"):
            raise ValueError(f"{sign} ends something else")
        return made

    def _require_end(self, at: int) -> None:
        if self._text[at:].strip():
            raise ValueError("something follows the value")

    def _add(self, value: JsonValue) -> None:
        holder = self._open[-1][0]
        if isinstance(holder, list):
            holder.append(value)
        elif self._key is None:
            raise ValueError("a value without a name")
        else:
            holder[self._key] = value
            self._key = None


def _scalar(string: str | None, word: str) -> JsonValue:
    if string is None and word in _CONSTANTS:
        return _CONSTANTS[word]
    return cast("JsonValue", json.loads(string or word))
