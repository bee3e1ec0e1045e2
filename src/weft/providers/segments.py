"""Cut a request's body where its parts meet, so that requests share what they have in common."""

import re
from itertools import pairwise

__all__ = ["cut_body"]

_LISTS = frozenset({b'"messages"', b'"contents"', b'"input"', b'"system"', b'"tools"'})
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{},:]')
_TOP = 1
_INSIDE = 2


def cut_body(body: bytes) -> tuple[bytes, ...]:
    """The body in pieces: cut before every element of its lists of messages, and after the last.

    Joined they are the body, whatever it is; one that is no JSON object stays whole.
    Linear in the body, and no deeper than it.
    """
    cuts = [0, *_cuts(body), len(body)]
    return tuple(body[start:end] for start, end in pairwise(cuts) if start < end)


def _cuts(body: bytes) -> list[int]:
    found: list[int] = []
    depth, key, last, listed = 0, b"", b"", False
    for token in _TOKEN.finditer(body):
        sign = token.group()
        if sign == b":" and depth == _TOP:
            key = last
        elif sign in b"[{":
            depth += 1
            if depth == _INSIDE and sign == b"[" and key in _LISTS:
                listed = True
                found.append(token.end())
        elif sign in b"]}":
            if depth == _INSIDE and listed:
                listed = False
                found.append(token.start())
            depth -= 1
        elif sign == b"," and depth == _INSIDE and listed:
            found.append(token.end())
        last = sign
    return found if body[:1] == b"{" else []
