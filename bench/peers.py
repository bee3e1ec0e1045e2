"""Others who fit messages into a budget, each with its best settings. Whoever is not installed is not asked."""

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any, NamedTuple, TypeAlias

__all__ = ["MISSING", "Peer", "langchain", "tokens_of"]

Plain: TypeAlias = Mapping[str, Any]
MISSING = "langchain-core is not installed, so nothing is compared with it: uv pip install --group peers"


class Peer(NamedTuple):
    name: str
    convert: Callable[[Sequence[Plain]], list[Any]]
    """A list as the peer wants it, made before the clock starts."""
    fit: Callable[[list[Any], int], list[Any]]
    plain: Callable[[Sequence[Any]], list[Plain]]


def tokens_of(text: str) -> int:
    return (len(text) + 3) >> 2


def langchain() -> Peer | None:
    """`trim_messages`, keeping the last, with a counter that takes the whole list and does the least."""
    if importlib.util.find_spec("langchain_core") is None:
        return None
    theirs: Any = import_module("langchain_core.messages")

    def convert(messages: Sequence[Plain]) -> list[Any]:
        return list(theirs.convert_to_messages(list(messages)))

    def count(messages: Sequence[Any]) -> int:
        return sum((len(message.content) + 3) >> 2 for message in messages)

    def fit(messages: list[Any], limit: int) -> list[Any]:
        return theirs.trim_messages(messages, max_tokens=limit, token_counter=count, strategy="last")

    def plain(messages: Sequence[Any]) -> list[Plain]:
        return list(theirs.convert_to_openai_messages(list(messages)))

    name = f"langchain-core {version('langchain-core')}"
    return Peer(name, convert, fit, plain)
