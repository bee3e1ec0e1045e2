"""ULIDs, short local ids for people and models, and the clock and entropy that ids are made of."""

import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterator

from weft.errors import InvalidInputError

Clock = Callable[[], int]
"""Returns the time, in microseconds since 1970."""

Entropy = Callable[[int], bytes]
"""Where random bytes come from: `os.urandom`, or a seeded source in tests."""

LOCAL_ID_LENGTH = 4
LOCAL_ID_LIMIT = 8
PRIME = "'"

_RANDOM_PART = 10
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}\Z")
_REFERENCE = re.compile(r"[0-9a-hjkmnp-tv-z]{4,26}'*\Z")
_NUMBERED = re.compile(r"(.+)\.([1-9][0-9]?)\Z")
_LOOK_ALIKES = str.maketrans({"i": "1", "l": "1", "o": "0", "’": PRIME, "′": PRIME})


def system_clock() -> int:
    return time.time_ns() // 1000


ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = tuple(first + second for first in ALPHABET for second in ALPHABET)
"""Ten bits at a time."""

_RANDOM_SIZE = 10
_drawn: deque[bytes] = deque()
if hasattr(os, "register_at_fork"):
    # Else a forked child would name its nodes like its parent.
    os.register_at_fork(after_in_child=_drawn.clear)


def random_bytes(size: int) -> bytes:
    """Bytes of `os.urandom`, drawn many at a time.

    Asking the system lets every waiting thread in first; where a hundred wait for one
    writer, that costs more than all else about an id.
    """
    if size != _RANDOM_SIZE:
        return os.urandom(size)
    while True:
        try:
            return _drawn.popleft()
        except IndexError:
            block = os.urandom(256 * size)
            _drawn.extend(block[start : start + size] for start in range(0, len(block), size))


def new_ulid(microseconds: int, entropy: Entropy = random_bytes) -> str:
    """A ULID of this moment.

    The random part is drawn whole each time, never counted up: local ids are cut
    from its beginning, and neighbours would collide.
    """
    moment = microseconds // 1000
    number = int.from_bytes(entropy(_RANDOM_SIZE), "big")
    pairs = _PAIRS
    return (
        f"{pairs[moment >> 40]}{pairs[moment >> 30 & 1023]}{pairs[moment >> 20 & 1023]}"
        f"{pairs[moment >> 10 & 1023]}{pairs[moment & 1023]}"
        f"{pairs[number >> 70]}{pairs[number >> 60 & 1023]}{pairs[number >> 50 & 1023]}"
        f"{pairs[number >> 40 & 1023]}{pairs[number >> 30 & 1023]}{pairs[number >> 20 & 1023]}"
        f"{pairs[number >> 10 & 1023]}{pairs[number & 1023]}"
    )


def is_ulid(text: str) -> bool:
    return _ULID.match(text) is not None


def local_id_candidates(ulid: str) -> Iterator[str]:
    """Local ids for a node, shortest first; the caller takes the first free one."""
    random_part = ulid[_RANDOM_PART:].lower()
    for length in range(LOCAL_ID_LENGTH, LOCAL_ID_LIMIT + 1):
        yield random_part[:length]


COMMAND_WORDS = frozenset(
    re.findall(
        r"\w+",
        "after agent ahead amend answer anywhere apart appear appears append area army attach attached away "
        "back badge bare base beat beds beef been began beneath best beta better between branch branches "
        "brave bread break breath came camera camp cant carry case cases cast catch cave center chance "
        "change changed chapter chart chat cheap check cheers create dark darker data date dates dead dear "
        "debate deep degree dense depth descend desert deserves detach draft drafts drama draw dream dress "
        "each ears east easy edge ends erase ever every exact except expand expanded extend extra face fact "
        "facts fade fake fame fast fear fears feet fetch frame france free fresh game garden gate gave gear "
        "gems generate germany gets grab grand grant grass grave gray great green grep grew hand hands hang "
        "happens hard harsh hate have head hear heard heart heat hence here hers keep keeps kept made make "
        "manner many mark marker mars mass master match matter matters maybe mean means meant meet member "
        "mere merge mess message name named names narrate near neat need needed needs never news next pace "
        "pack page pages paper parent park part parts party pass passage passages past path peek perhaps "
        "phase phrase prefer present press pretty prev rage range rank rare rate rather reach reaches read "
        "reads ready recent recheck refer remark remarks remember repeat rephrase reread rest reverse "
        "revert reverted save saved says scare scene scenes seam search seat secret seed seek seem seems "
        "seen send sense sent sentence separate serve seven sever shade shape share sharp shed speak speaks "
        "stage stake stand stands stanza star stars start starts stash stashed stashes state stay stays "
        "step steps strange street stress syntax take taken tame tape task taste team tear tears temp tend "
        "tense tent term terms test text texts than thank thanks that them theme themes then there these "
        "they thread threat three trace trade trap treat tree trees trend verse very wake wanna want wants "
        "warm waste watch water wave waves weak weaker wear weather weave week weft went were west what "
        "whatever when where whether yard yeah year years zebra",
    )
)
"""Words of the commands that models speak: as an id, each of them could only be said in brackets."""


def sayable_ids(ulid: str) -> Iterator[str]:
    """The same without those that are words: `view head` would look for a head, and not at a node."""
    return (name for name in local_id_candidates(ulid) if name not in COMMAND_WORDS)


def base_of(local_id: str) -> str:
    """The id of the original that an edit's id was primed from."""
    return local_id.rstrip(PRIME)


def typable(local_id: str) -> str:
    """A local id as people type it: `a7x2.1` for `a7x2'`, because a prime is a quotation mark in a shell."""
    base = base_of(local_id)
    return local_id if base == local_id else f"{base}.{len(local_id) - len(base)}"


def normalise_reference(reference: str) -> str:
    """A local id, ULID or prefix as it is looked up: lower case, brackets and look-alikes resolved."""
    text = reference.strip().removeprefix("[").removesuffix("]").lower()
    if numbered := _NUMBERED.match(text):
        text = numbered[1] + PRIME * int(numbered[2])
    text = text.translate(_LOOK_ALIKES)
    if _REFERENCE.match(text) is None:
        shown = reference if len(reference) <= 40 else reference[:40] + "…"
        raise InvalidInputError(
            f"{shown!r} is not a node id",
            hint="use a local id such as a7x2, a ULID, or a prefix of at least 4 characters",
        )
    return text
