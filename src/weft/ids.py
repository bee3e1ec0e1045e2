"""ULIDs, and the short local ids that people and models say aloud."""

import os
import re
from collections.abc import Callable, Iterator

from ulid import ULID

from weft.errors import InvalidInputError

__all__ = [
    "LOCAL_ID_LENGTH",
    "LOCAL_ID_LIMIT",
    "PRIME",
    "Entropy",
    "base_of",
    "is_ulid",
    "local_id_candidates",
    "new_ulid",
    "normalise_reference",
]

Entropy = Callable[[int], bytes]
"""Where random bytes come from: `os.urandom`, or a seeded source in tests."""

LOCAL_ID_LENGTH = 4
LOCAL_ID_LIMIT = 8
PRIME = "'"

_RANDOM_PART = 10
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}\Z")
_REFERENCE = re.compile(r"[0-9a-hjkmnp-tv-z]{4,26}'*\Z")
_LOOK_ALIKES = str.maketrans({"i": "1", "l": "1", "o": "0", "’": PRIME, "′": PRIME})


def new_ulid(microseconds: int, entropy: Entropy = os.urandom) -> str:
    """A ULID of this moment.

    The random part is drawn whole each time, never counted up: local ids are cut
    from its beginning, and neighbours would collide.
    """
    return str(ULID.from_bytes((microseconds // 1000).to_bytes(6, "big") + entropy(10)))


def is_ulid(text: str) -> bool:
    return _ULID.match(text) is not None


def local_id_candidates(ulid: str) -> Iterator[str]:
    """Local ids for a node, shortest first; the caller takes the first free one."""
    random_part = ulid[_RANDOM_PART:].lower()
    for length in range(LOCAL_ID_LENGTH, LOCAL_ID_LIMIT + 1):
        yield random_part[:length]


def base_of(local_id: str) -> str:
    """The id of the original that an edit's id was primed from."""
    return local_id.rstrip(PRIME)


def normalise_reference(reference: str) -> str:
    """A local id, ULID or prefix as it is looked up: lower case, brackets and look-alikes resolved."""
    text = reference.strip().removeprefix("[").removesuffix("]").lower().translate(_LOOK_ALIKES)
    if _REFERENCE.match(text) is None:
        shown = reference if len(reference) <= 40 else reference[:40] + "…"
        raise InvalidInputError(
            f"{shown!r} is not a node id",
            hint="use a local id such as a7x2, a ULID, or a prefix of at least 4 characters",
        )
    return text
