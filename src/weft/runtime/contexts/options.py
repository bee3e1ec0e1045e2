"""How a request in layers is wanted."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from weft.context.checks import checked_flag, checked_mapping, checked_words, words_if_given
from weft.context.layers.items import ContextItem
from weft.context.settings import Changed, Placement
from weft.errors import InvalidInputError
from weft.runtime.contexts.assembler import ContextOptions, ContextWishes, options_from
from weft.runtime.contexts.items import shown_item
from weft.tree.item import Item, check_item


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerOptions:
    """What a request in layers needs besides what every context does."""

    context: ContextOptions = field(default_factory=ContextOptions)
    items: Sequence[ContextItem] = ()
    """Those of the input that is not a node yet."""
    tool_descriptions: str = ""
    memory_block: str = ""
    """A loom-aware agent's, which is not cached."""
    loom_context: str = ""
    addendum: str | None = None
    summary: str | None = None
    """Stands for the turns before the strip; else the summaries that nodes have."""
    fresh: bool = True
    """Whether notes and documents are looked at again; if not, all is as it was attached."""
    subject: bool = False
    """Whether whoever answers is shown nothing of the tree around it, even if it could be."""
    way: str = ""
    """How the provider wants to be told about caching, where its name does not say so."""


class LayerWishes(ContextWishes, total=False):
    """The same as keywords, with the settings of layers by short names."""

    items: Sequence[Item | ContextItem]
    tool_descriptions: str
    memory_block: str
    loom_context: str
    addendum: str | None
    library: Placement | str | None
    changed: Changed | str | None
    strip: int | None
    summary: str | None
    fresh: bool


_SHORT = (("library", "library"), ("changed", "changed"), ("strip", "stripTurns"))


def layer_options_from(wishes: LayerWishes) -> LayerOptions:
    checked_mapping("preferences", wishes.get("preferences", {}))
    preferences = dict(wishes.get("preferences", {}))
    for short, name in _SHORT:
        value = wishes.get(short)
        if value is not None:
            preferences[name] = value if isinstance(value, int) else str(value)
    context = options_from(cast("ContextWishes", {**wishes, "preferences": preferences}), LayerWishes)
    return LayerOptions(
        context=context,
        items=_items(wishes.get("items", ())),
        tool_descriptions=checked_words("tool_descriptions", wishes.get("tool_descriptions", "")),
        memory_block=checked_words("memory_block", wishes.get("memory_block", "")),
        loom_context=checked_words("loom_context", wishes.get("loom_context", "")),
        addendum=words_if_given("addendum", wishes.get("addendum")),
        summary=words_if_given("summary", wishes.get("summary")),
        fresh=checked_flag("fresh", wishes.get("fresh", True)),
    )


def _items(given: object) -> list[ContextItem]:
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise InvalidInputError(f"items must be a list of items, got {given!r}")
    found: list[ContextItem] = []
    for each in cast("Sequence[object]", given):
        if isinstance(each, Item):
            found.append(shown_item(check_item(each)))
        elif isinstance(each, ContextItem):
            check_item(each.item)
            found.append(each)
        else:
            raise InvalidInputError(
                f"items are items, got {each!r}", hint="grove.vaults.items(…) reads what is named"
            )
    return found
