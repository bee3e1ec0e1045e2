"""The tags of a note: those of its front matter, and those in its text."""

import re
from collections.abc import Iterator

_FRONT_LIMIT = 64 * 1024
_INLINE = re.compile(r"(?<![\w/#&\[(])#([\w/-]*[^\W\d][\w/-]*)")
_CODE = re.compile(r"`[^`\n]*`")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_KEY = re.compile(r"(?:tags?)[ \t]*:(.*)", re.IGNORECASE)
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")


def tags_of(text: str) -> frozenset[str]:
    """Without their sign. What stands in code is no tag."""
    front, rest = _parts(text)
    return frozenset([*_of_front(front), *_of_text(rest)])


def _parts(text: str) -> tuple[list[str], str]:
    if not text.startswith(("---\n", "---\r\n")):
        return [], text
    end = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE).search(text, 4, _FRONT_LIMIT)
    if end is None:
        return [], text
    return text[4 : end.start()].splitlines(), text[end.end() :]


def _of_front(lines: list[str]) -> Iterator[str]:
    """`tags: [a, b]`, `tags: a, b` or a list below it; anything else is somebody else's."""
    listing = False
    for line in lines:
        key, item = _KEY.match(line), _ITEM.match(line)
        if key is not None:
            told = key[1].strip()
            listing = not told
            yield from _cleaned(told.strip("[]").split(","))
        elif listing and item is not None:
            yield from _cleaned([item[1]])
        elif line.strip():
            listing = False


def _cleaned(names: list[str]) -> Iterator[str]:
    for name in names:
        found = name.strip().strip("\"'").removeprefix("#").strip()
        if found and not found.startswith("-"):
            yield found


def _of_text(text: str) -> Iterator[str]:
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark is not None and not fence:
            fence = mark[1]
        elif mark is not None and mark[1].startswith(fence):
            fence = ""
        elif not fence and "#" in line:
            for found in _INLINE.finditer(_CODE.sub("", line)):
                yield found[1].rstrip("/-")
