"""Word wrap of a text that comes in pieces."""

import re

_PARTS = re.compile(r"\n|[^\S\n]+|[^\s]+")


class WordWrap:
    """Breaks lines between words. A word is written once it is whole, because it may have to go to the next line."""

    def __init__(self, width: int) -> None:
        self._width = max(1, width)
        self._column = 0
        self._space = ""
        """White space that is written only if a word follows on the same line."""
        self._word = ""

    def add(self, text: str) -> str:
        """The text that can be written now; a line end completes what is held back."""
        written: list[str] = []
        for part in _PARTS.findall(text):
            if part == "\n":
                written += [self._ended(), "\n"]
                self._column, self._space = 0, ""
            elif part.isspace():
                written.append(self._ended())
                self._space += part
            else:
                self._word += part
        return "".join(written)

    def _ended(self) -> str:
        """The word that is whole now, on this line or on the next."""
        from rich.cells import cell_len, chop_cells  # noqa: PLC0415 - 60 ms, and only terminals need it

        word, space = self._word, self._space
        if not word:
            return ""
        self._word = self._space = ""
        size, gap = cell_len(word), cell_len(space)
        if self._column + gap + size <= self._width:
            self._column += gap + size
            return space + word
        if size <= self._width:
            self._column = size
            return "\n" + word
        pieces = chop_cells(word, self._width)
        before = "\n" if self._column else ""
        self._column = cell_len(pieces[-1])
        return before + "\n".join(pieces)
