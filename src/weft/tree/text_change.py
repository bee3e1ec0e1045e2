"""What one text has that another had not: enough to go from either to the other."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextChange:
    """After the characters that were kept, some were removed and others put in their place."""

    kept: int
    removed: str
    added: str

    def undone(self, text: str) -> str | None:
        """The text before the change; None if this is not a text it could have led to."""
        return _replace(text, self.kept, self.added, self.removed)

    def done(self, text: str) -> str | None:
        """The text after the change; None if this is not one it could have begun with."""
        return _replace(text, self.kept, self.removed, self.added)


def change_between(before: str, after: str) -> TextChange:
    """The smallest stretch that differs."""
    kept = _shared(before, after)
    left = _shared(before[kept:][::-1], after[kept:][::-1])
    return TextChange(kept, before[kept : len(before) - left], after[kept : len(after) - left])


def _shared(one: str, other: str) -> int:
    """How many characters two texts begin with alike, by halves: comparing slices is fast."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _replace(text: str, at: int, there: str, instead: str) -> str | None:
    if len(text) < at or not text.startswith(there, at):
        return None
    return text[:at] + instead + text[at + len(there) :]
