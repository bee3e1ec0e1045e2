"""What every provider is asked, and what it can do. Adapters translate; nothing here knows a dialect."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Protocol

from weft.errors import InvalidInputError
from weft.providers.events import Event
from weft.tree.attempt import Usage
from weft.tree.json import JsonObject, JsonValue
from weft.tree.message import Message

__all__ = [
    "FREE",
    "NO_CACHE",
    "CacheControls",
    "CacheKind",
    "CacheMark",
    "ModelInfo",
    "ModelName",
    "NoCache",
    "Parameters",
    "Prices",
    "Profile",
    "Provider",
    "Request",
    "SystemPlace",
    "Tool",
]

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class ModelName:
    """`provider:model`. The model is the provider's own name for it and may hold colons and slashes."""

    provider: str
    model: str

    @classmethod
    def parse(cls, text: str) -> "ModelName":
        provider, colon, model = text.strip().partition(":")
        provider, model = provider.strip().lower(), model.strip()
        if not (provider and colon and model):
            raise InvalidInputError(
                f"{text!r} does not name a model",
                hint="write provider:model, for example local:smollm2 or anthropic:claude-sonnet-4-5",
            )
        return cls(provider, model)

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


class SystemPlace(StrEnum):
    """Where a provider wants the system context."""

    FIELD = "field"
    FIRST_MESSAGE = "first_message"


class CacheKind(StrEnum):
    """How a provider caches prefixes."""

    MARKS = "marks"
    KEY = "key"
    CONTENT = "content"
    PREFIX = "prefix"
    """By itself, without being told."""
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Dollars for a million tokens."""

    input: Decimal
    output: Decimal
    cached_read: Decimal | None = None
    cached_write: Decimal | None = None
    above: "tuple[tuple[int, Prices], ...]" = ()
    """What long prompts cost instead, each with the tokens beyond which they count as long."""

    def cost(self, usage: Usage) -> Decimal:
        """What a call cost, in dollars. Cached tokens without a price of their own cost like others."""
        for start, prices in reversed(self.above):
            if (usage.prompt or 0) > start:
                return prices.cost(usage)
        read, written = usage.cached_read or 0, usage.cached_write or 0
        plain = max(0, (usage.prompt or 0) - read - written)
        asked = self.input * plain + self._or_input(self.cached_read) * read
        asked += self._or_input(self.cached_write) * written
        return (asked + self.output * (usage.completion or 0)) / _MILLION

    def _or_input(self, price: Decimal | None) -> Decimal:
        return self.input if price is None else price


FREE = Prices(input=Decimal(0), output=Decimal(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a model can do, as far as requests to it depend on that."""

    window: int | None = None
    """Tokens of prompt and answer together; None if nobody knows."""
    output_limit: int | None = None
    system: SystemPlace = SystemPlace.FIRST_MESSAGE
    images: bool = False
    audio: bool = False
    tools: bool = False
    logprobs: int = 0
    """How many alternatives of each token can be asked for; 0: none are offered."""
    completion: bool = False
    """Whether a document can be continued as it is."""
    prefill: bool = False
    """Whether a request may end with the answer's first words."""
    choices: int = 1
    """The largest `n` of one request."""
    seed: bool = False
    sampling: bool = True
    """Whether temperature and top-p can be set; where they cannot, they are left out of requests."""
    stop: bool = True
    """Whether stop sequences can be given."""
    cache: CacheKind = CacheKind.NONE
    prices: Prices | None = None
    """None: not known. Free models have prices of nothing."""
    local: bool = False
    """Runs on this machine: nothing leaves it, nothing is spent."""

    @property
    def prefix_cache(self) -> bool:
        return self.cache is not CacheKind.NONE


class CacheMark(Protocol):
    """A block that ends a prefix to be cached."""

    @property
    def message(self) -> int | None: ...
    @property
    def block(self) -> int: ...
    @property
    def control(self) -> JsonObject: ...


class CacheControls(Protocol):
    """What the context engine says about caching: its `CacheControls` fit as they are."""

    @property
    def marks(self) -> Sequence[CacheMark]: ...
    @property
    def fields(self) -> Mapping[str, JsonValue]: ...
    @property
    def cached_content(self) -> JsonObject | None: ...


@dataclass(frozen=True, slots=True)
class NoCache:
    """Nothing to say about caching."""

    marks: tuple[CacheMark, ...] = ()
    fields: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    cached_content: JsonObject | None = None


NO_CACHE = NoCache()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that a model may call."""

    name: str
    description: str
    schema: JsonObject
    """JSON schema of its arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """How a model is run. None leaves it to the provider."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    n: int = 1
    logprobs: int | None = None
    """None: not wanted; otherwise how many alternatives of each token."""
    timeout: float | None = None
    """Seconds of silence after which a call is given up."""
    custom: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Further fields of the request, in the provider's own dialect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a model is asked: to answer messages, or to continue a document."""

    model: str
    """The provider's own name of it."""
    messages: tuple[Message, ...] = ()
    prompt: str | None = None
    """A document to be continued, instead of messages. May be empty."""
    system: tuple[str, ...] = ()
    """In blocks, as cache marks count them; where a provider takes one text, a blank line joins them."""
    parameters: Parameters = field(default_factory=Parameters)
    tools: tuple[Tool, ...] = ()
    prefill: str = ""
    """The answer's first words. They are not part of what comes back."""
    cache: CacheControls = NO_CACHE
    media: Mapping[str, bytes] = field(default_factory=dict[str, bytes], repr=False)
    """Bytes of images and sounds by their ref."""

    @property
    def system_text(self) -> str:
        return "\n\n".join(block for block in self.system if block)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """One model that a provider offers."""

    name: ModelName
    title: str = ""
    profile: Profile = field(default_factory=Profile)


class Provider(Protocol):
    """A client, a mapping and a profile behind one face."""

    @property
    def name(self) -> str: ...

    def profile(self, model: str) -> Profile:
        """What a model can do. Asks nobody: never waits, never fails."""
        ...

    def stream(self, request: Request) -> AsyncGenerator[Event]:
        """Ask, and yield what comes as it comes.

        Wire events come before what was read from them. Every choice that came to its end has
        its `Finished`; anything else raises a `ProviderError`, after the events that were there.
        To stop, close the generator or cancel the task that reads it.
        """
        ...

    async def models(self) -> Sequence[ModelInfo]:
        """The models on offer, asked anew. `catalog` keeps the answer for a day."""
        ...

    async def close(self) -> None:
        """Let go of what belongs to the running event loop, its connections. A later call opens them again."""
        ...
