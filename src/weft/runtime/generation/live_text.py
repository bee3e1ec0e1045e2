"""Text as it arrives, for those who follow: from memory in the process that hears it, from its rows in others."""

import contextlib
import threading
import weakref
from collections.abc import Generator, Iterable

import orjson

from weft.store.base import Store
from weft.store.model_calls import PieceRow

TEXT, THINKING = "t", "h"
"""How pieces name them."""


class LiveText:
    """What one call has said so far, by choice and kind. One thread adds; any may read."""

    def __init__(self) -> None:
        self._chunks: dict[tuple[int, str], list[str]] = {}
        self._joined: dict[tuple[int, str], str] = {}
        self._guard = threading.Lock()

    def add(self, choice: int, kind: str, text: str) -> None:
        if text:
            with self._guard:
                self._chunks.setdefault((choice, kind), []).append(text)

    def read(self) -> dict[tuple[int, str], str]:
        """All of it; joined once for all readers."""
        with self._guard:
            for key, chunks in self._chunks.items():
                self._joined[key] = "".join((self._joined.get(key, ""), *chunks))
            self._chunks.clear()
            return dict(self._joined)


def text_in_pieces(pieces: Iterable[PieceRow]) -> dict[tuple[int, str], str]:
    """What a call has said, from what was written down of it."""
    text = LiveText()
    for piece in pieces:
        for kind, choice, value in orjson.loads(piece.said):
            if kind in {TEXT, THINKING}:
                text.add(choice, kind, value)
    return text.read()


_shown: "weakref.WeakKeyDictionary[Store, dict[str, LiveText]]" = weakref.WeakKeyDictionary()
_guard = threading.Lock()


@contextlib.contextmanager
def showing_text(store: Store, attempt: str, text: LiveText) -> Generator[None]:
    """Let others in this process read what a call says, while the body runs."""
    with _guard:
        _shown.setdefault(store, {})[attempt] = text
    try:
        yield
    finally:
        with _guard:
            _shown.get(store, {}).pop(attempt, None)


def shown_texts(store: Store) -> dict[str, LiveText]:
    """The calls of this process under way, by attempt."""
    with _guard:
        return dict(_shown.get(store, ()))
