"""Completing what is being typed: titles and ids of trees and documents."""

from mcp_types import CompleteResult, Completion, CompletionArgument

from weft.errors import PermissionDeniedError
from weft.grove.grove import Grove
from weft.runtime.views.tree_list import Shelved, shelved_documents, shelved_trees

__all__ = ["complete"]

_LOOKED_AT = 1_000
_SHOWN = 100
"""More the protocol does not take."""


def complete(grove: Grove, argument: CompletionArgument) -> CompleteResult:
    """What an argument of a prompt or an address may be."""
    found = [each.id for each in _named(grove, argument.name, argument.value)]
    shown = found[:_SHOWN]
    return CompleteResult(completion=Completion(values=shown, total=len(found), has_more=len(found) > _SHOWN))


def _named(grove: Grove, name: str, begun: str) -> list[Shelved]:
    """By the beginning of an id or of a title, in any case."""
    wanted = begun.casefold()
    try:
        if name == "tree":
            listed = shelved_trees(grove.read, limit=_LOOKED_AT)
        elif name == "document":
            listed = shelved_documents(grove.read, limit=_LOOKED_AT)
        else:
            return []
    except PermissionDeniedError:
        return []
    return [
        each
        for each in listed
        if each.id.casefold().startswith(wanted) or each.title.casefold().startswith(wanted)
    ]
