"""What nodes and trees offer about layers; the engine behind it is loaded by who asks."""

from typing import TYPE_CHECKING, Unpack

from weft.runtime.operations.items import Detach
from weft.tree.item import Item
from weft.tree.node import Node
from weft.tree.tree import Tree

if TYPE_CHECKING:
    from weft.context.layers.envelope import Envelope
    from weft.runtime.grove import Grove
    from weft.runtime.handles import NodeHandle
    from weft.runtime.layer_options import LayerWishes
    from weft.runtime.preparing import Prepared
    from weft.runtime.stats import TreeStats

__all__ = ["LayeredNode", "LayeredTree"]


class LayeredNode:
    """A node as the end of a request in layers."""

    __slots__ = ()
    _grove: "Grove"
    value: Node

    def attach(self, *items: Item | str) -> "NodeHandle":
        """Hang items on this turn, all or none: made by hand, or named as `read_items` reads them."""
        from weft.runtime.attaching import attach_all  # noqa: PLC0415 - few calls attach

        attach_all(self._grove, self.value.tree_id, self.value.id, items)
        return self._as_it_is()

    def detach(self, item_id: str) -> "NodeHandle":
        self._grove.perform(Detach(tree=self.value.tree_id, node=self.value.id, item_id=item_id))
        return self._as_it_is()

    def _as_it_is(self) -> "NodeHandle":
        return self._grove.tree(self.value.tree_id).node(self.value.id)

    def envelope(self, **wishes: "Unpack[LayerWishes]") -> "Envelope":
        """The request from here in layers, with all that its turns attached.

        Takes what `context` takes, and `library` (system or inline), `changed` (refresh or
        append), `strip` and `summary`, `items` of input that is not a node yet, and what tools gave.
        """
        from weft.runtime.layer_options import layer_options_from  # noqa: PLC0415 - the engine

        return self._grove.layers.at(self.value.tree_id, self.value.id, layer_options_from(wishes))

    def prepare(self, **wishes: "Unpack[LayerWishes]") -> "Prepared":
        """The same made ready for sending: cache controls, what will be found cached, and what is odd about it."""
        from weft.runtime.layer_options import layer_options_from  # noqa: PLC0415 - the engine

        return self._grove.layers.prepare(self.value.tree_id, self.value.id, layer_options_from(wishes))

    def sent(self, ordinal: int | None = None) -> "Envelope":
        """What was sent from here, byte for byte: the last request, or one by its number."""
        return self._grove.layers.sent(self.value.tree_id, self.value.id, ordinal)

    @property
    def processed_text(self) -> str:
        """What was sent for this message; its own words, if it was saved without an envelope."""
        return self._grove.layers.processed_text(self.value.tree_id, self.value.id)

    def chat(self) -> str:
        """The path to here as a Markdown chat: what people see, and what was attached."""
        from weft.runtime.transfer.markdown_chats import chat_text  # noqa: PLC0415 - few calls write chats

        return chat_text(self._grove, self.value.tree_id, self.value.id)


class LayeredTree:
    """A tree whose requests are in layers."""

    __slots__ = ()
    _grove: "Grove"
    value: Tree

    def envelope(self, **wishes: "Unpack[LayerWishes]") -> "Envelope":
        """The request from where you stand in layers."""
        from weft.runtime.layer_options import layer_options_from  # noqa: PLC0415 - the engine

        return self._grove.layers.at(self.value.id, None, layer_options_from(wishes))

    def chat(self) -> str:
        """The path to where you stand as a Markdown chat."""
        from weft.runtime.transfer.markdown_chats import chat_text  # noqa: PLC0415 - few calls write chats

        return chat_text(self._grove, self.value.id, None)

    def stats(self, **wishes: "Unpack[LayerWishes]") -> "TreeStats":
        """What its requests were made of, and what a provider's cache made of them."""
        from weft.runtime.layer_options import layer_options_from  # noqa: PLC0415 - the engine
        from weft.runtime.stats import tree_stats  # noqa: PLC0415

        return tree_stats(self._grove.layers, self.value.id, layer_options_from(wishes))
