"""A key that cannot be printed by accident, and the blotting out of one that came back."""

import json
from urllib.parse import quote, quote_plus

from weft.redaction import protect_secret

__all__ = ["Blotter", "Secret", "blot_text"]

_BLOT = "*"


class Secret:
    """A key. Only `reveal` gives it; whatever prints, logs or compares it sees nothing."""

    __slots__ = ("__weakref__", "_value")

    def __init__(self, value: str) -> None:
        self._value = value
        protect_secret(self)

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "<Secret>"

    def __reduce__(self) -> str:
        raise TypeError("a key is not pickled")


def blot_text(text: str, secret: str) -> str:
    """The text without the key, also as errors and addresses write one: quoted, escaped, as bytes."""
    if not secret:
        return text
    # The longest first: a shorter way of writing it may be a part of a longer one.
    for written in sorted(_ways(secret), key=len, reverse=True):
        text = text.replace(written, _BLOT * len(written))
    return text


def _ways(secret: str) -> set[str]:
    encoded = secret.encode("utf-8", "surrogatepass")
    return {
        secret,
        repr(secret)[1:-1],
        repr(encoded)[2:-1],
        json.dumps(secret)[1:-1],
        quote(encoded, safe=""),
        quote_plus(encoded),
    }


class Blotter:
    """Blots a key out of a stream of bytes, wherever the pieces are cut. Lengths stay as they were."""

    __slots__ = ("_held", "_secret")

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        if not self._secret:
            return data
        seen = (self._held + data).replace(self._secret, _BLOT.encode() * len(self._secret))
        held = self._beginning(seen)
        self._held = seen[len(seen) - held :]
        return seen[: len(seen) - held]

    def flush(self) -> bytes:
        held, self._held = self._held, b""
        return held

    def _beginning(self, seen: bytes) -> int:
        """How many of the last bytes may be the beginning of the key."""
        longest = min(len(self._secret) - 1, len(seen))
        return next((size for size in range(longest, 0, -1) if seen.endswith(self._secret[:size])), 0)
