"""The probabilities of a node's tokens, read from the response that it came from."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import orjson

from weft.interop.loose_json import mapping, read_chances, sequence, text
from weft.tree.json import JsonObject, JsonValue

_HEAD_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    token: str
    logprob: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenView:
    """A token of a node's text, with those it might have been."""

    token: str
    start: int
    """Where it begins in the text, in characters."""
    logprob: float
    alternatives: tuple[Alternative, ...]
    """The most probable first; the token itself may be among them."""


def tokens_of(body: bytes, content: str) -> list[TokenView]:
    """The tokens of one answer; of a response with several, of the one that has this text."""
    answers: dict[tuple[str, int], list[JsonValue]] = {}
    for value in _objects(body):
        for choice in map(mapping, sequence(value.get("choices"))):
            index = choice.get("index")
            key = (text(value.get("id")), index if isinstance(index, int) else 0)
            answers.setdefault(key, []).extend(read_chances(choice.get("logprobs")))
    aligned = [_aligned(chances, content) for chances in answers.values()]
    return max(aligned, key=_length) if aligned else []


def _length(tokens: list[TokenView]) -> int:
    return sum(len(each.token) for each in tokens)


def _aligned(chances: list[JsonValue], content: str) -> list[TokenView]:
    """Tokens as far as they are the text; white space that was stripped from it is passed over."""
    tokens: list[TokenView] = []
    position = 0
    for each in map(mapping, chances):
        token = text(each.get("token"))
        if not content.startswith(token, position):
            if tokens or not content.startswith(token.lstrip(), position):
                break
            token = token.lstrip()
        others = [mapping(other) for other in sequence(each.get("top_logprobs"))]
        alternatives = [
            Alternative(token=text(other.get("token")), logprob=_number(other.get("logprob")))
            for other in others
        ]
        tokens.append(
            TokenView(
                token=token,
                start=position,
                logprob=_number(each.get("logprob")),
                alternatives=tuple(alternatives),
            )
        )
        position += len(token)
    return tokens


def _objects(body: bytes) -> Iterator[JsonObject]:
    """The JSON objects of a response: one, one a line, or server-sent events; after the head of the response."""
    if body.startswith(b"HTTP/"):
        body = body.partition(_HEAD_END)[2]
    whole = _parsed(body)
    if whole:
        yield whole
        return
    for line in body.splitlines():
        yield _parsed(line.removeprefix(b"data:").strip())


def _parsed(data: bytes) -> JsonObject:
    try:
        return mapping(cast("JsonValue", orjson.loads(data)))
    except orjson.JSONDecodeError:
        return {}


def _number(value: JsonValue) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
