"""Requests, profiles and the `Provider` protocol, the same for every provider."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import Any, Protocol, cast

from weft.errors import InvalidInputError, NotFoundError, ProviderError, Trouble
from weft.plugins import Plugins
from weft.providers.events import Event
from weft.tree.attempt import Usage
from weft.tree.cache_profile import NO_PREFIX_CACHE, CacheKind, CacheProfile
from weft.tree.json import JsonObject, JsonValue
from weft.tree.message import Message
from weft.tree.tool_spec import ToolChoice, ToolSpec

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrices:
    """Dollars for a million tokens."""

    input: Decimal
    output: Decimal
    cached_read: Decimal | None = None
    cached_write: Decimal | None = None
    above: "tuple[tuple[int, ModelPrices], ...]" = ()
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


FREE = ModelPrices(input=Decimal(0), output=Decimal(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile:
    """What a model can do, as far as requests to it depend on that."""

    window: int | None = None
    """Tokens of prompt and answer together; None: unknown."""
    output_limit: int | None = None
    system: SystemPlace = SystemPlace.FIRST_MESSAGE
    images: bool = False
    audio: bool = False
    tools: bool = False
    system_anywhere: bool = False
    """True if system messages may follow a user's message in mid-conversation."""
    logprobs: int = 0
    """The most alternatives of each token that a request may ask for; 0: not supported."""
    completion: bool = False
    """True if a document can be continued as it is."""
    prefill: bool = False
    """True if a request may end with the beginning of the answer."""
    choices: int = 1
    """The largest `n` of one request."""
    seed: bool = False
    sampling: bool = True
    """True if temperature and top-p can be set; otherwise requests leave them out."""
    temperatures: tuple[float, float] = (0, 2)
    """The lowest and the highest temperature."""
    stop: bool = True
    """True if stop sequences are supported."""
    cache: CacheProfile = NO_PREFIX_CACHE
    prices: ModelPrices | None = None
    """None: unknown. Free models have prices of 0."""
    local: bool = False
    """Runs on this machine: nothing leaves it, nothing is spent."""

    @property
    def prefix_cache(self) -> bool:
        return self.cache.kind is not CacheKind.NONE

    def check_temperature(self, temperature: float | None) -> None:
        """Refuse a temperature outside of the model's range."""
        lowest, highest = self.temperatures
        if temperature is not None and not lowest <= temperature <= highest:
            message = f"temperature must be between {lowest:g} and {highest:g} for this model"
            raise InvalidInputError(f"{message}, got {temperature:g}", path="temperature")


class CacheMark(Protocol):
    """A block that ends a prefix to be cached."""

    @property
    def message(self) -> int | None: ...
    @property
    def block(self) -> int: ...
    @property
    def control(self) -> JsonObject: ...


class CacheSettings(Protocol):
    """Cache settings from the context engine, whose `CacheControls` have this shape."""

    @property
    def marks(self) -> Sequence[CacheMark]: ...
    @property
    def fields(self) -> Mapping[str, JsonValue]: ...
    @property
    def cached_content(self) -> JsonObject | None: ...


@dataclass(frozen=True, slots=True)
class NoCache:
    """No cache settings."""

    marks: tuple[CacheMark, ...] = ()
    fields: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    cached_content: JsonObject | None = None


NO_CACHE = NoCache()


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
    """None: no logprobs; otherwise the number of alternatives of each token."""
    timeout: float | None = None
    """Seconds without a byte after which a call times out."""
    custom: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Further fields of the request, as the provider names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request to a model: to answer messages, or to continue a document."""

    model: str
    """The provider's own name of it."""
    messages: tuple[Message, ...] = ()
    prompt: str | None = None
    """A document to be continued. May be empty. A chat model takes messages before it, as references."""
    system: tuple[str, ...] = ()
    """In blocks, as cache marks count them; where a provider takes one text, a blank line joins them."""
    parameters: Parameters = field(default_factory=Parameters)
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = ToolChoice.AUTO
    prefill: str = ""
    """The beginning of the answer. The response does not repeat it."""
    cache: CacheSettings = NO_CACHE
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
    profile: ModelProfile = field(default_factory=ModelProfile)


class Provider(Protocol):
    """Client, mapping and profile of one provider."""

    @property
    def name(self) -> str: ...

    def profile(self, model: str) -> ModelProfile:
        """What a model supports. No I/O: never waits, never fails."""
        ...

    def stream(self, request: Request) -> AsyncGenerator[Event]:
        """Send the request, and yield the events of the response as they arrive.

        Wire events come before what was read from them. Every complete choice has
        its `Finished`; anything else raises a `ProviderError`, after the events that were there.
        To stop, close the generator or cancel the task that reads it.
        """
        ...

    async def models(self) -> Sequence[ModelInfo]:
        """The provider's own list of models. `catalog` caches it for a day."""
        ...

    async def close(self) -> None:
        """Close the connections of the running event loop. A later call opens new ones."""
        ...


GROUP = "weft.providers"


class ProviderRegistry(Plugins[Provider]):
    """Providers by name.

    An entry point names something that makes a provider when it is called with nothing;
    it is imported and called when the provider is first asked for, once.
    """

    __slots__ = ()

    GROUP = GROUP
    KIND = "provider"

    def with_provider(self, name: str, provider: Provider) -> "ProviderRegistry":
        """A registry that has one more; this one stays as it is."""
        return self._with(name, provider)

    def provider(self, name: str) -> Provider:
        """The provider of that name, or of `provider:model`."""
        named = name.partition(":")[0].strip().lower()
        try:
            return self._named(named)
        except NotFoundError as missing:
            from weft.providers.saved_endpoints import SavedEndpoints  # noqa: PLC0415 - only for a wrong name

            if named in SavedEndpoints().usable():
                # What people type after `weft endpoints add lab`.
                raise NotFoundError(
                    missing.message, hint=f"{named} is an endpoint: write compatible:{named}/MODEL"
                ) from None
            raise

    def model(self, name: str | ModelName) -> tuple[Provider, str]:
        """The provider of `provider:model`, and its own name for the model."""
        parsed = name if isinstance(name, ModelName) else ModelName.parse(name)
        return self.provider(parsed.provider), parsed.model

    def _made(self, name: str, loaded: Any) -> Provider:
        provider: Provider = cast("Any", super()._made(name, loaded))()
        if type(provider).__module__.partition(".")[0] == "weft":
            return provider
        from weft.providers.checked_provider import CheckedProvider  # noqa: PLC0415 - only for other packages

        return CheckedProvider(name, provider)

    def _broken(self, message: str, hint: str) -> ProviderError:
        return ProviderError(Trouble.UNKNOWN, message, hint=hint)

    async def close(self) -> None:
        """Close the connections of all providers in the running event loop."""
        with self._lock:
            made = list(self._loaded.values())
        for provider in made:
            await provider.close()


@lru_cache(maxsize=1)
def installed_providers() -> ProviderRegistry:
    """The providers of all installed packages, looked up once per process."""
    return ProviderRegistry.installed()
