"""What every entrance of the engine returns: the request, and the account of it.

Fitting plain messages imports this, so it imports nothing that they do not need.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, NoReturn, Protocol, Self, TypeVar, cast

from weft.context.tokens import NO_LIMIT, Estimator
from weft.errors import InvalidInputError
from weft.tree.json import JsonObject, JsonValue

if TYPE_CHECKING:
    from datetime import datetime

    from typing_extensions import TypeVar as DefaultTypeVar

    from weft.context.cache.controls import CacheControls
    from weft.context.cache.prediction import CacheForecast, Prediction
    from weft.context.cache.prefix_monitor import Instability
    from weft.context.envelope import Envelope, Layer
    from weft.context.items.item_types import ContextItem
    from weft.context.manifest import Manifest
    from weft.context.manifest_view import Changes
    from weft.context.message_dict import PlainMessage
    from weft.context.messages import FittedList
    from weft.context.payload import Payload
    from weft.context.sdk_messages import Fields, MediaReader
    from weft.tree.agent import Agent
    from weft.tree.message import Message

    Said = DefaultTypeVar("Said", default=Message)
    Place = DefaultTypeVar("Place", default=str)
    System = DefaultTypeVar("System", default=str)
else:
    Said, Place, System = TypeVar("Said"), TypeVar("Place"), TypeVar("System")

_COMPUTED = frozenset(
    {"controls", "manifest", "masked", "messages", "removed_nodes", "removed_tokens", "shortened", "tokens"}
)
_COMPARED = (
    *("system", "messages", "document", "manifest", "budget", "truncated", "removed_nodes", "shortened"),
    *("masked", "warnings", "envelope", "tree_id", "node_id", "agent", "turn", "controls", "instabilities"),
    *("recorded", "refreshed", "unsummarised"),
)
"""The moment, the snapshot and the way to the provider are not what is sent."""


class RequestBody(dict[str, JsonValue]):
    """The JSON body of one request to a provider, after its adapter. Empty, with `why`, where there is none."""

    def __init__(
        self,
        value: JsonObject | None = None,
        *,
        data: bytes = b"",
        url: str = "",
        purpose: str = "generate",
        why: str = "",
    ) -> None:
        super().__init__(value or {})
        self.data = data
        """The exact bytes."""
        self.url = url
        self.purpose = purpose
        """`generate`, or `cache`: a cache at the provider that is created first."""
        self.why = why
        """Why there is no body."""

    def __repr__(self) -> str:
        return f"<no request: {self.why}>" if self.why else super().__repr__()

    def to_wire(self) -> JsonObject:
        if self.why:
            return {"purpose": self.purpose, "why": self.why}
        return {"purpose": self.purpose, "url": self.url, "body": dict(self)}


class Delivery(Protocol):
    """The way of a context to its provider."""

    @property
    def bodies(self) -> tuple[RequestBody, ...]:
        """What the provider's adapter would send, in order; one without a body if nothing can be sent."""
        ...

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of all that is asked."""
        ...


class ChainHeads(NamedTuple):
    """The state of the database that a context was read from: the heads of two event chains."""

    tree: str
    grove: str


class Context(Generic[Said, Place, System]):
    """Exactly what a model will see, and the account of it.

    Of a place in a tree it has messages or a document, and an envelope where it was laid out in layers. Of a plain
    list it has the list's own messages, measures only what is read of it, and can be extended.
    """

    system: System
    messages: Sequence[Said]
    """In buffer mode the references before the document."""
    document: str | None = None
    """In buffer mode."""
    manifest: "Manifest"
    """What became of every candidate, and why."""
    tokens: int
    """The estimate of everything that will be sent, the system included."""
    budget: int
    estimator: Estimator
    truncated: bool
    removed_nodes: int
    removed_tokens: int
    """By the ruler: what was cut was never read."""
    shortened: tuple[Place, ...]
    """Ids of nodes, or places in a list, whose own text had to be shortened."""
    masked: tuple[Place, ...]
    """Ids of nodes, or places in a list, whose tool results are sent as one line each."""
    tools: "Sequence[PlainMessage]" = ()
    """The schemas of tools that a list was fitted with."""
    envelope: "Envelope | None" = None
    """The same in layers, where it was made of a dialogue."""
    warnings: tuple[str, ...] = ()
    """What could not be read of what its turns attached."""
    turn: tuple[str, ...] = ()
    """Ids of the nodes whose words are the input."""
    unsummarised: tuple[str, ...] = ()
    """Ids of nodes that it shows as extracts: a call that is started queues their summaries."""
    tree_id: str = ""
    node_id: str = ""
    agent: "Agent | None" = None
    """The agent that answers."""
    as_of: "datetime | None" = None
    """The moment that relative times refer to."""
    snapshot: ChainHeads | None = None
    controls: "CacheControls"
    """What the provider is told about caching."""
    forecast: "CacheForecast | None" = None
    """What of it the provider has cached, where a model is known."""
    instabilities: "tuple[Instability, ...]" = ()
    """Stable layers that changed without a recorded reason."""
    recorded: bool = False
    """Whether it is logged in layers when it is sent."""
    refreshed: "tuple[ContextItem, ...]" = ()
    """Items that are not as they were attached."""
    delivery: Delivery | None = None
    fitted: "FittedList | None" = None
    """Of a list: what was measured, and decided."""

    def __init__(
        self, *, system: System, budget: int, estimator: Estimator, truncated: bool, **values: object
    ) -> None:
        fields = vars(self)
        fields["system"], fields["budget"] = system, budget
        fields["estimator"], fields["truncated"] = estimator, truncated
        fields.update(values)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """What was not given: computed when it is first read."""
            if name not in _COMPUTED:
                raise AttributeError(f"a context has no {name!r}")
            if name == "controls":
                from weft.context.cache.controls import CacheControls  # noqa: PLC0415 - a list needs none

                value = CacheControls()
            elif self.fitted is not None:
                value = getattr(self.fitted, name)()
            else:
                value = getattr(self.manifest, name)
            vars(self)[name] = value
            return value

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name!r} of a context cannot be changed")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Context):
            return NotImplemented
        return all(getattr(self, each) == getattr(cast("Context", other), each) for each in _COMPARED)

    __hash__ = None  # type: ignore[assignment] - a context is compared by what it says

    def changed(self, **values: object) -> Self:
        """The same context with other values."""
        context = object.__new__(type(self))
        vars(context).update(vars(self), **values)
        if "manifest" in values:
            for name in ("tokens", "removed_tokens"):
                vars(context).pop(name, None)
        return context

    def extend(self, messages: "Iterable[PlainMessage]") -> Self:
        """The context of a longer list: what fitting it afresh would give, for the price of what is new."""
        if self.fitted is None:
            raise InvalidInputError(
                "only the context of a list of messages can be extended", hint="see fit_messages"
            )
        return self.fitted.extend(messages)  # type: ignore[return-value] - a list's context extends to a list's

    @property
    def prediction(self) -> "Prediction | None":
        """What the provider has cached of it."""
        return None if self.forecast is None else self.forecast.prediction

    @property
    def requests(self) -> tuple[RequestBody, ...]:
        """What would be sent over HTTP, after the provider's adapter, in order."""
        return () if self.delivery is None else self.delivery.bodies

    @property
    def request(self) -> RequestBody:
        """The body that would be sent to the model; without one, its `why` says the reason."""
        answers = [body for body in self.requests if body.purpose == "generate"]
        return answers[0] if answers else RequestBody(why="it was made of values, for no model")

    @property
    def layers(self) -> "tuple[Layer, ...]":
        """L1 to L5. Where nothing had to be laid out, what is in their places; a list has none."""
        if self.envelope is not None:
            return self.envelope.layers
        from weft.context.envelope import unlaid_layers  # noqa: PLC0415 - a list needs none of it

        return () if self.fitted is not None else unlaid_layers(cast("Context", self))

    @property
    def laid_out(self) -> "Envelope":
        """The envelope; an error where there is none."""
        if self.envelope is None:
            raise InvalidInputError("layers are made of dialogues", hint="a text in buffer mode has no turns")
        return self.envelope

    @property
    def provider(self) -> str:
        """`provider:model`, or nothing where no model is known to answer."""
        return "" if self.agent is None else self.agent.model_ref or ""

    @property
    def payload(self) -> "Payload":
        """The request as a layered view."""
        from weft.context.payload import Payload  # noqa: PLC0415 - as above

        return Payload(
            envelope=self.laid_out,
            provider=self.provider,
            controls=self.controls,
            prediction=self.prediction,
        )

    def __repr__(self) -> str:
        cut = f", {self.removed_nodes:,} left out" if self.truncated else ""
        limit = f" of {self.budget:,}" if self.budget < NO_LIMIT else ""
        return f"<Context {self.tokens:,}{limit} tokens{cut}>"

    def _repr_html_(self) -> str:
        return self.manifest._repr_html_()  # pyright: ignore[reportPrivateUsage] - the notebooks' name for it

    def diff(self, other: "Context[Said, Place, System]") -> "Changes":
        """What would be different with the other."""
        return self.manifest.diff(other.manifest)

    def to_openai(self, media: "MediaReader | None" = None) -> "list[Fields]":
        """The messages for `client.chat.completions.create(messages=…)`; `media` reads pictures by their ref."""
        from weft.context.sdk_messages import openai_messages, plain_context  # noqa: PLC0415 - as above

        return openai_messages(plain_context(self, media), self.system)

    def to_anthropic(self, media: "MediaReader | None" = None) -> "Fields":
        """`system` and `messages` for `client.messages.create(**…)`."""
        from weft.context.sdk_messages import anthropic_fields, plain_context  # noqa: PLC0415 - as above

        return anthropic_fields(plain_context(self, media), self.system)

    def to_wire(self) -> JsonObject:
        from weft.context.sdk_messages import message_fields  # noqa: PLC0415 - as above
        from weft.tree.json_names import iso  # noqa: PLC0415 - as above

        snapshot = self.snapshot
        return {
            "system": cast("JsonValue", self.system),
            "messages": message_fields(self),
            "document": self.document,
            "tokens": self.tokens,
            "budget": self.budget,
            "truncated": self.truncated,
            "removedNodes": self.removed_nodes,
            "removedTokens": self.removed_tokens,
            "shortened": list(cast("tuple[JsonValue, ...]", self.shortened)),
            "masked": list(cast("tuple[JsonValue, ...]", self.masked)),
            "layers": [layer.to_line() for layer in self.layers],
            "requests": [body.to_wire() for body in self.requests],
            "agent": None if self.agent is None else self.agent.name,
            "model": self.provider or None,
            "asOf": None if self.as_of is None else iso(self.as_of),
            "snapshot": None if snapshot is None else {"tree": snapshot.tree, "grove": snapshot.grove},
            "warnings": list(self.warnings),
            "manifest": self.manifest.to_wire(),
        }
